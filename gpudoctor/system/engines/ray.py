"""Hosts of a Ray cluster: one task for each node, which takes no processor and no GPU of the jobs there."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import ray
from ray import cloudpickle
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from gpudoctor.model.fleet_row import LARGEST_READ
from gpudoctor.system.engines import on_worker
from gpudoctor.system.engines.asking import Answer, Asked, EngineError, Taker, late
from gpudoctor.system.engines.worker_answers import answer, chosen, named

SECONDS_MORE = 30.0
"""A node may have to start a process for the task first."""
AUTOMATIC = "auto"


class Ray:
    """The engine `ray`. `address`: as Ray takes it; empty for the cluster of this machine."""

    def __init__(self, address: str) -> None:
        try:
            ray.init(address=address or AUTOMATIC, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            said = " ".join(str(error).split())[:160]
            raise EngineError(f"--engine ray: no cluster of Ray answers at {address[:100] or AUTOMATIC} ({said})") from None
        cloudpickle.register_pickle_by_value(on_worker)
        self.nodes: dict[str, str] = {}

    def hosts(self, given: str, expand: Callable[[str], Sequence[str]]) -> Sequence[str]:
        alive = [node for node in ray.nodes() if node.get("Alive")]
        said = {str(node["NodeID"]): str(node.get("NodeManagerHostname", "")).partition(".")[0] for node in alive}
        addresses = {str(node["NodeID"]): str(node.get("NodeManagerAddress", "")) for node in alive}
        self.nodes = chosen(named(said, addresses), given, list(expand(given)) if given else [])
        return sorted(self.nodes)

    def ask(self, asked: Asked, take: Taker) -> None:
        task = ray.remote(num_cpus=0, max_retries=0)(on_worker.row)
        waiting: dict[Any, str] = {}
        try:
            for host in asked.hosts:
                there = NodeAffinitySchedulingStrategy(node_id=self.nodes[host], soft=False)
                variables = {**asked.variables, "GPUDOCTOR_HOST": host}
                call = task.options(scheduling_strategy=there).remote(list(asked.arguments), variables, asked.timeout, LARGEST_READ + 1)
                waiting[call] = host
            until = time.monotonic() + asked.timeout + SECONDS_MORE
            while waiting and (left := until - time.monotonic()) > 0:
                done, _ = ray.wait(list(waiting), num_returns=1, timeout=left)
                for call in done:
                    host = waiting.pop(call)
                    take(answer(host, asked, self._result(call)))
            for call, host in waiting.items():
                ray.cancel(call, force=True)
                take(Answer(host, b"", late(asked.timeout)))
        finally:
            ray.shutdown()

    def _result(self, call: Any) -> Any:
        try:
            return ray.get(call)
        except Exception as error:  # whatever the task raised there
            return error
