import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from gpudoctor.facts import vocabulary
from gpudoctor.knowledge import loader, paths
from gpudoctor.knowledge.lint import lint_check, unknown_facts
from gpudoctor.knowledge.loader import CACHED, compile_folder, load_catalogue, read_folder
from gpudoctor.knowledge.slow_patterns import slow_pattern
from gpudoctor.knowledge.structure import DataError, check_from
from gpudoctor.model.facts import FactSpec

TABLE = {
    "id": "kernel-too-old", "title": "The kernel is too old for {gpu.name}", "severity": "error", "layer": "kernel-driver",
    "stacks": ["torch-xpu"], "explanation": "why", "for_each": "gpus", "problem": {"fact": "gpu.driver", "absent": True},
    "advice": {"do": "do"}, "verified": {"on": "2026-01-01", "how": "source"}, "review_by": "2026-06-01",
    "source": [{"ref": "owner/repo#1", "read": "2026-01-01", "supports": ["cause"], "says": "so"}],
    "example": [
        {"name": "bad", "expect": "problem", "facts": {"gpus": [{"driver": {"absent": True}}]}},
        {"name": "good", "expect": "ok", "facts": {"gpus": [{"driver": "xe"}]}},
    ],
}  # fmt: skip
SPECS = {"gpus": FactSpec("gpus", "records", "GPUs", item="gpu", fields={"driver": "driver", "name": "name"})}


def read(**changes):
    return check_from({**TABLE, **changes}, "x/kernel-too-old.toml", "x", {"gpus": "gpu"})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"severty": "error"}, "severty: unknown key (did you mean 'severity'?)"),
        ({"severity": "fatal"}, "severity: 'fatal' is none of error, warning, info"),
        ({"layer": "kernel_driver"}, "did you mean 'kernel-driver'"),
        ({"title": 6.1}, "title: expected a text, found 6.1"),
        ({"problem": {"fact": "gpu.driver", "iss": 1}}, "problem: unknown operator 'iss'"),
        ({"for_each": "gpuz"}, "for_each: 'gpuz' is no records fact (did you mean 'gpus'?)"),
        ({"advice": {}}, "advice.do: is missing"),
        ({"advice": {"do": "x", "env": {"A": 1}}}, "advice.env: expected texts"),
        ({"stacks": [1]}, "stacks: expected a list of texts"),
        ({"signature": [{"text": ["a literal", ["words:slows"]]}]}, "no group 'slows' in rules/synonyms.py (did you mean 'slow'?)"),
        ({"signature": [{"text": ["crw-------  1 root"]}]}, "expected one space between words"),
        ({"confidence": "likely"}, "confidence: unknown key"),
        ({"advice": {"do": "x", "steps": [{"when": {"fact": "a", "is": 1}}]}}, "advice.steps[0].run: is missing"),
        ({"source": [{"ref": "o/r#1", "read": "2026-01-01", "supports": ["proof"]}]}, "is none of symptom, cause, fix"),
        ({"signature": [{"text": ["a literal"], "roles": ["faliure"]}]}, "did you mean 'failure'"),
        ({"signature": [{"text": [["words:slow", ""]]}]}, "signature[0].text: expected a list of texts, or of lists"),
    ],
)
def test_a_wrong_file_names_itself_the_key_and_what_was_meant(changes, words):
    with pytest.raises(DataError) as error:
        read(**changes)
    assert str(error.value).startswith("x/kernel-too-old.toml: ")
    assert words in str(error.value)


def lines(**changes):
    return lint_check(read(**changes), SPECS, ["kernel-too-old"], ["torch-xpu"])


def with_example(**given):
    """The table's examples and one more."""
    return {"example": [*TABLE["example"], {"name": "third", "expect": "ok", "facts": {}, **given}]}


