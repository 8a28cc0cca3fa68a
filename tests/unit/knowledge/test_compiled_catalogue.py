"""The compiled catalogue gives what can speak, reads nothing else, and stays as quick when it grows."""

from __future__ import annotations

import pytest
import whole_catalogue

from gpudoctor.diagnosis.candidates import may_speak_by_facts
from gpudoctor.diagnosis.messages import may_show
from gpudoctor.facts import vocabulary
from gpudoctor.knowledge import loader
from gpudoctor.knowledge.compiled_catalogue import CompiledCatalogue, compiled
from gpudoctor.knowledge.loader import head_of, our_catalogue
from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.signature import Numbered
from gpudoctor.rules.signatures import SearchedText

LINE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def entry(number: int, **table: object) -> dict[str, object]:
    return {"file": f"x/c{number}.toml", "topic": "x", "head": head_of({"id": f"c{number}", **table}), "table": "{}"}


def searched(text: str) -> SearchedText:
    return SearchedText([Numbered(number, line) for number, line in enumerate(text.splitlines(), 1)])


def ids(entries: object) -> list[str]:
    return [each["head"]["id"] for each in entries]  # type: ignore[attr-defined]


SPEAKS = [
    entry(0, signature=[{"text": ["no kernel image"]}], problem={"fact": "kernel.release", "is": "x"}),
    entry(1, signature=[{"text": ["*slow*"]}], problem={"fact": "kernel.release", "is": "x"}),
    entry(2, problem={"fact": "kernel.release", "is": "x"}),
    entry(3, for_each="gpus", problem={"fact": "gpu.driver", "absent": True}),
    entry(4, problem={"fact": "kernel.release", "absent": True}),
    entry(5, signature=[{"text": ["no device"]}, {"text": ["dead card"]}], proactive=True, problem={"fact": "wsl.version", "is": 1}),
]


def test_checks_come_by_words_by_facts_and_all_together() -> None:
    catalogue = CompiledCatalogue(compiled(SPEAKS, [], {}, "v"))
    assert ids(catalogue.entries()) == ["c0", "c1", "c2", "c3", "c4", "c5"]
    assert ids(catalogue.with_words(searched("no kernel image").words)) == ["c0", "c1"]
    assert ids(catalogue.with_words(searched("the CARDS are dead").words)) == ["c1", "c5"]
    assert ids(catalogue.with_facts(["kernel.release"].__contains__)) == ["c2", "c4"]
    assert ids(catalogue.with_facts(["gpus", "wsl.version"].__contains__)) == ["c3", "c4", "c5"]


@pytest.mark.parametrize("content", [b"", b"gpudoctor catalogue 1\n{}", compiled(SPEAKS, [], {}, "v").replace(b"\n\n", b"\nx\n")])
def test_bytes_of_another_version_and_damaged_ones_are_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"version|damaged"):
        CompiledCatalogue(content)


def test_no_check_that_speaks_is_left_out() -> None:
    items = vocabulary.items()
    catalogue, texts = our_catalogue(items), [example.text for check in whole_catalogue.catalogue().checks for example in check.examples]
    everything = list(catalogue.entries())
    for text in [text for text in texts if text][::97]:
        shown = searched(text)
        exactly = [each for each in everything if "signature" in each["head"] and may_show(shown, each["head"])]
        assert ids(exactly) == ids(each for each in catalogue.with_words(shown.words) if may_show(shown, each["head"]))
    facts = Facts({"kernel.release": Known("6.1.0"), "gpus": Known([{"vendor": "intel"}]), "python.version": Known("3.12.1")})
    exactly = [each for each in everything if may_speak_by_facts(facts, items, each["head"])]
    assert ids(exactly) == ids(each for each in catalogue.with_facts(facts.known) if may_speak_by_facts(facts, items, each["head"]))


class Counted:
    """Bytes that count how many of them were taken out."""

    def __init__(self, content: bytes) -> None:
        self.content, self.taken = content, 0
        self.find, self.rfind, self.__len__ = content.find, content.rfind, content.__len__

    def __getitem__(self, part: slice) -> bytes:
        found = self.content[part]
        self.taken += len(found)
        return found

    def __len__(self) -> int:
        return len(self.content)


def test_a_catalogue_ten_times_as_large_costs_at_most_a_tenth_more() -> None:
    ours = list(our_catalogue(vocabulary.items()).entries())
    others = [
        entry(number, signature=[{"text": [f"failure of unit{_letters(number)}", "device"]}], problem={"fact": "kernel.release", "is": "x"})
        for number in range(9 * len(ours))
    ]
    read = []
    for checks in (ours, [*ours, *others]):
        content = Counted(compiled(checks, [], {}, "v"))
        catalogue = CompiledCatalogue(content)
        shown = searched(LINE)
        spoken = [each for each in catalogue.with_words(shown.words) if may_show(shown, each["head"])]
        read.append((content.taken, len(spoken), len(catalogue.with_words(shown.words))))
    (small, few, looked_at), (large, same, looked_at_now) = read
    assert few == same > 0
    assert looked_at_now == looked_at
    assert large < 1.1 * small


def _letters(number: int) -> str:
    """A word of its own for each number."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def test_in_one_process_each_check_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An assistant asks again and again; a tenth of a second each time would be for nothing."""
    items = vocabulary.items()
    whole = loader.load_catalogue(items)
    monkeypatch.setattr(loader, "check_from", lambda *given, **named: pytest.fail("a check was built again"))
    assert loader.load_catalogue(items).checks is whole.checks
    entries = list(our_catalogue(items).entries())[::100]
    known = {check.id: check for check in whole.checks}
    assert all(check is known[check.id] for check in loader.load_catalogue(items, wanted=entries).checks)
