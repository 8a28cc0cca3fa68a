"""Command lines of pip and uv. They ignore indexes and targets in the person's configuration, and keep proxies and certificates."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, field

from gpudoctor.rules.conditions import did_you_mean
from gpudoctor.setup.packages.requirements import is_loopback
from gpudoctor.setup.steps._step import Look, PlanError
from gpudoctor.system.host import Host

_UV_KEPT = ("UV_HTTP_TIMEOUT", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "UV_PYTHON_INSTALL_MIRROR", "UV_CONCURRENT_DOWNLOADS")


class PackageSources(Struct, frozen=True):
    """Where packages come from. There is one index, since with two the owner of either could bring any package.

    `trusted`: hosts of mirrors that the person gave with http.
    """

    index: str = ""
    find_links: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()

    def for_pip(self) -> list[str]:
        words = ["--index-url", self.index] if self.index else ["--no-index"]
        words += [word for place in self.find_links for word in ("--find-links", place)]
        return words + [word for host in self.trusted for word in ("--trusted-host", host)]

    def for_uv(self) -> list[str]:
        words = ["--default-index", self.index] if self.index else ["--no-index"]
        words += [word for place in self.find_links for word in ("--find-links", place)]
        return words + [word for host in self.trusted for word in ("--allow-insecure-host", host)]


class _Trust(Struct):
    """Collects the hosts of mirrors with plain http."""

    hosts: list[str] = field(default_factory=list)


def places(given: Mapping[str, Any], look: Look) -> PackageSources:
    """The sources by the keys index and find_links of a step, with mirrors applied. Raises PlanError."""
    bundle = look.options.get("bundle")
    if bundle:
        local = [place for place in given.get("find_links", ()) if str(place).startswith("/")]
        return PackageSources(find_links=(f"{str(bundle).rstrip('/')}/wheels", *local))
    trust = _Trust()
    index = address(str(given.get("index") or "pypi"), look, trust)
    links = tuple(str(name) if str(name).startswith("/") else address(str(name), look, trust) for name in given.get("find_links", ()))
    return PackageSources(index, links, tuple(dict.fromkeys(trust.hosts)))


def address(name: str, look: Look, trust: _Trust | None = None, *, checksum: bool = False) -> str:
    """The URL of 'pytorch/xpu', the folder xpu below the address 'pytorch'. Raises PlanError for an unknown name and for plain http.

    `checksum`: its content has a known checksum, so that a mirror may use plain http. `trust` collects the hosts of such mirrors.
    """
    first, _, below = name.partition("/")
    found = look.addresses.get(first)
    if found is None:
        raise PlanError(f"there is no address '{first}'{did_you_mean(first, look.addresses)}; this is a mistake in the recipe")
    url = found.url.rstrip("/") + (f"/{below}" if below else "")
    parts = urlsplit(url)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        mirrored = first in (look.options.get("insecure") or ())
        if not mirrored or (trust is None and not checksum):
            raise PlanError(f"{first} is {url}, which is not fetched over https; give a mirror that is: --mirror {first}=https://…")
        if trust is not None:
            trust.hosts.append(parts.netloc)
    return url


def of_address(text: str, look: Look) -> str:
    """The text 'address://NAME/path#sha256=…' with the URL of that address, so that mirrors apply to single files too."""
    head, mark, rest = text.partition("address://")
    if not mark:
        return text
    place, sharp, fragment = rest.partition("#")
    return f"{head}{address(place, look, checksum=True)}{sharp}{fragment}"


def pip_install(python: str, words: Sequence[str]) -> list[str]:
    """The command line of pip as a person would type it."""
    return [python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-cache-dir", *words]


def uv_install(uv: str, python: str, words: Sequence[str]) -> list[str]:
    return [uv, "pip", "install", "--python", python, "--no-cache", *words]


def alone(argv: Sequence[str], host: Host, ours: Collection[str] = ()) -> list[str]:
    """The command of pip or uv, made to ignore configuration files and variables that name indexes, targets or options.

    `ours`: the names of variables that gpudoctor sets for it.
    """
    words = list(argv)
    if words[1:3] == ["-m", "pip"]:
        words[3:3] = ["--isolated"]
        certificate, proxy = host.env("PIP_CERT"), host.env("PIP_PROXY")
        words += ["--cert", certificate] if certificate and words[4] == "install" else []
        words += ["--proxy", proxy] if proxy and words[4] == "install" else []
        return words
    names = [name for name in host.env_names("UV_") if name not in _UV_KEPT and name not in ours]
    return [
        *(["env", *(word for name in names for word in ("-u", name))] if names else []),
        words[0],
        "--no-config",
        "--no-progress",
        *words[1:],
    ]


def surroundings(temporary: str, host: Host) -> dict[str, str]:
    """The variables of pip or uv. `temporary`: a folder beside the environment, since /tmp is often too small and stays full after a
    kill."""
    said = {"PIP_CONFIG_FILE": "/dev/null", "TMPDIR": temporary, "PYTHONPATH": "", "PYTHONHOME": "", "PYTHONNOUSERSITE": "1"}
    said["COLUMNS"] = "1000"  # uv wraps its messages, which are parsed, to the width of the terminal
    said["RUSTUP_HOME"] = os.devnull  # pip runs `rustc --version`, and rustup would write its settings where there are none
    certificate = host.env("PIP_CERT") or host.env("REQUESTS_CA_BUNDLE")
    if certificate and not host.env("SSL_CERT_FILE"):
        said["SSL_CERT_FILE"] = certificate
    return said
