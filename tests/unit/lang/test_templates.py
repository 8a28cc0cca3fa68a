from gpudoctor.lang.templates import fields_of, fill
from gpudoctor.model.facts import Absent, Facts, Known, Unknown

FACTS = Facts(
    {"gpu.name": Known("{kernel.release}"), "kernel.release": Known("6.2"), "a": Absent(), "b": Unknown("timeout"),
     "gpu.memory_bytes": Known(16 * 2**30), "ok": Known(True), "many": Known(["x", "y"])}
)  # fmt: skip


def test_values_are_filled_in_and_never_read_as_templates_again():
    assert fill("{gpu.name} on {kernel.release}", FACTS) == "{kernel.release} on 6.2"


def test_absent_unknown_sizes_and_lists_read_as_a_person_would_say_them():
    assert fill("{a} {b} {gpu.memory_bytes} {ok} {many}", FACTS) == "none unknown 16 GiB yes x, y"


def test_other_braces_stay():
    assert fill("awk '{print $1}' ${HOME} {}", FACTS) == "awk '{print $1}' ${HOME} {}"


def test_other_words_where_a_fact_is_not_known() -> None:
    facts = Facts({"driver": Known("570.1"), "gone": Absent()})
    assert fill("the driver{gone| here}: {driver|in use}, {other|of this machine}", facts) == "the driver here: 570.1, of this machine"
    assert fields_of("{driver|in use} {a.b}") == {"driver", "a.b"}
