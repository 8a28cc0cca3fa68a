"""What of an answer is kept: the part that probes read. Pure functions of text."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

from gpudoctor.envtext.derived import KERNEL_LOG, LIBRARIES

LOG_LINES = 40
_TROUBLE = re.compile(r"error|fail|fault|time[d ]?out|reset|hang|xid|reject|refus|denied|unsupported|not supported|taint|oom|killed", re.I)
_MODULES = re.compile(
    r"^(nvidia|nouveau|nova|amd|radeon|fglrx|i915|xe$|drm|ttm|gpu|ipu|vfio|mei|dxg|intel_vsec|virtio|bochs|ast$|mgag|ib_|rdma|nv_peer|gdrdrv|habana|snd_hda_intel)"
)
PACKAGES = re.compile(
    r"^(nvidia-(driver|dkms|kernel|utils|prime|fabric-?manager|open|container-toolkit|cuda-toolkit|headless|opencl|smi|compute|vulkan|xconfig|lts|\d)"
    r"|nvidia$|libnvidia-(compute|ml|cfg)|(akmod|kmod|xorg-x11-drv)-nvidia|linux-(image|headers|firmware|modules-nvidia|objects-nvidia|generic)"
    r"|cuda(-drivers|-toolkit|-runtime|-nvcc|-compat)?(-[\d-]+)?$|libcuda|libcudnn|cudnn|libcublas|libnccl|nccl|intel-(opencl|level|igc|compute|gmm|i915"
    r"|platform|oneapi|basekit|ocloc|npu|driver|graphics|media)|libze|level-zero|oneapi-level|libigc|libigdgmm|ocl-icd|opencl|libOpenCL|libopencl"
    r"|pocl|libpocl|clinfo|mesa|libgl1-mesa|libvulkan|vulkan|amdgpu|amdvlk|rocm|amdrocm|hip|hsa|libhsa|rocblas|miopen|comgr|beignet|clvk|dkms$"
    r"|firmware-|poplar|libgomp1|libnvoptix|xserver-xorg-video-(nvidia|amdgpu)|bumblebee|kmod$)"
)
_NVIDIA = re.compile(
    r"driver_version|cuda_(umd_)?version|product_name|product_architecture|pci_(bus|device)_id|current_mig|pending_mig|mig_device|compute_mode"
    r"|persistence_mode|current_dm|virtualization_mode|license_status|(current|default)?_?power_limit|clocks_\w+_reasons?_\w+|(max|current)_link_(gen|width)"
    r"|current_ecc|sram_uncorrectable\w*|dram_uncorrectable|pending_retirement|remapped_row_(pending|failure)|state|status|gpu_recovery_action"
    r"|gsp_firmware_version|used_memory|total|used"
)
_UNUSED = ("N/A", "[N/A]", "", "0", "No", "Not Active", "None", "Unknown")
_NVIDIA_PLAIN = re.compile(
    r"NVSMI LOG|^GPU 0|Driver Version|CUDA (UMD )?Version|Product|Bus Id|Device Id|MIG|Pending|Current|Compute Mode|Persistence|Virtualiz|License"
    r"|Power Limit|Reasons|: Active|Link|Gen|Width|Max|ECC|Uncorrect|Volatile|Remap|Fabric|Stat|Recovery|GSP|^\s*(PCI|FB Memory|Total|Used)|has failed|[Ff]ailed"
)
_CL_KEYS = (
    r"platforms|devices|online|icd_loader|CL_PLATFORM_(NAME|VENDOR|VERSION)|CL_DEVICE_(BOARD_NAME_AMD|EXTENSIONS|GLOBAL_MEM_SIZE|MAX_COMPUTE_UNITS"
    r"|MAX_MEM_ALLOC_SIZE|NAME|PCI_BUS_INFO_KHR|PCI_BUS_ID_NV|TOPOLOGY_AMD|TYPE|raw|VENDOR|VENDOR_ID|VERSION)|CL_DRIVER_VERSION|CL_ICDL_(VENDOR|VERSION)|pci_\w+"
)
_CL_LINES = re.compile(
    rf"#PLATFORMS|({_CL_KEYS})\b|^\s*(Number of (platforms|devices)|(Platform|Device) (Name|Vendor|Version|Type|Board Name|Extensions|Topology)|Driver Version"
    r"|Max compute units|Global memory size|Max memory allocation|ICD loader|Vendor ID|NULL)|Platform #|Device #"
)
_VULKAN = re.compile(
    r"Instance Version|^GPU\d|^\s+(apiVersion|driverVersion|vendorID|deviceID|deviceType|deviceName|driverID|driverName|driverInfo)\s*=|"
    r"maxMemoryAllocationSize|maxBufferSize|subgroupSize|storageBuffer16BitAccess|shaderFloat16|VK_KHR_cooperative_matrix|ERROR|Cannot|failed"
)
_CPU_FLAGS = re.compile(r"^(avx|sse4|amx|fma$|f16c|hypervisor|asimd|sve|bf16|i8mm|lm$)")


def kept(keep: str, text: str) -> str:
    """The part of a text that `keep` of the table names."""
    name, _, rest = keep.partition(" ")
    function = _FUNCTIONS.get(name)
    if function is not None:
        return function(text)
    if name == "json":
        return _json(text, rest)
    if name == "words":
        return " ".join(word for word in text.split() if re.search(rest, word))
    pattern = re.compile(keep)
    return _lines(text, pattern.search)


def kept_name(keep: str, name: str) -> bool:
    """Whether a name in the listing of a folder is kept."""
    if keep in ("modules", "libraries"):
        return bool(_MODULES.match(name) if keep == "modules" else ".so" in name and (LIBRARIES.match(name) or name.startswith("libggml")))
    return re.search(keep, name) is not None


def _lines(text: str, wanted) -> str:  # type: ignore[no-untyped-def]
    return "\n".join(line.rstrip() for line in text.splitlines() if wanted(line))


def _json(text: str, keys: str) -> str:
    """The JSON value in a text with these keys alone; '' where there is none."""
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if start < 0:
        return text[:300]
    try:
        value, _ = json.JSONDecoder().raw_decode(text[start:])
    except ValueError:
        return text[:300]
    return json.dumps(_pruned(value, re.compile(keys)), ensure_ascii=False)


def _pruned(value, keys):  # type: ignore[no-untyped-def]
    if isinstance(value, list):
        return [_pruned(item, keys) for item in value[:16]]
    if isinstance(value, dict):
        return {key: _pruned(item, keys) for key, item in value.items() if keys.fullmatch(str(key)) and item not in (None, "", [])}
    return value


def _largest(text: str) -> str:
    """Of a PCI device's regions the largest."""

    def size(line: str) -> int:
        words = line.split()
        try:
            return int(words[1], 16) - int(words[0], 16) if int(words[2], 16) & 0x200 else 0
        except (ValueError, IndexError):
            return 0

    best = max(text.splitlines()[:6], key=size, default="")
    return f"0x0 {size(best):#x} 0x200" if best and size(best) else ""


