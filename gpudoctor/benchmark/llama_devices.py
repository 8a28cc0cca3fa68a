"""Devices on which llama.cpp can be measured: the GPUs that a build supports, and the processor. Pure, on facts."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.benchmark.measurement_target import MeasurementTarget
from gpudoctor.facts.probes.llama_cpp import GPU_BACKENDS
from gpudoctor.model.facts import Facts

BACKENDS = {"hip": "rocm", "sycl": "xpu", "metal": "mps"}
"""ggml's names of backends to those of published results, where they differ."""


def llama_targets(facts: Facts, python: str, interpreter: str) -> Iterator[MeasurementTarget]:
    """Targets of llama-cpp-python and llama-bench. `python`: the target's interpreter, '' where it may not be run; `interpreter`: another
    one, which suffices for `llama-bench`."""
    yield from _package(facts, python)
    yield from _program(facts, python or interpreter)


def _package(facts: Facts, python: str) -> Iterator[MeasurementTarget]:
    """Targets of llama-cpp-python: the GPUs on the bus that one of its backends supports, in the order of the bus."""
    version = facts.value("llama_cpp.python.version")
    if not isinstance(version, str):
        return
    backends = [str(name) for name in facts.value("llama_cpp.python.backends") or []]
    served = [gpu for gpu in facts.value("llama_cpp.gpus") or [] if gpu.get("python_served") is True and gpu.get("main")]
    for number, gpu in enumerate(served if backends else ()):
        yield MeasurementTarget(
            framework="llama-cpp", device=f"llama:{number}", python=python, backend=BACKENDS.get(backends[0], backends[0]),
            name=str(gpu.get("name") or ""), version=version,
        )  # fmt: skip
    yield MeasurementTarget(
        framework="llama-cpp", device="llama:cpu", python=python, backend="cpu", name=_processor(facts), version=version
    )


def _program(facts: Facts, python: str) -> Iterator[MeasurementTarget]:
    """Targets of llama-bench: the GPUs that llama.cpp lists."""
    program = facts.value("llama_cpp.bench")
    if not isinstance(program, str):
        return
    build = str(facts.value("llama_cpp.version") or "")
    version = f"b{build}" if build else ""
    listed = [device for device in facts.value("llama_cpp.devices") or [] if device.get("backend") in GPU_BACKENDS]
    for number, device in enumerate(listed):
        backend = str(device["backend"])
        yield MeasurementTarget(
            framework="llama-bench", device=f"llama:{number}", python=python, backend=BACKENDS.get(backend, backend),
            name=str(device.get("name") or ""), version=version, program=program,
        )  # fmt: skip
    yield MeasurementTarget(
        framework="llama-bench", device="llama:cpu", python=python, backend="cpu", name=_processor(facts), version=version, program=program
    )


def _processor(facts: Facts) -> str:
    return str(facts.value("cpu.model") or "")
