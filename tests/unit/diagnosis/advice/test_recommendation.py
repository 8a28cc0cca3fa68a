"""What is recommended for the recorded machines, and for facts made up at the edges."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.capture.open_host import open_host
from gpudoctor.diagnosis.advice.recommendation import recommend
from gpudoctor.facts.collect import gather
from gpudoctor.knowledge.stack_names import all_names
from gpudoctor.model.check import RECIPES, Catalogue
from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.plan import Recommendation
from gpudoctor.model.report import LayerResult, StackResult
from gpudoctor.services import checking, setup_planning

RECIPES_OF_STACKS = [names.recipe for names in all_names().values() if names.recipe]
MACHINES = Path(__file__).parents[3] / "machines"


@cache
def _catalogue() -> Catalogue:
    return checking.catalogue()


@cache
def _looked_at(name: str) -> tuple[Facts, tuple[StackResult, ...]]:
    gathered = gather(open_host(str(MACHINES / name), 30.0, False, None), None, {"setup.name": Known("recommend", "test")})
    return gathered.facts, checking.report_from_facts(gathered, _catalogue(), checking.CheckRequest(), "capture").stacks


@cache
def _book() -> tuple[str, ...]:
    return tuple(setup_planning.book().names())


def of_machine(name: str, purpose: str | None = None) -> Recommendation:
    facts, stacks = _looked_at(name)
    return recommend(facts, stacks, purpose, _book())


def names(found: Recommendation) -> tuple[str, str]:
    return found.first.name if found.first else "", found.runner_up.name if found.runner_up else ""


def reasons(found: Recommendation) -> str:
    assert found.first
    return " / ".join(found.first.reasons)


@pytest.mark.parametrize(
    ("machine", "purpose", "first", "second"),
    [
        ("arc-a750-old-kernel", None, "torch-xpu", "openvino"),
        ("arc-a750-old-kernel", "training", "torch-xpu", "cpu"),
        ("arc-a750-old-kernel", "inference", "openvino", "onnxruntime"),
        ("arc-a750-old-kernel", "onnxruntime", "onnxruntime", "openvino"),
        ("flex170-no-group", "inference", "openvino", "onnxruntime"),
        ("rtx3060-cpu-torch", None, "cuda", "onnxruntime"),
        ("rtx3060-cpu-torch", "inference", "onnxruntime", "cuda"),
        ("rtx3060-cpu-torch", "tensorflow", "tensorflow", ""),
        ("rx7600-not-in-group", None, "rocm", "torch-opencl"),
        ("wsl2-b580", None, "torch-xpu", ""),
        ("vm-virtio-only", None, "cpu", "openvino"),
        ("vm-virtio-only", "inference", "openvino", "onnxruntime"),
        ("wsl1", None, "cpu", "onnxruntime"),
        ("macos-m3-rosetta", None, "mps", "cpu"),
        ("macos-m1-system-11", None, "cpu", "openvino"),
        ("ipu-card-without-driver", None, "poplar", "cpu"),
    ],
)
def test_which(machine: str, purpose: str | None, first: str, second: str) -> None:
    assert names(of_machine(machine, purpose)) == (first, second)


@pytest.mark.parametrize(
    ("machine", "stack", "name"),
    [
        ("rtx4090-healthy", "torch-cuda", "cuda"), ("mi300x-healthy", "torch-rocm", "rocm"), ("macos-m3-healthy", "torch-mps", "mps"),
        ("ipu-healthy", "poplar", "poplar"), ("windows-rx7900-directml", "torch-directml", "directml"),
    ],
)  # fmt: skip
def test_what_works_is_said_to_work_and_is_not_replaced(machine: str, stack: str, name: str) -> None:
    found = of_machine(machine)
    assert found.first and found.first.name == name
    assert "works here already" in reasons(found) and found.first.command == f"gpudoctor check --stack {stack}"
    if found.runner_up:  # something stronger may be named, as the second
        assert "works" in found.runner_up.reasons[-1]


def test_what_could_not_be_looked_at_is_not_said_to_work() -> None:
    found = of_machine("rtx4090-torch-not-inspected")
    assert "no fault of it was seen" in reasons(found) and "works here already" not in reasons(found)


def test_a_broken_stack_says_where() -> None:
    assert "broken at kernel driver: gpudoctor check says why" in reasons(of_machine("arc-a750-old-kernel"))


def test_reasons_name_device_generation_kernel_and_platform() -> None:
    old = reasons(of_machine("arc-a750-old-kernel"))
    assert "Arc A750 (Alchemist)" in old and "5.15.0-105-generic is older than 6.2" in old and "linux-generic-hwe-22.04" in old
    assert "compute capability 8.6" in reasons(of_machine("rtx3060-cpu-torch")) and "driver 550" in reasons(of_machine("rtx3060-cpu-torch"))
    assert "gfx1102" in reasons(of_machine("rx7600-not-in-group"))


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        ("arc-a750-old-kernel", "ipex: Intel archived it"),
        ("flex170-no-group", "torch-xpu: PyTorch's XPU build was never meant for"),
        ("wsl1", "any GPU: WSL 1 has none"),
        ("macos-m1-system-11", "mps: macOS 11.7.10 is too old"),
        ("macos-m3-rosetta", "translated by Rosetta"),
        ("wsl1", "any GPU: WSL 1 has none; in Windows: wsl --set-version NAME 2"),
    ],
)
def test_what_a_person_might_think_of_and_why_not(machine: str, said: str) -> None:
    assert any(said in line for line in of_machine(machine).against)


def test_the_second_says_why_it_is_second() -> None:
    for machine in ("arc-a750-old-kernel", "rx7600-not-in-group", "vm-virtio-only", "two-vendors", "wsl2-b580"):
        found = of_machine(machine)
        assert not found.runner_up or found.runner_up.reasons[-1].startswith("second, because "), machine


@pytest.mark.parametrize("folder", sorted(path.name for path in MACHINES.iterdir() if path.is_dir()))
def test_every_machine_gets_a_recipe_that_exists(folder: str) -> None:
    for purpose in (None, "inference"):
        found = of_machine(folder, purpose)
        assert found.first and found.first.reasons and found.first.device
        assert set(filter(None, names(found))) <= set(_book())
        assert not any(line.split(":")[0] in names(found) for line in found.against)


def made_up(facts: dict[str, Any], purpose: str | None = None, stacks: tuple[StackResult, ...] = ()) -> Recommendation:
    return recommend(
        Facts({name: Known(value) for name, value in facts.items()}),
        stacks,
        purpose,
        [stack.names.recipe for stack in _catalogue().stacks if stack.names.recipe],
    )


KEPLER = {
    "platform.kind": "linux", "gpu.vendors": ["nvidia"], "setup.cuda.problem": "no CUDA build of torch serves compute capability 3.5",
    "gpus": [{"vendor": "nvidia", "name": "Tesla K40", "kind": "discrete", "compute_capability": "3.5", "generation": "Kepler"}],
}  # fmt: skip


def test_a_card_too_old_for_cuda_gets_opencl() -> None:
    found = made_up(KEPLER)
    assert names(found)[0] == "torch-opencl"
    assert found.against == ("cuda: no CUDA build of torch serves compute capability 3.5",)
    assert names(made_up({**KEPLER, "platform.kind": "windows"}))[0] == "cpu"  # there is no such wheel in Windows


def test_an_override_with_other_instructions_is_not_recommended() -> None:
    card = {"vendor": "amd", "name": "Radeon RX 5700", "kind": "discrete", "gfx": "gfx1010", "address": "0000:03:00.0"}
    facts = {"platform.kind": "linux", "gpus": [card], "gpu.vendors": ["amd"], "amd.gpus": [{**card, "state": "served"}]}
    found = made_up({**facts, "setup.rocm.gfx": "gfx1010", "setup.rocm.risky": True})
    assert names(found)[0] == "torch-opencl" and "may compute wrongly" in found.against[0]
    known = made_up({**facts, "setup.rocm.gfx": "gfx1032", "setup.rocm.override": "10.3.0"})
    assert names(known) == ("rocm", "torch-opencl") and "HSA_OVERRIDE_GFX_VERSION=10.3.0" in reasons(known)


def test_a_distribution_that_cannot_drive_the_card() -> None:
    card = {"vendor": "intel", "name": "Arc B580", "kind": "discrete", "generation": "Battlemage"}
    facts = {
        "platform.kind": "linux", "gpus": [card], "gpu.vendors": ["intel"], "setup.intel.served_by_torch": True,
        "setup.intel.kernel_ok": False, "setup.intel.kernel_reachable": False, "setup.intel.kernel_wanted": "6.12",
        "setup.intel.kernel_offered": "6.8",
    }  # fmt: skip
    assert "torch-xpu: Arc B580 (Battlemage) needs Linux 6.12, and this distribution goes to 6.8 only" in made_up(facts).against[0]
    fine = {**facts, "setup.intel.kernel_ok": True, "setup.intel.kernel_reachable": True}
    assert names(made_up(fine))[0] == "torch-xpu"
    assert names(made_up({**fine, "setup.intel.level_zero_offered": False}))[0] == "openvino"


def test_ipex_that_works_is_left_and_its_successor_named() -> None:
    works = StackResult(
        stack="ipex",
        title="IPEX",
        verdict="ok",
        used=True,
        recipe="ipex",
        serves=("training",),
        layers=(LayerResult(layer="framework", status="ok", detail=""),),
    )
    card = {"vendor": "intel", "name": "Arc A770", "kind": "discrete", "generation": "Alchemist"}
    found = made_up({"platform.kind": "linux", "gpus": [card], "gpu.vendors": ["intel"]}, stacks=(works,))
    assert names(found) == ("ipex", "torch-xpu") and "archived" in reasons(found)
    assert not any(line.startswith("ipex") for line in found.against)


def stack(name: str, *statuses: str, verdict: str = "ok", serves: tuple[str, ...] = ("training",)) -> StackResult:
    """A stack in use, with these states of its upper rungs."""
    rungs = tuple(
        LayerResult(layer=layer, status=status, detail="")  # type: ignore[arg-type]
        for layer, status in zip(("framework", "visible"), statuses, strict=False)
    )
    return StackResult(stack=name, title=name.upper(), verdict=verdict, used=True, recipe=name, serves=serves, layers=rungs)  # type: ignore[arg-type]


ARC = {
    "platform.kind": "linux", "gpu.vendors": ["intel"],
    "gpus": [{"vendor": "intel", "name": "Arc A770", "kind": "discrete", "generation": "Alchemist"}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "where"),
    [
        ({}, ""), ({"torch.version": "2.8.0"}, " (torch 2.8.0)"), ({"python.prefix": "/v"}, " in /v"),
        ({"torch.version": "2.8.0", "python.prefix": "/v"}, " (torch 2.8.0 in /v)"),
        ({"torch.version": "2.8.0", "python.prefix": "/usr", "python.kind": "system"}, " (torch 2.8.0)"),
        ({"python.prefix": "/usr", "python.kind": "system"}, ""),
    ],
)  # fmt: skip
def test_what_works_is_said_with_its_place(facts: dict[str, Any], where: str) -> None:
    for verdict in ("ok", "unknown"):
        found = made_up({**ARC, **facts}, stacks=(stack("torch-xpu", "ok", "warning", verdict=verdict),))
        assert reasons(found).startswith(f"TORCH-XPU works here already{where}: nothing needs to be set up")


def test_what_is_installed_for_another_purpose_is_said() -> None:
    def of_the_second(result: StackResult) -> tuple[str, ...]:
        found = made_up(ARC, "inference", (result,))
        assert names(found) == ("openvino", "torch-xpu") and found.runner_up
        return found.runner_up.reasons

    assert "it is installed and works" in of_the_second(stack("torch-xpu", "ok", "ok"))
    assert "it is installed" in of_the_second(stack("torch-xpu", "ok", "unknown"))


def test_the_second_beside_what_is_here_says_whether_that_works() -> None:
    for last, words in (("ok", "second, because IPEX is here and works"), ("unknown", "second, because IPEX is here")):
        found = made_up(ARC, stacks=(stack("ipex", "ok", last, verdict="unknown"),))
        assert names(found) == ("ipex", "torch-xpu") and found.runner_up and found.runner_up.reasons[-1] == words


def test_what_serves_no_better_than_what_works_is_not_named() -> None:
    found = made_up({"platform.kind": "windows", "gpus": []}, "inference", (stack("directml", "ok", serves=("inference",)),))
    assert names(found) == ("directml", "")


def test_wsl2_is_served_by_the_driver_of_windows() -> None:
    intel = {"vendor": "intel", "name": "Arc B580", "kind": "discrete", "generation": "Battlemage"}
    found = made_up({"platform.kind": "wsl2", "gpus": [intel], "gpu.vendors": ["intel"], "windows.driver.intel": "32.0.101.6733"})
    assert names(found) == ("torch-xpu", "directml") and "the driver of Windows (32.0.101.6733) serves it in WSL2 too" in reasons(found)
    nvidia = {"vendor": "nvidia", "name": "RTX 4090", "kind": "discrete"}
    other = made_up({"platform.kind": "wsl2", "gpus": [nvidia], "gpu.vendors": ["nvidia"], "nvidia.in_use": "591.86"})
    assert names(other)[0] == "cuda" and other.against[0].startswith("directml: CUDA serves this card better")
    off = made_up({"platform.kind": "wsl2", "gpus": [intel], "gpu.vendors": ["intel"], "wsl.conf.gpu": False})
    assert any("switches the GPU off" in line for line in off.against)


def test_a_container_without_the_device() -> None:
    card = {"vendor": "nvidia", "name": "A10", "kind": "discrete"}
    found = made_up({"platform.kind": "container", "gpus": [card], "gpu.vendors": ["nvidia"], "container.closed_vendors": ["nvidia"]})
    assert "--gpus all" in reasons(found)


def test_recipes_that_do_not_exist_are_not_offered() -> None:
    facts = Facts({name: Known(value) for name, value in KEPLER.items()})
    assert names(recommend(facts, (), None, ["cpu"])) == ("cpu", "")
    assert names(recommend(facts, (), None, [])) == ("", "")


def test_the_purpose_stands_in_the_command() -> None:
    found = made_up(KEPLER, "inference")
    assert found.first and found.first.command == f"gpudoctor setup {found.first.name} --for inference"
    plain = made_up(KEPLER)
    assert plain.first and plain.first.command == f"gpudoctor setup {plain.first.name}"


def test_every_stack_of_a_recipe_is_known() -> None:
    assert {*RECIPES_OF_STACKS, "intel-driver"} == set(RECIPES)
