"""Writes what was answered: first the fields of collect_env, then groups of questions with their answers, each in a form that is read back.

    /folder: name=content name->target name!denied name[crw-rw---- root:render 0:44 open]
    /folder/: names in it
    /file:
      its lines
    $ command (how it ended, unless with 0)
      its lines, `! ` before those of standard error
"""

from __future__ import annotations

import json
import re
import shlex

from gpudoctor.envtext.asking import titles
from gpudoctor.envtext.cleaning import Cleaner
from gpudoctor.envtext.derived import COMMANDS, VARIABLE_PREFIXES, VARIABLES
from gpudoctor.envtext.heading import Heading, compact
from gpudoctor.envtext.questions import REVISION

LIMIT = 8192
BEGIN = f"gpudoctor-env {REVISION}: what was looked at and what was found; gpudoctor explain FILE reads it"
END = "end of gpudoctor-env"
CUTS = ("older log", "libraries", "log", "packages", "programs", "runtimes", "drivers", "system", "devices", "variables")
"""What is left out, in this order, where the text would be longer than its limit."""
PRIVATE = ("USER", "HOME", "HOSTNAME", "LOGNAME", "SHELL", "DISPLAY", "LANG", "PWD")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|AUTH|CREDENTIAL|ACCOUNT")
_PLAIN = re.compile(r"[^\s\"\\]+")
_LDCONFIG = re.compile(r"^\s*(\S+) \(([^)]*)\) => (\S+)/\S+$")


def text(door, answers, limit: int = LIMIT) -> str:  # type: ignore[no-untyped-def]
    """The whole text, at most `limit` bytes long."""
    cleaner = cleaner_of(door, answers)
    writer = _Writer(door, answers, cleaner)
    left_out = []  # type: list[str]
    for cut in ("", *CUTS):
        if cut:
            left_out.append(cut)
        whole = writer.whole(left_out)
        if len(whole.encode("utf-8", "replace")) <= limit:
            return whole
    return whole.encode("utf-8", "replace")[: limit - len(END) - 2].decode("utf-8", "ignore") + f"\n{END}\n"


def cleaner_of(door, answers) -> Cleaner:  # type: ignore[no-untyped-def]
    """Knows what is private on this machine: its user, its names, its folders."""
    home = (door.env("HOME") or door.env("USERPROFILE") or "").replace("\\", "/").rstrip("/")
    prefix = str(door.python.get("prefix") or "").replace("\\", "/").rstrip("/")
    identity = next((re.search(r"uid=\d+\(([^)]*)", said["stdout"]) for argv, said in answers.commands.items() if argv == ("id",)), None)
    user = door.env("USER") or door.env("LOGNAME") or (identity[1] if identity else "") or home.rpartition("/")[2]
    host = door.read("/proc/sys/kernel/hostname").text.strip() or door.read("/etc/hostname").text.strip()
    hosts = [name for name in (host, door.env("HOSTNAME"), door.env("COMPUTERNAME")) if name]
    places = [(home, "~")] if home else []
    if prefix not in ("", "/usr", "/usr/local"):
        short = ".".join(str(door.python.get("version") or "").split(".")[:2])
        places += [(f"{prefix}/lib/python{short}/site-packages", "{site}"), (f"{prefix}/Lib/site-packages", "{site}"), (prefix, "{prefix}")]
    return Cleaner(user, hosts, places)


