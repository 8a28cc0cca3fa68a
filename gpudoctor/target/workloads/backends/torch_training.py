"""A training step on torch: forward in the requested precision, loss, backward, optimiser.

float16 uses a GradScaler, because its smallest gradients vanish; bfloat16 needs none. Fine-tuning (request.fine_tuning) is training
with two rates: the new head, which is the last layer, learns a hundred times as fast as the other layers.
"""

import contextlib

import torch
import torch.nn.functional as F
from torch_networks import child_name

RATES = {"sgd": 1e-3, "adam": 1e-4}
HEAD, BACKBONE = 10.0, 0.1
"""The learning rates of head and backbone in fine-tuning, as factors of the rate."""
FIRST_SCALE = 4096.0
"""torch's default of 65536 overflows in the first steps of any network; the scaler skips those, which makes them shorter than the
others."""


class Trainer:
    """`device`: torch_devices.Device; None is the reference, on the processor in the model's own precision."""

    def __init__(self, model, network, device, dtype, request):
        self.model, self.reference = model, device is None
        self.optimizer = optimizer(model, request.get("optimizer", "sgd"), device, head_of(network) if request.get("fine_tuning") else "")
        self.context = contextlib.nullcontext() if device is None else device.precision(dtype)
        self.scaler = None if device is None else grad_scaler(device, dtype)

    def backward(self, given, labels):
        """Computes and returns the loss; the gradients are those of the loss itself, not of the scaled one."""
        value = self._backward(given, labels)
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        return value

    def update(self):
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def step(self, given, labels):
        value = self._backward(given, labels)
        self.update()
        return value

    def _backward(self, given, labels):
        self.optimizer.zero_grad()
        with self.context:
            value = loss(self.model(*given), labels, widen=not self.reference)
        (value if self.scaler is None else self.scaler.scale(value)).backward()
        return value.detach()

    def about(self):
        return {"grad_scaler": self.scaler is not None}


def head_of(network):
    """The module name of the last layer, which is the only output of a classifier."""
    return child_name(network.outputs[0])


def loss(found, labels, widen=True):
    """Cross entropy where there are classes, else the mean square of the outputs; the backward pass is nearly the same for any loss.

    `widen`: compute in float32, whatever the type of the outputs."""
    parts = found if isinstance(found, tuple) else (found,)
    parts = [part.float() for part in parts] if widen else parts
    if labels is not None and len(parts) == 1:
        return F.cross_entropy(parts[0], labels)
    return sum(part.pow(2).mean() for part in parts)


def optimizer(model, name, device=None, head=""):
    """SGD with momentum, or Adam. `head`: the child of the model that learns faster; '' where all learn alike."""
    kind, more = (torch.optim.Adam, {}) if name == "adam" else (torch.optim.SGD, {"momentum": 0.9})
    groups = _groups(model, RATES[name], head)
    if device is not None and device.kind in ("dml", "ocl"):  # devices without multi-tensor kernels
        try:
            return kind(groups, lr=RATES[name], foreach=False, **more)
        except TypeError:  # older releases of torch have no `foreach`
            pass
    return kind(groups, lr=RATES[name], **more)


def _groups(model, rate, head):
    if not head:
        return list(model.parameters())
    fast = [parameter for name, parameter in model.named_parameters() if f".{name}".rpartition(".")[0].endswith("." + head)]
    chosen = {id(parameter) for parameter in fast}
    slow = [parameter for parameter in model.parameters() if id(parameter) not in chosen]
    return [{"params": fast, "lr": rate * HEAD}, {"params": slow, "lr": rate * BACKBONE}]


def grad_scaler(device, dtype):
    """A GradScaler; None where the precision needs none, or where this torch has none for the device."""
    if dtype != torch.float16:
        return None
    newer = getattr(getattr(torch, "amp", None), "GradScaler", None)
    if newer is not None:
        return newer(device.kind, init_scale=FIRST_SCALE)
    return torch.cuda.amp.GradScaler(init_scale=FIRST_SCALE) if device.kind == "cuda" else None
