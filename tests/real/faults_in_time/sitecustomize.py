"""A torch whose matrix product and convolutions are at fault in time. On PYTHONPATH; FAULT_IN_TIME names one fault:

hang-STEP, nan-STEP, changed-STEP (from that call on), leak-MIB (a call), slower-SECONDS (three times, so long after the first call),
tenth (every tenth call is five times slower), untouched-MIB (addresses that are never written to).
"""

import importlib.abc
import importlib.machinery
import os
import sys
import time

KIND, _, NUMBER = os.environ.get("FAULT_IN_TIME", "").partition("-")
KEPT = []


def at_fault(compute, torch):
    calls, began = [0], [None]

    def faulty(*args, **kwargs):
        calls[0] += 1
        begin = time.perf_counter()
        began[0] = began[0] or begin
        found = compute(*args, **kwargs)
        took = time.perf_counter() - begin
        late = NUMBER != "" and calls[0] >= float(NUMBER)
        if KIND == "hang" and late:
            while True:
                time.sleep(0.001)
        if KIND == "nan" and late:
            found = found * float("nan")
        if KIND == "changed" and late:
            found = found * 1.01
        if KIND == "leak":
            KEPT.append(torch.ones(int(NUMBER) << 18))
        if KIND == "untouched":
            KEPT.append(bytearray(int(NUMBER) << 20))
        if KIND == "slower" and begin - began[0] > float(NUMBER):
            time.sleep(2 * took)
        if KIND == "tenth" and calls[0] % 10 == 0:
            time.sleep(4 * took)
        return found

    return faulty


class Finder(importlib.abc.MetaPathFinder):
    """Patches torch once it is imported."""

    def find_spec(self, name, path, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            module.matmul = at_fault(module.matmul, module)
            forward = module.nn.Conv2d.forward
            module.nn.Conv2d.forward = forward if os.environ.get("FAULT_ONLY") == "matmul" else at_fault(forward, module)

        spec.loader.exec_module = exec_module
        return spec


if KIND:
    sys.meta_path.insert(0, Finder())
