"""Imports and calls a person's own function, which has all the rights of this process; no other module imports such code.

Its folder precedes that of the workloads, whose modules are hidden meanwhile, so that a `weights.py` of the person is found.
Standard library, Python 3.8.
"""

import importlib
import importlib.util
import os
import sys

OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def called(given):
    """The result of the function. `given`: path (a file or a dotted module), function, folder.

    RuntimeError where it cannot be imported or called."""
    hidden = {name: module for name, module in sys.modules.items() if _ours(module) and name != "__main__"}
    path = list(sys.path)
    for name in hidden:
        del sys.modules[name]
    sys.path[:] = [given["folder"]] + [each for each in sys.path if not each.startswith(OURS)]
    try:
        return _function(given)()
    except SystemExit as error:
        raise RuntimeError(f"your code ended the process: sys.exit({error.code!r})") from error
    finally:
        sys.path[:] = path
        sys.modules.update(hidden)


def _ours(module):
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and os.path.abspath(file).startswith(OURS + os.sep)


def _function(given):
    path, name = given["path"], given["function"]
    if path.endswith(".py"):
        spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        try:
            module = importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name != path.partition(".")[0]:
                raise
            folder = given["folder"]
            raise RuntimeError(f"there is no module {path} in {folder} or in the environment of {sys.executable}") from error
    found = getattr(module, name, None)
    if not callable(found):
        there = [each for each, value in vars(module).items() if callable(value) and getattr(value, "__module__", "") == module.__name__]
        raise RuntimeError(f"{path} has no function {name}; it has {', '.join(there[:10]) or 'none'}")
    return found
