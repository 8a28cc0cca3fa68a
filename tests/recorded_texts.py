"""The text of gpudoctor-env.py for recorded machines: its questions put to the recording."""

from __future__ import annotations

from pathlib import Path

from gpudoctor.capture.capture_store import open_store
from gpudoctor.capture.recorded_environment import text_of_recording
from gpudoctor.envtext.layout import LIMIT

MACHINES = Path(__file__).parent / "machines"


def text_of(machine: Path, limit: int = LIMIT) -> str:
    """What the script would print there, at most `limit` bytes."""
    return text_of_recording(open_store(str(machine)), limit, budget=120.0)
