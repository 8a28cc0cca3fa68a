"""The origin of a loaded library has the same words by the probe of a process and by the program that inspects a framework.

That program imports nothing of gpudoctor, and runs when it is imported: its function is taken from its source.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpudoctor.facts.probes import _process

PAYLOAD = Path(__file__).resolve().parents[4] / "gpudoctor" / "target" / "payloads" / "inspect_framework.py"
PATHS = {
    "/usr/local/cuda/lib64/stubs/libcuda.so.1": "stub",
    "/usr/lib/wsl/lib/libcuda.so.1": "wsl",
    "{prefix}/lib/python3.11/site-packages/torch/lib/libtorch.so": "wheel",
    "/usr/lib/python3/dist-packages/torch/lib/libtorch.so": "wheel",
    "/opt/intel/oneapi/compiler/2025.0/lib/libsycl.so.8": "oneapi",
    "/usr/local/cuda-12.4/lib64/libcudart.so.12": "toolkit",
    "/opt/rocm-6.1/lib/libamdhip64.so.6": "toolkit",
    "/home/ann/poplar_sdk/poplar/lib/libpoplar.so": "toolkit",
    "/opt/intel/openvino_2024/lib/libopenvino.so": "toolkit",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1": "system",
}


def of_the_payload(path: str, prefix: Path) -> str:
    (function,) = [node for node in ast.parse(PAYLOAD.read_text()).body if isinstance(node, ast.FunctionDef) and node.name == "origin"]
    names = {"os": os, "re": re, "sys": SimpleNamespace(prefix=str(prefix))}
    exec(compile(ast.Module([function], []), str(PAYLOAD), "exec"), names)
    return str(names["origin"](path))  # type: ignore[operator]


@pytest.mark.parametrize(("path", "words"), PATHS.items())
def test_a_library_has_one_origin_by_both(path: str, words: str, tmp_path: Path) -> None:
    path = path.format(prefix=tmp_path)
    assert (_process.origin(path, str(tmp_path)), of_the_payload(path, tmp_path)) == (words, words)


@pytest.mark.parametrize(
    ("folder", "mark", "words"), [("venv", "pyvenv.cfg", "wheel"), ("miniforge3/envs/gpu", "conda-meta/history", "conda")]
)
def test_a_library_in_the_folder_lib_of_an_environment_is_of_its_kind(folder: str, mark: str, words: str, tmp_path: Path) -> None:
    prefix = tmp_path / folder
    (prefix / mark).parent.mkdir(parents=True)
    (prefix / mark).touch()
    path = f"{prefix}/lib/libsycl.so.8"
    assert (_process.origin(path, str(prefix)), of_the_payload(path, prefix)) == (words, words)


def test_the_environment_of_the_system_claims_no_library(tmp_path: Path) -> None:
    path = "/usr/lib/x86_64-linux-gnu/libOpenCL.so.1"
    assert {_process.origin(path, prefix) for prefix in ("", "/", "/usr")} | {of_the_payload(path, tmp_path)} == {"system"}
