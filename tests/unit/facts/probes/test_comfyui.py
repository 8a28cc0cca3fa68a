"""What is read of ComfyUI: which interpreter starts it, what its scripts and custom nodes say, and that nothing is followed out of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpudoctor.facts.derive import comfyui as derived
from gpudoctor.facts.probes import comfyui
from gpudoctor.model.facts import Absent, Facts, Known
from gpudoctor.system.local_host import LocalHost


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "ComfyUI"
    (folder / "comfy").mkdir(parents=True)
    (folder / "comfy/cli_args.py").touch()
    (folder / "main.py").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COMFYUI_PATH", str(folder))
    return folder


def seen() -> Facts:
    return Facts(dict(comfyui.collect(LocalHost(), Facts({}))))


def environment(folder: Path, *distributions: str) -> None:
    site = folder / ".venv/lib/python3.12/site-packages"
    for name in distributions:
        (site / f"{name}.dist-info").mkdir(parents=True)
    (folder / ".venv/pyvenv.cfg").write_text("version = 3.12.4\n")


def test_the_torch_of_its_own_environment_is_read(checkout: Path) -> None:
    environment(checkout, "torch-2.9.1+cpu", "torchvision-0.24.1+cpu", "requests-2.0")
    facts = seen()
    assert facts.value("comfyui.executable") == f"{checkout}/.venv/bin/python"
    assert facts.value("comfyui.python_version") == "3.12.4"
    assert facts.value("comfyui.distributions") == {"torch": "2.9.1+cpu", "torchvision": "0.24.1+cpu"}


def test_python_embeded_beside_it_comes_first(checkout: Path) -> None:
    environment(checkout, "torch-2.9.1")
    portable = checkout.parent / "python_embeded"
    portable.mkdir()
    (portable / "python.exe").touch()
    (portable / "python313._pth").touch()
    facts = seen()
    assert (facts.value("comfyui.kind"), facts.value("comfyui.python_version")) == ("portable", "3.13")
    assert facts.value("comfyui.prefix") == str(portable)


def test_the_workspace_of_comfy_cli_and_its_options(tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COMFYUI_PATH")
    moved = checkout.rename(tmp_path / "elsewhere")
    (tmp_path / ".config/comfy-cli").mkdir(parents=True)
    (tmp_path / ".config/comfy-cli/config.ini").write_text(
        f"[DEFAULT]\ndefault_workspace = {moved}\ndefault_launch_extras = --lowvram --listen\n"
    )
    facts = seen()
    assert facts.value("comfyui.folder") == str(moved)
    assert [each["flags"] for each in facts.value("comfyui.starts")] == [["--lowvram", "--listen"]]


def test_without_a_folder_it_is_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("COMFYUI_PATH", raising=False)
    monkeypatch.chdir(tmp_path)
    assert isinstance(seen().get("comfyui.folder"), Absent)


def test_requirements_behind_a_link_out_of_the_folder_are_not_read(checkout: Path, tmp_path: Path) -> None:
    node = checkout / "custom_nodes/inside"
    node.mkdir(parents=True)
    (node / "requirements.txt").write_text("torch==2.3.0\nnumpy\nonnxruntime_gpu >= 1.18 ; sys_platform == 'linux'\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "requirements.txt").write_text("torch==1.0\n")
    (checkout / "custom_nodes/linked").symlink_to(outside)
    (checkout / "custom_nodes/off.disabled").mkdir()
    found = [(each["node"], each["package"], each["demand"]) for each in seen().value("comfyui.nodes")]
    assert found == [("inside", "torch", "==2.3.0"), ("inside", "onnxruntime-gpu", ">=1.18")]


def test_flags_are_those_of_the_line_that_starts_it() -> None:
    script = "@echo --novram\nREM main.py --cpu\n.\\python_embeded\\python.exe -s ComfyUI\\main.py --lowvram --port 8188\n"
    assert comfyui.flags(script) == ["--lowvram", "--port"]


def concluded(**given: Any) -> Facts:
    card = {"vendor": "nvidia", "kind": "discrete", "driver": "nvidia", "name": "Card", "address": "1"}
    known = {"comfyui.folder": "/c", "comfyui.prefix": "/c/.venv", "comfyui.distributions": {"torch": "2.9.1+cu128"}, "gpus": [card]}
    known |= {"platform.kind": "linux", "platform.machine": "x86_64", "comfyui.starts": [], "comfyui.nodes": []}
    return Facts(dict(derived.derive(Facts({name: Known(value) for name, value in (known | given).items()}))))


@pytest.mark.parametrize(("torch", "serves"), [("2.9.1+cu128", True), ("2.9.1+cpu", False), ("2.9.1+rocm6.4", False)])
def test_torch_is_held_against_the_card(torch: str, serves: bool) -> None:
    assert concluded(**{"comfyui.distributions": {"torch": torch}}).value("comfyui.torch.serves_card") is serves


def test_a_card_on_a_driver_that_does_not_compute_is_none() -> None:
    card = {"vendor": "nvidia", "kind": "discrete", "driver": "nouveau", "name": "Card"}
    assert isinstance(concluded(gpus=[card]).get("comfyui.card"), Absent)


def test_the_bundled_script_for_the_processor_counts_alone_only() -> None:
    bundled = {"name": "run_cpu.bat", "flags": ["--cpu"]}
    assert concluded(**{"comfyui.starts": [bundled]}).value("comfyui.starts_on_cpu") is True
    other = {"name": "run_nvidia_gpu.bat", "flags": []}
    assert concluded(**{"comfyui.starts": [bundled, other]}).value("comfyui.starts_on_cpu") is False
    assert concluded().value("comfyui.starts_on_cpu") is False


def test_options_of_one_group_exclude_each_other() -> None:
    assert derived.contradiction(["--lowvram", "--cpu"]) == "--lowvram and --cpu"
    assert derived.contradiction(["--lowvram", "--force-fp16"]) == ""


def test_pins_of_another_torch_are_told_from_those_of_this_one() -> None:
    nodes = [{"node": name, "package": "torch", "demand": demand} for name, demand in (("a", "==2.3.0"), ("b", "==2.9.1"), ("c", ">=2"))]
    pins = concluded(**{"comfyui.nodes": nodes}).value("comfyui.torch_pins")
    assert [(each["node"], each["other"]) for each in pins] == [("a", True), ("b", False)]


def test_without_an_interpreter_of_its_own_the_shell_s_counts() -> None:
    facts = Facts({"comfyui.folder": Known("/c"), "comfyui.prefix": Absent("/c"), "python.distributions": Known({"torch": "2.9.1"}),
                   "gpus": Known([])})  # fmt: skip
    assert Facts(dict(derived.derive(facts))).value("comfyui.torch.version") == "2.9.1"
