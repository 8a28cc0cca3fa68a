"""Plans for exports: a new machine of the same system, exact releases, nothing of the planning person; and what a live plan leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from gpudoctor.facts.derive._tables import table
from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.plan import DONE, TODO, Command, Plan, PlannedStep
from gpudoctor.reporters.plan import plan_ansible, plan_dockerfile, plan_shell
from gpudoctor.services.setup_planning import SetupRequest, plan_setup
from gpudoctor.setup.packages.pins import pinned
from gpudoctor.setup.planner import _without_idle_repositories

MACHINES = Path(__file__).parents[2] / "machines"
A770 = "arc-a770-whole-slot"
MADE = {"version": "0.1.0", "date": "2026-11-22"}
EXPORTS = {"sh": plan_shell, "dockerfile": plan_dockerfile, "ansible": plan_ansible}


def planned(name: str, machine: str, *, fresh: bool = True) -> Plan:
    return plan_setup(SetupRequest(name=name, capture=str(MACHINES / machine), fresh=fresh)).plan


def step(number: int, kind: str, state: str) -> PlannedStep:
    acts = (Command(argv=("true",), root=True),) if state == TODO else ()
    return PlannedStep(
        number=number, kind=kind, title=kind, why="", layer="user-driver", recipe="driver", settings={}, state=state, acts=acts, root=True
    )  # fmt: skip


def test_no_repository_is_added_for_packages_that_are_there() -> None:
    idle, _ = _without_idle_repositories([step(1, "apt.repository", TODO), step(2, "apt.install", DONE)])
    assert idle.state == DONE and "not needed" in idle.note and not idle.acts
    needed, *_ = _without_idle_repositories([step(1, "apt.repository", TODO), step(2, "apt.install", DONE), step(3, "apt.install", TODO)])
    assert needed.state == TODO and needed.acts


@pytest.mark.parametrize("form", sorted(EXPORTS))
def test_an_export_installs_what_the_planned_machine_has_already(form: str) -> None:
    text = EXPORTS[form].render(planned("torch-xpu", A770), **MADE)
    acts = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    pins = ("torch==2.15.0", "torchvision==0.29.2")
    for wanted in ("gpudoctor-intel-gpu.sources", "intel-opencl-icd", *pins, "/opt/venv", "assert torch.xpu"):
        assert wanted in acts, wanted
    assert "already installed" not in text and "/home/" not in text


def test_every_requirement_of_an_export_is_exact_where_a_table_knows_it() -> None:
    for name, machine in (("cuda", "rtx4090-healthy"), ("openvino", A770), ("onnxruntime", "rx6800-healthy"), ("cpu", "vm-virtio-only")):
        plan = planned(name, machine)
        words = [word for step in plan.steps if step.kind == "pip" for act in step.acts if isinstance(act, Command) for word in act.argv]
        for package in ("torch", "torchvision", "openvino", "onnxruntime"):
            assert package not in words, (name, words)
        assert plan.env == "/opt/venv" and all(step.state == TODO for step in plan.steps if step.kind in ("venv", "pip"))


def test_the_python_of_an_export_has_wheels_of_its_pins() -> None:
    """Ubuntu 22.04 has Python 3.10, and torch 2.15 needs a newer one: uv fetches it."""
    (venv,) = [step for step in planned("torch-xpu", A770).steps if step.kind == "venv"]
    assert "uv" in venv.acts[0].argv and venv.settings["minor"] not in ("3.10", "")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("packages", "index", "found"),
    [
        (["torch", "torchvision"], "pytorch/cu126", ["torch==2.14.1", "torchvision==0.29.2"]),
        (["torch==2.8.*", "torchvision"], "pytorch/xpu", ["torch==2.8.0", "torchvision==0.23.0"]),
        (["openvino<2026"], "pypi", ["openvino==2025.4.1"]),
        (["jax[cuda13]"], "pypi", ["jax[cuda13]==0.12.0.1"]),
        (["numpy<2", "https://example.org/x-1-py3-none-any.whl"], "pypi", ["numpy==1.26.4", "https://example.org/x-1-py3-none-any.whl"]),
        (["in-no-table"], "pypi", ["in-no-table"]),
    ],
)  # fmt: skip
def test_pins(packages: list[str], index: str, found: list[str]) -> None:
    assert list(pinned(packages, index, Facts({"setup.cuda.release": Known("2.14.1")})).packages) == found


def test_the_table_of_pins_is_sound() -> None:
    for row in table("setup-pins")["package"]:
        assert Requirement(f"{row['name']}=={row['version']}") and (not row["python"] or Requirement(f"x{row['python']}"))


def test_a_stack_of_another_maker_is_warned_of_and_claims_nothing_of_the_cards() -> None:
    plan = planned("cuda", A770, fresh=False)
    assert any("no NVIDIA GPU" in warning for warning in plan.warnings)
    assert not any("cards here" in step.why for step in plan.steps)


@pytest.mark.parametrize(
    ("package", "name"),
    [("jax", "cuda-jax"), ("tensorflow", "cuda-tensorflow"), ("onnxruntime-gpu", "onnxruntime-gpu")],
)
def test_an_export_pins_the_release_that_the_other_tables_call_the_newest(package: str, name: str) -> None:
    pins = [Version(row["version"]) for row in table("setup-pins")["package"] if row["name"] == package]
    newest = Version(table(name)["newest"])
    assert max(pins).release[: len(newest.release)] == newest.release
