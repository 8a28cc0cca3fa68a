"""Lines of the form `label: value`: torch's collect_env and its relatives, `accelerate env`, `transformers env`, `diffusers-cli env`,
tf_env_collect, issue forms, and what people write of their machine in such lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.form_answers import form_answers
from gpudoctor.facts.text.naming import name_gpu, name_system
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy

_LABEL = lazy(r"^[\s>*\-•]*(?:[*_`]{0,3})(?P<label>[A-Za-z🤗][\w🤗 .()/?+\-]{0,60}?)[*_`]{0,3}\s*(?:[:：=]|\t)[*_`]{0,3}\s*(?P<value>.*)$")
_NOTHING = lazy(r"^(?:n/?a|none|null|no|not installed.*|could not collect|unknown|-|no cuda|not applicable|\?)?$", re.IGNORECASE)
_VERSION = lazy(r"v?(?P<version>\d{1,9}\.\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*(?:\+[\w.]+)?)")
_KERNEL_IN_PLATFORM = lazy(r"^Linux-(?P<kernel>\d[\w.\-+]*?)-(?:x86_64|aarch64|amd64)\b")
_PROPERTIES = lazy(r"_?(?:Xpu)?DeviceProperties\(name='(?P<name>[^']{1,120})'(?P<rest>[^\n]{0,1000})")
_GPU_LINE = lazy(r"^\s*(?:\*\s*)?(?:\[\d+\]|GPU \d+:?)\s*(?P<name>\S.{2,100})$")


class _State(Struct):
    """What the readers of later labels need from earlier labels of the same listing."""

    torch: dict[str, object]


Label = Callable[[str, Evidence, _State], None]


def _package(name: str) -> Label:
    def take(value: str, evidence: Evidence, state: _State) -> None:
        found = _VERSION.search(value)
        if found:
            evidence.package(name, found["version"])

    return take


def _torch(value: str, evidence: Evidence, state: _State) -> None:
    found = _VERSION.search(value)
    if found:
        evidence.package("torch", found["version"])
        state.torch["version"] = found["version"]
        device = re.search(r"\((?P<seen>True|False|[A-Z]{2,4})\)", value)
        if device and device["seen"] in ("True", "CUDA"):  # 'PyTorch version (GPU?): 2.1.0+cu121 (True)', '(accelerator?): 2.7.1 (XPU)'
            state.torch["cuda_available"] = True
        elif device and device["seen"] == "XPU":
            state.torch["xpu_available"] = True
        elif device and device["seen"] in ("False", "NA") and re.search(r"\+(?:cu|rocm)\d", found["version"]):
            state.torch["cuda_available"] = False


def _built(kind: str) -> Label:
    def take(value: str, evidence: Evidence, state: _State) -> None:
        found = re.match(r"[\d.]+", value)
        if found:
            state.torch[kind] = found[0].rstrip(".") if kind != "xpu" else value.split()[0]
            state.torch.setdefault("collected", True)

    return take


def _debug(value: str, evidence: Evidence, state: _State) -> None:
    if value.lower() in ("true", "yes"):
        state.torch["debug"] = True


def _available(device: str) -> Label:
    def take(value: str, evidence: Evidence, state: _State) -> None:
        if value.lower() in ("true", "false", "yes", "no"):  # torch up to 1.6 wrote Yes and No
            state.torch[f"{device}_available"] = value.lower() in ("true", "yes")

    return take


def _accelerator(value: str, evidence: Evidence, state: _State) -> None:
    """'PyTorch accelerator: XPU' of accelerate env."""
    if value.strip().upper() in ("CUDA", "XPU"):
        state.torch[f"{value.strip().lower()}_available"] = True


def _processor(value: str, evidence: Evidence, state: _State) -> None:
    evidence.fact("cpu.model", value[:120], "text")


def _flags(value: str, evidence: Evidence, state: _State) -> None:
    """The flags line of lscpu, as collect_env repeats it. A line that was cut does not prove that a flag is absent."""
    flags = value.split()
    if len(flags) >= 20 and not value.endswith(("...", "…")):
        evidence.fact("cpu.flags", flags, "lscpu")


def _in_docker(value: str, evidence: Evidence, state: _State) -> None:
    if value.lower().startswith(("yes", "true")):
        evidence.platform("container")


def _python(value: str, evidence: Evidence, state: _State) -> None:
    found = _VERSION.search(value)
    if found:
        evidence.fact("python.version", found["version"], "text")
    if "conda" in value.lower():
        evidence.fact("python.kind", "conda", "text")
    if "64-bit runtime" not in value and "32-bit runtime" in value:
        evidence.fact("python.machine", "i686", "text")


def _platform(value: str, evidence: Evidence, state: _State) -> None:
    """'Linux-5.15.153.1-microsoft-standard-WSL2-x86_64-with-glibc2.35', 'Windows-10-10.0.26100-SP0', 'macOS-14.4-arm64-arm-64bit'."""
    kernel = _KERNEL_IN_PLATFORM.match(value)
    if kernel:
        evidence.files.setdefault("/proc/sys/kernel/osrelease", kernel["kernel"] + "\n")
        evidence.platform("wsl2" if "microsoft" in kernel["kernel"] else "linux")
    elif value.startswith("Windows-"):
        name_system(value.replace("-", " "), evidence)
    elif value.startswith(("macOS-", "Darwin-")):
        evidence.platform("macos")
    machine = re.search(r"\b(x86_64|aarch64|arm64|amd64)\b", value)
    if machine:
        evidence.fact("platform.machine", {"amd64": "x86_64"}.get(machine[1], machine[1]), "text")


def _system(value: str, evidence: Evidence, state: _State) -> None:
    """tf_env_collect prints a tuple: ('Ubuntu', '22.04', 'Jammy Jellyfish')."""
    name_system(re.sub(r"[()',]", " ", value).strip() if value.startswith("(") else value, evidence)


def _kernel(value: str, evidence: Evidence, state: _State) -> None:
    found = re.search(r"(?<![\d.])(\d{1,2}\.\d{1,3}(?:\.\d+)*[\w.\-+]*)", value)
    if found and not value.lower().startswith(("driver", "module")):
        evidence.files.setdefault("/proc/sys/kernel/osrelease", found[1] + "\n")


def _nvidia_driver(value: str, evidence: Evidence, state: _State) -> None:
    found = re.search(r"\b(\d{3}\.\d{2,3}(?:\.\d{2})?)\b", value)
    if found:
        evidence.fact("nvidia.driver.version", found[1], "text")


def _driver(value: str, evidence: Evidence, state: _State) -> None:
    """'Driver version: 551.88' is NVIDIA's by its form, 31.0.101.2111 is Intel's for Windows."""
    windows = re.search(r"\b((?:2[6-9]|3\d)\.\d+\.1\d\d\.\d{3,5})\b", value)
    if windows:
        evidence.platform("windows")
        evidence.fact("windows.driver.intel", windows[1], "text")
    elif others := re.search(r"\b3[0-9]\.0\.(?P<third>\d{2,5})\.(?P<fourth>\d{4,5})\b", value):
        evidence.platform("windows")
        if others["third"].startswith("1") and len(others["third"]) == 2:  # 31.0.15.5186 is NVIDIA's 551.86
            digits = (others["third"] + others["fourth"])[-5:]
            evidence.fact("nvidia.driver.version", f"{digits[:3]}.{digits[3:]}", "text")
        else:
            evidence.fact("windows.driver.amd", others[0], "text")
    elif re.search(r"\b[3-9]\d{2}\.\d{2,3}(?:\.\d{2})?\b", value) and not re.search(r"\d\.\d{3}\.\d", value):
        _nvidia_driver(value, evidence, state)


def _toolkit(value: str, evidence: Evidence, state: _State) -> None:
    found = re.search(r"\b(\d{1,2}\.\d{1,2})(?:\.\d+)?\b", value)
    if found:
        evidence.fact("nvidia.toolkit.version", found[1], "text")


def _gpu(value: str, evidence: Evidence, state: _State) -> None:
    for part in re.split(r",|;|\band\b|\+ ", value[:2000])[:64]:
        name_gpu(re.sub(r"^(?:GPU )?\d+:\s*", "", part.strip()), evidence)


LABELS: Mapping[str, Label] = {
    **dict.fromkeys(("pytorch version", "torch version", "pytorch version (gpu?)", "pytorch version (accelerator?)", "pytorch", "torch",
                     "pytorch/torch version"), _torch),
    "pytorch accelerator": _accelerator, "model name": _processor, "cpu model": _processor, "cpu name": _processor, "flags": _flags,
    "are we in docker": _in_docker, **dict.fromkeys(("deepspeed version", "deepspeed"), _package("deepspeed")),
    **dict.fromkeys(("ipex version", "ipex", "intel extension for pytorch", "intel-extension-for-pytorch"),
                    _package("intel-extension-for-pytorch")),
    **dict.fromkeys(("torchvision version", "torchvision"), _package("torchvision")),
    **dict.fromkeys(("torchaudio version", "torchaudio"), _package("torchaudio")),
    **dict.fromkeys(("transformers version", "transformers"), _package("transformers")),
    **dict.fromkeys(("accelerate version", "accelerate"), _package("accelerate")),
    **dict.fromkeys(("🤗 diffusers version", "diffusers version", "diffusers"), _package("diffusers")),
    **dict.fromkeys(("bitsandbytes version", "bitsandbytes"), _package("bitsandbytes")),
    **dict.fromkeys(("peft version", "peft"), _package("peft")),
    **dict.fromkeys(("xformers version", "xformers"), _package("xformers")),
    **dict.fromkeys(("triton version", "triton"), _package("triton")),
    **dict.fromkeys(("vllm version", "vllm"), _package("vllm")),
    **dict.fromkeys(("flash-attn", "flash attention version", "flash_attn"), _package("flash-attn")),
    **dict.fromkeys(("numpy version", "numpy"), _package("numpy")),
    **dict.fromkeys(("jax version", "jax"), _package("jax")),
    **dict.fromkeys(("jaxlib version", "jaxlib"), _package("jaxlib")),
    **dict.fromkeys(("tensorflow version", "tensorflow", "tf version", "tensorflow version (use command below)",
                     "tensorflow version (gpu?)", "tf.version.version"), _package("tensorflow")),
    **dict.fromkeys(("tensorflow-directml-plugin", "tensorflow directml plugin"), _package("tensorflow-directml-plugin")),
    **dict.fromkeys(("torch-directml", "torch_directml", "torch directml"), _package("torch-directml")),
    **dict.fromkeys(("openvino version", "openvino"), _package("openvino")),
    **dict.fromkeys(("onnxruntime-gpu", "onnxruntime gpu version"), _package("onnxruntime-gpu")),
    **dict.fromkeys(("poptorch", "poptorch version"), _package("poptorch")),
    "cuda used to build pytorch": _built("cuda"), "rocm used to build pytorch": _built("hip"), "xpu used to build pytorch": _built("xpu"),
    "is debug build": _debug, "pytorch xpu available": _available("xpu"),
    **dict.fromkeys(("is cuda available", "cuda available", "rocm available"), _available("cuda")),
    **dict.fromkeys(("is xpu available", "xpu available"), _available("xpu")),
    **dict.fromkeys(("python version", "python", "sys.version"), _python),
    **dict.fromkeys(("python platform", "platform", "os platform"), _platform),
    **dict.fromkeys(("os", "operating system", "os platform and distribution", "host os", "distribution", "distro", "linux distribution",
                     "linux os distribution",
                     "os version", "windows version", "windows build", "windows"), _system),
    **dict.fromkeys(("kernel", "linux kernel", "kernel version", "uname -r", "host kernel"), _kernel),
    **dict.fromkeys(("nvidia driver version", "nvidia driver", "nvidia gpu driver version", "cuda driver version", "nvidia-smi"),
                    _nvidia_driver),
    **dict.fromkeys(("driver version", "gpu driver version", "gpu driver", "driver", "graphics driver", "intel graphics driver",
                     "intel driver", "adrenalin"), _driver),
    **dict.fromkeys(("cuda runtime version", "cuda/cudnn version", "cuda version", "cuda toolkit", "cuda toolkit version", "nvcc"),
                    _toolkit),
    **dict.fromkeys(("gpu", "gpus", "gpu model", "gpu type", "gpu model and memory", "gpu models and configuration", "graphics card",
                     "gpu name",
                     "graphics", "video card", "device name", "card", "igpu", "dgpu", "intel gpu", "gpu device", "hardware", "device",
                     "npu", "gpu info", "card name", "chipset model", "accelerator", "xpu type"), _gpu),
}  # fmt: skip
_HEADS = (
    ("collect_env", lazy(r"^(?:Collecting environment information|Versions of relevant libraries)", re.IGNORECASE)),
    ("tf_env_collect", lazy(r"^== (?:check python|check pips|tensorflow import) ==")),
    ("diffusers-cli env", lazy(r"^- 🤗 Diffusers version: ")),
    ("accelerate env", lazy(r"^- `Accelerate` version: ")),
    ("transformers env", lazy(r"^- `transformers` version: ")),
)
_LISTED = lazy(r"^\s*\[(?:pip3?|conda|uv)\]\s+(?P<name>[\w.\-]+)(?:==|\s+)(?P<version>\d\S*)")


def read(sheet: Sheet, evidence: Evidence) -> None:
    state = _State({})
    names_follow = False
    for line in sheet.lines:
        text = line.text
        for name, head in _HEADS:
            if head.match(text):
                evidence.saw(name)
        if sheet.by_uv and text.startswith(" - "):
            continue
        listed = _LISTED.match(text)
        if listed:
            evidence.package(listed["name"], listed["version"])
            continue
        properties = _PROPERTIES.search(text)
        if properties:
            _device_properties(properties, evidence)
            continue
        found = _LABEL.match(text.replace("`", "") if text.startswith("- `") else text)
        label = " ".join(found["label"].lower().split()) if found else ""
        take = LABELS.get(label)
        if found and take is not None:
            value = found["value"].strip().strip("*`").strip()
            names_follow = label == "gpu models and configuration"
            if not _NOTHING.match(value) or (label.startswith("is ") and value.lower() == "no"):
                take(value, evidence, state)
        elif names_follow and (named := _GPU_LINE.match(text)):
            name_gpu(named["name"], evidence)
        elif text.strip():
            names_follow = False
    for label, value in form_answers(sheet.lines):
        LABELS[label](value, evidence, state)
    _framework(evidence, state)


def _device_properties(found: re.Match[str], evidence: Evidence) -> None:
    """torch.xpu.get_device_properties as collect_env prints it."""
    name_gpu(found["name"], evidence)
    version = re.search(r"driver_version='([\d.]+)'", found["rest"])
    if version:
        evidence.fact("intel.level_zero.version", version[1], "collect_env")


def _framework(evidence: Evidence, state: _State) -> None:
    """Facts about torch from collect_env, which imports it: its build, and whether it sees a device."""
    found = state.torch
    built = {key: str(found[key]) for key in ("cuda", "hip", "xpu") if found.get(key)}
    if "version" in found and (built or found.get("collected") or found.get("debug")):
        debug = {"debug": True} if found.get("debug") else {}
        evidence.imported("torch", str(found["version"]))
        evidence.fact("torch.version_file", {"version": found["version"], **built, **debug}, "collect_env")
    for device in ("cuda", "xpu"):
        if f"{device}_available" in found and "version" in found:
            evidence.torch_sees(device, bool(found[f"{device}_available"]), str(found["version"]))
