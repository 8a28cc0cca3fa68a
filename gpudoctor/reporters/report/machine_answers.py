"""The answers of a machine to the questions of issue forms: one function for each name that a profile of a tracker may use.

An answer is a text, or words from which a form's option is selected (`linux`, `ubuntu 24.04`). What a report does not hold is '', never
a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpudoctor.model.report import Report
from gpudoctor.reporters.report.collect_env import at, block, version

Answer = str | Sequence[str]
MOST_LINES = 60
"""Lines of one answer; a longer one ends with the number of those that were left out."""
_PACKAGE = "package:"
"""The prefix of an answer that is the version of one Python distribution."""
_RELEASE = "release:"
"""The prefix of an answer that is the major and minor number of the first of some distributions: `release:lightning|pytorch-lightning`."""
_DRIVER_PACKAGES = re.compile(
    r"igc|igdgmm|gmmlib|opencl|level-zero|libze|ocloc|intel-(?:gpu|i915|xe|dkms)|rocm|hip(?!ster)|hsa|amdgpu|nvidia|cuda|cudnn|vulkan|mesa|xrt|clinfo"
)
_PROCESSOR_VENDORS = ("intel", "amd", "apple")


def machine_answer(report: Report, name: str) -> Answer:
    """The report's answer by its name; '' where the report does not hold it, or where no answer has that name."""
    if name.startswith(_PACKAGE):
        return _package(report, name.removeprefix(_PACKAGE))
    if name.startswith(_RELEASE):
        return _release(report, name.removeprefix(_RELEASE))
    return _ANSWERS[name](report) if name in _ANSWERS else ""


def is_answer(name: str) -> bool:
    """Whether a profile may use this name."""
    return name in _ANSWERS or name.startswith((_PACKAGE, _RELEASE))


def _lines(rows: Sequence[str]) -> str:
    left = len(rows) - MOST_LINES
    return "\n".join([*rows[:MOST_LINES], *([f"and {left} more lines"] if left > 0 else [])])


def _gpus(report: Report) -> list[Mapping[str, Any]]:
    found = report.facts.get("gpus")
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _gpu_names(report: Report) -> str:
    """`2 x GeForce RTX 4090 (10de:2684), Arc A770 (8086:56a0)`."""
    counted: dict[str, int] = {}
    for gpu in _gpus(report):
        name = f"{gpu.get('name') or 'unnamed'}" + (f" ({gpu['pci_id']})" if gpu.get("pci_id") else "")
        counted[name] = counted.get(name, 0) + 1
    return ", ".join(f"{count} x {name}" if count > 1 else name for name, count in counted.items())


def _gpu_names_and_memory(report: Report) -> str:
    memory = {each.get("address"): each.get("usable_bytes") for each in report.facts.get("gpu_memory") or [] if isinstance(each, Mapping)}
    rows = []
    for gpu in _gpus(report):
        size = memory.get(gpu.get("address")) or gpu.get("memory_bytes")
        rows.append(f"{gpu.get('name') or 'unnamed'}" + (f", {size / (1 << 30):.1f} GiB" if isinstance(size, int) else ""))
    return "; ".join(rows)


def _gpu_vendors(report: Report) -> list[str]:
    return list(dict.fromkeys(_text(gpu.get("vendor")) for gpu in _gpus(report)))


def _processor(report: Report) -> str:
    return _text(at(report.facts, "cpu.model") or at(report.facts, "macos.chip"))


def _processor_vendor(report: Report) -> list[str]:
    name = _processor(report).lower()
    found = [word for word in _PROCESSOR_VENDORS if re.search(rf"\b{word}\b", name)]
    return found or (["other"] if name else [])


def _hardware(report: Report) -> str:
    return " + ".join(part for part in (_processor(report), _gpu_names(report)) if part)


def _operating_system(report: Report) -> str:
    name, number = _text(at(report.facts, "os.name")), _text(at(report.facts, "os.version"))
    return f"{name} ({number})" if name and number and number not in name else name


