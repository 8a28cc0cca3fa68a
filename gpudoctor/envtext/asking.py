"""Asks a door the questions of the table, each in its time. A question that fails or hangs is a gap, never the end."""

from __future__ import annotations

import fnmatch
import json
import posixpath
import re
import shlex
import threading
import time
from typing import Any

from gpudoctor.envtext.derived import OPTIONS
from gpudoctor.envtext.kept import kept, kept_name, packages_in
from gpudoctor.envtext.questions import COMFY, QUESTIONS, braces

SYSTEMS = ("windows", "macos", "wsl")
"""Groups of questions that only one operating system is asked."""
DEVICES = "/sys/bus/pci/devices"
MOST = 64
"""Names that one `*` stands for."""
LIBRARY_IN_ICD = re.compile(r"/[^\s\"']{1,200}\.so[\w.]*")
TOTAL = 20.0
SECONDS = 5.0
"""For one command."""
_PCI = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_PLAIN = re.compile(r"[^\s\"\\]+")


class Question:
    """One line of the table."""

    def __init__(self, group: str, line: str, number: int) -> None:
        what, _, self.keep = line.partition(" :: ")
        self.group, self.number = group, number
        self.verb, _, self.where = what.partition(" ")
        self.commands: Any = {argv_of(command): command for command in (self.where.split(" || ") if self.verb == "run" else ())}


def argv_of(command: str) -> Any:
    """The words of a command of the table or the text."""
    return tuple(part for word in shlex.split(command) for part in OPTIONS.get(word, (word,)))


def questions() -> Any:
    """The table in its order."""
    found: Any = []
    names: Any = {}
    group = ""
    for line in QUESTIONS.strip().splitlines():
        for name, meaning in names.items():
            line = line.replace(name, meaning)
        if line[0] == "<":
            name, _, meaning = line.partition(" = ")
            names[name] = meaning
        elif line[0] == "[":
            group = line[1 : line.index("]")]
        else:
            found.append(Question(group, line, len(found) + 1))
    return found


def titles() -> Any:
    """The title of each group."""
    return dict(re.findall(r"^\[(\w+)\] (.*)$", QUESTIONS, re.M))


class Clock:
    """The time for everything."""

    def __init__(self, seconds: float = TOTAL) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        return self._end - time.monotonic()


def guarded(seconds: float, function: Any) -> Any:
    """(value, '') or (None, why there is none): what raises or hangs ends here."""
    box: Any = []

    def work() -> None:
        try:
            box.append((function(), ""))
        except BaseException as error:
            box.append((None, f"{type(error).__name__}: {error}"))

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(max(0.05, seconds))
    return box[0] if box else (None, f"no answer after {seconds:.0f} s")


class Found:
    """What a question brought. `entries`: (group, form, place, content) as layout.py writes them, clean already."""

    def __init__(self) -> None:
        self.entries: Any = []
        self.missing: Any = []
        self.unasked: Any = []

    def add(self, other: Found) -> None:
        for name, value in vars(self).items():
            value.extend(getattr(other, name))