def test_two_records_may_call_their_item_alike():
    other = FactSpec("cards", "records", "cards", item="gpu", fields={"torch": "runs"})
    assert unknown_facts({"gpu.torch"}, {**SPECS, "cards": other}, {"cards"}) == []
    assert unknown_facts({"gpu.torch"}, {**SPECS, "cards": other}, {"gpus"}) == ["fact: 'gpu' has no field 'torch'"]


def test_records_of_one_item_have_one_set_of_fields_or_more_of_it():
    """A condition on an item's field means the same in each list of such items."""
    by_item = {}
    for spec in vocabulary.specs().values():
        if spec.item:
            by_item.setdefault(spec.item, []).append(set(spec.fields or ()))
    assert not [item for item, fields in by_item.items() if len(fields) > 1 and min(fields, key=len) != set.intersection(*fields)]


def test_lint_accepts_a_right_file():
    assert lines() == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"title": "{gpu.nam}"}, "'gpu' has no field 'nam' (did you mean 'name'?)"),
        ({"problem": {"fact": "kernel.relese", "is": "x"}}, "'kernel.relese' is not in the vocabulary"),
        ({"caused_by": ["nobody"]}, "caused_by: no check 'nobody'"),
        ({"stacks": ["torch-xpuu"]}, "did you mean 'torch-xpu'"),
        ({"signature": [{"text": [["words:not-seen", "not there at all"]]}]}, "no literal of 6 letters or more"),
        ({"source": []}, "at least one [[source]]"),
        ({"title": "Install the driver of {gpu.name}"}, "title: names a cure"),
        ({"advice": {"do": "Do this. Then do that."}}, "do: says more than one sentence"),
        ({"advice": {"do": "x" * 161}}, "one sentence of at most 160"),
        ({"source": [{"ref": "o/r#1", "read": "2026-01-01", "supports": ["symptom"]}]}, "needs a source for its cause or fix"),
        ({"review_by": "2029-01-01"}, "review_by: 1096 days"),
        ({"advice": {"do": "x", "steps": ["modprobe i915 || modprobe xe"]}}, "the second module is never tried"),
        ({"example": TABLE["example"][:1]}, "example: none that is fine"),
        ({"example": TABLE["example"][1:]}, "example: none that is a problem"),
        ({"problem": {"fact": "gpu.name", "matches": "(a+)+$"}}, "repeats a repeat"),
        (with_example(answered_by=["nobody"]), "example 'third': answered_by: no check 'nobody'"),
        (with_example(facts={"kernel.relese": "6.1"}), "example 'third': fact: 'kernel.relese' is not in the vocabulary"),
        (with_example(facts={"gpus": [{"drivers": "xe"}]}), "'gpus' has no field 'drivers' (did you mean 'driver'?)"),
    ],
)
def test_lint_says_what_is_wrong(changes, words):
    assert any(words in line for line in lines(**changes))


@pytest.mark.parametrize("pattern", ["(a+)+", "(?:x*y*)*", r"(a|b+)*c", ".{0,4000}", r"(a)\1"])
def test_patterns_that_could_take_long_are_refused(pattern):
    assert slow_pattern(pattern)


@pytest.mark.parametrize("pattern", [r"NVRM: .*mismatch", r"xe .{0,40}wedged", r"(?:abc)+", r"\b[a-z]{1,40} \d+"])
def test_linear_patterns_pass(pattern):
    assert slow_pattern(pattern) is None


def test_the_bundle_says_what_the_files_say(tmp_path, monkeypatch):
    items = vocabulary.items()
    folder = paths.checkout_checks()
    assert folder is not None
    bundle = tmp_path / "catalogue"
    bundle.write_bytes(compile_folder(folder))
    monkeypatch.setattr(paths, "checkout_checks", lambda: None)
    monkeypatch.setattr(paths, "COMPILED", bundle)
    compiled = load_catalogue(items)
    checks, stacks = read_folder(folder, items)
    assert [check.id for check in compiled.checks] == [check.id for check in checks]
    differing = [check.id for ours, check in zip(compiled.checks, checks, strict=True) if ours != replace(check, examples=())]
    assert differing == [] and list(compiled.stacks) == stacks


