"""llama.cpp: its programs and llama-cpp-python, and the libraries of ggml beside them. Only files are read.

A build has one library for each backend (ggml/src/ggml-backend-reg.cpp of ggml-org/llama.cpp), or all of them inside the program.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.facts.probes.libraries import named_by_the_user
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

PROGRAMS = ("llama-server", "llama-cli", "llama-bench")
_BENCH = "llama-bench"
_FOLDERS = ("/usr/local/bin", "/usr/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin")
_BACKEND = lazy(
    r"^(?:lib)?ggml-(cuda|hip|sycl|vulkan|metal|opencl|musa|cann|openvino|rpc|cpu|base|blas)\b[\w.-]*\.(?:so|dll|dylib)(?:\.[\d.]+)?$"
)
GPU_BACKENDS = ("cuda", "hip", "sycl", "vulkan", "metal", "opencl", "musa", "cann", "openvino")
_PACKAGED = ("/usr/lib/x86_64-linux-gnu/ggml", "/usr/lib/aarch64-linux-gnu/ggml", "/usr/lib64/ggml", "/usr/lib/ggml")
"""The folders in which distributions put the backends (GGML_BACKEND_DIR), some of them one folder deeper."""
_LIB_PATH = "LLAMA_CPP_LIB_PATH"


def program_of(host: Host, names: Sequence[str] = PROGRAMS) -> str:
    """The path of the first of these programs that is on PATH or in the usual folders; '' where there is none."""
    ending = ".exe" if host.platform == "windows" else ""
    separator = ";" if host.platform == "windows" else ":"
    folders = [folder.replace("\\", "/").rstrip("/") for folder in (host.env("PATH") or "").split(separator) if folder]
    places = dict.fromkeys((*folders, *(() if ending else _FOLDERS)))
    return next((f"{folder}/{name}{ending}" for name in names for folder in places if host.exists(f"{folder}/{name}{ending}")), "")


def libraries_in(host: Host, folder: str) -> list[dict[str, Any]]:
    """One record for each backend of ggml in a folder; 'libggml-cuda.so' and the links to it are one."""
    found: dict[str, str] = {}
    for name in host.listdir(folder):
        match = _BACKEND.match(name)
        if match:
            found.setdefault(match[1], f"{folder}/{name}")
    return [{"backend": backend, "file": file, "folder": folder} for backend, file in found.items()]


def _beside(host: Host, program: str) -> list[dict[str, Any]]:
    """The libraries of ggml that a program finds: beside it, in lib next to its bin, and in the folders of distribution packages."""
    own = posixpath.dirname(host.realpath(program) or program)
    above = posixpath.normpath(f"{own}/../lib")
    folders = [own, above, *(("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64") if above == "/usr/lib" else ())]
    if above == "/usr/lib":
        folders += [place for folder in _PACKAGED for place in (folder, *(f"{folder}/{name}" for name in host.listdir(folder)))]
    return [record for folder in dict.fromkeys(folders) for record in libraries_in(host, folder)]


def _shadow(host: Host, facts: Facts, own: str) -> Fact:
    """The folder of LD_LIBRARY_PATH with another copy of ggml, which the linker takes before the one beside the program; absent for
    none."""
    for folder in named_by_the_user(host, facts):
        if folder != own and any(record["backend"] == "base" for record in libraries_in(host, folder)):
            return Known(folder, "LD_LIBRARY_PATH")
    return Absent("LD_LIBRARY_PATH")


def _backends(records: list[dict[str, Any]]) -> list[str]:
    return sorted({record["backend"] for record in records} & set(GPU_BACKENDS))


def _python(host: Host, facts: Facts) -> Collected:
    """The facts about llama-cpp-python in the target environment and the folder that it loads its libraries from."""
    version = facts.value("python.distributions.llama-cpp-python")
    if not version:
        known = facts.known("python.distributions")
        yield "llama_cpp.python.version", Absent("python.distributions") if known else Unknown("not recorded")
        return
    yield "llama_cpp.python.version", Known(version if isinstance(version, str) else version[0], "python.distributions")
    moved = host.env(_LIB_PATH)
    folders = [moved] if moved else [f"{folder}/llama_cpp/lib" for folder in facts.value("python.folders") or []]
    held = next((folder for folder in folders if host.listdir(folder)), "")
    if moved and host.knows(moved):
        llama = any("llama." in name for name in host.listdir(moved))
        yield "llama_cpp.python.moved", Absent(_LIB_PATH) if llama else Known(moved, _LIB_PATH)
    records = libraries_in(host, held) if held else []
    shared = any(record["backend"] in ("base", "cpu") for record in records)
    yield "llama_cpp.python.libraries", Known(records, held) if held else Unknown("not recorded")
    yield "llama_cpp.python.backends", Known(_backends(records), held) if shared else Unknown("not recorded")


def collect(host: Host, facts: Facts) -> Collected:
    program = program_of(host)
    yield from _python(host, facts)
    has_python = bool(facts.value("python.distributions.llama-cpp-python"))
    yield "llama_cpp.here", Known(bool(program) or has_python, program or "PATH")
    if not program:
        yield "llama_cpp.program", Absent("PATH")
        return
    yield "llama_cpp.program", Known(program, "PATH")
    bench = program_of(host, (_BENCH,))
    distrusted = host.distrust(bench) if bench else ""
    yield "llama_cpp.bench", Unknown(distrusted) if distrusted else Known(bench, "PATH") if bench else Absent("PATH")
    records = _beside(host, program)
    shared = any(record["backend"] in ("base", "cpu") for record in records)
    yield "llama_cpp.libraries", Known(records, posixpath.dirname(program))
    yield "llama_cpp.backends", Known(_backends(records), posixpath.dirname(program)) if shared else Unknown("not recorded")
    own = next((record["folder"] for record in records if record["backend"] == "base"), "")
    yield "llama_cpp.shadowed_by", _shadow(host, facts, own) if own else Unknown("not recorded")


_FIELDS = {"backend": "cuda, hip, sycl, vulkan, cpu, base …", "file": "path", "folder": "its folder"}
PROBE = Probe(
    name="llama_cpp",
    provides=(
        FactSpec("llama_cpp.here", "bool", "a program of llama.cpp or llama-cpp-python was found"),
        FactSpec("llama_cpp.program", "text", "llama-server, llama-cli or llama-bench", privacy="identifying"),
        FactSpec("llama_cpp.bench", "text", "llama-bench, which measures", privacy="identifying"),
        FactSpec("llama_cpp.libraries", "records", "libraries of ggml that the program finds", item="llama_library", fields=_FIELDS),
        FactSpec("llama_cpp.backends", "list", "its backends for GPUs; unknown where they are in the program itself"),
        FactSpec("llama_cpp.shadowed_by", "text", "folder of LD_LIBRARY_PATH with another copy of ggml", privacy="identifying"),
        FactSpec("llama_cpp.python.version", "dotted", "version of llama-cpp-python"),
        FactSpec("llama_cpp.python.libraries", "records", "libraries of ggml in llama-cpp-python", item="llama_py_library", fields=_FIELDS),
        FactSpec("llama_cpp.python.backends", "list", "its backends for GPUs"),
        FactSpec("llama_cpp.python.moved", "text", "folder without libllama that LLAMA_CPP_LIB_PATH names", privacy="identifying"),
    ),
    collect=collect,
    needs=("env", "python.distributions", "python.folders"),
)  # fmt: skip
