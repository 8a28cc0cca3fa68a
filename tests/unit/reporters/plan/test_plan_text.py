from __future__ import annotations

import re
import subprocess

import pytest
from hostile_plans import plans as hostile
from hostile_plans import texts
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from plans import ALL, ARC, CHOICE, POPLAR, REFUSED, ROCM, WSL

from gpudoctor.model.plan import DONE, Command, FileChange, Plan, PlannedStep, Recommendation, Word
from gpudoctor.reporters.plan import plan_text, recommendation_text, run_text
from gpudoctor.reporters.plan.plan_text import render
from gpudoctor.reporters.shared.layout import Terminal
from gpudoctor.reporters.shared.shell_text import typed


def position(screen: str, *parts: str) -> list[int]:
    return [screen.index(part) for part in parts]


def test_the_screen_answers_what_in_which_order_why_and_how_to_go_on() -> None:
    screen = render(ARC)
    assert screen.startswith("PyTorch on Intel GPUs (XPU)\nfor  Arc A770 · Ubuntu 24.04 · kernel 6.8.0-45\n")
    assert "6 steps to do, 2 already done · 3 of them as root · a new login\nabout 9.5 GB of disk\n" in screen
    assert "1-2  done    Kernel 6.2 or newer (6.8 runs); No force_probe left" in screen
    assert re.search(r"^3  Package repository intel-graphics +root$", screen, re.M)
    assert re.search(r"^5  nick in the groups render and video +root · then log in again$", screen, re.M)
    assert "   why     They are the way from PyTorch to the card.\n" in screen
    assert "   changes installs libze-intel-gpu1, libze1, intel-opencl-icd\n" in screen
    assert "   by      sudo apt-get install libze-intel-gpu1 libze1 intel-opencl-icd\n" in screen
    assert re.search(
        r"one question: +gpudoctor setup torch-xpu\n.+ gpudoctor setup --undo\n.+ gpudoctor setup torch-xpu --plan -v\n$", screen
    )
    titles = position(screen, *(step.title for step in ARC.steps))
    assert titles == sorted(titles)


def test_verbose_shows_each_command_and_file_whole() -> None:
    screen = render(ARC, verbose=True)
    assert "$ sudo apt-get update -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/gpudoctor-intel-graphics.sources\n" in screen
    assert "$ env PIP_NO_CACHE_DIR=1 /home/nick/.local/share/gpudoctor/torch-xpu/bin/python -m pip install 'torch==2.14.*'" in screen
    assert "only with key 0C0E6AF955CE463C03FC51574D098D70AFBE5E1F\n" in screen
    assert "| Signed-By: /usr/share/keyrings/gpudoctor-intel-graphics.gpg\n" in screen
    assert "Fixes: intel-no-level-zero-driver-1a2b3c4d\n" in screen


@pytest.mark.parametrize("plan", [WSL, REFUSED, replace(ARC, archived="gone since 2026")])
def test_what_must_be_read_first_stands_above_the_steps(plan: Plan) -> None:
    screen = render(plan)
    first = "Refused: " if plan.refusals else "Archived: "
    order = position(screen, first, plan.steps[-1].title)
    assert order == sorted(order)


def test_a_refused_plan_offers_no_command_that_applies_it() -> None:
    screen = render(REFUSED)
    assert "Refused: No kernel or display driver is installed in WSL\n   do    Install the driver for Windows: WSL uses it.\n" in screen
    assert "1  cannot  A newer kernel\n   reason  WSL brings its own\n" in screen
    assert screen.endswith("Nothing is changed until this is fixed.\n")
    assert "gpudoctor setup" not in screen


def test_the_command_that_was_typed_is_the_one_to_go_on_with() -> None:
    assert "gpudoctor setup ipex --torch 1.13 --plan -v\n" in render(ARC, command="gpudoctor setup ipex --torch 1.13")


