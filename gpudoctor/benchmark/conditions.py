"""The conditions of a measurement: the monitor's observations, the settings of the card, and where the worker reports that it computed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.benchmark.job_plan import Job
from gpudoctor.benchmark.monitors.energy import CounterHost, hwmon, number
from gpudoctor.benchmark.monitors.monitor import Link, Seen
from gpudoctor.benchmark.monitors.pci_link import gpu_address
from gpudoctor.facts.probes.filesystems import mount_of
from gpudoctor.model.facts import Facts
from gpudoctor.model.measurement import Conditions
from gpudoctor.system.framework_child import one_line

LIMITS = (("power1_cap", "power1_cap_default"), ("power1_max", "power1_rated_max"))
"""hwmon: amdgpu's limit and its default, i915's and xe's, in microwatts."""
_OPERATOR = re.compile(r"[A-Za-z_][\w.:]{1,80}")
_MOST = 40


def conditions(host: CounterHost, facts: Facts, job: Job, gpu: Mapping[str, Any] | None, seen: Seen, said: Mapping[str, Any]) -> Conditions:
    """The conditions of one measurement. `gpu`: its record of the fact `gpus`; `said`: the worker's answer, validated here."""
    threads, link = said.get("threads"), seen.link or Link()
    filesystem, windows = folder_of(facts, job.dataset) if job.workload.id == "files" else (None, None)
    return Conditions(
        throttled=seen.throttled if seen.watched else None, others=seen.others if seen.watched else None,
        others_share=seen.others_share, clock_mhz=seen.clock_mhz,
        hottest_c=seen.hottest_c, busy_percent=seen.busy_percent, link_gt=link.gt, link_gt_max=link.gt_max,
        link_width=link.width, link_width_max=link.width_max, power_limit_share=power_limit_share(host, facts, gpu),
        gpu_address=gpu_address(gpu), gpu_kind=_text(gpu, "kind"), bar_share=_bar_share(gpu),
        threads=threads if isinstance(threads, int) and not isinstance(threads, bool) and 0 < threads < 10_000 else None,
        settings=_settings(said.get("settings")), **other_path(said.get("products")),
        computed_on=one_line(said.get("computed_on")) or None, fallbacks=_fallbacks(said.get("fallbacks")),
        python_debug=said["python_debug"] if isinstance(said.get("python_debug"), bool) else None,
        filesystem=filesystem, on_windows_drive=windows,
    )  # fmt: skip


def _settings(value: Any) -> tuple[str, ...] | None:
    """'NAME value' for each variable."""
    if not isinstance(value, Mapping):
        return None
    pairs = [(one_line(str(name)), one_line(str(text))) for name, text in list(value.items())[:_MOST]]
    return tuple(f"{name} {text}".strip() for name, text in pairs if name)


def products(rows: Any) -> list[tuple[str, float, float | None]]:
    """(library, FLOP/s, error) of a matrix product by several libraries, from a worker's answer (target/workloads/matrix_products.py)."""
    found = []
    for row in rows if isinstance(rows, list) else ():
        name, flops, error = (row.get(key) for key in ("name", "flops", "max_relative_error")) if isinstance(row, Mapping) else (None,) * 3
        if one_line(name) and isinstance(flops, float) and 0 < flops < 1e18:
            found.append((one_line(name), flops, error if isinstance(error, float) and 0 <= error < 1e6 else None))
    return found


def other_path(rows: Any) -> dict[str, Any]:
    """The fastest other code path of a framework for a matrix product, where the first of `rows` is the one that it uses, with
    its error. Other libraries do not count, since the framework cannot use them."""
    known = products(rows)
    alternatives = [row for row in known[1:] if row[2] is not None]
    if not alternatives:
        return {}
    name, flops, error = max(alternatives, key=lambda row: row[1])
    return {"other_path": name, "other_path_speed_up": flops / known[0][1], "other_path_error": error}


def power_limit_share(host: CounterHost, facts: Facts, gpu: Mapping[str, Any] | None) -> float | None:
    """The ratio of the card's power limit to its default limit."""
    if gpu is None:
        return None
    for row in facts.value("nvidia.devices") or ():
        if isinstance(row, Mapping) and row.get("address") == gpu.get("address") and isinstance(row.get("power_limit_share"), int | float):
            return float(row["power_limit_share"])
    if gpu_address(gpu) is None or not (sensors := hwmon(host, gpu)):
        return None
    for limit, usual in LIMITS:
        now, default = number(host, f"{sensors}/{limit}"), number(host, f"{sensors}/{usual}")
        if now and default:
            return now / default
    return None


def folder_of(facts: Facts, folder: str) -> tuple[str | None, bool | None]:
    """(kind of file system, whether it is a Windows drive seen from WSL)."""
    mounts = [mount for mount in facts.value("mounts") or () if isinstance(mount, Mapping) and isinstance(mount.get("path"), str)]
    mount = mount_of([dict(mount) for mount in mounts], folder) if folder.startswith("/") else None
    return (str(mount.get("filesystem")), mount.get("windows") is True) if mount is not None else (None, None)


def _bar_share(gpu: Mapping[str, Any] | None) -> float | None:
    bar, memory = (gpu.get(name) if gpu is not None else None for name in ("bar_bytes", "memory_bytes"))
    return min(bar / memory, 1.0) if isinstance(bar, int) and isinstance(memory, int) and memory > 0 else None


def _text(gpu: Mapping[str, Any] | None, name: str) -> str | None:
    value = gpu.get(name) if gpu is not None else None
    return value if isinstance(value, str) else None


def _fallbacks(value: Any) -> tuple[str, ...] | None:
    """The names of operators, without duplicates."""
    if not isinstance(value, list):
        return None
    names = [one_line(each) for each in value[:_MOST]]
    return tuple(dict.fromkeys(name for name in names if _OPERATOR.fullmatch(name)))
