"""Asks a door the questions of the table, each in its time, and keeps what was answered. A question that fails is a gap, never the end."""

from __future__ import annotations

import fnmatch
import posixpath
import re
import shlex
import threading
import time

from gpudoctor.envtext.derived import COMMANDS
from gpudoctor.envtext.kept import apk_packages, dpkg_packages, kept, kept_name, packages_in
from gpudoctor.envtext.questions import COMFY_AT_HOME, COMFY_FOLDERS, LIBRARY_FOLDERS, QUESTIONS

SYSTEMS = ("windows", "macos", "wsl")
DISPLAY = ("0x03", "0x12", "0x0b40")
DEVICES = "/sys/bus/pci/devices"
MOST = 64
"""Names that one `*` stands for."""
LIBRARY_IN_ICD = re.compile(r"/[^\s\"']+\.so[\w.]*")
ONE_READ = 3.0
"""Seconds for a question that starts no process."""
TOTAL = 20.0


class Question:
    """One line of the table."""

    def __init__(self, group: str, line: str, number: int = 0) -> None:
        self.number = number
        said, _, keep = line.partition(" :: ")
        self.group, self.keep, self.line = group, keep.strip(), said.strip()
        self.otherwise = self.line.startswith("else ")
        self.verb, _, self.where = self.line[5 if self.otherwise else 0 :].partition(" ")
        self.where = self.where.strip()
        self.seconds = ONE_READ
        self.commands = []  # type: list[tuple[str, ...]]
        if self.verb == "run":
            number, _, self.where = self.where.partition(" ")
            self.seconds = float(number)
            self.commands = [tuple(COMMANDS.get(part) or shlex.split(part)) for part in self.where.split(" || ")]


def questions() -> list:  # type: ignore[type-arg]
    """The table in its order."""
    found, group = [], ""
    for line in QUESTIONS.strip().splitlines():
        if line.startswith("["):
            group = line[1 : line.index("]")]
        elif line.strip():
            found.append(Question(group, line, len(found) + 1))
    return found


def titles() -> dict:  # type: ignore[type-arg]
    """The title of each group."""
    return dict(re.findall(r"^\[(\w+)\] (.*)$", QUESTIONS, re.M))


class Answers:
    """What was answered, by path and command. Nothing is redacted here."""

    def __init__(self) -> None:
        self.files = {}  # type: dict[str, str]
        self.folders = {}  # type: dict[str, list[str]]
        self.links = {}  # type: dict[str, str]
        self.nodes = {}  # type: dict[str, tuple]
        self.there = []  # type: list[str]
        self.troubles = {}  # type: dict[str, str]
        self.commands = {}  # type: dict[tuple, dict]
        self.missing = []  # type: list[str]
        self.unasked = []  # type: list[object]
        self.packages = None  # type: tuple[tuple, dict] | None
        self.group_of = {}  # type: dict[object, str]
        self.told = []  # type: list[str]

    def add(self, other: Answers) -> None:
        for name, value in vars(other).items():
            mine = getattr(self, name)
            if isinstance(mine, dict):
                mine.update({key: each for key, each in value.items() if key not in mine})
            elif isinstance(mine, list):
                mine.extend(each for each in value if each not in mine)
            elif value is not None:
                setattr(self, name, value)


class Clock:
    """The time for everything."""

    def __init__(self, seconds: float = TOTAL) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        return self._end - time.monotonic()


def guarded(seconds: float, function):  # type: ignore[no-untyped-def]
    """(value, '') or (None, why there is none): what raises or hangs ends here."""
    box = []  # type: list[tuple]

    def work() -> None:
        try:
            box.append((function(), ""))
        except BaseException as error:
            box.append((None, f"{type(error).__name__}: {error}"))

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(max(0.05, seconds))
    return box[0] if box else (None, f"no answer after {seconds:.0f} s")


