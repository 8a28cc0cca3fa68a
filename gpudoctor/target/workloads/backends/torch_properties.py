"""Computes the cases with their own references (plain_checks.py) with torch, on tensors that are created on the examined device.

No case uses float64 of the same torch as its reference, which would prove nothing where the processor itself is examined.
"""

import torch


class Place:
    """The device and the type in which a case computes. `place(numbers)` is a tensor on that device."""

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
