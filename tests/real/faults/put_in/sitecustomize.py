"""Found through PYTHONPATH: puts the fault that GPUDOCTOR_FAULT names (framework:fault) into that framework as soon as it is imported."""

import importlib.abc
import importlib.util
import os
import sys

FRAMEWORK, _, FAULT = os.environ.get("GPUDOCTOR_FAULT", "").partition(":")
MODULES = {"torch": "torch", "onnxruntime": "onnxruntime", "openvino": "openvino", "jax": "jax"}


class Finder(importlib.abc.MetaPathFinder):
    """Finds the framework as everybody does, and lets the fault in when it has been loaded."""

    def find_spec(self, name, path, target=None):
        if name != MODULES.get(FRAMEWORK):
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            importlib.import_module(FRAMEWORK + "_faults").put_in(FAULT)

        spec.loader.exec_module = exec_module
        return spec


if FRAMEWORK in MODULES:
    sys.meta_path.insert(0, Finder())
elif FRAMEWORK == "opencl":
    importlib.import_module("opencl_faults").put_in(FAULT)
