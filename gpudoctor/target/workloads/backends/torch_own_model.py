"""A person's own torch model in inference: against float64 on the processor where its copy can be made, else float32 there."""

import copy
import sys

import own_code
import torch
import torch_correctness
from torch_devices import peak_of_process
from worker import Work


class OwnModel(Work):
    unit = "items/s"

    def __init__(self, device, dtype, request):
        self.device, self.dtype = device, dtype
        self.model, self.given, self.named = _taken(own_code.called(request["own_model"]), request["own_model"]["function"])
        self.reference = self._copied()
        self.model = self.model.eval().to(device.torch_device, dtype)
        if request.get("settings", {}).get("channels_last"):
            self.model = self.model.to(memory_format=torch.channels_last)
        self.inputs = [_moved(one, device.torch_device, dtype) for one in self.given]
        self.keywords = {name: _moved(one, device.torch_device, dtype) for name, one in self.named.items()}
        self.items = _items([*self.given, *self.named.values()])
        self.last = None
        if request.get("compile", "none") != "none":
            mode = request["compile"]
            self.model = torch.compile(self.model, mode=None if mode == "default" else mode)
        device.reset_peak()

    def _copied(self):
        """The model in float64 on the processor; None where it cannot be copied."""
        try:
            return copy.deepcopy(self.model).eval().to("cpu").double()
        except Exception as error:  # a model of anybody: what it raises is no fault of the device
            self.why_not = f"not compared: it cannot be copied to float64 ({type(error).__name__})"
            return None

    def step(self):
        with torch.no_grad():
            found = self.model(*self.inputs, **self.keywords)
        self.last = _tensors(found)[0] if _tensors(found) else None

    def sync(self):
        self.device.sync(self.last)

    def verify(self):
        with torch.no_grad():
            got = _tensors(self.model(*self.inputs, **self.keywords))
            again = _tensors(self.model(*self.inputs, **self.keywords))
            self.sync()
            if not got:
                raise RuntimeError("your model gives no tensors that could be compared or waited for")
            if self.reference is None:
                sys.stderr.write(self.why_not + "\n")
                return []
            try:
                right = _tensors(
                    self.reference(
                        *(_moved(one, "cpu", torch.float64) for one in self.given),
                        **{name: _moved(one, "cpu", torch.float64) for name, one in self.named.items()},
                    )
                )
            except Exception as error:  # a cast to float32 in its code, an operator without float64
                sys.stderr.write(f"not compared: it does not run in float64: {error}\n")
                return []
        self.reference = None
        if len(right) != len(got):
            raise RuntimeError(f"{len(got)} outputs on the device and {len(right)} in float64: they depend on the precision")
        if any(one.shape == two.shape and not torch.equal(one, two) for one, two in zip(got, again)) and _differ(got, again):
            sys.stderr.write("not compared: two runs with the same inputs differ (is there something random in it?)\n")
            return []
        return [
            torch_correctness.compared(f"output {number}", a, b, torch_correctness.TOLERANCES[self.dtype])
            for number, (a, b) in enumerate(zip(got, right))
        ]

    def memory_peak(self):
        return self.device.memory_peak() or (peak_of_process() if self.device.kind == "cpu" else None)


def _differ(one, other):
    """More than rounding: threads may add in another order each time."""
    return any(float((a.double() - b.double()).norm()) > 1e-2 * float(a.double().norm()) for a, b in zip(one, other))


def _taken(found, name):
    """(model, inputs, keyword inputs) of what the function gave."""
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[0], torch.nn.Module):
        raise RuntimeError(f"{name}() gave {_kind(found)}; expected (model, inputs), a torch.nn.Module and its inputs")
    model, inputs = found
    if isinstance(inputs, dict):
        return model, [], inputs
    return model, list(inputs) if isinstance(inputs, (tuple, list)) else [inputs], {}


def _kind(found):
    parts = ", ".join(type(each).__name__ for each in found) if isinstance(found, tuple) else ""
    return f"({parts})" if parts else f"a {type(found).__name__}"


def _moved(value, device, dtype):
    if not isinstance(value, torch.Tensor):
        return value
    return value.to(device, dtype) if value.is_floating_point() else value.to(device)


def _tensors(found):
    """All tensors of floats in what a model gives, in order."""
    if isinstance(found, torch.Tensor):
        return [found] if found.is_floating_point() else [found.float()]
    if isinstance(found, dict):
        found = list(found.values())
    elif hasattr(found, "to_tuple"):
        found = found.to_tuple()
    if isinstance(found, (tuple, list)):
        return [tensor for each in found for tensor in _tensors(each)]
    return []


def _items(inputs):
    """The size of the first dimension of the first tensor that has one."""
    return next((int(one.shape[0]) for one in inputs if isinstance(one, torch.Tensor) and one.dim() > 0 and one.shape[0]), 1)