class _Writer:
    def __init__(self, door, answers, cleaner: Cleaner) -> None:  # type: ignore[no-untyped-def]
        self.door, self.answers, self.clean = door, answers, cleaner

    def whole(self, left_out: list) -> str:  # type: ignore[type-arg]
        heading = "\n".join(Heading(self.door, self.answers, self.clean).lines())
        body = [*self._python(left_out)]
        for group, title in titles().items():
            if group in left_out:
                continue
            found = [*self._files(group, left_out), *self._commands(group, left_out)]
            body += [f"-- {title}", *found] if found else []
        if "variables" not in left_out:
            body += ["-- Variables", *self._variables()]
        foot = [f"Not installed: {' '.join(dict.fromkeys(self.clean.line(name) for name in self.answers.missing))}"] if self.answers.missing else []
        ranges, places = _not_told(self.answers.unasked, self.answers.told)
        foot += [f"Not told, of the questions of the table: {' '.join([*ranges, *map(self.clean.line, places)])}"] if ranges or places else []
        foot += [f"unknown: {self.clean.line(f'{name}: {why}')}" for name, why in self.answers.troubles.items() if name.startswith("question ")]
        foot += [f"Left out, for want of room: {', '.join(left_out)}"] if left_out else []
        return "\n".join([heading, "", BEGIN, *body, *foot, END, ""])

    # groups

    def _python(self, left_out: list):  # type: ignore[no-untyped-def, type-arg]
        python = self.door.python
        prefix = Cleaner(self.clean._user, places=[place for place in self.clean._places if place[1] == "~"]).path(str(python.get("prefix") or ""))
        yield f"Platform: {self.door.platform}" + (f"; home: {'/root' if self.door.env('HOME') == '/root' else '~'}")
        if not python:
            return
        yield f"-- Python {python.get('version') or '?'}, {python.get('kind') or 'kind not known'}, in {prefix or '?'}"
        for name, told in (python.get("frameworks") or {}).items():
            if isinstance(told, dict):
                rest = {key: value for key, value in told.items() if key not in ("libraries", "file") and value not in (None, [], {}, "") or key == "error"}
                if "devices" in told:
                    rest["devices"] = told["devices"]
                yield f"Import {name}: {compact(self.clean.value(_shortened(rest)))}"
                if told.get("libraries") is not None and "libraries" not in left_out:
                    yield f"Loaded by {name}: {self._loaded(told['libraries'])}"

    def _loaded(self, libraries) -> str:  # type: ignore[no-untyped-def]
        """Libraries of a framework by origin and folder."""
        folders = {}  # type: dict[str, list[str]]
        for each in libraries:
            if isinstance(each, dict):
                folder = self.clean.path(str(each.get("path") or "").rpartition("/")[0])
                folders.setdefault(f"{each.get('origin') or '?'} {folder or '?'}", []).append(self.clean.line(str(each.get("soname") or "?")))
        return "; ".join(f"{folder}: {' '.join(names)}" for folder, names in folders.items())

    def _files(self, group: str, left_out: list):  # type: ignore[no-untyped-def, type-arg]
        answers, clean = self.answers, self.clean
        of_group = [path for path, its in answers.group_of.items() if its == group and isinstance(path, str)]
        items = {}  # type: dict[str, list[str]]
        blocks = []
        for path in of_group:
            folder, _, name = clean.path(path).rpartition("/")
            row = items.setdefault(folder or "/", [])
            if path in answers.files:
                content = answers.files[path]
                content = content if path == "/etc/os-release" else clean.json(content) if content[:1] in "{[" else clean.text(content)
                if "\n" in content or len(content) > 90:
                    blocks += [f"{clean.path(path)}:", *(f"  {line}" for line in content.split("\n"))]
                else:
                    row.append(f"{name}={content if _PLAIN.fullmatch(content) else json.dumps(content, ensure_ascii=False)}")
            if path in answers.links:
                row.append(f"{name}->{clean.path(answers.links[path])}")
            if path in answers.troubles:
                row.append(f"{name}!{answers.troubles[path]}")
            if path in answers.nodes:
                mode, owner, owners, uid, gid, opens = answers.nodes[path]
                said = {True: "open", False: "closed"}.get(opens, "?")
                numbers = ":".join("?" if number is None else str(number) for number in (uid, gid))
                row.append(f"{name}[{mode or '?'} {clean.line(owner) or '?'}:{clean.line(owners) or '?'} {numbers} {said}]")
            if path in answers.there:
                row.append(name)
        cached = {f"{found[3]}/{found[1]}" for said in [self._ldconfig()] for line in said.splitlines() for found in [_LDCONFIG.match(line)] if found}
        for folder in of_group:
            if folder in answers.folders:
                shown = (cached, answers.files, answers.links, answers.nodes, answers.there)
                names = [name for name in answers.folders[folder] if not any(f"{folder}/{name}" in those for those in shown)]
                blocks.append(f"{clean.path(folder)}/: {' '.join(clean.line(name) for name in names if ' ' not in name)}".rstrip())
        yield from _folder_lines(items)
        yield from blocks

    def _ldconfig(self) -> str:
        return next((said["stdout"] for argv, said in self.answers.commands.items() if argv[0].endswith("ldconfig")), "")

    def _commands(self, group: str, left_out: list):  # type: ignore[no-untyped-def, type-arg]
        for argv, said in self.answers.commands.items():
            if self.answers.group_of.get(argv) != group:
                continue
            ended = "no end" if said["timed_out"] else f"signal {said['signal']}" if said["signal"] is not None else f"exit {said['rc']}"
            name = next((name for name, words in COMMANDS.items() if tuple(words) == argv), shlex.join(argv if argv[0] != "ldd" else map(self.clean.line, argv)))
            yield f"$ {name}" + ("" if said["rc"] == 0 else f" ({ended})")
            lines = said["stdout"].rstrip().splitlines()
            if argv[0].endswith("ldconfig"):
                lines = _by_folder(said["stdout"])
            elif argv == ("id",):
                lines = [_identity(said["stdout"], self.clean)]
            elif group == "log" and "older log" in left_out:
                lines = lines[-12:]
            yield from (f"  {line if argv == ('id',) else self.clean.json(line) if line[:1] in '{[' else self.clean.line(line[:6000])}" for line in lines)
            yield from (f"  ! {self.clean.line(line)}" for line in said["stderr"].splitlines())
        if group == "packages" and self.answers.packages is not None:
            (manager,), listed = self.answers.packages
            release = self.answers.files.get("/proc/sys/kernel/osrelease", "").strip()
            by_version = {}  # type: dict[str, list[str]]
            for name, version in sorted(listed.items()):
                if not re.match(r"linux-(image|headers|modules)-(unsigned-)?\d", name) or (release and release in name):
                    by_version.setdefault(version, []).append(name)
            yield f"By {manager}: " + "; ".join(f"{self.clean.line(version)}: {' '.join(names)}" for version, names in by_version.items())

    def _variables(self):  # type: ignore[no-untyped-def]
        names = {name for prefix in VARIABLE_PREFIXES for name in self.door.env_names(prefix)} | set(VARIABLES)
        for name in sorted(names):
            value = self.door.env(name)
            if value is None or name in PRIVATE or _SECRET_NAME.search(name) or self.clean.line(name) != name:
                continue
            yield f"{name}={self.clean.line(value[:600])}"


