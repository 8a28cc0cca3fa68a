"""What is concluded of vLLM: its build by its version, the plugin that it takes, the torch it was made for, and memory that is left."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts.derive import vllm
from gpudoctor.facts.probes.vllm import plugin_names
from gpudoctor.model.facts import Absent, Facts, Known

CARD = {"name": "Card", "vendor": "nvidia", "kind": "discrete", "driver": "nvidia"}


def derived(**given: Any) -> Facts:
    known = {"python.distributions": {"vllm": "0.20.2"}, "platform.kind": "linux", "gpus": [CARD], "nvidia.cards": [CARD]}
    known |= {"nvidia.in_use": "570.1", "vllm.plugins": [], "torch.version": "2.11.0", "torch.build": "cuda", "env": {}}
    return Facts(dict(vllm.derive(Facts({name: Known(value) for name, value in (known | given).items()}))))


@pytest.mark.parametrize(
    ("version", "platform", "build"),
    [
        ("0.20.2", "linux", "cuda"),
        ("0.20.2+cu129", "linux", "cuda"),
        ("0.20.2+cpu", "linux", "cpu"),
        ("0.20.2+rocm700", "linux", "rocm"),
        ("0.23.1rc1.dev901+g2f3f441f8", "linux", "cuda"),
        ("0.23.1rc1.dev901+g2f3f441f8.cpu", "linux", "cpu"),
        ("0.20.2+empty", "linux", "empty"),
        ("0.20.2", "macos", "cpu"),
    ],
)
def test_the_local_part_of_the_version_names_the_device(version: str, platform: str, build: str) -> None:
    assert vllm.build_of(version, platform) == build


def test_plugins_of_other_groups_are_no_platforms() -> None:
    text = "[vllm.general_plugins]\nkernels = a:b\n[vllm.platform_plugins]\nascend = vllm_ascend:register\n[console_scripts]\nx = y:z\n"
    assert plugin_names(text) == ["ascend"]


def test_a_plugin_comes_before_cuda_and_the_variable_leaves_it_out() -> None:
    plugins = [{"name": "ascend"}]
    assert derived(**{"vllm.plugins": plugins}).value("vllm.platform") == "ascend"
    assert derived(**{"vllm.plugins": plugins, "env": {"VLLM_PLUGINS": ""}}).value("vllm.platform") == "cuda"
    assert derived(**{"vllm.plugins": [*plugins, {"name": "hpu"}]}).value("vllm.platform") == "several"


def test_amd_gpus_are_found_by_amdsmi_alone() -> None:
    given: dict[str, Any] = {"gpus": [{**CARD, "vendor": "amd"}], "nvidia.cards": [], "torch.build": "rocm"}
    assert isinstance(derived(**given, **{"python.distributions": {"vllm": "0.20.2+rocm700"}}).get("vllm.platform"), Absent)
    assert derived(**given, **{"python.distributions": {"vllm": "0.20.2+rocm700", "amdsmi": "7.0"}}).value("vllm.platform") == "rocm"
    path = {"PYTHONPATH": "/opt/rocm/share/amd_smi"}
    assert derived(**given, **{"python.distributions": {"vllm": "0.20.2+rocm700"}, "env": path}).value("vllm.platform") == "rocm"


def test_torch_is_compared_with_what_the_metadata_pins() -> None:
    assert derived(**{"vllm.demands": {"torch": "==2.11.0"}}).value("vllm.torch_fits") is True
    assert derived(**{"vllm.demands": {"torch": "==2.11.0"}, "torch.version": "2.11.0+cu128"}).value("vllm.torch_fits") is True
    assert derived(**{"vllm.demands": {"torch": "==2.10.0"}}).value("vllm.torch_fits") is False
    assert not derived(**{"vllm.demands": {"torch": ">=2.10"}}).known("vllm.torch_fits")
    assert derived(**{"torch.build": "cpu", "vllm.demands": {}}).value("vllm.torch_of_its_device") is False


def test_a_printed_version_without_device_leaves_it_open_beside_another_torch() -> None:
    printed = derived(**{"python.distributions": {"vllm": "0.9.3.dev14+g0a1b2c3d4"}, "torch.build": "rocm"})
    assert not printed.known("vllm.build")
    assert not printed.known("vllm.torch_of_its_device")
    assert derived(**{"torch.build": "cuda"}).value("vllm.build") == "cuda"
    named = derived(**{"python.distributions": {"vllm": "0.9.3+cu128"}, "torch.build": "rocm"})
    assert named.value("vllm.torch_of_its_device") is False


def memory(*used: float) -> list[dict[str, Any]]:
    return [{"name": f"card {n}", "vendor": "nvidia", "used_share": share, "users": ["game"]} for n, share in enumerate(used)]


def test_memory_is_short_where_no_card_has_enough() -> None:
    busy = derived(gpu_memory=memory(0.4, 0.35))
    assert (busy.value("vllm.memory_short"), busy.value("vllm.memory_card"), busy.value("vllm.memory_share")) == (True, "card 1", "0.63")
    assert derived(gpu_memory=memory(0.4, 0.02)).value("vllm.memory_short") is False
    assert isinstance(derived(gpu_memory=memory(0.95)).get("vllm.memory_share"), Absent)
    assert not derived(gpu_memory=[{"name": "card", "vendor": "nvidia"}]).known("vllm.memory_short")


def test_flashinfer_is_compared_without_local_parts() -> None:
    same = {"vllm": "0.20.2", "flashinfer-python": "0.6.8", "flashinfer-jit-cache": "0.6.8+cu130"}
    assert isinstance(derived(**{"python.distributions": same}).get("vllm.flashinfer_other"), Absent)
    other = derived(**{"python.distributions": {**same, "flashinfer-cubin": "0.6.7"}})
    assert other.value("vllm.flashinfer_other") == "flashinfer-cubin 0.6.7"


def test_a_cache_as_large_as_main_memory_is_too_large() -> None:
    assert derived(**{"env": {"VLLM_CPU_KVCACHE_SPACE": "40"}, "memory.total_bytes": 32 * 2**30}).value("vllm.kv_space_too_large") is True
    assert derived(**{"env": {"VLLM_CPU_KVCACHE_SPACE": "4"}, "memory.total_bytes": 32 * 2**30}).value("vllm.kv_space_too_large") is False
