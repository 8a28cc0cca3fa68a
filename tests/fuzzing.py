"""Files that are made to hang, to fill the memory of, or to crash whoever reads them: seeded, one command in a process of its own each.

`python tests/fuzzing.py SECONDS [SEED]` tries for as long as is wanted and counts; tests/real/test_hostile_files.py tries a fixed number.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from command_runner import CommandRunner

from gpudoctor.knowledge import slow_patterns
from gpudoctor.knowledge.loader import read_toml
from gpudoctor.model.lazy_pattern import LazyPattern
from gpudoctor.rules.literals import bare
from gpudoctor.rules.synonyms import spelled
from gpudoctor.services import checking

ROOT = Path(__file__).resolve().parents[1]
MOST_SECONDS = 5.0
"""CPU seconds of a command."""
MOST_BYTES = 300 * 1000 * 1000
STATUSES = (0, 1, 2, 4)
LONGEST = 400_000
"""Letters of a made text."""
_UNITS = (
    "[", "{", '"', "'", "\\", "a.", "9", "-", " ", "\t", "\n", "\r", "\0", "\x1b[", "\x1b]0;", "\u202e", "\u200b", "/a", "../", "%41",
    "<a>", "a=", "= ", "[[a]]\n", '{"a":', "[1,", "\U0001f600", "\ud800", "é", "#", ",", ":", "\n\n", "- ", "a: ", "$(", "`", "&", "|",
    "1.2.3 ",
)  # fmt: skip
_WORDS = (
    "", "x" * 300, "9" * 400, "-1", "1e999", "NaN", "true", "null", "[]", "{}", '""', "1979-05-27", "\x1b[31m", "::error::x",
    "../../etc/passwd", "$(reboot)", "1" * 5000,
)  # fmt: skip


class Case(NamedTuple):
    kind: str
    words: list[str]
    """Of the command line; files stand in the working folder."""
    files: dict[str, bytes]


@dataclass
class Ran:
    status: int
    signal: int
    seconds: float
    most: int
    out: str
    error: str

    def fault(self) -> str:
        if self.signal:
            return f"signal {self.signal} after {self.seconds:.1f} s: {self.error[-300:]}"
        if self.status not in STATUSES:
            return f"status {self.status}: {self.error[-600:]}"
        if "Traceback" in self.error or 'Traceback (most recent call last):\n  File "/' in self.out:
            return f"a traceback: {self.error[-600:]}"
        if self.seconds > MOST_SECONDS:
            return f"{self.seconds:.1f} s"
        if self.most > MOST_BYTES:
            return f"{self.most >> 20} MiB"
        if "\x1b" in self.out or "\x1b" in self.error:
            return "an escape on the screen"
        return ""


@dataclass
class Counts:
    tried: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    largest: tuple[int, str] = (0, "")
    faults: list[str] = field(default_factory=list)


# what is mutated


@cache
def texts() -> list[str]:
    """Examples of the checks, and what tools said on the recorded machines."""
    examples = (each for path in sorted((ROOT / "checks").rglob("*.toml")) for each in read_toml(path).get("example", []))
    found = [each["text"] for each in examples if each.get("text")]
    for path in sorted((ROOT / "tests" / "machines").glob("*/commands.jsonl")):
        found += [json.loads(line).get("stdout", "") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [text for text in found if text.strip()]


@cache
def machines() -> list[dict[str, bytes]]:
    return [
        {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file() and not file.is_symlink()}
        for folder in sorted((ROOT / "tests" / "machines").iterdir()) if (folder / "machine.toml").exists()
    ]  # fmt: skip


@cache
def expressions() -> list[tuple[str, int]]:
    """Of every reader and of every signature, with the flags that they are compiled with."""
    import re
    from importlib import import_module

    found = [
        (signature.pattern, re.IGNORECASE) for check in checking.catalogue().checks for signature in check.signatures if signature.pattern
    ]
    for folder in ("facts", "capture", "privacy", "system"):
        for path in sorted((ROOT / "gpudoctor" / folder).rglob("[!_]*.py")):
            if path.parent.name == "engines":
                continue  # they import the packages of a cluster, and hold no expression (tests/unit/test_slow_expressions.py)
            values = vars(import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))).values()
            ours = [each for each in values if isinstance(each, (re.Pattern, LazyPattern)) and isinstance(each.pattern, str)]
            found += [(each.pattern, each.flags & ~re.UNICODE) for each in ours]
    return found


@cache
def attacks(pattern: str, flags: int) -> list[slow_patterns.Attack]:
    return slow_patterns.attacks(pattern, flags)


@cache
def literals() -> list[str]:
    signatures = [signature for check in checking.catalogue().checks for signature in check.signatures]
    return sorted({bare(word) for each in signatures for choice in each.text for word in spelled(choice)})


@cache
def reports() -> list[str]:
    """Reports of recorded machines."""
    from gpudoctor.reporters.report import json_report

    folders = sorted(path.parent for path in (ROOT / "tests" / "machines").glob("*/machine.toml"))[:6]
    return [json_report.render(checking.check(checking.CheckRequest(capture=str(folder))), {}) for folder in folders]


POLICY = 'name = "x"\n[[device]]\ncount = 8\nname = "A100"\n[versions]\nkernel = ">=6.8"\n[packages]\ntorch = "==2.8.*"\n' \
         '[[demand]]\nname = "y"\nthat = { fact = "torch.build", is = "xpu" }\n'  # fmt: skip
DEPENDENCIES = {
    "requirements.txt": "torch==2.8.0\n-r other.txt\nnumpy>=1.26 ; python_version < '3.12'\n--index-url https://x/\n",
    "pyproject.toml": '[project]\nname="a"\ndependencies=["torch>=2","x[y]==1"]\n[tool.poetry.dependencies]\ntorch={version="^2"}\n',
    "Pipfile.lock": '{"_meta": {}, "default": {"torch": {"version": "==2.8.0"}}}',
    "environment.yml": "name: a\nchannels: [x]\ndependencies:\n  - pytorch=2.1\n  - pip:\n    - torch==2\n",
    "Dockerfile": "FROM nvidia/cuda:12.1-base\nRUN pip install torch==2.1 && \\\n  apt-get install x\nCOPY requirements.txt .\n",
    "setup.py": "from setuptools import setup\nsetup(install_requires=['torch>=2'])\n",
    "setup.cfg": "[options]\ninstall_requires =\n  torch>=2\n",
    "uv.lock": 'version = 1\n[[package]]\nname = "torch"\nversion = "2.8.0"\n',
    "poetry.lock": '[[package]]\nname = "torch"\nversion = "2.8.0"\n',
    "conda-lock.yml": "package:\n- name: pytorch\n  version: 2.1\n",
}


# how


def hostile(chance: random.Random) -> str:
    """A run of something, or a text that an expression of ours cannot do with."""
    if chance.random() < 0.5:
        return chance.choice(_UNITS) * chance.choice((10, 200, 5_000, 60_000))
    pattern, flags = chance.choice(expressions())
    attack = chance.choice(attacks(pattern, flags))
    line = attack.text(chance.choice((100, 2_000, 8_000, 20_000)))
    return line if chance.random() < 0.5 else "\n".join([line] * chance.choice((2, 40)))


def mutated(chance: random.Random, text: str) -> str:
    for _ in range(chance.randint(1, 5)):
        at, to = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        text = (
            text[:at],
            text[:at] + hostile(chance) + text[at:],
            text[:at] + text[at:to] * chance.randint(2, 30) + text[to:],
            text[:at] + chance.choice(_WORDS) + text[min(len(text), at + chance.randint(0, 12)) :],
            text[:at] + text[to:],
            text[:at] + text[at:to][::-1] + text[to:],
        )[chance.randrange(6)][:LONGEST]
    return text


def raw(chance: random.Random, text: str) -> bytes:
    data = bytearray(text.encode(chance.choice(("utf-8", "utf-8", "utf-8", "utf-16", "cp1252")), "replace"))
    for _ in range(chance.choice((0, 0, 0, 3, 40)) if data else 0):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


# cases


def a_text(chance: random.Random) -> Case:
    parts = [mutated(chance, chance.choice(texts())), hostile(chance)]
    if chance.random() < 0.3:  # what every signature waits for, at once
        words = chance.sample(literals(), 400)
        parts.append("\n".join(f"RuntimeError: {word} {chance.choice(words)} failed" for word in words) * chance.choice((1, 5)))
    chance.shuffle(parts)
    text = "\n".join(parts)[:LONGEST]
    return Case("text", ["explain", "-v", *chance.choice(([], ["--format", "json"], ["--all"])), "log.txt"], {"log.txt": raw(chance, text)})


def a_signature(chance: random.Random) -> Case:
    """The literals of a signature, with texts that its own expression cannot do with."""
    signatures = [(check, each) for check in checking.catalogue().checks for each in check.signatures if each.pattern]
    lines = []
    for check, signature in chance.sample(signatures, 12):
        words = " ".join(bare(next(iter(spelled(choice)), "")) for choice in (*signature.text, *signature.context))
        for attack in chance.sample(found := attacks(signature.pattern, 0), min(4, len(found))):
            lines.append(f"RuntimeError: {words} {attack.text(chance.choice((300, 6_000, 19_000)))} {words} error in {check.stacks[:1]}")
    return Case("signature", ["explain", "log.txt"], {"log.txt": raw(chance, "\n".join(lines)[:LONGEST])})


def a_machine(chance: random.Random) -> Case:
    files = dict(chance.choice(machines()))
    for name in chance.sample(sorted(files), min(len(files), chance.randint(1, 4))):
        files[name] = raw(chance, mutated(chance, files[name].decode("utf-8", "replace")))
    if chance.random() < 0.4:
        files |= {f"files/{hostile(chance)[:300]}": b"x", "commands.jsonl": _commands(chance)}
    words = chance.choice((
        ["check", "-v"], ["check", "--format", "json"], ["report", "--format", "markdown"], ["report", "--format", "json"],
        ["audit"], ["list", "devices"], ["setup", "cuda", "--plan"],
    ))  # fmt: skip
    return Case("machine", [*words, "--capture", "m.tar.gz"], {"m.tar.gz": archived(files)})


def _commands(chance: random.Random) -> bytes:
    lines = (json.dumps({**json.loads(line), "stdout": mutated(chance, chance.choice(texts()))[:60_000]})
             for line in chance.choice(machines()).get("commands.jsonl", b"").decode().splitlines() if line.strip())  # fmt: skip
    return "\n".join(lines).encode("utf-8", "replace")


def a_report(chance: random.Random) -> Case:
    names = ("a.json", "b.json")
    files = {name: raw(chance, mutated(chance, chance.choice(reports()))) for name in names}
    if chance.random() < 0.5:  # still JSON, of other types
        files["a.json"] = json.dumps(_retyped(chance, json.loads(chance.choice(reports())))).encode("utf-8", "replace")
    words = chance.choice((
        ["check", "--capture", "a.json"], ["diff", *names], ["diff", "a.json", "a.json", "--format", "json"], ["explain", "a.json"],
        ["report", "--capture", "a.json"], ["validate", "--compare", "a.json", "--compare", "b.json"],
    ))  # fmt: skip
    return Case("report", words, files)


def _retyped(chance: random.Random, value: object) -> object:
    if chance.random() < 0.02:
        return chance.choice(("x", 10**60, -1, None, [], {}, True, 1e308, ["x"] * 3, {"a": {"b": []}}, hostile(chance)[:500]))
    if isinstance(value, dict):
        return {key: _retyped(chance, inner) for key, inner in value.items()}
    return [_retyped(chance, inner) for inner in value] if isinstance(value, list) else value


def a_policy(chance: random.Random) -> Case:
    files = {"p.toml": raw(chance, mutated(chance, POLICY)), "m.tar.gz": archived(chance.choice(machines()))}
    return Case("policy", ["check", "--capture", "m.tar.gz", "--expect", "p.toml"], files)


def a_manifest(chance: random.Random) -> Case:
    name, text = chance.choice(sorted(DEPENDENCIES.items()))
    return Case("manifest", ["audit", "--backend", chance.choice(("cpu", "xpu", "cuda")), name], {name: raw(chance, mutated(chance, text))})


def a_check(chance: random.Random) -> Case:
    """A further folder of checks."""
    path = chance.choice(sorted((ROOT / "checks").rglob("*/*.toml")))
    content = raw(chance, mutated(chance, path.read_text(encoding="utf-8")))
    files = {f"own/{path.parent.name}/{path.name}": content, "log.txt": b"CUDA error: x\n"}
    return Case("check", ["explain", "--checks", "own", "log.txt"], files)


KINDS: tuple[Callable[[random.Random], Case], ...] = (a_text, a_signature, a_machine, a_report, a_policy, a_manifest, a_check)


def archived(files: dict[str, bytes]) -> bytes:
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name.replace("\0", "0").encode("utf-8", "replace").decode())
            info.size = len(content)
            archive.addfile(info, BytesIO(content))
    return buffer.getvalue()


# trying


def tried(case: Case, runner: CommandRunner) -> Ran:
    folder = Path(tempfile.mkdtemp(prefix="fuzzed-"))
    try:
        for name, content in case.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        more = ["-v"] if "-v" not in case.words and case.words[0] in ("check", "explain", "diff") else []
        return Ran(*runner.run(folder, [*case.words, *more]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cases(seed: int) -> Iterator[Case]:
    chance = random.Random(seed)
    while True:
        yield KINDS[chance.randrange(len(KINDS))](chance)


def count(seed: int, *, most: int = 10**9, seconds: float = 1e9, keep: Path | None = None) -> Counts:
    """Until `most` cases were tried or the seconds are over. `keep`: a folder for the files of what went wrong."""
    counts, until = Counts(), time.monotonic() + seconds
    with CommandRunner() as runner:
        for number, case in enumerate(cases(seed)):
            if number >= most or time.monotonic() > until:
                break
            ran = tried(case, runner)
            counts.tried[case.kind] += 1
            counts.statuses[ran.status] += 1
            counts.slowest = max(counts.slowest, (ran.seconds, f"{number} {case.words}"))
            counts.largest = max(counts.largest, (ran.most, f"{number} {case.words}"))
            fault = ran.fault()
            if fault:
                counts.faults.append(f"seed {seed}, case {number} ({case.kind}: {' '.join(case.words)}): {fault}")
                if keep:
                    _keep(keep / f"{seed}-{number}", case)
    return counts


def _keep(folder: Path, case: Case) -> None:
    for name, content in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    given = int(sys.argv[2]) if len(sys.argv) > 2 else 20261122
    kept = Path(tempfile.mkdtemp(prefix="fuzzed-kept-"))
    found = count(given, seconds=float(sys.argv[1]), keep=kept)
    sys.stdout.write(
        f"seed {given}: {found.tried.total()} tried, {dict(found.tried)}, statuses {dict(found.statuses)}\n"
        f"slowest {found.slowest}, largest {found.largest[0] >> 20} MiB {found.largest[1]}\n"
        f"{len(found.faults)} faults, their files in {kept}\n" + "".join(f"{fault}\n" for fault in found.faults)
    )  # fmt: skip
