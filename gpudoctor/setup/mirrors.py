"""Mirrors of package sources: `--mirror NAME=URL`, and [mirrors] of a configuration file.

A mirror must still be signed with the pinned key of the vendor, unless the configuration gives a fingerprint of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from gpudoctor.model.recipe import Address
from gpudoctor.rules.conditions import did_you_mean
from gpudoctor.setup.packages.requirements import is_loopback

_KEYS = ("url", "key_url", "fingerprint")
_WITH_KEY = ("apt", "dnf")
_FINGERPRINT = re.compile(r"[0-9A-F]{40}")


class MirrorError(ValueError):
    """Raised for a mirror that cannot be used, with its name, what is wrong, and what to give instead."""


def given_mirrors(words: tuple[str, ...]) -> dict[str, str]:
    """Name to URL of the values of --mirror; the last one of a name counts. Raises MirrorError for another form."""
    mirrors = {}
    for word in words:
        name, equals, url = word.partition("=")
        if not (name.strip() and equals and url.strip()):
            raise MirrorError(f"--mirror {word}: expected NAME=URL, such as --mirror pypi=https://mirror.example/simple")
        mirrors[name.strip()] = url.strip()
    return mirrors


def apply_mirrors(addresses: Mapping[str, Address], given: Mapping[str, str], config: Mapping[str, Any]) -> Mapping[str, Address]:
    """All addresses, those with a mirror replaced.

    `given` (the command line) overrides `config`, the table [mirrors]: NAME = "url", or
    [mirrors.NAME] with url, key_url and fingerprint. Raises MirrorError.
    """
    wanted: dict[str, tuple[Mapping[str, Any], str]] = {}
    for name, entry in config.items():
        wanted[name] = (_table(name, entry), f"[mirrors] {name}")
    for name, url in given.items():
        wanted[name] = ({"url": url}, f"--mirror {name}")
    replaced = {name: _mirrored(_known(addresses, name, where), table, where) for name, (table, where) in wanted.items()}
    return {**addresses, **replaced}


def mirror_notes(before: Mapping[str, Address], after: Mapping[str, Address]) -> tuple[str, ...]:
    """The lines that a person sees above a plan: each replaced address, and each replaced signing key."""
    return tuple(_notes(before, after))


def unauthenticated(before: Mapping[str, Address], after: Mapping[str, Address]) -> tuple[str, ...]:
    """Sentences about mirrors with plain http whose content no signature protects, so that a person must agree: anybody on the network
    path could decide what is installed."""
    return tuple(
        f"{name} comes from {now.url} over http, unauthenticated: anybody on the network path can put something else in its place"
        for name, now in sorted(after.items())
        if now != before.get(name) and now.kind not in _WITH_KEY and now.url.startswith("http://")
        and not is_loopback(urlsplit(now.url).hostname or "")
    )  # fmt: skip


def _notes(before: Mapping[str, Address], after: Mapping[str, Address]) -> Iterator[str]:
    for name, now in sorted(after.items()):
        was = before.get(name)
        if was is None or was == now:
            continue
        yield f"{name} comes from {now.url} instead of {was.url}"
        if now.fingerprint != was.fingerprint:
            yield f"{name} must be signed by {now.fingerprint}, as your configuration says, not by {was.fingerprint or 'a vendor'}"


def _table(name: str, entry: Any) -> Mapping[str, Any]:
    if isinstance(entry, str):
        return {"url": entry}
    if not isinstance(entry, Mapping):
        raise MirrorError(f"[mirrors] {name}: expected an address in quotes, or a table with {', '.join(_KEYS)}")
    for key, value in entry.items():
        if key not in _KEYS:
            raise MirrorError(f"[mirrors.{name}]: unknown key '{key}'{did_you_mean(str(key), _KEYS)}; it takes {', '.join(_KEYS)}")
        if not isinstance(value, str):
            raise MirrorError(f"[mirrors.{name}] {key}: expected a text in quotes")
    if "url" not in entry:
        raise MirrorError(f"[mirrors.{name}]: url is missing; it says where the mirror is")
    return entry


def _known(addresses: Mapping[str, Address], name: str, where: str) -> Address:
    if name not in addresses:
        names = sorted(addresses)
        raise MirrorError(f"{where}: there is no address '{name}'{did_you_mean(name, names)}; there are {', '.join(names)}")
    return addresses[name]


def _mirrored(address: Address, table: Mapping[str, Any], where: str) -> Address:
    url = _checked(table["url"], where)
    if address.kind not in _WITH_KEY:
        surplus = [key for key in ("key_url", "fingerprint") if key in table]
        if surplus:
            raise MirrorError(f"{where}: {surplus[0]} is for package repositories, and this is a {address.kind}; leave it out")
        return replace(address, url=url)
    fingerprint = re.sub(r"\s", "", table.get("fingerprint", "")).upper()
    if "fingerprint" in table and not _FINGERPRINT.fullmatch(fingerprint):
        raise MirrorError(f"{where} fingerprint: expected the 40 hexadecimal digits of the primary key (gpg --show-keys)")
    key_url = _checked(table["key_url"], f"{where} key_url") if "key_url" in table else _key_below(address, url)
    return replace(address, url=url, key_url=key_url, fingerprint=fingerprint or address.fingerprint)


def _key_below(address: Address, url: str) -> str:
    """The address of the key: on the mirror where the repository keeps it below its own address, else where it was."""
    below = address.url.rstrip("/") + "/"
    return f"{url}/{address.key_url[len(below) :]}" if address.key_url.startswith(below) else address.key_url


def _checked(url: str, where: str) -> str:
    """The address without a slash at its end. Raises MirrorError for what is no plain address. http is allowed for a mirror: its content is
    signed, or has a known checksum, or the person is asked (`unauthenticated`)."""
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise MirrorError(
            f"{where}: a name and password in an address would stand in plans and logs; "
            "put them into ~/.netrc (pip) and /etc/apt/auth.conf.d (apt)"
        )
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https") or not url.isprintable() or " " in url or '"' in url or "\\" in url:
        raise MirrorError(f"{where}: '{url}' is no address; expected http://… or https://…")
    if parts.query or parts.fragment:
        raise MirrorError(f"{where}: '{url}' holds ? or #; give the folder that takes the place of the original one")
    return url.rstrip("/")
