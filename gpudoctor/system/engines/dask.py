"""Hosts of a Dask cluster: `Client.run` on one worker of each. The trust is Dask's own: whoever reaches the scheduler can run code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
from distributed import Client

from gpudoctor.model.fleet_row import LARGEST_READ
from gpudoctor.system.engines import on_worker
from gpudoctor.system.engines.asking import Answer, Asked, EngineError, Taker, late
from gpudoctor.system.engines.worker_answers import answer, chosen, named

SECONDS_TO_CONNECT = 10.0
SECONDS_MORE = 5.0
"""Within these the worker itself says that its time was over."""


class Dask:
    """The engine `dask`. `scheduler`: as Dask takes it, tcp://HOST:PORT."""

    def __init__(self, scheduler: str) -> None:
        if not scheduler:
            raise EngineError("--engine dask needs the address of the scheduler: --scheduler tcp://HOST:8786")
        try:
            self.client = Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            said = str(error).split("\n")[0][:160]
            raise EngineError(f"--scheduler {scheduler[:100]}: no scheduler of Dask answers there ({said})") from None
        cloudpickle.register_pickle_by_value(on_worker)
        self.workers: dict[str, str] = {}

    def hosts(self, given: str, expand: Callable[[str], Sequence[str]]) -> Sequence[str]:
        known = self.client.scheduler_info(n_workers=-1)["workers"]
        addresses = {str(worker): str(about.get("host") or worker) for worker, about in known.items()}
        if not addresses:
            raise EngineError("--engine dask: the scheduler has no workers")
        said = self.client.run(on_worker.host_name, on_error="return")
        self.workers = chosen(named(said, addresses), given, list(expand(given)) if given else [])
        return sorted(self.workers)

    def ask(self, asked: Asked, take: Taker) -> None:
        async def all_of_them() -> None:
            for done in asyncio.as_completed([self._one(asked, host) for host in asked.hosts]):
                take(await done)

        try:
            self.client.sync(all_of_them)
        finally:
            self.client.close()

    async def _one(self, asked: Asked, host: str) -> Answer:
        variables = {**asked.variables, "GPUDOCTOR_HOST": host}
        call: Any = self.client.run(
            on_worker.row_beside, list(asked.arguments), variables, asked.timeout, LARGEST_READ + 1,
            workers=[self.workers[host]], on_error="return", asynchronous=True,
        )  # fmt: skip
        try:
            given = await asyncio.wait_for(call, asked.timeout + SECONDS_MORE)
        except (asyncio.TimeoutError, TimeoutError):
            return Answer(host, b"", late(asked.timeout))
        except OSError as error:
            return Answer(host, b"", f"the worker cannot be reached: {type(error).__name__}")
        return answer(host, asked, given.get(self.workers[host]) if isinstance(given, dict) else given)
