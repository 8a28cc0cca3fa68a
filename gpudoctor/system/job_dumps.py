"""Dumps of a distributed job that hangs: PyTorch's flight recorder (pickle or JSON) as lines of text, and py-spy's dumps, which are text.

A pickle is never loaded: its instructions are read one by one, and any that would name a class or call something ends the reading.
Source of the fields: torch/csrc/distributed/c10d/FlightRecorder.hpp, version 2.1 to 2.10; recorded from torch 2.13.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpudoctor.system import json_text

LARGEST = 64 << 20
"""Bytes of one dump."""
MOST = 40
"""Operations of one dump that are shown: the last that did not end."""
_DEEPEST = 50
_MOST_VALUES = 2_000_000
_PY_SPY = re.compile(rb"^Process \d+: .*\nPython v\d", re.MULTILINE)
_RANK = re.compile(r"rank[-_]?(\d{1,6})(?!\d)|(?:^|[-_.])(\d{1,6})(?:\.(?:json|pkl|pickle|txt|log|bin))?$", re.IGNORECASE)
_VALUES = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_GIVEN = frozenset(
    ("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "SHORT_BINBYTES")
)  # fmt: skip
_MARK = object()


class NoDump(ValueError):
    """The bytes are no dump of a flight recorder."""


def may_be_recorder(start: bytes) -> bool:
    """Whether a file that begins so may be a dump of a flight recorder."""
    return start.startswith(b"\x80\x02") or (start.lstrip()[:1] == b"{" and b'"collective_seq_id"' in start[: 1 << 20])


def may_be_dump(start: bytes) -> bool:
    """The same, or a dump of py-spy."""
    return may_be_recorder(start) or _PY_SPY.search(start[:65536]) is not None


def recorder_text(content: bytes, name: str) -> bytes:
    """The dump as lines of text. `name`: its file, which says the rank. Raises NoDump."""
    if len(content) > LARGEST:
        raise NoDump(f"it has more than {LARGEST} bytes")
    try:
        dump = plain_pickle(content) if content.startswith(b"\x80") else json_text.loads(content.decode("utf-8", "replace"))
    except ValueError as error:
        raise NoDump(str(error)) from error
    if not isinstance(dump, Mapping) or not isinstance(dump.get("entries"), Sequence) or "version" not in dump:
        raise NoDump("it has no entries of collectives")
    return "\n".join(_lines(dump, rank_of(name))).encode() + b"\n"


def rank_of(name: str) -> str:
    """The rank that the name of a file says: nccl_trace_rank_3, dump-3.json; '' where it says none."""
    found = _RANK.search(os.path.basename(name))
    return (found[1] or found[2]) if found else ""


def plain_pickle(content: bytes) -> Any:
    """The value of a pickle that holds plain data alone: numbers, texts, lists, tuples and tables. Nothing is imported or called.

    Raises ValueError for every other pickle, naming the instruction.
    """
    import pickletools

    stack: list[Any] = []
    kept: dict[int, Any] = {}
    number = 0
    try:
        for opcode, argument, _ in pickletools.genops(content):
            number += 1
            if number > _MOST_VALUES:
                raise ValueError("it holds more values than any dump")
            name = opcode.name
            if name == "STOP":
                return stack[-1] if len(stack) == 1 else _refused("its stack is not empty at its end")
            if name in _GIVEN:
                stack.append(argument)
            elif name in _VALUES:
                stack.append(_VALUES[name])
            else:
                _step(name, argument, stack, kept)
    except (IndexError, KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"a damaged pickle ({type(error).__name__})") from error
    raise ValueError("a pickle that is cut off")


def _refused(why: str) -> Any:
    raise ValueError(why)


def _step(name: str, argument: Any, stack: list[Any], kept: dict[int, Any]) -> None:
    if name in ("PROTO", "FRAME"):
        return
    if name in ("BINPUT", "LONG_BINPUT"):
        kept[argument] = stack[-1]
    elif name == "MEMOIZE":
        kept[len(kept)] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET"):
        stack.append(kept[argument])
    elif name in ("EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE"):
        stack.append({} if name == "EMPTY_DICT" else [] if name == "EMPTY_LIST" else ())
    elif name == "MARK":
        stack.append(_MARK)
    elif name == "APPEND":
        value = stack.pop()
        stack[-1].append(value)
    elif name == "SETITEM":
        value, key = stack.pop(), stack.pop()
        stack[-1][key] = value
    elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
        size = int(name[-1])
        stack[-size:] = [tuple(stack[-size:])]
    elif name in ("TUPLE", "APPENDS", "SETITEMS"):
        _to_the_mark(name, stack)
    else:
        raise ValueError(f"a pickle with the instruction {name}, which may call a program; it is not read")


def _to_the_mark(name: str, stack: list[Any]) -> None:
    place = len(stack) - 1 - stack[::-1].index(_MARK)
    values = stack[place + 1 :]
    del stack[place:]
    if name == "TUPLE":
        stack.append(tuple(values))
    elif name == "APPENDS":
        stack[-1].extend(values)
    else:
        stack[-1].update(zip(values[::2], values[1::2], strict=True))


def _lines(dump: Mapping[str, Any], rank: str) -> list[str]:
    """The state of each process group, then the operations that did not end."""
    status = dump.get("pg_status") if isinstance(dump.get("pg_status"), Mapping) else {}
    config = dump.get("pg_config") if isinstance(dump.get("pg_config"), Mapping) else {}
    entries = [entry for entry in dump["entries"] if isinstance(entry, Mapping)]
    names = {_text(entry.get("pg_id")): _group(entry) for entry in entries}
    lines = [f"flight recorder of rank {rank or '?'}, version {_text(dump['version'])}"]
    states = {_text(group): state for group, state in (status or {}).items() if isinstance(state, Mapping)}
    ended = _completed(states, entries)
    for group, state in states.items():
        done = [_text(state.get(f"last_{step}_collective", "?")) for step in ("enqueued", "started")]
        ranks = _ranks(config, names.get(group, ""))
        lines.append(f"group {_text(group)}{ranks}: enqueued {done[0]}, started {done[1]}, completed {ended[group]}")
    unfinished = [entry for entry in entries if not _ended(entry, ended)]
    last = [entry for entry in entries if _ended(entry, ended)][-1:]
    lines += [_operation(entry, ended) for entry in (*last, *unfinished[-MOST:])]
    return lines


def _completed(states: Mapping[str, Mapping[str, Any]], entries: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """The last collective of each group that ended. Several threads of gloo write the group's own number, and the last writer wins: it may
    be that of an earlier collective than the last one that is retired."""
    found = {group: _number(state.get("last_completed_collective")) for group, state in states.items()}
    for entry in entries:
        group = _text(entry.get("pg_id"))
        if group in found and entry.get("is_p2p") is not True and (entry.get("retired") is True or _has_ended(entry)):
            found[group] = max(found[group], _number(entry.get("collective_seq_id")))
    return found


def _has_ended(entry: Mapping[str, Any]) -> bool:
    return entry.get("state") == "completed"


def _group(entry: Mapping[str, Any]) -> str:
    group = entry.get("process_group")
    return _text(group[0]) if isinstance(group, Sequence) and not isinstance(group, str) and group else ""


def _ranks(config: Any, name: str) -> str:
    """`, ranks [0, 1]` of a process group."""
    known = config.get(name) or (config.get("") if len(config) == 1 else None) if isinstance(config, Mapping) else None
    found = _text(known.get("ranks")) if isinstance(known, Mapping) else ""
    return f", ranks {found}" if re.fullmatch(r"\[[\d, ]{0,2000}\]", found) else ""


def _ended(entry: Mapping[str, Any], ended: Mapping[str, int]) -> bool:
    if _has_ended(entry) or entry.get("is_p2p") is True:
        return True
    return _number(entry.get("collective_seq_id")) <= ended.get(_text(entry.get("pg_id")), -1)


def _operation(entry: Mapping[str, Any], ended: Mapping[str, int]) -> str:
    frames = entry.get("frames")
    calls = [frame for frame in frames if isinstance(frame, Mapping)] if isinstance(frames, Sequence) else []
    own = next((frame for frame in calls if "torch/distributed" not in _text(frame.get("filename")).replace("\\", "/")), None)
    place = f", called in {_text(own.get('name'))} ({_file(own.get('filename'))}:{_text(own.get('line'))})" if own else ""
    state = "completed" if _ended(entry, ended) else _text(entry.get("state"))
    sizes = _sizes(entry.get("input_sizes"))
    number, group = _text(entry.get("collective_seq_id")), _text(entry.get("pg_id"))
    return f"collective {number} of group {group}: {_text(entry.get('profiling_name'))} {sizes}, {state}{place}"


def _file(name: Any) -> str:
    return _text(os.path.basename(name.replace("\\", "/"))) if isinstance(name, str) else "?"


def _number(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return -1


def _sizes(value: Any) -> str:
    """`[[4], [2, 3]]`, of at most eight tensors with eight dimensions: a hostile dump may hold lists in lists without end."""
    if not isinstance(value, (list, tuple)):
        return "[]"
    tensors = [each[:8] for each in value[:8] if isinstance(each, (list, tuple))]
    return "[" + ", ".join(f"[{', '.join(_text(number) for number in each)}]" for each in tensors) + "]"


def _text(value: Any) -> str:
    """A single value as one line of at most 200 printable letters; '?' for a list or table."""
    if isinstance(value, int) and abs(value) > 1 << 64:
        return "?"
    return "".join(letter for letter in str(value)[:200] if letter.isprintable()) if isinstance(value, (str, int, float)) else "?"
