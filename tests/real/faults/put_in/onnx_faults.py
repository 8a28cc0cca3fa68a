"""Faults of a runtime of ONNX models, as what becomes of the outputs of a model: for ONNX Runtime and OpenVINO.

A fault is a function of (operators of the model, its inputs, its sound outputs) that gives the outputs.
"""

import itertools

import numpy

FAULTS = {}
KINDS = (
    "Conv", "ConvTranspose", "MatMul", "Gemm", "MaxPool", "AveragePool", "GlobalAveragePool", "BatchNormalization", "LayerNormalization",
    "Relu", "LeakyRelu", "Tanh", "Sigmoid", "Erf", "Exp", "Round", "Softmax", "LogSoftmax", "Pad", "Gather", "ScatterElements", "Where",
    "TopK", "ArgMax", "CumSum", "ReduceSum", "ReduceMean", "ReduceMax", "Transpose", "Slice", "Resize", "Add", "Div", "Mul", "Mod", "Cast",
    "DepthToSpace",
)  # fmt: skip


def operators_of(model):
    """The names of operators in the bytes of a model: field 4 of a node is its length and its text."""
    return {kind for kind in KINDS if b"\x22" + bytes([len(kind)]) + kind.encode() in model} | (
        {"reflect"} if b"reflect" in model else set()
    )


def fault(function):
    FAULTS[function.__name__] = function
    return function


def outputs_of(kind, change, name, alone=False):
    """The outputs of models that hold this operator (`alone`: and no other), changed."""

    def wrong(operators, inputs, outputs):
        fits = operators - {"reflect"} == {kind} if alone else kind in operators
        return [change(each, inputs) for each in outputs] if fits else outputs

    FAULTS[name] = wrong


def _floats(change):
    return lambda y, inputs: change(y) if y.dtype.kind == "f" else y


def _edge(y, inputs):
    y = y.copy()
    y[..., 0] = y[..., 1]
    return y


def _narrow(y):
    return (y.view("uint32") + 0x8000 & 0xFFFF0000).astype("uint32").view("float32").reshape(y.shape) if y.dtype == "float32" else y


outputs_of("Relu", _floats(lambda y: numpy.nan_to_num(y, nan=0.0, posinf=numpy.inf)), "relu_swallows_nan", alone=True)
outputs_of("Relu", lambda y, inputs: numpy.where(inputs[0] < 0, inputs[0] * y.dtype.type(0.01), y) if y.shape == inputs[0].shape else y,
           "relu_leaks", alone=True)  # fmt: skip
outputs_of("Tanh", _floats(lambda y: numpy.clip(y, -0.999, 0.999)), "tanh_ends_early")
outputs_of("Erf", _floats(lambda y: y * 1.001), "erf_is_off")
outputs_of("Round", _floats(lambda y: y), "nothing")
outputs_of("MaxPool", _floats(lambda y: numpy.maximum(y, 0)), "max_pool_pads_with_zeros")
outputs_of("AveragePool", _floats(lambda y: y * 1.01), "average_pool_forgets_its_size")
outputs_of("BatchNormalization", _floats(lambda y: y * 1.0005), "batch_norm_forgets_epsilon")
outputs_of("Pad", lambda y, inputs: _edge(y, inputs) if y.ndim == 4 else y, "border_repeats_itself")
outputs_of("Transpose", _floats(lambda y: numpy.flip(y, -1)), "transposed_results_are_turned")
outputs_of("Resize", _floats(lambda y: numpy.roll(y, 1, -1)), "resize_is_shifted")
outputs_of("ReduceSum", _floats(lambda y: y * 1.01), "sums_lose_a_part")
outputs_of("ArgMax", lambda y, inputs: y * 0, "argmax_is_zero")
outputs_of("TopK", lambda y, inputs: numpy.flip(y, -1), "topk_is_turned")
outputs_of("DepthToSpace", _floats(lambda y: numpy.swapaxes(y, -1, -2)), "depth_to_space_is_transposed")
outputs_of("ConvTranspose", _floats(lambda y: numpy.roll(y, 1, -1)), "transposed_convolution_is_shifted")
del FAULTS["nothing"]


@fault
def convolution_wrong_from_batch_4(operators, inputs, outputs):
    wrong = "Conv" in operators and any(each.ndim == 4 and each.shape[0] >= 4 for each in inputs)
    return [_last_channel(each) for each in outputs] if wrong else outputs


@fault
def convolution_wrong_at_224(operators, inputs, outputs):
    wrong = "Conv" in operators and any(each.ndim == 4 and each.shape[-1] == 224 for each in inputs)
    return [_last_channel(each) for each in outputs] if wrong else outputs


def _last_channel(y):
    y = y.copy()
    y[:, -1] *= 1.01
    return y


@fault
def product_wrong_above_512(operators, inputs, outputs):
    wrong = operators & {"MatMul", "Gemm"} and any(max(each.shape, default=0) > 512 for each in inputs)
    return [numpy.concatenate((each[:-1], each[-1:] * 1.001)) if wrong and each.dtype.kind == "f" else each for each in outputs]


@fault
def computes_in_bfloat16(operators, inputs, outputs):
    return [_narrow(each) if operators & {"MatMul", "Gemm", "Conv"} else each for each in outputs]


@fault
def softmax_of_large_numbers_overflows(operators, inputs, outputs):
    if operators != {"Softmax"} or max(abs(float(inputs[0].max())), 0) < 89:
        return outputs
    return [numpy.full_like(each, numpy.nan) for each in outputs]


@fault
def the_odd_tail_is_left(operators, inputs, outputs):
    found = [each.copy() for each in outputs]
    for each in found:
        if each.dtype.kind == "f" and each.size % 8 == 1 and each.size > 8:
            each.reshape(-1)[-1] = 0
    return found


@fault
def duplicates_are_lost(operators, inputs, outputs):
    if "ScatterElements" not in operators or len(inputs) < 3 or inputs[1].shape[0] <= inputs[0].shape[0]:
        return outputs
    found = inputs[0].copy()
    numpy.put_along_axis(found, inputs[1], numpy.take_along_axis(inputs[0], inputs[1], 0) + inputs[2], 0)
    return [found]


@fault
def division_rounds_downwards(operators, inputs, outputs):
    return [numpy.floor_divide(*inputs) if operators == {"Div"} and each.dtype.kind == "i" else each for each in outputs]


@fault
def cumsum_begins_again_after_1024(operators, inputs, outputs):
    if "CumSum" not in operators or inputs[0].size <= 1024:
        return outputs
    return [numpy.concatenate((inputs[0][:1024].cumsum(), inputs[0][1024:].cumsum())).astype("float32")]


_before = {}


@fault
def a_stale_result_is_returned(operators, inputs, outputs):
    """Of a model that computes again: what it gave the first time."""
    key = (frozenset(operators), *(each.shape for each in [*inputs, *outputs]))
    return [each.copy() for each in _before.setdefault(key, [each.copy() for each in outputs])]


_calls = itertools.count()


@fault
def wrong_after_some_calls(operators, inputs, outputs):
    late = next(_calls) > 30
    return [each * 1.01 if late and each.dtype.kind == "f" else each for each in outputs]
