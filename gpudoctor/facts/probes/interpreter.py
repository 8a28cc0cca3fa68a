"""Finds the Python environment to examine, and why that one: from files and links, before anything in it is run."""

from __future__ import annotations

import re
import shlex

from msgspec import Struct, field

from gpudoctor.system.host import Host
from gpudoctor.system.trust import phrase

FRAMEWORKS = frozenset(("torch", "tensorflow", "jax", "onnxruntime", "openvino", "poptorch", "torch_directml", "pyopencl"))


class Environment(Struct):
    """A Python environment: its interpreter and the folders that it imports from. Empty texts stand for what is unknown."""

    why: str
    prefix: str = ""
    executable: str = ""
    version: str = ""
    kind: str = ""
    error: str = ""
    home: str = ""
    base: str = ""
    """The prefix of the interpreter that a virtual environment was made from."""
    include_system: bool = False
    folders: list[str] = field(default_factory=list)
    not_run: str = ""
    """Why nothing in it is run unless --python names it, as a sentence with that command; only its files are read then."""
    passed_over: str = ""
    """Why an environment in the current folder was not examined, as a sentence; this one was examined instead."""
    marker: dict[str, str] = field(default_factory=dict)


def slashes(path: str) -> str:
    return path.replace("\\", "/")


def parent(path: str) -> str:
    head = path.rstrip("/").rpartition("/")[0]
    return head or "/"


def parse_pyvenv(text: str) -> dict[str, str]:
    """The settings in a pyvenv.cfg (PEP 405), with keys in lower case."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals:
            found[key.strip().lower()] = value.strip()
    return found


def short_version(text: str) -> str:
    """The version of Python in a text: '3.11.7' of '3.11.7.final.0', 'Python 3.11.7' and '3.11.7+'; '' where there is none."""
    match = re.search(r"(?<!\d)\d{1,4}\.\d{1,4}(?:\.\d{1,6})?(?:(?:a|b|rc)\d{1,4})?", text)
    return match[0] if match else ""


def minor(version: str) -> str:
    """The first two numbers of a version, '3.11' of '3.11.7'; '' where it has only one."""
    return ".".join(version.split(".")[:2]) if "." in version else ""


def _absolute(host: Host, path: str) -> str:
    path = slashes(path)
    home = host.env("HOME") or host.env("USERPROFILE")
    if path.startswith("~/") and home:
        path = slashes(home) + path[1:]
    if path.startswith("/") or re.match(r"^[A-Za-z]:/", path):
        return path
    here = working_folder(host)
    return f"{here.rstrip('/')}/{path[2:] if path.startswith('./') else path}" if here else path


def working_folder(host: Host) -> str:
    """The folder in which gpudoctor was started; '' for a recorded machine."""
    return slashes(host.realpath(".")) if host.origin == "live" else ""


def _python_of(host: Host, prefix: str) -> str:
    """The path of the interpreter in an environment folder, even where it is a link that leads nowhere; '' where there is none."""
    candidates = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
    for candidate in candidates:
        if host.exists(f"{prefix}/{candidate}"):
            return f"{prefix}/{candidate}"
    for candidate in candidates:
        if host.readlink(f"{prefix}/{candidate}") is not None:
            return f"{prefix}/{candidate}"
    return ""


def _on_path(host: Host, name: str, beside: str = "") -> str:
    """The first interpreter of this name on PATH; '' where there is none. `beside`: the prefix of an environment that is passed over."""
    windows = host.platform == "windows"
    separator = ";" if windows else ":"
    suffix = ".exe" if windows and not name.endswith(".exe") else ""
    for folder in (host.env("PATH") or "/usr/local/bin:/usr/bin:/bin").split(separator):
        candidate = f"{slashes(folder).rstrip('/')}/{name}{suffix}"
        if beside and candidate.startswith(f"{beside}/"):
            continue
        # The app-execution alias of the Windows store is no interpreter.
        if folder and "/WindowsApps/" not in candidate and host.exists(candidate) and not (_is_root(host) and host.distrust(candidate)):
            return _behind_shim(host, candidate, name)
    return ""


def _behind_shim(host: Host, path: str, name: str) -> str:
    """The interpreter behind a script of pyenv: the one that PYENV_VERSION or pyenv's file `version` names; else the script itself."""
    if "/shims/" not in path:
        return path
    root = parent(parent(path))
    chosen = host.env("PYENV_VERSION") or ""
    if not chosen:
        said = host.read(f"{root}/version", limit=1_000)
        chosen = said.text.split("\n")[0].strip() if said.ok else ""
    for version in (chosen, *(chosen.split(":") if chosen else ())):
        candidate = f"{root}/versions/{version}/bin/{name}"
        if version and host.exists(candidate):
            return candidate
    return path


