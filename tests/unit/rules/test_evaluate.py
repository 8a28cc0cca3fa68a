import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.rules.conditions import ConditionError, english, facts_of, parse
from gpudoctor.rules.evaluate import evaluate

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
