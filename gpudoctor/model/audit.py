"""The dependencies of a project, and the verdict on each for one backend (gpudoctor.audit/1)."""

from __future__ import annotations

from msgspec import Struct, field

SCHEMA = "gpudoctor.audit/1"
BACKENDS = ("cuda", "rocm", "xpu", "directml", "opencl", "ipu", "openvino", "onnxruntime", "mps", "cpu")
VERDICTS = ("error", "warning", "unverified", "info", "ok", "skipped", "unlisted")
"""The verdicts in reading order. `unverified`: a source says so and nobody has tried it; `skipped`: the environment marker of the
requirement is false on the target; `unlisted`: the table of GPU packages has no row for it."""


class FormatError(ValueError):
    """A file that does not have the format of its kind. The message is one line, with the number of the line where it is known."""


class AskedPackage(Struct, frozen=True, kw_only=True):
    """One package that a file asks for."""

    name: str
    """The name as PyPI normalises it: lower case, words joined by '-'."""
    file: str
    line: int | None
    text: str
    """The requirement as the file writes it, in one line."""
    specifier: str = ""
    """The range of versions of PEP 440, such as '>=2.1,<3', or '==2.8.0+xpu' of a locked or installed package; empty: any version."""
    marker: str = ""
    index: str = ""
    """The index or address that this package alone is taken from."""
    conda: bool = False
    locked: bool = False
    """The package comes from a lock file or an environment: its version is fixed, and other packages may have required it."""
    form: str = ""
    """The notation in the file: the quotation mark, or 'table' for name = "version"; empty for a bare requirement."""
    among_others: bool = False
    """The line asks for other packages too, or runs other commands, so that only a part of it is to be replaced."""


class Image(Struct, frozen=True, kw_only=True):
    """A base image: FROM in a Dockerfile, or `image` in a compose file."""

    name: str
    file: str
    line: int


class Manifest(Struct, kw_only=True):
    """The content of one dependency file."""

    file: str
    kind: str
    wanted: list[AskedPackage] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    """The package indexes that pip would use: --index-url, --extra-index-url, -f, [[tool.uv.index]], [[source]], conda channels."""
    tables: list[str] = field(default_factory=list)
    """Tables that may occur once and are already there: 'tool.uv.sources', 'tool.uv.index:NAME', 'tool.poetry.source:NAME' of a
    pyproject.toml, '- pip:' of a conda environment."""
    python: str = ""
    """The value of requires-python, a range of versions."""
    includes: list[tuple[str, int]] = field(default_factory=list)
    """Files that it includes with -r and -c, each with the number of the line."""
    notes: list[str] = field(default_factory=list)
    """Parts of the file that were not read, each with the reason."""


class Judged(Struct, frozen=True, kw_only=True):
    """One row of the result: a package and the verdict on it."""

    package: str
    file: str
    line: int | None
    text: str
    verdict: str
    says: str = ""
    use: tuple[str, ...] = ()
    """Lines to write instead, or commands to run."""
    sources: tuple[str, ...] = ()
    id: str = ""
    """The kind of problem: needs-another-backend, needs-another-package, other-index, too-old, partner, conflict, same-files, python,
    image, build, cpu-only, ended or useless; empty where there is none."""


class Backend(Struct, frozen=True, kw_only=True):
    """The backend that the dependencies are judged for, and why this one."""

    name: str
    why: str


class Audit(Struct, frozen=True, kw_only=True):
    """The result of an audit: one row for each package. `python` is the version of the target, or empty."""

    tool_version: str
    created: str
    backend: Backend
    python: str
    files: tuple[tuple[str, str], ...]
    """The name and the kind of each file, in the order in which they were read."""
    rows: tuple[Judged, ...]
    notes: tuple[str, ...]
    resolution: str = ""
    """How many proposals an installer resolved, and how many could not be resolved; empty without --online."""

    def count(self, verdict: str) -> int:
        return sum(row.verdict == verdict for row in self.rows)