def _display(text: str) -> str:
    """Of the blocks of lspci those of GPUs and accelerators."""
    separator = "\n\n" if "Slot:" in text else "\n(?=[0-9a-f])"
    blocks = [block for block in re.split(separator, text) if re.search(r"\[(03\d\d|12\d\d|0b40)\]|1d95:|\[1d95\]", block)]
    kept_lines = [_lines(block, re.compile(r"^(Slot|Class|Device|Module):|^[0-9a-f]|Kernel ").search) for block in blocks]
    return ("\n\n" if "Slot:" in text else "\n").join(kept_lines)


def _modules(text: str) -> str:
    names = [line.split()[0] for line in text.splitlines() if line.strip()]
    return "\n".join(name for name in names if name == "Module" or _MODULES.match(name))


def _nvidia(text: str) -> str:
    """The fields of nvidia-smi that tell of faults; no processes, no serial numbers."""
    if "<nvidia_smi_log" not in text:
        table = "| NVIDIA-SMI" in text
        return _lines(text, re.compile(r"NVIDIA-SMI|failed|couldn't|Version").search if table else _NVIDIA_PLAIN.search)
    try:
        root = ElementTree.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", text[text.find("<nvidia_smi_log") :]))
    except ElementTree.ParseError:
        return ""
    _prune_element(root)
    return ElementTree.tostring(root, encoding="unicode").replace("</gpu><gpu", "</gpu>\n<gpu")


def _prune_element(element: ElementTree.Element) -> bool:
    """Whether anything is left of an element without what nobody asks for."""
    element.tail = None
    for child in list(element):
        if not _prune_element(child):
            element.remove(child)
    if len(element) or element.tag in ("nvidia_smi_log", "gpu"):
        element.text = None
        return True
    words = (element.text or "").strip()
    element.text = words
    return bool(_NVIDIA.fullmatch(element.tag)) and words not in _UNUSED


def _rocminfo(text: str) -> str:
    """Agents that are GPUs, and errors."""
    wanted = re.compile(r"ROCk module|HSA Agents|^\*+|Agent \d|^\s*(Name|Marketing Name|Device Type|Compute Unit|Memory Properties):|error|[Uu]nable|fail|HSA_STATUS")
    return _lines(text, wanted.search)


