"""Workloads on torch 1.8 and newer: CPU, CUDA, ROCm, XPU (native and with IPEX), MPS, DirectML (torch_directml), OpenCL (pytorch_ocl)."""

import sys

import networks
import preprocessing
import torch
import torch_correctness
import torch_fallback
import torch_micro
import torch_networks
from network_ir import has_labels
from torch_devices import Device, peak_of_process
from torch_training import Trainer
from worker import Skipped, Work

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "float64": torch.float64}
FINE_TUNES = True


def open_session(request):
    return Session(request)


class Session:
    def __init__(self, request):
        if request.get("threads"):
            torch.set_num_threads(int(request["threads"]))
        self.device = Device(request["framework"], request.get("device", "cpu"))
        settings = request.get("settings", {})
        matmul = getattr(getattr(torch.backends, "cuda", None), "matmul", None)
        if matmul is not None and hasattr(matmul, "allow_tf32"):
            matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = bool(settings.get("tf32"))
        if settings.get("cudnn_benchmark"):
            torch.backends.cudnn.benchmark = True
        if settings.get("flush_denormal"):
            torch.set_flush_denormal(True)
        if settings.get("matmul_precision") and hasattr(torch, "set_float32_matmul_precision"):
            torch.set_float32_matmul_precision(settings["matmul_precision"])

    def about(self):
        return {
            "framework_version": torch.__version__, "device": self.device.name, "device_name": self.device.title(),
            "threads": torch.get_num_threads(), "settings": self.settings(),
        }  # fmt: skip

    def settings(self):
        """The settings that change the precision of 'float32', or the speed."""
        found = {}
        if hasattr(torch, "get_float32_matmul_precision"):
            found["float32_matmul_precision"] = torch.get_float32_matmul_precision()
        if self.device.kind == "cuda":
            found["matmul.allow_tf32"] = str(torch.backends.cuda.matmul.allow_tf32)
            found["cudnn.allow_tf32"] = str(torch.backends.cudnn.allow_tf32) + " (default True)"
            found["cudnn.benchmark"] = str(torch.backends.cudnn.benchmark)
        return found

    def prepare(self, request):
        dtype = DTYPES[request.get("dtype", "float32")]
        self.device.supports(dtype)
        if request.get("own_model"):
            import torch_own_model

            return torch_own_model.OwnModel(self.device, dtype, request)
        if request["task"] == "micro":
            return torch_micro.prepare(request["workload"], self.device, dtype, request)
        return (Training if request["task"] == "training" else Inference)(self.device, dtype, request)

    def operators(self, request):
        import torch_operators

        return torch_operators.run(self.device, request)

    def collective(self, request):
        import torch_collective

        return torch_collective.run(self.device, DTYPES[request.get("dtype", "float32")], request, self.about())

    def data_parallel(self, request):
        import torch_data_parallel

        return torch_data_parallel.run(self.device, DTYPES[request.get("dtype", "float32")], request, self.about())