def find_target(host: Host) -> Environment:
    """The environment of --python, else the active one, else .venv in this folder, else python3 on PATH.

    The environment that gpudoctor itself runs in is examined only where a framework is installed in it or there is no other.
    """
    option = getattr(host, "target_python", None)
    if option:
        return _from_path(host, str(option), getattr(host, "target_why", "--python"))
    own: Environment | None = None
    for name, kind in (("VIRTUAL_ENV", "the active virtual environment"), ("CONDA_PREFIX", "the active conda environment")):
        value = host.env(name)
        if value:
            target = _from_path(host, value, f"{kind} ({name})")
            if not _is_ours(host, target):
                return target
            own = own or target
    here, passed_over = _absolute(host, ".venv"), ""
    if host.origin == "live" and host.exists(f"{here}/pyvenv.cfg"):
        why = host.distrust(here, lies_here=True)
        target = Environment("") if why else _from_path(host, here, ".venv in this folder")
        if not why and not _is_ours(host, target):
            return target
        own = own or (target if not why else None)
        if why:
            passed_over = f"{here} was not examined, {phrase(here, why)}; to look at it: gpudoctor check --python {shlex.quote(here)}"
    name = "python" if host.platform == "windows" else "python3"
    found = _on_path(host, name)
    target = _from_path(host, found, f"{name} on PATH") if found else Environment(f"{name} on PATH", error=f"no {name} on PATH")
    if found and _is_ours(host, target):
        other = _on_path(host, name, beside=target.prefix)
        own, target = own or target, _from_path(host, other, f"{name} on PATH") if other else target
    if own is not None and (not found or _is_ours(host, target)):
        target = own
    if own is not None and target is own:
        target.why = f"{target.why}; gpudoctor's own environment, since there is no other"
    target.passed_over = passed_over
    return target


def _is_ours(host: Host, target: Environment) -> bool:
    """Whether gpudoctor runs in this environment and no framework is installed in it."""
    own = getattr(host, "own_environment", "")
    if not own or host.realpath(target.prefix) != host.realpath(slashes(own)):
        return False
    return not any(name in FRAMEWORKS for folder in target.folders for name in host.listdir(folder))


def _from_path(host: Host, path: str, why: str) -> Environment:
    target = Environment(why)
    if "/" not in slashes(path) and not host.exists(_absolute(host, path)):
        found = _on_path(host, path)
        if not found:
            target.executable, target.error = path, f"{path} is not on PATH"
            return target
        path = found
    path = _absolute(host, path).rstrip("/") or "/"
    # "name/." exists for folders alone, even for empty ones
    if host.exists(f"{path}/."):
        target.prefix, target.executable = path, _python_of(host, path)
        if not target.executable:
            target.error = f"{path} holds no Python interpreter"
    elif host.exists(path) or host.readlink(path) is not None:
        target.executable, target.prefix = path, _prefix_of(host, path)
    else:
        target.executable, target.error = path, f"{path} does not exist"
        return target
    _fill(host, target)
    return target


def _prefix_of(host: Host, executable: str) -> str:
    folder = parent(executable)
    if folder.rpartition("/")[2].lower() in ("bin", "scripts"):
        if host.exists(f"{parent(folder)}/pyvenv.cfg"):
            return parent(folder)
        real = slashes(host.realpath(executable))
        if "/bin/" in real and host.exists(f"{parent(parent(real))}/lib"):
            return parent(parent(real))
        return parent(folder)
    return folder


def _is_root(host: Host) -> bool:
    """Whether this process runs as root: by /proc, since the program `id` may come from a folder that others can change."""
    return bool(re.search(r"^Uid:\s+\d+\s+0\b", host.read("/proc/self/status", limit=100_000).text, re.MULTILINE))


def _check_trust(host: Host, target: Environment) -> None:
    """Sets `not_run` of an environment that --python did not name and in which another user could have changed something."""
    if target.why == "--python" or not target.executable:
        return
    base = f"{target.base or target.prefix}/lib/python{minor(target.version)}"
    # An entry of PYTHONPATH may be an archive: it is no folder of packages, and Python imports from it all the same.
    separator = ";" if host.platform == "windows" else ":"
    asked_for = [_absolute(host, entry) for entry in (host.env("PYTHONPATH") or "").split(separator) if entry]
    for path in (target.executable, f"{target.prefix}/pyvenv.cfg", base, *asked_for, *target.folders):
        why = host.distrust(path)
        if why:
            asked = target.prefix if target.marker else target.executable
            target.not_run = f"{asked} was not run, {phrase(path, why)}; to run it: gpudoctor check --python {shlex.quote(asked)}"
            return


