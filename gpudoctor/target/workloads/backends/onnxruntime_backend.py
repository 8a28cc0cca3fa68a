"""Workloads on ONNX Runtime; the device is an execution provider: CPUExecutionProvider, CUDAExecutionProvider:0 and the like.

A provider that cannot be created, or that leaves nodes to the CPU, is a failure: ONNX Runtime would use the CPU without a message.
"""

import time

import numpy
import onnx_own_model
import onnx_property_tensors
import onnxruntime as ort
import plain_checks
from device_names import bare, processor
from onnx_work import OnnxWork
from worker import Skipped, Work

CPU = "CPUExecutionProvider"
MEMORY = {"CUDA": "cuda", "Tensorrt": "cuda", "NvTensorRTRTX": "cuda", "ROCM": "cuda", "MIGraphX": "cuda", "Dml": "dml", "CANN": "cann"}
"""The memory of each provider, by its name; for other providers inputs and outputs stay in the memory of the host."""


OPTIONS = ("intra_op_num_threads", "enable_cpu_mem_arena", "enable_mem_pattern", "execution_mode", "graph_optimization_level")
CONFIGURED = ("session.set_denormal_as_zero",)
OF_PROVIDERS = ("use_tf32", "cudnn_conv_algo_search", "cudnn_conv_use_max_workspace", "precision", "device_type", "num_of_threads")
"""The settings that change results or speed and are part of the result."""


def open_session(request):
    return Session(request)


class Session:
    def __init__(self, request):
        self.provider, _, self.kind = (bare(request.get("device"), "ort", "onnxruntime") or CPU).partition(":")
        offered = ort.get_available_providers()
        if self.provider not in offered:
            raise Skipped("this onnxruntime has no {}: it has {}".format(self.provider, ", ".join(offered)))
        self.on_cpu = self.provider == CPU

    def about(self):
        name = processor() if self.on_cpu else " ".join((self.provider.replace("ExecutionProvider", ""), self.kind)).strip()
        device = self.provider + (":" + self.kind if self.kind else "")
        return {"framework_version": str(ort.__version__), "device": device, "device_name": name}

    def prepare(self, request):
        if request.get("compile", "none") != "none":
            raise Skipped("ONNX Runtime compiles always, in one way")
        return OwnModel(self, request) if request.get("own_model") else Inference(self, request)

    def operators(self, request):
        return plain_checks.run(onnx_property_tensors.cases(), request, self._computed)

    def _computed(self, data, inputs):
        session = self.load(data, 0)
        return [session.run(None, given) for given in inputs]

    def device_number(self):
        return int(self.kind) if self.kind.isdigit() else 0

    def provider_options(self):
        if not self.kind:
            return self.provider
        return (self.provider, {"device_id": self.kind} if self.kind.isdigit() else {"device_type": self.kind})

    def load(self, source, threads, settings=None):
        """A session of this provider alone, from the bytes or the path of a model."""
        options, settings = ort.SessionOptions(), settings or {}
        options.log_severity_level = 3
        if threads:
            options.intra_op_num_threads = int(threads)
        if settings.get("graph"):
            options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, "ORT_ENABLE_" + settings["graph"].upper())
        if settings.get("execution") == "parallel":
            options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
        if settings.get("spinning") is False and hasattr(options, "add_session_config_entry"):
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if not self.on_cpu and hasattr(options, "add_session_config_entry"):
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        if self.provider.startswith("Dml"):
            options.enable_mem_pattern = False
            options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        session = ort.InferenceSession(source, options, providers=[self.provider_options()])
        if session.get_providers()[0] != self.provider:
            taken = session.get_providers()[0]
            raise RuntimeError(f"{self.provider} could not be made: onnxruntime took {taken} instead")
        if hasattr(session, "disable_fallback"):
            session.disable_fallback()  # otherwise ONNX Runtime repeats a failed run on the CPU
        return session