class _Network(Work):
    unit = "items/s"

    def __init__(self, device, dtype, request):
        self.device, self.dtype, self.request = device, dtype, request
        self.network = networks.draw(request["workload"], **request.get("options", {}))
        self.items = self.network.inputs[0].shape[0]
        self.unit = request.get("unit", "images/s")
        self.last = None
        self.images = None
        if request.get("preprocess") and preprocessing.takes_images(self.network):
            self.images = preprocessing.WithTorch(self.network, dtype)
        self.copies = bool(request.get("copies")) or self.images is not None
        self.includes = preprocessing.STAGES if self.images else preprocessing.STAGES[1:] if self.copies else ("compute",)

    def _given(self):
        """The inputs of this step: those on the device, or new ones whose preparation and copy are part of the measured time."""
        if not self.copies:
            return self.inputs
        return self._to_device([self.images.prepared()] if self.images else self.host)

    def _to_device(self, tensors):
        moved = [tensor.to(self.device.torch_device) for tensor in tensors]
        if self.request.get("settings", {}).get("channels_last"):
            moved = [x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x for x in moved]
        return moved

    def _model(self, dtype):
        model = torch_networks.build(self.network, self.device.torch_device, dtype, dropout=self.request["task"] == "training")
        if self.request.get("settings", {}).get("channels_last"):
            model = model.to(memory_format=torch.channels_last)
        return model

    def _subject(self, model):
        return torch_correctness.Subject(self.network, model, self.inputs, self.request, self.device, self.dtype)

    def _compiled(self, model):
        mode = self.request.get("compile", "none")
        if mode == "none":
            return model
        if not hasattr(torch, "compile"):
            raise Skipped(f"torch {torch.__version__} has no torch.compile")
        return torch.compile(model, mode=None if mode == "default" else mode)

    def sync(self):
        self.device.sync(self.last)

    def memory_peak(self):
        return self.device.memory_peak() or (peak_of_process() if self.device.kind == "cpu" else None)

    def memory_now(self):
        return self.device.memory_now()

    def places(self):
        """The device that computed, and fallbacks, seen in one more step after the measurement, because watching costs time."""
        places = {"computed_on": str(self.last.device)} if self.last is not None else {}
        if self.device.kind == "cpu":
            return places
        try:
            places["fallbacks"] = torch_fallback.in_one_step(self.device, self.step)
            self.sync()
        except Exception as error:  # the measurement is complete, and an error while watching must not discard it
            sys.stderr.write(f"fallbacks could not be watched: {error}\n")
        return places


class Inference(_Network):
    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        self.model = self.plain = self._model(dtype).eval()
        if device.kind == "xpu" and request["framework"] == "ipex":
            import intel_extension_for_pytorch as ipex

            self.model = ipex.optimize(self.model, dtype=dtype)
        self.model = self._compiled(self.model)
        self.host = torch_networks.inputs(self.network, dtype=dtype)
        self.inputs = self._to_device(self.host)
        device.reset_peak()

    def step(self):
        with torch.no_grad():
            found = self.model(*self._given())
            self.last = found[0] if isinstance(found, tuple) else found
            if self.copies:
                self.last.cpu()

    def verify(self):
        def measured(inputs):
            found = self.model(*inputs)
            return found if isinstance(found, tuple) else (found,)

        def build(network):
            return torch_networks.build(network, self.device.torch_device, self.dtype).eval()

        try:
            return torch_correctness.inference(self._subject(self.plain), measured, build)
        finally:
            self.plain = None
            self.device.reset_peak()

    def outcome(self):
        return None if self.last is None or self.images is not None else torch_correctness.same([self.last])


class Training(_Network):
    def __init__(self, device, dtype, request):
        super().__init__(device, dtype, request)
        self.plain = self._model(torch.float32).train()
        self.model = self._compiled(self.plain)
        self.trainer = Trainer(self.model, self.network, device, dtype, request)
        self.optimizer = self.trainer.optimizer
        self.host = torch_networks.inputs(self.network)
        if self.images is not None:
            self.images.dtype = torch.float32  # autocast converts them
        self.inputs = self._to_device(self.host)
        classes = request.get("options", {}).get("classes", networks.NETWORKS[request["workload"]].options.get("classes"))
        self.labels = torch_networks.labels(self.items, classes, device.torch_device) if has_labels(self.network, classes) else None
        device.reset_peak()

    def step(self):
        self.last = self.trainer.step(self._given(), self.labels)

    def verify(self):
        def build(network):
            return torch_networks.build(network, self.device.torch_device, torch.float32).train()

        def trainer(network, model):
            return Trainer(model, network, self.device, self.dtype, self.request)

        try:
            return torch_correctness.training(self._subject(self.plain), self.trainer, self.labels, build, trainer)
        finally:
            self.optimizer.zero_grad()
            self.plain = None
            self.device.reset_peak()

    def outcome(self):
        return None if self.last is None else {"loss": float(self.last.to("cpu"))}

    def found(self):
        return self.trainer.about()
