"""Where the processes of a distributed job stand: the lines of a flight recorder (system/job_dumps.py) and dumps of py-spy.

One dump says where one rank is. Which rank the others wait for shows only beside theirs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.facts import Known
from gpudoctor.model.lazy_pattern import lazy

_RECORDER = lazy(r"flight recorder of rank (\d{1,6}|\?), version ")
_GROUP = lazy(r"group (\S{1,40}?)(?:, ranks \[([\d, ]{0,2000})\])?: enqueued (-?\d{1,12}), started (-?\d{1,12}|\?), completed (-?\d{1,12})")
_COLLECTIVE = lazy(r"collective (\d{1,12}) of group (\S{1,40}): (\S{1,60}) (.{0,200}), (\w+)(?:, called in (.{1,300}))?")
_PROCESS = lazy(r"Process (\d{1,10}): (.{1,2000})")
_THREAD = lazy(r'Thread (?:0x[0-9A-Fa-f]+|\d+) \((\w+)(?:\+gil)?\)(?:: "(.{0,80})")?')
_FRAME = lazy(r"\s{2,}(\S.{0,200}?) \(([^()]{1,300}?)(?::(\d{1,9}))?\)")
_RANK_OPTION = lazy(r"--(?:local[-_])?rank[= ](\d{1,6})\b")
_RANK_FILE = lazy(r"rank[-_]?(\d{1,6})(?!\d)", re.IGNORECASE)
_COLLECTIVES = "|".join((
    r"all_reduce|all_gather\w*|reduce_scatter\w*|broadcast\w*|barrier|monitored_barrier",
    r"reduce|scatter|gather\w*|all_to_all\w*|send|recv|wait",
))  # fmt: skip
_LOADERS = r"torch/utils/data/dataloader|multiprocessing/(?:queues|connection)|queue"
_WAITS = (
    ("a collective", re.compile(rf"^(?:{_COLLECTIVES}) \(torch/distributed/(?!rendezvous|elastic)")),
    ("the store of the rendezvous", re.compile(r"^\w+ \(torch/distributed/(?:elastic/)?rendezvous")),
    ("a worker of the data loader", re.compile(rf"^_?(?:try_get_data|next_data|get_data|get|poll|wait) \((?:{_LOADERS})")),
    ("the device", re.compile(r"^synchronize \(torch/(?:cuda|xpu|mps|accelerator)")),
)  # fmt: skip
"""What the innermost frames of a waiting main thread say, the first that fits."""


def read(sheet: Sheet, evidence: Evidence) -> None:
    ranks: dict[str, dict[str, Any]] = {}
    for rank in (*_recorders(sheet), *_stacks(sheet)):
        merged = ranks.setdefault(str(rank["rank"]), {})
        for key, value in rank.items():
            merged.setdefault(key, value)
    if not ranks:
        return
    evidence.saw("dumps of a distributed job")
    found = sorted(ranks.values(), key=lambda rank: (len(rank["rank"]), rank["rank"]))
    evidence.facts["job.ranks"] = Known(found, "text")
    for name, value in _together(found).items():
        evidence.facts[name] = Known(value, "text")


def _recorders(sheet: Sheet) -> Iterable[dict[str, Any]]:
    """One record for each flight recorder's dump: its first group (the default one), and the first collective that did not complete."""
    rank: dict[str, Any] | None = None
    for line in sheet.lines:
        if begin := _RECORDER.match(line.text):
            if rank is not None:
                yield rank
            rank = {"rank": begin[1]}
        elif rank is not None and (group := _GROUP.match(line.text)) and "enqueued" not in rank:
            rank |= {"group": group[1], "enqueued": int(group[3]), "completed": int(group[5])}
            if group[2] is not None:
                rank["size"] = len([part for part in group[2].split(",") if part.strip()])
        elif rank is not None and (operation := _COLLECTIVE.fullmatch(line.text.rstrip())) and operation[2] == rank.get("group"):
            number = int(operation[1])
            if number > rank["completed"]:
                if "operation" not in rank:
                    rank |= {"number": number, "operation": operation[3], "sizes": operation[4], "state": operation[5]}
                    rank |= {"at": operation[6]} if operation[6] else {}
            elif operation[6]:
                rank["last_at"] = operation[6]
    if rank is not None:
        yield rank


