"""dnf.repository: a repository of dnf, with its key pinned by fingerprint and every package checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.model.plan import DONE, Command, FileChange
from gpudoctor.setup import openpgp
from gpudoctor.setup.packages.repository_files import fetched_key, key_missing, packed, put_back, repository_address, unpacked
from gpudoctor.setup.steps._step import Draft, Look, PlanError, Settings
from gpudoctor.system.writable_host import ActFailed, WritableHost

_KEYS = "/etc/pki/rpm-gpg"


class _DnfRepository:
    """settings: name, title, url, key_url, fingerprint, file, key, text."""

    name = "dnf.repository"
    keys: Mapping[str, type | tuple[type, ...]] = {"repository": str, "signed_metadata": bool}
    required: tuple[str, ...] = ("repository",)

    def plan(self, given: Settings, look: Look) -> Draft:
        settings = _settled(given, look)
        there = look.host.read(settings["file"])
        if there.ok and there.text == settings["text"] and look.host.exists(settings["key"]):
            return Draft(settings=settings, state=DONE, note=f"{settings['file']} is there already", root=True)
        for name in look.host.listdir("/etc/yum.repos.d"):
            where = f"/etc/yum.repos.d/{name}"
            if where != settings["file"] and _has(look.host.read(where).text, settings["url"]):
                return Draft(settings=settings, state=DONE, note=f"{where} has this repository already", root=True)
        key = FileChange(path=settings["key"], root=True, fetched_from=settings["key_url"], fingerprint=settings["fingerprint"])
        changes = (f"the repository {settings['url']}, trusted with the key {openpgp.spaced(settings['fingerprint'])}",)
        acts = (key, FileChange(path=settings["file"], content=settings["text"], root=True), Command(argv=_makecache(settings), root=True))
        return Draft(settings=settings, changes=changes, acts=acts, root=True)

    def before(self, settings: Settings, machine: WritableHost) -> dict[str, Any]:
        return {
            "file": packed(machine.read(settings["file"], root=True)),
            "key": packed(machine.read(settings["key"], root=True)),
            "folder": machine.look.exists(_KEYS),
        }

    def apply(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        key = openpgp.armored(fetched_key(settings["key_url"], settings["fingerprint"], machine, for_apt=False))
        if not before["folder"]:
            machine.make_folder(_KEYS, root=True)
        machine.write(settings["key"], key, mode=0o644, root=True)
        machine.write(settings["file"], settings["text"].encode(), mode=0o644, root=True)
        done = machine.run(_makecache(settings), root=True, check=False)
        if done.rc != 0:
            self._restore(settings, before, machine)
            raise ActFailed(
                f"dnf cannot read the repository {settings['title']} ({settings['url']})",
                "nothing was changed; when it can be reached: gpudoctor setup --resume", done.output[-4000:],
            )  # fmt: skip

    def recover(self, settings: Settings, before: Settings, machine: WritableHost) -> None:
        """Does nothing: each file is whole or absent, and `apply` writes both again."""

    def after(self, settings: Settings, before: Settings, machine: WritableHost) -> dict[str, Any]:
        return {"key": packed(machine.read(settings["key"], root=True))}

    def missing(self, settings: Settings, machine: WritableHost) -> str:
        if machine.read(settings["file"], root=True) != settings["text"].encode():
            return f"{settings['file']} is not there as it should be"
        return key_missing(settings["key"], settings["fingerprint"], machine)

    def undo(self, settings: Settings, before: Settings, after: Settings | None, machine: WritableHost) -> tuple[str, ...]:
        now = machine.read(settings["file"], root=True)
        if now not in (None, settings["text"].encode(), unpacked(before["file"])):
            return (f"{settings['file']} stays, with its key {settings['key']}: it was changed since (remove both)",)
        self._restore(settings, before, machine)
        return ()

    @staticmethod
    def _restore(settings: Settings, before: Settings, machine: WritableHost) -> None:
        for what in ("file", "key"):
            put_back(settings[what], unpacked(before[what]), machine)
        if not before["folder"]:
            machine.remove_empty_folder(_KEYS, root=True)


def _settled(given: Settings, look: Look) -> dict[str, Any]:
    address, url = repository_address(str(given["repository"]), "dnf", look)
    name = address.name
    if re.search(r"\s", url):
        raise PlanError(f"'{url}' is no place of a repository; this is a mistake in the recipe or in the facts")
    key = f"{_KEYS}/RPM-GPG-KEY-gpudoctor-{name}"
    lines = [
        f"[gpudoctor-{name}]", f"name={address.title or name}", f"baseurl={url}", "enabled=1", "gpgcheck=1",
        f"repo_gpgcheck={int(bool(given.get('signed_metadata', False)))}", f"gpgkey=file://{key}",
    ]  # fmt: skip
    return {
        "name": name, "title": address.title or name, "url": url, "key_url": address.key_url, "key": key,
        "fingerprint": openpgp.normal(address.fingerprint),
        "file": f"/etc/yum.repos.d/gpudoctor-{name}.repo", "text": "\n".join(lines) + "\n",
    }  # fmt: skip


def _makecache(settings: Settings) -> tuple[str, ...]:
    one = f"gpudoctor-{settings['name']}"
    return ("dnf", "-y", "makecache", "--refresh", "--disablerepo=*", f"--enablerepo={one}", f"--setopt={one}.skip_if_unavailable=False")


def _has(text: str, url: str) -> bool:
    found = re.findall(r"^\s*baseurl\s*=\s*(\S+)", text, re.M)
    return any(one.rstrip("/") == url.rstrip("/") for one in found)


KIND = _DnfRepository()
