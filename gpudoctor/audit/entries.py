"""One requirement, in the forms that all formats share: PEP 508 text, a wheel's name, an address."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, canonicalize_name, parse_sdist_filename, parse_wheel_filename

from gpudoctor.model.audit import AskedPackage, FormatError

MOST = 10_000
"""The largest number of packages of one file; a reader stops there, and the file is refused."""
LONGEST = 2000
"""The largest number of characters of one requirement."""
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?")
_CARET = re.compile(r"[\^~]\s*(\d+(?:\.\d+){0,5})$")


def requirement(text: str, file: str, line: int | None, **more: Any) -> AskedPackage:
    """Reads a requirement as PEP 508 defines it. Raises FormatError."""
    where = f"{file}:{line}" if line else file
    if len(text) > LONGEST:
        raise FormatError(f"{where}: a requirement of {len(text)} characters; at most {LONGEST} are read")
    try:
        parsed = Requirement(text)
    except (InvalidRequirement, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else "nested too deeply"
        raise FormatError(f"{where}: '{text[:80]}' is no requirement ({reason}); expected: name[extras] version ; marker") from None
    specifier = str(parsed.specifier)
    if parsed.url:
        specifier = of_address(parsed.url)[1] or specifier
    return AskedPackage(
        name=canonicalize_name(parsed.name), file=file, line=line, text=without_secret(text), specifier=specifier,
        marker=str(parsed.marker) if parsed.marker else "", **{"index": without_secret(parsed.url or ""), **more},
    )  # fmt: skip


def named(name: str, specifier: str, file: str, line: int | None, **more: Any) -> AskedPackage:
    """A name and a version as Poetry, Pipfile, conda and lock files write them; others than PEP 440 are left open. Raises FormatError."""
    if not _NAME.fullmatch(name):
        raise FormatError(f"{f'{file}:{line}' if line else file}: '{name[:80]}' is no name of a package")
    text = f"{name} {specifier}".strip()
    return AskedPackage(name=canonicalize_name(name), file=file, line=line, text=text, specifier=pep440(specifier), **more)


def pep440(constraint: str) -> str:
    """A PEP 440 specifier from '^2.1' or '~2.1' (Poetry), '2.1.*' or '=2.1' (conda), '*'. Empty where there is no equivalent."""
    constraint = constraint.strip()
    if constraint in ("", "*", "latest") or len(constraint) > 200 or "|" in constraint:
        return ""
    parts = []
    for part in constraint.split(","):
        part = part.strip()
        caret = _CARET.match(part)
        if caret and part[0] == "^":
            parts += _range(caret[1], caret=True)
        elif caret:
            parts += _range(caret[1], caret=False)
        elif re.match(r"=[^=]", part):
            parts.append(f"=={part[1:].strip()}" if part.endswith("*") or part.count(".") >= 2 else f"=={part[1:].strip()}.*")
        elif part[:1].isdigit():
            parts.append(f"=={part}")
        else:
            parts.append(part)
    try:
        return str(SpecifierSet(",".join(parts)))
    except InvalidSpecifier:
        return ""


def _range(version: str, *, caret: bool) -> list[str]:
    numbers = [int(number) for number in version.split(".")]
    place = next((at for at, number in enumerate(numbers) if number), len(numbers) - 1) if caret else min(1, len(numbers) - 1)
    above = [*numbers[:place], numbers[place] + 1]
    return [f">={version}", f"<{'.'.join(map(str, above))}"]


def of_address(address: str) -> tuple[str, str]:
    """Name and '==version' from the address or path of a wheel or source archive; ('', '') where it has none."""
    try:
        path = urlsplit(address).path if "://" in address else address  # ValueError: a bracket without its partner
        part = unquote(path).replace("\\", "/").rsplit("/", 1)[-1].strip()
        if part.endswith(".whl"):
            name, version, _, _ = parse_wheel_filename(part)
        elif part.endswith((".tar.gz", ".zip")):
            name, version = parse_sdist_filename(part)
        else:
            return "", ""
    except (InvalidWheelFilename, InvalidSdistFilename, ValueError):
        return "", ""
    return str(name), f"=={version}"


def without_secret(address: str) -> str:
    """An index without the user and password that it may carry."""
    before, sign, rest = address.partition("://")
    if not sign:
        return address
    host, slash, path = rest.partition("/")
    return f"{before}://{host.rpartition('@')[2]}{slash}{path}"