class Inference(OnnxWork):
    def __init__(self, session, request):
        dtype = request.get("dtype", "float32")
        if dtype not in ("float32", "float16"):
            raise Skipped(f"models for ONNX Runtime are in float32 or float16 here, not in {dtype}")
        super().__init__(request, model_dtype=dtype)
        self.place, self.on_processor = session, session.on_cpu
        place = next((kind for start, kind in MEMORY.items() if session.provider.startswith(start)), "cpu")
        if place == "cpu" and not session.on_cpu:
            self.includes = self.includes if self.copies else ("host_to_device", "compute", "device_to_host")
        begin = time.perf_counter()
        self.session = self.loaded(self.network)
        self.load_ms = (time.perf_counter() - begin) * 1e3
        self.inputs = {name: numpy.ascontiguousarray(value) for name, value in self.given(self.network).items()}
        self.binding, self.last = self._bound(place), None

    def loaded(self, network):
        return self.with_model(network, lambda source: self.place.load(source, self.request.get("threads"), self.request.get("settings")))

    def _bound(self, place):
        """Binds inputs and outputs to the device, or to the host where the time of the copies is measured."""
        binding = self.session.io_binding()
        for name, value in self.inputs.items():
            if self.copies or place == "cpu":
                binding.bind_cpu_input(name, value)
            else:
                binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value, place, self.place.device_number()))
        for output in self.session.get_outputs():
            binding.bind_output(output.name, "cpu" if self.copies else place, self.place.device_number() if place != "cpu" else 0)
        return binding

    def step(self):
        if self.copies:
            self.last = self.session.run(None, self.fresh(self.inputs))
        else:
            self.session.run_with_iobinding(self.binding)
            self.last = self.binding

    def measured(self, inputs):
        return self.session.run(None, {name: numpy.ascontiguousarray(value) for name, value in inputs.items()})

    def results(self):
        return self.binding.copy_outputs_to_cpu() if self.last is self.binding else self.last

    def sync(self):
        if not self.copies:
            self.binding.synchronize_outputs()

    def found(self):
        return dict(super().found(), load_ms=self.load_ms, settings=settings_of(self.session))

    def computed(self, network):
        return self.loaded(network).run(None, self.given(network))


def settings_of(session):
    """The settings that change results or speed of a session, with those that are defaults."""
    options = session.get_session_options()
    found = {name: str(getattr(options, name)).rpartition(".")[2] for name in OPTIONS if hasattr(options, name)}
    for name in CONFIGURED:
        try:
            found[name] = options.get_session_config_entry(name)
        except (AttributeError, RuntimeError):
            found[name] = "0"
    of_provider = session.get_provider_options().get(session.get_providers()[0], {})
    found.update((name, str(of_provider[name])) for name in OF_PROVIDERS if name in of_provider)
    return found


class OwnModel(Work):
    """A person's own model file, in the precision of the file."""

    includes = ("host_to_device", "compute", "device_to_host")

    def __init__(self, session, request):
        self.path, self.place = request["own_model"]["path"], session
        self.dtype = request.get("dtype", "float32")
        try:
            self.session = session.load(self.path, request.get("threads"), request.get("settings"))
        except Exception as error:  # the classes of onnxruntime's errors differ between releases
            raise onnx_own_model.unreadable(self.path, f"onnxruntime {ort.__version__}", error) from error
        batch = request.get("options", {}).get("batch")
        self.inputs = {each.name: _made_up(each, batch) for each in self.session.get_inputs()}
        self.items = next((value.shape[0] for value in self.inputs.values() if value.ndim), 1)
        if session.on_cpu:
            self.includes = ("compute",)

    def step(self):
        self.last = self.session.run(None, self.inputs)

    def verify(self):
        return onnx_own_model.compared(self.path, self.inputs, self.session.run(None, self.inputs), self.dtype)

    def memory_peak(self):
        return onnx_own_model.peak() if self.place.on_cpu else None


TYPES = {
    "tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64", "tensor(int64)": "int64",
    "tensor(int32)": "int32", "tensor(int16)": "int16", "tensor(int8)": "int8", "tensor(uint8)": "uint8", "tensor(bool)": "bool",
}  # fmt: skip


def _made_up(described, batch):
    if described.type not in TYPES:
        raise Skipped(f"input {described.name} is a {described.type}, which is not made up here")
    return onnx_own_model.numbers(onnx_own_model.filled(described.shape, batch), TYPES[described.type])
