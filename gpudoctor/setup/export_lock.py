"""Locks the packages of an export: each gets its release and the one checksum that is accepted.

uv resolves them for the Python and the platform of the export, whatever runs here, and prints a pylock.toml (PEP 751).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gpudoctor.model import toml_text
from gpudoctor.model.plan import Act, Command, FileChange, Plan, PlannedStep
from gpudoctor.setup.packages.pip_command import PackageSources, pip_install, uv_install

NOT_LOCKED = "the packages are pinned by release, not by checksum, since no index was asked: --online writes every package with its SHA-256"
MOST = 2_000
_PLATFORMS = {"linux": "{}-manylinux_2_28", "macos": "{}-apple-darwin"}
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_SHA256 = re.compile(r"[0-9a-f]{64}")

Compile = Callable[[Sequence[str], str], tuple[int | None, str, str]]
"""Runs `uv pip compile` with these words and this standard input: (exit status or None without uv, output, messages)."""


class LockError(Exception):
    """Raised with the reason for which a step cannot be locked."""


class LockPlatform(Struct, frozen=True):
    """What an export is for. `system`: linux or macos; `machine`: the architecture as uname prints it."""

    system: str
    machine: str

    @property
    def platform(self) -> str:
        return _PLATFORMS.get(self.system, _PLATFORMS["linux"]).format(_MACHINES.get(self.machine.lower(), "x86_64"))


def locked(plan: Plan, target: LockPlatform, run: Compile) -> Plan:
    """The plan with lists of checksums in its pip steps. A remark gives the reason where a step has none."""
    python = plan.python
    steps, remarks = list(plan.steps), list(plan.remarks)
    for at, step in enumerate(steps):
        if step.kind != "pip" or not step.acts:
            continue
        try:
            steps[at] = _locked(step, python, target, run)
        except LockError as error:
            remarks.append(f"the packages of step {step.number} are pinned by release, not by checksum: {error}")
    return replace(plan, steps=tuple(steps), remarks=tuple(remarks))


def _locked(step: PlannedStep, python: str, target: LockPlatform, run: Compile) -> PlannedStep:
    settings = step.settings
    if settings.get("first"):
        raise LockError("they come from two indexes, each for its own packages, and uv resolves from one")
    if settings["constraints"]:
        raise LockError("it has constraints of its own")
    if not python:
        raise LockError("the Python of the environment is not known")
    where = PackageSources(settings["index"], tuple(settings["find_links"]), tuple(settings["trusted"]))
    options = ["--prerelease=allow" if option == "--pre" else option for option in settings["options"]]
    words = [
        "--python-version", python, "--python-platform", target.platform, "--only-binary", ":all:", "--format", "pylock.toml",
        "--no-header", "--no-cache", *options, *where.for_uv(), "-",
    ]  # fmt: skip
    status, said, messages = run(words, "".join(f"{text}\n" for text in settings["packages"]))
    if status is None:
        raise LockError("there is no uv to resolve with; install uv (https://docs.astral.sh/uv/) and run this again")
    if status != 0:
        raise LockError(_reason(messages))
    path = f"{settings['env']}/gpudoctor-{step.number}.lock.txt"
    root = any(isinstance(act, Command) and act.root for act in step.acts)
    content = f"# Python {python}, {target.platform}\n{requirements(said)}"
    acts: list[Act] = [FileChange(path=path, content=content, root=root), _install(step, where, path, root)]
    return replace(step, acts=tuple(acts))


def _install(step: PlannedStep, where: PackageSources, path: str, root: bool) -> Command:
    settings = step.settings
    exact = ["--no-deps", "--require-hashes", "--requirement", path]
    if settings["uv"]:
        argv = uv_install(settings["uv"], settings["python"], [*where.for_uv(), *exact])
    else:
        argv = pip_install(settings["python"], [*where.for_pip(), *exact])
    return Command(argv=tuple(argv), root=root)


def requirements(pylock: str) -> str:
    """A requirements file with one line for each package of a pylock.toml. Raises LockError where one has no checksum."""
    try:
        found = toml_text.loads(pylock).get("packages")
    except ValueError:
        found = None
    packages = [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
    if not packages:
        raise LockError("uv's answer is no list of packages")
    return "".join(f"{_line(each)}\n" for each in packages[:MOST])


def _line(package: Mapping[str, Any]) -> str:
    name = canonicalize_name(str(package.get("name")))
    archive = package.get("archive")
    digests = [digest for file in ([archive] if isinstance(archive, Mapping) else _wheels(package)) if (digest := _digest(file))]
    if not digests or not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise LockError(f"the index gives no checksum of {name}")
    hashes = " ".join(f"--hash=sha256:{digest}" for digest in digests)
    if isinstance(archive, Mapping):
        address = re.fullmatch(r"(?:https?|file)://[^\s;#]+", str(archive.get("url")).partition("#")[0])
        if address is None:
            raise LockError(f"the address of {name} cannot be written")
        return f"{name} @ {address[0]} {hashes}"
    try:
        return f"{name}=={Version(str(package.get('version')))} {hashes}"
    except InvalidVersion:
        raise LockError(f"{name} has no release that can be written") from None


def _wheels(package: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    wheels = package.get("wheels")
    yield from (wheel for wheel in (wheels if isinstance(wheels, list) else ()) if isinstance(wheel, Mapping))


def _digest(file: Mapping[str, Any]) -> str:
    hashes = file.get("hashes")
    digest = str(hashes.get("sha256") if isinstance(hashes, Mapping) else "")
    return digest if _SHA256.fullmatch(digest) else ""


def _reason(messages: str) -> str:
    """Why uv found no solution, in its words from the first line of the error on."""
    lines = [line.strip(" ×╰─▶│├") for line in messages.splitlines()]
    first = next((at for at, line in enumerate(lines) if line.startswith(("error:", "No solution"))), 0)
    said = " ".join(filter(None, lines[first:]))[:300] or "it does not say why"
    if re.search(r"[Ff]ailed to fetch|[Rr]equest failed|error sending request", messages):
        return f"the index did not answer ({said})"
    return f"uv finds no releases that go together ({said})"