def _fill(host: Host, target: Environment) -> None:
    configuration = host.read(f"{target.prefix}/pyvenv.cfg", limit=20_000)
    target.marker = parse_pyvenv(configuration.text) if configuration.ok else {}
    if target.marker:
        target.home = slashes(target.marker.get("home", ""))
        target.base = parent(target.home) if target.home.endswith("/bin") else target.home
        target.include_system = target.marker.get("include-system-site-packages", "").lower() == "true"
        target.version = short_version(target.marker.get("version_info") or target.marker.get("version", ""))
    target.kind = _kind(host, target)
    if target.executable and not host.exists(target.executable):
        target.error = _gone(host, target.executable)
    _check_trust(host, target)
    if not target.version:
        target.version = _version(host, target)
    _folders(host, target)
    if not target.not_run:
        _check_trust(host, target)


def _kind(host: Host, target: Environment) -> str:
    if target.marker:
        if "uv" in target.marker:
            return "uv"
        return "poetry" if "/pypoetry/virtualenvs/" in target.prefix else "venv"
    if host.listdir(f"{target.prefix}/conda-meta"):
        return "conda"
    if "/.pyenv/versions/" in target.prefix or "/pyenv-win/versions/" in target.prefix:
        return "pyenv"
    if "/uv/python/" in target.prefix:
        return "uv"
    return "system"


def _gone(host: Host, executable: str) -> str:
    """The sentence about an interpreter that does not exist, with the end of its chain of links."""
    at = executable
    for _ in range(10):
        to = host.readlink(at)
        if to is None:
            break
        at = to if to.startswith("/") else f"{parent(at)}/{to}"
    return f"{executable} points to {at}, which does not exist" if at != executable else f"{executable} does not exist"


def _version(host: Host, target: Environment) -> str:
    for name in host.listdir(f"{target.prefix}/conda-meta"):
        match = re.match(r"^python-(\d+\.\d+\.\d+)-.*\.json$", name)
        if match:
            return match[1]
    match = re.search(r"/versions/(\d+\.\d+\.\d+)/", f"{target.prefix}/") or re.search(r"cpython-(\d+\.\d+\.\d+)-", target.prefix)
    if match:
        return match[1]
    if not host.quick and target.executable and not target.error and not target.not_run:
        ran = host.run([target.executable, "-V"], timeout=3.0)
        if ran.ok and short_version(ran.stdout or ran.stderr):
            return short_version(ran.stdout or ran.stderr)
    real = re.search(r"python(\d\.\d+)$", slashes(host.realpath(target.executable))) if target.executable else None
    if real:
        return real[1]
    libraries = [name for name in host.listdir(f"{target.prefix}/lib") if re.match(r"^python3\.\d+$", name)]
    return libraries[-1][6:] if len(libraries) == 1 else ""


def _folders(host: Host, target: Environment) -> None:
    """Sets the folders of the environment that hold distributions, in the order of sys.path; those that do not exist are left out."""
    short = minor(target.version)
    wanted: list[str] = []
    separator = ";" if host.platform == "windows" else ":"
    wanted += [_absolute(host, entry).rstrip("/") for entry in (host.env("PYTHONPATH") or "").split(separator) if entry]
    home = slashes(host.env("HOME") or "")
    if home and short and (not target.marker or target.include_system) and not host.env("PYTHONNOUSERSITE"):
        wanted.append(f"{home}/.local/lib/python{short}/site-packages")
    wanted += _site_of(host, target.prefix, short)
    if target.marker and target.include_system and target.base:
        wanted += _site_of(host, target.base, short)
    seen: set[str] = set()
    for folder in wanted:
        if folder not in seen and host.listdir(folder):
            target.folders.append(folder)
        seen.add(folder)


def _site_of(host: Host, prefix: str, short: str) -> list[str]:
    prefix = "" if prefix == "/" else prefix
    if prefix == "/usr" or prefix == "":
        near = [f"/usr/local/lib/python{short}/dist-packages", "/usr/lib/python3/dist-packages", f"/usr/lib/python{short}/site-packages",
                f"/usr/lib64/python{short}/site-packages", f"/usr/local/lib/python{short}/site-packages"]  # fmt: skip
        return near
    names = [f"python{short}"] if short and short != "" else []
    names += [name for name in host.listdir(f"{prefix}/lib") if re.match(r"^(python|pypy)3\.\d+t?$", name) and name not in names]
    found = [f"{prefix}/{lib}/{name}/{kind}" for name in names for lib in ("lib", "lib64") for kind in ("site-packages", "dist-packages")]
    kept = [folder for folder in found if host.listdir(folder)]
    # lib64 is often a link to lib
    kept = [folder for folder in kept if "/lib64/" not in folder or folder.replace("/lib64/", "/lib/") not in kept]
    return kept or [f"{prefix}/Lib/site-packages"]
