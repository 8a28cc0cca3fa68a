"""Writes what was answered: first the fields of collect_env, then the answers in groups, each in a form that is read back.

/folder: name=content name->target name!denied name[crw-rw---- root:render 0:44 open]
/folder/: further names in it
/file:
  its lines
$ command (how it ended, unless with 0)
  its lines, `! ` before those of standard error
"""

from __future__ import annotations

import json
import re
from typing import Any

from gpudoctor.envtext.asking import Asker, Clock, content, guarded, home_of, plain, sites_of, titles
from gpudoctor.envtext.cleaning import Cleaner
from gpudoctor.envtext.derived import VARIABLE_PREFIXES, VARIABLES
from gpudoctor.envtext.heading import NONE, PACKAGES_FOLLOW, heading
from gpudoctor.envtext.questions import REVISION, spelled_out

LIMIT = 8192
BEGIN = f"gpudoctor-env {REVISION}: what was looked at and what was found; gpudoctor explain FILE reads it"
END = "end of gpudoctor-env"
CUTS = ("older log", "libraries", "log", "packages", "programs", "runtimes", "drivers", "system", "devices", "variables")
"""What is left out, in this order, where the text would be longer than its limit; the last of them that has room then comes back."""
PRIVATE = ("USER", "HOME", "HOSTNAME", "LOGNAME", "SHELL", "DISPLAY", "LANG")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|AUTH|CREDENTIAL|ACCOUNT")


def asker_of(door: Any, clock: Clock, kind: Any = Asker) -> Any:
    """Knows what is private on this machine: its user, its names, its folders."""
    home, prefix = home_of(door), plain(door.python.get("prefix"))
    user = door.env("USER") or door.env("LOGNAME") or home.rpartition("/")[2]
    hosts = [door.read(path).text.strip() for path in ("/proc/sys/kernel/hostname", "/etc/hostname")]
    hosts += [door.env(name) or "" for name in ("HOSTNAME", "COMPUTERNAME")]
    places = [(home, "~")]
    if prefix not in ("", "/usr", "/usr/local"):
        places += [*((folder, "{site}") for folder in sites_of(door)), (prefix, "{prefix}")]
    return kind(door, clock, Cleaner(user, hosts, places))


def text(asker: Asker, limit: int = LIMIT) -> str:
    """The whole text, at most `limit` bytes long."""
    first, why = guarded(4.0, lambda: list(heading(asker)))
    first = first or [f"unknown: the first part ({asker.clean.line(why)})", PACKAGES_FOLLOW, f"[pip3] {NONE}"]
    left_out: Any = []
    for cut in CUTS:
        if _fits(asker, first, left_out, limit):
            break
        left_out.append(cut)
    for cut in left_out[-2::-1]:
        fewer = [each for each in left_out if each != cut]
        left_out = fewer if _fits(asker, first, fewer, limit) else left_out
    whole = _whole(asker, first, left_out).encode("utf-8", "replace")
    return (whole if len(whole) <= limit else whole[: limit - len(END) - 2] + f"\n{END}\n".encode()).decode("utf-8", "ignore")


def _fits(asker: Asker, first: Any, left_out: Any, limit: int) -> bool:
    return len(_whole(asker, first, left_out).encode("utf-8", "replace")) <= limit


def _whole(asker: Asker, first: Any, left_out: Any) -> str:
    clean, found = asker.clean, asker.found
    lines = [*first, "", BEGIN, f"Platform: {asker.door.platform}", *_python(asker, "libraries" not in left_out)]
    for group, title in titles().items():
        entries = [entry[1:] for entry in found.entries if entry[0] == group and group not in left_out]
        lines += [f"-- {title}"] if entries else []
        lines += _entries(entries, clean, 12 if group == "log" and "older log" in left_out else 1000)
    lines += ["-- Variables", *_variables(asker)] if "variables" not in left_out else []
    lines += [f"Not installed: {' '.join(dict.fromkeys(found.missing))}"] if found.missing else []
    unasked = asker.unasked()
    lines += [f"Not stated, of the questions of the table: {unasked}"] if unasked else []
    lines += asker.troubles
    lines += [f"Left out, for want of room: {', '.join(left_out)}"] if left_out else []
    return "\n".join([*lines, END, ""])


