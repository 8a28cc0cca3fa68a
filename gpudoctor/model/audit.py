"""Dependencies of a project, and whether they work on one backend (gpudoctor.audit/1)."""

from __future__ import annotations

from dataclasses import dataclass, field

SCHEMA = "gpudoctor.audit/1"
BACKENDS = ("cuda", "rocm", "xpu", "directml", "opencl", "ipu", "openvino", "onnxruntime", "mps", "cpu")
VERDICTS = ("error", "warning", "unverified", "info", "ok", "skipped", "unlisted")
"""In reading order. `unverified`: said to be so, never tried; `skipped`: its marker is false here; `unlisted`: no row speaks of it."""


class FormatError(ValueError):
    """A file that cannot be read as what it is: one line, with the line's number where it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPackage:
    """One package that a file asks for."""

    name: str
    """As PyPI normalises it: lower case, words joined by '-'."""
    file: str
    line: int | None
    text: str
    """What stands there, in one line."""
    specifier: str = ""
    """PEP 440, e.g. '>=2.1,<3'; '==2.8.0+xpu' for a locked or installed one; empty: any version."""
    marker: str = ""
    index: str = ""
    """The index or address that this package alone is taken from."""
    conda: bool = False
    locked: bool = False
    """From a lock file or an environment: the version is chosen, and other packages brought it."""
    form: str = ""
    """How the file writes it: the quotation mark, 'table' for name = "version", empty for neither."""
    among_others: bool = False
    """The line asks for other packages too, or runs other commands: only a part of it is to be replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A base image: FROM of a Dockerfile, `image` of a compose file."""

    name: str
    file: str
    line: int


@dataclass(slots=True, kw_only=True)
class Manifest:
    """What one dependency file asks for."""

    file: str
    kind: str
    wanted: list[AskedPackage] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    """All that pip would look at: --index-url, --extra-index-url, -f, [[tool.uv.index]], [[source]], conda channels."""
    tables: list[str] = field(default_factory=list)
    """What may stand once and is there: 'tool.uv.sources', 'tool.uv.index:NAME', 'tool.poetry.source:NAME' of a pyproject.toml, '- pip:' of
    conda."""
    python: str = ""
    """requires-python as a specifier."""
    includes: list[tuple[str, int]] = field(default_factory=list)
    """Files that it names with -r and -c, with the line."""
    notes: list[str] = field(default_factory=list)
    """Parts of the file that were not read, each with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One row of the table."""

    package: str
    file: str
    line: int | None
    text: str
    verdict: str
    says: str = ""
    use: tuple[str, ...] = ()
    """Lines to write instead, or commands."""
    sources: tuple[str, ...] = ()
    id: str = ""
    """What kind of trouble: needs-another-backend, other-index, too-old, conflict, same-files, python, image, build, cpu-only, ended,
    useless, partner, needs-another-package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    tool_version: str
    created: str
    backend: Backend
    python: str
    files: tuple[tuple[str, str], ...]
    """Name and kind, in the order in which they were read."""
    rows: tuple[Judged, ...]
    notes: tuple[str, ...]
    resolution: str = ""
    """How many proposals an installer resolved, and how many it could not be asked about; empty where nobody asked."""

    def count(self, verdict: str) -> int:
        return sum(row.verdict == verdict for row in self.rows)
