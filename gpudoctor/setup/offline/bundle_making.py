"""Makes an offline bundle on a machine with a network: everything that a plan needs, so that a machine without one can be set up.

Packages of the distribution are of this machine's distribution only. They come with all that a bare system would need, whatever is
installed here; the other machine installs what it lacks. apt checks signatures and checksums while it downloads.
"""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from gpudoctor.model.plan import DONE, Plan, PlannedStep
from gpudoctor.model.recipe import Address
from gpudoctor.setup.offline.apt_bundle_making import copy_repositories
from gpudoctor.setup.offline.bundle import MANIFEST, Bundle, BundleError, BundleSource, Entry, manifest_text, open_bundle
from gpudoctor.setup.packages import apt
from gpudoctor.setup.packages.pip_command import alone, surroundings
from gpudoctor.setup.packages.repository_files import fetched_key
from gpudoctor.setup.steps._step import Settings
from gpudoctor.setup.steps.venv import python_in
from gpudoctor.system.hashed_tree import plain_files, sha256
from gpudoctor.system.writable_host import ActFailed, WritableHost

_WORK = ".work"
"""The working folder within the bundle, which is removed at the end."""
_NOT_BUNDLED = ("dnf.repository", "dnf.install", "pacman.install")
_URI = re.compile(r"^'([^']+)' (\S+) \d+ (?:SHA256:([0-9a-f]{64}))?", re.MULTILINE)


class _Making(Struct):
    plan: Plan
    addresses: Mapping[str, Address]
    folder: str
    machine: WritableHost
    sources: dict[str, str]
    """Path in the bundle to the address or index that it came from."""
    repositories: tuple[BundleSource, ...] = ()

    @property
    def work(self) -> str:
        return f"{self.folder}/{_WORK}"


def make_bundle(plan: Plan, addresses: Mapping[str, Address], folder: str, machine: WritableHost, *, date: str = "") -> Bundle:
    """The bundle for a plan of this machine, including steps that are done here. Raises BundleError and system.writable_host.ActFailed.

    Downloads of an earlier attempt that was interrupted are used again; the manifest is written last.
    """
    top = os.path.abspath(os.path.expanduser(folder))
    unserved = next((step for step in plan.steps if step.kind in _NOT_BUNDLED), None)
    if unserved is not None:
        raise BundleError(
            f"step {unserved.number} ({unserved.title}) needs packages of {plan.os_id}, which cannot be bundled",
            "give the other machine a mirror of those repositories instead (--mirror NAME=URL)",
        )
    making = _Making(plan, addresses, top, machine, {})
    _prepare(making)
    try:
        _wheels(making)
        _packages(making)
        _downloads(making)
    finally:
        machine.remove_tree(making.work)
    machine.say("checksums")
    files = {path: Entry(sha256=sha256(f"{top}/{path}"), size=size, source=making.sources.get(path, "")) for path, size in plain_files(top)}
    made = Bundle(
        folder=top, plan=plan.name, recipe=plan.recipe, os_id=plan.os_id, os_version=plan.os_version,
        architecture=platform.machine().lower(), python=plan.python if any(path.startswith("wheels/") for path in files) else "",
        date=date or time.strftime("%Y-%m-%d", time.gmtime()), files=files, sources=making.repositories,
    )  # fmt: skip
    machine.write(f"{top}/{MANIFEST}", manifest_text(made).encode())
    return open_bundle(top)


def _prepare(making: _Making) -> None:
    """Makes the folders. A folder that exists must be of an earlier attempt or an older bundle, which is replaced."""
    top, machine = making.folder, making.machine
    known = {"wheels", "repos", "keys", "downloads", _WORK, MANIFEST}
    strangers = [name for name in machine.look.listdir(top) if name not in known]
    if strangers:
        raise BundleError(f"{top} holds other things ({strangers[0]})", "choose a new or an empty folder for the bundle")
    machine.make_folder(top)
    machine.remove(f"{top}/{MANIFEST}")
    machine.remove_tree(making.work)
    for name in ("", "/tmp"):
        machine.make_folder(f"{making.work}{name}", mode=0o700)


# Python packages


def _wheels(making: _Making) -> None:
    steps = [step for step in making.plan.steps if step.kind == "pip" and step.settings.get("packages")]
    if not steps:
        return
    machine, wheels = making.machine, f"{making.folder}/wheels"
    machine.make_folder(wheels)
    python = _interpreter(making)
    for step in steps:
        machine.say(f"packages of step {step.number}: {step.title}")
        before = set(machine.look.listdir(wheels))
        _download(making, python, step, before)
        _build(making, python, wheels)
        settings = step.settings
        where = ", ".join([*(str(settings.get(key) or "") for key in ("first_index", "index")), *map(str, settings.get("find_links", ()))])
        for name in set(machine.look.listdir(wheels)) - before:
            making.sources[f"wheels/{name}"] = where.strip(", ")