def test_what_a_person_does_is_said_whole_on_the_first_screen() -> None:
    screen = " ".join(render(POPLAR, Terminal(60)).split())
    assert "2 of them manual" in screen
    assert "Log in at Graphcore's download portal and put poplar_sdk-ubuntu_20_04-3.4.0.tar.gz into /home/nick/sdk." in screen


def test_the_command_of_a_person_has_a_line_of_its_own_and_nothing_is_said_twice() -> None:
    text, typed = "Enrol the key and give it a password.", "$ sudo mokutil --import " + "/a/long/folder" * 5
    enrol = PlannedStep(
        number=1, kind="person", title="Enrol the key", why="It is unknown.", layer="framework", recipe="example", settings={},
        changes=(text,), acts=(Word(text=text), Word(text=typed)),
    )  # fmt: skip
    lines = [line.strip() for line in render(replace(POPLAR, steps=(enrol,)), Terminal(60)).splitlines()]
    assert typed in lines and sum("Enrol the key and give it" in line for line in lines) == 1


def test_nothing_to_do_sends_to_the_check() -> None:
    done = replace(ARC, steps=tuple(replace(step, state=DONE) for step in ARC.steps))
    screen = render(done)
    assert "nothing to do: every step is already done" in screen
    assert screen.endswith("Next: gpudoctor check --stack torch-xpu\n")
    assert screen.count("done    ") == 1


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", sorted(ALL))
def test_the_width_holds_except_for_words_that_cannot_be_broken(name: str, width: int) -> None:
    for line in render(ALL[name], Terminal(width)).splitlines():
        assert len(line) <= min(width, 100) or max(map(len, line.split())) > min(width, 100) - 30, line


@pytest.mark.parametrize("verbose", [False, True])
def test_colour_is_never_the_only_sign(verbose: bool) -> None:
    for plan in ALL.values():
        plain, coloured = render(plan, verbose=verbose), render(plan, Terminal(colour=True), verbose=verbose)
        assert "\x1b" not in plain
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
        assert render(plan, Terminal(unicode=False), verbose=verbose).isascii()


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(hostile)
def test_no_text_of_a_plan_drives_the_terminal(plan: Plan) -> None:
    for verbose in (False, True):
        screen = render(plan, verbose=verbose)
        assert not {char for char in screen if not char.isprintable()} - {"\n"}


@pytest.mark.starts_processes("bash reads what was quoted for it")
@given(texts)
def test_a_command_on_the_screen_stays_on_one_line_and_says_its_arguments(text: str) -> None:
    step = replace(ARC.steps[5], acts=(Command(argv=("true", text)),))
    shown = render(replace(ARC, steps=(step,)), verbose=True)
    (line,) = [line for line in shown.splitlines() if " $ true " in line]
    said = subprocess.run(["bash", "-c", f'set -- {line.split(" $ true ", 1)[1]}; printf %s "$1"'], capture_output=True)
    assert said.stdout.decode() == text


def test_a_plan_without_acts_or_with_one_file_is_shown() -> None:
    bare = replace(ROCM.steps[0], acts=())
    file = replace(ROCM.steps[0], acts=(FileChange(path="/etc/x", content="a\n"),))
    assert "by " not in render(replace(ROCM, steps=(bare,)))
    assert "by      write /etc/x (0644)\n" in render(replace(ROCM, steps=(file,)))


