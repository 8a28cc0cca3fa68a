from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pages import COMPARISON, DIFF, MEASURED, SWEEP, poisoned
from reports import FOLLOWS, HINT, KERNEL, report, stack

from gpudoctor.model.check import Advice
from gpudoctor.model.measurement import Throughput
from gpudoctor.model.report import LayerResult
from gpudoctor.reporters.html import element as elements
from gpudoctor.reporters.html.charts import bars
from gpudoctor.reporters.report.html_report import comparison_page, html
from gpudoctor.reporters.shared.escape import visible

VOID = {"meta", "link", "input"}
TAGS = {
    "html", "head", "meta", "title", "link", "style", "script", "body", "div", "header", "main", "footer", "nav", "section", "article",
    "form", "fieldset", "legend", "input", "label", "h1", "h2", "h3", "h4", "p", "a", "span", "strong", "i", "ul", "ol", "li", "dl", "dt",
    "dd", "code", "time",
    "details", "summary", "figure", "figcaption", "svg", "circle", "path", "rect", "line", "text", "desc", "table", "caption",
    "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


class Page(HTMLParser):
    """The elements of a page with their attributes and the texts between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.raw: dict[str, str] = {}
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("style", "script"):
            self.raw[self.open[-1]] = self.raw.get(self.open[-1], "") + data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def having(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]


def whole() -> str:
    return html(report(measurements=MEASURED), sweeps=(SWEEP,), compared=COMPARISON, diff=DIFF, beside="The capture is beside this file.")


def is_sound(page: Page) -> None:
    """What holds whatever a report says: known elements, nothing that runs or loads, references that lead somewhere."""
    assert {tag for tag, _ in page.elements} <= TAGS
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in ("style", "src", "srcset", "action", "formaction")}
    assert len(page.all("script")) == len(page.all("style")) == 1
    ids = page.having("id")
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert set(attributes.get(name, "").split()) <= set(ids)
    for address in page.having("href"):
        assert address.startswith(("https://", "data:image/svg+xml,")) or address[1:] in ids, address
    assert [tag for tag, attributes in page.elements if attributes.get("href", "").startswith("data:")] == ["link"]


def test_headings_are_in_order_and_everything_has_a_name() -> None:
    page = Page(whole())
    is_sound(page)
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert all(cell.get("scope") in ("col", "row") for cell in page.all("th"))
    charts = [svg for svg in page.all("svg") if svg.get("role") == "img"]
    assert len(charts) >= 6 and all(svg["aria-labelledby"] and svg["aria-describedby"] for svg in charts)
    assert all(svg.get("aria-hidden") == "true" for svg in page.all("svg") if svg not in charts)
    assert [tag for tag, _ in page.elements if tag in ("header", "nav", "main", "footer")] == ["header", "nav", "main", "header", "footer"]
    assert page.all("html") == [{"lang": "en"}]


def test_the_policy_lets_only_this_style_and_this_script_in() -> None:
    page = Page(whole())
    policy = next(meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    digests = {tag: base64.b64encode(hashlib.sha256(page.raw[tag].encode()).digest()).decode() for tag in ("style", "script")}
    hashes = {f"{tag}-src": f"'sha256-{digest}'" for tag, digest in digests.items()}
    assert parts == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "img-src": "data:", **hashes}
    assert not re.search(r"@import|url\(|https?:|fetch\(|localStorage|eval\(|innerHTML", page.raw["style"] + page.raw["script"])


def test_what_is_wrong_comes_first_with_its_commands() -> None:
    page = Page(whole())
    parts = (KERNEL.title, "sudo apt install linux-generic-hwe-22.04", "How far each stack gets", FOLLOWS.title, HINT.title,
             "By gpudoctor validate", "the knee is where", "Beside another report", "What changed",
             "About this report")  # fmt: skip
    places = [page.text.index(words) for words in parts]
    assert places == sorted(places)
    assert "Install a newer kernel. Then reboot." in page.text
    assert "Caused by 1: " + KERNEL.title in page.text
    assert {"https://github.com/intel/compute-runtime/issues/610"} <= set(page.having("href"))
    assert "The capture is beside this file." in page.text and "not reached" in page.text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"findings": ()}, "No problems found"),
        ({"findings": (), "stacks": (stack(verdict="unknown"),)}, "No problems found"),
        ({"findings": (), "facts": {"gpus": [], "platform": {"kind": "linux"}}}, "No GPU found; no other problems"),
        ({"findings": (HINT,), "incomplete": ("torch not inspected (15 s)",)}, "Incompletetorch not inspected (15 s)"),
        ({"redactions": {"user": 3, "host": 1, "ip": 2, "moon": 1}}, "3 user names, 1 host name, 2 network addresses, 1 moon."),
        ({"redactions": {}}, "Read it before you share it."),
        ({"not_looked_at": ("kernel log (needs root)",)}, "kernel log (needs root)"),
        ({"catalogue_version": "2026-11-20"}, "gpudoctor 0.1.0, catalogue 2026-11-20"),
    ],
)
def test_what_a_report_lacks_is_said(changes: dict[str, Any], said: str) -> None:
    assert said in Page(html(report(**changes))).text


def test_rungs_that_only_measuring_can_tell_are_no_doubt() -> None:
    layers = (LayerResult(layer="device", status="ok", detail="x"), LayerResult(layer="compute", status="unknown", detail=""))
    page = Page(html(report(stacks=(replace(stack(verdict="ok"), layers=layers),), findings=())))
    assert "not measuredcomputeto measure: gpudoctor validate" in page.text


def test_a_variable_is_one_word_of_a_shell() -> None:
    advice = Advice(text="Set it.", env={"A": "x y; rm -rf ~"}, commands=("one\ntwo",), recipe="ipex")
    text = Page(html(report(findings=(replace(KERNEL, advice=advice),)))).text
    assert "export A='x y; rm -rf ~'" in text and "one two" in text and "gpudoctor setup ipex --plan" in text


def test_facts_have_their_whole_names() -> None:
    facts = {
        "gpus": [{"name": "Arc", "memory_bytes": 8_589_934_592, "driver": None}], "kernel": {"release": "6.8"}, "flat": "x",
        "python": {"distributions": {"torch": "2.8"}, "many": list(range(40)), "none": []},
        "deep": {"a": {"b": {"c": {"d": [{"e": True}]}}}},
    }  # fmt: skip
    text = Page(html(report(facts=facts))).text
    for row in ("gpus[0].nameArc", "gpus[0].memory_bytes8589934592 (8.59 GB)", "gpus[0].drivernone", "kernel.release6.8", "flatx",
                "python.distributions.torch2.8", "python.nonenone", "deep.a.b.c.d[0].eyes", "3334"):  # fmt: skip
        assert row in text


def test_what_could_not_be_told_stands_with_its_reason() -> None:
    page = Page(html(report(unknown={"amd.kfd.node": "not recorded", "cpu.model": "denied"})))
    is_sound(page)
    assert "not determined2 factsamd.kfd.nodenot recordedcpu.modeldenied" in page.text


def test_measurements_tell_ceilings_references_and_faults() -> None:
    text = Page(html(report(measurements=MEASURED, facts={"measured": {"date": "2026-11-19T08:00:00Z"}}))).text
    for words in ("By gpudoctor validate, 2026-11-19 08:00 UTC.",
                  "31 % · compute bound", "73 % · memory bound", "0.62 ×, then 100 images/s", "wrong result", "skipped", "right, noisy",
                  "Noisy: ", "not enough memory", "61.0 W, 1 J per item (card, hwmon)", "410.0 GB/s", "1.02 ×"):  # fmt: skip
        assert words in text
    assert "https://example.org/published" in whole()


def test_several_frameworks_stand_beside_each_other_where_they_did_the_same_work() -> None:
    mine, other = MEASURED[1], replace(MEASURED[1], framework="openvino", noisy=None, throughput=Throughput(value=28.0, unit="TFLOP/s"))
    quiet = replace(mine, noisy=None)
    page = Page(html(report(measurements=(quiet, other))))
    is_sound(page)
    assert "The same work by several frameworks" in page.text and f"openvino{quiet.framework}Fastest and slowest apart" in page.text
    assert "28.00 TFLOP/s14.00 TFLOP/s2.0 times" in page.text
    assert "times" not in Page(html(report(measurements=(mine, other)))).text  # a noisy one decides nothing
    assert "several frameworks" not in Page(html(report(measurements=MEASURED))).text


def test_a_narrower_type_is_named_and_not_called_wrong() -> None:
    found = replace(MEASURED[3], correctness=replace(MEASURED[3].correctness, computed_in="TF32"))
    text = Page(html(report(measurements=(found,)))).text
    assert "computes in TF32" in text and "wrong result" not in text.replace(found.reason, "")


def test_the_sweep_names_knee_limit_and_what_did_not_fit() -> None:
    text = Page(comparison_page("0.1.0", "2026-11-20T10:00:00Z", sweeps=(SWEEP,))).text
    for words in ("Knee: batch 4", "Limit: batch 8", "memory is full", "Volatile: ", "✕", "batch 4: 900 images/s"):
        assert words in text


@pytest.mark.parametrize(
    ("diff", "said"),
    [
        (DIFF, "1 new error, 1 finding gone since last week"),
        (replace(DIFF, findings=DIFF.findings[1:2]), "No finding came or went since last week"),
        (replace(DIFF, findings=(), changes=()), "Nothing changed since last week"),
    ],
)
def test_a_comparison_says_first_what_came_of_it(diff: Any, said: str) -> None:
    page = Page(comparison_page("0.1.0", "2026-11-20T10:00:00Z", diff=diff, compared=COMPARISON))
    is_sound(page)
    assert page.text.count(said) == 2  # the title of the page, and its heading
    assert "0.88 × the speed of before.json" in Page(comparison_page("0.1.0", "", compared=COMPARISON)).text


def test_nothing_at_all_is_a_page_too() -> None:
    bare = replace(report(facts={}, findings=(), stacks=(), headline={}, not_looked_at=()), summary={})
    is_sound(Page(html(bare)))
    is_sound(Page(comparison_page("", "")))


def test_bars_stay_within_the_drawing() -> None:
    from gpudoctor.reporters.html.charts import Bar

    _, shapes = bars([Bar(label="x" * 200, value="9", share=7.0, tick=-3.0)])
    for shape in shapes:
        for value in shape.attrib.values():
            if value.endswith("%"):
                assert 0 <= float(value[:-1]) <= 100
    assert any(shape.get("class") == "beyond" for shape in shapes)


def test_a_large_machine_stays_small() -> None:
    facts = {"libraries": {f"libsomething-{number}.so": f"/usr/lib/x86_64-linux-gnu/libsomething-{number}.so" for number in range(4000)}}
    assert len(html(report(facts=facts))) < 1_200_000
    assert len(html(report())) < 60_000


@pytest.mark.parametrize(
    ("ref", "address"),
    [
        ("intel/compute-runtime#610", "https://github.com/intel/compute-runtime/issues/610"),
        ("https://dgpu-docs.intel.com/a?b=c#d", "https://dgpu-docs.intel.com/a?b=c#d"),
        ("http://example.org/", None),
        ("javascript:alert(1)", None),
        ("JaVaScRiPt:alert(1)//https://x", None),
        ("data:text/html,<script>", None),
        ("//example.org/x", None),
        ("https://", None),
        ("https://user:word@example.org/", None),
        ("https://example.org/ javascript:x", None),
        ('https://example.org/"onmouseover="x', 'https://example.org/"onmouseover="x'),
        ("https://exämple.org/", None),
        ("a/b#c", None),
        ("a/b/c#1", None),
        ("docs/design.md", None),
    ],
)
def test_only_https_and_issues_become_links(ref: str, address: str | None) -> None:
    assert elements.address_of(ref) == address
    page = Page(html(report(findings=(replace(KERNEL, sources=(ref,)),))))
    is_sound(page)
    links = [href for href in page.having("href") if href.startswith("https:")]
    assert links == ([address] if address else [])


@pytest.mark.parametrize("name", ["onclick", "style", "href", "src", "srcdoc", "action", "ONLOAD", "formaction"])
def test_an_element_cannot_be_given_what_runs(name: str) -> None:
    with pytest.raises(ValueError, match="may run"):
        elements.element("a", **{name: "x"})


HOSTILE = (
    "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"><svg onload=alert(1)>', "' onmouseover='alert(1)",
    "javascript:alert(1)", "</style><style>*{display:none}", "<!--", "]]>", "&lt;b&gt;", "</title><base href=//x>", "\u202egnp.exe",
    "\x1b[31m", "\x00", "\ud800", "a\nb",
    "<user-1>", "https://x.example/\"><script>", "x" * 3000,
)  # fmt: skip


def shown_with(text: str) -> Page:
    made = poisoned(report(measurements=MEASURED, findings=(KERNEL, HINT)), text)
    extra = {name: poisoned(value, text) for name, value in (("sweeps", (SWEEP,)), ("compared", COMPARISON), ("diff", DIFF))}
    findings = tuple(replace(each, key=f"{number}{text}") for number, each in enumerate(made.findings))
    stacks = tuple(replace(each, stack=f"{number}{text}") for number, each in enumerate(made.stacks))
    made = replace(made, facts={**made.facts, "a": {text: [{text: text}]}}, findings=findings, stacks=stacks,
                   unknown={text: text})  # fmt: skip
    return Page(html(made, ignored={text: text}, beside=text, **extra))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_stay_words(text: str) -> None:
    page = shown_with(text)
    is_sound(page)
    assert visible(text) in page.text


@settings(max_examples=25)
@given(st.text(min_size=1))
def test_any_text_is_only_text(text: str) -> None:
    page = shown_with(text)
    is_sound(page)
    assert visible(text, multiline=True).replace("\r", "") in page.text.replace("\r", "")


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@settings(max_examples=25)
@given(st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_facts_can_be_shown(value: Any) -> None:
    is_sound(Page(html(report(facts={"any": value}))))


def test_the_headline_after_a_measurement_is_the_result() -> None:
    page = html(report(findings=(), measurements=MEASURED))
    headline = re.sub(r"<[^>]+>", "", page[page.index("<h1") : page.index("</h1>")])
    assert headline == "resnet50 train: 62.00 images/s on xpu:0; 2 of 3 results match the reference"
