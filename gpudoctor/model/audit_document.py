"""The JSON document of an audit (gpudoctor.audit/1), published as data/audit.schema.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypedDict

from gpudoctor.model.audit import BACKENDS, SCHEMA, VERDICTS
from gpudoctor.model.report_document import Count, Moment
from gpudoctor.model.typed_json import Limits, shaped


@shaped(open=True)
class AuditToolDocument(TypedDict):
    """The program that wrote the document."""

    name: Annotated[str, Limits(const="gpudoctor")]
    version: str


class BackendDocument(TypedDict):
    """The backend that the dependencies were judged for."""

    name: Annotated[str, Limits(enum=BACKENDS)]
    why: str
    """Why this backend: as asked, or the device that the machine has."""


class PackageDocument(TypedDict):
    """One package that a file asks for."""

    package: str
    line: Annotated[int, Limits(minimum=1)] | None
    requirement: str
    """The text that stands in the file."""
    verdict: Annotated[str, Limits(enum=VERDICTS)]
    """unverified: said to work or not, and never tried; skipped: its marker is false on the target; unlisted: not in the table of GPU
    packages."""
    trouble: str | None
    """needs-another-backend, needs-another-package, other-index, too-old, partner, conflict, same-files, python, image, build, cpu-only,
    ended or useless."""
    says: str
    use: Sequence[str]
    """Lines to write instead, or commands."""
    sources: Sequence[str]


class FileDocument(TypedDict):
    """One dependency file, or the environment."""

    file: str
    kind: str
    """requirements, pyproject, uv.lock, Dockerfile, installed and others."""
    packages: Sequence[PackageDocument]


class AuditSummaryDocument(TypedDict):
    """The number of packages by verdict."""

    errors: Count
    warnings: Count
    unverified: Count
    infos: Count
    ok: Count
    skipped: Count
    unlisted: Count


class _AuditDetails(TypedDict, total=False):
    resolution: str
    """How many proposals an installer resolved, and whether each file resolves as a whole; absent without --online."""


class AuditDocument(_AuditDetails):
    """gpudoctor.audit/1: will these dependencies run on this backend?"""

    schema: Annotated[str, Limits(const=SCHEMA)]
    tool: AuditToolDocument
    created: Moment
    """UTC."""
    backend: BackendDocument
    python: str | None
    """The version of the target interpreter; null where none was given."""
    files: Sequence[FileDocument]
    notes: Sequence[str]
    """What was not read, with the reason."""
    summary: AuditSummaryDocument
