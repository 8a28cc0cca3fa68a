"""Ollama: the program and its libraries, the service with its user and variables, and the devices that its log lists.

It looks for libraries by ml/path.go of https://github.com/ollama/ollama and chooses by discover/runner.go. The server is asked for its
version alone.
"""

from __future__ import annotations

import posixpath
from typing import Any

from gpudoctor.facts.probes import _ollama_log
from gpudoctor.facts.probes._ollama_service import SERVICES, VARIABLES, Service, Unit, is_set, last, service_of, variables_of
from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.facts.probes.user import parse_groups, parse_id
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Incomplete, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin", "/Applications/Ollama.app/Contents/Resources")
JOURNAL = SERVICES[0].journal(_ollama_log.PATTERN)
SNAP = "/snap/ollama/current"
"""/snap/bin/ollama is a link to snap itself, which starts the program from here."""
_VERSION = lazy(r"(?:ollama version is|client version is) (\d[\w.+-]*)")
_HERE = lazy(r"^(https?://)?(127\.|localhost|0\.0\.0\.0|\[::1?\]|:)")
_LIBRARY = lazy(r"^(?:lib)?ggml[-_](cuda|hip|rocm|vulkan|metal|sycl|opencl)\b.*\.(?:so|dll|dylib)")
_OLD = lazy(r"^(cuda|rocm|vulkan)")
_KERNELS = lazy(r"^TensileLibrary_lazy_(gfx[0-9a-f]+)\.dat$")
_BACKENDS = {"hip": "rocm"}
MOST_FOLDERS = 40


def _programs(host: Host) -> list[str]:
    if host.platform == "windows":
        local = (host.env("LOCALAPPDATA") or "").replace("\\", "/")
        return [f"{local}/Programs/Ollama/ollama.exe"] if local else []
    folders = [folder for folder in (host.env("PATH") or "").split(":") if folder.startswith("/")]
    return [f"{folder.rstrip('/')}/ollama" for folder in dict.fromkeys((*folders, *_FOLDERS))]


def _libraries(host: Host, program: str) -> str:
    """The folder that Ollama takes its libraries from: near the program behind all links; '' where there is none."""
    folder = posixpath.dirname(host.realpath(program) or program)
    above = posixpath.normpath(posixpath.join(folder, "..", "lib", "ollama"))
    inside = f"{folder}/lib/ollama"
    order = (inside, above) if host.platform in ("windows", "macos") else (above, inside)
    return next((path for path in order if host.listdir(path)), "")


def runners_of(host: Host, libraries: str) -> list[dict[str, Any]]:
    """The records of ollama.runners, one for each GPU library. The folder '' is `libraries` itself, where some distributions put them."""
    names = host.listdir(libraries)[:MOST_FOLDERS]
    old = [f"runners/{name}" for name in host.listdir(f"{libraries}/runners")[:MOST_FOLDERS]]
    found = []
    for folder in ("", *names, *old):
        inside = names if not folder else host.listdir(f"{libraries}/{folder}")
        backends = sorted({match[1] for name in inside if (match := _LIBRARY.match(name))})
        if not backends and folder in old and (match := _OLD.match(posixpath.basename(folder))):
            backends = [match[1]]
        found += [
            {"folder": posixpath.basename(folder), "backend": _BACKENDS.get(backend, backend), "path": posixpath.join(libraries, folder)}
            for backend in backends
        ]
    return found


def _targets(host: Host, runners: list[dict[str, Any]]) -> Fact:
    """The AMD targets for which Ollama's libraries hold kernels, by the names of rocBLAS' files."""
    for runner in runners:
        if runner["backend"] == "rocm":
            files = host.listdir(f"{str(runner['path']).rstrip('/')}/rocblas/library")
            found = sorted({match[1] for name in files if (match := _KERNELS.match(name))})
            return Known(found, f"{runner['path']}/rocblas/library") if found else Unknown("not recorded")
    return Absent("the libraries of ollama")