def _stacks(sheet: Sheet) -> Iterable[dict[str, Any]]:
    """One record for each py-spy dump: where the main thread stands in the training's own code, and what it waits for."""
    lines = sheet.lines
    for place, line in enumerate(lines):
        process = _PROCESS.match(line.text)
        if not process or place + 1 >= len(lines) or not lines[place + 1].text.startswith("Python v"):
            continue
        frames = list(_main_thread(lines[place + 2 : place + 400]))
        if not frames:
            continue
        option, file = _RANK_OPTION.search(process[2]), _RANK_FILE.search(line.source or "")
        rank = {"rank": option[1] if option else file[1] if file else f"of process {process[1]}", "process": process[1]}
        own_frame = next((frame for frame in frames if _is_own(frame[1])), frames[-1])
        rank["stands_at"] = f"{own_frame[0]} ({own_frame[1]}{f':{own_frame[2]}' if own_frame[2] else ''})"
        inner = [f"{name} ({file})" for name, file, _ in frames[:4]]
        waits = next((reason for reason, form in _WAITS for frame in inner if form.search(frame)), None)
        yield {**rank, **({"waits_for": waits} if waits else {})}


def _main_thread(lines: Sequence[Any]) -> Iterable[tuple[str, str, str]]:
    """The frames of the main thread as (function, file, line), innermost first."""
    inside = False
    for line in lines:
        thread = _THREAD.match(line.text)
        if thread:
            if inside:
                return
            inside = (thread[2] or "MainThread") == "MainThread"
        elif inside:
            frame = _FRAME.fullmatch(line.text.rstrip())
            if not frame:
                return
            yield frame[1], frame[2], frame[3] or ""


def _is_own(file: str) -> bool:
    """Whether a file belongs to no library. py-spy shortens those of site-packages to package/module.py; frozen modules have no file."""
    return not file.startswith(("<", "torch/", "threading", "multiprocessing/", "queue", "selectors", "concurrent/"))


def _together(ranks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Facts about the job as a whole, from its ranks' records."""
    found: dict[str, Any] = {"job.count": len(ranks)}
    recorded = [rank for rank in ranks if "enqueued" in rank]
    if recorded:
        found["job.size"] = max(rank.get("size", 0) for rank in recorded) or len(recorded)
        found |= {"job.missing": max(found["job.size"] - len(recorded), 0), "job.behind_count": 0}
    if len({rank["group"] for rank in recorded}) == 1 and len(recorded) > 1:
        found |= _compared(recorded)
    elif not recorded and len(ranks) > 1:
        found |= _by_stacks(ranks)
    return found


def _compared(ranks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    most = max(rank["enqueued"] for rank in ranks)
    behind = [rank for rank in ranks if rank["enqueued"] < most]
    waiting = [rank for rank in ranks if rank["enqueued"] == most and rank.get("number", most + 1) <= most]
    found: dict[str, Any] = {"job.behind_count": len(behind) if waiting else 0, "job.waiting_count": len(waiting)}
    if waiting:
        first = waiting[0]
        place = f", called in {first['at']}" if first.get("at") else ""
        found["job.waits_in"] = f"{first['operation']}, number {first['number']}{place}"
    if behind and waiting:
        last = behind[0]
        found["job.behind"] = ", ".join(rank["rank"] for rank in behind[:16]) + (" and more" if len(behind) > 16 else "")
        place = f"in {last['stands_at']}" if "stands_at" in last else f"after its call in {last['last_at']}" if last.get("last_at") else ""
        if place:
            found["job.behind_at"] = place
    calls = {rank["rank"]: (rank["operation"], rank["sizes"]) for rank in waiting if rank.get("number") == waiting[0].get("number")}
    if len(set(calls.values())) > 1:
        found["job.differing"] = "; ".join(f"rank {rank}: {name} {sizes}" for rank, (name, sizes) in list(calls.items())[:4])
    return found


def _by_stacks(ranks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Facts from stacks alone: the ranks that do not wait in a collective while at least as many others do."""
    waits = Counter(rank.get("waits_for") for rank in ranks)
    not_waiting = [rank for rank in ranks if rank.get("waits_for") != "a collective"]
    if not waits["a collective"] or not not_waiting or len(not_waiting) >= waits["a collective"] + 1:
        return {}
    waiting = next(rank for rank in ranks if rank.get("waits_for") == "a collective")
    return {
        "job.waiting_count": waits["a collective"], "job.behind_count": len(not_waiting), "job.waits_in": waiting["stands_at"],
        "job.behind": ", ".join(rank["rank"] for rank in not_waiting[:16]), "job.behind_at": f"in {not_waiting[0]['stands_at']}",
    }  # fmt: skip
