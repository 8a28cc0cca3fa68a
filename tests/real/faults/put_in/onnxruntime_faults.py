"""Puts faults of onnx_faults.py into ONNX Runtime: into what a session returns, and what it writes into bound outputs."""

import onnx_faults
import onnxruntime


def put_in(fault):
    if not fault:
        return
    wrong, sound = onnx_faults.FAULTS[fault], onnxruntime.InferenceSession

    class InferenceSession(sound):
        def __init__(self, source, *args, **kwargs):
            super().__init__(source, *args, **kwargs)
            if isinstance(source, bytes):
                model = source
            else:
                with open(source, "rb") as file:
                    model = file.read()
            self.operators_of_model = onnx_faults.operators_of(model)

        def run(self, names, given, *args, **kwargs):
            outputs = super().run(names, given, *args, **kwargs)
            return wrong(self.operators_of_model, [given[each.name] for each in self.get_inputs() if each.name in given], outputs)

    InferenceSession.__name__ = "InferenceSession"
    onnxruntime.InferenceSession = InferenceSession
