"""Whatever a machine says, no format of a report lets a name, an address, a number or a secret out; what is technical stays."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from planted import Plant, write

from gpudoctor.model.packed import unpack
from gpudoctor.model.report import Report
from gpudoctor.privacy.technical_vocabulary import technical_words
from gpudoctor.privacy.technical_words import TECHNICAL
from gpudoctor.reporters.report import json_report
from gpudoctor.services import checking, reporting

PAGE = "".join(
    file.read_text(encoding="utf-8").casefold() for file in resources.files("gpudoctor.reporters.html").iterdir() if file.is_file()
)
"""What each HTML report holds of itself: a name such as 'paren' is found in its script."""
name = st.from_regex(r"[bdfgklmnprstvz][aeiou][bdfgklmnprstvz]{1,2}[aeiou][bdfgklmnprstvz]{1,3}[aeiou]?", fullmatch=True)
hexadecimal = st.text("0123456789abcdef", min_size=32, max_size=32)
letters = st.text("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", min_size=16, max_size=24).filter(
    lambda drawn: any(map(str.isdigit, drawn))  # hypothesis takes some from this project's own code, such as a column's name
)


@st.composite
def plants(draw: st.DrawFn) -> Plant:
    user, other, host, project, share, server, first, last, company = draw(st.lists(name, min_size=9, max_size=9, unique=True))
    names = {user, other, host, project, share, server, first, last, company}
    assume(not names & (technical_words() | TECHNICAL))
    assume(not any(each in PAGE for each in names))
    digits = draw(hexadecimal)
    assume(len(set(digits)) > 6)
    octets = draw(st.tuples(st.integers(1, 250), st.integers(0, 255), st.integers(1, 250)))
    return Plant(
        user=user,
        full_name=f"{first.title()} {last.title()}",
        other=other,
        host=draw(st.sampled_from([host, f"{host}-{company}", f"{host}7"])),
        domain=f"{company}.example",
        project=draw(st.sampled_from([project, f"{project}-{last}", f"{project}_model"])),
        share=share,
        server=server,
        ip=draw(st.sampled_from(["10.{}.{}.{}", "192.168.{1}.{2}", "172.17.{1}.{2}"])).format(*octets),
        mac="3c:" + ":".join(digits[start : start + 2] for start in range(0, 10, 2)),
        ipv6=f"fe80::{digits[:4]}:{digits[4:8]}:{digits[8:12]}:1a2b",
        uuid=f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-8{digits[15:18]}-{digits[18:30]}",
        machine_id=digits[::-1],
        serial="".join(draw(st.lists(st.sampled_from("0123456789"), min_size=10, max_size=13))) + draw(st.sampled_from(["", "X"])),
        secret=draw(letters),
        token=draw(letters),
        email=f"{first}.{last}@{company}.example",
        password=draw(letters),
    )


def made_of(folder: Path) -> reporting.Made:
    return reporting.make(reporting.ReportRequest(check=checking.CheckRequest(capture=str(folder))))


def texts_of(made: reporting.Made) -> Iterator[tuple[str, str]]:
    """Everything that could be sent: each format, each file of the archive and its name, what is packed."""
    for form in ("markdown", "html", "json"):
        yield form, reporting.render(made, form)
    markdown = reporting.render(made, "markdown")
    packed = unpack(markdown)
    assert packed is not None
    yield "packed", packed
    with zipfile.ZipFile(io.BytesIO(reporting.archive(made, "report.zip"))) as archive:
        for entry in archive.namelist():
            yield f"zip {entry}", entry + "\n" + archive.read(entry).decode("utf-8", "replace")


def said(report: Report) -> tuple[Any, ...]:
    found = [(finding.id, finding.severity, finding.confidence) for finding in report.findings]
    rungs = [(stack.stack, stack.verdict, [(rung.layer, rung.status) for rung in stack.layers]) for stack in report.stacks]
    return found, rungs, dict(report.summary)


def keys(value: Any, path: str = "") -> Iterator[str]:
    """Of tables in tables; a list counts by what is in it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}"
            yield from keys(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, path)


