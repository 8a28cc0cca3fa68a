"""What may leave: words of a list and technical forms. Whatever is neither becomes `*`, so that no name has to be known to be left out.

The list holds the words of gpudoctor's own checks, probes and tables (derived.py, questions.py), and of Python's own library. The forms are short numbers, versions, PCI ids and
addresses, and names that are made of such words.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from gpudoctor.envtext.derived import DISTRIBUTIONS, FRAMEWORKS, KERNEL_LOG, LIBRARIES, LISTED_WORDS, OPTIONS, VARIABLE_PREFIXES, VARIABLES
from gpudoctor.envtext.inspecting import INSPECT
from gpudoctor.envtext.questions import QUESTIONS, spelled_out

HIDDEN = "*"
_SECRET = re.compile(r"(?i)((?:\w*(?:passw|passphrase|token|secret|api_?key|access_?key|credential|cookie)\w*)\s{0,3}[:=]\s{0,3})(\S+)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+\S{6,}")
_FORMS = re.compile(
    r"((?<![\w.])\d{1,13}(?= *(?:\d+ +)?(?:kB|[KMG]i?B|bytes)\b)"  # a size: what this group matches stays
    r"|\b[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\b|(?<![\w:])[0-9a-f]{4}:[0-9a-f]{4}(?![\w:]))"  # on PCI
    r"|\b[A-Za-z][A-Za-z0-9+.-]{1,12}://\S+|\S+@\S*[A-Za-z]\S*"  # URL, mail
    r"|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|\b(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}\b"  # UUID, hardware address
    r"|(?<![\w.:])(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}(?![\w.:])"  # IPv6
    r"|(?<![\w.])(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?!\w|\.\d|-microsoft)"  # IPv4
    r"|(?<![\w.])(?=(?:\D?\d){7})\d{2,}(?:-\d+)+(?!\w)|\b[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}\b"  # numbers in groups, Cisco's addresses
    r"|(?<!\w)\+?\d{2,4}[ /-]\d{3,4}[ -]?\d{3,}(?!\w)"  # telephone
)
_PIECE = re.compile(r"[^\s/\\=,:;|()\[\]{}<>\"'`&?!#%$^*~]+")
_BUILD = re.compile(r"^(pop[a-z]+[\w.-]{0,40}-\d+(?:\.\d+)+\+\d+)-[0-9a-f]{10}$")
"""The folder of a Poplar SDK or of a part of it: poplar_sdk-ubuntu_20_04-3.3.0+1403-208993bbb7. Its last word is the number of a build."""
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
SUFFIXES = tuple("s es ed d ing er ly ion able".split())
PREFIXES = ("lib", "re", "un")
LIBRARY = """argparse asyncio/base_events asyncio/events ctypes/__init__ doctest inspect mimetypes optparse os pdb pickle pydoc_data/topics random
shutil socket ssl statistics subprocess tarfile threading turtle urllib/request uuid venv/__init__ xmlrpc/client zipfile""".split()
"""Modules of Python's own library: their texts are the English that messages are written in."""


def own_words() -> set[str]:
    """The words of this program's own tables."""
    tables = (QUESTIONS, INSPECT, LIBRARIES, KERNEL_LOG, DISTRIBUTIONS, FRAMEWORKS, OPTIONS, spelled_out(VARIABLES + VARIABLE_PREFIXES))
    return set(re.findall(r"[a-z]{3,24}", str(tables).lower()))


def library_words() -> set[str]:
    """The words of some modules of Python's library, those in small letters: names of people are not."""
    found: set[str] = set()
    for name in LIBRARY:
        try:
            with open(os.path.join(os.path.dirname(os.__file__), f"{name}.py"), encoding="utf-8", errors="replace") as file:
                found.update(re.findall(r"\b[a-z]{3,24}\b", file.read()))
        except OSError:
            continue
    return found


WORDS = spelled_out(LISTED_WORDS) | own_words() | library_words()


