import pytest

from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.rules.templates import fields_in_order, fields_of, fill, fill_command, fill_known, readable, size

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


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (10 * 2**10 + 512, "10 KiB"), (2**20, "1 MiB"),
        (2**30 - 1, "1024 MiB"), (2**30, "1 GiB"), (int(7.75 * 2**30), "7.8 GiB"), (80 * 2**30, "80 GiB"),
    ],
)  # fmt: skip
def test_sizes_are_powers_of_two(number: int, words: str) -> None:
    assert size(number) == words


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("driver {kernel.release}, {b} of it", "driver 6.2"),
        ("driver {kernel.release}, {b|some} of it", "driver 6.2, some of it"),
        ("{empty|nothing} here, {none} there", "nothing here"),
        ("{no_items|none}, {kernel.release}", "none, 6.2"),
        ("{a}, {b}", ""),
        ("{b|}, {kernel.release}", "6.2"),
        ("plain, words", "plain, words"),
    ],
)
def test_a_detail_passes_over_what_is_not_known(template: str, words: str) -> None:
    facts = Facts({"kernel.release": Known("6.2"), "b": Unknown("timeout"), "empty": Known(""), "none": Known(None), "no_items": Known([])})
    assert fill_known(template, facts) == words


def test_a_template_reads_without_a_machine() -> None:
    assert readable("rmmod {kernel.module|xe} {a.b}") == "rmmod <kernel.module> <a.b>"
    assert fields_in_order("{b} {a|x} {b}") == ["b", "a", "b"]


def test_a_number_of_bytes_is_a_size_only_by_its_name() -> None:
    facts = Facts({"x_bytes": Known(2**30), "y_bytes": Known("2 GB"), "count": Known(2**30), "gone_bytes": Absent()})
    assert fill("{x_bytes} {y_bytes} {count} {gone_bytes|nothing} {never}", facts) == "1 GiB 2 GB 1073741824 nothing unknown"


@pytest.mark.parametrize(
    ("field", "value", "command"),
    [
        ("kernel.release", "6.8.0-45", "6.8.0-45"), ("a.path", "/a/b", "/a/b"), ("a.path", "/a b/c", "'/a b/c'"),
        ("a.path", "C:\\Program Files\\x", '"C:\\Program Files\\x"'), ("a.path", "C:/a b", '"C:/a b"'),
        ("a.name", "/a/b", None), ("a.name", "a@b", None),
        ("a.path", "https://x/y", None), ("a.index", "https://x/y", "https://x/y"), ("index", "https://x/y", "https://x/y"),
        ("x_index.url", "https://x/y", "https://x/y"), ("indexed", "https://x/y", None), ("a.index", "http://x/y", None),
        ("a.command", "apt install -y x", "apt install -y x"), ("a.name", "apt install", None), ("a.path", "relative b", None),
        ("a.path", "~/a b", "'~/a b'"), ("a.name", "x" * 160, "x" * 160), ("a.name", "x" * 161, None), ("a.name", "-rf", None),
    ],
)  # fmt: skip
def test_a_value_is_one_word_of_a_command_or_there_is_no_command(field: str, value: str, command: str | None) -> None:
    assert fill_command(f"do {{{field}}} now", Facts({field: Known(value)})) == (command and f"do {command} now")


def test_a_command_without_a_fact_is_none_unless_other_words_stand_for_it() -> None:
    facts = Facts({"gone": Absent(), "ok": Known("x")})
    assert fill_command("do {gone}", facts) is None and fill_command("do {never}", facts) is None
    assert fill_command("do {ok} {gone|nothing}!", facts) == "do x nothing!"
    assert fill_command("do 'it'", facts) == "do 'it'"


def test_a_path_in_quotes_of_the_template_gets_no_quotes_of_its_own() -> None:
    facts = Facts({"cwd.path": Known("/a b")})
    assert [fill_command(template, facts) for template in ('ls "{cwd.path}"', "ls '{cwd.path}'", "ls {cwd.path}")] == [
        'ls "/a b"', "ls '/a b'", "ls '/a b'",
    ]  # fmt: skip
