from __future__ import annotations

from msgspec.structs import replace
from reports import ARC, FOLLOWS, HINT, KERNEL, report, stack

from gpudoctor.model.report import LayerResult, StackResult
from gpudoctor.reporters.report.console import looked_for, render
from gpudoctor.reporters.shared.layout import Terminal

GOOD = {"errors": 0, "warnings": 0, "infos": 0, "unknown": 0, "first_broken": None}


def test_the_screen_says_machine_ladder_finding_and_the_next_command() -> None:
    screen = render(report())
    assert screen.startswith("Arc A770 · Ubuntu 22.04 · kernel 5.19.0-35 · Python 3.10.12 (active)\n")
    assert "broken at kernel driver\n" in screen
    assert "  BROKEN       kernel driver  Linux 5.19 is too old for Arc A770\n" in screen
    assert "  not reached  device node … visible\n" in screen
    assert "$ sudo apt install linux-generic-hwe-22.04\n" in screen
    assert "Then reboot." in screen
    assert "Caused by 1; fix that first." in screen
    assert "Also: IPEX is archived" in screen
    assert "Not read: kernel log (needs root)." in screen
    assert screen.endswith("Next: sudo apt install linux-generic-hwe-22.04\n")


def test_an_alternative_is_not_introduced_twice() -> None:
    other = replace(KERNEL, advice=replace(KERNEL.advice, otherwise=("Or take another kernel.",)))
    screen = render(report(findings=(other,)), verbose=True)
    assert "   or     Take another kernel.\n" in screen and "Or take" not in screen


def test_a_title_with_a_colon_is_asked_with_one_colon_only() -> None:
    guess = replace(KERNEL, confidence="possible", title="JAX runs on the CPU: no plugin")
    assert "Is this the problem? JAX runs on the CPU: no plugin" in " ".join(render(report(findings=(guess,))).split())


def test_a_name_keeps_its_capital_in_a_question() -> None:
    for title, asked in (
        ("Secure Boot refuses the module", "Secure Boot refuses the module"),
        ("The module is refused", "the module is refused"),
    ):
        screen = " ".join(render(report(findings=(replace(KERNEL, confidence="possible", title=title, ask=""),))).split())
        assert f"Is this the problem: {asked}?" in screen


def test_eighty_columns_hold_whatever_the_texts_are() -> None:
    long = replace(KERNEL, title="word " * 40, explanation="and more words " * 60, subjects=("0000:03:00.0",) * 30)
    screen = render(report(findings=(long, replace(HINT, title="hint " * 50)), not_looked_at=("kernel log " * 30,)), verbose=True)
    assert max(map(len, screen.splitlines())) <= 80


def test_a_command_stays_in_one_line() -> None:
    command = "sudo apt-get install " + " ".join(f"package-number-{number}" for number in range(12))
    screen = render(report(findings=(replace(KERNEL, advice=replace(KERNEL.advice, commands=(command,))),)))
    assert f"$ {command}\n" in screen


def test_no_colour_without_a_terminal_and_the_same_words_with_it() -> None:
    import re

    plain, coloured = render(report()), render(report(), Terminal(colour=True))
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_a_terminal_without_unicode_gets_ascii() -> None:
    assert render(report(), Terminal(unicode=False)).isascii()


def test_texts_of_the_machine_cannot_drive_the_terminal() -> None:
    evil = "\x1b]0;owned\x07Arc\x1b[2J\u202e\nA770"
    screen = render(report(headline={"machine": evil}, findings=(replace(KERNEL, title=evil, explanation=evil),), not_looked_at=(evil,)))
    assert not {char for char in screen if not char.isprintable()} - {"\n"}
    assert "owned" not in screen


def test_no_gpu_says_what_was_looked_at_and_advises_no_driver() -> None:
    nothing = report(facts={"gpus": [], "pci": {"devices": [{}, {}, {}]}}, findings=(), stacks=(), summary=GOOD, not_looked_at=())
    screen = render(nothing)
    assert "No GPU among the 3 devices of the PCI bus." in screen
    assert "driver" not in screen
    blind = report(facts={"gpus": [], "platform": {"kind": "container"}}, findings=(), stacks=(), summary=GOOD)
    assert looked_for(blind).startswith("No PCI bus is visible on this container")


