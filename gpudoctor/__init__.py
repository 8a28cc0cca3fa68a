"""gpudoctor: find out why deep learning doesn't work on a GPU, and how to fix it.

    import gpudoctor
    report = gpudoctor.check()   # gpudoctor.api.check: of the interpreter that this runs in
    report.ok, report.findings

Importing this costs nothing: what a name needs is imported when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers read it; typing itself would delay the moment from which on Ctrl-C is answered
if TYPE_CHECKING:
    from typing import Any

    from gpudoctor.api import Report, check

__version__ = "0.1.0"
__all__ = ["Report", "__version__", "check"]
_API = ("Report", "check")


def __getattr__(name: str) -> Any:
    if name in _API:
        from importlib import import_module

        return getattr(import_module("gpudoctor.api"), name)
    raise AttributeError(f"module 'gpudoctor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_API})
