"""What of an answer is kept: the part that probes read. Pure functions of text."""

from __future__ import annotations

import json
import re
from typing import Any

from gpudoctor.envtext.derived import KERNEL_LOG, LIBRARIES, OLLAMA_LOG

LOG_LINES = 40
_TROUBLE = re.compile(r"error|fail|fault|timed? ?out|reset|hang|xid|reject|refus|denied|unsupported|not supported|taint|oom|killed", re.I)
_MODULES = re.compile(
    r"^(nvidia|nouveau|nova|amd|radeon|i915|xe$|intel_vpu|accel|drm|ttm|gpu|ipu|vfio|mei|dxg|intel_vsec|virtio|bochs|ast$|mgag|nv_peer|nvgpu|gdrdrv|habana|snd_hda_intel|Module)"
)
PACKAGES = re.compile(
    r"^((lib|[ak]kmod-|xorg-x11-drv-)?nvidia|linux-(image|headers|firmware|generic|\w+-nvidia)|dkms$|cuda(-drivers|-toolkit|-runtime|-nvcc)?(-[\d-]+)?$"
    r"|(lib)?(cuda1|cudnn|cublas|nccl|ze|igc|igdgmm|opencl|OpenCL|pocl|vulkan|hsa|xrt)|intel-|(oneapi-)?level-zero|ocl-icd|clinfo|mesa-(vulkan|opencl)"
    r"|amd(gpu|vlk)|(amd)?rocm|hip|rocblas|miopen|comgr|beignet|clvk|firmware-|poplar)"
)
_NVIDIA = re.compile(
    r"(driver|cuda|cuda_umd|gsp_firmware)_version|product_\w+|pci_(bus|device)_id|\w+_mig|mig_device|(compute|persistence|virtualization)_mode|license_status"
    r"|((current|default)_)?power_limit|clocks_\w+_reasons?_\w+|(max|current)_link_\w+|current_(dm|ecc)|[sd]ram_uncorrectable\w*|pending_retirement"
    r"|remapped_row_\w+|stat(e|us)|gpu_recovery_action|used_memory|total|used"
)
_UNUSED = ("N/A", "[N/A]", "", "0", "No", "Not Active", "None", "Unknown")
_CL = (
    r"platforms|devices|online|icd_loader|raw|CL_(PLATFORM|DEVICE)_(NAME|VENDOR|VERSION)|CL_DEVICE_(BOARD_NAME_AMD|EXTENSIONS|GLOBAL_MEM_SIZE"
    r"|MAX_COMPUTE_UNITS|MAX_MEM_ALLOC_SIZE|PCI_BUS\w+|TOPOLOGY_AMD|TYPE|VENDOR_ID|OPENCL_C_FEATURES)|CL_DRIVER_VERSION|CL_ICDL_(VENDOR|VERSION)|pci_\w+"
)
_LINES = {
    "clinfo": rf"#PLATFORMS|({_CL})\b|^\s*(Number of (platforms|devices)|(Platform|Device) (Name|Vendor|Version|Type|Board Name|Extensions|Topology|#)"
    r"|Driver Version|Max compute units|Global memory size|Max memory allocation|ICD loader|NULL)|Device #",
    "vulkaninfo": r"Instance Version|^GPU\d|^\s+(apiVersion|vendorID|deviceID|device(Type|Name)|driver\w+)\s*=|ERROR|Cannot|failed",
    "rocminfo": r"ROCk module|HSA Agents|^\*+|Agent \d|^\s*(Name|Marketing Name|Device Type|Compute Unit|Memory Properties):|error|[Uu]nable|fail|HSA_STATUS",
    "nvidia": r"NVSMI|NVIDIA-SMI|Version|^GPU 0|failed|couldn't",
    "ollama": OLLAMA_LOG, "cpuinfo": r"^(model name|flags|Features|CPU implementer)\s*:",
    "modules": _MODULES.pattern, "comfy": r"^(torch|pytorch|xformers|onnxruntime|comfyui|numpy-|triton|nvidia_|intel_extension|pip-)",
    "mountinfo": r"^(\S+ ){4}(/|/etc/hostname|/dev/shm) .*(docker|overlay|libpod|containers|lxc|kube|shm)",
    "mounts": r"^\S+ (/|/dev/shm) |^\S+ \S+ (nfs4?|cifs|smb3|fuse.sshfs|ceph|glusterfs|drvfs|9p|virtiofs|lustre|beegfs) ",
}  # fmt: skip


_KEYS = {
    "xpu": r"device_(list|id|name)|error|pci_(bdf_address|device_id)|drm_device|(driver|gfx_firmware)_version|memory_physical_size_byte|max_mem_alloc_size_byte",
    "adapter": r"Name|Caption|AdapterCompatibility|DriverVersion|AdapterRAM|PNPDeviceID|ConfigManagerErrorCode|Status|DriverDate",
}


