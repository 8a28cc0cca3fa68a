"""The first part of the text: the fields of PyTorch's collect_env, by their names and in their order, so that what reads those reads this."""

from __future__ import annotations

import json
import platform
import re
import sys

from gpudoctor.envtext.derived import DISTRIBUTIONS

NONE = "Could not collect"
PACKAGES_FOLLOW = "Versions of relevant libraries:"


class Heading:
    """Takes its values from what was answered, so that the text of a recorded machine has one as well."""

    def __init__(self, door, answers, clean) -> None:  # type: ignore[no-untyped-def]
        self.clean = clean
        self.door, self.answers, self.python = door, answers, door.python
        self.frameworks = self.python.get("frameworks") or {}
        torch = self.frameworks.get("torch")
        self.torch = torch if isinstance(torch, dict) else {}
        self.live = getattr(door, "live", True)

    def lines(self):  # type: ignore[no-untyped-def]
        parts = (*self._torch(), "", *self._system(), "", *self._python(), "", *self._processor(), "")
        yield from (self.clean.text(line) for line in parts)
        yield from self._libraries()

    def _output(self, program: str) -> str:
        """What a recorded command said, by its first word and one that it contains."""
        found = [said["stdout"] for argv, said in self.answers.commands.items() if " ".join(argv).startswith(program)]
        return found[0] if found else ""

    def _first(self, argv: tuple, pattern: str) -> str:  # type: ignore[type-arg]
        said = self.door.run(argv, timeout=2.0) if self.live else None
        found = re.search(pattern, said.stdout) if said is not None and said.rc == 0 else None
        return found[1].strip() if found else NONE

    def _torch(self):  # type: ignore[no-untyped-def]
        config = self.torch.get("config") or {}
        version = self.torch.get("version") or (self.python.get("distributions") or {}).get("torch")
        yield f"PyTorch version: {version or 'N/A'}"
        yield f"Is debug build: {config.get('debug', NONE) if version else 'N/A'}"
        yield f"CUDA used to build PyTorch: {config.get('cuda') or 'None' if version else 'N/A'}"
        yield f"ROCM used to build PyTorch: {config.get('hip') or 'N/A' if version else 'N/A'}"

    def _system(self):  # type: ignore[no-untyped-def]
        uname = self._output("uname")
        machine = platform.machine() if self.live else uname.split()[-2] if len(uname.split()) > 2 else ""
        name = re.search(r'PRETTY_NAME="?([^"\n]+)', self.answers.files.get("/etc/os-release", ""))
        other = re.search(r'"Caption": "([^"]+)', self._output("powershell"))
        product = " ".join(re.findall(r"Product(?:Name|Version):\s+(\S+)", self._output("sw_vers")))
        yield f"OS: {name[1] if name else other[1] if other else product or NONE}" + (f" ({machine})" if machine else "")
        yield f"GCC version: {self._first(('gcc', '--version'), 'gcc (.*)')}"
        yield f"Clang version: {self._first(('clang', '--version'), 'clang version (.*)')}"
        yield f"CMake version: {self._first(('cmake', '--version'), 'cmake (.*)')}"
        yield f"Libc version: {'-'.join(platform.libc_ver()) if self.live and self.door.platform == 'linux' else 'N/A'}"

    def _python(self):  # type: ignore[no-untyped-def]
        bits = f" ({sys.maxsize.bit_length() + 1}-bit runtime)" if self.live else ""
        yield f"Python version: {self.python.get('version') or NONE}{bits}"
        release = self.answers.files.get("/proc/sys/kernel/osrelease", "").strip()
        yield f"Python platform: {platform.platform() if self.live else f'Linux-{release}' if release else NONE}"
        yield f"Is CUDA available: {self._available('cuda')}"
        release = re.search(r"release (\d[\d.]*)", self._output("nvcc") or self._output("/usr/local/cuda/bin/nvcc"))  # type: ignore[assignment]
        yield f"CUDA runtime version: {release[1] if release else NONE}"
        yield f"CUDA_MODULE_LOADING set to: {self.door.env('CUDA_MODULE_LOADING') or 'N/A'}"
        query = [row.split(", ") for row in self._output("nvidia-smi --query-gpu").splitlines() if row.count(", ") > 5]
        names = [f"GPU {row[0]}: {row[1]}" for row in query]
        yield "GPU models and configuration: " + ("\n".join(["", *names]) if len(names) > 1 else "".join(names) or NONE)
        driver = re.search(r"Module\s+(\d[\d.]+)", self.answers.files.get("/proc/driver/nvidia/version", ""))
        yield f"Nvidia driver version: {query[0][-3] if query else driver[1] if driver else NONE}"
        cudnn = (self.python.get("distributions") or {}).get("nvidia-cudnn-cu12") or (self.python.get("distributions") or {}).get("nvidia-cudnn-cu13")
        yield f"cuDNN version: {cudnn or NONE}"
        yield f"Is XPU available: {self._available('xpu')}"
        yield f"HIP runtime version: {(self.torch.get('config') or {}).get('hip') or 'N/A'}"
        yield "MIOpen runtime version: N/A"
        yield f"Is XNNPACK available: {NONE}"

    def _available(self, kind: str) -> str:
        devices = self.torch.get("devices")
        if not isinstance(devices, list):
            return NONE if self.torch or "torch" in (self.python.get("distributions") or {}) else "N/A"
        return str(any(str(each.get("id")).startswith(kind) for each in devices if isinstance(each, dict)))

    def _processor(self):  # type: ignore[no-untyped-def]
        model = re.search(r"model name\s*: (.*)", self.answers.files.get("/proc/cpuinfo", ""))
        memory = re.search(r"MemTotal:\s+(\d+)", self.answers.files.get("/proc/meminfo", ""))
        yield "CPU:"
        yield f"Model name: {model[1] if model else self._output('sysctl -n machdep.cpu.brand_string').strip() or NONE}"
        yield f"Memory: {int(memory[1]) / (1 << 20):.1f} GiB" if memory else f"Memory: {NONE}"

    def _libraries(self):  # type: ignore[no-untyped-def]
        yield PACKAGES_FOLLOW
        listed = self.python.get("distributions")
        if listed is None:
            yield f"[pip3] {NONE}"
        for name, entry in sorted((listed or {}).items()):
            if DISTRIBUTIONS.match(name):
                versions = entry if isinstance(entry, list) else [entry]
                yield from (f"[pip3] {self.clean.line(name)}=={self.clean.version(version_of(version))}" for version in versions)


def version_of(entry) -> str:  # type: ignore[no-untyped-def]
    """The version in an entry of python.json."""
    return str(entry.get("version") if isinstance(entry, dict) else entry)


def compact(value) -> str:  # type: ignore[no-untyped-def]
    """JSON as one line without what is empty."""
    return json.dumps(value, ensure_ascii=False)
