"""Secrets and identities of every class, in every place: almost none comes out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from planted_score import PLANTS, leaks, planted, report

from gpudoctor.privacy.redactor import Redactor
from gpudoctor.services import checking, reporting
from gpudoctor.system.system_names import Names

HEALTHY = Path(__file__).parents[1] / "machines" / "rtx4090-healthy"


def test_almost_none_of_the_plants_comes_out(tmp_path: Path) -> None:
    folder = planted(tmp_path / "machine")
    made = report(folder)
    out, shown = leaks(made)
    assert len(out) <= 0.02 * len(PLANTS), sorted(out)
    assert len(shown) >= 0.95 * len(PLANTS)  # what is destroyed altogether is not redacted
    assert made.note == ""
    original = checking.check(checking.CheckRequest(capture=str(folder)))
    assert [finding.id for finding in made.report.findings] == [finding.id for finding in original.findings]


def test_each_plant_is_found_by_itself() -> None:
    """In a line alone, so that no other plant has taught its name."""
    left = []
    for each in PLANTS:
        text = Redactor(Names(users=("carol", "Carol Nußbaum", "žofie"), hosts=("nautilus",))).free(f"{each['id']}: {each['text']}")
        if each["secret"] in text or each["secret"] in text.replace("\u200b", ""):
            left.append(f"{each['class']}: {each['name']}")
    assert len(left) <= 0.02 * len(PLANTS), left


def test_a_report_says_what_check_says(tmp_path: Path) -> None:
    """A message in what a tool said is found by both, in every form and again from the report itself."""
    import shutil

    folder = tmp_path / "machine"
    shutil.copytree(HEALTHY, folder)
    python = json.loads((folder / "python.json").read_text())
    message = "/usr/local/cuda/lib64/libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12"
    python.setdefault("frameworks", {})["torch"] = {
        "imported": False, "devices": [], "notes": [], "error": {"kind": "exception", "name": "ImportError", "message": message},
    }  # fmt: skip
    (folder / "python.json").write_text(json.dumps(python))
    found = [finding.id for finding in checking.check(checking.CheckRequest(capture=str(folder))).findings]
    assert "nvjitlink-shadowed" in found
    made = report(folder)
    assert [finding.id for finding in made.report.findings] == found
    raw = reporting.make(reporting.ReportRequest(check=checking.CheckRequest(capture=str(folder)), raw=True))
    assert [finding.id for finding in raw.report.findings] == found
    again = tmp_path / "report.json"
    again.write_text(reporting.render(made, "json"))
    assert [finding.id for finding in report(again).report.findings] == found


@pytest.mark.parametrize("form", ["json", "markdown", "html"])
def test_a_report_of_somebodys_report_is_redacted_by_default(form: str, tmp_path: Path) -> None:
    """A report that hid nothing, sent on: its messages are of no known type."""
    raw = reporting.make(reporting.ReportRequest(check=checking.CheckRequest(capture=str(planted(tmp_path / "m"))), raw=True))
    path = tmp_path / "report.json"
    path.write_text(reporting.render(raw, "json"))
    text = reporting.render(report(path), form)
    for word in ("quokka07", "boskoilic", "Feldkamp"):
        assert word not in text
