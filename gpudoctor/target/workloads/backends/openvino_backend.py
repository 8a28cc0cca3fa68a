"""Workloads on OpenVINO: CPU, GPU.n, NPU. settings.hint is 'latency' (one inference after another) or 'throughput' (many at once).

With the throughput hint a step is a round: the optimal number of inferences of the device, each begun as soon as another has ended, so
that the device is never idle between steps; `items` counts a round.
"""

import time

import numpy
import onnx_own_model
import onnx_property_tensors
import openvino
import plain_checks
from device_names import bare
from onnx_work import OnnxWork
from timing import median
from worker import Skipped, Work

PRECISIONS = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
HINTS = {"latency": "LATENCY", "throughput": "THROUGHPUT"}
PROPERTIES = (
    "INFERENCE_PRECISION_HINT", "EXECUTION_MODE_HINT", "PERFORMANCE_HINT", "INFERENCE_NUM_THREADS", "NUM_STREAMS",
    "CPU_DENORMALS_OPTIMIZATION", "ENABLE_CPU_PINNING", "ENABLE_HYPER_THREADING",
)  # fmt: skip
"""The properties that change results or speed and are part of the result."""


def open_session(request):
    return Session(request)


class Session:
    def __init__(self, request):
        core = getattr(openvino, "Core", None)
        if core is None:  # releases before 2023.0 have no openvino.Core
            from openvino.runtime import Core as core
        self.core, self.device = core(), bare(request.get("device"), "openvino") or "CPU"
        kind = self.device.partition(".")[0]
        if not any(name.partition(".")[0] == kind for name in self.core.available_devices):
            raise Skipped("OpenVINO lists no {}, but {}".format(self.device, ", ".join(self.core.available_devices) or "nothing"))

    def about(self):
        return {
            "framework_version": str(getattr(openvino, "__version__", "")), "device": self.device,
            "device_name": str(self.core.get_property(self.device, "FULL_DEVICE_NAME")).strip(),
        }  # fmt: skip

    def prepare(self, request):
        if request.get("compile", "none") != "none":
            raise Skipped("OpenVINO compiles always, in one way")
        return OwnModel(self, request) if request.get("own_model") else Inference(self, request)

    def operators(self, request):
        return plain_checks.run(onnx_property_tensors.cases(keeps_nan=False), request, self._computed)

    def _computed(self, data, inputs):
        """The outputs, computed in float32 where the device has it, because its default may be a narrower type."""
        options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        request = self.core.compile_model(_read(self.core, data), self.device, options).create_infer_request()
        found = []
        for given in inputs:
            for name, array in given.items():
                request.set_tensor(name, openvino.Tensor(numpy.ascontiguousarray(array)))
            request.infer()
            found.append([tensor.data.copy() for tensor in request.output_tensors])
        return found


class Inference(OnnxWork):
    def __init__(self, session, request):
        if request.get("dtype", "float32") not in PRECISIONS:
            raise Skipped("OpenVINO has no inference in {}".format(request["dtype"]))
        super().__init__(request)
        self.session, self.on_processor = session, session.device == "CPU"
        if session.device != "CPU":  # tensors of the host are copied at every inference, as in benchmark_app
            self.includes = ("host_to_device", "compute", "device_to_host")
        self.hint = request.get("settings", {}).get("hint", "latency")
        begin = time.perf_counter()
        self.model = self.compiled(self.network, HINTS[self.hint])
        self.compile_ms = (time.perf_counter() - begin) * 1e3
        inputs = self.given(self.network)
        self.inputs = [numpy.ascontiguousarray(inputs[each.name]) for each in self.network.inputs]
        if self.hint == "throughput":
            self._many()
        else:
            self.one = self.model.create_infer_request()
            self.count = 1
            self._fill(self.one)

    def compiled(self, network, hint):
        wanted = PRECISIONS[self.dtype]
        options = {"PERFORMANCE_HINT": hint, "INFERENCE_PRECISION_HINT": wanted}
        threads = self.request.get("threads")
        if threads and self.session.device == "CPU":
            options["INFERENCE_NUM_THREADS"] = int(threads)
        core, device = self.session.core, self.session.device
        try:
            model = self.with_model(network, lambda source: core.compile_model(_read(core, source), device, options))
        except RuntimeError as error:
            if "INFERENCE_PRECISION_HINT" in str(error) or "not supported precision" in str(error).lower():
                raise Skipped(f"{device} computes nothing in {wanted}") from error
            raise
        self._checked(model, wanted)
        return model

    def _checked(self, model, wanted):
        """Raises Skipped where the device chose another precision, and RuntimeError where the model is on another device: OpenVINO reports
        neither."""
        known = [str(name) for name in model.get_property("SUPPORTED_PROPERTIES")]
        if "INFERENCE_PRECISION_HINT" in known:
            names = {"f32": ("f32", "float"), "f16": ("f16", "float16"), "bf16": ("bf16", "bfloat16")}[wanted]
            taken = _type_name(model.get_property("INFERENCE_PRECISION_HINT"))
            if taken not in names:
                raise Skipped(f"{self.session.device} computes in {taken} where {wanted} is asked for")
        if "EXECUTION_DEVICES" in known:
            used = [str(name) for name in model.get_property("EXECUTION_DEVICES")]
            kind = self.session.device.partition(".")[0]
            if kind in ("CPU", "GPU", "NPU") and any(name.strip("()").partition(".")[0] != kind for name in used):
                raise RuntimeError("computed on {}, not on {}".format(", ".join(used), self.session.device))

    def _fill(self, request):
        for place, array in enumerate(self.inputs):
            request.set_input_tensor(place, openvino.Tensor(array))

    def _many(self):
        self.count = int(self.model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))
        self.queue, self.waits, self.full = openvino.AsyncInferQueue(self.model, self.count), [], False
        for request in self.queue:
            self._fill(request)
        if self.copies:
            self.queue.set_callback(self._taken)
        self.items *= self.count

    def _taken(self, request, _):
        self.waits.append(request.latency)
        for output in request.output_tensors:
            output.data.copy()

    def step(self):
        if self.hint == "latency":
            self._once(self.one)
            return
        self._round()
        if not self.full:  # the first step waits for its own round, and every later step for the round before it
            self.queue.wait_all()
            self._round()
            self.full = True

    def _once(self, request):
        if self.copies:
            self._write(request)
        request.infer()
        if self.copies:
            for output in request.output_tensors:
                output.data.copy()

    def _write(self, request):
        for place, array in enumerate(self._fresh()):
            request.set_input_tensor(place, openvino.Tensor(array if self.images else array.copy()))

    def _fresh(self):
        return [self.images.prepared()] if self.images else self.inputs

    def _round(self):
        for _ in range(self.count):
            if self.copies:
                self.queue.start_async(dict(enumerate(self._fresh())))
            else:
                self.queue.start_async()

    def found(self):
        found = dict(super().found(), settings=self.settings(), hint=self.hint, requests=self.count, compile_ms=self.compile_ms)
        if self.hint == "throughput":
            self.queue.wait_all()
            found["request_latency_ms"] = median(self.waits or [request.latency for request in self.queue])
        return found

    def settings(self):
        """The properties of the compiled model with their defaults: 'INFERENCE_PRECISION_HINT f32 (default bf16)'."""
        known = [str(name) for name in self.model.get_property("SUPPORTED_PROPERTIES")]
        found = {name: _word(self.model.get_property(name)) for name in PROPERTIES if name in known}
        if "INFERENCE_PRECISION_HINT" in found:
            try:
                usual = _word(self.session.core.get_property(self.session.device, "INFERENCE_PRECISION_HINT"))
            except RuntimeError:
                usual = ""
            if usual not in ("", found["INFERENCE_PRECISION_HINT"]):
                found["INFERENCE_PRECISION_HINT"] += f" (default {usual})"
        return found

    def computed(self, network):
        return _inferred(self.compiled(network, "LATENCY"), network, self.given(network))

    def measured(self, inputs):
        return _inferred(self.model, self.network, inputs)

    def results(self):
        if self.hint == "throughput":
            self.queue.wait_all()
        done = self.one if self.hint == "latency" else self.queue[0]
        return [done.get_output_tensor(place).data for place in range(len(self.network.outputs))]


