"""Inference of a person's own torch model, against a copy in float64 on the processor; where that fails, against float32 there."""

import copy
import sys

import own_code
import torch
import torch_correctness
from torch_devices import peak_of_process
from worker import Work

TOLERANCE = 1e-3
"""The tolerance of float32, whose inputs and weights are not rounded: machine epsilon times the growth over hundreds of layers."""
ROUNDING = 4.0
"""The tolerance of the narrower types is this many times the error of rounding weights and inputs."""


class OwnModel(Work):
    unit = "items/s"

    def __init__(self, device, dtype, request):
        self.device, self.dtype = device, dtype
        self.model, self.given, self.named = _taken(own_code.called(request["own_model"]), request["own_model"]["function"])
        self.why_not, self.random = "", False
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
        except Exception as error:  # the code of the model may raise anything, which is no fault of the device
            self.why_not = f"it cannot be copied to float64 ({type(error).__name__})"
            return None

    def step(self):
        with torch.no_grad():
            found = self.model(*self.inputs, **self.keywords)
        self.last = _tensors(found)[0] if _tensors(found) else None

    def sync(self):
        self.device.sync(self.last)

    def verify(self):
        with torch.no_grad():
            got, again = (_tensors(self.model(*self.inputs, **self.keywords)) for _ in range(2))
        self.sync()
        if not got:
            raise RuntimeError("your model gives no tensors that could be compared or waited for")
        right, levels, why_not = self._right()
        self.reference = None
        if not why_not and len(right) != len(got):
            raise RuntimeError(f"{len(got)} outputs on the device and {len(right)} in float64: they depend on the precision")
        self.random = _differ(got, again)
        if not why_not and self.random:
            why_not = "two runs with the same inputs differ (is there something random in it?)"
        if why_not:
            sys.stderr.write(f"not compared: {why_not}\n")
            return []
        return [torch_correctness.compared(f"output {number}", a, b, level) for number, (a, b, level) in enumerate(zip(got, right, levels))]

    def _right(self):
        """(outputs in float64, tolerance of each, reason why there are none).

        The tolerance is measured: the model in float64 with weights and inputs that were rounded to the type; rounding between the layers
        causes about the same error again.
        """
        if self.reference is None:
            return [], [], self.why_not
        try:
            right = self._in_float64(lambda x: x)
            if self.dtype == torch.float32 or self.dtype == torch.float64:
                return right, [TOLERANCE] * len(right), ""
            for parameter in (*self.reference.parameters(), *self.reference.buffers()):
                parameter.data = parameter.data.to(self.dtype).double() if parameter.is_floating_point() else parameter.data
            rounded = self._in_float64(lambda x: x.to(self.dtype))
            off = [torch_correctness.relative(a, b) for a, b in zip(rounded, right)]
            return right, [max(ROUNDING * each, 8 * torch.finfo(self.dtype).eps) for each in off], ""
        except Exception as error:  # a cast to float32 in the code of the model, or an operator without float64
            return [], [], f"it does not run in float64: {' '.join(str(error).split())[:200]}"

    def _in_float64(self, change):
        def moved(value):
            floats = isinstance(value, torch.Tensor) and value.is_floating_point()
            return _moved(change(value) if floats else value, "cpu", torch.float64)

        with torch.no_grad():
            return _tensors(self.reference(*map(moved, self.given), **{name: moved(one) for name, one in self.named.items()}))

    def outcome(self):
        return None if self.last is None or self.random else torch_correctness.same([self.last])

    def memory_peak(self):
        return self.device.memory_peak() or (peak_of_process() if self.device.kind == "cpu" else None)


def _differ(one, other):
    """Whether two results differ by more than rounding: threads may add in another order each time."""
    return any(float((a.double() - b.double()).norm()) > 1e-2 * float(a.double().norm()) for a, b in zip(one, other))


def _taken(found, name):
    """(model, inputs, keyword inputs) from the result of the function."""
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
    """All tensors of floats in the result of a model, in order."""
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
