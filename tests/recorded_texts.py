"""The text of gpudoctor-env.py for recorded machines: its questions put to the recording."""

from __future__ import annotations

from pathlib import Path

from gpudoctor.capture.capture_store import open_store
from gpudoctor.envtext.asking import Clock
from gpudoctor.envtext.layout import LIMIT, asker_of, text
from gpudoctor.services.reporting import RecordedDoor

MACHINES = Path(__file__).parent / "machines"


def text_of(machine: Path, limit: int = LIMIT) -> str:
    """What the script would print there, at most `limit` bytes."""
    door = RecordedDoor(open_store(str(machine)), budget=60.0)
    return text(asker_of(door, Clock(120.0)).ask(), limit)