class Asker:
    """Puts the questions to one door. `clean` takes out what is private."""

    def __init__(self, door: Any, clock: Clock, clean: Any) -> None:
        self.door, self.clock, self.clean = door, clock, clean
        self.found = Found()
        self.troubles: Any = []
        self._places: Any = {}

    def ask(self) -> Asker:
        """Asks all questions for this platform; of those without an answer the number is kept."""
        for question in questions():
            if question.group in SYSTEMS and not self.is_system(question.group):
                continue
            limit = min(SECONDS * max(1, len(question.commands)) + 1.5, self.clock.left())
            found, why = guarded(limit, lambda question=question: self._one(question)) if limit > 0.2 else (None, "")
            if found:
                self.found.add(found)
                continue
            self.found.unasked.append(question.number)
            if why:
                where = self.clean.line(question.where[:60])
                self.troubles.append(f"unknown: question {question.number} ({where}): {self.clean.line(why)}")
        if self.clock.left() <= 0.2:
            self.troubles.append("unknown: the rest, since the time was over")
        return self

    def is_system(self, name: str) -> bool:
        """Whether the questions of a group are for this operating system."""
        if name == "wsl":
            return self.door.platform == "wsl2" or "microsoft" in self.door.read("/proc/sys/kernel/osrelease").text.lower()
        return bool(self.door.platform == name)

    def _one(self, question: Question) -> Found:
        found = Found()
        if question.verb == "run":
            self._run(question, found)
            return found
        for path in self.paths(question.where):
            found.entries += [(question.group, *entry) for entry in getattr(self, f"_{question.verb}")(path, question)]
        return found

    def unasked(self) -> str:
        """The questions that have no answer, by their numbers."""
        return " ".join(map(str, self.found.unasked))

    # what the table's places stand for

    def paths(self, where: str) -> Any:
        """The literal paths."""
        found: Any = {}
        for one in braces(self._filled(where)):
            here = [""]
            for part in one.strip("/").split("/"):
                here = [f"{folder}/{name}" for folder in here for name in (self._matching(folder, part) if "*" in part else [part])]
            found.update(dict.fromkeys(map(_plain_path, here)))
        return list(found)

    def _matching(self, folder: str, part: str) -> Any:
        return fnmatch.filter(self.door.listdir(_plain_path(folder or "/")), part)[:MOST]

    def _filled(self, where: str) -> str:
        for name in re.findall(r"\{(gpu|home|site|path|named|release|comfy)\}", where):
            where = where.replace("{" + name + "}", "{" + ",".join(self.places(name) or ["\0"]) + "}")
        return where

    def places(self, name: str) -> Any:
        """What `{name}` of the table is on this machine."""
        if name not in self._places:
            self._places[name] = [each for each in dict.fromkeys(self._named(name)) if not set("{},") & set(each)][:MOST]
        return self._places[name]

    def _named(self, name: str) -> Any:
        door, home = self.door, home_of(self.door)
        if name == "gpu":
            return self._gpus()
        if name == "home":
            return [home] if home else []
        if name == "site":
            return sites_of(door)
        if name == "release":
            return door.read("/proc/sys/kernel/osrelease").text.split()[:1]
        if name == "comfy":
            folders = braces(self._filled(COMFY))
            return [place for place in folders if door.exists(f"{place}/custom_nodes") or door.exists(f"{place}/main.py")][:2]
        folders = plain(door.env("PATH" if name == "path" else "LD_LIBRARY_PATH")).split(";" if door.platform == "windows" else ":")
        return [folder.rstrip("/") for folder in folders if "/" in folder and folder[1:]][:24]

    def _gpus(self) -> Any:
        for address in self.door.listdir(DEVICES):
            kind, vendor = (self.door.read(f"{DEVICES}/{address}/{name}").text.strip() for name in ("class", "vendor"))
            if kind.startswith(("0x03", "0x12", "0x0b40", "0x1180")) or vendor == "0x1d95" or (kind[:6], vendor) == ("0x0680", "0x10de"):
                bridges = re.findall(_PCI, self.door.readlink(f"{DEVICES}/{address}") or "")[1:-1]
                yield from (address, *bridges[-2:])

    # the verbs

    def _read(self, path: str, question: Question) -> Any:
        result = self.door.read(path)
        if result.problem:
            return [("item", path, f"!{result.problem}")] if result.problem not in ("missing", "not-recorded") else []
        lines = kept(question.keep, result.text.replace("\0", "").rstrip("\n"))
        entries = [("text", path, lines if path == "/etc/os-release" else self.clean.lines(lines))]
        for library in LIBRARY_IN_ICD.findall(lines) if "icd" in path else ():
            entries += self._there(library, question)
        return entries

    def _packages(self, manager: str, text: str) -> Any:
        by_version: Any = {}
        release: Any = (self.places("release") or ["?"])[0]
        for name, version in sorted(packages_in(manager, text).items()):
            if not re.match(r"linux-\w+-(unsigned-)?\d", name) or release in name:
                by_version.setdefault(self.clean.version(version), []).append(name)
        listed = "; ".join(f"{version}: {' '.join(names)}" for version, names in by_version.items())
        return [("line", f"By {manager}: {listed}", "")] if text.strip() else []

    def _list(self, path: str, question: Question) -> Any:
        names = self.door.listdir(path)
        if not names and not self.door.exists(path):
            return []
        keep = "|".join(map(re.escape, self.places("gpu"))) or "$^" if question.keep == "{gpu}" else question.keep
        return [("list", path, [self.clean.line(name) for name in names if kept_name(keep, name) and " " not in name][:200])]

    def _link(self, path: str, question: Question) -> Any:
        target = self.door.readlink(path)
        return [("item", path, f"->{self.clean.line(target)}")] if target is not None else []

    def _there(self, path: str, question: Question) -> Any:
        return [("item", path, "")] if self.door.exists(path) else []

    def _node(self, path: str, question: Question) -> Any:
        if not self.door.exists(path):
            return []
        mode, opens = self.door.mode(path), {True: "open", False: "closed"}.get(self.door.may_open(path), "?")
        shown = "? ?:? ?:?"
        if mode is not None:
            owner, group = (self.clean.line(name) or "?" for name in (mode.owner, mode.group))
            shown = f"{mode.mode} {owner}:{group} {mode.uid}:{mode.gid}".replace("None", "?")
        return [("item", path, f"[{shown} {opens}]")]

    def _run(self, question: Question, found: Found) -> None:
        unknown = False
        for argv in question.commands:
            if argv[0] == "ldd":
                argv = (*argv[:1], *[path for path in self.paths(argv[1]) if self.door.exists(path)][:1])
            if argv == ("ldd",) or ("ollama" in question.where and argv[0] != "ollama" and not self._has("ollama")):
                continue
            result = self.door.run(argv, timeout=min(SECONDS, max(0.2, self.clock.left())))
            if result.missing or result.not_recorded:
                found.missing += [argv[0]] if result.missing else []
                unknown = unknown or not result.missing
            elif argv[0] in ("dpkg-query", "rpm", "pacman"):
                if result.rc == 0 and result.stdout.strip():
                    found.entries += [(question.group, *entry) for entry in self._packages(argv[0], result.stdout)]
                    return
            else:
                found.entries.append((question.group, "command", *self._output(question, argv, result)))
                if result.timed_out or (result.rc == 0 and (result.stdout.strip() or len(question.commands) == 1)):
                    return
        if unknown and not found.entries:
            found.unasked.append(question.number)

    def _output(self, question: Question, argv: Any, result: Any) -> Any:
        """A command as the text shows it, and its lines."""
        ended = "no end" if result.timed_out else f"signal {result.signal}" if result.signal is not None else f"exit {result.rc}"
        name = question.commands.get(argv) or " ".join(map(self.clean.line, argv))
        lines = self.clean.lines(kept(question.keep, result.stdout)).splitlines()
        lines += [f"! {self.clean.line(line)}" for line in result.stderr[:600].splitlines() if line.strip()]
        return f"$ {name}" + (f" ({ended})" if result.rc != 0 else ""), lines

    def _has(self, program: str) -> bool:
        return any(form == "item" and place.endswith(f"/{program}") for _, form, place, _ in self.found.entries)


def _plain_path(path: str) -> str:
    path = posixpath.normpath(path)
    return path[1:] if re.match(r"^/[A-Za-z]:", path) else path


def plain(path: Any) -> str:
    """A path or a list of paths with `/` alone."""
    return str(path or "").replace("\\", "/").rstrip("/")


def home_of(door: Any) -> str:
    return plain(door.env("HOME") or door.env("USERPROFILE"))


def sites_of(door: Any) -> list[str]:
    """Where the packages of the Python environment may lie."""
    prefix, version = plain(door.python.get("prefix")), str(door.python.get("version")).split(".")
    return [f"{prefix}/lib/python{'.'.join(version[:2])}/site-packages", f"{prefix}/Lib/site-packages"] if prefix else []


def content(text: str) -> str:
    """A file's content in one word, quoted where it has to be."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
