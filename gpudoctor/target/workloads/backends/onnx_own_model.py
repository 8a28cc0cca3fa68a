"""What the runtimes of ONNX models share for a person's own file: inputs for its shapes and types, and the reference.

The reference is ONNX Runtime on the processor without any optimisation, where the environment has it.
"""

import os
import sys

import correctness
import numpy
from worker import Skipped

FREE = {2: (1, 16), 3: (1, 16, 64), 4: (1, 3, 224, 224)}
"""The sizes for dimensions that a model leaves open, by the number of dimensions; the first is the batch."""
LARGEST = 1 << 31


def filled(shape, batch):
    """The shape with a size for each open dimension."""
    free = FREE.get(len(shape), (1,) * len(shape))
    sizes = [size if isinstance(size, int) and size > 0 else free[place] for place, size in enumerate(shape)]
    if shape and batch and not (isinstance(shape[0], int) and shape[0] > 0):
        sizes[0] = batch
    if numpy.prod(sizes, dtype=numpy.float64) > LARGEST:
        raise Skipped("an input of {} is too large to be made up".format("x".join(map(str, sizes))))
    return sizes


def numbers(sizes, kind):
    """The same numbers each time: floats from -1 to 1, or the integers 0 and 1, which are valid as any index."""
    made = numpy.random.RandomState(1).uniform(-1, 1, sizes)
    kind = numpy.dtype(kind)
    return made.astype(kind) if kind.kind == "f" else (made > 0).astype(kind)


def compared(path, inputs, got, dtype):
    """The rows of the comparison; none, with the reason on standard error, where there is no reference."""
    try:
        import onnxruntime as ort
    except ImportError:
        sys.stderr.write("not compared: there is no onnxruntime in this environment, which would say what is right\n")
        return []
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    right = session.run(None, {each.name: inputs[each.name] for each in session.get_inputs()})
    rows = []
    for number, (name, one, other) in enumerate(zip(names, got, right)):
        if isinstance(other, numpy.ndarray) and other.dtype.kind in "fiub":
            row = correctness.compared(name or f"output {number}", one, other, correctness.TOLERANCES[dtype], "")
            rows.append(dict(row, compared_with="ONNX Runtime on the processor, not optimised"))
    return rows


def unreadable(path, name, error):
    """A runtime's message about a file that it cannot read, in one line."""
    text = " ".join(str(error).split())[:300]
    return RuntimeError(f"{os.path.basename(path)} is no model that {name} can read: {text}")


def peak():
    try:
        import resource
    except ImportError:
        return None
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024
