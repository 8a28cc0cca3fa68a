"""apt.repository: a signed repository of apt, with its key pinned by fingerprint and trusted for this source alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.model.plan import DONE, TODO, Command, FileChange
from gpudoctor.setup import openpgp
from gpudoctor.setup.packages import apt, apt_sources
from gpudoctor.setup.packages.repository_files import fetched_key, key_missing, packed, put_back, repository_address, unpacked
from gpudoctor.setup.steps._step import Draft, Look, PlanError, Settings
from gpudoctor.system.host import Host
from gpudoctor.system.writable_host import ActFailed, WritableHost

_LISTS = "/var/lib/apt/lists"
_KEYRINGS = "/usr/share/keyrings"
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._~\-]*")
_SUITE = re.compile(r"/|(\./)|[A-Za-z0-9][A-Za-z0-9+._~/\-]*")


class _AptRepository:
    """settings: name, title, url, suite, components, architectures, key_url, fingerprint, sources, keyring, text."""

    name = "apt.repository"
    keys: Mapping[str, type | tuple[type, ...]] = {"repository": str, "suite": str, "components": list, "architectures": list}
    required: tuple[str, ...] = ("repository", "suite")

    def plan(self, given: Settings, look: Look) -> Draft:
        settings = _settled(given, look)
        if look.options.get("bundle"):
            return Draft(settings=settings, state=DONE, note="not needed: the packages come from the offline bundle", root=True)
        for source in _sources_of(look.host):
            if source.where == settings["sources"] or not _same(source, settings):
                continue
            lacking = sorted(set(settings["components"]) - set(source.components))
            if lacking:
                raise PlanError(
                    f"{source.where} has this repository without {', '.join(lacking)}; add that there, since apt takes no source twice"
                )
            return Draft(settings=settings, state=DONE, note=f"{source.where} has this repository already", root=True)
        there = look.host.read(settings["sources"])
        complete = there.ok and there.text == settings["text"] and look.host.exists(settings["keyring"])
        if complete and apt_sources.own_lists(look.host.listdir(_LISTS), settings["url"], settings["suite"]):
            return Draft(settings=settings, state=DONE, note=f"{settings['sources']} is there already", root=True)
        key = FileChange(
            path=settings["keyring"], root=True, fetched_from=settings["key_url"], fingerprint=settings["fingerprint"]
        )  # fmt: skip
        changes = (f"the repository {settings['url']}, trusted with the key {openpgp.spaced(settings['fingerprint'])} alone",)
        source_file = FileChange(path=settings["sources"], content=settings["text"], root=True)
        acts = (key, source_file, Command(argv=_update(settings), root=True))
        return Draft(settings=settings, state=TODO, changes=changes, acts=acts, root=True)

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        clash = [one.where for one in _sources_of(machine.look) if one.where != settings["sources"] and _same(one, settings)]
        if clash:
            raise ActFailed(f"{clash[0]} has this repository by now, and apt takes no source twice", "gpudoctor setup again plans with it")
        return {
            "sources": packed(machine.read(settings["sources"], root=True)),
            "keyring": packed(machine.read(settings["keyring"], root=True)),
            "folder": machine.look.exists(_KEYRINGS),
            "lists": _own_lists(settings, machine),
        }

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        key = fetched_key(settings["key_url"], settings["fingerprint"], machine, for_apt=True)
        if not before["folder"]:
            machine.make_folder(_KEYRINGS, root=True)
        machine.write(settings["keyring"], key, mode=0o644, root=True)
        machine.write(settings["sources"], settings["text"].encode(), mode=0o644, root=True)
        machine.say(f"apt-get update of {settings['url']}")
        done = machine.run((*_update(settings), "-o", "DPkg::Lock::Timeout=600"), root=True, env=apt.ENV, check=False)
        if done.rc != 0 or not _has_release(settings, machine):
            self._restore(settings, before, machine)
            raise apt_sources.refusal(done.output, settings["title"], settings["url"], settings["suite"])

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Does nothing: each file is whole or absent, and `apply` writes both again."""

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return {"keyring": packed(machine.read(settings["keyring"], root=True))}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        if machine.read(settings["sources"], root=True) != settings["text"].encode():
            return f"{settings['sources']} is not there as it should be"
        missing = key_missing(settings["keyring"], settings["fingerprint"], machine)
        if missing:
            return missing
        return "" if _has_release(settings, machine) else f"apt has no lists of {settings['url']}"

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        source, keyring = settings["sources"], settings["keyring"]
        now = machine.read(source, root=True)
        if now not in (None, settings["text"].encode(), unpacked(before["sources"])):
            return (f"{source} stays, with its key {keyring}: it was changed since (remove both, then apt-get update)",)
        lines = self._kept_keyring(settings, before, after, machine)
        self._restore(settings, before, machine, keep_keyring=bool(lines))
        return lines

    @staticmethod
    def _kept_keyring(settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        path = settings["keyring"]
        for name in machine.look.listdir("/etc/apt/sources.list.d"):
            where = f"/etc/apt/sources.list.d/{name}"
            if where != settings["sources"] and path in machine.look.read(where).text:
                return (f"{path} stays: {where} uses it",)
        now = machine.read(path, root=True)
        if now is None or after is None or packed(now) in (after["keyring"], before["keyring"]):
            return ()
        return (f"{path} stays: it was changed since (rm {path} removes it)",)

    @staticmethod
    def _restore(settings: Settings, before: Settings, machine: WritableHost, *, keep_keyring: bool = False) -> None:
        """Restores the source before its key, so that it never exists without the key."""
        names = [("sources", settings["sources"])] + ([] if keep_keyring else [("keyring", settings["keyring"])])
        for what, path in names:
            put_back(path, unpacked(before[what]), machine)
        for path in sorted(set(_own_lists(settings, machine)) - set(before["lists"])):
            machine.remove(f"{_LISTS}/{path}", root=True)
        if not before["folder"]:
            machine.remove_empty_folder(_KEYRINGS, root=True)


def _settled(given: Settings, look: Look) -> dict[str, Any]:
    address, url = repository_address(str(given["repository"]), "apt", look)
    name = address.name
    components = [str(one) for one in given.get("components", ())]
    architectures = [str(one) for one in given.get("architectures", ())]
    suite = str(given["suite"])
    if not _SUITE.fullmatch(suite) or ".." in suite or re.search(r"\s", url):
        raise PlanError(f"'{url} {suite}' is no place of a repository; this is a mistake in the recipe or in the facts")
    if bool(components) == suite.endswith("/") or not all(map(_WORD.fullmatch, (*components, *architectures))):
        raise PlanError("a suite needs components, and a flat one (it ends with /) has none; this is a mistake in the recipe")
    sources, keyring = f"/etc/apt/sources.list.d/gpudoctor-{name}.sources", f"{_KEYRINGS}/gpudoctor-{name}.gpg"
    return {
        "name": name, "title": address.title or name, "url": url, "suite": suite, "components": components, "architectures": architectures,
        "key_url": address.key_url, "fingerprint": openpgp.normal(address.fingerprint), "sources": sources, "keyring": keyring,
        "text": apt_sources.source_text(url, suite, components, architectures, keyring),
    }  # fmt: skip


def _sources_of(host: Host) -> list[apt_sources.AptSource]:
    folder = "/etc/apt/sources.list.d"
    paths = ["/etc/apt/sources.list", *(f"{folder}/{name}" for name in host.listdir(folder) if name.endswith((".list", ".sources")))]
    return [source for path in paths for source in apt_sources.parse_sources(path, host.read(path).text)]


def _same(source: apt_sources.AptSource, settings: Settings) -> bool:
    return apt_sources.same_place(source.url, settings["url"]) and source.suite == settings["suite"]


def _update(settings: Settings) -> tuple[str, ...]:
    """The update of this source alone; the lists of the others stay."""
    return (
        "apt-get", "update", "-o", f"Dir::Etc::sourcelist={settings['sources']}", "-o", "Dir::Etc::sourceparts=-",
        "-o", "APT::Get::List-Cleanup=0", "-o", "APT::Update::Error-Mode=any",
    )  # fmt: skip


def _own_lists(settings: Settings, machine: WritableHost) -> list[str]:
    """The lists of this source, relative to /var/lib/apt/lists, with those that an interrupted update left in partial/."""
    found = apt_sources.own_lists(machine.look.listdir(_LISTS), settings["url"], settings["suite"])
    partial = apt_sources.own_lists(machine.look.listdir(f"{_LISTS}/partial"), settings["url"], settings["suite"])
    return found + [f"partial/{name}" for name in partial]


def _has_release(settings: Settings, machine: WritableHost) -> bool:
    return any(name.endswith("Release") and "/" not in name for name in _own_lists(settings, machine))


KIND = _AptRepository()