def _clinfo(text: str) -> str:
    if text.lstrip()[:1] == "{":
        text = re.sub(r'("CL_DEVICE_EXTENSIONS"\s*:\s*")([^"]*)', lambda found: found[1] + _extensions(found[2]), text)
        return _json(text, _CL_KEYS)
    cut = [re.sub(r"(EXTENSIONS|Extensions)(\s+)(.*)", lambda found: found[1] + found[2] + _extensions(found[3]), line) for line in text.splitlines()]
    return _lines("\n".join(cut), _CL_LINES.search)


def _extensions(words: str) -> str:
    return " ".join(word for word in words.split() if re.search(r"fp64|fp16", word))


def _vulkaninfo(text: str) -> str:
    return _lines(text, _VULKAN.search)


def _libraries(text: str) -> str:
    """Lines of `ldconfig -p` about GPU libraries for 64 bits."""
    return "\n".join(line for line in text.splitlines() if LIBRARIES.match(line.strip()) and ("64" in line or "AArch64" in line))


def _uname(text: str) -> str:
    words = text.split()
    return " ".join(["Linux", "host", *words[2:3], *words[-2:]]) if text.startswith("Linux ") and len(words) > 3 else text


def _cpuinfo(text: str) -> str:
    found = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        key = key.strip()
        if key in ("model name", "flags", "Features", "CPU implementer") and key not in found:
            found[key] = " ".join(word for word in value.split() if key == "model name" or _CPU_FLAGS.match(word) or key == "CPU implementer")
    return "\n".join(f"{key}\t: {value}" for key, value in found.items())


def _mountinfo(text: str) -> str:
    """The mount of / where it tells of a container."""
    return _lines(text, lambda line: len(line.split()) > 4 and line.split()[4] in ("/", "/etc/hostname", "/dev/shm"))


def _mounts(text: str) -> str:
    """/, /dev/shm, drives of Windows and file systems of a network."""
    wanted = ("nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "ceph", "glusterfs", "drvfs", "9p", "virtiofs", "lustre", "beegfs")
    rows = [line for line in text.splitlines() if len(line.split()) > 3]
    return "\n".join(line for line in rows if line.split()[1] in ("/", "/dev/shm") or line.split()[2] in wanted)


def packages_in(argv0: str, text: str) -> dict:  # type: ignore[type-arg]
    """Names and versions of installed packages that matter, from a package manager's list."""
    found = {}
    for line in text.splitlines():
        words = line.split("\t") if argv0 == "dpkg-query" else line.split()
        if argv0 == "dpkg-query":
            words = words[1:] if len(words) == 3 and words[0][1:2] in ("i", "F", "W", "t") else []
        if len(words) >= 2 and PACKAGES.match(words[0]):
            found[words[0].partition(":")[0]] = words[1].strip()
    return found


def dpkg_packages(text: str) -> dict:  # type: ignore[type-arg]
    """The same from /var/lib/dpkg/status."""
    found = {}
    for block in text.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Status): (.*)$", block, re.M))
        status = fields.get("Status", "ok installed")
        if PACKAGES.match(fields.get("Package", "")) and status.endswith(("installed", "half-configured", "triggers-awaited", "triggers-pending")):
            if not status.endswith("not-installed") and "Version" in fields:
                found[fields["Package"]] = fields["Version"]
    return found


def apk_packages(text: str) -> dict:  # type: ignore[type-arg]
    return {name: version for name, version in re.findall(r"^P:(\S+)\nV:(\S+)$", text, re.M) if PACKAGES.match(name)}


def _log(text: str) -> str:
    """The last lines that tell of troubles, and the last others, each kind of line once."""
    seen, lines = set(), []
    for line in reversed(text.splitlines()):
        shape = re.sub(r"[\dA-Fa-fx]+", "0", re.sub(r"^\[[^\]]*\]", "", line))
        if KERNEL_LOG.search(line) and shape not in seen:
            seen.add(shape)
            lines.append(line.rstrip()[:240])
    troubles = [line for line in lines if _TROUBLE.search(line)][: LOG_LINES * 3 // 4]
    others = [line for line in lines if line not in troubles][: LOG_LINES - len(troubles)]
    return "\n".join(line for line in reversed(lines) if line in troubles or line in others)


_FUNCTIONS = {
    "largest": _largest, "display": _display, "modules": _modules, "nvidia": _nvidia, "rocminfo": _rocminfo, "clinfo": _clinfo, "log": _log,
    "vulkaninfo": _vulkaninfo, "libraries": _libraries, "uname": _uname, "cpuinfo": _cpuinfo, "mountinfo": _mountinfo, "mounts": _mounts,
}  # fmt: skip