def _inferred(model, network, inputs):
    """The outputs of a compiled model, of inputs by name."""
    request = model.create_infer_request()
    for place, each in enumerate(network.inputs):
        request.set_input_tensor(place, openvino.Tensor(numpy.ascontiguousarray(inputs[each.name])))
    request.infer()
    return [request.get_output_tensor(place).data.copy() for place in range(len(network.outputs))]


def _read(core, source):
    return core.read_model(source, b"") if isinstance(source, bytes) else core.read_model(source)


def _word(value):
    """The value of a property as a short text: an openvino.Type, an enumeration, a number."""
    return _type_name(value) if hasattr(value, "get_type_name") else str(value).rpartition(".")[2] or str(value)


def _type_name(value):
    """'f32' of an openvino.Type, whose text has changed over the releases."""
    named = getattr(value, "get_type_name", None)
    return named() if named is not None else str(value).strip("<>' ").rpartition("'")[2].rpartition(":")[2].strip()


class OwnModel(Work):
    """A person's own model file, in the requested precision."""

    includes = ("host_to_device", "compute", "device_to_host")

    def __init__(self, session, request):
        self.path, self.session, self.dtype = request["own_model"]["path"], session, request.get("dtype", "float32")
        options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": PRECISIONS.get(self.dtype, "f32")}
        if request.get("threads") and session.device == "CPU":
            options["INFERENCE_NUM_THREADS"] = int(request["threads"])
        batch = request.get("options", {}).get("batch")
        try:
            model = session.core.read_model(self.path)
            shapes = {place: onnx_own_model.filled(_sizes(each), batch) for place, each in enumerate(model.inputs)}
            model.reshape(shapes)
            self.model = session.core.compile_model(model, session.device, options)
        except RuntimeError as error:
            raise onnx_own_model.unreadable(self.path, f"openvino {openvino.__version__}", error) from error
        self.given = {
            each.get_any_name(): onnx_own_model.numbers(shapes[place], each.get_element_type().to_dtype())
            for place, each in enumerate(model.inputs)
        }
        self.items = next((value.shape[0] for value in self.given.values() if value.ndim), 1)
        self.one = self.model.create_infer_request()
        for place, value in enumerate(self.given.values()):
            self.one.set_input_tensor(place, openvino.Tensor(value))
        if session.device == "CPU":
            self.includes = ("compute",)

    def step(self):
        self.one.infer()

    def verify(self):
        self.one.infer()
        got = [self.one.get_output_tensor(place).data.copy() for place in range(len(self.model.outputs))]
        return onnx_own_model.compared(self.path, self.given, got, self.dtype)

    def memory_peak(self):
        return onnx_own_model.peak() if self.session.device == "CPU" else None


def _sizes(described):
    """The dimensions of an input; None for each open one."""
    return [None if each.is_dynamic else each.get_length() for each in described.get_partial_shape()]
