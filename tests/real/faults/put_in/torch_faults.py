"""Faults of torch, put in below autograd, where the kernels of a device are, or into its Python functions and optimisers.

A fault of operators is a function of (call, arguments): what the operator gives instead. `call` is the sound kernel.
"""

import importlib

from torch.utils._python_dispatch import TorchDispatchMode

OPERATORS, PATCHES = {}, {}
"""fault -> {operator: function}; fault -> function that changes torch's Python."""


PARTS = ("torch_faults_layers", "torch_faults_products", "torch_faults_tensors", "torch_faults_training")


def put_in(fault):
    for part in PARTS:
        importlib.import_module(part)
    if fault in PATCHES:
        PATCHES[fault]()
    elif fault in OPERATORS:
        Faulty(OPERATORS[fault]).__enter__()
    elif fault:
        raise LookupError(f"there is no fault of torch named {fault}")


class Faulty(TorchDispatchMode):
    def __init__(self, operators):
        super().__init__()
        self.operators = operators

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name, kwargs = func._schema.name.removeprefix("aten::"), kwargs or {}
        wrong = self.operators.get(name)
        return func(*args, **kwargs) if wrong is None else wrong(func, *args, **kwargs)


def operator(*names, fault=""):
    def keep(function):
        for name in names:
            OPERATORS.setdefault(fault or function.__name__, {})[name] = function
        return function

    return keep


def patch(function):
    PATCHES[function.__name__] = function
    return function


def after(fault, change, *names):
    """The sound result of these operators, changed."""

    def wrong(call, *args, **kwargs):
        return change(call(*args, **kwargs))

    operator(*names, fault=fault)(wrong)


def changed_first(change):
    """The first of several results, changed in place for operators that write into what they are given."""
    return lambda found: (change(found[0]), *found[1:])


def into(found, wrong):
    """The result with these numbers, whether it is a new tensor or one that was written into."""
    return found.copy_(wrong)
