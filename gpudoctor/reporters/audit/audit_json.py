"""An audit as one JSON document (gpudoctor.audit/1, of the type model.audit_document), as annotations of GitHub Actions, as SARIF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpudoctor.model.audit import SCHEMA, Audit, Judged
from gpudoctor.reporters.report.finding_places import FindingPlace
from gpudoctor.reporters.report.finding_text import address
from gpudoctor.reporters.report.github_report import annotation
from gpudoctor.reporters.report.json_report import dumps
from gpudoctor.reporters.report.sarif_report import SCHEMA as SARIF
from gpudoctor.reporters.shared.escape import plain, visible

if TYPE_CHECKING:
    from gpudoctor.model.audit_document import AuditDocument, PackageDocument

_LEVELS = {"error": "error", "warning": "warning", "unverified": "note", "info": "note"}
_COMMANDS = {"error": "error", "warning": "warning"}
_RULES = {
    "needs-another-backend": "A package has nothing for this backend",
    "needs-another-package": "Another package serves this backend",
    "other-index": "A package must come from another index",
    "too-old": "A version before the first one with this backend",
    "partner": "A package is missing beside this one",
    "conflict": "Versions exclude each other",
    "same-files": "Packages overwrite each other",
    "python": "No wheels for this Python",
    "image": "A base image for another backend",
    "build": "To be built for this backend",
    "cpu-only": "It computes on the CPU here",
    "ended": "A product at its end",
    "useless": "Of no use on this backend",
    "unverified": "Not verified on this backend",
}


def document(audit: Audit) -> dict[str, Any]:
    """The audit as plain dictionaries and lists."""
    typed: AuditDocument = {
        "schema": SCHEMA,
        "tool": {"name": "gpudoctor", "version": audit.tool_version},
        "created": audit.created,
        "backend": {"name": audit.backend.name, "why": audit.backend.why},
        "python": audit.python or None,
        "files": [
            {"file": file, "kind": kind, "packages": [_package(r) for r in audit.rows if r.file == file]} for file, kind in audit.files
        ],
        "notes": audit.notes,
        "summary": {
            "errors": audit.count("error"),
            "warnings": audit.count("warning"),
            "unverified": audit.count("unverified"),
            "infos": audit.count("info"),
            "ok": audit.count("ok"),
            "skipped": audit.count("skipped"),
            "unlisted": audit.count("unlisted"),
        },
    }
    if audit.resolution:
        typed["resolution"] = audit.resolution
    whole = plain(typed)
    assert isinstance(whole, dict)
    return whole


def _package(row: Judged) -> PackageDocument:
    return {
        "package": row.package, "line": row.line, "requirement": row.text, "verdict": row.verdict, "trouble": row.id or None,
        "says": row.says, "use": row.use, "sources": row.sources,
    }  # fmt: skip


def render(audit: Audit) -> str:
    return dumps(document(audit))


def github(audit: Audit) -> str:
    """An annotation for each problem, at its file and line."""
    said = [
        annotation(_COMMANDS[row.verdict], FindingPlace(row.file, row.line), f"{row.package}: {row.says}", "\n".join(row.use))
        for row in audit.rows if row.verdict in _COMMANDS
    ]  # fmt: skip
    return "".join(said) or annotation("notice", None, "gpudoctor audit", f"Nothing is known to fail on {audit.backend.name}.")


def sarif(audit: Audit) -> str:
    """The audit as SARIF: one run, whose rules are the kinds of problems."""
    rows = [row for row in audit.rows if row.verdict in _LEVELS]
    ids = list(dict.fromkeys(_rule_id(row) for row in rows))
    rules = [{"id": f"audit/{name}", "shortDescription": {"text": _RULES.get(name, name)}} for name in ids]
    run = {
        "tool": {"driver": {"name": "gpudoctor", "semanticVersion": audit.tool_version, "version": audit.tool_version, "rules": rules}},
        "automationDetails": {"id": "gpudoctor/audit/"},
        "columnKind": "utf16CodeUnits",
        "results": [_result(row, ids) for row in rows],
        "properties": {"backend": audit.backend.name},
    }
    return dumps({"$schema": SARIF, "version": "2.1.0", "runs": [run]})


def _rule_id(row: Judged) -> str:
    return row.id or row.verdict


def _result(row: Judged, ids: list[str]) -> dict[str, Any]:
    links = [link for source in row.sources if (link := address(source))]
    text = "\n".join([f"{row.package}: {row.says}", *(f"  {each}" for each in row.use), *links])
    region = {"artifactLocation": {"uri": FindingPlace(row.file).uri}, "region": {"startLine": row.line or 1}}
    return {
        "ruleId": f"audit/{_rule_id(row)}", "ruleIndex": ids.index(_rule_id(row)), "level": _LEVELS[row.verdict],
        "message": {"text": visible(text, multiline=True)}, "locations": [{"physicalLocation": region}],
    }  # fmt: skip
