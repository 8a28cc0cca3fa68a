"""Secrets and names in the files, answers and logs where they really stand do not leave in a recording; what is technical stays."""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.capture.redacted_capture import names_in, redact_entries
from gpudoctor.capture.tables import json_line, toml
from gpudoctor.privacy.redactor import Redactor
from gpudoctor.privacy.technical_vocabulary import technical_words
from gpudoctor.services import checking

PLANTS: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "planted_in_places.json").read_text("utf-8"))
SYSTEM = {
    "files/etc/hostname": "skadi\n",
    "files/etc/passwd": "root:x:0:0:root:/root:/bin/sh\nmbergstrom:x:1000:1000:Malin Bergström,,,:/home/mbergstrom:/bin/bash\n",
    "files/etc/hosts": "127.0.0.1 localhost\n127.0.1.1 skadi.hexatrope.lan skadi\n",
    "files/etc/resolv.conf": "nameserver 10.9.9.9\nsearch hexatrope.lan\n",
}


def recording(place: str, where: str, text: str) -> dict[str, bytes]:
    """A recording of one machine with the text in one place."""
    entries = {name: content.encode() for name, content in SYSTEM.items()}
    environment = {"USER": "mbergstrom", "HOME": "/home/mbergstrom"}
    torch: dict[str, Any] = {"imported": False, "devices": [], "notes": []}
    python: dict[str, Any] = {"executable": "/usr/bin/python3", "frameworks": {"torch": torch}}
    commands = []
    if place == "file":
        entries["files" + where] = text.encode()
    elif place == "variable":
        environment[where] = text
    elif place == "framework's error":
        torch["error"] = {"kind": "exception", "name": "ImportError", "message": text}
    elif where == "direct_url":
        python["distributions"] = {"numpy": {"version": "1.0", "url": text}}
    elif place == "distribution":
        torch["notes"] = [text]
    else:
        argv = {"command": where.split(), "kernel log": ["dmesg"], "unknown program": ["own-tool"]}[place]
        said = "".join(f"[    1.000000] {line}\n" for line in text.splitlines()) if place == "kernel log" else text
        commands.append({"argv": argv, "rc": 0, "stdout": said, "stderr": ""})
    entries["env.toml"] = toml(environment)
    entries["commands.jsonl"] = b"".join(map(json_line, commands))
    entries["python.json"] = json.dumps(python).encode()
    return entries


def redacted(place: str, where: str, text: str) -> str:
    """All files of the redacted recording as a reader sees them."""
    entries = recording(place, where, text)
    new = redact_entries(entries, Redactor(names_in(entries), technical_words(checking.catalogue())))
    seen = "\n".join(f"{name}\n{content.decode('utf-8', 'replace')}" for name, content in new.items())
    return re.sub(r"\\u[0-9a-fA-F]{4}", lambda found: str(json.loads(f'"{found[0]}"')), seen)


def forms(secret: str) -> Iterator[str]:
    yield secret.casefold()
    yield urllib.parse.quote(secret).casefold()
    if len(secret) > 6:
        yield base64.b64encode(secret.encode()).decode().rstrip("=")[:-1].casefold()


@pytest.mark.parametrize("kind", sorted({plant["class"] for plant in PLANTS}))
def test_no_plant_of_this_kind_leaves(kind: str) -> None:
    out = []
    for plant in PLANTS:
        if plant["class"] == kind:
            seen = redacted(plant["place"], plant["where"], plant["text"]).casefold()
            out += [f"{plant['where']}: {secret}" for secret in plant["secrets"] if any(form in seen for form in forms(secret))]
    assert out == []


TECHNICAL = (
    ("file", "/proc/cmdline", "quiet splash amdgpu.ppfeaturemask=0xffffffff pci=realloc,noaer amdgpu.gttsize=98304 iommu=pt"),
    ("file", "/proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate,memory_recursiveprot 0 0"),
    ("file", "/proc/mounts", "tmpfs /dev/shm tmpfs rw,nosuid,nodev,size=65536k,inode64 0 0"),
    ("file", "/proc/version", "Linux version 6.8.0-51-generic (buildd@lcy02-amd64-042) (gcc-13 (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0)"),
    ("file", "/etc/modprobe.d/gpu.conf", "softdep nvidia pre: ipmi_msghandler"),
    ("file", "/etc/modprobe.d/gpu.conf", "options nvidia NVreg_PreserveVideoMemoryAllocations=1 NVreg_EnableGpuFirmware=0"),
    ("file", "/etc/OpenCL/vendors/intel.icd", "/usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so"),
    ("framework's error", "", "torch_ext.so: undefined symbol: _ZNK5torch8autograd4Node4nameEv"),
    ("framework's error", "", "nvcc -arch=sm_90a -Xcompiler -fPIC --expt-relaxed-constexpr -c flash_fwd_hdim128_bf16_sm80.cu"),
    ("kernel log", "", "snd_hda_intel 0000:03:00.1: Handle vga_switcheroo audio client"),
    ("kernel log", "", "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."),
    ("command", "mokutil --sb-state", "SecureBoot enabled"),
    ("command", "nvidia-smi", "|    0   N/A  N/A    4242      C   python3                812MiB |"),
)  # fmt: skip


@pytest.mark.parametrize(("place", "where", "text"), TECHNICAL)
def test_technical_words_stay(place: str, where: str, text: str) -> None:
    assert text in redacted(place, where, text)


def test_the_arguments_of_a_process_keep_their_number() -> None:
    seen = redacted("file", "/proc/42/cmdline", "python\0-m\0vllm\0--max-model-len\x008192\0--hub_token\0q8Fz2LmW0xTr7Kc\0")
    assert "python\0-m\0vllm\0--max-model-len\x008192\0" in seen and "q8Fz2LmW0xTr7Kc" not in seen


def test_a_mangled_symbol_with_an_unknown_name_goes() -> None:
    assert "zorblatt" not in redacted("framework's error", "", "undefined symbol: _ZN8zorblatt4initEv")
