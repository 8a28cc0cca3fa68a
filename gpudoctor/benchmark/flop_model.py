"""The cost of a network, from the same lists of layers that workers measure (gpudoctor/target/workloads, which is no package)."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from msgspec import Struct

from gpudoctor.benchmark.references import Costs
from gpudoctor.system.target_programs import program

FOLDER = program("workloads")
WORKER = os.path.join(FOLDER, "worker.py")
WIDTHS = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2}
LLAMA = ("llama_prefill", "llama_decode")
"""The model of llama.cpp, which is no network of layers that other frameworks build."""
_lock = threading.Lock()


class StepCost(Struct, frozen=True):
    """The cost of one step over the whole batch. `bytes`: the least traffic to and from memory; None in training."""

    flop: float
    bytes: float | None
    parameters: int
    batch: int

    @property
    def per_item(self) -> Costs:
        return Costs(flops=self.flop / self.batch, bytes=None if self.bytes is None else self.bytes / self.batch)


def step(network: str, task: str, options: Mapping[str, int], dtype: str = "float32") -> StepCost | None:
    """The cost of a step; None where there is no such network."""
    return _step(network, task, tuple(sorted(options.items())), WIDTHS.get(dtype, 4))


@lru_cache(maxsize=256)
def _step(network: str, task: str, options: tuple[tuple[str, int], ...], width: int) -> StepCost | None:
    networks, work_counts, llama_model = _modules()
    if network in LLAMA:
        known = dict(options)
        flop, size = llama_model.work(known.get("tokens", 1), known.get("past", 0), width)
        return StepCost(float(flop), float(size), int(llama_model.parameters()), 1)
    if network not in networks.NETWORKS:
        return None
    work = work_counts.work(networks.draw(network, **dict(options)), width)
    training = task == "training"
    flop = work.training_flop if training else work.forward_flop
    return StepCost(float(flop), None if training else float(work.fused_bytes), int(work.parameters), int(work.batch))


@lru_cache(maxsize=1)
def _modules() -> tuple[Any, Any, Any]:
    with _lock, _on_path():
        return importlib.import_module("networks"), importlib.import_module("work_counts"), importlib.import_module("llama_model")


@lru_cache(maxsize=1)
def timing() -> Any:
    """The workers' module for times, so that medians and percentiles are the same on both sides."""
    with _lock, _on_path():
        return importlib.import_module("timing")


@contextmanager
def _on_path() -> Iterator[None]:
    """Imports modules of the workers. They import each other by bare names, which must not stay in sys.modules."""
    before = set(sys.modules)
    sys.path.insert(0, FOLDER)
    try:
        yield
    finally:
        sys.path.remove(FOLDER)
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(FOLDER):
                del sys.modules[name]
