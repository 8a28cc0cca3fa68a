"""A report in an issue: read first what is broken, always short enough, and nothing of the machine is more than text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec.structs import replace
from reports import KERNEL, report, stack

from gpudoctor.model.check import Advice
from gpudoctor.model.measurement import Latency, Measurement, Throughput
from gpudoctor.model.packed import pack, unpack
from gpudoctor.model.report import Finding, Report
from gpudoctor.reporters.report import collect_env
from gpudoctor.reporters.report.markdown_report import markdown, summary, title
from gpudoctor.reporters.shared.markdown_text import block, code, table, text, units

HOSTILE = (
    "@torvalds",
    "#123",
    "GH-7",
    "pytorch/pytorch#1",
    "!5",
    "a@b/c",
    "</details>",
    "<script>alert(1)</script>",
    "<img src=x onerror=y>",
    "[x](https://evil.example)",
    "![x](y)",
    "https://evil.example/x",
    "www.evil.example",
    "```\n# x\n```",
    "````",
    "`a`",
    "| a | b |",
    "\n\n# head",
    "- [ ] x",
    "&lt;b&gt;",
    "\x1b[31mred\x1b[0m",
    "\u202egnp",
    "*b* _i_ ~~s~~ $x$",
    "---",
    "<!-- c -->",
    "\\`x",
    "\\<b>",
    "</summary>",
    "javascript:alert(1)",
    "<https://evil.example>",
    "[ref]: https://evil.example",
    "~~~",
    "    code",
    "> q",
    "1. x",
    "@org/team",
    "&#64;me",
)
OURS = {"<details>", "</details>", "<summary>", "</summary>"}


def parsed(source: str) -> list[Token]:
    return MarkdownIt("gfm-like", {"linkify": False}).parse(source)


def flat(tokens: list[Token]) -> list[Token]:
    return [each for token in tokens for each in (token, *flat(token.children or []))]


def live(source: str) -> tuple[list[str], str]:
    """(tags, links and images that a browser would make, the text that is not in code)."""
    tokens = flat(parsed(source))
    found = [token.type for token in tokens if token.type in ("link_open", "image")]
    for token in tokens:
        if token.type in ("html_block", "html_inline"):
            found += [tag for tag in re.findall(r"<[^>]*>", token.content) if tag not in OURS]
    return found, "\n".join(token.content for token in tokens if token.type == "text")


def hostile(value: str) -> Report:
    finding = replace(
        KERNEL,
        title=value,
        explanation=f"why {value}",
        subjects=(value, f"b {value}"),
        evidence=(value,),
        sources=(value,),
        advice=Advice(text=value, commands=(value,), env={"X": value}),
    )
    measured = Measurement(
        workload=value,
        task="training",
        framework=value,
        framework_version=value,
        backend="cuda",
        device=value,
        device_name=value,
        dtype=value,
        batch=8,
        latency_ms=Latency(median=2.0),
        throughput=Throughput(value=10.0, unit=value),
        notes=(value,),
        noisy=value,
    )
    failed = replace(measured, status="failed", reason=value)
    one = stack()
    layers = tuple(replace(rung, detail=value) for rung in one.layers)
    facts = {
        "gpus": [{"name": value, "pci_id": value, "driver": value, "node": value, "access": True}],
        "os": {"id": value},
        "env": {"A": value},
        "kernel": {"log": [value, f"x {value}"], "release": value},
        "python": {"distributions": {"torch": value, "numpy" + value: value}},
        "cpu": {"model": value},
        "torch": {"version": value},
    }
    return report(
        findings=(finding, replace(finding, severity="info", key="i")),
        stacks=(replace(one, title=value, layers=layers),),
        facts=facts,
        headline={"machine": value, "os": value, "kernel": value, "python": value},
        measurements=(measured, failed),
        not_looked_at=(value,),
        incomplete=(value,),
        redactions={"user": 2},
    )


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_string_is_text(value: str) -> None:
    found, shown = live(markdown(hostile(value), ignored={"x": value}, beside=value))
    assert found == []
    assert not re.search(r"@\w|(?<![\w&])#\d|\bGH-\d|\w/\w+#\d|https?://|www\.", shown)
    headings = [token for token in parsed(markdown(hostile(value))) if token.type == "heading_open"]
    assert headings == []


@settings(max_examples=60)
@given(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=4).map(" ".join) | st.text(max_size=60))
def test_any_string_is_text(value: str) -> None:
    found, shown = live(markdown(hostile(value), packed=False))
    assert found == []
    assert not re.search(r"@\w|(?<![\w&])#\d|\bGH-\d", shown)


@given(st.text(alphabet="`~ a\n<", max_size=40))
def test_a_block_ends_where_it_ends(value: str) -> None:
    tokens = parsed(f"{block(value)}\n\nafter")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


@given(st.text(alphabet="`|a \\", max_size=12), st.text(alphabet="|`ab\\*", max_size=12))
def test_a_table_keeps_its_columns(one: str, other: str) -> None:
    tokens = flat(parsed(table(("a", "b"), [(code(one), text(other)), ("x", "y")])))
    assert sum(token.type == "td_open" for token in tokens) == 4


def test_the_summary_comes_first_and_details_are_folded() -> None:
    said = markdown(report(redactions={"user": 3, "host": 1}))
    first, _, rest = said.partition("<details>")
    assert first.startswith("**Linux 5.19 is too old for Arc A770**")
    assert "torch-xpu/kernel-driver" in first and "2 errors" in first and "sudo apt install linux-generic-hwe-22.04" in first
    assert "PyTorch version:" in rest and "user names (3)" in rest and "intel/compute-runtime#610" in rest
    assert "Caused by 1" in said
    assert said.count("<details>") == said.count("</details>")


def test_a_healthy_machine_has_a_title() -> None:
    assert title(report(findings=())) == "Arc A770: no problems found"
    assert "No problems" in summary(report(findings=())) or "no problems" in summary(report(findings=()))


def _many(count: int, size: int) -> tuple[Finding, ...]:
    return tuple(replace(KERNEL, key=str(number), title=f"{number} " + "t" * size, explanation="e" * size) for number in range(count))


@pytest.mark.parametrize("limit", [65_000, 20_000, 6_000, 700])
@pytest.mark.parametrize(
    "large",
    [
        {"findings": _many(300, 2000)},
        {"stacks": tuple(stack(f"s{number}") for number in range(300))},
        {"facts": {"kernel": {"log": ["\U0001f5a5" * 290] * 400}, "env": {f"V{n}": "v" * 500 for n in range(300)}}},
        {"facts": {"python": {"distributions": {f"torch-{n}": "1.0" * 9 for n in range(3000)}}}},
        {
            "measurements": (
                Measurement(workload="w" * 900, task="micro", framework="f", backend="b", device="d", dtype="x", notes=("n" * 900,)),
            )
            * 200
        },
        {"not_looked_at": ("n" * 2000,) * 60},
    ],
)
def test_it_is_never_longer_than_a_tracker_takes(large: dict[str, Any], limit: int) -> None:
    said = markdown(report(**large), limit=limit)
    assert units(said) <= limit
    assert limit < 1000 or ("Cut to fit" in said or units(markdown(report(**large), limit=10**9)) <= limit)
    assert said.count("<details>") == said.count("</details>")
    assert said.startswith("**")


def test_what_is_least_useful_goes_first() -> None:
    facts = {"kernel": {"log": ["a line of the log"] * 500}, "env": {f"V{n}": "v" * 300 for n in range(100)}}
    said = markdown(report(facts=facts), limit=12_000)
    assert "*Cut to fit into an issue: " in said
    assert "V99" not in said and "Do: Install a newer kernel." in said and "collect_env" in said


def test_units_are_those_of_utf_16() -> None:
    assert units("a\U0001f5a5") == 3


def test_the_packed_report_is_the_report() -> None:
    said = markdown(report())
    packed = unpack("> " + said.replace("\n", "\n> "))
    assert packed is not None and json.loads(packed)["findings"][0]["id"] == KERNEL.id
    assert unpack("nothing") is None
    begin, first, *others = pack(json.dumps(list(range(3000)))).split("\n")
    damaged = "\n".join([begin, first[::-1], *others])
    with pytest.raises(ValueError, match="damaged"):
        unpack(damaged)
    cut = pack(json.dumps(list(range(3000))))
    with pytest.raises(ValueError, match=r"cut off|damaged"):
        unpack("\n".join(cut.split("\n")[:3]))


def test_the_block_of_collect_env_has_the_fields_in_order() -> None:
    fields = (
        "PyTorch version",
        "Is debug build",
        "CUDA used to build PyTorch",
        "ROCM used to build PyTorch",
        "OS",
        "GCC version",
        "Clang version",
        "CMake version",
        "Libc version",
        "Python version",
        "Python platform",
        "Is CUDA available",
        "CUDA runtime version",
        "CUDA_MODULE_LOADING set to",
        "GPU models and configuration",
        "Nvidia driver version",
        "cuDNN version",
        "Is XPU available",
        "HIP runtime version",
        "CPU",
        "Versions of relevant libraries",
    )
    facts = {
        "torch": {"version": "2.7.1+xpu", "cuda": None, "hip": None, "version_file": {"debug": False, "xpu": "20250004"}},
        "gpus": [{"name": "Arc A770", "pci_id": "8086:56a0", "driver": "i915", "access": False, "node": "/dev/dri/renderD128"}],
        "python": {
            "version": "3.11.9",
            "frameworks": {"torch": {"devices": [{"id": "xpu:0"}]}},
            "distributions": {"torch": {"version": "2.7.1+xpu"}, "numpy": ["2.0", "2.1"], "click": "8"},
        },
        "nvidia": {"in_use": None},
    }
    said = collect_env.block(report(facts=facts))
    places = [said.index(f"\n{name}:" if number else f"{name}:") for number, name in enumerate(fields)]
    assert places == sorted(places)
    for line in (
        "PyTorch version: 2.7.1+xpu",
        "CUDA used to build PyTorch: None",
        "XPU used to build PyTorch: 20250004",
        "Is CUDA available: False",
        "Is XPU available: True",
        "Nvidia driver version: No NVIDIA driver",
        "GPU 0: Arc A770 (8086:56a0, driver i915, /dev/dri/renderD128, may not be opened)",
        "[pip3] torch==2.7.1+xpu",
        "[pip3] numpy==2.0 and 2.1",
        "CUDA runtime version: not collected",
    ):
        assert line in said.split("\n")
    assert "click" not in said
    assert "PyTorch version: not collected" in collect_env.block(report(facts={}))
