"""What a program misses: the name is read from its message, the package is that of the distribution."""

from __future__ import annotations

import pytest

from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive.import_failures import classify
from gpudoctor.facts.derive.import_failures import remedy as of_import
from gpudoctor.facts.derive.missing import DERIVATION, remedy, row_of
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.missing import read
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.signature import Numbered

SAID = {
    "OSError: libmpi.so.40: cannot open shared object file: No such file or directory": ("so", "libmpi.so.40"),
    "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so}": ("so", "libcudnn_ops.so.9.1.0"),
    "\tlibtinfo.so.5 => not found": ("so", "libtinfo.so.5"),
    "OSError: libcusparse.so.11": ("so", "libcusparse.so.11"),
    "x.cpp:3:10: fatal error: 'CL/opencl.hpp' file not found": ("h", "CL/opencl.hpp"),
    "x.cu:1:10: fatal error: cuda/std/complex: No such file or directory": ("h", "cuda/std/complex"),
    "x.cpp(7): fatal error C1083: Cannot open include file: 'level_zero\\ze_api.h': No such file": ("h", "level_zero/ze_api.h"),
    "/usr/bin/ld: cannot find -lOpenCL: No such file or directory": ("l", "OpenCL"),
    "LINK : fatal error LNK1104: cannot open file 'cudart.lib'": ("l", "cudart"),
    "zsh: command not found: clinfo": ("cmd", "clinfo"),
    "/bin/sh: 1: hipcc: not found": ("cmd", "hipcc"),
    "'nvcc' is not recognized as an internal or external command,": ("cmd", "nvcc"),
    "FileNotFoundError: [Errno 2] No such file or directory: '/opt/rocm/bin/hipcc'": ("cmd", "hipcc"),
    "ModuleNotFoundError: No module named 'torch._C'": ("py", "torch._C"),
    "Could not locate zlibwapi.dll. Please make sure it is in your library path!": ("dll", "zlibwapi.dll"),
    "  Library not loaded: /opt/homebrew/opt/libomp/lib/libomp.dylib": ("dylib", "libomp.dylib"),
}


def _read(text: str) -> list[dict[str, str]]:
    evidence = Evidence()
    read(Sheet([Numbered(number, line) for number, line in enumerate(text.splitlines(), 1)]), evidence)
    fact = evidence.facts["text.missing"]
    assert isinstance(fact, Known)
    return list(fact.value)


@pytest.mark.parametrize("text", sorted(SAID))
def test_the_name_is_read(text: str) -> None:
    kind, name = SAID[text]
    assert {"kind": kind, "name": name} in _read(text)
    assert row_of(kind, name) is not None


def test_what_cmake_does_without_is_not_missing() -> None:
    assert _read("-- Could NOT find MKL (missing: MKL_LIBRARIES)") == []
    assert _read("CMake Error: Could NOT find OpenCL (missing: OpenCL_LIBRARY)") == [{"kind": "cmake", "name": "OpenCL"}]


def test_cmake_breaks_its_lines() -> None:
    text = '  Could not find a package configuration file provided by\n  "hip" with any of the following names:'
    assert {"kind": "cmake", "name": "hip"} in _read(text)


def test_the_command_is_that_of_the_distribution() -> None:
    facts = Facts()
    facts.set("text.missing", Known([{"kind": "h", "name": "mpi.h"}]))
    facts.set("packages.manager", Known("dnf"))
    parts = dict(DERIVATION.derive(facts))["missing.parts"]
    assert isinstance(parts, Known) and parts.value[0]["command"] == "sudo dnf install openmpi-devel"
    assert "apt" not in parts.value[0]["what_to_do"]


def test_a_program_of_windows_is_not_told_of_apt() -> None:
    facts = Facts()
    facts.set("text.missing", Known([{"kind": "cmd", "name": "ninja"}]))
    facts.set("platform.kind", Known("windows"))
    parts = dict(DERIVATION.derive(facts))["missing.parts"]
    assert isinstance(parts, Known) and "sudo" not in parts.value[0]["what_to_do"] and "pip install" in parts.value[0]["what_to_do"]


def test_versions_come_from_the_name() -> None:
    known = remedy("so", "libpython3.11.so.1.0", "apt")
    assert known is not None and known[2] == ["sudo apt install libpython3.11"]
    known = remedy("so", "libMIOpen.so.1", "")
    assert known is not None and known[0] == "MIOpen"


@pytest.mark.parametrize(
    ("library", "wheel"),
    [
        ("libcupti.so.13", "nvidia-cuda-cupti"),
        ("libcupti.so.12", "nvidia-cuda-cupti-cu12"),
        ("libcublasLt.so.13", "nvidia-cublas"),
        ("libcublas.so.11", "nvidia-cublas-cu11"),
        ("libnvrtc-builtins.so.13.0", "nvidia-cuda-nvrtc"),
        ("libcufft.so.12", "nvidia-cufft"),
        ("libcufft.so.11", "nvidia-cufft-cu12"),
        ("libcudart.so.13", "nvidia-cuda-runtime"),
    ],
)
def test_the_wheels_of_cuda_13_have_no_suffix(library: str, wheel: str) -> None:
    found = remedy("so", library, "")
    assert found is not None
    assert f'pip install "{wheel}"' in found[1]


