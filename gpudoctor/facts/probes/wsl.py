"""The Windows Subsystem for Linux: its version, the GPU device, the libraries that Windows mounts."""

from __future__ import annotations

import re

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.facts.probes.presence import there
from gpudoctor.model.facts import Absent, Facts, FactSpec, Known, Unknown
from gpudoctor.system.host import Host

LIB = "/usr/lib/wsl/lib"
DXG = "/dev/dxg"


def parse_ini(text: str) -> dict[str, str]:
    """The settings in wsl.conf: 'section.key' to value, in lower case."""
    section, found = "", {}
    for line in text.splitlines():
        line = line.split("#", 1)[0].strip()
        head = re.fullmatch(r"\[(.+)\]", line)
        if head:
            section = head[1].strip().lower()
        elif "=" in line:
            key, _, value = line.partition("=")
            found[f"{section}.{key.strip().lower()}"] = value.strip().lower()
    return found


def collect(host: Host, facts: Facts) -> Collected:
    kind = str(facts.value("platform.kind", ""))
    release = str(facts.value("kernel.release") or host.read("/proc/sys/kernel/osrelease").text.strip())
    if not kind.startswith("wsl") and "microsoft" not in release.lower():
        yield "wsl.version", Absent("/proc/sys/kernel/osrelease")
        return
    yield "wsl.version", Known(1 if kind == "wsl1" else 2, "/proc/sys/kernel/osrelease")
    dotted = re.match(r"\d+(?:\.\d+)+", release)
    yield "wsl.kernel", Known(dotted[0], "/proc/sys/kernel/osrelease") if dotted else Unknown("unparsable")
    yield "wsl.dxg", _dxg(host)
    windows = re.search(r"(?<!\d)\d{1,6}\.\d{1,6}\.(\d{1,9})", host.run(["cmd.exe", "/c", "ver"], timeout=4.0).stdout)
    yield "windows.build", Known(int(windows[1]), "cmd.exe /c ver") if windows else Unknown("not recorded")
    names = host.listdir(LIB)
    if not names:
        said = host.run(["ls", LIB])
        names = said.stdout.split() if said.ok else []
    if names:
        yield "wsl.lib", Known(names, LIB)
    else:
        yield "wsl.lib", Absent(LIB) if there(host, LIB) is False else Unknown("not recorded")
    interop = host.listdir("/proc/sys/fs/binfmt_misc")
    yield "wsl.interop", Known(any(name.startswith("WSLInterop") for name in interop)) if interop else Unknown("not recorded")
    conf = parse_ini(host.read("/etc/wsl.conf").text)
    yield "wsl.conf.gpu", Known(conf.get("gpu.enabled", "true") != "false", "/etc/wsl.conf")
    yield "wsl.ld_conf", _ld_conf(host)


def _dxg(host: Host) -> Known | Unknown:
    answer = there(host, DXG)
    if answer is None:
        said = host.run(["ls", "-l", DXG])
        answer = True if said.ok else False if said.rc is not None else None
    return Unknown("not recorded") if answer is None else Known(answer, DXG)


def _ld_conf(host: Host) -> Known | Unknown:
    """Whether a configuration file of the dynamic loader names the folder LIB."""
    folder = "/etc/ld.so.conf.d"
    names = host.listdir(folder)
    if not names:
        return Unknown("not recorded")
    return Known(any(LIB in host.read(f"{folder}/{name}").text for name in names), folder)


PROBE = Probe(
    "wsl",
    (
        FactSpec("wsl.version", "int", "1 or 2; absent outside WSL"),
        FactSpec("wsl.kernel", "dotted", "version of the WSL kernel"),
        FactSpec("wsl.dxg", "bool", "whether /dev/dxg is there"),
        FactSpec("wsl.lib", "list", "names of the files in /usr/lib/wsl/lib; absent where the folder is missing"),
        FactSpec("wsl.interop", "bool", "whether Windows programs can be started"),
        FactSpec("wsl.conf.gpu", "bool", "false where /etc/wsl.conf switches the GPU off"),
        FactSpec("wsl.ld_conf", "bool", "whether the loader's configuration names /usr/lib/wsl/lib"),
    ),
    collect,
    needs=("platform.kind", "kernel.release"),
)