def _platform(report: Report) -> list[str]:
    """linux, windows or macos, followed by wsl2, wsl1 or docker where it applies."""
    kind, container = _text(at(report.facts, "platform.kind")), _text(at(report.facts, "container.kind"))
    base = "linux" if kind in ("linux", "wsl2", "wsl1", "container") else kind
    return [word for word in dict.fromkeys((base, kind if kind.startswith("wsl") else "", container)) if word]


def _distribution(report: Report) -> list[str]:
    """`ubuntu 24.04`, `ubuntu`, and the distributions that it derives from (ID_LIKE): the most exact word first."""
    name, number = _text(at(report.facts, "os.id")), _text(at(report.facts, "os.version"))
    related = at(report.facts, "os.id_like")
    found = [f"{name} {number}" if number else "", name, *(related if isinstance(related, list) else [])]
    return [word for word in dict.fromkeys(found) if word][:1] if name == "ubuntu" and number else [word for word in found if word]


def _architecture(report: Report) -> list[str]:
    machine = _text(at(report.facts, "platform.machine") or at(report.facts, "python.machine")).lower()
    return [{"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)] if machine else []


def _kernel(report: Report) -> str:
    return _text(at(report.facts, "kernel.release"))


def _kernel_and_modules(report: Report) -> str:
    """The kernel's release, its command line, and the GPU modules that are loaded."""
    modules = at(report.facts, "kernel.modules")
    rows = [("Kernel", _kernel(report)), ("Command line", _text(at(report.facts, "kernel.cmdline")))]
    if isinstance(modules, list):
        rows.append(("Modules", ", ".join(str(each) for each in modules) or "none of a GPU driver"))
    return "\n".join(f"{name}: {value}" for name, value in rows if value)


def _kernel_log(report: Report) -> str:
    rows = at(report.facts, "kernel.log")
    return _lines([str(row) for row in rows]) if isinstance(rows, list) else ""


def _device_nodes(report: Report) -> str:
    """One line for each device node of a GPU: permissions, group, whether this user may open it, and the PCI address."""
    rows: list[str] = []
    for gpu in _gpus(report):
        for name in ("card_node", "node"):
            node = gpu.get(name)
            if node and not any(row.startswith(f"{node} ") for row in rows):
                access = {"True": "may be opened", "False": "may not be opened"}.get(str(gpu.get("access"))) if name == "node" else None
                known = [gpu.get("node_mode"), gpu.get("node_group")] if name == "node" else []
                rows.append(f"{node} -> " + ", ".join(str(each) for each in [gpu.get("address"), *known, access] if each))
    return _lines(rows)


def _pci(report: Report) -> str:
    """One line for each GPU: address, ids, name, the kernel driver that is bound, the memory window."""
    rows = []
    for gpu in _gpus(report):
        bar = gpu.get("bar_bytes")
        driver = f"kernel driver in use: {gpu.get('driver') or 'none'}" if "driver" in gpu else ""
        window = f"largest memory window {bar / (1 << 20):.0f} MiB" if isinstance(bar, int) else ""
        first = f"{gpu.get('address') or '?'} [{gpu.get('pci_id') or '?'}] {gpu.get('name') or 'unnamed'}"
        rows.append(": ".join(each for each in (first, "; ".join(each for each in (driver, window) if each)) if each))
    return _lines(rows)


def _gpu_driver(report: Report) -> str:
    """The version of each user-mode driver that serves a GPU here."""
    facts, vendors = report.facts, _gpu_vendors(report)
    rows = []
    if "intel" in vendors:
        runtime = at(facts, "intel.compute_runtime.version") or at(facts, "intel.runtime.version") or at(facts, "windows.driver.intel")
        rows += [_text(runtime), _with_name("Level Zero", at(facts, "intel.level_zero.version"))]
    if "nvidia" in vendors:
        rows.append(_with_name("NVIDIA", at(facts, "nvidia.in_use")))
    if "amd" in vendors:
        rows += [_with_name("amdgpu", at(facts, "amd.driver.version")), _with_name("AMD", at(facts, "windows.driver.amd"))]
        rows.append(_with_name("ROCm", at(facts, "rocm.version")))
    return ", ".join(row for row in rows if row)


def _with_name(name: str, value: Any) -> str:
    return f"{name} {value}" if value else ""


def _driver_packages(report: Report) -> str:
    """Installed packages of the system that belong to GPU drivers and runtimes, with their versions."""
    installed = report.facts.get("packages")
    if not isinstance(installed, Mapping):
        return ""
    rows = [f"{name} {number}" for name, number in sorted(installed.items()) if isinstance(number, str) and _DRIVER_PACKAGES.search(name)]
    return _lines([row for row in rows if not row.startswith("manager ")])


def _cuda(report: Report) -> str:
    """The CUDA that the framework was built for, the driver, and cuDNN: `CUDA 12.8 (torch), driver 570.124.06, cuDNN 9.7`."""
    facts = report.facts
    rows = [
        f"CUDA {at(facts, 'cuda.torch')} (torch)" if at(facts, "cuda.torch") else "",
        _with_name("toolkit", at(facts, "nvidia.toolkit.version") or at(facts, "nvidia.nvcc.version")),
        _with_name("driver", at(facts, "nvidia.in_use")), _with_name("cuDNN", at(facts, "cuda.wheels.cudnn")),
    ]  # fmt: skip
    return ", ".join(row for row in rows if row)


def _rocm(report: Report) -> str:
    return _text(at(report.facts, "rocm.version"))


def _rocm_agents(report: Report) -> str:
    agents = at(report.facts, "rocm.agents")
    rows = [", ".join(f"{key} {value}" for key, value in agent.items() if value is not None) for agent in agents or [] if agent]
    return _lines(rows)


def _oneapi(report: Report) -> str:
    facts = report.facts
    installed = at(facts, "oneapi.installed")
    rows = [_with_name("active", at(facts, "oneapi.active")), _with_name("in the Python environment", at(facts, "oneapi.in_environment"))]
    rows.append(f"installed {', '.join(str(each) for each in installed)}" if isinstance(installed, list) and installed else "")
    return ", ".join(row for row in rows if row)


def _python(report: Report) -> str:
    number, kind = _text(at(report.facts, "python.version")), _text(at(report.facts, "python.kind"))
    return f"{number} ({kind})" if number and kind else number


def _package(report: Report, name: str) -> str:
    installed = at(report.facts, "python.distributions")
    entry = installed.get(name) if isinstance(installed, Mapping) else None
    return version(entry) if entry else ""


def _release(report: Report, names_wanted: str) -> str:
    """`2.5` of the first of these distributions that is installed: major and minor number."""
    found = next((number for name in names_wanted.split("|") if (number := _package(report, name))), "")
    return ".".join(found.split(".")[:2])


def _packages(names_wanted: Sequence[str]) -> Callable[[Report], str]:
    def found(report: Report) -> str:
        return ", ".join(f"{name} {number}" for name in names_wanted if (number := _package(report, name)))

    return found


def _package_installer(report: Report) -> list[str]:
    """pip, conda, uv or poetry; by the kind of the environment."""
    kind = _text(at(report.facts, "python.kind"))
    return [{"venv": "pip", "system": "pip", "pyenv": "pip"}.get(kind, kind)] if kind else []


def _accelerators(report: Report) -> list[str]:
    """cpu, and gpu where one is here."""
    return ["cpu", *(["gpu"] if _gpus(report) else [])] if _processor(report) or "gpus" in report.facts else []


def _system_and_architecture(report: Report) -> list[str]:
    """The words of `distribution`, `windows`, or the system with the architecture (`macos aarch64`)."""
    system = next(iter(_platform(report)), "")
    return _distribution(report) if system == "linux" else [system, *(f"{system} {word}" for word in _architecture(report))]


def _opencl(report: Report) -> str:
    """One line for each OpenCL platform, and one for each device below it."""
    rows = []
    for platform in at(report.facts, "opencl.platforms") or []:
        if isinstance(platform, Mapping):
            rows.append(", ".join(str(each) for each in (platform.get("name"), platform.get("version")) if each))
            devices = platform.get("devices")
            for device in devices if isinstance(devices, list) else []:
                if isinstance(device, Mapping):
                    known = (device.get("name"), device.get("type"), _with_name("driver", device.get("driver_version")))
                    rows.append("  " + ", ".join(str(each) for each in known if each))
    return _lines([row for row in rows if row.strip()])


def _windows_adapters(report: Report) -> str:
    """One line for each display adapter of Windows: name, PCI id, driver version, state."""
    rows = []
    for adapter in at(report.facts, "windows.adapters") or []:
        if isinstance(adapter, Mapping):
            known = (
                adapter.get("pci_id"),
                _with_name("driver", adapter.get("driver_version")),
                adapter.get("driver_date"),
                adapter.get("status"),
            )
            rows.append(f"{adapter.get('name') or 'unnamed'}: " + ", ".join(str(each) for each in known if each))
    return _lines(rows)


def _execution_providers(report: Report) -> list[str]:
    found = at(report.facts, "onnxruntime.providers")
    return [str(each) for each in found] if isinstance(found, list) else []


def _execution_provider_version(report: Report) -> str:
    """What the execution providers of the installed package use: CUDA and cuDNN, OpenVINO, or ROCm."""
    facts = report.facts
    rows = [
        _with_name("CUDA", at(facts, "onnxruntime.cuda")), _with_name("cuDNN", at(facts, "onnxruntime.cudnn")),
        _with_name("OpenVINO", at(facts, "onnxruntime.openvino")),
        _with_name("ROCm", at(facts, "rocm.version")) if "amd" in _gpu_vendors(report) else "",
    ]  # fmt: skip
    return ", ".join(row for row in rows if row)


def _llama_version(report: Report) -> str:
    number, binding = at(report.facts, "llama_cpp.version"), at(report.facts, "llama_cpp.python.version")
    return ", ".join(row for row in (_with_name("llama.cpp", number), _with_name("llama-cpp-python", binding)) if row)


def _llama_backends(report: Report) -> list[str]:
    found = at(report.facts, "llama_cpp.backends")
    return [str(each) for each in found] if isinstance(found, list) else []


def _environment(report: Report) -> str:
    return block(report, 40)


def _variables(report: Report) -> str:
    found = report.facts.get("env")
    return _lines([f"{name}={value}" for name, value in sorted(found.items())]) if isinstance(found, Mapping) else ""


def _summary(report: Report) -> str:
    from gpudoctor.reporters.report.markdown_report import markdown

    return markdown(report, packed=False, limit=1_800)


def _at(name: str) -> Callable[[Report], str]:
    return lambda report: _text(at(report.facts, name))


_ANSWERS: Mapping[str, Callable[[Report], Answer]] = {
    "accelerators": _accelerators,
    "architecture": _architecture,
    "container": _at("container.kind"),
    "container_toolkit": _at("nvidia.container_toolkit.version"),
    "cuda": _cuda,
    "device_nodes": _device_nodes,
    "distribution": _distribution,
    "driver_packages": _driver_packages,
    "environment": _environment,
    "execution_providers": _execution_providers,
    "execution_provider_version": _execution_provider_version,
    "gpu_driver": _gpu_driver,
    "gpu_names": _gpu_names,
    "gpu_names_and_memory": _gpu_names_and_memory,
    "gpu_vendors": _gpu_vendors,
    "hardware": _hardware,
    "jax_versions": _packages(("jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda13-plugin", "jax-rocm60-plugin", "jax-rocm7-plugin")),
    "kernel": _kernel,
    "kernel_and_modules": _kernel_and_modules,
    "kernel_log": _kernel_log,
    "llama_cpp_backends": _llama_backends,
    "llama_cpp_version": _llama_version,
    "ollama_version": _at("ollama.version"),
    "oneapi": _oneapi,
    "onnxruntime_version": _at("onnxruntime.version"),
    "opencl": _opencl,
    "operating_system": _operating_system,
    "package_installer": _package_installer,
    "pci": _pci,
    "platform": _platform,
    "processor": _processor,
    "processor_vendor": _processor_vendor,
    "python": _python,
    "rocm": _rocm,
    "rocm_agents": _rocm_agents,
    "summary": _summary,
    "system_and_architecture": _system_and_architecture,
    "variables": _variables,
    "windows_adapters": _windows_adapters,
}
