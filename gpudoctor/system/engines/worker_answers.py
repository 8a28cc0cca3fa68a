"""What the engines of Python clusters share: the names of hosts, and an answer from what a worker gave back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.model.fleet_row import LARGEST_READ
from gpudoctor.model.node_sets import is_name
from gpudoctor.system.engines.asking import FLOODED, Answer, Asked, EngineError, late, why_none

NOT_THERE = b"No module named gpudoctor"


def named(said: Mapping[str, Any], addresses: Mapping[str, str]) -> dict[str, str]:
    """By worker: the name of its host. Two hosts may say the same name; then both are called by their address."""
    texts = {worker: str(name) for worker, name in said.items() if isinstance(name, str) and is_name(name)}
    by_name: dict[str, set[str]] = {}
    for worker, name in texts.items():
        by_name.setdefault(name, set()).add(addresses[worker])
    return {
        worker: texts[worker] if worker in texts and len(by_name[texts[worker]]) == 1 else _as_name(address)
        for worker, address in addresses.items()
    }


def _as_name(address: str) -> str:
    """The address of a host as a name: the colons of IPv6 become dashes, and ::1 is 1."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", address).strip("._-")[:250] or "unnamed"


def chosen(workers: Mapping[str, str], given: str, expanded: list[str]) -> dict[str, str]:
    """By host one worker, of the hosts that were asked for. Raises EngineError."""
    found: dict[str, str] = {}
    for worker, host in sorted(workers.items()):
        found.setdefault(host, worker)
    if not given:
        return found
    if strange := [host for host in expanded if host not in found]:
        raise EngineError(f"--hosts: no worker runs on {strange[0]}; there are {', '.join(sorted(found)[:8]) or 'none'}")
    return {host: found[host] for host in expanded}


def answer(host: str, asked: Asked, given: Any) -> Answer:
    """What `on_worker.row` gave, checked: it comes from another machine."""
    if isinstance(given, BaseException):
        return Answer(host, b"", f"the worker failed: {type(given).__name__}")
    if not (
        isinstance(given, tuple)
        and len(given) == 3
        and isinstance(given[1], bytes)
        and isinstance(given[2], bytes)
        and (given[0] is None or isinstance(given[0], int))
    ):
        return Answer(host, b"", "the worker gave something else than an answer")
    status, output, errors = given
    if len(output) > LARGEST_READ:
        return Answer(host, b"", FLOODED)
    if status is None:
        return Answer(host, output, late(asked.timeout))
    if NOT_THERE in errors:
        return Answer(host, output, "gpudoctor is not installed in the environment of the worker")
    return Answer(host, output, why_none(host, status, output, errors))
