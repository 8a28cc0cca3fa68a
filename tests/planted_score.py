"""Plants of every class, put into every place of a recorded machine where they can stand; what of them comes out in a report."""

from __future__ import annotations

import html
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

from gpudoctor.services import checking, reporting

HERE = Path(__file__).parent
PLANTS = json.loads((HERE / "planted_classes.json").read_text())
PEOPLE = "root:x:0:0:root:/root:/bin/sh\ncarol:x:1000:1000:Carol Nußbaum,,,:/home/carol:/bin/bash\nžofie:x:1001:1001::/home/žofie:/bin/sh\n"
FILES = {
    "etc/hostname": "nautilus\n",
    "proc/sys/kernel/hostname": "nautilus\n",
    "etc/resolv.conf": "nameserver 10.9.9.9\nsearch zebrafish.lan\n",
    "etc/hosts": "127.0.0.1 localhost\n127.0.1.1 nautilus.zebrafish.lan nautilus\n",
    "etc/passwd": PEOPLE,
}
PLACES = ("kernel log", "environment", "framework's error", "standard error of a tool", "a tool that nobody knows")


def planted(folder: Path, machine: str = "rtx4090-healthy") -> Path:
    """A copy of a recorded machine with all plants in all places."""
    shutil.copytree(HERE / "machines" / machine, folder)
    for path, text in FILES.items():
        (folder / "files" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "files" / path).write_text(text)
    env = {"USER": "carol", "LOGNAME": "carol", "HOME": "/home/carol", "HOSTNAME": "nautilus", "PWD": "/home/carol/manatee-llm"}
    env |= {f"NVIDIA_{each['id']}": each["text"] for each in PLANTS}
    old = [line for line in (folder / "env.toml").read_text().splitlines() if line.split(" =")[0] not in env]
    (folder / "env.toml").write_text("\n".join(old + [f"{key} = {json.dumps(value)}" for key, value in env.items()]) + "\n")
    said = "".join(f"{each['id']}: {each['text']}\n" for each in PLANTS)
    log = "".join(f"[{number:5d}.000000] nvidia {each['id']}: {each['text']}\n" for number, each in enumerate(PLANTS))
    lines = [line for line in (folder / "commands.jsonl").read_text().splitlines() if line]
    commands = [each for each in map(json.loads, lines) if each["argv"][0] not in ("dmesg", "journalctl")]
    commands += [{"argv": argv, "rc": 0, "stdout": log, "stderr": ""}
                 for argv in (["dmesg"], ["journalctl", "-k", "-b", "--no-pager", "-o", "short-monotonic"])]  # fmt: skip
    commands += [{"argv": ["mokutil", "--sb-state"], "rc": 0, "stdout": "", "stderr": said},
                 {"argv": ["somebodys-own-tool"], "rc": 0, "stdout": said, "stderr": ""}]  # fmt: skip
    (folder / "commands.jsonl").write_text("".join(json.dumps(each) + "\n" for each in commands))
    python = json.loads((folder / "python.json").read_text())
    error = {"kind": "exception", "name": "ImportError", "message": said}
    python.setdefault("frameworks", {})["torch"] = {"imported": False, "devices": [], "notes": [], "error": error}
    (folder / "python.json").write_text(json.dumps(python))
    return folder


def texts_of(made: reporting.Made) -> Iterator[str]:
    """Every form of a report as a reader sees it, and every file of the recording."""
    yield reporting.render(made, "markdown")
    yield html.unescape(reporting.render(made, "html"))
    yield _unescaped(reporting.render(made, "json"))
    with zipfile.ZipFile(io.BytesIO(reporting.archive(made, "report.zip"))) as archive:
        for name in archive.namelist():
            text = archive.read(name).decode("utf-8", "replace")
            yield _unescaped(text) if "json" in name else text


def _unescaped(text: str) -> str:
    return re.sub(r"\\u[0-9a-fA-F]{4}", lambda found: str(json.loads(f'"{found[0]}"')), text.replace("\\\\", "\\"))


def leaks(made: reporting.Made) -> tuple[set[str], set[str]]:
    """(names of plants whose secret stands behind their id somewhere, ids that can be seen at all)."""
    out: set[str] = set()
    shown: set[str] = set()
    secrets = {each["id"]: each for each in PLANTS}
    for text in texts_of(made):
        parts = re.split(r"(P\d{3})\b", text)
        for number in range(1, len(parts) - 1, 2):
            plant = secrets.get(parts[number])
            if plant is not None:
                shown.add(plant["id"])
                part = parts[number + 1][:3000]
                if plant["secret"] in part or plant["secret"] in part.replace("\u200b", ""):
                    out.add(f"{plant['class']}: {plant['name']}")
    return out, shown


def report(folder: Path) -> reporting.Made:
    return reporting.make(reporting.ReportRequest(check=checking.CheckRequest(capture=str(folder))))
