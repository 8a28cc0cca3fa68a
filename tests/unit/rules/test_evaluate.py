import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.rules.conditions import ConditionError, english, facts_of, parse
from gpudoctor.rules.evaluate import evaluate, seen, shown

ITEMS = {"gpus": "gpu"}
FACTS = Facts(
    {
        "kernel.release": Known("5.19.0-35-generic", "/proc/sys/kernel/osrelease"),
        "env": Known({"PATH": "/bin"}),
        "secure_boot.enabled": Unknown("permission denied"),
        "wsl.dxg": Known(False),
        "python.distributions": Known({"torch": "2.8.0+xpu", "onnxruntime": ["1.18.0", "1.19.2"], "numpy": {"version": "2.1.0"}}),
        "nvidia.driver.version": Absent("/proc/driver/nvidia/version"),
        "gpus": Known([{"name": "A770", "vendor": "intel", "access": False, "min": "6.2"}, {"name": "x", "vendor": "amd"}]),
    }
)


def truth(table):
    return evaluate(parse(table, "problem", ITEMS), FACTS).truth


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [
        ({"fact": "kernel.release", "older_than": "6.2"}, "true"),
        ({"fact": "kernel.release", "at_least": "5.19"}, "true"),
        ({"fact": "wsl.dxg", "is": False}, "true"),
        ({"fact": "wsl.dxg", "is": True}, "false"),
        ({"fact": "wsl.dxg", "present": True}, "false"),
        ({"fact": "secure_boot.enabled", "is": True}, "unknown"),
        ({"fact": "secure_boot.enabled", "known": True}, "false"),
        ({"fact": "secure_boot.enabled", "unknown": True}, "true"),
        ({"fact": "nvidia.driver.version", "at_least": "525"}, "false"),
        ({"fact": "nvidia.driver.version", "absent": True}, "true"),
        ({"fact": "python.distributions.torch", "version": ">=2.8,<2.9"}, "true"),
        ({"fact": "python.distributions.onnxruntime", "version": ">=1.19"}, "true"),
        ({"fact": "python.distributions.numpy", "version": ">=2"}, "true"),
        ({"fact": "python.distributions.jax", "absent": True}, "true"),
        ({"fact": "python.distributions", "contains": "torch"}, "true"),
        ({"fact": "python.distributions", "matches": "^onnx"}, "true"),
        ({"fact": "env.IPEX_XPU_ONEDNN_LAYOUT", "absent": True}, "true"),
        ({"fact": "never.asked", "is": "x"}, "unknown"),
        ({"fact": "kernel.release", "less_than": 3}, "unknown"),
        ({"some": {"of": "gpus", "where": {"fact": "gpu.vendor", "is": "amd"}}}, "true"),
        ({"some": {"of": "gpus", "where": {"fact": "gpu.access", "is": True}}}, "unknown"),
        ({"some": {"of": "gpus", "where": {"fact": "kernel.release", "older_than_fact": "gpu.min"}}}, "true"),
        ({"some": {"of": "gpus", "where": {"fact": "gpu.vendor", "is": "x"}}}, "false"),
        ({"fact": "kernel.release", "older_than_fact": "secure_boot.enabled"}, "unknown"),
        ({"fact": "kernel.release", "older_than_fact": "nvidia.driver.version"}, "false"),
        ({"fact": "nvidia.driver.version", "older_than_fact": "kernel.release"}, "false"),
        ({"fact": "nvidia.driver.version", "known": True}, "false"),
        ({"fact": "nvidia.driver.version", "unknown": True}, "false"),
        ({"fact": "nvidia.driver.version", "present": True}, "false"),
        ({"fact": "kernel.release", "absent": True}, "false"),
        ({"fact": "kernel.release", "known": True}, "true"),
        ({"fact": "kernel.release", "present": True}, "true"),
        ({"fact": "secure_boot.enabled", "absent": True}, "unknown"),
    ],
)
def test_each_operator_on_known_absent_and_unknown_facts(leaf, expected):
    assert truth(leaf) == expected


LEAVES = {
    "true": {"fact": "wsl.dxg", "is": False},
    "false": {"fact": "wsl.dxg", "is": True},
    "unknown": {"fact": "secure_boot.enabled", "is": True},
}
ORDER = ["false", "unknown", "true"]


