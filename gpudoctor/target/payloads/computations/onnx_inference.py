"""One inference with ONNX Runtime (each provider that is present) or OpenVINO: relu(X * W); the bytes of the model are written by hand."""
import os
import struct
import sys

ROWS, INNER, COLUMNS = 4, 32, 8
# Multiples of 1/4 up to 1: every product and sum is exact in float16 and TF32 too, which some devices insist on.
LEVELS = 9


def run(tools, framework, wanted):
    inputs = [4 * value for value in tools.pattern(ROWS * INNER, 5, LEVELS)]
    weights = [4 * value for value in tools.pattern(INNER * COLUMNS, 1, LEVELS)]
    right = [max(0.0, sum(inputs[row * INNER + k] * weights[k * COLUMNS + column] for k in range(INNER)))
             for row in range(ROWS) for column in range(COLUMNS)]
    given = onnx_model(weights), inputs
    got = (with_onnxruntime if framework == "onnxruntime" else with_openvino)(tools, wanted, *given)
    tools.say(stage="compare")
    tools.conclude([("output", got, right)])


# ONNX is protocol buffers: a field is its number and wire type, then a varint (0) or a length and bytes (2).

def varint(value):
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode("ascii") if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor_type(name, *shape):
    """ValueInfoProto of a float tensor."""
    dimensions = b"".join(field(1, field(1, side)) for side in shape)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dimensions)))


def node(kind, result, *operands):
    return b"".join(field(1, name) for name in operands) + field(2, result) + field(4, kind)


def onnx_model(weights):
    """ModelProto of Y = Relu(MatMul(X, W)), operator set 9, which every release reads."""
    initializer = field(1, INNER) + field(1, COLUMNS) + field(2, 1) + field(8, "W") + field(9, struct.pack("<%df" % len(weights), *weights))
    graph = (field(1, node("MatMul", "H", "X", "W")) + field(1, node("Relu", "Y", "H")) + field(2, "first") + field(5, initializer)
             + field(11, tensor_type("X", ROWS, INNER)) + field(12, tensor_type("Y", ROWS, COLUMNS)))
    return field(1, 4) + field(2, "gpudoctor") + field(7, graph) + field(8, field(1, "") + field(2, 9))


def array_of(inputs):
    import numpy

    return numpy.array(inputs, dtype=numpy.float32).reshape(ROWS, INNER)


def with_onnxruntime(tools, wanted, model, inputs):
    import onnxruntime as ort

    tools.say(stage="import", version=str(ort.__version__))
    tools.say(stage="device")
    offered = [name for name in ort.get_available_providers() if name != "AzureExecutionProvider"]
    provider, _, kind = wanted.partition(":")
    if provider and provider not in offered:
        raise RuntimeError("this onnxruntime has no %s: it has %s" % (provider, ", ".join(offered)))
    refused, absences = [], []
    # The CPU is asked for by name, or is all that this package was built for: it must not hide that a GPU provider does not work.
    for name in [provider] if provider else [name for name in offered if not name.startswith("CPU")] or offered:
        tools.say(stage="device", trying="ort:" + name)
        try:
            absent(tools, name)
            inner = inner_device(tools, ort, kind) if name.startswith("OpenVINO") else kind
            session = session_on(ort, name, inner, model)
        except tools.NoDevice as absence:
            absences.append(absence)
            continue
        except Exception as problem:  # noqa: BLE001
            refused.append("%s: %s" % (name, str(problem).strip().split("\n")[0][:300]))
            continue
        label = tools.cpu_name() if name.startswith("CPU") else " ".join([name.replace("ExecutionProvider", ""), inner]).strip()
        tools.has("", [{"id": "ort:" + name, "name": label}])
        tools.say(stage="allocate")
        data = array_of(inputs)
        tools.say(stage="compute")
        return [float(value) for value in session.run(None, {"X": data})[0].reshape(-1)]
    if absences and not refused:
        raise absences[0]
    raise RuntimeError("; ".join(refused) or "this onnxruntime has no provider")


def absent(tools, provider):
    """Raises NoDevice where the machine has no device for this provider: ONNX Runtime lists all that it was built with, whatever is there."""
    if sys.platform == "win32" or os.path.exists("/dev/dxg"):
        return
    for names, what, door in ((("CUDA", "Tensorrt", "NvTensorRTRTX"), "NVIDIA GPU", "/dev/nvidiactl"), (("ROCM", "MIGraphX"), "AMD GPU", "/dev/kfd"),
                              (("Dml",), "DirectX 12 GPU", "/dev/dxg")):
        vendor = {"NVIDIA GPU": "0x10de", "AMD GPU": "0x1002"}.get(what, "")
        if provider.startswith(names) and not os.path.exists(door) and not os.path.exists("/dev/nvmap"):
            if tools.card(vendor):
                raise RuntimeError("there is no %s, though %s is here" % (door, tools.card(vendor)))
            raise tools.NoDevice("no %s here: there is no %s" % (what, door))


def inner_device(tools, ort, kind):
    """The device type to give to OpenVINO's provider, which without one takes the CPU even where there is a GPU."""
    listing = getattr(ort.capi._pybind_state, "get_available_openvino_device_ids", None)
    names = list(listing()) if listing else []
    for wanted in [kind] if kind else ["GPU", "NPU", "CPU"]:
        for name in names:
            if name.partition(".")[0] == wanted or name == wanted:
                return name
    if kind and names:
        tools.none_listed("Intel " + kind, "OpenVINO's provider", tools.card("0x8086") if kind == "GPU" else "")
    return kind or "CPU"


def session_on(ort, provider, kind, model):
    """A session of this provider alone, because a node that silently fell back to the CPU would prove nothing."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if not provider.startswith("CPU"):
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    if provider.startswith("Dml"):
        options.enable_mem_pattern = False
    session = ort.InferenceSession(model, options, providers=[(provider, {"device_type": kind})] if kind else [provider])
    if session.get_providers()[0] != provider:
        raise RuntimeError("%s could not be made: onnxruntime took %s instead" % (provider, session.get_providers()[0]))
    return session


def with_openvino(tools, wanted, model, inputs):
    import openvino

    core_of = getattr(openvino, "Core", None)
    if core_of is None:
        from openvino.runtime import Core as core_of
    tools.say(stage="import", version=str(getattr(openvino, "__version__", "")))
    tools.say(stage="device")
    core = core_of()
    kinds = {"GPU": 0, "NPU": 1, "CPU": 2}
    names = sorted(core.available_devices, key=lambda name: (kinds.get(name.partition(".")[0], 3), name))
    found = [{"id": "openvino:" + name, "name": str(core.get_property(name, "FULL_DEVICE_NAME"))} for name in names]
    kind = wanted.partition(".")[0]
    what = {"GPU": "Intel GPU", "NPU": "Intel NPU"}.get(kind)
    if what and not any(name.partition(".")[0] == kind for name in names):
        tools.none_listed(what, "OpenVINO", tools.card("0x8086") if kind == "GPU" else "")
    if not found:
        tools.none_listed("device", "OpenVINO")
    name = tools.has("openvino:" + wanted if wanted else "", found)["id"].partition(":")[2]
    tools.say(stage="allocate")
    exact = {"INFERENCE_PRECISION_HINT": "f32"} if not name.startswith("NPU") else {}
    compiled = core.compile_model(core.read_model(model, b""), name, exact)
    data = array_of(inputs)
    tools.say(stage="compute")
    result = compiled([data])
    return [float(value) for value in result[compiled.output(0)].reshape(-1)]
