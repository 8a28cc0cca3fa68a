"""Which installed packages must stay as they are so that the device goes on working, as constraints; and what a change would break."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from gpudoctor.audit.entries import named
from gpudoctor.audit.judging import AuditTarget
from gpudoctor.audit.packages import row_of
from gpudoctor.audit.pairs import conflicts
from gpudoctor.facts.derive._indexes import ROOT
from gpudoctor.model.audit import BACKENDS, AskedPackage, FormatError
from gpudoctor.model.guard import GuardConflict, KeptPackage, PackageChange

FORMS = ("pip", "uv", "pixi")
_RUNTIMES = re.compile(
    r"nvidia-|intel-(?:sycl|opencl|cmplr|openmp|pti)|dpcpp-cpp-rt|mkl$|onemkl-|onemath-|oneccl|impi-rt|umf$|tcmlib$|tbb$|rocm|libtpu$|jaxlib$"
)
"""Libraries that a framework installs as separate packages, and of which it needs exactly one release."""
_BUILD = re.compile(r"\+(cpu|xpu|cu\d+|rocm[\d.]+)$")


def kept(installed: Mapping[str, str], of_conda: Iterable[str] = ()) -> tuple[KeptPackage, ...]:
    """The packages to keep: frameworks, packages built for a device, the libraries that these load, and NumPy's major version.

    `installed` maps names to versions; `of_conda` names the packages that conda installed."""
    conda, found = frozenset(of_conda), []
    for name, version in sorted(installed.items()):
        plain = canonicalize_name(name)
        if not version or not (_RUNTIMES.match(plain) or _for_a_device(plain)):
            continue
        found.append(KeptPackage(name=plain, version=version, constraint=f"{plain}=={version}", conda=name in conda))
    numpy = installed.get("numpy", "")
    if found and numpy.partition(".")[0].isdigit():
        major = numpy.partition(".")[0]
        found.append(KeptPackage(name="numpy", version=numpy, constraint=f"numpy=={major}.*", conda="numpy" in conda))
    return tuple(sorted(found, key=lambda each: (not each.name.startswith("torch"), each.name)))


def _for_a_device(name: str) -> bool:
    """Whether the package is built for a particular backend. A package that works on all of them need not be kept."""
    row = row_of(name)
    if row is None:
        return False
    return not any(each["status"] == "works" and set(each["backends"]) >= set(BACKENDS) and "use" not in each for each in row["on"])


def indexes(packages: Sequence[KeptPackage]) -> tuple[str, ...]:
    """The indexes of builds that PyPI does not have, so that an installer finds them again."""
    builds = {match[1] for each in packages if each.name.startswith("torch") and (match := _BUILD.search(each.version))}
    return tuple(f"{ROOT}{build}" for build in sorted(builds))


def constraints(packages: Sequence[KeptPackage], form: str, where: str, python: str) -> str:
    """The constraints as a file for the tool `form` (pip, uv, pixi). `where`: the file's path for comments; `python`: the environment."""
    index_urls = indexes(packages)
    if form == "pip":
        return _pip(packages, index_urls, where, python)
    return _uv(packages, index_urls, python) if form == "uv" else _pixi(packages, index_urls, python)


def _pip(packages: Sequence[KeptPackage], index_urls: Sequence[str], where: str, python: str) -> str:
    found = "".join(f" --extra-index-url {index}" for index in index_urls)
    head = [
        f"# Keeps the packages of {python} that reach its device. Written by gpudoctor guard.",
        f"# pip install -c {where}{found} PACKAGE",
        f"# or for every command of this shell: export PIP_CONSTRAINT={where} UV_CONSTRAINT={where}",
    ]
    return "\n".join([*head, *(each.constraint for each in packages)]) + "\n"


def _uv(packages: Sequence[KeptPackage], index_urls: Sequence[str], python: str) -> str:
    lines = [f"# For pyproject.toml: keeps the packages of {python} that reach its device. Written by gpudoctor guard."]
    lines += ["[tool.uv]", "constraint-dependencies = [", *(f'  "{each.constraint}",' for each in packages), "]"]
    for index in index_urls:
        build = index.rpartition("/")[2]
        names = [each.name for each in packages if each.version.endswith(f"+{build}")]
        lines += ["", "[[tool.uv.index]]", f'name = "pytorch-{build}"', f'url = "{index}"', "explicit = true", "", "[tool.uv.sources]"]
        lines += [f'{name} = {{ index = "pytorch-{build}" }}' for name in names]
    return "\n".join(lines) + "\n"


def _pixi(packages: Sequence[KeptPackage], index_urls: Sequence[str], python: str) -> str:
    lines = [f"# For pixi.toml: keeps the packages of {python} that reach its device. Written by gpudoctor guard."]
    for table, conda in (("dependencies", True), ("pypi-dependencies", False)):
        of_table = [each for each in packages if each.conda is conda]
        lines += (
            [f"[{table}]", *(f'{each.name} = "{each.constraint.removeprefix(each.name)}"' for each in of_table), ""] if of_table else []
        )
    if index_urls:
        lines += ["[pypi-options]", f"extra-index-urls = [{', '.join(f'{chr(34)}{index}{chr(34)}' for index in index_urls)}]"]
    return "\n".join(lines).rstrip("\n") + "\n"


def judged(
    planned: Mapping[str, tuple[str, str]], removed: Iterable[str], installed: Mapping[str, str], packages: Sequence[KeptPackage]
) -> tuple[PackageChange, ...]:
    """The changes, those that break a kept package first. `planned` maps each package to be installed to (version, host of its address)."""
    held = {each.name: each for each in packages}
    before: dict[str, str] = {canonicalize_name(name): version for name, version in installed.items()}
    found = [
        PackageChange(name=name, old=before.get(name, ""), new=new, breaks=name in held and not _admits(held[name], new), source=source)
        for name, (new, source) in planned.items()
        if before.get(name) != new
    ]
    gone = {str(canonicalize_name(name)) for name in removed} - set(planned)
    found += [PackageChange(name=name, old=before.get(name, ""), new="", breaks=name in held) for name in gone]
    return tuple(sorted(found, key=lambda change: (not change.breaks, change.name)))


def _admits(package: KeptPackage, version: str) -> bool:
    try:
        return SpecifierSet(package.constraint.removeprefix(package.name)).contains(Version(version), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return package.version == version


def new_conflicts(
    changes: Sequence[PackageChange], installed: Mapping[str, str], packages: Sequence[KeptPackage], target: AuditTarget
) -> tuple[GuardConflict, ...]:
    """Conflicts that the change would add. A kept package that is replaced is not repeated, since its change names it already."""
    after: dict[str, str] = {canonicalize_name(name): version for name, version in installed.items()}
    for change in changes:
        after[change.name] = change.new
    old = set(_conflicts(installed, target))
    return tuple(found for found in _conflicts(after, target) if found not in old)


def _conflicts(versions: Mapping[str, str], target: AuditTarget) -> list[GuardConflict]:
    rows = conflicts(_as_asked(versions), "", target)
    return [GuardConflict(package=row.package, verdict=row.verdict, says=row.says) for row in rows if row.verdict in ("error", "warning")]


def _as_asked(versions: Mapping[str, str]) -> list[AskedPackage]:
    found = []
    for name, version in sorted(versions.items()):
        if version:
            try:
                found.append(named(name, f"=={version}", "the environment", None, locked=True))
            except FormatError:
                continue
    return found