def _python(asker: Asker, libraries: bool) -> Any:
    python, clean = asker.door.python, asker.clean
    if not python:
        return
    prefix = clean.line(str(python.get("prefix") or "?"), "~")
    yield f"-- Python {python.get('version') or '?'}, {python.get('kind') or 'kind not known'}, in {prefix}"
    for name, framework in (python.get("frameworks") or {}).items():
        if not isinstance(framework, dict):
            continue
        shown = {key: value for key, value in framework.items() if key not in ("libraries", "file")}
        shown = {key: _short(value) for key, value in shown.items() if value or key in ("imported", "error", "devices")}
        yield f"Import {name}: {json.dumps(clean.value(shown), ensure_ascii=False)}"
        folders: Any = {}
        for each in framework.get("libraries") or () if libraries else ():
            folder = clean.line(str(each.get("path")).rpartition("/")[0])
            folders.setdefault(f"{each.get('origin')} {folder}", []).append(clean.line(str(each.get("soname"))))
        if folders:
            yield f"Loaded by {name}: " + "; ".join(f"{folder}: {' '.join(names)}" for folder, names in folders.items())


def _short(value: Any) -> Any:
    """Messages without their middle, lists without their end."""
    if isinstance(value, str) and len(value) > 1200:
        return value[:700] + " … " + value[-450:]
    if isinstance(value, list):
        return [_short(each) for each in value[:16]]
    return {key: _short(each) for key, each in value.items() if key != "git_version"} if isinstance(value, dict) else value


def _entries(entries: Any, clean: Cleaner, most: int) -> Any:
    """The lines of a group: folders with what is in them, then files of several lines, listings and commands."""
    folders: Any = {}
    blocks: Any = []
    first: Any = {}
    shown: Any = set()
    empty: Any = []
    for form, place, answer in entries:
        path = clean.line(place) if form in ("item", "text", "list") else place
        folder, _, name = path.rpartition("/")
        if form == "list":
            blocks.append((path, answer))
            continue
        shown.add(path)
        if form == "item" or (form == "text" and ("\n" not in answer or place[:5] == "/sys/") and len(answer) < 200):
            folders.setdefault(folder or "/", []).append(name + (answer if form == "item" else f"={content(answer)}"))
            continue
        blocks.append((f"{path}:" if form == "text" else place, (answer.split("\n") if form == "text" else answer or [])[-most:]))
        for line in answer if "ldconfig" in place else ():
            folder, _, names = line.partition(": ")
            shown |= {f"{folder}/{name}" for name in names.split()}
    for folder, row in folders.items():
        shape = (folder.rpartition("/")[0], *(re.split(r"=|->|!|\[", item)[0] for item in row))
        name, before = first.setdefault(shape, (folder.rpartition("/")[2], row))
        like = before is not row and len(row) > 3
        yield f"{folder} like {name}: {' '.join(item for item in row if item not in before)}" if like else f"{folder}: {' '.join(row)}"
    for place, lines in blocks:
        if place[-1:] == ":" or place[:1] == "$" or place[:3] == "By ":
            yield from (place, *(f"  {line}" for line in lines))
            continue
        names = [name for name in lines if f"{place}/{name}" not in shown]
        if names:
            yield f"{place}/: {' '.join(names)}"
        else:
            empty.append(place)
    if empty:
        yield f"Nothing {'further ' if shown else ''}in: {' '.join(empty)}"


def _variables(asker: Asker) -> Any:
    names = {name for prefix in spelled_out(VARIABLE_PREFIXES) for name in asker.door.env_names(prefix)} | spelled_out(VARIABLES)
    for name in sorted(names):
        value = asker.door.env(name)
        if value is not None and name not in PRIVATE and not _SECRET_NAME.search(name) and asker.clean.line(name) == name:
            yield f"{name}={asker.clean.line(value[:600])}"
