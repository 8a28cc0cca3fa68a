"""Makes each timed step of a worker PLANTED_SLOWNESS times as long, whatever the framework. On PYTHONPATH.

After each step the worker counts the time until so much has passed, inside its clock. It does not sleep, which would cool the processor.
"""

import importlib.abc
import importlib.machinery
import os
import sys
import time

FACTOR = float(os.environ.get("PLANTED_SLOWNESS") or 1.0)


def slowed(timed):
    def slow(step, sync, repeat):
        def longer():
            begin = time.perf_counter()
            step()
            sync()
            end = begin + FACTOR * (time.perf_counter() - begin)
            while time.perf_counter() < end:
                pass

        return timed(longer, sync, repeat)

    return slow


class Finder(importlib.abc.MetaPathFinder):
    """Changes the worker's module `timing` when it is imported."""

    def find_spec(self, name, path, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path) if name == "timing" else None
        if spec is None or not spec.origin or "workloads" not in spec.origin:
            return None
        sys.meta_path.remove(self)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            module.timed = slowed(module.timed)

        spec.loader.exec_module = exec_module
        return spec


if FACTOR > 1:
    sys.meta_path.insert(0, Finder())
