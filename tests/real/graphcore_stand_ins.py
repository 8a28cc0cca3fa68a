"""Modules with the names of PopTorch's and PopART's interface, which compute with torch and with ONNX Runtime."""

POPTORCH = """
import torch
from torch import optim as _real
__version__ = "3.2.0"
class Options:
    def useIpuModel(self, on): return self
def ipuHardwareIsAvailable(): return False
class optim:
    Adam = _real.Adam
    @staticmethod
    def SGD(*given, use_combined_accum, **more): return _real.SGD(*given, **more)
class Attached:
    count = 0
    def __init__(self, compute):
        Attached.count += 1
        assert Attached.count == 1, "Failed to acquire 1 IPU(s)"
        self.compute = compute
    def __call__(self, *given): return self.compute(*given)
    def detachFromDevice(self): Attached.count -= 1
def inferenceModel(model, options):
    assert not model.training
    def compute(*given):
        with torch.no_grad(): return model(*given)
    return Attached(compute)
def trainingModel(model, options, optimizer):
    assert model.training
    def compute(*given):
        optimizer.zero_grad()
        loss = model(*given)
        (loss * SPOIL).backward()
        optimizer.step()
        return loss.detach()
    return Attached(compute)
"""
POPART = """
import numpy
import onnxruntime
class AnchorReturnType:
    def __init__(self, kind): assert kind == "All"
class DataFlow:
    def __init__(self, steps, anchors): self.anchors = anchors
class DeviceManager:
    def createIpuModelDevice(self, options): return options
    def acquireAvailableDevice(self, count): return None
class PyStepIO:
    def __init__(self, inputs, anchors): self.inputs, self.anchors = inputs, anchors
class InferenceSession:
    def __init__(self, model, flow, device):
        self.session, self.flow, self.ready = onnxruntime.InferenceSession(model), flow, 0
    def prepareDevice(self): self.ready += 1
    def weightsFromHost(self): self.ready += 1
    def initAnchorArrays(self):
        return {each.name: numpy.zeros(each.shape, "float32") for each in self.session.get_outputs()}
    def run(self, io):
        assert self.ready == 2
        for name, value in zip(self.flow.anchors, self.session.run(list(self.flow.anchors), io.inputs)):
            io.anchors[name][...] = value
"""
