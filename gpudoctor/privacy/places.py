"""Places of a line where nothing but a name can stand: `id`, prompts, hosts of log lines, owners of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Protocol

from gpudoctor.privacy import patterns
from gpudoctor.privacy.pseudonyms import is_ours
from gpudoctor.privacy.technical_words import GROUPS, TECHNICAL
from gpudoctor.system.public_hosts import is_public

_FIRST_OF_PEOPLE = 1000
"""Numbers of accounts and groups below belong to the system."""
_NOT_SUFFIXES = frozenset(
    "py so sh rs md pl cc ps zip mov app bin data name info int pro post prof call dev run build new open page box".split()
)
"""Public suffixes that end files and members of modules far more often than servers."""
_ADDRESSED = re.compile(r"(?<!\d)(?:\d{1,3}[.-]){3}\d{1,3}(?!\d)")
"""A server whose name contains its address."""
_PROGRAMS_ABOUT_USERS = re.compile(
    r"((?:\bsudo: {1,4}|\bfor (?:invalid )?user |\bfor user |\bAccepted \w+ for |\bFailed \w+ for |\bUserId=|\bunix-user:"
    r"|\bsu: \(to |CRON\[\d+\]: \("
    r"|\bchown (?:-R )?|\bowner[ =:]{1,3}|\bowned by |\buser[ =:]{1,3}['\"]?|\brunuser -u |\bsu - |\bsudo -u |\bAuthor: ))"
    r"([^\W\d_][\w.-]{1,63})(?=[\s:;,.()'\"]|$)"
)
_USER_STEMS = ("user", "sudo", "owne", "cron[", "chown", "author", "accepted", "failed", "su -", "su:")
_HOST_FIELDS = ("host", "node", "computer", "machine", "fqdn", "logon", "domain", "csname", "systemname", "clientname", "workgroup")
_HOST_STEMS = ("connect to", "resolve", "srun", "mpirun", "route to host", "nodelist", "rdzv", "master_addr", "server ")
_NOT_PEOPLE = frozenset(
    "root nobody the a an is not and or id name space mode data driver library process to from with in of for that has".split()
)
_SSH = re.compile(r"(\b(?:ssh|scp|rsync|sftp)\b[^\n]{0,60}? )([\w.-]{1,64})@([\w.-]{1,250})")
_TO_HOST = re.compile(
    r"((?:\bconnect to host |\bresolve host:? ?|\bresolve hostname |\bsrun: error: |\bmpirun -H |\bNo route to host "
    r"|\bNodeList=|SLURM_\w{0,20}NODELIST=|\brdzv[_-]endpoint[ =]"
    r"|\bMASTER_ADDR=|\bSERVER )\W?)([A-Za-z][\w.-]{1,100})"
)

_SIGNER = re.compile(r"[A-Za-z0-9][\w.-]{1,62}(?= Secure Boot Module Signature key)")
"""A distribution gives the key that signs modules the name of the host."""


class PlaceNamer(Protocol):
    def stand_in(self, kind: str, original: str, counted: str = "") -> str: ...
    def user_of_context(self, user: str) -> str: ...
    def host_of_context(self, host: str) -> str: ...
    def short(self, host: str) -> str: ...
    def name(self, owner: str) -> str: ...
    def group(self, group: str) -> str: ...


class NamePlaces:
    """`users` and `hosts`: the names known so far; `technical(word)`: whether it is a technical word."""

    def __init__(self, namer: PlaceNamer, users: set[str], hosts: Mapping[str, str], technical: Callable[[str], bool]) -> None:
        self._namer, self._users, self._hosts, self._technical = namer, users, hosts, technical

    def in_line(self, line: str, lowered: str) -> str:
        namer = self._namer
        if "." in line:
            line = patterns.SERVER.sub(self._server, line)
            line = patterns.DOTTED_NAME.sub(self._dotted, line)
        if "-" in line:
            line = patterns.WINDOWS_NAME.sub(lambda m: namer.host_of_context(m[0]), line)
        if len(line) >= 64:
            line = patterns.CONTAINER_ID.sub(self._container, line)
        if "uid=" in line:
            line = patterns.ID_LINE.sub(self._id_line, line)
        if line.startswith(("Linux ", "Darwin ")):
            line = patterns.UNAME.sub(lambda m: m[1] + namer.host_of_context(m[2]), line)
        if "version " in lowered and "@" in line:
            line = patterns.BUILT_BY.sub(lambda m: f"{m[1]}{namer.user_of_context(m[2])}@{namer.host_of_context(m[3])}", line)
        if ": " in line:
            line = patterns.LOG_HOST.sub(lambda m: m[1] + namer.host_of_context(m[2]), line)
        if any(stem in lowered for stem in _HOST_FIELDS):
            line = patterns.HOST_FIELD.sub(lambda m: m[1] + m[2] + namer.host_of_context(m[3]), line)
        if any(stem in lowered for stem in ("user", "logname", "login", "uname")):
            line = patterns.USER_FIELD.sub(lambda m: m[1] + namer.user_of_context(m[2]), line)
        if any(stem in lowered for stem in _USER_STEMS):
            line = _PROGRAMS_ABOUT_USERS.sub(self._about, line)
        if "secure boot module" in lowered:
            line = _SIGNER.sub(lambda m: m[0] if self._technical(m[0]) else namer.host_of_context(m[0]), line)
        if any(stem in lowered for stem in _HOST_STEMS):
            line = _TO_HOST.sub(self._to, line)
        line = self._listed(line)
        if "@" in line:
            line = _SSH.sub(lambda m: m[1] + f"{namer.user_of_context(m[2])}@{namer.host_of_context(m[3])}", line)
            line = patterns.AT_HOST.sub(self._at_host, line)
        return line

    def _listed(self, line: str) -> str:
        if "-" in line and ("rw" in line or "r-" in line):
            line = patterns.LISTING.sub(lambda m: m[1] + self._owner(m[2]) + m[3] + self._owner(m[4]), line)
        if self._users and ":" in line:
            line = patterns.GROUP_FILE.sub(self._group_line, line)
        if ":" in line:
            line = patterns.PASSWD_FILE.sub(self._account, line)
        if self._hosts and line[0] in "0123456789abcdef:":
            line = patterns.HOSTS_FILE.sub(self._hosts_line, line)
        return line

    def _about(self, match: re.Match[str]) -> str:
        name = match[2].rstrip(".")
        if name.lower() in _NOT_PEOPLE or (self._technical(name) and name.casefold() not in self._users):
            return match[0]
        return match[1] + self._namer.user_of_context(name) + match[2][len(name) :]

    def _to(self, match: re.Match[str]) -> str:
        name = match[2].rstrip(".")
        if is_public(name) or is_ours(name) or (self._technical(name) and not re.search(r"\d", name)):
            return match[0]
        return match[1] + self._namer.stand_in("host", self._namer.short(name)) + match[2][len(name) :]

    def _server(self, match: re.Match[str]) -> str:
        name = match[0]
        first = name.split(".")[0]
        return first if is_ours(first) else name if is_public(name) else self._namer.stand_in("host", self._namer.short(name))

    def _dotted(self, match: re.Match[str]) -> str:
        """Finds servers by their public suffix, where the name below it is no known word. Modules and files are not servers."""
        name = match[0]
        if is_public(name) or is_ours(name) or name.rpartition(".")[2].lower() in _NOT_SUFFIXES:
            return name
        below = registered(name)
        if not below or (self._technical(below) and not _ADDRESSED.search(name)):
            return name
        return self._namer.stand_in("host", self._namer.short(name))

    def _container(self, match: re.Match[str]) -> str:
        return self._namer.stand_in("host", match[0][:12]) if match[0][:12] in self._hosts else match[0]

    def _at_host(self, match: re.Match[str]) -> str:
        """Replaces the names in a prompt such as alice@wonderland."""
        user, host = match[1], match[2]
        if host.lower() not in self._hosts and not (user.casefold() in self._users and not is_public(host)):
            return match[0]
        return f"{self._namer.name(user)}@{self._namer.host_of_context(host)}"

    def _owner(self, name: str) -> str:
        """Replaces the owner or the group of a file. Accounts of the system stay, even where a person has the same name."""
        if name.lower() in GROUPS or name.isdigit() or name.startswith(("_", "systemd-")) or name.lower() in TECHNICAL:
            return self._namer.group(name)
        return self._namer.user_of_context(name)

    def _id_line(self, line: re.Match[str]) -> str:
        def named(match: re.Match[str]) -> str:
            own = match[1].startswith("uid") or int(match[2]) >= _FIRST_OF_PEOPLE
            return f"{match[1]}{match[2]}(" + (self._namer.name(match[3]) if own else self._namer.group(match[3]))

        who = re.search(r"uid=\d{1,12}\(([^()\s]{0,200})\)", line[0])
        if who:
            self._namer.user_of_context(who[1])
        return re.sub(r"((?:uid=|gid=|groups=|,)?)(\d{1,10})\(([^()\s]+)(?=\))", named, line[0])

    def _hosts_line(self, match: re.Match[str]) -> str:
        def named(name: re.Match[str]) -> str:
            return self._namer.stand_in("host", self._namer.short(name[0])) if name[0].lower() in self._hosts else name[0]

        return match[1] + re.sub(r"[\w.-]+", named, match[2])

    def _group_line(self, match: re.Match[str]) -> str:
        number = int(match[2].split(":")[2])
        group = self._namer.name(match[1]) if number >= _FIRST_OF_PEOPLE else self._namer.group(match[1])
        return group + match[2] + ",".join(self._namer.name(name) for name in match[3].split(","))

    def _account(self, match: re.Match[str]) -> str:
        """Redacts a line of /etc/passwd; of a person, only the numbers are kept."""
        if int(match[2].split(":")[2]) < _FIRST_OF_PEOPLE or match[1] == "nobody":
            return match[0]
        full = match[3].strip(",")
        shown = self._namer.user_of_context(full) if full else ""
        return f"{self._namer.user_of_context(match[1])}{match[2]}{shown}:{match[4]}"


def registered(name: str) -> str:
    """The label below the public suffix ('quokka' of gpu.quokka.ac.uk), '' where there is none."""
    return _suffixes()(name)


@cache
def _suffixes() -> Callable[[str], str]:
    import tldextract

    known = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), fallback_to_snapshot=True)

    @cache
    def below(name: str) -> str:
        parts = known.extract_str(name) if hasattr(known, "extract_str") else known(name)
        return parts.domain if parts.suffix and parts.domain else ""

    return below
