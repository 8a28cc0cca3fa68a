"""The requirements of a pip step: names with specifiers and extras, addresses with a checksum, files; and whether they are installed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct
from packaging.markers import InvalidMarker, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from gpudoctor.setup.steps._step import PlanError

BUILD = re.compile(r"^(xpu|cpu|cu\d{2,3}|rocm\d[\d.]*)$")
"""The last folder of an index with one build of each release, which is the local version of its wheels."""
BUILT = ("torch", "torchvision", "torchaudio")
"""Projects whose wheels on such an index carry the build in their version."""
_PATH = re.compile(r"/|[A-Za-z]:/")
"""The beginning of an absolute path with slashes, also on Windows."""
_SHA256 = re.compile(r"sha256=([0-9a-f]{64})")


class PipRequirement(Struct, frozen=True):
    """A requirement. `text`: the words for the installer; `name`: normalised, '' for a file whose name does not show it."""

    text: str
    name: str
    specifier: SpecifierSet
    marker: str = ""
    url: str = ""
    file: str = ""

    def applies(self, minor: str) -> bool:
        """Whether its marker holds for this Python ('3.11'); other parts of a marker are evaluated for Linux."""
        if not self.marker:
            return True
        environment = {"python_version": minor, "python_full_version": f"{minor}.0", "sys_platform": "linux", "platform_system": "Linux"}
        try:
            return Requirement(f"x; {self.marker}").marker.evaluate(environment)  # type: ignore[union-attr]
        except (InvalidMarker, UndefinedEnvironmentName):
            return True


def parse(text: str, hashes: Mapping[str, str], plain: bool = False) -> PipRequirement:
    """The requirement in a text. `hashes`: file name, or the requirement as written, to its SHA-256. `plain`: http is allowed. Raises
    PlanError."""
    text = text.strip()
    if _PATH.match(text):
        return _file(text, hashes)
    if "://" in text.split("@")[0]:
        return _address(text, "", hashes, text, plain)
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise PlanError(f"'{text}' is no requirement ({str(error).splitlines()[0]}); this is a mistake in the recipe") from error
    if requirement.url:
        return _address(requirement.url, canonicalize_name(requirement.name), hashes, text, plain)
    if text in hashes:
        raise PlanError(f"'{text}': a checksum can be given for files and addresses; name the wheel itself, with its address")
    marker = str(requirement.marker) if requirement.marker else ""
    return PipRequirement(text, canonicalize_name(requirement.name), requirement.specifier, marker)


def _named(filename: str) -> tuple[str, SpecifierSet]:
    """(name, specifier of the exact version) by the file name of a wheel or source archive; ('', empty specifier) for another name."""
    try:
        name, version = parse_wheel_filename(filename)[:2] if filename.endswith(".whl") else parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return "", SpecifierSet()
    return name, SpecifierSet(f"==={version}")


def _file(text: str, hashes: Mapping[str, str]) -> PipRequirement:
    path, bracket, extras = text.partition("[")
    filename = posixpath.basename(path)
    name, specifier = _named(filename)
    digest = hashes.get(filename) or hashes.get(text)
    given = f"file://{'' if path.startswith('/') else '/'}{quote(path, safe='/:')}#sha256={digest}" if digest else text
    if digest and name:
        given = f"{name}{bracket}{extras} @ {given}"  # uv accepts a file with a checksum only with the name of its project
    return PipRequirement(given, name, specifier, file=path)


def _address(url: str, name: str, hashes: Mapping[str, str], text: str, plain: bool) -> PipRequirement:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise PlanError(f"'{text}': {url} is no address ({error}); this is a mistake in the recipe") from error
    filename = posixpath.basename(unquote(parts.path))
    found = _SHA256.search(parts.fragment)
    digest = found[1] if found else hashes.get(filename) or hashes.get(text) or ""
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise PlanError(f"{url} has no SHA-256; add #sha256=… to it, nothing is fetched from an address without one")
    if parts.scheme != "https" and not (parts.scheme == "http" and (plain or is_loopback(parts.hostname or ""))):
        raise PlanError(f"{url} is not fetched over https; use an address that is")
    named, specifier = _named(filename)
    bare = url.partition("#")[0]
    given = f"{bare}#sha256={digest}"
    return PipRequirement(f"{name} @ {given}" if name else given, name or named, specifier, url=bare)


def is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def build_of(index: str) -> str:
    """The build that an index holds, 'xpu' for 'pytorch/xpu'; '' for an index of several builds."""
    last = index.rstrip("/").rpartition("/")[2]
    return last if BUILD.match(last) else ""


def lack(wanted: PipRequirement, distributions: Mapping[str, Any], build: str = "") -> str:
    """'' where the requirement is satisfied, else a clause: 'torch is not installed', 'torch is 2.7.0, not ==2.8.0'.

    `build`: the build that the index holds; a torch of another one does not satisfy it, even with a fitting version.
    """
    there = distributions.get(wanted.name)
    if not wanted.name or there is None:
        return f"{wanted.name or wanted.text} is not installed"
    if isinstance(there, list):
        return f"{wanted.name} is installed twice ({', '.join(map(str, there))})"
    try:
        version = Version(str(there))
    except InvalidVersion:
        return f"{wanted.name} is of the version '{there}'"
    if not wanted.specifier.contains(version, prereleases=True):
        return f"{wanted.name} is {there}, not {wanted.specifier}".replace("===", "")
    if other_build(wanted.name, str(there), build):
        return f"{wanted.name} {there} is not the build for {build}"
    return ""


def other_build(name: str, version: str, build: str) -> bool:
    """Whether this is torch, or one of its partners, of another build than the index holds."""
    return bool(build) and name in BUILT and version.partition("+")[2] != build
