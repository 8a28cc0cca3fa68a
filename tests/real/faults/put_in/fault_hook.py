"""Imported when an interpreter starts (faults/environment.py): puts a fault into a framework as soon as that has been imported."""

import importlib.abc
import importlib.util
import sys

FRAMEWORKS = ("torch", "onnxruntime", "openvino", "jax")


class Finder(importlib.abc.MetaPathFinder):
    """Finds the framework as everybody does, and lets the fault in when it has been loaded."""

    def __init__(self, framework, fault):
        self.framework, self.fault = framework, fault

    def find_spec(self, name, path, target=None):
        if name != self.framework:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            importlib.import_module(name + "_faults").put_in(self.fault)

        spec.loader.exec_module = exec_module
        return spec


_armed = []


def arm(framework, fault):
    if _armed:
        return  # the file that calls this may be read twice: a fault put in twice can be none
    _armed.append(fault)
    if framework in FRAMEWORKS:
        sys.meta_path.insert(0, Finder(framework, fault))
    else:
        importlib.import_module(framework + "_faults").put_in(fault)
