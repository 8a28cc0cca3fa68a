"""The systemd unit of Ollama: by `systemctl show`, else by the unit file and its drop-ins."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.system.host import Host

SHOWN = (
    "LoadState", "ActiveState", "User", "Group", "SupplementaryGroups", "DynamicUser", "Environment", "EnvironmentFiles", "PrivateDevices",
    "DevicePolicy", "DeviceAllow", "NeedDaemonReload", "FragmentPath",
)  # fmt: skip
_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
"""Folders of units: the first that holds the unit counts, and the drop-ins of all are added (systemd.unit(5))."""
VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
    "HSA_OVERRIDE_GFX_VERSION", "LD_LIBRARY_PATH", "JETSON_JETPACK", "OLLAMA_LLM_LIBRARY", "OLLAMA_VULKAN", "OLLAMA_IGPU_ENABLE",
    "OLLAMA_GPU_OVERHEAD", "OLLAMA_FLASH_ATTENTION", "OLLAMA_KV_CACHE_TYPE", "OLLAMA_CONTEXT_LENGTH", "OLLAMA_NUM_PARALLEL",
    "OLLAMA_MAX_LOADED_MODELS", "OLLAMA_SCHED_SPREAD", "OLLAMA_NUM_GPU", "OLLAMA_INTEL_GPU",
)  # fmt: skip
"""Variables that decide which device Ollama uses. Others of the service may be secrets and are not kept."""
Unit = dict[str, list[str]]
"""The settings of a unit: name to values."""


class Service(Struct, frozen=True):
    """A unit that may run ollama. `own`: of this user's own systemd, which starts it as this user."""

    name: str
    own: bool = False

    def show(self) -> tuple[str, ...]:
        return ("systemctl", *(("--user",) if self.own else ()), "show", self.name, f"--property={','.join(SHOWN)}")

    def control(self, verb: str) -> str:
        """The command that a person gives to systemd: `sudo systemctl restart ollama.service`, or without sudo for a unit of their own."""
        return f"systemctl --user {verb} {self.name}" if self.own else f"sudo systemctl {verb} {self.name}"

    def journal(self, pattern: str) -> tuple[str, ...]:
        unit = self.name.removesuffix(".service")
        return ("journalctl", *(("--user",) if self.own else ()), f"--unit={unit}", "--output=cat", "--no-pager", "--lines=400",
                f"--grep={pattern}")  # fmt: skip

    def folders(self, host: Host) -> tuple[str, ...]:
        home = host.env("HOME") or ""
        own = (f"{home}/.config/systemd/user", "/etc/systemd/user", "/usr/lib/systemd/user", "/lib/systemd/user")
        return own if self.own else _FOLDERS


SERVICES = (Service("ollama.service"), Service("snap.ollama.listener.service"), Service("ollama.service", own=True))
"""In the order in which they are looked for: the makers' and distributions' unit, that of the snap, a person's own."""
SHOW = SERVICES[0].show()


def parse_show(text: str) -> Unit:
    """The settings that `systemctl show` prints, those of SHOWN; a name may stand on several lines."""
    found: Unit = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and name in SHOWN:
            found.setdefault(name, []).extend([value.strip()] if value.strip() else [])
    return found


def parse_unit(texts: Iterable[str]) -> Unit:
    """The section [Service] of a unit and its drop-ins, in their order; an empty value removes earlier ones."""
    found: Unit = {}
    for text in texts:
        section = ""
        for line in text.replace("\\\n", " ").splitlines():
            line = line.strip()
            if line.startswith("["):
                section = line
            elif section == "[Service]" and "=" in line and line[0] not in "#;":
                name, _, value = (part.strip() for part in line.partition("="))
                name = "EnvironmentFiles" if name == "EnvironmentFile" else name
                if not value:
                    found[name] = []
                elif name in ("Environment", "EnvironmentFiles", "SupplementaryGroups", "DeviceAllow"):
                    found.setdefault(name, []).append(value)
                else:
                    found[name] = [value]
    return found


def last(unit: Unit, name: str) -> str:
    """The value of a setting that counts: the last one; '' where it is not set."""
    values = unit.get(name) or [""]
    return values[-1]


def is_set(unit: Unit, name: str) -> bool:
    """Whether a boolean setting is switched on."""
    return last(unit, name).lower() in ("yes", "true", "on", "1")


def assignments(lines: Iterable[str]) -> dict[str, str]:
    """The variables of VARIABLES, and HSA_OVERRIDE_GFX_VERSION_0 and so on, in lines such as `A=1 "B=two words"`."""
    found: dict[str, str] = {}
    for line in lines:
        try:
            words = shlex.split(line, comments=False)
        except ValueError:
            words = line.split()
        for word in words:
            name, equals, value = word.partition("=")
            if equals and (name in VARIABLES or name.startswith("HSA_OVERRIDE_GFX_VERSION")):
                found[name] = value
    return found


def service_of(host: Host) -> tuple[Service, Unit] | None:
    """The first of SERVICES that is there, as systemd has it, else as its files have it; None where there is none."""
    for service in SERVICES:
        ran = host.run(service.show(), timeout=5.0)
        shown = parse_show(ran.stdout) if ran.ok else {}
        if last(shown, "LoadState") == "loaded":
            return service, shown
        folders = service.folders(host)
        fragment = next((f"{folder}/{service.name}" for folder in folders if host.exists(f"{folder}/{service.name}")), "")
        if last(shown, "LoadState") == "not-found" or not fragment:
            continue
        dropped = {name: f"{folder}/{service.name}.d/{name}" for folder in reversed(folders)
                   for name in host.listdir(f"{folder}/{service.name}.d")}  # fmt: skip
        files = [fragment, *(dropped[name] for name in sorted(dropped) if name.endswith(".conf"))]
        return service, {**parse_unit(host.read(file, limit=100_000).text for file in files), "FragmentPath": [fragment]}
    return None


def variables_of(host: Host, unit: Unit) -> tuple[dict[str, str], bool]:
    """The service's variables that decide on devices, and whether all files with variables could be read. Files override the unit."""
    found = assignments(unit.get("Environment", []))
    whole = True
    for entry in unit.get("EnvironmentFiles", []):
        path, optional = entry.split(" (")[0].strip(), "ignore_errors=yes" in entry or entry.startswith("-")
        text = host.read(path.lstrip("-"), limit=100_000)
        if text.ok:
            found |= assignments(line for line in text.text.splitlines() if not line.lstrip().startswith(("#", ";")))
        elif not (optional and text.problem == "missing"):
            whole = False
    return found, whole