def _groups(host: Host, unit: Unit, user: str) -> Fact:
    """The groups of the service. A dynamic user is a member of those that the unit names and of no other."""
    named = [name for name in (*" ".join(unit.get("SupplementaryGroups", [])).split(), last(unit, "Group")) if name]
    if is_set(unit, "DynamicUser"):
        return Known(sorted(set(named)), "the unit")
    ran = host.run(["id", user])
    who = parse_id(ran.stdout) if ran.ok else None
    if who is not None:
        return Known(sorted({*who[2], *named}), f"id {user}")
    listed = parse_groups(host.read("/etc/group").text)
    if not listed:
        return Unknown("not recorded")
    return Known(sorted({name for name, members in listed.values() if user in members} | set(named)), "/etc/group")


def _service(host: Host, facts: Facts, found: tuple[Service, Unit] | None) -> Collected:
    if found is None:
        yield "ollama.service", Absent("systemd")
        own = {name: value for name in VARIABLES if (value := host.env(name)) is not None}
        yield "ollama.env", Known(own, "environment")
        return
    service, unit = found
    yield "ollama.service", Known(last(unit, "FragmentPath") or service.name, "systemctl show")
    state = last(unit, "ActiveState")
    yield "ollama.service.state", Known(state, "systemctl show") if state else Unknown("not recorded")
    yield "ollama.service.own", Known(service.own, "systemctl show")
    yield "ollama.service.edit_command", Known(service.control("edit"), "systemctl show")
    yield "ollama.service.restart_command", Known(service.control("restart"), "systemctl show")
    if service.own:
        yield "ollama.service.user", facts.get("user.name")
        yield "ollama.service.groups", facts.get("user.groups")
    else:
        user = last(unit, "User") or "root"
        yield "ollama.service.user", Known(user, "systemctl show")
        yield "ollama.service.groups", _groups(host, unit, user)
    yield "ollama.service.dynamic_user", Known(is_set(unit, "DynamicUser"), "systemctl show")
    yield "ollama.service.private_devices", Known(is_set(unit, "PrivateDevices"), "systemctl show")
    yield "ollama.service.device_policy", Known(last(unit, "DevicePolicy") or "auto", "systemctl show")
    yield "ollama.service.devices_allowed", Known([line.split(" ")[0] for line in unit.get("DeviceAllow", [])], "systemctl show")
    reload = last(unit, "NeedDaemonReload")
    yield "ollama.service.changed", Known(reload == "yes", "systemctl show") if reload else Unknown("not recorded")
    named, whole = variables_of(host, unit)
    yield "ollama.env", Known(named if whole else Incomplete(named), "systemctl show")


def _log(host: Host, running: Service | None) -> Collected:
    """The facts in Ollama's log: the journal of a running service, or the file that the app writes on macOS and Windows."""
    if host.platform in ("windows", "macos"):
        local, home = (host.env("LOCALAPPDATA") or "").replace("\\", "/"), host.env("HOME") or ""
        path = f"{local}/Ollama/server.log" if host.platform == "windows" else f"{home}/.ollama/logs/server.log"
        text, source = host.read(path, limit=4_000_000), path
        said, why = text.text, "permission denied" if text.problem == "denied" else "not recorded"
    elif running is None:
        said, source, why = "", "", "not inspected"
    else:
        ran = host.run(running.journal(_ollama_log.PATTERN), timeout=8.0)
        said, source = ran.stdout if ran.answered else "", f"journalctl -u {running.name.removesuffix('.service')}"
        why = ran.why_not() if not ran.ok else "not recorded"
    version, devices, skipped = _ollama_log.parse_log(said)
    if version:
        yield "ollama.version", Known(version, source)
    yield "ollama.devices", Known(devices, source) if devices is not None else Unknown(why)
    yield "ollama.left_out", Known(skipped, source) if devices is not None else Unknown(why)


def _version(host: Host) -> Fact:
    """The version of the server where one answers on this machine, else of the program. With OLLAMA_HOST elsewhere nothing is asked."""
    if not _HERE.match(host.env("OLLAMA_HOST") or ":"):
        return Unknown("not inspected")
    ran = host.run(["ollama", "--version"], timeout=5.0)
    found = _VERSION.search(f"{ran.stdout}\n{ran.stderr}") if ran.answered else None
    return Known(found[1], "ollama --version") if found else Unknown(ran.why_not())


