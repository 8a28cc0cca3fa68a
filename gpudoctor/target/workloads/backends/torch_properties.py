"""How torch computes the cases that bring their own references (plain_checks.py): tensors made on the device that is examined.

float64 of the same torch is no reference where the processor itself is examined, so none is used in those cases.
"""

import torch


class Place:
    """Where a case computes, and in which type. `place(numbers)` is a tensor there."""

    def __init__(self, device, dtype):
        self.device, self.where, self.kind, self.name = device, device.torch_device, getattr(torch, dtype), dtype

    def __call__(self, nested, kind=None, grad=False):
        made = torch.tensor(nested, dtype=kind or self.kind).to(self.where)
        return made.requires_grad_() if grad else made

    def whole(self, nested):
        return self(nested, torch.int64)

    def truth(self, nested):
        return self(nested, torch.bool)


def gradients(outputs, given, inputs):
    """Gradients of the inputs for these gradients of the output."""
    return torch.autograd.grad(outputs, inputs, given)
