"""The names of people, hosts, shares and projects that the system itself knows, for their redaction.

The same function reads this machine and recorded ones, which show less.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.portable import login_name
from gpudoctor.system.public_hosts import is_public

USER_VARIABLES = frozenset({"USER", "LOGNAME", "USERNAME", "SUDO_USER", "SLURM_JOB_USER", "PKEXEC_USER", "LNAME", "USER_NAME", "LOGIN"})
HOST_VARIABLES = frozenset(
    """
    HOSTNAME HOST COMPUTERNAME USERDOMAIN USERDNSDOMAIN LOGONSERVER SLURMD_NODENAME SLURM_SUBMIT_HOST SLURM_NODELIST
    SLURM_JOB_NODELIST SLURM_LAUNCH_NODE_IPADDR SLURM_CLUSTER_NAME SLURM_TOPOLOGY_ADDR WSL_HOST NODENAME HOST_NAME
    CSNAME PSCOMPUTERNAME SYSTEMNAME CLIENTNAME WORKGROUP
    """.split()
)
WORD_VARIABLES = frozenset(
    """
    CONDA_DEFAULT_ENV VIRTUAL_ENV_PROMPT SLURM_JOB_NAME SLURM_JOB_ACCOUNT SLURM_ACCOUNT SLURM_JOB_PARTITION SLURM_PARTITION
    SLURM_JOB_QOS SLURM_JOB_RESERVATION WANDB_PROJECT WANDB_ENTITY GIT_AUTHOR_NAME GIT_COMMITTER_NAME
    """.split()
)
PATH_VARIABLES = tuple(
    """
    PWD VIRTUAL_ENV CONDA_PREFIX SLURM_SUBMIT_DIR DATASET_DIR DATA_DIR DATASET DATASET_PATH DATA_PATH DATA_ROOT IMAGENET_DIR
    TFDS_DATA_DIR FIFTYONE_DATASET_DIR
    """.split()
)
_NETWORK = (
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "fuse.sshfs",
    "ceph",
    "glusterfs",
    "fuse.glusterfs",
    "lustre",
    "beegfs",
    "fuse.s3fs",
    "9p",
)
_GIT = ("~/.gitconfig", "~/.config/git/config")
_ADDRESS = lazy(r"(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?![\w.-])")
Read = Callable[[str], str]


class Names(Struct, frozen=True, kw_only=True):
    """Whole names, among which may be technical words."""

    users: tuple[str, ...] = ()
    """The user who runs gpudoctor first; full names are included."""
    hosts: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    """(kind of pseudonym, original): serial, share, project, ip, mac, machine-id."""
    paths: tuple[str, ...] = ()
    """Folders with the work of a person."""


def together(*several: Names) -> Names:
    """All names of several collections."""
    return Names(
        users=tuple(name for names in several for name in names.users), hosts=tuple(name for names in several for name in names.hosts),
        domains=tuple(name for names in several for name in names.domains), words=tuple(word for names in several for word in names.words),
        paths=tuple(path for names in several for path in names.paths),
    )  # fmt: skip


def of_this_machine(paths: Iterable[str] = ()) -> Names:
    """The names of this machine. What cannot be read is left out. `paths`: further folders, such as the target environment."""
    import socket

    hosts = [socket.gethostname()]
    users = [name] if (name := login_name()) else []
    words = list(_addresses())
    for folder in ("/home", "/Users", "C:/Users"):
        try:
            users += [name for name in os.listdir(folder) if not name.startswith(".") and name.lower() not in _NO_PEOPLE]
        except OSError:
            continue
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    return collect(_read_here, os.environ, users, hosts, words, [*paths, here], here)


def of_recording(read: Read, environment: Mapping[str, str], said: Callable[[tuple[str, ...]], str], paths: Iterable[str] = ()) -> Names:
    """The names of a recorded machine. `read` gives the text of a file or '', `said` the output of a command or ''."""
    hosts, users = [], []
    uname = re.match(r"(?:Linux|Darwin) (\S+) \d+\.", said(("uname", "-a")))
    if uname:
        hosts.append(uname[1])
    who = re.search(r"\buid=\d{1,12}\(([^()]{1,200})\)", said(("id",)))
    if who:
        users.append(who[1])
    return collect(read, environment, users, hosts, [], paths, "")


def collect(
    read: Read,
    environment: Mapping[str, str],
    users: list[str],
    hosts: list[str],
    words: list[tuple[str, str]],
    paths: Iterable[str],
    here: str,
) -> Names:
    """The names in files and variables."""
    paths = [path for path in paths if path]
    users += [environment[name] for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER", "SLURM_JOB_USER") if environment.get(name)]
    home = environment.get("HOME") or environment.get("USERPROFILE") or ""
    if re.match(r"(/var)?/home/|/Users/|[A-Za-z]:[\\/]Users", home):
        users.append(re.split(r"[\\/]", home.rstrip("\\/"))[-1])
    users += _people(read("/etc/passwd"))
    for name in HOST_VARIABLES:
        hosts += [value for value in [environment.get(name, "").strip("\\")] if re.fullmatch(r"[\w.-]+", value)]
    hosts += read("/etc/hostname").split()[:1]
    more, domains = _resolved(read("/etc/hosts"), read("/etc/resolv.conf"), hosts)
    hosts += more
    domains += [host.partition(".")[2] for host in hosts if host.count(".") > 1]
    for file in ("/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/sys/kernel/random/boot_id"):
        words += [("uuid" if "-" in text else "machine-id", text) for text in read(file).split()[:1] if len(text) >= 32]
    for file in ("/sys/class/dmi/id/product_serial", "/sys/class/dmi/id/board_serial", "/sys/class/dmi/id/product_uuid"):
        words += [
            ("uuid" if "uuid" in file else "serial", text) for text in [read(file).strip()] if len(text) >= 6 and re.search(r"\d", text)
        ]
    for source, place in _network_mounts(read("/proc/mounts") + "\n" + read("/etc/fstab")):
        server, share = split_source(source)
        hosts += [server] if server and not re.fullmatch(r"[\d.:\[\]]+", server) else []
        words += [("share", word) for word in [share.strip("/"), *share.split("/")] if len(word) >= 4]
        paths.append(place)
    for file in ("/etc/hosts", "/etc/resolv.conf", "/proc/mounts", "/etc/fstab"):
        words += [("ip", address) for address in _ADDRESS.findall(read(file)) if not address.startswith(("127.", "0.", "255."))]
    paths += [environment[name] for name in PATH_VARIABLES if environment.get(name)]
    for name in WORD_VARIABLES:
        words += [("project", value) for value in [environment.get(name, "").strip("() ")] if value]
    git = [read(file.replace("~", home)) for file in _GIT if home]
    folder = here
    for _ in range(8):
        git += [read(posixpath.join(folder, ".git/config"))] if folder else []
        folder = posixpath.dirname(folder)
    for text in git:
        who, projects = _of_git(text)
        users += who
        words += projects
    return Names(
        users=_once(users), hosts=_once(hosts), words=tuple(dict.fromkeys(words)), paths=_once(paths),
        domains=tuple(domain for domain in _once(domains) if "." in domain and not is_public(domain)),
    )  # fmt: skip


_NO_PEOPLE = frozenset({"lost+found", "public", "default", "all users", "default user", "shared", "guest", "desktop.ini", "linuxbrew"})


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(name.strip() for name in names) if name and name not in ("root", "nobody", "localhost"))


def _people(passwd: str) -> list[str]:
    """The accounts of people in a passwd file, with their full names."""
    found = []
    for line in passwd.splitlines():
        fields = line.split(":")
        if len(fields) >= 7 and fields[2].isdigit() and 1000 <= int(fields[2][:10]) and fields[0] != "nobody":
            full = fields[4].split(",")[0].strip()
            found += [fields[0], *([full] if " " in full and len(full) > 4 else [])]
    return found


def _resolved(hosts_file: str, resolver: str, own: list[str]) -> tuple[list[str], list[str]]:
    """(names of this machine and its neighbours in /etc/hosts, domains that are searched)."""
    found = []
    for line in hosts_file.splitlines():
        parts = line.split("#")[0].split()
        if len(parts) > 1 and not re.match(r"(::1|fe00::|ff0[0-9]::|127\.0\.0\.1$)", parts[0]):
            found += [name for name in parts[1:] if not is_public(name) and not name.startswith(("ip6-", "kubernetes", "localhost"))]
    domains = [word for line in resolver.splitlines() if line.split()[:1] in (["search"], ["domain"]) for word in line.split()[1:]]
    return found, domains


def _network_mounts(text: str) -> Iterable[tuple[str, str]]:
    for line in text.splitlines():
        parts = line.split()
        if len(parts) >= 4 and parts[2] in _NETWORK and "/" in parts[0] and not parts[1].startswith(("/mnt/wsl", "/usr/lib/wsl", "/init")):
            if re.match(r"/mnt/[a-z]$", parts[1]) or (":" not in parts[0] and not parts[0].startswith("//")):
                continue
            yield parts[0], parts[1].replace("\\040", " ")


def split_source(source: str) -> tuple[str, str]:
    """(server, share) of the source of a mount: '//server/share' or 'user@server:/share'."""
    if source.startswith("//"):
        server, _, share = source[2:].partition("/")
        return server, share
    server, _, share = source.partition(":/")
    return server.rpartition("@")[2], share


def _of_git(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """(names of the person, [('project', owner/name)]) in a configuration file of git."""
    users: list[str] = []
    projects: list[tuple[str, str]] = []
    for line in text.splitlines():
        key, _, value = (part.strip() for part in line.partition("="))
        if key in ("name", "user", "login") and value:
            users.append(value.strip('"'))
        elif key == "email":
            users += [part for part in [value.strip('"').split("@")[0].partition("+")[2] or value.split("@")[0]] if len(part) >= 4]
        elif key in ("url", "pushurl"):
            path = re.search(r"(?:://[^/]+/|:)([\w.~-]+/[\w./-]+?)(?:\.git)?$", value)
            if path:
                projects.append(("project", path[1]))
    return users, projects


def _addresses() -> Iterable[tuple[str, str]]:
    """The addresses of the network interfaces of this machine, as (kind, address)."""
    try:
        import psutil

        interfaces: Mapping[str, Any] = psutil.net_if_addrs()
    except Exception:  # psutil raises the errors of the platform; without addresses the redaction still has its patterns
        return
    for entries in interfaces.values():
        for entry in entries:
            address = str(entry.address).split("%")[0]
            if re.fullmatch(r"\d+(\.\d+){3}", address):
                if not address.startswith("127."):
                    yield "ip", address
            elif re.fullmatch(r"[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}", address):
                if address.strip("0:"):
                    yield "mac", address
            elif ":" in address and address != "::1":
                yield "ipv6", address


def _read_here(path: str) -> str:
    """The text of a regular file of this machine; '' for anything else."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read(1_000_000)
    except (OSError, ValueError):
        return ""
