"""ComfyUI: its folder, the interpreter that starts it with its packages, and the demands of its start scripts and custom nodes.

The portable package has the folder python_embeded beside it; a checkout and comfy-cli use .venv or venv; the Desktop app uses .venv.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gpudoctor.facts.probes import dist_info
from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.facts.probes.interpreter import minor, parse_pyvenv, short_version, slashes, working_folder
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

PLACES = ("/workspace/ComfyUI", "/opt/ComfyUI", "/app/ComfyUI", "/ComfyUI", "/comfyui")
IN_HOME = (
    "ComfyUI", "comfy/ComfyUI", "Documents/ComfyUI", "Documents/comfy/ComfyUI", "ComfyUI_windows_portable/ComfyUI",
    "Desktop/ComfyUI_windows_portable/ComfyUI", "Downloads/ComfyUI_windows_portable/ComfyUI", "Documents/ComfyUI_windows_portable/ComfyUI",
)  # fmt: skip
ON_DRIVES = ("C:/ComfyUI_windows_portable/ComfyUI", "D:/ComfyUI_windows_portable/ComfyUI", "C:/ComfyUI", "D:/ComfyUI")
CLI_CONFIG = (".config/comfy-cli/config.ini", "Library/Application Support/comfy-cli/config.ini", "AppData/Local/comfy-cli/config.ini")
MOST_NODES, MOST_SCRIPTS, MOST_RECORDS = 300, 40, 200
WATCHED = lazy(r"^(?:torch|torchvision|torchaudio|xformers|onnxruntime(?:-[a-z]+)?|torch-directml)$")
KEPT = lazy(r"^(?:torch|pytorch|xformers|onnxruntime|comfyui|numpy$|triton|nvidia-|cuda-toolkit|intel-extension)")
_REQUIREMENT = lazy(r"^\s*([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*([<>=!~][^;#]*)?")
_SETTING = lazy(r"^[ \t]{0,20}(default_workspace|recent_workspace|default_launch_extras)[ \t]{0,20}=[ \t]{0,20}(.*)$", re.MULTILINE)


def requirements(text: str) -> list[tuple[str, str]]:
    """(name, specifier) of the packages in a requirements.txt that bring torch or its kernels (WATCHED)."""
    found = []
    for line in text.splitlines():
        match = _REQUIREMENT.match(line)
        if match and WATCHED.match(name := dist_info.normalise(match[1])):
            found.append((name, (match[2] or "").strip().replace(" ", "")))
    return found


def flags(text: str) -> list[str]:
    """The options in the lines of a script that start main.py; comments are not read."""
    lines = [line for line in text.splitlines() if "main.py" in line and not re.match(r"^\s*(?:#|rem\b|::|echo\b)", line, re.IGNORECASE)]
    return list(dict.fromkeys(word for line in lines for word in re.findall(r"(?<!\S)--[a-z][a-z0-9-]*", line)))


def _home(host: Host) -> str:
    return slashes(host.env("HOME") or host.env("USERPROFILE") or "").rstrip("/")


def _settings(host: Host) -> tuple[dict[str, str], str]:
    """The settings of comfy-cli about its workspaces, and the path of their file; ({}, '') where there is none."""
    home = _home(host)
    for place in CLI_CONFIG if home else ():
        text = host.read(f"{home}/{place}", limit=20_000)
        if text.ok:
            return {match[1]: match[2].strip() for match in _SETTING.finditer(text.text)}, f"{home}/{place}"
    return {}, ""


def _is_checkout(host: Host, folder: str) -> bool:
    return host.exists(f"{folder}/main.py") and host.exists(f"{folder}/comfy/cli_args.py")


def _is_desktop(host: Host, folder: str) -> bool:
    """Whether this is the base folder of the Desktop app, which keeps the code of ComfyUI elsewhere."""
    return not host.exists(f"{folder}/main.py") and host.exists(f"{folder}/custom_nodes") and host.exists(f"{folder}/.venv/pyvenv.cfg")


def _candidates(host: Host, settings: dict[str, str]) -> Iterator[str]:
    here, home = working_folder(host), _home(host)
    named = [host.env("COMFYUI_PATH") or "", settings.get("default_workspace", ""), settings.get("recent_workspace", "")]
    yield from (slashes(path).rstrip("/") for path in named if path)
    if here:
        yield from (here, f"{here}/ComfyUI")
    yield from (f"{home}/{place}" for place in IN_HOME if home)
    yield from ON_DRIVES if host.platform == "windows" else PLACES


def _parent(folder: str) -> str:
    return folder.rpartition("/")[0]


def _interpreter(host: Host, folder: str) -> tuple[str, str, str]:
    """(prefix, path) of the interpreter that starts ComfyUI, both '' where that is the one of the shell; and the kind of installation."""
    above = _parent(folder)
    if host.exists(f"{above}/python_embeded/python.exe"):
        return f"{above}/python_embeded", f"{above}/python_embeded/python.exe", "portable"
    kind = "desktop" if _is_desktop(host, folder) else "checkout"
    for prefix in (f"{folder}/.venv", f"{folder}/venv", f"{above}/.venv", f"{above}/venv"):
        if host.exists(f"{prefix}/pyvenv.cfg"):
            name = "Scripts/python.exe" if host.platform == "windows" else "bin/python"
            return prefix, f"{prefix}/{name}", kind
    return "", "", kind


def _version_of(host: Host, prefix: str) -> str:
    said = host.read(f"{prefix}/pyvenv.cfg", limit=4_000)
    if said.ok:
        found = parse_pyvenv(said.text)
        return short_version(found.get("version_info") or found.get("version") or "")
    names = [match for name in host.listdir(prefix) if (match := re.match(r"^python3(\d{1,2})\.(?:_pth|dll|zip)$", name))]
    return f"3.{names[0][1]}" if names else ""


def _inside(host: Host, path: str, folder: str) -> bool:
    """Whether a path lies in the folder after its links are followed."""
    return host.realpath(path).startswith(f"{host.realpath(folder).rstrip('/')}/")


def _nodes(host: Host, folder: str) -> list[dict[str, Any]]:
    top = f"{folder}/custom_nodes"
    names = [name for name in host.listdir(top) if not name.startswith((".", "__")) and not name.endswith((".disabled", ".py", ".example"))]
    found = []
    for name in names[:MOST_NODES]:
        path = f"{top}/{name}/requirements.txt"
        if not host.exists(path) or not _inside(host, path, folder):
            continue
        for package, demand in requirements(host.read(path, limit=20_000).text):
            found.append({"node": name, "package": package, "demand": demand or None})
    return found[:MOST_RECORDS]


def _starts(host: Host, folder: str, kind: str, settings: dict[str, str], config: str) -> list[dict[str, Any]]:
    top = _parent(folder) if kind == "portable" else folder
    scripts = [name for name in host.listdir(top) if name.lower().endswith((".bat", ".sh", ".ps1", ".cmd"))][:MOST_SCRIPTS]
    found = []
    for name in scripts:
        text = host.read(f"{top}/{name}", limit=20_000)
        if text.ok and "main.py" in text.text and _inside(host, f"{top}/{name}", top):
            found.append({"file": f"{top}/{name}", "name": name, "flags": flags(text.text)})
    extras = settings.get("default_launch_extras", "")
    if extras:
        found.append({"file": config, "name": "comfy launch", "flags": flags(f"main.py {extras}")})
    return found


def _program(host: Host, folder: str) -> Iterator[tuple[str, Fact]]:
    said = host.read(f"{folder}/comfyui_version.py", limit=4_000)
    project = host.read(f"{folder}/pyproject.toml", limit=40_000)
    version = re.search(r"^__version__\s*=\s*[\"']([^\"']{1,40})", said.text, re.MULTILINE) if said.ok else None
    version = version or (re.search(r"^version\s*=\s*[\"']([^\"']{1,40})", project.text, re.MULTILINE) if project.ok else None)
    yield "comfyui.version", Known(version[1], folder) if version else Unknown("not recorded")
    python = re.search(r"^requires-python\s*=\s*[\"']([^\"']{1,40})", project.text, re.MULTILINE) if project.ok else None
    yield "comfyui.requires_python", Known(python[1], f"{folder}/pyproject.toml") if python else Unknown("not recorded")
    wanted = host.read(f"{folder}/requirements.txt", limit=20_000)
    front = re.search(r"^comfyui-frontend-package==([\d.]{1,20})", wanted.text, re.MULTILINE) if wanted.ok else None
    yield "comfyui.requirements.file", Known(f"{folder}/requirements.txt", folder) if wanted.ok else Unknown("not recorded")
    yield "comfyui.frontend_wanted", Known(front[1], f"{folder}/requirements.txt") if front else Unknown("not recorded")


def _packages(host: Host, prefix: str, version: str) -> Iterator[tuple[str, Fact]]:
    windows = host.platform == "windows"
    site = f"{prefix}/Lib/site-packages" if windows else f"{prefix}/lib/python{minor(version)}/site-packages"
    names = host.listdir(site)
    if not names:
        yield "comfyui.distributions", Unknown("not recorded")
        return
    found = [dist for dist in dist_info.from_names(site, names)[0] if KEPT.match(dist.name)]
    yield "comfyui.distributions", Known(dist_info.versions(found), site)
    said = host.read(f"{site}/torch/version.py", limit=20_000)
    if said.ok:
        yield "comfyui.torch_file", Known(dist_info.parse_torch_version(said.text), f"{site}/torch/version.py")


def collect(host: Host, facts: Facts) -> Collected:
    settings, config = _settings(host)
    found = [path for path in dict.fromkeys(_candidates(host, settings)) if _is_checkout(host, path) or _is_desktop(host, path)]
    if not found:
        yield "comfyui.folder", Absent("usual folders")
        return
    folder = found[0]
    prefix, python, kind = _interpreter(host, folder)
    yield "comfyui.folder", Known(folder, "usual folders")
    yield "comfyui.others", Known(found[1:], "usual folders")
    yield "comfyui.kind", Known(kind, folder)
    yield "comfyui.executable", Known(python, folder) if python else Absent(folder)
    yield "comfyui.prefix", Known(prefix, folder) if prefix else Absent(folder)
    yield from _program(host, folder)
    yield "comfyui.nodes", Known(_nodes(host, folder), f"{folder}/custom_nodes")
    yield "comfyui.starts", Known(_starts(host, folder, kind, settings, config), folder)
    if prefix:
        version = _version_of(host, prefix)
        yield "comfyui.python_version", Known(version, prefix) if version else Unknown("not recorded")
        yield from _packages(host, prefix, version)


PROBE = Probe(
    "comfyui",
    (
        FactSpec("comfyui.folder", "text", "the folder of ComfyUI", privacy="identifying"),
        FactSpec("comfyui.others", "list", "more folders with a ComfyUI", privacy="identifying"),
        FactSpec("comfyui.kind", "text", "portable (python_embeded), desktop or checkout"),
        FactSpec("comfyui.executable", "text", "the interpreter that starts it; absent where the shell decides", privacy="identifying"),
        FactSpec("comfyui.prefix", "text", "the folder of that interpreter's environment", privacy="identifying"),
        FactSpec("comfyui.python_version", "version", "version of that interpreter"),
        FactSpec("comfyui.version", "version", "version of ComfyUI"),
        FactSpec("comfyui.requires_python", "text", "the Pythons that its pyproject.toml names"),
        FactSpec("comfyui.requirements.file", "text", "path of its requirements.txt", privacy="identifying"),
        FactSpec("comfyui.frontend_wanted", "dotted", "the comfyui-frontend-package that its requirements.txt pins"),
        FactSpec("comfyui.distributions", "map", "torch and its partners in that interpreter: name to version"),
        FactSpec("comfyui.torch_file", "map", "what torch/version.py holds there"),
        FactSpec("comfyui.nodes", "records", "packages of torch's kind that custom nodes ask for", item="comfy_node", fields={
            "node": "folder of the custom node", "package": "package", "demand": "its specifier; absent without one",
        }),
        FactSpec("comfyui.starts", "records", "scripts that start it", item="comfy_start", fields={
            "file": "path", "name": "name of the script", "flags": "options that it gives main.py",
        }),
    ),
    collect,
    needs=("python.prefix",),
)  # fmt: skip
