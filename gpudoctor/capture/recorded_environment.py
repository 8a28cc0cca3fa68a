"""The text of gpudoctor-env.py of a recorded machine: its questions put to the recording, which may not know the answer to each."""

from __future__ import annotations

from typing import Any

from gpudoctor.capture.capture_store import MemoryStore
from gpudoctor.capture.recorded_host import RecordedHost
from gpudoctor.envtext.asking import Asker, Clock, Found, Question
from gpudoctor.envtext.layout import LIMIT, asker_of, text


def text_of_recording(store: MemoryStore, limit: int = LIMIT, budget: float = 30.0) -> str:
    """What the script would print on that machine, at most `limit` bytes, within `budget` seconds."""
    return text(asker_of(RecordedDoor(store, budget=budget), Clock(budget), RecordedAsker).ask(), limit)


class RecordedDoor(RecordedHost):
    """A recorded machine, as the questions of gpudoctor-env.py are put to it."""

    live = False

    def __init__(self, store: MemoryStore, *, quick: bool = False, budget: float = 30.0) -> None:
        super().__init__(store, quick=quick, budget=budget)
        self.python = self.python or {}


class RecordedAsker(Asker):
    """Keeps the places of which the recording does not tell what is there, beside the questions that have no answer at all."""

    def __init__(self, door: RecordedDoor, clock: Clock, clean: Any) -> None:
        super().__init__(door, clock, clean)
        self._shown: list[str] = []
        self._unlisted: list[str] = []
        self._places_unasked: list[str] = []

    def _one(self, question: Question) -> Found:
        self._unlisted = []
        found: Found = super()._one(question)
        if question.verb == "run":
            return found
        paths: list[str] = self.paths(question.where)
        shown = [path for path in paths if self._tells(question.verb, path)]
        unknown = [*dict.fromkeys(self._unlisted), *(path for path in paths if path not in shown)]
        self._shown += shown
        if shown:
            self._places_unasked += unknown
        elif unknown:
            found.unasked.append(question.number)
        return found

    def _matching(self, folder: str, part: str) -> list[str]:
        names: list[str] = super()._matching(folder, part)
        if not names and not self._knows(folder or "/"):
            self._unlisted.append(f"{folder}/{part}")
        return names

    def _tells(self, verb: str, path: str) -> bool:
        if verb == "read":
            return bool(self.door.read(path).problem != "not-recorded")
        answered = self.door.listdir(path) if verb == "list" else self.door.readlink(path) is not None if verb == "link" else False
        return bool(answered) or self._knows(path)

    def _knows(self, path: str) -> bool:
        return bool(self.door.exists(path) or self.door.knows(path))

    def unasked(self) -> str:
        """Numbers of questions as ranges, and places: a folder stands for all that was asked below it."""
        numbers = set(self.found.unasked)
        starts, ends = (sorted(number for number in numbers if number + step not in numbers) for step in (-1, 1))
        words = [f"{start}-{end}" if start != end else f"{start}" for start, end in zip(starts, ends, strict=True)]
        known = {folder for path in self._shown for folder in _above(path)}
        places: dict[str, dict[str, None]] = {}
        for path in self._places_unasked:
            folder, _, name = next((folder for folder in reversed(_above(path)) if folder not in known), path).rpartition("/")
            places.setdefault(folder, {})[name] = None
        return " ".join([*words, *(self.clean.line(f"{folder}/{{{','.join(names)}}}") for folder, names in places.items())])


def _above(path: str) -> list[str]:
    """The path and its folders, the nearest first."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(len(parts), 1, -1)]
