"""Taking people out of text while leaving the machine in it.

Only values are changed, only whole tokens, and the same name gets the same pseudonym everywhere. A user or host that is
called like a technical word (cuda, root, test) is replaced only where it can be nothing else: in home folders, in `id`,
in `user@host` and in the first words of `uname -a`. Addresses are told from four-part versions by what stands around them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

TECHNICAL = frozenset(
    """
    accel admin ai amd amdgpu anaconda android apple arc archlinux bin build card centos cl clinfo cloud cmake compute conda
    container core cpu cuda cudnn data debian deep default dev device disk dll docker driver drm edge fedora fs gc gcc gfx git
    github gnu gpu graphcore group guest hip home host i915 icd igc info input intel ipex ipu jax jenkins kernel kfd kubernetes
    kvm lab level level_zero lib lib64 libcuda linux llvm loader local localhost lspci mac main max memory mesa microsoft
    miniconda ml model module mount nccl neo net nobody node none nouveau nvcc nvidia ollama oneapi onnx onnxruntime opencl
    openvino opt pci pip plugdev pocl popart poplar poptorch power proc python python3 pytorch radeon redhat render rocm root run
    runtime sdk server service share site smi src ssh sudo suse sycl sys system tensorflow test tmp tools torch torchvision
    triton true ubuntu unknown user usr vendor venv vfio video vm vpu wheel windows work workspace wsl x86 x86_64 xe xpu zero
    """.split()
)
_KEEP_HOMES = frozenset({"public", "default", "default user", "all users", "shared", "linuxbrew", "user"})
_NOTHING = frozenset({"", "n/a", "[n/a]", "none", "unknown", "0", "null", "not", "[not", "0x0"})

_HOME = re.compile(
    r"((?:(?<![\w.-])(?:/(?:var|usr|data|export|nfs|net))?(?:/home|/Users|/mnt/[a-z]/Users|/?[A-Za-z]:[\\/]{1,4}Users)[\\/]{1,4}))"
    r"([^\s\\/:;,\"'<>|)(\]\[}]+(?: [^\s\\/:;,\"'<>|)(]+(?=\\))?)",
    re.IGNORECASE,
)
_SECRETS = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{16}|glpat-[\w-]{16,}"
    r"|xox[abprs]-[\w-]{10,}|AIza[\w-]{30,}|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{40,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{5,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_SECRET_FIELD = re.compile(
    r"((?:\b|_)(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|token)[\"']?\s*[=:](?!=)\s*[\"']?)"
    r"([^\s\"'&,;<>]{4,})"
    r"|(\bauthorization:\s*(?:bearer|basic|token)\s+)(\S+)",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(r"([a-z][a-z0-9+.-]{1,20}://)([^\s/@\"'<>]{1,200})@", re.IGNORECASE)
_EMAIL = re.compile(r"(?<![\w.+-])(?!git@)[A-Za-z0-9][\w.+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,12}(?![\w-])")
_MAC = re.compile(
    r"(?<![\w:.-])[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}(?:(?:\1[0-9a-f]{2}){2}|(?:\1[0-9a-f]{2}){14})?(?![\w:-])",
    re.IGNORECASE,
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_PRIVATE = re.compile(rf"(?<![\w.-])(?:192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))\.{_OCTET}\.{_OCTET}(?![\w-]|\.\d)")
_IN_CONTEXT = re.compile(
    rf"(//|@|\b(?:inet|inet6|addr|address|ip|host|server|peer|from|via|gateway|nfsroot|proxy|addr_v4)\s?[=: ]\s?)({_IPV4})(?![\w-]|\.\d)",
    re.IGNORECASE,
)
_WITH_PORT = re.compile(rf"(?<![\w.=<>~-])({_IPV4})(?=:\d{{2,5}}\b|/(?:[12]?\d|3[0-2])\b)")
_IPV6 = re.compile(r"(?<![\w:])(?:fe80|fd[0-9a-f]{2}|2[0-9a-f]{3})(?::[0-9a-f]{0,4}){3,7}(?![\w:])", re.IGNORECASE)
_UUID = re.compile(r"(?<![\w-])((?:GPU|MIG)-)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?![\w-])", re.IGNORECASE)
_AMD_UUID = re.compile(r"(?<![\w-])GPU-([0-9a-f]{16})(?![\w-])", re.IGNORECASE)
_SERIAL = re.compile(
    r"((?:\bdevice serial number |(?:\b|_)(?:serial(?:[ _-]?(?:number|no|num))?|s/n|unique[ _]id|asset[ _]?tag)[\"']?"
    r"[ \t]*(?:\([^)\n]*\))?[ \t]*(?:[:=>](?!=)[ \t]*)+[\"']?))([^\s\"'<>,}]+)",
    re.IGNORECASE,
)
_SERIAL_KEY = re.compile(r"(^|[_ -])serial([_ -]?(number|no|num))?$")
_ID_NAME = re.compile(r"(?<=\()[^()\s]+(?=\))")
_ID_LINE = re.compile(r"\buid=\d+\([^\n]*")
_UNAME = re.compile(r"^((?:Linux|Darwin) )(\S+)(?= \d+\.\d+)", re.MULTILINE)
_AT_HOST = re.compile(r"(?<![\w.+-])([\w.-]+)@([\w.-]+)(?=[:\s~\])]|$)")


class Redactor:
    """Replaces; without names it is the identity (a raw capture). `counts` says how much of what kind went."""

    def __init__(
        self, users: Iterable[str] = (), hosts: Iterable[str] = (), protected: Collection[str] = (), active: bool | None = None
    ) -> None:
        users, hosts = [name for name in users if name], [name for name in hosts if name]
        self.active = bool(users or hosts) if active is None else active
        self.counts: dict[str, int] = {}
        self._users: dict[str, str] = {}
        for name in users:
            self._user(name)
        self._hosts = {name.lower() for name in hosts} - {"localhost"}
        self._numbers: dict[tuple[str, str], int] = {}
        guarded = TECHNICAL | {word.lower() for word in protected}
        self._user_word = _words(name for name in self._users if _is_distinct(name, guarded))
        self._host_word = _words(name for name in sorted(self._hosts) if _is_distinct(name, guarded))

    @classmethod
    def of_this_machine(cls, protected: Collection[str] = ()) -> Redactor:
        """Names of people and of this host, as the system knows them."""
        users, hosts = system_names()
        return cls(users, hosts, protected, active=True)

    def name(self, owner: str) -> str:
        """The owner or group of a file."""
        if self.active and owner in self._users and owner != "root":
            return self._count("user", self._users[owner])
        return owner

    def path(self, path: str) -> str:
        """A path or one word of a command: people only, the rest of it is what is asked for."""
        return self._people(path) if self.active else path

    def text(self, text: str) -> str:
        """Any text."""
        if not self.active or not text:
            return text
        text = _SECRETS.sub(lambda _: self._count("secret", "<secret>"), text)
        text = _SECRET_FIELD.sub(lambda m: self._count("secret", (m[1] or m[3]) + "<secret>"), text)
        if "@" in text:
            text = _CREDENTIALS.sub(lambda m: self._count("credentials", m[1] + "<credentials>@"), text)
            text = _EMAIL.sub(lambda _: self._count("email", "<email>"), text)
        text = _SERIAL.sub(self._serial, text)
        text = _UUID.sub(self._uuid, text)
        text = _AMD_UUID.sub(lambda m: self._count("uuid", f"GPU-{self._number('uuid', m[1]):016x}"), text)
        text = _MAC.sub(lambda m: self._count("mac", _hex_like(m[0], self._number("mac", m[0]))), text)
        text = _IPV6.sub(lambda m: self._count("ip", f"fd00::{self._number('ip', m[0]):x}"), text)
        for pattern in (_IN_CONTEXT, _WITH_PORT, _PRIVATE):
            text = pattern.sub(self._address, text)
        return self._people(text)

    def value(self, value: Any) -> Any:
        """Every text in lists and tables; keys too where they are paths."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.path(key) if isinstance(key, str) else key: self._field(str(key), item) for key, item in value.items()}
        return value

    def _field(self, key: str, value: Any) -> Any:
        lowered = key.lower()
        if lowered == "distributions" and isinstance(value, dict):  # packages may be called serial, token or secret
            return self._packages(value)
        if self.active and isinstance(value, str) and value.lower() not in _NOTHING:
            if _SERIAL_KEY.search(lowered):
                return self._count("serial", f"serial-{self._number('serial', value)}")
            if re.search(r"password|passwd|secret|api_?key|(^|_)token$", lowered):
                return self._count("secret", "<secret>")
        return self.value(value)

    def _packages(self, value: dict[Any, Any]) -> dict[Any, Any]:
        return {name: item if isinstance(item, str) and item[:1].isdigit() else self.value(item) for name, item in value.items()}

    def _people(self, text: str) -> str:
        text = _HOME.sub(self._home, text)
        if "uid=" in text:
            text = _ID_LINE.sub(lambda line: _ID_NAME.sub(lambda m: self.name(m[0]), line[0]), text)
        if self._hosts:
            text = _UNAME.sub(lambda m: self._count("host", m[1] + "host") if m[2].lower() in self._hosts else m[0], text)
            text = _AT_HOST.sub(self._at_host, text)
        if self._host_word is not None:
            text = self._host_word.sub(lambda _: self._count("host", "host"), text)
        if self._user_word is not None:
            text = self._user_word.sub(lambda m: self._count("user", self._users[m[0]]), text)
        return text

    def _home(self, match: re.Match[str]) -> str:
        if match[2].lower() in _KEEP_HOMES:
            return match[0]
        return match[1] + self._count("user", self._user(match[2]))

    def _at_host(self, match: re.Match[str]) -> str:
        if match[2].lower() not in self._hosts:
            return match[0]
        return f"{self.name(match[1])}@{self._count('host', 'host')}"

    def _user(self, name: str) -> str:
        """`user` for the first name, then user2, user3; a pseudonym stays what it is."""
        if name not in self._users:
            taken = len(set(self._users.values()) - {"root"})
            self._users[name] = name if name == "root" or re.fullmatch(r"user\d*", name) else "user" if taken == 0 else f"user{taken + 1}"
        return self._users[name]

    def _serial(self, match: re.Match[str]) -> str:
        if match[2].lower().rstrip(".;") in _NOTHING:
            return match[0]
        return match[1] + self._count("serial", f"serial-{self._number('serial', match[2])}")

    def _uuid(self, match: re.Match[str]) -> str:
        if not match[2].strip("0-"):
            return match[0]
        return self._count("uuid", f"{match[1] or ''}00000000-0000-4000-8000-{self._number('uuid', match[2].lower()):012x}")

    def _address(self, match: re.Match[str]) -> str:
        address = match[match.lastindex or 0]
        if address.startswith(("127.", "0.", "192.0.2.", "255.")):
            return match[0]
        before = match[0][: -len(address)]
        return before + self._count("ip", f"192.0.2.{self._number('ip', address) % 255}")

    def _number(self, kind: str, value: str) -> int:
        key = (kind, value)
        if key not in self._numbers:
            self._numbers[key] = 1 + sum(1 for other, _ in self._numbers if other == kind)
        return self._numbers[key]

    def _count(self, kind: str, replacement: str) -> str:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return replacement