def test_the_lines_of_a_run() -> None:
    terminal = Terminal()
    step = ARC.steps[3]
    assert terminal.draw(run_text.step_begins(step, 8)).startswith("4/8   Level Zero and OpenCL drivers ")
    assert terminal.draw(run_text.step_done(step, 200.4)) == "      done  3 min 20 s\n"
    log = "\n".join(f"line {number}\x1b[2J" for number in range(40))
    failed = terminal.draw(run_text.step_failed(step, "apt-get ended with 100", "Ask the mirror.", log))
    assert "FAILED  apt-get ended with 100\n" in failed and "do      Ask the mirror.\n" in failed
    assert "| line 39\n" in failed and "line 27" not in failed and "\x1b" not in failed
    order = position(failed, "FAILED", "| line 39", "do  ", "gpudoctor setup --resume", "gpudoctor setup --undo")
    assert order == sorted(order)
    waits = terminal.draw(run_text.waiting(step, "Root rights are needed.", [["apt-get", "install", "a b"], ["x", "y\nz"]]))
    assert "$ apt-get install 'a b'\n" in waits and "$ x $'y\\nz'\n" in waits and "gpudoctor setup --resume" in waits


def test_the_end_of_a_run_says_how_to_use_it_or_how_to_go_on() -> None:
    def end(*given: object, **named: object) -> str:
        return Terminal().draw(run_text.finished(ARC, *given, **named))  # type: ignore[arg-type]

    good = end("verified", run="r1", seconds=59.6)
    assert "Done and verified: " in good and ". /home/nick/.local/share/gpudoctor/torch-xpu/bin/activate\n" in good
    assert good.endswith("gpudoctor setup --undo r1\n") and "--resume" not in good
    unsure = end("not-verified", reason="no Intel GPU here (device)")
    assert "Installed, not verified: no Intel GPU here (device)\n" in unsure and "gpudoctor check --stack torch-xpu\n" in unsure
    assert "gpudoctor setup --resume\n" in end("failed", reason="pip") and "activate" not in end("failed")
    undone = end("undone", kept=["/etc/x: you changed it; rm /etc/x removes it"])
    assert "Kept: /etc/x: you changed it; rm /etc/x removes it\n" in undone and "--undo" not in undone


def test_history() -> None:
    run = {
        "id": "7", "name": "opencl", "started": "2026-11-20 10:00", "status": "stopped",
        "steps": [("PoCL", "done"), ("clinfo\x1b[2J", "begun")], "kept": ["/etc/x"],
    }  # fmt: skip
    shown = Terminal().draw(run_text.history([run, {"id": 8, "name": "cpu", "started": None, "status": "done"}]))
    assert re.search(
        r"^7  opencl · 2026-11-20 10:00 +stopped\n  done     PoCL\n  begun    clinfo\nKept: /etc/x\n\n8  cpu +done\n$", shown, re.M
    )
    assert Terminal().draw(run_text.history([])) == "No runs yet.\n"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (3900, "1 h 5 min")]
)
def test_durations(seconds: float, shown: str) -> None:
    assert run_text.duration(seconds) == shown


def test_the_recommendation_says_what_why_what_else_and_what_not() -> None:
    screen = recommendation_text.render(CHOICE, machine="Arc A770 · Ubuntu 24.04")
    order = position(
        screen, "Arc A770", "Recommended: PyTorch's own", "why    It is", "Or:  ", "(openvino)", "Not ipex: archived", "--plan\n"
    )
    assert order == sorted(order)
    none = recommendation_text.render(Recommendation(first=None, runner_up=None, against=("cuda: no\x1b[2J card",)))
    assert none.startswith("Nothing to recommend: ") and "Not cuda: no card\n" in none and none.endswith("Next: gpudoctor check\n")


def test_long_plans_keep_their_columns() -> None:
    many = replace(ARC, steps=tuple(replace(ARC.steps[5], number=number) for number in range(1, 13)))
    screen = plan_text.render(many)
    assert "\n1   A Python environment" in screen and "\n12  A Python environment" in screen


def test_before_the_question_stands_every_command_whole() -> None:
    screen = render(ARC, verbose=True, asks=True)
    commands = [typed(act) for planned in ARC.steps if planned.state == "todo" for act in planned.acts if isinstance(act, Command)]
    assert commands and all(f"$ {command}\n" in screen for command in commands)
    assert "To apply it" not in screen and "…" not in screen
