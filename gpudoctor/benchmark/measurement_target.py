"""One thing to measure on."""

from __future__ import annotations

from msgspec import Struct


class MeasurementTarget(Struct, frozen=True, kw_only=True):
    """One thing to measure on. `device` as --device takes it; `framework` as a worker's request does."""

    framework: str
    device: str
    python: str
    backend: str
    """cpu, cuda, rocm, xpu, mps, ocl, opencl, directml, ipu, gpu, npu ...: as in published results"""
    name: str = ""
    version: str = ""
    program: str = ""
    """The path of a program that measures, where it is none of the interpreter's packages."""
    host: bool = False
    """The device is the processor, whatever the backend: an OpenCL runtime for processors under torch."""

    @property
    def on_processor(self) -> bool:
        return self.backend == "cpu" or self.host
