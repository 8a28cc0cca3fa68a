"""Puts faults of onnx_faults.py into OpenVINO: what a request has computed is changed where it lies."""

import onnx_faults
import openvino

_operators = {}
"""Of each model that was read, by its identity; the models are kept, so that no other one takes it."""


def put_in(fault):
    if not fault:
        return
    wrong = onnx_faults.FAULTS[fault]
    read, compile_model = openvino.Core.read_model, openvino.Core.compile_model
    make, infer = openvino.CompiledModel.create_infer_request, openvino.InferRequest.infer

    def read_model(self, source, *args, **kwargs):
        model = read(self, source, *args, **kwargs)
        if isinstance(source, bytes):
            _operators[id(model)] = (onnx_faults.operators_of(source), model)
        return model

    def compiled(self, model, *args, **kwargs):
        found = compile_model(self, model, *args, **kwargs)
        found.operators_of_model = _operators.get(id(model), (set(),))[0]
        return found

    def create_infer_request(self):
        request = make(self)
        request.operators_of_model = getattr(self, "operators_of_model", set())
        return request

    def wrong_infer(self, *args, **kwargs):
        found = infer(self, *args, **kwargs)
        tensors = self.output_tensors
        given = [each.data for each in self.input_tensors]
        for tensor, changed in zip(tensors, wrong(self.operators_of_model, given, [each.data.copy() for each in tensors]), strict=True):
            tensor.data[...] = changed
        return found

    openvino.Core.read_model, openvino.Core.compile_model = read_model, compiled
    openvino.CompiledModel.create_infer_request, openvino.InferRequest.infer = create_infer_request, wrong_infer