class Asker:
    """The questions to one door."""

    def __init__(self, door, clock: Clock) -> None:  # type: ignore[no-untyped-def]
        self.door, self.clock = door, clock
        self.answers = Answers()
        self._sets = {}  # type: dict[str, list[str]]

    def ask(self) -> Answers:
        """All questions for this platform; those without an answer are kept by their number, or by the place that nothing is known of."""
        answered = False
        for question in questions():
            if (question.group in SYSTEMS and not self.is_system(question.group)) or (question.otherwise and answered):
                continue
            limit = min(question.seconds * max(1, len(question.commands)) + 0.5, self.clock.left())
            found, why = guarded(limit, lambda question=question: self._one(question)) if limit > 0.2 else (None, "out of time")
            if found is None:
                self.answers.unasked.append(question.number)
                self.answers.troubles[f"question {question.number}"] = why
            else:
                answered = answered and question.otherwise or bool(found.files or found.commands or found.there)
                self.answers.add(found)
        return self.answers

    def is_system(self, name: str) -> bool:
        """Whether the questions of a group are for this operating system."""
        if name == "wsl":
            return self.door.platform == "wsl2" or "microsoft" in self.door.read("/proc/sys/kernel/osrelease").text.lower()
        return bool(self.door.platform == name)

    def _one(self, question: Question) -> Answers:
        found = Answers()
        if question.verb == "run":
            self._run(question, found)
            return found
        paths, unknown = self.paths(question.where)
        told = False
        for path in paths:
            if getattr(self, f"_{question.verb}")(path, question, found):
                told = True
                found.told.append(path)
            else:
                unknown.append(path)
            found.group_of[path] = question.group
        found.unasked += unknown if told else [question.number] if unknown else []
        return found

    # what the table's places stand for

    def paths(self, where: str) -> tuple:  # type: ignore[type-arg]
        """(literal paths, places of which the door cannot tell what is there)."""
        found, unknown = [], []  # type: list[str], list[str]
        for one in braces(self._filled(where)):
            one = one.replace("//", "/")
            here = [""]
            for part in one.strip("/").split("/"):
                if "*" not in part:
                    here = [f"{folder}/{part}" for folder in here]
                    continue
                deeper = []
                for folder in here:
                    names = [name for name in self.door.listdir(self._plain(folder or "/")) if fnmatch.fnmatchcase(name, part)][:MOST]
                    deeper += [f"{folder}/{name}" for name in names]
                    if not names and not self._known(folder or "/"):
                        unknown.append(f"{folder}/{part}")
                here = deeper
            found += here
        return [self._plain(path) for path in dict.fromkeys(found)], unknown

    def _plain(self, path: str) -> str:
        path = posixpath.normpath(path)
        return path[1:] if re.match(r"^/[A-Za-z]:", path) else path

    def _known(self, path: str) -> bool:
        return bool(self.door.exists(path) or self.door.knows(path))

    def _filled(self, where: str) -> str:
        for name in re.findall(r"\{(gpu|home|prefix|site|path|lib|release|comfy)\}", where):
            if name not in self._sets:
                self._sets[name] = getattr(self, f"_set_{name}")()
            where = where.replace("{%s}" % name, "{%s}" % ",".join(self._sets[name] or ["\0"]))
        return where

    def _set_gpu(self) -> list:  # type: ignore[type-arg]
        found = []  # type: list[str]
        for address in self.door.listdir(DEVICES):
            kind, vendor = (self.door.read(f"{DEVICES}/{address}/{name}").text.strip() for name in ("class", "vendor"))
            if kind.startswith(DISPLAY) or vendor == "0x1d95":
                chain = re.findall(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", self.door.readlink(f"{DEVICES}/{address}") or "")
                found += [address, *chain[1:-1][-2:]]
        return list(dict.fromkeys(found))[:MOST]

    def _set_home(self) -> list:  # type: ignore[type-arg]
        home = (self.door.env("HOME") or self.door.env("USERPROFILE") or "").replace("\\", "/").rstrip("/")
        return [home] if home else []

    def _set_prefix(self) -> list:  # type: ignore[type-arg]
        return [str(self.door.python.get("prefix") or "").replace("\\", "/")]

    def _set_site(self) -> list:  # type: ignore[type-arg]
        short = ".".join(str(self.door.python.get("version") or "").split(".")[:2])
        prefix = self._set_prefix()[0]
        return [f"{prefix}/lib/python{short}/site-packages", f"{prefix}/Lib/site-packages"] if prefix else []

    def _set_path(self) -> list:  # type: ignore[type-arg]
        folders = re.split(r"[:;](?!\\|/)" if self.door.platform == "windows" else ":", self.door.env("PATH") or "")
        return list(dict.fromkeys(folder.replace("\\", "/").rstrip("/") for folder in folders if "/" in folder.replace("\\", "/")))[:24]

    def _set_lib(self) -> list:  # type: ignore[type-arg]
        named = [folder.rstrip("/") for folder in (self.door.env("LD_LIBRARY_PATH") or "").split(":") if folder.startswith("/")]
        return list(dict.fromkeys((*LIBRARY_FOLDERS, *named[:24])))

    def _set_release(self) -> list:  # type: ignore[type-arg]
        release = self.door.read("/proc/sys/kernel/osrelease").text.strip()
        return [release] if release else []

    def _set_comfy(self) -> list:  # type: ignore[type-arg]
        places = [*COMFY_FOLDERS, *(f"{home}/{place}" for home in self._set_home() for place in COMFY_AT_HOME)]
        return [place for place in places if self.door.exists(f"{place}/custom_nodes") or self.door.exists(f"{place}/main.py")][:2]

    # the verbs: each says whether the door could tell

    def _read(self, path: str, question: Question, found: Answers) -> bool:
        said = self.door.read(path, limit=40_000_000 if question.keep in ("dpkg", "apk") else 1_000_000)
        if said.problem == "not-recorded":
            return False
        if said.problem and said.problem != "missing":
            found.troubles[path] = said.problem
        if said.problem or question.keep == "never":
            return True
        text = said.text.replace("\0", "").rstrip("\n")
        if question.keep in ("dpkg", "apk"):
            listed = dpkg_packages(text) if question.keep == "dpkg" else apk_packages(text)
            found.packages = (("dpkg-query" if question.keep == "dpkg" else "apk",), listed) if text else None
        else:
            found.files[path] = kept(question.keep, text) if question.keep else text
            for library in LIBRARY_IN_ICD.findall(text) if "icd" in path else ():
                if self._there(library, question, found):
                    found.told.append(library)
                    found.group_of[library] = question.group
        return True

    def _list(self, path: str, question: Question, found: Answers) -> bool:
        names = self.door.listdir(path)
        if not names and not self._known(path):
            return False
        if names or self.door.exists(path):
            keep = "|".join(map(re.escape, self._set_gpu())) or "$^" if question.keep == "{gpu}" else question.keep
            found.folders[path] = [name for name in names if not keep or kept_name(keep, name)][:200]
        return True

    def _link(self, path: str, question: Question, found: Answers) -> bool:
        target = self.door.readlink(path)
        if target is not None:
            found.links[path] = target
        return target is not None or self._known(path)

    def _there(self, path: str, question: Question, found: Answers) -> bool:
        if self.door.exists(path):
            if question.keep != "never":
                found.there.append(path)
            return True
        return bool(self.door.knows(path))

    def _node(self, path: str, question: Question, found: Answers) -> bool:
        if not self.door.exists(path):
            return bool(self.door.knows(path))
        mode = self.door.mode(path)
        told = (mode.mode, mode.owner, mode.group, mode.uid, mode.gid) if mode is not None else ("", "", "", None, None)
        found.nodes[path] = (*told, self.door.may_open(path))
        return True

    def _run(self, question: Question, found: Answers) -> None:
        unknown = False
        for argv in question.commands:
            if "{" in argv[-1] and argv[0] == "ldd":
                there = [path for path in self.paths(argv[-1])[0] if self.door.exists(path)]
                argv = (*argv[:-1], *there[:1]) if there else ()
            if not argv or ("ollama" in argv[-1] and argv[0] != "ollama" and not any(path.endswith("/ollama") for path in self.answers.there)):
                continue
            said = self.door.run(argv, timeout=min(question.seconds, max(0.2, self.clock.left())))
            if said.missing:
                found.missing.append(argv[0])
                continue
            if said.not_recorded:
                unknown = True
                continue
            if argv[0] in ("dpkg-query", "rpm", "pacman"):
                listed = packages_in(argv[0], said.stdout)
                if said.stdout.strip() and said.rc == 0:
                    found.packages = ((argv[0],), listed)
                    return
                continue
            told = {"rc": said.rc, "signal": said.signal, "timed_out": said.timed_out}
            told["stdout"] = kept(question.keep, said.stdout) if question.keep not in ("", "never") else said.stdout[:6000]
            told["stderr"] = "\n".join(line for line in said.stderr.splitlines() if line.strip())[:600]
            found.commands[argv] = told
            found.group_of[argv] = question.group
            if (said.rc == 0 and (said.stdout.strip() or len(question.commands) == 1)) or said.timed_out:
                return
        if unknown and not found.commands:
            found.unasked.append(question.number)



def braces(text: str) -> list:  # type: ignore[type-arg]
    """`a{b,c}` is ab and ac."""
    found = re.search(r"\{([^{}]*)\}", text)
    if found is None:
        return [] if "\0" in text else [text]
    return [whole for word in found[1].split(",") for whole in braces(text[: found.start()] + word + text[found.end() :])]
