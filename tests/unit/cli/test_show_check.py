"""gpudoctor show CHECK: everything that its file says, in English, without braces, and the checks that name it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpudoctor import cli

SAYS = """
id = "card-asleep"
title = "{gpu.name|The card} sleeps under kernel {kernel.release}"
severity = "warning"
layer = "device"
stacks = ["opencl"]
for_each = "gpus"
at_most = "likely"
explanation = "It was sent to sleep."
[[signature]]
text = ["card fell asleep", ["zzz", "snore"]]
none_of = ["dream"]
within = 4
context = ["opencl"]
pattern = "asleep (?P<when>[0-9]+)"
[applies]
all = [{ fact = "gpu.driver", is = "xe" }, { some = { of = "gpus", where = { fact = "gpu.vendor", is = "intel" } } }]
[problem]
fact = "gpu.access"
is = false
[advice]
do = "Wake it up."
steps = ["wake {gpu.node|/dev/dri/renderD128}"]
needs_reboot = true
recipe = "opencl"
[[variant]]
when = { fact = "os.id", is = "debian" }
do = "Wake it with apt."
[[source]]
ref = "owner/repo#1"
read = 2026-11-20
says = "it sleeps"
"""
FOLLOWS = """
id = "card-dreams"
title = "It dreams"
severity = "info"
layer = "device"
stacks = ["opencl"]
explanation = "It does."
caused_by = ["card-asleep"]
[[signature]]
text = ["the card dreams of sheep"]
[advice]
do = "Let it."
otherwise = ["Dream too."]
[[source]]
ref = "owner/repo#2"
read = 2026-11-20
"""


def run(*words: str) -> int:
    return cli.run(list(words))


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "sleep").mkdir()
    (tmp_path / "sleep" / "card-asleep.toml").write_text(SAYS)
    (tmp_path / "sleep" / "card-dreams.toml").write_text(FOLLOWS)
    return str(tmp_path)


def test_all_of_a_check_is_told(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "card-asleep", "--checks", folder, "-v") == 0
    text = capsys.readouterr().out
    flat = " ".join(text.split())
    assert flat.index("Wake it up.") < flat.index("why It was") < flat.index("applies where"), "what to do, why, then the rules"
    for said in (
        "<gpu.name> sleeps under kernel <kernel.release> card-asleep · warning, device, opencl",
        "why It was sent to sleep.",
        "for each gpu of gpus",
        "applies where all of these hold: - gpu.driver is xe - some of gpus: gpu.vendor is intel",
        "messages - 'card fell asleep', together with ('zzz' or 'snore'), within 4 lines; not where 'dream' stands there; "
        "only where the text also holds 'opencl'; and it matches /asleep (?P<when>[0-9]+)/",
        "fires gpu.access is false (only where a text shows one of these messages)",
        "(never more than likely)",
        "do Wake it up. $ wake <gpu.node> Then reboot. Or let gpudoctor do it, after it has shown its plan: $ gpudoctor setup opencl",
        "On Debian: Wake it with apt.",
        "leads to card-dreams",
        "source owner/repo#1 (read 2026-11-20) it sleeps",
    ):
        assert said in flat, said
    assert "{" not in text and all(len(line) <= 80 for line in text.splitlines()[2:])


def test_the_rules_of_its_author_are_for_v(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "card-asleep", "--checks", folder) == 0
    flat = " ".join(capsys.readouterr().out.split())
    assert "Wake it up." in flat and "applies where" not in flat and "gpudoctor show card-asleep -v" in flat


def test_a_check_of_messages_alone_says_so_and_names_what_it_follows(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "card-dreams", "--checks", folder, "-v") == 0
    flat = " ".join(capsys.readouterr().out.split())
    assert "fires where a text shows one of these messages; it reads no fact" in flat
    assert "Otherwise: Dream too. why It does. follows card-asleep" in flat


def test_programs_get_messages_and_relations_too(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "card-asleep", "--checks", folder, "--format", "json") == 0
    table = json.loads(capsys.readouterr().out)
    assert table["causes"] == ["card-dreams"]
    assert len(table["messages"]) == 1 and table["title"].startswith("{gpu.name|The card}")


def test_a_stack_counts_the_checks_of_its_rungs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "opencl") == 0
    flat = " ".join(capsys.readouterr().out.split())
    assert "checks" in flat and "else: " in flat and "{" not in flat.split("gpudoctor setup")[0]


def shown(name: str, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    assert run("show", name, *more) == 0
    return capsys.readouterr().out


def test_every_placeholder_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    import re

    text = shown("torch-cpu-build-on-nvidia", capsys)
    advice, _, _ = text.partition("\nfill in")
    for name in set(re.findall(r"<([a-z_]+\.[a-z_.]+)>", advice)):
        assert f"<{name}>: " in " ".join(text.split()), name
    assert "$ gpudoctor setup cuda\n" in text, "a command is not broken across lines"


def test_conditions_stand_in_a_readers_words_and_as_written_with_v(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown("nvidia-secure-boot-rejects-module", capsys)
    assert "          on Fedora:\n          $ sudo kmodgenca" in text and "os.id" not in text
    for stack in ("torch-cuda", "opencl", "poplar", "torch-mps", "openvino"):
        text = shown(stack, capsys)
        assert "platform.kind" not in text and "some of" not in text and "<measured" not in text and " ok where " not in text
        assert "ok where" in shown(stack, capsys, "-v")


def test_variables_are_set_as_the_system_does(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(folder) / "sleep" / "card-dreams.toml"
    told = FOLLOWS.replace('do = "Let it."', 'do = "Let it."\nenv = { DREAM = "1" }')
    for kind, wanted, missing in (("windows", "> set DREAM=1\n", "export"), ("linux", "$ export DREAM=1\n", "> set")):
        path.write_text(told.replace("[advice]", f'[applies]\nfact = "platform.kind"\nis = "{kind}"\n[advice]'))
        text = shown("card-dreams", capsys, "--checks", folder)
        assert wanted in text and missing not in text
    path.write_text(told)
    text = shown("card-dreams", capsys, "--checks", folder)
    assert "$ export DREAM=1\n" in text and "> set DREAM=1    (Windows)\n" in text
