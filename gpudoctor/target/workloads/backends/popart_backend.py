"""Inference of an ONNX model with PopART, Graphcore's own runtime: device 'ipu:0', or 'model' for the IPU Model (ipu1, ipu2, ipu21).

Written from PopART's documentation and tried with a stand-in only, without an IPU and without the SDK. One session is one IPU, so a card
of two needs two processes. PopART reads operator sets up to 11.
"""

import time

import numpy
import popart
from device_names import bare
from network_ir import shapes
from onnx_work import OnnxWork
from worker import Skipped

OPSET = 11
MODEL = "model"


def open_session(request):
    return Session(request)


class Session:
    def __init__(self, request):
        self.name = bare(request.get("device"), "popart") or "ipu:0"
        self.version = request.get("settings", {}).get("ipu_model", "ipu2")
        manager = popart.DeviceManager()
        if self.name == MODEL:
            self.device = manager.createIpuModelDevice({"ipuVersion": self.version})
        else:
            self.device = manager.acquireAvailableDevice(1)
        if self.device is None:
            raise RuntimeError("PopART could acquire no IPU: there is none, or another process holds it (see: gc-monitor)")

    def about(self):
        title = "IPU Model, a simulation on the CPU" if self.name == MODEL else "IPU"
        return {"framework_version": str(getattr(popart, "__version__", "")), "device": self.name, "device_name": title}

    def prepare(self, request):
        if request.get("compile", "none") != "none":
            raise Skipped("PopART compiles always, in one way")
        return Inference(self, request)

    def operators(self, request):
        raise Skipped("PopART is asked for whole networks, not for operators")


class Inference(OnnxWork):
    """A step is one batch, from the host and back to it: PopART returns when its results are there."""

    def __init__(self, session, request):
        if request.get("dtype", "float32") not in ("float32", "float16"):
            raise Skipped("an IPU has no {}".format(request["dtype"]))
        super().__init__(request, model_dtype=request.get("dtype", "float32"), opset=OPSET)
        self.includes = self.includes if self.copies else ("host_to_device", "compute", "device_to_host")
        self.place, self.session, self.compile_ms = session, None, None

    def loaded(self, network):
        outputs = {name: popart.AnchorReturnType("All") for name in network.outputs}
        flow = popart.DataFlow(1, outputs)
        session = self.with_model(network, lambda source: popart.InferenceSession(source, flow, self.place.device))
        session.prepareDevice()
        session.weightsFromHost()
        return session

    def _io(self, session, network):
        self.anchors = session.initAnchorArrays()
        given = {name: self._narrow(value) for name, value in self.given(network).items()}
        return popart.PyStepIO(given, self.anchors)

    @staticmethod
    def _narrow(value):
        """The array with 32-bit integers, because an IPU has no 64-bit ones."""
        return numpy.ascontiguousarray(value.astype(numpy.int32) if value.dtype == numpy.int64 else value)

    def _ready(self):
        """Compiles the network at its first use, because verify() may compile another network for the same IPU before."""
        if self.session is None:
            begin = time.perf_counter()
            self.session = self.loaded(self.network)
            self.compile_ms = (time.perf_counter() - begin) * 1e3
            self.io = self._io(self.session, self.network)

    def step(self):
        self._ready()
        if self.images:
            given = {name: self._narrow(value) for name, value in self.fresh({}).items()}
            self.session.run(popart.PyStepIO(given, self.anchors))
        else:
            self.session.run(self.io)

    def computed(self, network):
        session = self.loaded(network)
        session.run(self._io(session, network))
        return [numpy.array(self.anchors[name]).reshape(-1) for name in network.outputs]

    def measured(self, inputs):
        self._ready()
        self.session.run(popart.PyStepIO({name: self._narrow(value) for name, value in inputs.items()}, self.anchors))
        return self.results()

    def results(self):
        known = shapes(self.network)
        return [numpy.array(self.anchors[name]).reshape(known[name]) for name in self.network.outputs]

    def found(self):
        return {"compile_ms": self.compile_ms}
