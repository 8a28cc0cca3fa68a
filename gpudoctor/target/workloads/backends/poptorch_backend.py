"""Workloads on an IPU with PopTorch: device ipu:0, or `model` for the IPU Model, a simulation that says nothing of speed.

Written from the documentation of PopTorch and tried with a stand-in only, without an IPU and without the SDK. One process is one IPU. Each
call copies from the host and back; the first one compiles, which takes minutes.
"""

import os

import correctness
import network_ir
import networks
import poptorch
import preprocessing
import torch
import torch_correctness
import torch_networks
from device_names import bare
from network_ir import shapes
from worker import Skipped, Work

DTYPES = {"float32": torch.float32, "float16": torch.float16}
MODEL = "model"


def open_session(request):
    return Session(request)


class Session:
    def __init__(self, request):
        self.name = bare(request.get("device"), "poptorch") or "ipu:0"
        if os.environ.get("POPTORCH_IPU_MODEL") == "1":
            self.name = MODEL
        if self.name != MODEL and not poptorch.ipuHardwareIsAvailable():
            raise Skipped("poptorch finds no IPU; the device 'model' is the simulation")

    def about(self):
        title = "IPU Model, a simulation on the CPU" if self.name == MODEL else f"IPU version {poptorch.ipuHardwareVersion()}"
        return {"framework_version": str(poptorch.__version__), "device": self.name, "device_name": title}

    def prepare(self, request):
        if request["task"] == "micro":
            raise Skipped("PopTorch is measured with whole networks")
        if request.get("compile", "none") != "none":
            raise Skipped("PopTorch compiles always, in one way")
        if request.get("dtype", "float32") not in DTYPES:
            raise Skipped("an IPU has no {}".format(request["dtype"]))
        return (Training if request["task"] == "training" else Inference)(self, request)

    def operators(self, request):
        raise Skipped("PopTorch is asked for whole networks, not for operators")

    def options(self):
        found = poptorch.Options()
        if self.name == MODEL:
            found.useIpuModel(True)
        return found


class _Network(Work):
    includes = ("host_to_device", "compute", "device_to_host")

    def __init__(self, session, request):
        self.session, self.request, self.model = session, request, None
        self.name = request.get("dtype", "float32")
        self.dtype = DTYPES[self.name]
        self.network = networks.draw(request["workload"], **request.get("options", {}))
        self.items, self.unit = self.network.inputs[0].shape[0], request.get("unit", "images/s")
        self.images = None
        if request["task"] == "inference" and request.get("preprocess") and preprocessing.takes_images(self.network):
            self.images, self.includes = preprocessing.WithTorch(self.network, self.dtype), preprocessing.STAGES

    def attached(self, network):
        """(a model that is compiled at its first call, its inputs)."""
        raise NotImplementedError

    def step(self):
        if self.model is None:  # after verify(), because an IPU is attached to one model at a time
            self.model, self.given = self.attached(self.network)
        self.model(*([self.images.prepared()] if self.images else self.given))

    def left(self, model):
        model.detachFromDevice()


class Inference(_Network):
    def attached(self, network):
        module = torch_networks.build(network, dtype=self.dtype, dropout=False, fused_attention=False).eval()
        return poptorch.inferenceModel(module, self.session.options()), torch_networks.inputs(network, dtype=self.dtype)

    def verify(self):
        network, _ = correctness.small(self.request)
        right = _parts(_reference(network, "eval")(*_doubled(network)))
        model, given = self.attached(network)
        got = _parts(model(*given))
        self.left(model)
        tolerance = correctness.TOLERANCES[self.name]
        return [torch_correctness.compared(f"output {number}", a, b, tolerance) for number, (a, b) in enumerate(zip(got, right))]


class WithLoss(torch.nn.Module):
    """The loss belongs to the model: PopTorch computes it on the IPU."""

    def __init__(self, network, module, labelled):
        super().__init__()
        self.network, self.labelled = module, labelled

    def forward(self, *given):
        if self.labelled:
            return torch.nn.functional.cross_entropy(self.network(*given[:-1]).float(), given[-1])
        return sum(part.float().pow(2).mean() for part in _parts(self.network(*given)))


class Training(_Network):
    def attached(self, network, classes=None, dropout=True):
        classes = classes or correctness.classes_of(self.request)
        module = torch_networks.build(network, dtype=self.dtype, dropout=dropout, fused_attention=False)
        labelled = network_ir.has_labels(network, classes)
        whole = WithLoss(network, module, labelled).train()
        given = torch_networks.inputs(network, dtype=self.dtype)
        if labelled:
            given.append(torch_networks.labels(shapes(network)[network.outputs[0]][0], classes))
        return poptorch.trainingModel(whole, self.session.options(), optimizer=self._optimizer(poptorch.optim, whole)), given

    def _optimizer(self, kinds, model):
        if self.request.get("optimizer", "sgd") == "adam":
            return kinds.Adam(model.parameters(), lr=1e-4)
        more = {"use_combined_accum": False} if kinds is poptorch.optim else {}
        return kinds.SGD(model.parameters(), lr=1e-3, momentum=0.9, **more)

    def verify(self):
        """Compares the losses of the next steps, because the gradients stay on the IPU."""
        network, classes = correctness.small(self.request)
        model, given = self.attached(network, classes, dropout=False)
        got = [float(model(*given)) for _ in range(correctness.STEPS)]
        self.left(model)
        labelled = network_ir.has_labels(network, classes)
        whole = WithLoss64(network, _reference(network, "train"), labelled)
        steps, right = self._optimizer(torch.optim, whole), []
        doubled = _doubled(network) + (given[-1:] if labelled else [])
        for _ in range(correctness.STEPS):
            steps.zero_grad()
            loss = whole(*doubled)
            loss.backward()
            steps.step()
            right.append(float(loss.detach()))
        changes = [torch.tensor([b - a for a, b in zip(each, each[1:])], dtype=torch.float64) for each in (got, right)]
        tolerance = correctness.TOLERANCES[self.name] * 3.0
        losses = [torch.tensor(each, dtype=torch.float64) for each in (got, right)]
        # a difference of losses has fewer exact digits
        loose = 10 * tolerance
        return [torch_correctness.compared("losses", *losses, tolerance), torch_correctness.compared("steps of the loss", *changes, loose)]


class WithLoss64(WithLoss):
    def forward(self, *given):
        if self.labelled:
            return torch.nn.functional.cross_entropy(self.network(*given[:-1]), given[-1])
        return sum(part.pow(2).mean() for part in _parts(self.network(*given)))


def _reference(network, mode):
    module = torch_networks.build(network, "cpu", torch.float64, dropout=False, fused_attention=False)
    return module.eval() if mode == "eval" else module.train()


def _doubled(network):
    return [each.double() if each.is_floating_point() else each for each in torch_networks.inputs(network)]


def _parts(found):
    return found if isinstance(found, (tuple, list)) else (found,)
