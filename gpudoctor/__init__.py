"""gpudoctor: why does this GPU not do deep learning, and what is the one thing to do.

    import gpudoctor
    report = gpudoctor.check()   # gpudoctor.api.check: of the interpreter that this runs in
    report.ok, report.findings

Importing this costs nothing: what a name needs is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpudoctor.api import Report, check

__version__ = "0.1.0"
__all__ = ["Report", "__version__", "check"]
_API = ("Report", "check")


def __getattr__(name: str) -> Any:
    if name in _API:
        return getattr(import_module("gpudoctor.api"), name)
    raise AttributeError(f"module 'gpudoctor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_API})
