"""Reads the tables of a capture strictly: a deviation from the format raises a CaptureError that names file and place."""

from __future__ import annotations

from typing import Any

from gpudoctor.capture.capture_store import MAX_FILE, Store
from gpudoctor.system import json_text
from gpudoctor.system.host import CaptureError, Ran, bounded


def _bytes(store: Store, name: str, required: bool = False) -> bytes | None:
    if name in store.links():
        raise CaptureError(f"{store.where}: {name} is a link, expected a file")
    if store.size(name) < 0:
        if required:
            raise CaptureError(f"{store.where}: not a capture: {name} is missing")
        return None
    content = store.read(name, MAX_FILE + 1)
    if content is None:
        raise CaptureError(f"{store.where}: {name} cannot be read")
    if len(content) > MAX_FILE:
        raise CaptureError(f"{store.where}: {name} is larger than {MAX_FILE >> 20} MiB")
    return content


def read_toml(store: Store, name: str, required: bool = False) -> dict[str, Any]:
    content = _bytes(store, name, required)
    if content is None:
        return {}
    from gpudoctor.model.toml_text import loads

    try:
        return loads(content.decode("utf-8", "replace"))
    except ValueError as error:
        raise CaptureError(f"{store.where}: {name}: {(str(error).splitlines() or ['not TOML'])[0][:200]} (expected TOML)") from None


def _parsed(store: Store, name: str, text: str, at: str) -> Any:
    try:
        return json_text.loads(text)
    except ValueError as error:
        reason = (str(error).splitlines() or ["not JSON"])[0][:200]
        raise CaptureError(f"{store.where}: {name}{at}: {reason} (expected JSON)") from None


def read_json(store: Store, name: str) -> Any:
    """The parsed file; None where there is none. Raises CaptureError."""
    content = _bytes(store, name)
    return None if content is None else _printable(_parsed(store, name, content.decode("utf-8", "replace"), ""))


def read_python(store: Store) -> dict[str, Any] | None:
    value = read_json(store, "python.json")
    if value is not None and not isinstance(value, dict):
        raise CaptureError(f"{store.where}: python.json: a {type(value).__name__}, expected an object")
    return value


def read_commands(store: Store) -> dict[tuple[str, ...], Ran]:
    content = _bytes(store, "commands.jsonl")
    found: dict[tuple[str, ...], Ran] = {}
    for number, line in enumerate((content or b"").split(b"\n"), 1):
        if not line.strip():
            continue
        at = f" line {number}"
        entry = _printable(_parsed(store, "commands.jsonl", line.decode("utf-8", "replace"), at))
        ran = _ran(entry)
        if isinstance(ran, str):
            raise CaptureError(f"{store.where}: commands.jsonl{at}: {ran}")
        found[ran.argv] = ran
    return found


def _ran(entry: Any) -> Ran | str:
    """The command of one line, or a text that says what is wrong with the line."""
    if not isinstance(entry, dict):
        return f"a {type(entry).__name__}, expected an object"
    argv = entry.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv):
        return "argv is not a list of text"
    for key, kinds in (("rc", int), ("signal", int), ("stdout", str), ("stderr", str), ("seconds", (int, float))):
        if entry.get(key) is not None and (not isinstance(entry[key], kinds) or isinstance(entry[key], bool)):
            return f"{key} is {str(entry[key])[:40]!r}, expected {'a number' if kinds is not str else 'text'}"
    missing, timed_out, signal = entry.get("missing") is True, entry.get("timed_out") is True, entry.get("signal")
    rc = None if missing or timed_out or signal is not None else entry.get("rc")
    if rc is None and not missing and not timed_out and signal is None and entry.get("truncated") is not True:
        return "neither rc nor missing, timed_out or signal"
    return Ran(
        tuple(argv),
        rc=rc,
        stdout=bounded(entry.get("stdout") or "", entry.get("truncated") is True),
        stderr=bounded(entry.get("stderr") or "", entry.get("truncated") is True),
        missing=missing,
        timed_out=timed_out,
        signal=signal,
        truncated=entry.get("truncated") is True,
        seconds=float(entry.get("seconds") or 0.0),
    )


def _printable(value: Any) -> Any:
    """The value without lone surrogates, which JSON can hold and no terminal can print."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_printable(item) for item in value]
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    return value


def typed(store: Store, name: str, key: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        words = {bool: "true or false", str: "text", dict: "a table", list: "a list"}
        raise CaptureError(f"{store.where}: {name}: {key[:120]} is {str(value)[:40]!r}, expected {words[kind]}")
    return value