def collect(host: Host, facts: Facts) -> Collected:
    program = next((path for path in _programs(host) if host.exists(path)), "")
    yield "ollama.here", Known(bool(program), program or "PATH")
    if not program:
        return
    yield "ollama.program", Known(program, "PATH")
    yield "ollama.version", _version(host)
    running = None
    libraries = _libraries(host, f"{SNAP}/bin/ollama" if program.startswith("/snap/bin/") else program)
    yield "ollama.libraries", Known(libraries, "the folder of ollama") if libraries else Unknown("not recorded")
    if libraries:
        runners = runners_of(host, libraries)
        yield "ollama.runners", Known(runners, libraries)
        yield "ollama.rocm_targets", _targets(host, runners)
    if host.platform in ("windows", "macos"):
        yield "ollama.service", Absent("the system")
        yield "ollama.env", Known({name: value for name in VARIABLES if (value := host.env(name)) is not None}, "environment")
    else:
        found = service_of(host)
        running = found[0] if found is not None and last(found[1], "ActiveState") == "active" else None
        yield from _service(host, facts, found)
    yield from _log(host, running)


PROBE = Probe(
    name="ollama",
    provides=(
        FactSpec("ollama.here", "bool", "the program ollama was found"),
        FactSpec("ollama.program", "text", "the program", privacy="identifying"),
        FactSpec("ollama.version", "dotted", "version of the server, else of the program"),
        FactSpec("ollama.libraries", "text", "the folder of its libraries", privacy="identifying"),
        FactSpec(
            "ollama.runners", "records", "libraries for GPUs that ollama may load", item="ollama_runner",
            fields={"folder": "cuda_v13 …; '' for the folder of libraries itself", "backend": "cuda, rocm, vulkan …", "path": "folder"},
        ),
        FactSpec("ollama.rocm_targets", "list", "AMD targets for which its libraries hold kernels; absent without ROCm libraries"),
        FactSpec("ollama.service", "text", "its systemd unit; absent where it has none"),
        FactSpec("ollama.service.own", "bool", "it is a unit of this user's own systemd (systemctl --user)"),
        FactSpec("ollama.service.edit_command", "text", "the command that changes its unit"),
        FactSpec("ollama.service.restart_command", "text", "the command that restarts it"),
        FactSpec("ollama.service.state", "text", "active, inactive, failed …"),
        FactSpec("ollama.service.user", "text", "user of the service"),
        FactSpec("ollama.service.groups", "list", "groups of the service"),
        FactSpec("ollama.service.dynamic_user", "bool", "systemd creates its user at each start (DynamicUser)"),
        FactSpec("ollama.service.private_devices", "bool", "the unit hides the device nodes"),
        FactSpec("ollama.service.device_policy", "text", "auto, closed or strict"),
        FactSpec("ollama.service.devices_allowed", "list", "devices that the unit allows"),
        FactSpec("ollama.service.changed", "bool", "the unit was changed since systemd read it"),
        FactSpec("ollama.env", "map", "variables of the service (without one: of this shell) that decide on devices"),
        FactSpec(
            "ollama.devices", "records", "devices that ollama listed at its last start; none: it computes on the processor",
            item="ollama_device",
            fields={
                "id": "number or UUID", "library": "cuda, rocm, vulkan, metal", "name": "name", "vendor": "maker",
                "compute": "compute capability or target", "folder": "folder of the library", "driver": "version of the driver interface",
                "address": "PCI address", "type": "discrete or iGPU",
            },
        ),
        FactSpec(
            "ollama.left_out", "records", "devices that ollama found and left out", item="ollama_left",
            fields={"name": "name", "why": "integrated, driver or compute-capability"},
        ),
    ),
    collect=collect,
    needs=("env", "user.name", "user.groups"),
)  # fmt: skip