class Cleaner:
    """`user` and `hosts`: what is private here although it may be a common word. `places`: folders and what is written for them."""

    def __init__(self, user: str = "", hosts: Any = (), places: Any = ()) -> None:
        self._user = user.lower() if user not in ("root", "user") else ""
        self._private = {part.lower() for host in hosts for part in (host, *host.split(".")) if len(part) > 2 and part != "localhost"}
        self._private |= {self._user}
        self._places = sorted(((place, name) for place, name in places if len(place) > 1), key=lambda each: -len(each[0]))

    def lines(self, text: str) -> str:
        """Each line cleaned; JSON as JSON."""
        return "\n".join(self._json(line) if line[:1] in ("{", "[") else self.line(line[:6000]) for line in text.splitlines())

    def line(self, line: str, only: str = "") -> str:
        """`only`: of the places this one alone is written by its name."""
        for place, name in self._places:
            line = line if only not in ("", name) else re.sub(re.escape(place) + r"(?![\w.-])", name.replace("\\", "/"), line)
        line = _SECRET.sub(r"\1" + HIDDEN, _BEARER.sub(HIDDEN, line))
        kept, end = [], 0
        for found in _FORMS.finditer(line):
            kept += [self._pieces(line[end : found.start()]), found[1] or HIDDEN]
            end = found.end()
        whole = "".join([*kept, self._pieces(line[end:])])
        return "".join(letter if letter.isprintable() or letter == "\t" else "?" for letter in re.sub(r"\*(?:[ ,]+\*)+", HIDDEN, whole))

    def value(self, value: Any) -> Any:
        """The same of anything that JSON can hold; numbers of a machine stay."""
        if isinstance(value, str):
            return "\n".join(map(self.line, value.split("\n")))
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {str(key): self.value(item) for key, item in value.items()}
        return value if isinstance(value, (bool, int, float)) or value is None else HIDDEN

    def _json(self, text: str) -> str:
        """With clean values; the keys are those that the table asks for."""
        try:
            return json.dumps(self.value(json.loads(text)), ensure_ascii=False)
        except ValueError:
            return self.line(text)

    def version(self, text: str) -> str:
        """A version, which may look like the address of a machine."""
        plain = re.fullmatch(r"[vV]?\d[\w.!:~+-]{0,50}", text)
        return text if plain and all(len(word) < 5 or known(word) for word in re.findall("[A-Za-z]+", text)) else HIDDEN

    def _pieces(self, text: str) -> str:
        return _PIECE.sub(lambda found: self._piece(found[0]), text)

    def _piece(self, piece: str) -> str:
        bare = piece.strip("._-+")
        if self._user and bare.lower() == self._user:
            return piece.replace(bare, "user")
        return piece if not bare or self.allowed(bare) else piece.replace(bare, HIDDEN)

    def allowed(self, piece: str) -> bool:
        """Whether every part is a known word, a short number, or both in a form that devices and versions have."""
        piece = _BUILD.sub(r"\1", piece)
        if len(piece) > 90 or not piece.isascii():
            return False
        if re.fullmatch(r"0x[0-9a-fA-F]{1,10}|[0-9a-f]{4}", piece) or (
            LIBRARIES.match(piece) and re.fullmatch(r"\w{5,32}\.so(\.\d+)*", piece)
        ):
            return True
        return all(self._part(part) for part in re.findall(r"[A-Za-z\d]+", piece))

    def _part(self, part: str) -> bool:
        low = part.lower()
        if low in self._private or low in WORDS:
            return low not in self._private
        runs = re.findall(r"[A-Za-z]+|\d+", part)
        if len(runs) > 3 and len(part) > 5 and not (low[:2] == "0x" or low.rstrip("0123456789") in WORDS):
            return False
        digits = sum(len(run) for run in runs if run.isdigit())
        letters = [run for run in runs if run.isalpha()]
        if digits > 6 or (digits > 4 and not all(map(known, letters))):
            return False
        return all(len(run) <= 2 or known(run) for run in letters)


def known(word: str, words: Any = WORDS) -> bool:
    """A word of the list, an inflection of one, or several of them written as one (cudaErrorUnknown)."""
    low = word.lower()
    if low in words or any(low.startswith(prefix) and low[len(prefix) :] in words for prefix in PREFIXES):
        return True
    for stem in (low[: -len(ending)] for ending in SUFFIXES if low.endswith(ending)):
        if stem in words or f"{stem}e" in words or (stem[-1:] == stem[-2:-1] and stem[:-1] in words):
            return True
    parts = _CAMEL.findall(word)
    listed = [part for part in parts if part.lower() in WORDS]
    short = [part for part in parts if part not in listed]
    return len(parts) > 1 and "".join(parts) == word and all(len(part) < 3 for part in short) and len("".join(listed)) > len(word) // 2