def _interpreter(making: _Making) -> str:
    """The interpreter of a temporary environment with the Python of the plan."""
    env, machine = f"{making.work}/python", making.machine
    settings: Settings = next((step.settings for step in making.plan.steps if step.kind == "venv"), {})
    path, minor, uv = (str(settings.get(key) or "") for key in ("python", "minor", "uv"))
    there = python_in(making.plan.env, machine.look)
    if uv:
        words = [uv, "venv", "--seed", "--python", path or minor or there, env]
    else:
        words = [path or (there if machine.look.exists(there) else f"python{minor}" if minor else "python3"), "-m", "venv", env]
    machine.run(words, env=_environment(making), advice="the bundle needs the Python of the plan; install it here, or uv")
    return python_in(env, machine.look)


def _download(making: _Making, python: str, step: PlannedStep, there: set[str]) -> None:
    """Downloads the packages of a step, with those of earlier steps as constraints, so that the bundle holds one release of each
    project."""
    settings, machine = step.settings, making.machine
    wheels = f"{making.folder}/wheels"
    if settings.get("first"):
        place = [word for host in settings["first_trusted"] for word in ("--trusted-host", str(host))]
        words = ["--dest", wheels, "--no-deps", "--index-url", str(settings["first_index"]), *place, *map(str, settings["first"])]
        machine.run(_pip(making, python, "download", words), env=_environment(making), advice="look at the network, and at --mirror")
    pins = [line for line in map(_pin, sorted(there)) if line]
    for constraints in [pins, []] if pins else [[]]:
        lines = [*constraints, *map(str, settings.get("constraints", ()))]
        machine.write(f"{making.work}/constraints.txt", "".join(f"{line}\n" for line in lines).encode())
        words = ["--dest", f"{making.folder}/wheels", *_places(settings), *map(str, settings.get("options", ()))]
        words += ["--find-links", wheels] if settings.get("first") else []
        words += ["--constraint", f"{making.work}/constraints.txt", *map(str, settings["packages"])]
        done = machine.run(_pip(making, python, "download", words), env=_environment(making), check=False)
        if done.rc == 0:
            return
        if not (constraints and re.search(r"ResolutionImpossible|conflicting dependencies|constraint", done.output)):
            break
    lines = [line for line in done.output.splitlines() if line.strip()]
    raise ActFailed(
        f"step {step.number}: {lines[-1] if lines else 'pip failed'}"[:300], "look at the network, and at --mirror", done.output[-2000:]
    )


def _build(making: _Making, python: str, wheels: str) -> None:
    """Builds wheels of source archives, since what their build needs can be downloaded on this machine alone."""
    machine = making.machine
    for name in machine.look.listdir(wheels):
        if not name.endswith(".whl"):
            words = ["--no-deps", "--use-pep517", "--wheel-dir", wheels, f"{wheels}/{name}"]
            words += ["--index-url", making.addresses["pypi"].url] if "pypi" in making.addresses else []
            advice = f"{name} has no wheel and could not be built here"
            machine.run(_pip(making, python, "wheel", words), env=_environment(making), advice=advice)
            machine.remove(f"{wheels}/{name}")


def _pip(making: _Making, python: str, verb: str, words: Sequence[str]) -> list[str]:
    look = making.machine.look
    certificate, proxy = look.env("PIP_CERT"), look.env("PIP_PROXY")
    options = ["--no-input", "--disable-pip-version-check", "--no-cache-dir", "--progress-bar", "off"]
    options += ["--cert", certificate] if certificate else []
    options += ["--proxy", proxy] if proxy else []
    return alone([python, "-m", "pip", verb, *options, *words], look)


def _places(settings: Settings) -> Iterator[str]:
    index = str(settings.get("index") or "")
    yield from ("--index-url", index) if index else ("--no-index",)
    for key, word in (("find_links", "--find-links"), ("trusted", "--trusted-host")):
        for value in settings.get(key, ()):
            yield from (word, str(value))


def _pin(name: str) -> str:
    parts = name.split("-")
    return f"{parts[0].replace('_', '-')}=={parts[1]}" if name.endswith(".whl") and len(parts) >= 5 else ""


def _environment(making: _Making) -> dict[str, str]:
    return surroundings(f"{making.work}/tmp", making.machine.look)


# Packages of the distribution


def _packages(making: _Making) -> None:
    steps = [step for step in making.plan.steps if step.kind == "apt.install"]
    repositories = [step for step in making.plan.steps if step.kind == "apt.repository"]
    if not steps:
        return
    machine, folder = making.machine, making.folder
    machine.remove_tree(f"{folder}/repos")
    for name in ("", "/partial"):
        machine.make_folder(f"{making.work}/debs{name}")
    options = _private_apt(making)
    for step in repositories:
        _repository(making, step)
    machine.say("lists of the repositories")
    machine.run(
        ["apt-get", *options, "update", "--error-on=any"],
        env=dict(apt.ENV),
        advice="apt must reach every source of this machine; see apt-get update",
    )
    packages: dict[str, str] = {}
    for step in steps:
        recommends = "--install-recommends" if step.settings.get("recommends") else "--no-install-recommends"
        words = [recommends, *_chosen(making, options, step)]
        machine.say(f"packages of step {step.number}: {step.title}")
        listed = machine.ask(["apt-get", *options, "install", "--print-uris", *words], env=dict(apt.ENV))
        machine.run(
            ["apt-get", *options, "install", "--download-only", *words], env=dict(apt.ENV), advice="gpudoctor setup --plan names the step"
        )
        for uri, name, digest in _URI.findall(listed.output):
            packages[uri] = f"{making.work}/debs/{name}"
            if digest and sha256(packages[uri]) != digest:
                raise ActFailed(f"{name} is not the file that the repository names", "remove the folder and make a new bundle")
    lists = f"{making.work}/apt/lists"
    making.repositories = copy_repositories(machine, options, folder, lists, packages, making.sources.__setitem__)