@given(st.lists(st.sampled_from(ORDER), min_size=1, max_size=6))
def test_all_is_the_least_and_any_the_greatest_truth(truths):
    parts = [LEAVES[name] for name in truths]
    assert truth({"all": parts}) == min(truths, key=ORDER.index)
    assert truth({"any": parts}) == max(truths, key=ORDER.index)
    assert truth({"not": {"all": parts}}) == truth({"any": [{"not": part} for part in parts]})


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"fact": "a", "older_then": "6.2"}, "did you mean 'older_than'"),
        ({"fact": "a"}, "exactly one operator"),
        ({"fact": "a", "is": 1, "in": [1]}, "exactly one operator"),
        ({"fact": "a", "older_than": 6.2}, "takes str"),
        ({"fact": "a", "matches": "("}, "no regular expression"),
        ({"fact": "a", "version": "about 2"}, "no version specifier"),
        ({"fact": "a", "known": False}, "use not"),
        ({"all": [], "fact": "a"}, "stands alone"),
        ({"some": {"of": "gpu", "where": {}}}, "did you mean 'gpus'"),
        ([], "a condition is a table"),
    ],
)
def test_a_malformed_condition_says_where_and_what_was_meant(table, words):
    with pytest.raises(ConditionError) as error:
        parse(table, "problem", ITEMS)
    assert str(error.value).startswith("problem")
    assert words in str(error.value)


def test_every_branch_is_evaluated_so_that_the_explanation_is_complete():
    verdict = evaluate(parse({"all": [LEAVES["false"], LEAVES["unknown"], LEAVES["true"]]}, "problem", ITEMS), FACTS)
    assert [leaf.truth for leaf in verdict.leaves()] == ["false", "unknown", "true"]
    assert verdict.leaves()[1].seen == "unknown: permission denied"


def test_a_condition_names_its_facts_and_reads_as_english():
    condition = parse({"all": [{"fact": "a.b", "older_than_fact": "c.d"}, {"not": {"fact": "e", "absent": True}}]}, "x", ITEMS)
    assert facts_of(condition) == {"a.b", "c.d", "e"}
    assert english(condition) == "a.b is older than c.d and not (e is absent)"


def test_a_collection_without_items_holds_none_of_them():
    where = {"fact": "gpu.vendor", "is": "amd"}
    condition = parse({"some": {"of": "gpus", "where": where}}, "x", ITEMS)
    for fact in (Known([]), Known("odd"), Absent(), Known(["odd"])):
        verdict = evaluate(condition, Facts({"gpus": fact}))
        assert (verdict.truth, verdict.text, verdict.seen) == ("false", "some of gpus: gpu.vendor is amd", "none")
    verdict = evaluate(condition, Facts({"gpus": Unknown("timeout")}))
    assert (verdict.truth, verdict.text, verdict.seen) == ("unknown", "some of gpus: gpu.vendor is amd", "unknown: timeout")
    verdict = evaluate(condition, FACTS)
    assert (verdict.truth, verdict.text, [part.truth for part in verdict.parts]) == ("true", "some of gpus", ["false", "true"])
    assert evaluate(condition, Facts({"gpus": Known(({"vendor": "amd"},))})).truth == "true", "of a tuple too"


def test_a_verdict_says_what_was_asked_what_was_seen_and_where():
    verdict = evaluate(parse({"fact": "kernel.release", "is": "6"}, "x", ITEMS), FACTS)
    assert (verdict.truth, verdict.text) == ("false", "kernel.release is 6")
    assert (verdict.seen, verdict.source) == ("5.19.0-35-generic", "/proc/sys/kernel/osrelease")
    assert evaluate(parse({"not": LEAVES["true"]}, "x", ITEMS), FACTS).text == "not"


def test_a_value_reads_as_a_person_would_say_it():
    cards = [{"name": "A770"}, {"address": "0000:03:00.0"}, {"name": "A770"}, {"driver": "xe", "node": "x"}]
    assert shown(cards) == "2 x A770, 0000:03:00.0, driver, node"
    assert (shown(["a", "a"]), shown([]), shown(()), shown(True), shown(False), shown(7)) == ("a, a", "none", "none", "yes", "no", "7")
    assert shown({"version": "2.1", "x": 1}) == "2.1" and shown({"a": 1, "b": 2}) == "a, b"
    assert shown("x" * 160) == "x" * 160 and shown("x" * 161) == "x" * 157 + "…" and shown("x" * 50, 10) == "x" * 7 + "…"
    assert (seen(Unknown("timeout")), seen(Absent()), seen(Known(True))) == ("unknown: timeout", "absent", "yes")
