"""Golden plans: what would be done on recorded machines, one line a step. GPUDOCTOR_WRITE_PLANS=1 writes them again; then read them."""

from __future__ import annotations

import os
import shlex
from importlib import import_module
from pathlib import Path

import pytest
from plan_cases import PlanCase

from gpudoctor.model.plan import Act, Command, FileChange, Plan
from gpudoctor.services.setup_planning import SetupRequest, plan_setup

HERE = Path(__file__).parent
GOLDEN = HERE / "plans"
CASES = [case for path in sorted(HERE.glob("plan_cases*.py")) for case in import_module(path.stem).CASES]


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("machines")


def planned(case: PlanCase, recordings: Path) -> Plan:
    if isinstance(case.machine, str):
        folder = HERE / "machines" / case.machine
    else:
        folder = recordings / case.machine.name
        if not folder.is_dir():
            case.machine.expect().write(recordings)
    return plan_setup(SetupRequest(name=case.name, capture=str(folder), torch=case.torch, purpose=case.purpose, folder=case.folder)).plan


def said(act: Act) -> str:
    if isinstance(act, Command):
        return shlex.join(act.argv)
    if isinstance(act, FileChange):
        return f"{act.path} <- {act.fetched_from or 'text'}{f' key {act.fingerprint}' if act.fingerprint else ''}"
    return act.text


def rendered(plan: Plan) -> str:
    lines = [f"{plan.title} [{plan.recipe or 'none'}] on {plan.machine}"]
    lines += [f"archived: {plan.archived}"] if plan.archived else []
    lines += [f"refused: {refusal.title}; {refusal.advice}" for refusal in plan.refusals]
    lines += [f"warning: {warning}" for warning in plan.warnings]
    for step in plan.steps:
        restart = f" ({step.restart})" if step.restart else ""
        lines.append(f"{step.number} {step.state} {step.kind}{restart}: {step.title}{f' [{step.note}]' if step.note else ''}")
        if step.state == "todo":
            lines += [f"    {said(act)}" for act in step.acts]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_plan(case: PlanCase, recordings: Path) -> None:
    plan = planned(case, recordings)
    if not isinstance(case.machine, str) and case.machine.platform == "wsl2":
        nothing_of_windows(plan)
    text, golden = rendered(plan), GOLDEN / f"{case.id}.txt"
    if os.environ.get("GPUDOCTOR_WRITE_PLANS"):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def nothing_of_windows(plan: Plan) -> None:
    """No kernel, no display driver, no boot loader: in WSL they belong to Windows."""
    words = [word for step in plan.todo for act in step.acts if isinstance(act, Command) for word in act.argv]
    for word in words:
        assert not word.startswith(("linux-", "intel-i915-dkms", "intel-gsc", "xserver-", "amdgpu-dkms", "nvidia-driver"))
        assert "grub" not in word and "initramfs" not in word and "usermod" not in word
    assert not [step.title for step in plan.todo if step.kind == "modprobe"]


def test_no_golden_plan_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {case.id for case in CASES}
    assert len({case.id for case in CASES}) == len(CASES)