def _private_apt(making: _Making) -> list[str]:
    """The options of an apt with lists of its own, for which nothing is installed. Nothing of this machine's apt is changed, and root is
    not needed."""
    machine, root = making.machine, f"{making.work}/apt"
    for name in ("", "/lists", "/lists/partial", "/cache", "/sources.list.d", "/keys"):
        machine.make_folder(f"{root}{name}")
    machine.write(f"{root}/status", b"")
    machine.write(f"{root}/sources.list", machine.read("/etc/apt/sources.list") or b"")
    for name in machine.look.listdir("/etc/apt/sources.list.d"):
        if name.endswith((".list", ".sources")) and not name.startswith("gpudoctor-"):
            machine.write(f"{root}/sources.list.d/{name}", machine.read(f"/etc/apt/sources.list.d/{name}") or b"")
    settings = {
        "Dir::State::lists": f"{root}/lists", "Dir::State::status": f"{root}/status", "Dir::State::extended_states": f"{root}/extended",
        "Dir::Cache": f"{root}/cache", "Dir::Cache::archives": f"{making.work}/debs", "Dir::Etc::sourcelist": f"{root}/sources.list",
        "Dir::Etc::sourceparts": f"{root}/sources.list.d", "Debug::NoLocking": "1", "APT::Sandbox::User": "",
        "Acquire::ForceHash": "SHA256", "Acquire::Languages": "none", "Acquire::GzipIndexes": "false", "Dpkg::Use-Pty": "0",
    }  # fmt: skip
    return ["-q", "-y", *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]


def _repository(making: _Making, step: PlannedStep) -> None:
    settings = step.settings
    name, url, key_url, fingerprint = (str(settings.get(key) or "") for key in ("name", "url", "key_url", "fingerprint"))
    if step.state == DONE and not making.machine.look.exists(str(settings.get("sources", ""))):
        return  # a file of this machine's sources names it, and apt accepts no source twice
    machine = making.machine
    key = fetched_key(key_url, fingerprint, machine, for_apt=True)
    machine.make_folder(f"{making.folder}/keys")
    keyring = f"{making.folder}/keys/{name}.gpg"
    machine.write(keyring, key)
    making.sources[f"keys/{name}.gpg"] = key_url
    lines = ["Types: deb", f"URIs: {url}", f"Suites: {settings.get('suite', '')}"]
    lines += [f"Components: {' '.join(settings['components'])}"] if settings.get("components") else []
    lines += [f"Architectures: {' '.join(settings['architectures'])}"] if settings.get("architectures") else []
    machine.write(f"{making.work}/apt/sources.list.d/gpudoctor-{name}.sources", "\n".join([*lines, f"Signed-By: {keyring}", ""]).encode())


def _chosen(making: _Making, options: Sequence[str], step: PlannedStep) -> list[str]:
    """The first alternative of each entry that a repository offers."""
    entries = [apt.parse_wanted(str(entry)) for entry in step.settings.get("packages", ())]
    names = sorted({one.name for alternatives in entries for one in alternatives})
    known = apt.parse_policy(making.machine.ask(["apt-cache", *options[2:], "policy", *names], env=dict(apt.ENV)).output)
    chosen = []
    for alternatives in entries:
        had = [one for one in alternatives if _can_be_had(one, known)]
        # A virtual package has no candidate of its own; apt then names the packages that provide it.
        chosen.append((had or list(alternatives))[0].argument())
    return chosen


def _can_be_had(one: apt.AptAlternative, known: Mapping[str, tuple[str, tuple[str, ...]]]) -> bool:
    candidate, versions = known.get(one.name, ("", ()))
    return any(map(one.matches, versions)) if one.relation == "=" else bool(candidate) and one.matches(candidate)


# Single files


def _downloads(making: _Making) -> None:
    for step in making.plan.steps:
        if step.kind != "download":
            continue
        url, digest = str(step.settings["url"]), str(step.settings["sha256"])
        path = f"downloads/{url.rpartition('/')[2]}"
        making.machine.make_folder(f"{making.folder}/downloads")
        making.machine.say(url)
        making.machine.download(url, f"{making.folder}/{path}", sha256=digest)
        making.sources[path] = url
