"""What the folder of the target environment holds: nothing, an environment, or something else."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from gpudoctor.facts.probes import dist_info
from gpudoctor.facts.probes.interpreter import parse_pyvenv, short_version
from gpudoctor.setup.steps._step import Look
from gpudoctor.system.host import Host

_LIBRARY = re.compile(r"^python(3\.\d+)t?$")


class TargetFolder(Struct, frozen=True):
    """A folder. `kind`: '' (it does not exist), empty, venv, conda, or other (it is no environment)."""

    path: str
    kind: str
    minor: str = ""
    managed: bool = False
    """Whether nothing may be installed into it: a package manager owns it (PEP 668), or it is the base environment of conda."""
    distributions: Mapping[str, Any] = field(default_factory=dict)
    """Normalised name to version (or a list where installed twice)."""

    @property
    def is_environment(self) -> bool:
        return self.kind in ("venv", "conda")


def at(host: Host, path: str) -> TargetFolder:
    """The folder at a path, by its files."""
    marker = host.read(f"{path}/pyvenv.cfg", limit=20_000)
    libraries = [name for name in host.listdir(f"{path}/lib") if _LIBRARY.match(name)]
    kind = "venv" if marker.ok else "conda" if host.listdir(f"{path}/conda-meta") else ""
    if not kind:
        names = host.listdir(path)
        if not names and not host.exists(path) and host.readlink(path) is None:
            return TargetFolder(path, "")
        return TargetFolder(path, "other" if names or not host.exists(f"{path}/.") else "empty")
    said = parse_pyvenv(marker.text) if marker.ok else {}
    version = short_version(said.get("version_info") or said.get("version", ""))
    minor = ".".join(version.split(".")[:2]) if version else libraries[0].removeprefix("python") if len(libraries) == 1 else ""
    library = f"python{minor}" if f"python{minor}" in libraries or not libraries else libraries[-1]
    managed = host.exists(f"{path}/lib/{library}/EXTERNALLY-MANAGED") or (kind == "conda" and bool(host.listdir(f"{path}/condabin")))
    folder = f"{path}/lib/{library}/site-packages"
    found, _ = dist_info.from_names(folder, host.listdir(folder))
    return TargetFolder(path, kind, minor, managed, dist_info.versions(found))


def of(look: Look) -> TargetFolder:
    """The folder of the plan, by the facts where they are of that environment, else by reading it."""
    facts = look.facts
    prefix = facts.value("python.prefix")
    if prefix and posixpath.normpath(str(prefix)) == posixpath.normpath(look.env) and facts.known("python.distributions"):
        kind = str(facts.value("python.kind", ""))
        version = str(facts.value("python.version", ""))
        return TargetFolder(
            look.env, "conda" if kind == "conda" else "other" if kind in ("system", "pyenv") else "venv", ".".join(version.split(".")[:2]),
            bool(facts.value("python.externally_managed", False)), dict(facts.value("python.distributions")),
        )  # fmt: skip
    return at(look.host, look.env)
