"""What the repositories of all package managers share: their address, their pinned key, and their files' former content in the journal."""

from __future__ import annotations

import base64

from gpudoctor.model.recipe import Address
from gpudoctor.setup import openpgp
from gpudoctor.setup.steps._step import Look, PlanError
from gpudoctor.system.gpg import KeyRefused, checked_key, key_for_apt
from gpudoctor.system.writable_host import ActFailed, WritableHost

LARGEST_KEY = 1_000_000
"""The most bytes of a key that are read."""


def repository_address(repository: str, kind: str, look: Look) -> tuple[Address, str]:
    """(address, whole URL) of 'name' or 'name/folder/below'. Raises PlanError for an unknown one and for one without a pinned key."""
    name, _, below = repository.partition("/")
    address = look.addresses.get(name)
    if address is None or address.kind != kind:
        raise PlanError(f"'{name}' is no {kind} repository in recipes/addresses.toml; this is a mistake in the recipe")
    if not (address.key_url and address.fingerprint):
        raise PlanError(f"the repository {name} has no key_url and fingerprint; an unsigned repository is never used")
    return address, "/".join(filter(None, (address.url.rstrip("/"), below)))


def fetched_key(url: str, fingerprint: str, machine: WritableHost, *, for_apt: bool) -> bytes:
    """The packets of the pinned key alone, checked by GnuPG; `for_apt`: by apt's own program where gpg is not installed. Raises
    ActFailed."""
    data = machine.fetch(url, limit=LARGEST_KEY)
    check = key_for_apt if for_apt else checked_key
    try:
        return check(openpgp.pinned_key(data, fingerprint), openpgp.normal(fingerprint))
    except KeyRefused as refused:
        raise ActFailed(f"the key at {url} is refused: {refused}", refused.advice) from None
    except openpgp.WrongKey as wrong:
        raise ActFailed(
            f"{url} is another key than the pinned one: {wrong}",
            "do not go on by hand: ask the vendor whether the key was changed, and look for a newer gpudoctor",
        ) from None
    except openpgp.KeyUnreadable as unreadable:
        raise ActFailed(f"{url} is no usable key: {unreadable}", "check the address, a proxy may answer for it") from None


def key_missing(path: str, fingerprint: str, machine: WritableHost) -> str:
    """'' where the file holds the pinned key alone, else a sentence about what is wrong."""
    try:
        found = openpgp.primary_fingerprints(machine.read(path, root=True) or b"")
    except openpgp.KeyUnreadable:
        found = ()
    if openpgp.normal(fingerprint) not in found:
        return f"{path} does not hold the key {openpgp.spaced(fingerprint)}"
    return "" if len(found) == 1 else f"{path} holds other keys beside {openpgp.spaced(fingerprint)}"


def packed(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode("ascii")


def unpacked(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def put_back(path: str, old: bytes | None, machine: WritableHost) -> None:
    """Restores the former content of a file, or removes it where there was none."""
    if old is None:
        machine.remove(path, root=True)
    elif machine.read(path, root=True) != old:
        machine.write(path, old, mode=0o644, root=True)
