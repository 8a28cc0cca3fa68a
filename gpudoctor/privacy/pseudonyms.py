"""Pseudonyms and their originals: user-1, host-2, 192.0.2.3. A private file can keep the table, so that a machine's reports agree."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

FILE = "pseudonyms.json"
FORMAT = 1
MOST = 20_000
"""The largest number of entries of one kind; later ones share the last number. Only a hostile recording has so many."""

_SHAPES: dict[str, Callable[[int], str]] = {
    "name": lambda n: f"name{n}",
    "ip": lambda n: f"192.0.2.{n}" if n < 255 else f"198.18.{n >> 8 & 255}.{n & 255}",
    "ipv6": lambda n: f"2001:db8::{n:x}",
    "ipv6-link": lambda n: f"fe80::{n:x}",
    "mac": lambda n: ":".join(["02", "00", "00", "00", f"{n >> 8 & 255:02x}", f"{n & 255:02x}"]),
    "uuid": lambda n: f"00000000-0000-4000-8000-{n:012x}",
    "amd-uuid": lambda n: f"{n:016x}",
    "machine-id": lambda n: f"{n:032x}",
}
"""Addresses reserved for documentation and benchmarks (RFC 5737, 3849, 2544), and a locally administered MAC. Others: kind-number."""
_OURS = re.compile(
    r"name\d+|(?:user|host|domain|share|folder|file|project|serial|label|sid)-\d+|192\.0\.2\.\d+|198\.1[89]\.\d+\.\d+|2001:db8::[0-9a-f]+"
    r"|fe80::[0-9a-f]{1,4}"
    r"|02([:-])(?:00\1)+[0-9a-f]{2}\1[0-9a-f]{2}|00000000-0000-4000-8000-[0-9a-f]{12}|0{8}[0-9a-f]{8}|0{24}[0-9a-f]{8}|<[a-z-]+>|user\d*|host",
    re.IGNORECASE,
)


def is_ours(text: str) -> bool:
    """Whether the text is a pseudonym, or as generic as one. Replacing it again would hide nothing, and make equal reports differ."""
    return _OURS.fullmatch(text) is not None


class Pseudonyms:
    """Pseudonyms by kind and original. The same original always gets the same pseudonym from one table."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}

    def of(self, kind: str, original: str) -> str:
        """The pseudonym of `original`, which is compared without its case: names, addresses and numbers are written in either."""
        if is_ours(original):
            return original
        shape = _SHAPES.get(kind)
        number = self._number(kind, original.casefold())
        return shape(number) if shape else f"{kind}-{number}"

    def _number(self, kind: str, original: str) -> int:
        known = self._numbers.setdefault(kind, {})
        if original not in known:
            if len(known) >= MOST:
                return MOST
            known[original] = len(known) + 1
        return known[original]

    def table(self) -> list[tuple[str, str, str]]:
        """(kind, pseudonym, original) in the order of their numbers."""
        return [(kind, self.of(kind, original), original) for kind, known in sorted(self._numbers.items()) for original in known]

    # the private file

    def load(self, path: Path) -> None:
        """Loads the table of earlier reports. A file that is missing or has another format is ignored."""
        try:
            content: Any = json.loads(path.read_bytes())
            kept = content["numbers"] if content["format"] == FORMAT else {}
            for kind, known in kept.items():
                if isinstance(known, list) and all(isinstance(original, str) for original in known):
                    self._numbers[str(kind)] = {original: number for number, original in enumerate(known[:MOST], 1)}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return

    def save(self, path: Path) -> str:
        """Saves the table in a file that only its owner can read. Returns '' or the reason for which it could not be saved."""
        from gpudoctor.system.state_folder import write_private

        numbers = {kind: list(known) for kind, known in self._numbers.items()}
        try:
            write_private(path, (json.dumps({"format": FORMAT, "numbers": numbers}, indent=1) + "\n").encode())
        except (OSError, ValueError) as error:
            return f"{path} cannot be written ({getattr(error, 'strerror', None) or error})"
        return ""
