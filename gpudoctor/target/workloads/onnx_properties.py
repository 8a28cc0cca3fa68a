"""Operators of ONNX as small models that bring their own references: for ONNX Runtime and OpenVINO.

The examined numbers are inputs of the model, so that no compiler can fold them away; weights are constants, as usual.
"""

import numpy
from onnx_encoding import model, node, tensor, value_info
from plain_checks import Check
from plain_reference import shape_of

OPSET = 13


class Model:
    """A graph that is built node by node; `compute` runs it: run(bytes of the model, [inputs by name, ...]) -> arrays of each."""

    def __init__(self, opset=OPSET):
        self.opset, self.nodes, self.tensors, self.given, self.inputs, self.outputs = opset, [], [], {}, [], []

    def give(self, nested, kind="float32"):
        """The name of an input that holds these numbers."""
        name = f"x{len(self.inputs)}"
        array = nested if isinstance(nested, numpy.ndarray) else numpy.array(nested, dtype=kind)
        self.given[name] = array
        self.inputs.append(value_info(name, str(array.dtype), array.shape))
        return name

    def keep(self, nested, kind="float32"):
        """The name of a constant."""
        name, array = f"c{len(self.tensors)}", nested if isinstance(nested, numpy.ndarray) else numpy.array(nested, dtype=kind)
        data = array.tobytes()
        self.tensors.append(tensor(name, str(array.dtype), array.shape, len(data), lambda: [data]))
        return name

    def add(self, kind, *given, results=1, **attributes):
        names = [f"y{len(self.nodes)}_{number}" for number in range(results)]
        self.nodes.append(node(kind, f"n{len(self.nodes)}", given, names, **attributes))
        return names[0] if results == 1 else names

    def give_back(self, name, shape, kind="float32"):
        self.outputs.append((name, tuple(shape), kind))

    def compute(self, run, changes=({},)):
        """For each change of the inputs the outputs, in the order in which they were asked for."""
        outputs = [value_info(name, kind, shape) for name, shape, kind in self.outputs]
        data = b"".join(model("case", self.opset, self.nodes, self.tensors, self.inputs, outputs).pieces())
        return run(data, [dict(self.given, **change) for change in changes])


def one(run, kind, given, wanted, what, units=4.0, scale=0.0, of="float32", opset=OPSET, **attributes):
    """The check of a model of one node. `given`: ('x' or 'c', numbers[, kind]) for each input: an input or a constant."""
    made = Model(opset)
    names = [(made.give if way == "x" else made.keep)(*rest) if way else "" for way, *rest in given]
    made.give_back(made.add(kind, *names, **attributes), shape_of(wanted), of)
    return Check(what, made.compute(run)[0][0], wanted, units, scale)
