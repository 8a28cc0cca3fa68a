"""The packages of the distribution in an offline bundle: parts of their repositories, each with the index that it has signed.

apt reads them through sources of their own and checks each signature, index and package as it does over a network. The bundle does not
decide what is trusted: the repository of a vendor must be signed by the key in recipes/addresses.toml, any other by the keys of this
system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

from gpudoctor.setup import openpgp
from gpudoctor.setup.offline.bundle import BundleError, read_manifest
from gpudoctor.setup.packages import apt, apt_sources
from gpudoctor.setup.steps._step import Look, PlanError, Settings
from gpudoctor.system.gpg import KeyRefused, key_for_apt
from gpudoctor.system.writable_host import ActFailed, Done, WritableHost

FOLDER = "/var/lib/gpudoctor/apt-bundle"
"""The folder with lists, keys and sources while a step runs; it is removed afterwards. Like all of apt's files it belongs to root."""
SOURCES = f"{FOLDER}/bundle.sources"


def options(folder: str = FOLDER) -> tuple[str, ...]:
    """The options with which apt sees the bundle alone and refuses what is not signed, whatever its configuration allows."""
    settings = (
        f"Dir::Etc::sourcelist={folder}/bundle.sources", "Dir::Etc::sourceparts=-", f"Dir::State::lists={folder}/lists",
        f"Dir::Cache={folder}/cache", "APT::Sandbox::User=root", "Acquire::Languages=none", "APT::Get::AllowUnauthenticated=false",
        "Acquire::AllowInsecureRepositories=false", "Acquire::AllowWeakRepositories=false",
        "Acquire::AllowDowngradeToInsecureRepositories=false",
    )  # fmt: skip
    return tuple(word for setting in settings for word in ("-o", setting))


_SYSTEM_KEYS = (
    "/usr/share/keyrings/debian-archive-keyring.gpg", "/usr/share/keyrings/debian-archive-keyring.pgp",
    "/usr/share/keyrings/ubuntu-archive-keyring.gpg",
)  # fmt: skip


def sources(look: Look) -> list[dict[str, Any]]:
    """The repositories in the bundle of the plan, each with the key that must have signed it; [] without a bundle. Raises PlanError."""
    folder = str(look.options.get("bundle") or "")
    if not folder:
        return []
    try:
        bundle = read_manifest(folder)
    except BundleError as error:
        raise PlanError(f"{error}; {error.advice}") from error
    found = []
    for source in bundle.sources:
        address = look.addresses.get(source.name) if source.name else None
        if source.name and (address is None or address.kind != "apt" or not address.fingerprint):
            raise PlanError(f"the bundle holds a repository '{source.name}', which has no pinned key here; make a new bundle")
        keyring = "" if source.name else next((path for path in _SYSTEM_KEYS if look.host.exists(path)), "")
        found.append({
            "path": f"{folder.rstrip('/')}/{source.path}", "name": source.name,
            "suite": source.suite, "components": list(source.components),
            "keyring": keyring, "key": f"{folder.rstrip('/')}/keys/{source.name}.gpg" if source.name else "",
            "fingerprint": openpgp.normal(address.fingerprint) if address else "",
        })  # fmt: skip
    if not found:
        raise PlanError(f"{folder} holds no packages of the distribution; make a new bundle with gpudoctor setup NAME --make-bundle DIR")
    return found


def text(given: Sequence[Mapping[str, Any]]) -> str:
    """The text of the .sources file (sources.list(5)). The date until which an index is valid is not checked, since a bundle may be
    older."""
    stanzas = []
    for one in given:
        lines = ["Types: deb", f"URIs: copy:{quote(one['path'])}/", f"Suites: {one['suite']}"]
        lines += [f"Components: {' '.join(one['components'])}"] if one["components"] else []
        keyring = f"{FOLDER}/keys/{one['name']}.gpg" if one["name"] else one["keyring"]
        lines += [f"Signed-By: {keyring}"] if keyring else []
        stanzas.append("\n".join([*lines, "Check-Valid-Until: no", "Targets: Packages", ""]))
    return "\n".join(stanzas)


def opened(machine: WritableHost, settings: Settings) -> WritableHost:
    """The machine with an apt that sees nothing but the bundle, all of which is verified. Raises ActFailed where it is refused."""
    closed(machine)
    machine.make_folder("/var/lib/gpudoctor", mode=0o700, root=True)
    for name in ("", "/keys", "/lists", "/lists/partial", "/cache", "/cache/archives", "/cache/archives/partial"):
        machine.make_folder(f"{FOLDER}{name}", root=True)
    for source in settings["sources"]:
        if source["name"]:
            machine.write(f"{FOLDER}/keys/{source['name']}.gpg", _key(source, machine), root=True)
    machine.write(f"{FOLDER}/bundle.sources", text(settings["sources"]).encode(), root=True)
    inside = cast(WritableHost, _Inside(machine))
    done = inside.run((*apt.GET, "update", "-o", "APT::Update::Error-Mode=any"), root=True, env=apt.ENV, check=False)
    if done.rc != 0:
        closed(machine)
        refusal = apt_sources.refusal(done.output, "of the bundle", str(settings["bundle"]), "")
        advice = "do not use it; make a new one, and bring it here by a way that you trust"
        raise ActFailed(f"the bundle is refused: {refusal}", advice, refusal.tail)
    return inside


def closed(machine: WritableHost) -> None:
    machine.run(("rm", "-rf", FOLDER), root=True)


def _key(source: Mapping[str, Any], machine: WritableHost) -> bytes:
    try:
        return key_for_apt(openpgp.pinned_key(machine.read(source["key"]) or b"", source["fingerprint"]), source["fingerprint"])
    except (openpgp.WrongKey, openpgp.KeyUnreadable) as error:
        raise ActFailed(f"{source['key']} is refused: {error}", "do not use this bundle; make a new one") from None
    except KeyRefused as refused:
        raise ActFailed(f"{source['key']} is refused: {refused}", refused.advice) from None


class _Inside:
    """A writable host on which each command of apt gets the options of the bundle."""

    def __init__(self, machine: WritableHost) -> None:
        self._machine = machine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def run(self, argv: Sequence[str], **more: Any) -> Done:
        return self._machine.run(_with_options(argv), **more)

    def ask(self, argv: Sequence[str], **more: Any) -> Done:
        return self._machine.ask(_with_options(argv), **more)


def _with_options(argv: Sequence[str]) -> tuple[str, ...]:
    return (argv[0], *options(FOLDER), *argv[1:]) if argv[0] in ("apt-get", "apt-cache") else tuple(argv)