def kept(keep: str, text: str) -> str:
    """The part of a text that `keep` of the table names."""
    name, _, rest = keep.partition(" ")
    if name == "json" or (name == "clinfo" and text.lstrip()[:1] == "{"):
        return _json(text, _KEYS.get(rest, rest) or _CL)
    if name == "words":
        return " ".join(word for word in text.split() if re.search(rest, word))
    if name == "nvidia" and "<nvidia_smi_log" in text:
        return _nvidia(text[text.find("<nvidia_smi_log") :])
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](text)
    lines = [line.rstrip() for line in text.splitlines() if not keep or re.search(_LINES.get(keep, keep), line)]
    if keep in ("cpuinfo", "modules", "clinfo"):
        lines = list(dict.fromkeys(_words(line) if keep != "modules" else line.split()[0] for line in lines))
    return "\n".join(lines if keep != "ollama" else lines[-24:])[:12_000]


def kept_name(keep: str, name: str) -> bool:
    """Whether a name in the listing of a folder is kept."""
    if keep == "libraries":
        return ".so" in name and (LIBRARIES.match(name) is not None or name.startswith("libggml"))
    return re.search(_LINES.get(keep, keep), name) is not None


def _words(line: str) -> str:
    """A line of flags or extensions with those alone that matter."""
    found = re.match(r"(?i)(.*(?:flags|features|extensions)\s*:?\s+)(.*)", line)
    return (
        found[1] + " ".join(re.findall(r"(?<!\S)(?:avx|sse4|amx|fma|f16c|hypervisor|asimd|sve|lm\b)\S*|\S*fp(?:16|64)\S*", found[2]))
        if found
        else line
    )


def _json(text: str, keys: str) -> str:
    """The JSON value in a text with these keys alone; the beginning of the text where there is none."""
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    try:
        return json.dumps(_pruned(json.JSONDecoder().raw_decode(text[start:])[0], re.compile(keys)), ensure_ascii=False)
    except ValueError:
        return text[:300]


def _pruned(value: Any, keys: Any) -> Any:
    if isinstance(value, list):
        return [_pruned(item, keys) for item in value[:16]]
    if isinstance(value, dict):
        return {key: _pruned(item, keys) for key, item in value.items() if keys.fullmatch(str(key)) and item not in (None, "")}
    return _words(f"extensions {value}")[11:] if isinstance(value, str) and len(value) > 400 else value


def _largest(text: str) -> str:
    """Of a PCI device's regions the largest."""
    sizes = [0]
    for line in text.splitlines()[:6]:
        start, end, flags = (int(word, 16) for word in line.split()[:3])
        sizes += [end - start] if flags & 0x200 else []
    return f"0x0 {max(sizes):#x} 0x200" if max(sizes) else ""


def _display(text: str) -> str:
    """Of the blocks of lspci those of GPUs and accelerators."""
    blocks = [block for block in re.split("\n(?=[0-9a-f])", text) if re.search(r"\[(03\d\d|12\d\d|0b40)\]|\[1d95", block)]
    return "\n".join(line for block in blocks for line in block.splitlines() if re.match(r"[0-9a-f]|\s+Kernel ", line))


def _nvidia(text: str) -> str:
    """The fields of nvidia-smi that tell of faults; no processes, no serial numbers."""
    text = re.sub(r">\s+<", "><", text)
    text = re.sub(
        r"<(\w+)>([^<]*)</\1>", lambda leaf: leaf[0] if _NVIDIA.fullmatch(leaf[1]) and leaf[2].strip() not in _UNUSED else "", text
    )
    for _ in range(8):  # as deep as it is nested
        text = re.sub(r"<(?!gpu )(\w+)[^<>]*></\1>", "", text)
    return text.replace("</gpu><gpu", "</gpu>\n<gpu")


def _libraries(text: str) -> str:
    """Names in the loader's cache by folder: those of GPU libraries for 64 bits."""
    folders: Any = {}
    for name, kind, folder in re.findall(r"^\s*(\S+) \(([^)]*)\) => (\S+)/\S+$", text, re.M):
        if LIBRARIES.match(name) and ("64" in kind or "AArch64" in kind):
            folders.setdefault(folder, []).append(name)
    return "\n".join(f"{folder}: {' '.join(names)}" for folder, names in folders.items())


def _uname(text: str) -> str:
    words = text.split()
    return " ".join(["Linux", "host", *words[2:3], *words[-2:]]) if words[:1] == ["Linux"] and len(words) > 3 else text


def packages_in(manager: str, text: str) -> Any:
    """Names and versions of installed packages that matter, from a package manager's list."""
    row = r"^.[iFWt]\S?\s*\t([^\t:]+)\S*\t(\S+)" if manager == "dpkg-query" else r"^(\S+) (\S+)"
    return {name: version for name, version in re.findall(row, text, re.M) if PACKAGES.match(name)}


def _log(text: str) -> str:
    """The last lines that tell of troubles, and the last others, each kind of line once."""
    seen: Any = set()
    lines: Any = []
    for line in reversed(text.splitlines()):
        shape = re.sub(r"[\dA-Fa-fx]+", "0", re.sub(r"^\[[^\]]*\]", "", line))
        if KERNEL_LOG.search(line) and shape not in seen:
            seen.add(shape)
            lines.append(line.rstrip()[:240])
    troubles = [line for line in lines if _TROUBLE.search(line)][: LOG_LINES * 3 // 4]
    others = [line for line in lines if line not in troubles][: LOG_LINES - len(troubles)]
    return "\n".join(line for line in reversed(lines) if line in troubles or line in others)


_FUNCTIONS = {"largest": _largest, "display": _display, "log": _log, "libraries": _libraries, "uname": _uname}
