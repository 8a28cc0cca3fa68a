"""What the llama.cpp probes read: programs, libraries of ggml, llama-cpp-python, the list of devices and what the linker misses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.facts.derive import llama_cpp as derived
from gpudoctor.facts.probes import llama_cpp, llama_cpp_devices
from gpudoctor.model.facts import Absent, Facts, Known, Unknown

LISTED = """load_backend: loaded CUDA backend from /opt/llama/libggml-cuda.so
Available devices:
  CUDA0: NVIDIA GeForce RTX 4090 (24080 MiB, 23512 MiB free)
  Vulkan0: llvmpipe (LLVM 17.0.6, 256 bits) (31991 MiB, 31991 MiB free)
  BLAS: OpenBLAS (0 MiB, 0 MiB free)
"""


def host_of(tmp_path: Path, files: dict[str, str], env: str = "", commands: dict[tuple[str, ...], str] | None = None) -> object:
    (tmp_path / "machine.toml").write_text('format = 1\nplatform = "linux"\n')
    (tmp_path / "env.toml").write_text(env)
    lines = [{"argv": list(argv), "rc": 0, "stdout": said, "stderr": ""} for argv, said in (commands or {}).items()]
    (tmp_path / "commands.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for path, text in files.items():
        file = tmp_path / "files" / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return open_recorded(str(tmp_path))


def recorded(tmp_path: Path, files: dict[str, str], env: str = "", facts: Facts | None = None) -> dict[str, object]:
    return dict(llama_cpp.collect(host_of(tmp_path, files, env), facts or Facts()))  # type: ignore[arg-type]


def test_devices_with_memory_count() -> None:
    devices = llama_cpp_devices.parse_devices(LISTED)
    assert devices is not None
    assert [(device["id"], device["backend"], device["name"]) for device in devices] == [
        ("CUDA0", "cuda", "NVIDIA GeForce RTX 4090"), ("Vulkan0", "vulkan", "llvmpipe (LLVM 17.0.6, 256 bits)"),
    ]  # fmt: skip
    assert devices[0]["memory_bytes"] == 24080 << 20


def test_an_opencl_device_counts_although_old_builds_print_no_memory() -> None:
    devices = llama_cpp_devices.parse_devices("Available devices:\n  GPUOpenCL: Intel(R) UHD Graphics (0 MiB, 0 MiB free)\n")
    assert devices is not None and [(each["id"], each["backend"]) for each in devices] == [("GPUOpenCL", "opencl")]
    assert isinstance(devices[0]["memory_bytes"], Unknown)


def test_none_is_a_list_and_an_old_program_says_nothing() -> None:
    assert llama_cpp_devices.parse_devices("Available devices:\n  (none)\n") == []
    assert llama_cpp_devices.parse_devices("error: unknown argument: --list-devices") is None


def test_what_the_linker_misses() -> None:
    text = (
        "\tlinux-vdso.so.1 (0x7ff)\n\tlibggml-base.so => not found\n"
        "\tlibcudart.so.12 => /opt/cuda/libcudart.so.12 (0x7f)\n\tlibcublas.so.12 => not found\n"
    )
    assert llama_cpp_devices.parse_ldd(text) == (["libcublas.so.12"], "12")


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("libggml-cuda.so", "cuda"), ("libggml-cpu-haswell.so", "cpu"), ("libggml-base.so.0.9.4", "base"), ("ggml-vulkan.dll", "vulkan"),
        ("libggml-hip.so.0", "hip"), ("libggml.so", None), ("libggml-cuda.so.txt", None),
    ],
)  # fmt: skip
def test_names_of_libraries(tmp_path: Path, name: str, backend: str | None) -> None:
    host = host_of(tmp_path, {f"/opt/llama/{name}": ""})
    assert [record["backend"] for record in llama_cpp.libraries_in(host, "/opt/llama")] == ([backend] if backend else [])  # type: ignore[arg-type]


def test_a_build_of_libraries_knows_its_backends(tmp_path: Path) -> None:
    files = {"/opt/llama/llama-cli": "", "/opt/llama/libggml-base.so": "", "/opt/llama/libggml-vulkan.so": ""}
    found = recorded(tmp_path, files, 'PATH = "/opt/llama:/usr/bin"\n')
    assert found["llama_cpp.program"] == Known("/opt/llama/llama-cli", "PATH")
    assert found["llama_cpp.backends"] == Known(["vulkan"], "/opt/llama")


def test_a_package_puts_backends_into_a_folder_of_its_own(tmp_path: Path) -> None:
    lib = "/usr/lib/x86_64-linux-gnu"
    found = recorded(tmp_path, {"/usr/bin/llama-cli": "", f"{lib}/libggml-base.so.0": "", f"{lib}/ggml/backends0/libggml-vulkan.so": ""})
    backends = found["llama_cpp.backends"]
    assert isinstance(backends, Known) and backends.value == ["vulkan"]


def test_a_program_of_one_file_says_nothing_of_its_backends(tmp_path: Path) -> None:
    found = recorded(tmp_path, {"/opt/llama/llama-server": ""}, 'PATH = "/opt/llama"\n')
    assert isinstance(found["llama_cpp.backends"], Unknown) and isinstance(found["llama_cpp.shadowed_by"], Unknown)


def test_another_copy_of_ggml_before_its_own(tmp_path: Path) -> None:
    files = {"/opt/llama/llama-server": "", "/opt/llama/libggml-base.so": "", "/opt/other/libggml-base.so": ""}
    env = 'PATH = "/opt/llama"\nLD_LIBRARY_PATH = "{}"\n'
    assert recorded(tmp_path, files, env.format("/opt/llama:/opt/other"))["llama_cpp.shadowed_by"] == Known("/opt/other", "LD_LIBRARY_PATH")
    assert recorded(tmp_path, files, env.format("/opt/llama"))["llama_cpp.shadowed_by"] == Absent("LD_LIBRARY_PATH")


def test_llama_cpp_python_in_the_target_environment(tmp_path: Path) -> None:
    site = "/home/user/venv/lib/python3.11/site-packages"
    facts = Facts({"python.distributions": Known({"llama-cpp-python": "0.3.16"}), "python.folders": Known([site])})
    found = recorded(tmp_path, {f"{site}/llama_cpp/lib/libggml-cpu.so": "", f"{site}/llama_cpp/lib/libggml-cuda.so": ""}, "", facts)
    backends = found["llama_cpp.python.backends"]
    assert isinstance(backends, Known) and backends.value == ["cuda"]
    assert found["llama_cpp.here"] == Known(True, "PATH")


def test_nothing_of_it_is_here(tmp_path: Path) -> None:
    found = recorded(tmp_path, {"/usr/bin/other": ""})
    assert found["llama_cpp.here"] == Known(False, "PATH")
    assert dict(derived.derive(Facts({"llama_cpp.here": Known(False)}))) == {}


def gpu_of(**facts: object) -> dict[str, object]:
    card = {"vendor": "nvidia", "kind": "discrete", "name": "GeForce RTX 4090"}
    given = {"llama_cpp.here": True, "gpus": [card], "env": {}, **facts}
    records = dict(derived.derive(Facts({name: Known(value) for name, value in given.items()})))["llama_cpp.gpus"]
    assert isinstance(records, Known)
    found = records.value[0]
    assert isinstance(found, dict)
    return found


def test_what_serves_a_card() -> None:
    assert gpu_of(**{"llama_cpp.backends": ["hip"]})["served"] is False
    assert gpu_of(**{"llama_cpp.backends": ["vulkan"]})["served"] is True
    assert isinstance(gpu_of()["served"], Unknown)
    assert gpu_of(**{"llama_cpp.backends": ["opencl"]})["served"] is False, "its OpenCL backend drops GPUs of NVIDIA and AMD"
    arc = {"vendor": "intel", "kind": "discrete", "name": "Arc A770"}
    assert [gpu_of(gpus=[arc], **{"llama_cpp.backends": [name]})["served"] for name in ("opencl", "sycl", "cuda")] == [True, True, False]
    assert gpu_of(**{"llama_cpp.devices": llama_cpp_devices.parse_devices(LISTED)})["served"] is True


def test_the_processor_in_the_guise_of_a_device_is_no_gpu() -> None:
    devices = [{"id": "Vulkan0", "backend": "vulkan", "name": "llvmpipe (LLVM 17)", "memory_bytes": 1}]
    found = dict(derived.derive(Facts({"llama_cpp.here": Known(True), "llama_cpp.devices": Known(devices)})))
    assert found["llama_cpp.gpu_seen"] == Known(False, "llama_cpp.devices")
    assert found["llama_cpp.only_processor"] == Known("llvmpipe (LLVM 17)", "llama_cpp.devices")


def test_the_driver_that_its_cuda_wants() -> None:
    facts = {"llama_cpp.here": Known(True), "llama_cpp.cuda_major": Known(13), "nvidia.in_use": Known("570.124.06")}
    assert dict(derived.derive(Facts(facts)))["llama_cpp.driver_wanted"] == Known("580.65.06", "cuda-driver")
    facts["nvidia.in_use"] = Known("580.95.05")
    assert dict(derived.derive(Facts(facts)))["llama_cpp.driver_wanted"] == Absent("cuda-driver")


def test_a_selector_of_sycl_hides_the_card_from_sycl_alone() -> None:
    arc = {"vendor": "intel", "kind": "discrete", "name": "Arc A770"}
    name, value = "ONEAPI_DEVICE_SELECTOR", "opencl:cpu"
    said = {"gpus": [arc], "intel.selector.variable": name, "intel.selector.value": value, "intel.selector.problem": "no Level Zero"}
    found = {backend: gpu_of(**said, **{"llama_cpp.backends": [backend]})["hidden"] for backend in ("sycl", "opencl", "vulkan")}
    assert found == {"sycl": "ONEAPI_DEVICE_SELECTOR=opencl:cpu", "opencl": None, "vulkan": None}
    assert gpu_of(gpus=[arc], **{"llama_cpp.backends": ["sycl"]})["hidden"] is None