def test_without_a_text_nothing_is_missing() -> None:
    nothing = {"missing.parts": Known([], "no text"), "missing.count": Known(0, "no text"), "missing.modules": Known([], "module-packages")}
    assert dict(DERIVATION.derive(Facts())) == nothing


def test_an_import_that_failed_gets_the_same_package() -> None:
    assert of_import("libGL.so.1", "apt", "").startswith("sudo apt install libgl1")
    assert "/venv/bin/python -m pip install" in of_import("libiomp5.so", "", "/venv/bin/python")
    assert of_import("libnobody.so.7", "apt", "") == ""


def test_every_row_says_what_to_do() -> None:
    for row in table("missing-parts")["part"]:
        assert row["match"] and {"apt", "apt_dev", "dnf_dev", "pip", "text"} & set(row), row["product"]


def test_the_index_of_a_remedy_is_that_of_the_machine_else_the_newest() -> None:
    text = "ImportError: libtorch_hip.so: cannot open shared object file"
    root = "https://download.pytorch.org/whl/"
    newest = table("rocm-torch")["index"]
    here = Facts({"text.missing": Known(_read(text)), "index.rocm": Known(f"{root}rocm6.2")})
    somewhere = Facts({"text.missing": Known(_read(text))})
    for facts, index in ((here, "rocm6.2"), (somewhere, f"rocm{newest[list(newest)[-1]][0]}")):
        (part,) = dict(DERIVATION.derive(facts))["missing.parts"].value
        told = "".join(str(part[piece]) for piece in ("what_to_do", "then_2") if piece in part)
        assert f"--index-url {root}{index} " in told
    assert not [row["product"] for row in table("missing-parts")["part"] if "download.pytorch.org" in row.get("text", "")]


def test_a_part_of_an_installed_package_is_no_missing_module() -> None:
    """A module in a package is missing where the package is of another release; a check that names a distribution would be wrong."""

    def family(module: str) -> str:
        return classify({"kind": "exception", "name": "ModuleNotFoundError", "message": f"No module named '{module}'"})[0]

    assert [family(module) for module in ("vllm._C", "keras.engine", "sympy")] == ["missing-part", "missing-part", "missing-module"]


def kinds(text: str) -> list[str]:
    return [each["kind"] for each in _read(text)]


def test_what_cmake_goes_on_without_is_not_missing() -> None:
    warned = "CMake Warning at m.cmake:4 (message):\n  Could NOT find OpenBLAS (missing: OpenBLAS_LIB)\n"
    assert kinds(warned) == ["cmake"]
    assert kinds(warned + "-- Configuring done (2.1s)\n-- Generating done (0.1s)") == []
    assert kinds(warned + "-- Configuring done (2.1s)\nCMake Error at CMakeLists.txt:9 (find_package):") == ["cmake"]
    assert kinds(warned + "-- Configuring incomplete, errors occurred!") == ["cmake"]


@pytest.mark.parametrize(
    "line",
    [
        "W tsl/dso_loader.cc:64] Could not load dynamic library 'libnvinfer.so.8'; dlerror: libnvinfer.so.8: cannot open shared object",
        "py_utils.cc:38] TF-TRT Warning: Could not find TensorRT",
        "xla_bridge.py:9] Unable to initialize backend 'tpu': Failed to open libtpu.so: libtpu.so: cannot open shared object file",
        "Unable to initialize backend 'rocm': module 'jaxlib.xla_extension' has no attribute 'GpuClient'",
    ],
)
def test_what_a_framework_starts_without_is_not_missing(line: str) -> None:
    assert kinds(line) == []
    assert kinds("onnxruntime: libnvinfer.so.10: cannot open shared object file: No such file or directory") == ["so"]


@pytest.mark.parametrize(
    ("cards", "spoken", "expected"),
    [
        (["amd"], ["amd"], [True]),  # a card of another vendor: the program is of the wrong build
        (["intel", "nvidia"], ["intel", "nvidia"], [False]),
        (None, ["intel"], []),  # a text about another vendor's stack
        (None, ["nvidia"], [False]),
        (None, [], [False]),
    ],
)
def test_a_part_of_one_vendor_is_weighed_by_the_vendors_of_the_text(cards, spoken, expected) -> None:
    facts = Facts()
    facts.set("text.missing", Known([{"kind": "cmd", "name": "nvcc"}]))
    facts.set("text.other_vendors", Known(spoken))
    if cards is not None:
        facts.set("gpu.vendors", Known(cards))
    parts = dict(DERIVATION.derive(facts))["missing.parts"]
    assert isinstance(parts, Known) and [part["foreign"] for part in parts.value] == expected


def test_a_part_that_serves_every_vendor_is_never_foreign() -> None:
    facts = Facts()
    facts.set("text.missing", Known([{"kind": "cmd", "name": "ninja"}]))
    facts.set("text.other_vendors", Known(["amd"]))
    facts.set("gpu.vendors", Known(["amd"]))
    parts = dict(DERIVATION.derive(facts))["missing.parts"]
    assert isinstance(parts, Known) and [part["foreign"] for part in parts.value] == [False]
