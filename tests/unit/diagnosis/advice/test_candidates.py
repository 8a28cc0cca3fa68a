"""What each kind of device is advised, word by word. GPUDOCTOR_WRITE_CANDIDATES=1 writes candidates.txt again; then read it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.diagnosis.advice.candidates import ANY, INFERENCE, ONNX, TENSORFLOW, TRAINING, Against, Idea, ideas
from gpudoctor.model.facts import Facts, Known

GOLDEN = Path(__file__).with_name("candidates.txt")
PURPOSES = (ANY, TRAINING, INFERENCE, TENSORFLOW, ONNX)
Table = dict[str, Any]


def nvidia(**more: Any) -> Table:
    return {"vendor": "nvidia", "name": "RTX 4090", "kind": "discrete", "generation": "Ada", "compute_capability": "8.9", **more}


def amd(**more: Any) -> Table:
    return {"vendor": "amd", "name": "RX 7900 XTX", "kind": "discrete", "address": "0000:03:00.0", "gfx": "gfx1100", **more}


def intel(**more: Any) -> Table:
    return {"vendor": "intel", "name": "Arc A770", "kind": "discrete", "generation": "Alchemist", **more}


def cards(*given: Table) -> Table:
    return {"gpus": list(given), "gpu.vendors": sorted({each["vendor"] for each in given}), "cpu.model": "Ryzen 9"}


CUDA = {"setup.cuda.release": "2.8.0", "setup.cuda.driver_floor": "570", "setup.onnxruntime.provider": "cuda"}
XPU = {"kernel.release": "6.8.0", "setup.intel.kernel_wanted": "6.2", "setup.intel.served_by_torch": True}
ROCM = {"kernel.release": "6.8.0", "setup.amd.kernel_ok": True}
MAC = {"gpus": [{"vendor": "apple", "name": "Apple M3"}], "gpu.vendors": ["apple"], "os.version": "14.5", "macos.apple_silicon": True}
PROCESSORS = ("Ryzen 9", "the processor")
IN_DOCKER = "container.closed_vendors"

SITUATIONS: dict[str, tuple[str, Table]] = {
    "nothing is known": ("linux", {}),
    "what is known is no card": ("linux", {"gpus": ["nvidia", None]}),
    "no GPU": ("linux", {"gpu.vendors": [], "gpus": [], "cpu.model": "Xeon"}),
    "WSL 1": ("wsl1", {"cpu.model": "Core i7"}),
    "NVIDIA": ("linux", {**cards(nvidia()), **CUDA, "nvidia.in_use": "580.65", "setup.cuda.driver_ok": True}),
    "NVIDIA without a driver": ("linux", {**cards(nvidia(name="", pci_id="10de:2684")), **CUDA}),
    "NVIDIA with an old driver": ("linux", {**cards(nvidia()), **CUDA, "nvidia.in_use": "470.1", "setup.cuda.driver_ok": False}),
    "NVIDIA, floor unknown": ("linux", {**cards(nvidia(generation="", compute_capability="")), "nvidia.in_use": "470.1"}),
    "NVIDIA too old": ("linux", {**cards(nvidia()), "setup.cuda.problem": "no wheel has code for it", "setup.onnxruntime.cuda": "0",
                                 "setup.onnxruntime.provider": "cuda"}),
    "NVIDIA too old in Windows": ("windows", {**cards(nvidia()), "setup.cuda.problem": "no wheel has code for it"}),
    "NVIDIA in WSL2": ("wsl2", {**cards(nvidia()), **CUDA, "nvidia.in_use": "552.1", "setup.cuda.driver_ok": True}),
    "NVIDIA in Windows": ("windows", {**cards(nvidia()), **CUDA, "nvidia.in_use": "470.1", "setup.cuda.driver_ok": False}),
    "NVIDIA in a closed container": ("container", {**cards(nvidia()), **CUDA, IN_DOCKER: ["nvidia"]}),
    "two of NVIDIA": ("linux", {**cards(nvidia(kind="integrated", name="Orin"), nvidia(name="A100")), **CUDA}),
    "NVIDIA without a name": ("linux", {**cards({"vendor": "nvidia", "name": 5}), **CUDA}),
    "AMD": ("linux", {**cards(amd(driver="amdgpu")), **ROCM}),
    "AMD by the other list": ("linux", {**cards(amd(gfx="")), **ROCM, "setup.rocm.route": "amd", "amd.gpus": [
        {"address": "0000:99:00.0", "gfx": "gfx906"}, {"address": "0000:03:00.0", "gfx": "gfx1101", "driver": "amdgpu"}]}),
    "AMD with an override": ("linux", {**cards(amd()), **ROCM, "setup.rocm.gfx": "gfx1031", "setup.rocm.override": "10.3.0"}),
    "AMD, kernel too old": ("linux", {**cards(amd(driver="amdgpu")), "kernel.release": "5.4", "setup.amd.kernel_ok": False,
                                      "setup.amd.kernel_min": "5.15"}),
    "AMD never served": ("linux", {**cards(amd(state="never", gfx="gfx803"))}),
    "AMD dropped": ("container", {**cards(amd(state="dropped", gfx="gfx900")), IN_DOCKER: ["amd"]}),
    "AMD risky": ("linux", {**cards(amd(gfx="")), "setup.rocm.risky": True}),
    "AMD with a problem": ("windows", {**cards(amd(state="never")), "setup.rocm.problem": "no wheels for Windows",
                                       "setup.onnxruntime.provider": "directml"}),
    "AMD in Windows": ("windows", {**cards(amd(driver="amdgpu"))}),
    "AMD, risky in WSL2": ("wsl2", {**cards(amd()), "setup.rocm.risky": True}),
    "AMD in WSL2 that is switched off": ("wsl2", {**cards(amd()), "wsl.conf.gpu": False}),
    "AMD in a closed container": ("container", {**cards(amd()), IN_DOCKER: ["amd"]}),
    "AMD with ROCm and MIGraphX": ("linux", {**cards(amd()), **ROCM, "setup.onnxruntime.provider": "migraphx", "rocm.version": "6.4"}),
    "AMD with MIGraphX alone": ("linux", {**cards(amd()), **ROCM, "setup.onnxruntime.provider": "migraphx"}),
    "Intel": ("linux", {**cards(intel()), **XPU, "setup.intel.kernel_ok": True}),
    "Intel, kernel wanted unknown": ("linux", {**cards(intel(name="Alchemist A770")), "kernel.release": "6.8.0",
                                               "setup.intel.kernel_ok": True}),
    "Intel, small BAR": ("linux", {**cards(intel()), **XPU, "setup.intel.small_bar": True}),
    "Intel, kernel too old": ("linux", {**cards(intel()), **XPU, "kernel.release": "5.15", "setup.intel.kernel_ok": False}),
    "Intel, kernel with a package": ("linux", {**cards(intel()), **XPU, "setup.intel.kernel_ok": False,
                                               "setup.intel.kernel_package": "hwe"}),
    "Intel, kernel out of reach": ("linux", {**cards(intel()), **XPU, "setup.intel.kernel_ok": False, "setup.intel.kernel_reachable": False,
                                             "setup.intel.kernel_offered": "5.15"}),
    "Intel, the same in WSL2": ("wsl2", {**cards(intel()), **XPU, "setup.intel.kernel_ok": False, "setup.intel.kernel_reachable": False}),
    "Intel never meant for it": ("linux", {**cards(intel(kind="integrated", name="UHD 630", generation="Gen9")),
                                           "setup.intel.served_by_torch": False}),
    "Intel that IPEX serves": ("linux", {**cards(intel(name="Flex 170")), "setup.intel.served_by_torch": False, "setup.ipex.serves": True,
                                         "setup.ipex.release": "2.1.40"}),
    "Intel that IPEX serves, of no release": ("windows", {**cards(intel()), "setup.intel.served_by_torch": False,
                                                          "setup.ipex.serves": True}),
    "Intel replaced": ("linux", {**cards(intel()), **XPU, "setup.ipex.serves": True}),
    "Intel without Level Zero": ("linux", {**cards(intel()), "setup.intel.level_zero_offered": False, "os.name": "Debian 12"}),
    "Intel without Level Zero, system unknown": ("linux", {**cards(intel()), "setup.intel.level_zero_offered": False}),
    "Intel in Windows": ("windows", {**cards(intel()), "setup.intel.level_zero_offered": False, "windows.driver.intel": "32.0"}),
    "Intel in WSL2": ("wsl2", {**cards(intel()), "setup.onnxruntime.provider": "openvino"}),
    "Intel, integrated": ("linux", {**cards(intel(kind="integrated", name="Iris Xe"))}),
    "Intel in a closed container": ("container", {**cards(intel()), **XPU, IN_DOCKER: ["intel"]}),
    "Apple": ("macos", MAC),
    "Apple, translated": ("macos", {**MAC, "macos.rosetta": True}),
    "Apple, Python translated": ("macos", {**MAC, "python.rosetta": True}),
    "Apple, 12.2": ("macos", {**MAC, "os.version": "12.2"}),
    "Apple, 12.3": ("macos", {**MAC, "os.version": "12.3"}),
    "Apple, 9.9": ("macos", {**MAC, "os.version": "9.9"}),
    "Apple, one number": ("macos", {**MAC, "os.version": "12"}),
    "Apple, an odd version": ("macos", {**MAC, "os.version": "11.x"}),
    "Mac with an Intel processor": ("macos", {"macos.apple_silicon": False, "gpu.vendors": ["amd"]}),
    "IPU": ("linux", {"poplar.present": True}),
    "IPU with its SDK": ("linux", {"poplar.present": True, "poplar.sdk.version": "3.3.0"}),
    "two vendors": ("linux", {**cards(intel(kind="integrated"), nvidia(), amd()), **CUDA, "cpu.model": "EPYC"}),
}  # fmt: skip


def said(name: str) -> list[str]:
    """Each sentence once but for those of the processor, which are everywhere the same, then the ranks for each purpose."""
    kind, table = SITUATIONS[name]
    facts = Facts({"platform.kind": Known(kind), **{key: Known(value) for key, value in table.items()}})
    sentences: dict[str, None] = {}
    ranks = []
    for purpose in PURPOSES:
        found = list(ideas(facts, purpose))
        sentences |= dict.fromkeys(sentence(each) for each in found if isinstance(each, Against) or each.device not in PROCESSORS)
        order = ", ".join(f"{each.name} {each.rank}" if isinstance(each, Idea) else f"no {each.name}" for each in found)
        ranks.append(f"for {purpose or 'anything'}: {order}")
    return [*sentences, *ranks]


def sentence(thought: Idea | Against) -> str:
    if isinstance(thought, Against):
        return f"no {thought.name}: {thought.why}"
    return f"{thought.name} on {thought.device}: {'; '.join(thought.reasons)}{f' ({thought.second})' if thought.second else ''}"


@pytest.mark.parametrize("name", SITUATIONS)
def test_what_is_advised(name: str) -> None:
    assert said(name) == golden()[name]


def golden() -> dict[str, list[str]]:
    if os.environ.get("GPUDOCTOR_WRITE_CANDIDATES"):
        GOLDEN.write_text("\n".join("\n".join([f"## {name}", *said(name), ""]) for name in SITUATIONS), encoding="utf-8")
    parts = GOLDEN.read_text(encoding="utf-8").removeprefix("## ").split("\n## ")
    return {lines[0]: lines[1:] for lines in (part.strip().splitlines() for part in parts)}


def test_no_situation_is_left_over() -> None:
    assert list(golden()) == list(SITUATIONS)