def _shortened(told):  # type: ignore[no-untyped-def]
    """Messages of a framework without their middle, lists without their end."""
    if isinstance(told, str):
        return told if len(told) <= 1200 else told[:700] + " … " + told[-450:]
    if isinstance(told, list):
        return [_shortened(each) for each in told[:16]]
    return {key: _shortened(value) for key, value in told.items() if key != "git_version"} if isinstance(told, dict) else told


def _identity(said: str, clean: Cleaner) -> str:
    """`id` with the names of the system's own groups; of other groups the number."""

    def named(found) -> str:  # type: ignore[no-untyped-def]
        name = clean.line(found[2])
        return f"{found[1]}({name})" if "*" not in name else found[1]

    return re.sub(r"(\d+)\(([^)]*)\)", named, said.strip().split(" context=")[0])


def _by_folder(listing: str) -> list:  # type: ignore[type-arg]
    folders = {}  # type: dict[str, list[str]]
    for line in listing.splitlines():
        found = _LDCONFIG.match(line)
        if found:
            folders.setdefault(found[3], []).append(found[1])
    return [f"{folder}: {' '.join(names)}" for folder, names in folders.items()]


def _folder_lines(items: dict):  # type: ignore[no-untyped-def, type-arg]
    """One line for each folder; where one is like another of its parent, only what differs."""
    first = {}  # type: dict[tuple, tuple]
    for folder, row in items.items():
        if not row:
            continue
        parent = folder.rpartition("/")[0]
        shape = (parent, tuple(re.split(r"=|->|!|\[", item)[0] for item in row))
        if shape in first and len(row) > 3:
            name, before = first[shape]
            yield f"{folder} like {name}: {' '.join(item for item in row if item not in before)}".rstrip()
        else:
            first.setdefault(shape, (folder.rpartition("/")[2], row))
            yield f"{folder}: {' '.join(row)}"


def _not_told(unasked: list, told: list) -> tuple:  # type: ignore[type-arg]
    """Numbers of questions as ranges, and places: a folder stands for all that was asked below it."""
    numbers = sorted(each for each in unasked if isinstance(each, int))
    starts = [number for number in numbers if number - 1 not in numbers]
    ends = [number for number in numbers if number + 1 not in numbers]
    ranges = [f"{start}-{end}" if start != end else f"{start}" for start, end in zip(starts, ends)]
    above = {parent for path in told for parent in _above(path)}
    places = {}  # type: dict[str, list[str]]
    for path in (each for each in unasked if isinstance(each, str)):
        top = next((parent for parent in reversed(_above(path)) if parent not in above), path)
        folder, _, name = top.rpartition("/")
        if name not in places.setdefault(folder, []):
            places[folder].append(name)
    return ranges, [f"{folder}/{names[0] if len(names) == 1 else '{%s}' % ','.join(names)}" for folder, names in places.items()]


def _above(path: str) -> list:  # type: ignore[type-arg]
    """The path and its folders, the nearest first."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(len(parts), 1, -1)]
