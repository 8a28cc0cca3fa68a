"""What the runtimes of ONNX models share: the network, its bytes, its inputs, and the comparison with the reference."""

import os
import tempfile

import correctness
import matrix_products
import micro_networks
import networks
import numpy
import onnx_networks
import preprocessing
import weights
from network_ir import parameters
from worker import Skipped, Work


class OnnxWork(Work):
    """A subclass loads a model (bytes, or the path of one with its weights beside it), and computes a small one for verify()."""

    on_processor = False

    def __init__(self, request, model_dtype="float32", opset=13):
        task, name = request["task"], request["workload"]
        if task == "training":
            raise Skipped("{} computes, it does not train".format(request["framework"]))
        self.request, self.dtype, self.model_dtype, self.opset = request, request.get("dtype", "float32"), model_dtype, opset
        self.copies = bool(request.get("copies"))
        self.includes = ("host_to_device", "compute", "device_to_host") if self.copies else ("compute",)
        if task == "micro":
            drawn = micro_networks.draw(name, request.get("options", {}))
            if drawn is None:
                raise Skipped("{} has no micro workload '{}'".format(request["framework"], name))
            self.network, self.items, self.unit = drawn
            if self.unit == "B/s":
                self.items *= numpy.dtype(model_dtype).itemsize
        else:
            self.network = networks.draw(name, **request.get("options", {}))
            self.items, self.unit = self.network.inputs[0].shape[0], request.get("unit", "images/s")
        self.images = None
        if task != "micro" and request.get("preprocess") and preprocessing.takes_images(self.network):
            self.images, self.copies = preprocessing.WithNumpy(self.network, self.model_dtype), True
            self.includes = preprocessing.STAGES

    def verify(self):
        if self.request["task"] != "micro":
            return correctness.inference(self.request, self.network, self._measured, self.computed, self.dtype)
        given, (got,) = self.given(self.network), self._measured(None)
        if self.network.layers[0].kind == "linear":
            weight = _weight(self.network).astype(self.model_dtype)
            return [correctness.product(self.request["workload"], given["left"], weight.T, got, self.dtype, self.request)]
        return [correctness.exactly(self.request["workload"], got, given["left"] + given["right"])]

    def _measured(self, inputs):
        return self.measured(self.given(self.network) if inputs is None else self.narrowed(self.network, inputs))

    def outcome(self):
        """The numbers of the last results; None where each step has other images, so that no result is repeated."""
        found = None if self.images else self.results()
        return None if found is None else correctness.same(found)

    def measured(self, inputs):
        """The outputs of the loaded network as numpy arrays, of inputs by name."""
        raise NotImplementedError

    def results(self):
        """The outputs of the last step as numpy arrays; None where the backend does not keep them."""
        return None

    def found(self):
        """On a processor, the speed of other libraries with the same matrix product."""
        if self.request["workload"] == "matmul" and self.on_processor and self.dtype == "float32":
            return {"products": matrix_products.by_numpy(self.network.inputs[0].shape[0])}
        return {}

    def computed(self, network):
        """The outputs of this network as numpy arrays."""
        raise NotImplementedError

    def given(self, network):
        """Inputs by name, floats in the precision of the model."""
        return self.narrowed(network, weights.inputs(network))

    def narrowed(self, network, values):
        floats = {each.name for each in network.inputs if each.kind == "float"}
        return {name: value.astype(self.model_dtype) if name in floats else value for name, value in values.items()}

    def fresh(self, inputs):
        """Inputs by name, prepared again where the time of that is measured."""
        return {self.images.name: self.images.prepared()} if self.images else inputs

    def with_model(self, network, load):
        """The result of load(model), called with the bytes of the model, or with a path (removed afterwards) where it is too large for
        bytes."""
        try:
            found = onnx_networks.model_bytes(network, self.opset, self.model_dtype)
        except ValueError:
            with tempfile.TemporaryDirectory(prefix="gpudoctor-") as folder:
                path = os.path.join(folder, "model.onnx")
                onnx_networks.write(network, path, self.opset, self.model_dtype)
                return load(path)
        return load(found)


def _weight(network):
    """The weight matrix of a network that is one product."""
    (found,) = (each for each in parameters(network) if each.name.endswith(".weight"))
    return weights.values(found.name, found.shape, found.centre, found.spread)
