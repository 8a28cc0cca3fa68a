"""Queries of apt and dpkg on the machine that is changed, and the repair of what an interrupted one left."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence

from gpudoctor.setup.packages import apt
from gpudoctor.system.writable_host import ActFailed, Done, WritableHost

_FRESH = 86400.0
"""The age in seconds up to which lists of packages are used as they are."""
_LISTS = "/var/lib/apt/lists"
_NETWORK = re.compile(r"Failed to fetch|Unable to fetch|Could not (?:connect|resolve)|Temporary failure|Connection (?:failed|timed out)")
_MOST = 200
"""The number of names on one command line of a query."""


def listing(machine: WritableHost) -> dict[str, apt.Package]:
    return apt.parse_listing(answer(machine, apt.LISTING), native(machine))


def native(machine: WritableHost) -> str:
    return answer(machine, ("dpkg", "--print-architecture")).strip()


def marked(machine: WritableHost, which: str) -> set[str]:
    """The packages with a mark. `which`: showauto, showmanual or showhold."""
    return set(answer(machine, ("apt-mark", which)).split())


def answer(machine: WritableHost, argv: Sequence[str]) -> str:
    done = machine.ask(argv)
    if done.rc != 0:
        raise ActFailed(f"{argv[0]} ended with status {done.rc}", f"run {' '.join(argv[:2])} to see why")
    return done.output


def simulate(machine: WritableHost, *words: str) -> apt.Simulation:
    """What `apt-get WORDS` would do. Raises ActFailed with apt's reason."""
    done = machine.ask((*apt.SIMULATE, *words), env=apt.ENV)
    if done.rc != 0:
        done = machine.run(
            (*apt.SIMULATE, *words), env=apt.ENV, check=False
        )  # apt writes the reason to standard error, which `ask` leaves out
        raise ActFailed(
            f"apt-get {_verb(words)} cannot be done here{_reason(done.output)}", "apt-get -s with these packages says why", done.output
        )
    return apt.parse_simulation(done.output)


def policy(machine: WritableHost, names: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Name to (candidate or '', versions), without names that apt does not know."""
    wanted = sorted(set(names))
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for at in range(0, len(wanted), _MOST):
        found |= apt.parse_policy(answer(machine, ("apt-cache", "policy", *wanted[at : at + _MOST])))
    return found


def refresh(machine: WritableHost) -> None:
    """Fetches all lists again. A broken repository of the person does not stop it: a package that is missing is noticed when it is
    installed."""
    machine.say("apt-get update")
    machine.run((*apt.GET, "update"), root=True, env=apt.ENV, check=False)


def refresh_if_old(machine: WritableHost) -> bool:
    """Fetches the lists again where one is missing or they are older than _FRESH; returns whether it did."""
    if machine.offline or not (_missing_list(machine) or _age(machine) > _FRESH):
        return False
    refresh(machine)
    return True


def _missing_list(machine: WritableHost) -> bool:
    done = machine.ask(("apt-get", "indextargets", "--format", "$(FILENAME)", "Created-By: Packages"))
    there = set(machine.look.listdir(_LISTS))
    names = [line.rpartition("/")[2] for line in done.output.split("\n") if line.strip()]
    # apt may keep lists compressed
    return done.rc != 0 or not names or any(not there & {name, f"{name}.lz4", f"{name}.gz", f"{name}.xz", f"{name}.zst"} for name in names)


def _age(machine: WritableHost) -> float:
    """The seconds since the last update: apt touches this folder each time, even where nothing was new."""
    done = machine.ask(("stat", "-c", "%Y", f"{_LISTS}/partial"))
    text = done.output.strip()
    return time.time() - int(text) if done.rc == 0 and text.isdigit() else float("inf")


def get(machine: WritableHost, *words: str, advice: str = "") -> Done:
    """Runs `apt-get WORDS` as root, to its end. Raises ActFailed, which names the network where that failed."""
    done = machine.run((*apt.GET, *words), root=True, env=apt.ENV, finish=True, check=False)
    if done.rc != 0:
        if failed_to_fetch(done):
            raise ActFailed(
                f"a package could not be fetched{_reason(done.output)}",
                "nothing is half done; when the network is back: gpudoctor setup --resume",
                done.output[-4000:],
            )
        raise ActFailed(f"apt-get {_verb(words)} ended with status {done.rc}{_reason(done.output)}", advice, done.output[-4000:])
    return done


def failed_to_fetch(done: Done) -> bool:
    return done.rc != 0 and _NETWORK.search(done.output) is not None


def _verb(words: Sequence[str]) -> str:
    return next((word for word in words if not word.startswith("-") and "=" not in word), "")


def _reason(output: str) -> str:
    """apt's reason, the first line that begins with E:, after a colon; '' without one."""
    found = re.search(r"^E: (.+)$", output, re.M)
    return f": {found[1][:300]}" if found else ""


def set_marks(machine: WritableHost, names: Iterable[str], *, auto: bool) -> None:
    """Marks the packages as automatically or manually installed where they are marked otherwise."""
    wrong = sorted(set(names) & marked(machine, "showmanual" if auto else "showauto"))
    if wrong:
        machine.run(("apt-mark", "auto" if auto else "manual", *wrong), root=True)


def set_holds(machine: WritableHost, names: Iterable[str], *, hold: bool) -> None:
    held = marked(machine, "showhold")
    wrong = sorted(set(names) - held if hold else set(names) & held)
    if wrong:
        machine.run(("apt-mark", "hold" if hold else "unhold", *wrong), root=True)


def repair(machine: WritableHost) -> None:
    """Configures the packages that a killed dpkg left unpacked. Those that it left half unpacked must be installed again."""
    if any(package.present and not package.sound for package in listing(machine).values()) or machine.look.listdir("/var/lib/dpkg/updates"):
        machine.run(("dpkg", "--configure", "-a", "--force-confold"), root=True, env=apt.ENV, finish=True, check=False)


def broken(machine: WritableHost) -> list[str]:
    """The packages of which only a part of the files may lie on the disk, sorted."""
    return sorted(
        name
        for name, package in listing(machine).items()
        if package.present and (package.status == "half-installed" or package.error != "ok")
    )
