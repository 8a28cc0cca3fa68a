"""oneAPI: the installed versions, the one that this shell has activated, and the devices that sycl-ls lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_VERSION = lazy(r"^20\d\d(?:\.\d+){1,2}$")
_NEW_LINE = lazy(r"^\[(?P<backend>\w+):(?P<type>\w+)\]\[\w+:(?P<index>\d+)\]\s+(?P<rest>.+)$")
_OLD_LINE = lazy(r"^\[(?P<backend>\w+):(?P<type>\w+):(?P<index>\d+)\]\s*(?P<rest>.+)$")
_TAIL = lazy(r"\s{0,8}\[(?P<driver>[^\[\]]+)\]\s{0,8}$")
_TYPES = {"acc": "accelerator", "gpu": "gpu", "cpu": "cpu", "fpga": "accelerator", "host": "host", "npu": "accelerator"}
_API = lazy(r"\s{1,8}(?:OpenCL\s{1,8})?\d{1,9}(?:\.\d{1,9})+(?:\s{1,8}NEO|\s{1,8}\(Build \d{1,9}\))?\s{0,8}$")


def parse_sycl_ls(text: str) -> list[dict[str, Any]]:
    """The devices that sycl-ls lists, in each of its forms: '[opencl:gpu:2] …', '[ext_oneapi_level_zero:gpu:0] …',
    '[level_zero:gpu][level_zero:0] …'."""
    devices = []
    for line in text.splitlines()[:500]:
        found = _NEW_LINE.match(line.strip()) or _OLD_LINE.match(line.strip())
        if not found:
            continue
        rest, driver = found["rest"], None
        if tail := _TAIL.search(rest):
            driver, rest = tail["driver"], rest[: tail.start()]
        platform, _, name = rest.partition(", ")
        devices.append({
            "backend": found["backend"].removeprefix("ext_oneapi_"),
            "type": _TYPES.get(found["type"], found["type"]),
            "index": int(found["index"]),
            "platform": platform.strip(),
            "name": _API.sub("", name or platform).strip(),
            "driver": driver,
        })  # fmt: skip
    return devices


def versions_in(names: list[str]) -> list[str]:
    """Those names of folders that are versions of oneAPI, the oldest first."""
    return sorted((name for name in names if _VERSION.match(name)), key=lambda name: tuple(map(int, name.split("."))))


def _installed(host: Host, facts: Facts) -> tuple[list[str], str | None]:
    home = host.env("HOME")
    places = (host.env("ONEAPI_ROOT"), "/opt/intel/oneapi", f"{home}/intel/oneapi" if home else None)
    roots = [place for place in dict.fromkeys(places) if place]
    versions: list[str] = []
    where = None
    for root in roots:
        root = root.rstrip("/")
        names = host.listdir(root)
        here = versions_in(names) or versions_in(host.listdir(f"{root}/compiler")) or versions_in(host.listdir(f"{root}/mkl"))
        if here or host.exists(f"{root}/setvars.sh"):
            where = where or root
        versions += [version for version in here if version not in versions]
    packages = facts.value("packages", {})
    for name, text in packages.items() if isinstance(packages, Mapping) else ():
        if str(name).startswith(("intel-oneapi-runtime-dpcpp-cpp", "intel-oneapi-compiler-dpcpp-cpp-")) and isinstance(text, str):
            version = re.match(r"20\d\d\.\d+(?:\.\d+)?", text)
            if version and version[0] not in versions and not any(v.startswith(version[0]) for v in versions):
                versions.append(version[0])
                where = where or ("/opt/intel/oneapi" if host.exists("/opt/intel/oneapi") else None)
    return versions, where


def _sourced(host: Host) -> tuple[bool, str]:
    """(whether this shell finds SYCL's libraries, the variable that shows it)."""
    if host.env("SETVARS_COMPLETED") == "1":
        return True, "SETVARS_COMPLETED"
    folders = [folder for folder in (host.env("LD_LIBRARY_PATH") or "").split(":") if folder.startswith("/")][:60]
    for folder in folders:
        if "oneapi" in folder and ("compiler" in folder or folder.rstrip("/").endswith("/lib")):
            return True, "LD_LIBRARY_PATH"
        if any(name.startswith("libsycl.so") for name in host.listdir(folder)):
            return True, "LD_LIBRARY_PATH"
    if host.env("CMPLR_ROOT"):
        return True, "CMPLR_ROOT"
    return False, "environment"


def active_version(*values: str | None) -> str | None:
    """The version of the compiler in paths such as /opt/intel/oneapi/compiler/2023.1.0/linux/lib; None for 'latest' and without one."""
    for value in values:
        for pattern in (r"/compiler/(20\d\d\.\d+(?:\.\d+)?)", r"/oneapi/(20\d\d\.\d+(?:\.\d+)?)"):
            if value and (found := re.search(pattern, value)):
                return found[1]
    return None


def _sycl(host: Host) -> Collected:
    ran = host.run(["sycl-ls"], timeout=8.0)
    devices: Fact
    error: Fact
    if not ran.answered:
        devices = error = Absent("sycl-ls") if ran.missing and host.complete and not ran.not_recorded else Unknown(ran.why_not())
    else:
        listed = parse_sycl_ls(ran.stdout)
        devices = Known(listed, "sycl-ls") if ran.ok or listed else Unknown(ran.why_not())
        said = (ran.stderr + "\n" + ran.stdout).splitlines()
        lines = [line.strip() for line in said if re.search(r"error|exception|abort|not found", line, re.I)]
        error = Known(lines[0][:300], "sycl-ls") if lines else Absent("sycl-ls")
    yield "sycl.devices", devices
    yield "sycl.ls.error", error


def collect(host: Host, facts: Facts) -> Collected:
    versions, root = _installed(host, facts)
    sourced, how = _sourced(host)
    linux = host.platform != "windows" and host.platform != "macos"
    yield "oneapi.installed", Known(versions, root or "packages") if versions else Absent("/opt/intel/oneapi")
    yield "oneapi.root", Known(root, root) if root else Absent("/opt/intel/oneapi")
    yield "oneapi.sourced", Known(sourced, how) if linux or sourced else Unknown("not probed")
    version = active_version(host.env("CMPLR_ROOT"), host.env("LD_LIBRARY_PATH"))
    if version is None and sourced and len(versions) == 1:
        version = versions[0]
    yield "oneapi.active", Known(version, how) if version else Unknown("not in the text") if sourced else Absent("environment")
    yield from _sycl(host)


PROBE = Probe(
    "intel_oneapi",
    provides=(
        FactSpec("oneapi.installed", "list", "versions of oneAPI on this machine"),
        FactSpec("oneapi.root", "text", "where oneAPI is installed"),
        FactSpec("oneapi.sourced", "bool", "this shell has oneAPI's libraries on its path"),
        FactSpec("oneapi.active", "dotted", "version of the oneAPI compiler runtime that this shell has activated"),
        FactSpec(
            "sycl.devices", "records", "what sycl-ls lists", item="sycl_device",
            fields={"backend": "level_zero, opencl, cuda, hip", "type": "gpu, cpu, accelerator", "index": "number within the backend",
                    "platform": "platform", "name": "device", "driver": "driver version"},
        ),
        FactSpec("sycl.ls.error", "text", "what sycl-ls complains of"),
    ),
    collect=collect,
    needs=("packages",),
)  # fmt: skip
