"""One operator of a real model as a case: a function of tensors, its inputs, and their types. This module does not import torch."""

FLOATS = ("float32", "float16", "bfloat16", "float64")
WIDE = ("float32", "float64")
"""The types of operators that no backend computes in 16 bit, such as transforms and decompositions."""
SINGLE = ("float32",)
WHOLES = ("int64", "int32", "int8", "uint8")


class Input:
    """A tensor to make. `kind`: signed (-1..1), positive (0.5..1.5), index (whole numbers below `below`, int64), mask (bool)."""

    def __init__(self, shape, kind="signed", below=0):
        self.shape, self.kind, self.below = shape, kind, below


def T(*shape):
    return Input(shape)


def P(*shape):
    return Input(shape, "positive")


def I(below, *shape):  # noqa: E743 - as short as its siblings
    return Input(shape, "index", below)


def M(*shape):
    return Input(shape, "mask")


class Case:
    """`call(*inputs)` gives a tensor or a tuple of them; `judge(outputs)` takes the place of the comparison: '' or what is wrong.

    The tolerance of the case is `slack` times that of its type.
    """

    def __init__(self, name, group, call, inputs, dtypes=FLOATS, backward=True, slack=1.0, judge=None, autocast=False):
        self.name, self.group, self.call, self.inputs, self.dtypes = name, group, call, inputs, dtypes
        self.backward, self.slack, self.judge, self.autocast = backward, slack, judge, autocast


class Table(list):
    """Cases in order; `add(name, call, inputs, ...)` appends one to the group."""

    def __init__(self, group):
        super().__init__()
        self.group = group

    def add(self, name, call, *inputs, **more):
        self.append(Case(name, self.group, call, inputs, **more))

    def plain(self, name, call, *inputs, **more):
        """Adds an operator that has no gradient."""
        self.add(name, call, *inputs, backward=False, **more)