CHECK = 'id="a"\ntitle="{}"\nseverity="info"\nlayer="device"\nstacks=[]\nexplanation="e"\n[problem]\nall=[]\n[advice]\ndo="t"\n'


def a_folder(place: Path, title: str) -> Path:
    (place / "x").mkdir(parents=True)
    (place / "x" / "a.toml").write_text(CHECK.format(title))
    return place


def test_checkouts_do_not_take_turns_in_one_file_and_old_ones_go(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folders = [a_folder(tmp_path / f"checks-{number}", f"of {number}") for number in range(CACHED + 2)]
    for number, folder in enumerate(folders):
        monkeypatch.setattr(paths, "checkout_checks", lambda folder=folder: folder)
        assert load_catalogue({}).checks[0].title == f"of {number}"
        os.utime(paths.cached_catalogue(folder), (number, number))
    kept = [paths.cached_catalogue(folder).is_file() for folder in folders]
    assert kept == [False, False] + [True] * CACHED and len(list((tmp_path / "cache" / "gpudoctor").iterdir())) == CACHED


def test_an_edited_catalogue_is_compiled_again(tmp_path, monkeypatch):
    folder = a_folder(tmp_path / "checks", "before")
    file = folder / "x" / "a.toml"
    monkeypatch.setattr(paths, "checkout_checks", lambda: folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert load_catalogue({}).checks[0].title == "before"
    assert paths.cached_catalogue(folder).is_file()
    file.write_text(CHECK.format("after now"))
    loader._key_of.cache_clear()  # the next process
    assert load_catalogue({}).checks[0].title == "after now"
    paths.cached_catalogue(folder).write_text("{ broken")
    loader._kept.cache_clear()
    assert load_catalogue({}).checks[0].title == "after now"


def test_a_further_folder_adds_checks_and_a_repeated_id_is_an_error(tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    (folder / "x").mkdir(parents=True)
    text = 'id="mine"\ntitle="t"\nseverity="info"\nlayer="device"\nstacks=[]\nexplanation="e"\n[problem]\nall=[]\n[advice]\ndo="t"\n'
    (folder / "x" / "mine.toml").write_text(text)
    items = vocabulary.items()
    assert any(check.id == "mine" for check in load_catalogue(items, [str(folder)]).checks)
    with pytest.raises(DataError, match="exists twice"):
        load_catalogue(items, [str(folder), str(folder)])
    with pytest.raises(DataError, match="no such folder"):
        load_catalogue(items, [str(tmp_path / "nowhere")])
    (folder / "x" / "mine.toml").write_text("id = [")
    with pytest.raises(DataError, match="no TOML"):
        load_catalogue(items, [str(folder)])


def test_a_wheel_without_its_bundle_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "checkout_checks", lambda: None)
    monkeypatch.setattr(paths, "COMPILED", tmp_path / "none.json")
    with pytest.raises(DataError, match="reinstall"):
        loader.load_catalogue({})


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ({"not": {"fact": "platform.kind", "is": "windows"}}, True),
        ({"all": [{"not": {"fact": "platform.kind", "is": "windows"}}, {"not": {"fact": "os.id", "is": "arch"}}]}, True),
        ({"any": [{"fact": "platform.kind", "unknown": True}, {"not": {"fact": "platform.kind", "is": "windows"}}]}, False),
        ({"all": [{"fact": "platform.kind", "known": True}, {"not": {"fact": "platform.kind", "is": "windows"}}]}, False),
        ({"not": {"fact": "platform.kind", "known": True}}, False),
        ({"not": {"fact": "gpu.driver", "is": "xe"}}, False),
    ],
)
def test_lint_names_a_variant_that_only_denies(when, said):
    found = [line for line in lines(variant=[{"when": when, "do": "x"}]) if "never applies" in line]
    assert bool(found) is said
    if said:
        assert found[0].startswith("variant[0].when: never applies while 'platform.kind' is unknown; write any = [")
