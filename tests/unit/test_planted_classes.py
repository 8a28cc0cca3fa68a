"""Secrets and identities of every class, in every place: almost none comes out, and the words of the machine stay."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from planted_score import PLANTS, leaks, planted, report

from gpudoctor.privacy.redactor import Redactor
from gpudoctor.reporters.report import json_report
from gpudoctor.services import checking, reporting
from gpudoctor.system.system_names import Names

MACHINES = sorted(path.parent for path in (Path(__file__).parents[1] / "machines").glob("*/expect.toml"))
_WORD = re.compile(r"[^\W_][\w.+-]*[^\W_]|[^\W_]")
_PERSONAL = re.compile(
    r"(?:USER|LOGNAME|HOME|HOSTNAME|PWD|VIRTUAL_ENV|CONDA_PREFIX)$|uuid$|\.serial|\.host$|\.created$|seconds$", re.IGNORECASE
)
_NAME = re.compile(r"^(?:alice|user|host|wonderland)$|^[0-9a-f]{8}-[0-9a-f]{4}-|^\d{1,3}(?:\.\d{1,3}){3}$", re.IGNORECASE)
"""Names and numbers that the recorded machines give to persons, hosts and devices."""


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


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, f"{key}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, key)
    elif isinstance(value, str):
        yield key, value


def _technical(document: Any) -> Counter[str]:
    """The words that a maintainer needs: all but those of fields about a person, host or number of a device."""
    found: Counter[str] = Counter()
    for key, text in _texts(document):
        if not _PERSONAL.search(key):
            found.update(word for word in _WORD.findall(text) if not _NAME.search(word))
    return found


@pytest.mark.parametrize("folder", MACHINES, ids=[folder.name for folder in MACHINES])
def test_the_report_of_a_machine_keeps_its_technical_words(folder: Path) -> None:
    """In the report word by word; 99 of 100 are asked for."""
    check = checking.CheckRequest(capture=str(folder))
    whole = reporting.make(reporting.ReportRequest(check=check, raw=True))
    made = reporting.make(reporting.ReportRequest(check=check))
    words, kept = _technical(json_report.document(whole.report)), _technical(json_report.document(made.report))
    lost = words - kept
    assert sum(lost.values()) <= 0.01 * sum(words.values()), lost.most_common(20)


def test_a_report_says_what_check_says(tmp_path: Path) -> None:
    """A message in what a tool said is found by both, in every form and again from the report itself."""
    import shutil

    folder = tmp_path / "machine"
    shutil.copytree(MACHINES[0].parent / "rtx4090-healthy", folder)
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