def test_unknown_gpus_are_not_called_none() -> None:
    assert "No GPU" not in render(report(facts={}, findings=(), stacks=(), summary=GOOD, headline={"machine": "", "os": "Debian"}))


def test_what_is_not_installed_is_one_line() -> None:
    stacks = (stack("openvino", "incomplete", False), stack("jax", "incomplete", False))
    screen = render(report(stacks=stacks, findings=(), summary=GOOD))
    assert "Not installed: openvino, jax" in screen
    assert "openvino" not in render(report(stacks=(stack(), *stacks), findings=(KERNEL,))), "nobody asked for it"
    assert "torch is not installed" not in screen


def test_not_applicable_stacks_are_never_shown_and_equal_trouble_is_folded() -> None:
    stacks = (stack("ipex", used=False), stack("torch-xpu"), stack("opencl", used=False), stack("poplar", "not-applicable", False))
    screen = render(report(stacks=stacks))
    assert screen.index("PyTorch by torch-xpu") < screen.index("Also broken at kernel driver: ipex, opencl")
    assert "poplar" not in screen
    assert "PyTorch by opencl" in render(report(stacks=stacks), verbose=True)


def test_a_stack_of_which_nothing_could_be_told_gets_no_ladder() -> None:
    blind = StackResult(
        stack="opencl", title="OpenCL", verdict="unknown", used=False, layers=(LayerResult(layer="device", status="unknown", detail=""),)
    )
    because = replace(blind, layers=(LayerResult(layer="device", status="unknown", detail="clinfo is not installed"),))
    assert "OpenCL" not in render(report(stacks=(stack(), because))), "no gap where nobody needs it"
    assert "OpenCL: not checked (clinfo is not installed)" in render(report(stacks=(because,), findings=(), summary=GOOD))
    told = replace(because, used=True, layers=(LayerResult(layer="framework", status="ok", detail="pyopencl"), *because.layers))
    assert "not checked  device         clinfo is not installed" in render(report(stacks=(told,), findings=(), summary=GOOD))


def test_incomplete_comes_first() -> None:
    assert render(report(incomplete=("torch not inspected (15 s)",))).startswith("incomplete: torch not inspected (15 s)\n")


def test_quiet_is_findings_only() -> None:
    screen = render(report(), quiet=True)
    assert "kernel driver" not in screen.splitlines()[2]
    assert "Next:" not in screen


def test_an_ignored_check_that_would_fire_is_named_with_its_reason() -> None:
    from gpudoctor.model.report import Trace

    fired = Trace(check="archived", subject="", outcome="problem", applies=None, problem=None)
    quiet_one = replace(fired, check="other", outcome="ok")
    screen = render(report(findings=(KERNEL, FOLLOWS), traces=(fired, quiet_one)), ignored={"archived": "we know", "other": "x"})
    assert "Ignored: archived (we know)" in screen
    assert "other" not in screen


def test_a_healthy_machine_ends_well() -> None:
    fine = report(findings=(), stacks=(), facts={"gpus": [ARC]}, summary=GOOD, not_looked_at=())
    assert "No problems found." in render(fine)


def test_rungs_that_validate_fills_are_not_measured_rather_than_unknown() -> None:
    layers = [("device", "ok"), ("visible", "ok"), ("compute", "unknown"), ("performance", "unknown")]
    ladder = tuple(LayerResult(layer=layer, status=status, detail="") for layer, status in layers)
    sound = replace(stack(verdict="ok"), layers=ladder)
    text = render(report(findings=(), stacks=(sound,)), Terminal(width=100))
    assert "  not measured compute and performance; to measure: gpudoctor validate" in text and "not checked" not in text
    assert text.rstrip().endswith("gpudoctor validate")
    measured = replace(sound, layers=(*ladder[:2], LayerResult(layer="compute", status="ok", detail="9 results right"), ladder[3]))
    text = render(report(findings=(), stacks=(measured,)), Terminal(width=100))
    assert "9 results right" in text and "  not measured performance; to measure: gpudoctor validate" in text