def system_names(read: Callable[[str], str] | None = None) -> tuple[list[str], list[str]]:
    """Users (the current one first) and names of this host. Of /etc/passwd only accounts of people count."""
    import socket

    users = [os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")]
    passwd = read("/etc/passwd") if read else _passwd()
    own = os.getuid() if hasattr(os, "getuid") else -1
    for line in passwd.splitlines():
        fields = line.split(":")
        if len(fields) < 7 or not fields[2].isdigit():
            continue
        number = int(fields[2])
        if number == own:
            users.insert(0, fields[0])
        if 1000 <= number < 60000:
            users.append(fields[0])
            full = fields[4].split(",")[0]
            if " " in full and len(full) > 4:
                users.append(full)
    hosts = [socket.gethostname(), os.environ.get("HOSTNAME", ""), os.environ.get("COMPUTERNAME", "")]
    hosts += [name.split(".")[0] for name in hosts]
    kept = [name for name in dict.fromkeys(users) if name not in ("", "root", "nobody")]
    return kept, [name for name in dict.fromkeys(hosts) if name]


def _passwd() -> str:
    try:
        with open("/etc/passwd", encoding="utf-8", errors="replace") as handle:
            return handle.read(1_000_000)
    except OSError:
        return ""


def _is_distinct(name: str, guarded: Collection[str]) -> bool:
    return len(name) >= 3 and name.lower() not in guarded and not re.fullmatch(r"user\d*|\d+", name)


def _words(names: Iterable[str]) -> re.Pattern[str] | None:
    """Whole tokens only: not inside alice-utils, libalice, alice.so or 1.0+alice."""
    choices = "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))
    return re.compile(rf"(?<![\w.+-])(?:{choices})(?![\w+-])(?!\.\w)") if choices else None


def _hex_like(text: str, number: int) -> str:
    """Same shape, other digits: 02:00:00:00:00:01."""
    separator = text[2]
    count = (len(text) + 1) // 3
    return separator.join(["02", *["00"] * (count - 2), f"{number % 256:02x}"])