@settings(
    max_examples=8, phases=(Phase.explicit, Phase.generate), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(plants())
def test_nothing_planted_comes_out_and_the_machine_stays(plant: Plant) -> None:
    with TemporaryDirectory() as root:
        folder = write(plant, Path(root))
        original = checking.check(checking.CheckRequest(capture=str(folder)))
        made = made_of(folder)
        assert made.note == ""
        assert said(made.report) == said(original)
        for where, text in texts_of(made):
            lowered = text.casefold()
            for kind, planted in plant.all().items():
                at = _found(kind, planted.casefold(), lowered)
                assert at < 0, f"{kind} {planted!r} in {where}: …{text[max(at - 80, 0) : at + 80]}…"
        document = json_report.document(made.report)
        before = json_report.document(original)
        assert sorted(set(keys(document["facts"]))) == sorted(set(keys(before["facts"])))
        whole = json.dumps(document)
        for kept in ("GeForce RTX 4090", "570.124.06", "2.7.1+cpu", "6.8.0-51-generic", "0000:01:00.0", "libcuda.so.1", "3.11.9"):
            assert kept in whole
        again = Path(root, "report.zip")
        again.write_bytes(reporting.archive(made, "report.zip"))
        for path in (again, *_written(made, Path(root))):
            assert said(checking.check(checking.CheckRequest(capture=str(path)))) == said(original), path.name


def _found(kind: str, planted: str, text: str) -> int:
    """Where it stands; the name of a package is a key, and a project may have given it."""
    if kind == "project":
        match = re.search(rf"{re.escape(planted)}(?!-tools)", text)
        return match.start() if match else -1
    return text.find(planted)


def _written(made: reporting.Made, root: Path) -> Iterator[Path]:
    for form, suffix in (("json", "json"), ("markdown", "md")):
        path = root / f"report.{suffix}"
        path.write_text(reporting.render(made, form))
        yield path


@pytest.mark.parametrize(
    "user", ["cuda", "intel", "test", "root", "nvidia", "render", "torch", "python", "local", "lib", "venv", "geforce"]
)
def test_a_person_called_like_a_technical_word(user: str, tmp_path: Path) -> None:
    plant = Plant(
        user=user,
        full_name="Dora Dormouse",
        other="hatter",
        host=user,
        domain="wonder.example",
        project="teaparty",
        share="treacle",
        server="hare",
        ip="10.1.2.3",
        mac="3c:7c:3f:aa:bb:cc",
        ipv6="fe80::1:2:3:4",
        uuid="9f6dbf4a-1c2d-4e5f-8a9b-0c1d2e3f4a5b",
        machine_id="0123456789abcdef0123456789abcdef",
        serial="1320921000123",
        secret="aB3dE6gH9jK2mN5p",
        token="qR7sT1uV4wX8yZ2b",
        email="dora@wonder.example",
        password="cD5fG8hJ1kL4nP7q",
    )
    folder = write(plant, tmp_path)
    original = checking.check(checking.CheckRequest(capture=str(folder)))
    made = made_of(folder)
    assert made.note == "" and said(made.report) == said(original)
    for where, text in texts_of(made):
        if user != "root":
            assert f"/home/{user}" not in text, where
            assert f"USER={user}\n" not in text and f"HOSTNAME={user}\n" not in text
            assert f"1000({user})" not in text
        for planted in ("Dormouse", "hatter", "teaparty/", "treacle", "10.1.2.3", "1320921000123"):
            assert planted not in text, where
    document = json.dumps(json_report.document(made.report))
    for kept in ("GeForce RTX 4090", "libcuda.so.1", "torch-cuda", "site-packages/nvidia", "/usr/local/cuda/lib64"):
        assert kept in document
    path = tmp_path / "report.json"
    path.write_text(reporting.render(made, "json"))
    assert said(checking.check(checking.CheckRequest(capture=str(path)))) == said(original)
