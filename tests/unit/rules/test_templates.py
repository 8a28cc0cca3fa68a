from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.rules.templates import fields_of, fill, fill_command

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


def test_several_words_of_our_own_tables_make_a_command() -> None:
    words = {
        "python.onnxruntime_names": Known("onnxruntime onnxruntime-gpu"),
        "ipex.install.index": Known("-f https://developer.intel.com/ipex-whl-stable-xpu"),
        "said.module": Known("a b"),
        "odd_names": Known("a; reboot"),
    }
    facts = Facts(words)
    assert fill_command("pip uninstall -y {python.onnxruntime_names}", facts) == "pip uninstall -y onnxruntime onnxruntime-gpu"
    assert fill_command("pip install x {ipex.install.index}", facts) == "pip install x -f https://developer.intel.com/ipex-whl-stable-xpu"
    assert fill_command("pip install {said.module}", facts) is None
    assert fill_command("pip install {odd_names}", facts) is None


def test_a_remedy_of_our_own_tables_is_told_whole() -> None:
    remedy = ("Bring the library. " * 20).strip()
    facts = Facts({"failure.remedy": Known(remedy), "said.what": Known("x" * 400)})
    assert fill("Do: {failure.remedy}.", facts) == f"Do: {remedy}"
    assert len(fill("{said.what}", facts)) < 170, "what a text says stays short"
