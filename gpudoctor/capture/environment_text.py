"""Reads the text of an environment back into the files of a recorded machine (capture v1), so that the probes ask it like any other.

What the text's table of questions asked and the text does not show was not there; what it did not ask, or left out, is not recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpudoctor.capture.shown_paths import ShownPaths
from gpudoctor.capture.tables import json_line, json_table, toml
from gpudoctor.envtext.asking import LIBRARY_IN_ICD, SYSTEMS, Asker, Clock, Question, argv_of, questions, titles
from gpudoctor.envtext.heading import NONE, PACKAGES_FOLLOW
from gpudoctor.envtext.layout import END
from gpudoctor.envtext.questions import REVISION, braces
from gpudoctor.system.host import CaptureError

_BEGIN_AT = re.compile(r"gpudoctor-env \d{1,4}: what was looked at")
MARK = "gpudoctor-env "
_BEGIN = re.compile(r"^(?P<margin>.*?)gpudoctor-env (?P<revision>\d{1,4}): what was looked at")
_ITEM = re.compile(
    r'(?<!\S)(?P<name>[^\s=!\[\]>"]{1,400}?)'
    r'(?:=(?P<text>"(?:[^"\\]|\\.)*"|\S*)|->(?P<target>\S+)|!(?P<trouble>[\w-]+)|\[(?P<mode>[^\]\[]{0,200})\])?(?=\s|$)'
)
_FOLDER = re.compile(
    r"^(?P<path>(?:[/~{]|[A-Z]:/)[^:]*?(?::[0-9a-f]{2}[:.][0-9a-f.]+(?![0-9a-f.])[^:]*?){0,12}?)(?P<slash>/?)"
    r"(?: like (?P<like>\S+))?:(?: (?P<items>.*))?$"
)
_COMMAND = re.compile(r"^\$ (?P<argv>.*?)(?: \((?:exit (?P<rc>\d{1,3})|signal (?P<signal>\d{1,3})|(?P<late>no end))\))?$")
HOME = "/home/user"
MOST_LINES = 2_000


def holds_environment(text: str) -> bool:
    """Whether a text holds what gpudoctor-env.py printed."""
    return MARK in text and any(_BEGIN.match(line) for line in text.splitlines() if MARK in line)


def entries_of_text(text: str) -> dict[str, bytes]:
    """The files of a capture. Raises CaptureError where the text holds no environment."""
    lines, revision = _lines(text)
    reader = _Reader(revision)
    reader.read(lines)
    reader.installed(text)
    return reader.entries()


def around(text: str) -> str:
    """What a person wrote before and after the text of the environment."""
    lines = text.splitlines()
    first = next((number for number, line in enumerate(lines) if _BEGIN.match(line)), len(lines))
    head = max((number for number, line in enumerate(lines[:first]) if line.lstrip("> \t`").startswith("PyTorch version:")), default=first)
    last = next((number for number, line in enumerate(lines) if number > first and END in line), len(lines))
    return "\n".join([*lines[:head], *lines[last + 1 :]])


def _lines(text: str) -> tuple[list[str], int]:
    """The lines between the marks, without what an issue or a mail put before each of them."""
    found = None
    kept: list[str] = []
    for line in text.splitlines():
        if found is None:
            found = _BEGIN.match(line)
            continue
        margin = found["margin"]
        line = line[len(margin) :] if line.startswith(margin) else line.lstrip("> ") if line.strip() == margin.strip() else line
        if line.startswith(END):
            return kept, int(found["revision"])
        kept.append(line.rstrip())
        if len(kept) > MOST_LINES:
            raise CaptureError(f"the text of gpudoctor-env.py has more than {MOST_LINES} lines, which gpudoctor-env.py never writes")
    if found is None:
        raise CaptureError("it holds no text of gpudoctor-env.py")
    return kept, int(found["revision"])


class _Reader:
    def __init__(self, revision: int) -> None:
        self.revision = revision
        self.files: dict[str, str] = {}
        self.folders: dict[str, list[str]] = {}
        self.links: dict[str, str] = {}
        self.modes: dict[str, dict[str, Any]] = {}
        self.troubles: dict[str, str] = {}
        self.commands: list[dict[str, Any]] = []
        self.missing: set[str] = set()
        self.variables: dict[str, str] = {}
        self.python: dict[str, Any] = {}
        self.platform = "linux"
        self.left_out: set[str] = set()
        self.unasked: set[int] = set()
        self.untold: list[str] = []
        self._groups: set[str] = set()
        self._first: dict[tuple[str, str], list[re.Match[str]]] = {}

    def read(self, lines: Sequence[str]) -> None:
        blocks = list(_blocks(lines))
        for head, _ in blocks:
            found = re.match(r"^-- Python (\S+), (.+?), in (.*)$", head)
            if found:
                self._identity(*found.groups())
        for head, body in blocks:
            self._block(head, [self._here(line) for line in body])

    def installed(self, text: str) -> None:
        """The packages of the first part of the text, which are those that anything asks for."""
        head = text[: _BEGIN_AT.search(text).start()].rpartition(PACKAGES_FOLLOW)[2]  # type: ignore[union-attr]
        listed: dict[str, Any] = {}
        for name, version in re.findall(r"\[pip3\] ([\w.-]+)==(\S+)", head):
            listed[name] = [*(listed[name] if isinstance(listed[name], list) else [listed[name]]), version] if name in listed else version
        if self.python and f"[pip3] {NONE}" not in head:
            self.python["distributions"] = listed

    def _identity(self, version: str, kind: str, prefix: str) -> None:
        plain = "*" not in prefix and not prefix.startswith("~") and prefix != "?"
        home = "C:/Users/user" if self.platform == "windows" else HOME
        where = prefix if plain else f"{home}/miniconda3/envs/env" if kind == "conda" else f"{home}/env"
        self.python.update(version=version, prefix=where, executable=f"{where}/bin/python")
        if kind != "kind not known":
            self.python["kind"] = kind

    def _here(self, line: str) -> str:
        """The line with folders in the place of their stand-ins."""
        if "{" in line and self.python:
            short = ".".join(self.python["version"].split(".")[:2])
            site = f"{self.python['prefix']}/lib/python{short}/site-packages"
            line = line.replace("{site}", site).replace("{prefix}", self.python["prefix"])
        return re.sub(r"(?<![\w.~])~(?=/|$|[:;,\s])", HOME, line)

    def _block(self, head: str, body: list[str]) -> None:
        if head.startswith("-- "):
            self._groups |= {name for name, title in titles().items() if title == head[3:]}
        elif head.startswith("$ "):
            self._command(head, body)
        elif head.startswith("Platform: "):
            self.platform = head[10:].strip()
            self.platform = self.platform if self.platform in ("linux", "wsl2", "windows", "macos", "container") else "linux"
        elif found := re.match(r"^Import (\w+): (\{.*)$", head):
            self._framework(found[1], self._here(found[2]))
        elif found := re.match(r"^Loaded by (\w+): ?(.*)$", head):
            framework = self.python.setdefault("frameworks", {}).setdefault(found[1], {"imported": None})
            framework["libraries"] = list(_libraries(self._here(found[2])))
        elif found := re.match(r"^By (dpkg-query|rpm|pacman): (.*)$", head):
            self._packages(found[1], found[2])
        elif head.startswith("Not installed: "):
            self.missing |= set(head[15:].split())
        elif found := re.match(r"^Nothing (?:further )?in: (.*)$", head):
            for path in self._here(found[1]).split():
                self.folders.setdefault(path, [])
        elif head.startswith("Not stated, "):
            self._not_told(self._here(head.partition(": ")[2]).split())
        elif head.startswith("Left out"):
            self.left_out |= {name.strip() for name in head.partition(": ")[2].split(",")}
        elif found := re.match(r"^([A-Za-z_]\w*)=(.*)$", head):
            self.variables[found[1]] = self._here(found[2])
        elif place := _FOLDER.match(self._here(head)):
            self._place(place, body)

    def _not_told(self, words: Sequence[str]) -> None:
        for word in words:
            found = re.match(r"^(\d{1,4})(?:-(\d{1,4}))?$", word)
            if found:
                self.unasked |= set(range(int(found[1]), int(found[2] or found[1]) + 1))
            elif word.count("{") < 2:  # as the text is written; more groups would be ever more words
                self.untold += braces(word)

    def _framework(self, name: str, text: str) -> None:
        try:
            table = json.loads(text)
        except ValueError:
            return
        if isinstance(table, dict):
            self.python.setdefault("frameworks", {}).setdefault(name, {}).update(table)

    def _place(self, place: re.Match[str], body: list[str]) -> None:
        path = place["path"] or "/"
        if place["slash"] or (path == "/" and not place["path"]):
            if place["items"] is not None or not body:
                self.folders.setdefault(path, []).extend((place["items"] or "").split())
                return
        if place["items"] is None and not place["like"]:
            self.files[path] = "\n".join(body) + "\n"
            return
        items = list(_ITEM.finditer(place["items"] or ""))
        parent, _, name = path.rpartition("/")
        if place["like"]:
            own = {item["name"] for item in items}
            items += [item for item in self._first.get((parent, place["like"]), []) if item["name"] not in own]
        self._first[parent, name] = items
        for item in items:
            self._item(f"{path.rstrip('/')}/{item['name']}", item)

    def _item(self, path: str, item: re.Match[str]) -> None:
        if item["text"] is not None:
            self.files[path] = _unquoted(item["text"]) + "\n"
        elif item["target"] is not None:
            self.links[path] = item["target"]
        elif item["trouble"] is not None:
            self.troubles[path] = item["trouble"]
        elif item["mode"] is not None:
            self._node(path, item["mode"])
        else:
            self.files.setdefault(path, "")

    def _node(self, path: str, said: str) -> None:
        found = re.match(r"^(\S+) ([^\s:]+):([^\s:]+) (\d+|\?):(\d+|\?) (open|closed|\?)$", said)
        entry: dict[str, Any] = {}
        if found:
            entry = {key: value for key, value in zip(("mode", "owner", "group"), found.groups()[:3], strict=True) if value != "?"}
            entry.update({key: int(value) for key, value in zip(("uid", "gid"), found.groups()[3:5], strict=True) if value != "?"})
            if found[6] != "?":
                entry["may_open"] = found[6] == "open"
        if entry:
            self.modes[path] = entry
        self.files.setdefault(path, "")

    def _command(self, head: str, body: list[str]) -> None:
        found = _COMMAND.match(head)
        try:
            argv = list(argv_of(self._here(found["argv"]))) if found else []
        except ValueError:
            return
        if found is None or not argv:
            return
        out = [line for line in body if not line.startswith("! ")]
        out = [re.sub(r"\(\*\)", "", line) for line in out] if argv[0] == "id" else out
        text = "\n".join(_ldconfig(out) if argv[0].endswith("ldconfig") else out)
        entry: dict[str, Any] = {
            "argv": argv,
            "stdout": f"{text}\n" if text else "",
            "stderr": "\n".join(line[2:] for line in body if line.startswith("! ")),
        }
        if found["late"]:
            entry["timed_out"] = True
        elif found["signal"]:
            entry["signal"] = int(found["signal"])
        else:
            entry["rc"] = int(found["rc"] or 0)
        self.commands.append(entry)
        if argv[0].endswith("ldconfig"):
            for line in out:
                folder, _, names = line.partition(": ")
                for name in names.split():
                    self.files.setdefault(f"{folder}/{name}", "")

    def _packages(self, manager: str, listed: str) -> None:
        names = [
            (name, version)
            for part in listed.split("; ")
            for version, _, all_of_it in [part.rpartition(": ")]
            for name in all_of_it.split()
        ]
        command = {
            "dpkg-query": ["dpkg-query", "-W", "-f=${db:Status-Abbrev}\\t${binary:Package}\\t${Version}\\n"],
            "rpm": ["rpm", "-qa", "--queryformat", "%{NAME} %{VERSION}-%{RELEASE} %{ARCH}\\n"],
            "pacman": ["pacman", "-Q"],
        }
        row = {"dpkg-query": "ii \t{}\t{}\n", "rpm": "{} {} x86_64\n", "pacman": "{} {}\n"}[manager]
        self.commands.append({"argv": command[manager], "rc": 0, "stdout": "".join(row.format(*each) for each in names), "stderr": ""})

    # what becomes of it

    def entries(self) -> dict[str, bytes]:
        self._implied()
        commands = [*self.commands, *({"argv": list(argv), "missing": True} for argv in self._missing_commands())]
        machine = {
            "format": 1,
            "complete": True,
            "recorder": "gpudoctor-env.py",
            "title": "the text of gpudoctor-env.py",
            "platform": self.platform,
        }
        found = {
            "machine.toml": toml(machine), "absent.toml": toml({"paths": self._absent()}), "env.toml": toml(self.variables),
            "commands.jsonl": b"".join(json_line(entry) for entry in commands), "folders.toml": toml(self.folders),
            "links.toml": toml(self.links), "modes.toml": toml(self.modes), "unreadable.toml": toml(self.troubles),
        }  # fmt: skip
        if self.python:
            found["python.json"] = json_table(self.python)
        folders = {parent for path in self.files for parent in _parents(path)}
        found.update(
            {
                f"files/{path.lstrip('/')}": text.encode()
                for path, text in self.files.items()
                if path not in folders and ".." not in path.split("/")
            }
        )
        return found

    def _implied(self) -> None:
        """Nodes and libraries lie in folders whose listing was shortened."""
        self.variables.setdefault("HOME", HOME)
        for folder, names in self.folders.items():
            inside = {
                path[len(folder) + 1 :].partition("/")[0]
                for path in (*self.files, *self.links, *self.modes)
                if path.startswith(f"{folder}/")
            }
            names += [name for name in sorted(inside) if name not in names]
            if folder.rstrip("/").rpartition("/")[2].startswith("lib") or "/lib" in folder:
                for name in names:
                    if ".so" in name and f"{folder}/{name}" not in self.links:
                        self.files.setdefault(f"{folder}/{name}", "")

    def _asked(self) -> Iterator[Question]:
        if self.revision != REVISION:
            return iter(())
        shown = ShownPaths(self.files, self.folders, self.links, self.variables, self.python, self.platform)
        asker = Asker(shown, Clock(), None)
        return (
            question for question in questions()
            if question.group not in self.left_out and question.number not in self.unasked
            and (question.group not in SYSTEMS or asker.is_system(question.group))
        )  # fmt: skip

    def _missing_commands(self) -> Iterator[tuple[str, ...]]:
        said = {tuple(entry["argv"]) for entry in self.commands}
        for question in self._asked():
            for argv in question.commands:
                if argv[0] in self.missing and argv not in said:
                    yield argv

    def _absent(self) -> list[str]:
        """Paths that were asked for and are not shown."""
        shown = {*self.files, *self.links, *self.modes, *self.troubles, *self.folders}
        asker = Asker(ShownPaths(self.files, self.folders, self.links, self.variables, self.python, self.platform), Clock(), None)
        found: dict[str, None] = {}
        for question in self._asked():
            if question.verb == "run":
                continue
            for path in asker.paths(question.where):
                if path not in shown and not any(path == place or path.startswith(f"{place}/") for place in self.untold):
                    if not any(other.startswith(f"{path}/") for other in shown):
                        found[path] = None
        named = {library for path, text in self.files.items() if "icd" in path for library in LIBRARY_IN_ICD.findall(text)}
        found.update(dict.fromkeys(library for library in sorted(named) if library not in shown))
        return list(found)


def _blocks(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    head, body = "", []
    for line in lines:
        if line.startswith("  ") or not line:
            body.append(line[2:])
        else:
            if head:
                yield head, body
            head, body = line, []
    if head:
        yield head, body


def _libraries(said: str) -> Iterator[Mapping[str, str]]:
    for part in said.split("; "):
        place, _, names = part.partition(": ")
        origin, _, folder = place.partition(" ")
        for name in names.split():
            yield {"soname": name, "path": f"{folder}/{name}", "origin": origin}


def _ldconfig(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        folder, _, names = line.partition(": ")
        for name in names.split():
            yield f"\t{name} (libc6,x86-64) => {folder}/{name}"


def _unquoted(text: str) -> str:
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text
    return text


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]
