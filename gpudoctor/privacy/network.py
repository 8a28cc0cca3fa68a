"""Servers in texts: addresses of pages and repositories, and mounted shares."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Protocol

from gpudoctor.privacy import patterns
from gpudoctor.privacy.paths import Paths
from gpudoctor.privacy.pseudonyms import is_ours
from gpudoctor.privacy.technical_words import TECHNICAL
from gpudoctor.system.public_hosts import is_public

_FOLDERS_OF_A_SYSTEM = frozenset("bin dev etc home lib lib64 mnt opt proc run sbin sys tmp usr var".split())


class Namer(Protocol):
    """Gives pseudonyms, and counts them."""

    def stand_in(self, kind: str, original: str, counted: str = "") -> str: ...
    def address(self, address: str) -> str: ...
    def secret(self) -> str: ...
    def user_of_context(self, user: str) -> str: ...
    def short(self, host: str) -> str: ...


class ServerNames:
    """`protected`: words that stay in the address of a repository (pytorch/vision)."""

    def __init__(self, namer: Namer, paths: Paths, protected: Collection[str], known: Callable[[str], bool]) -> None:
        self._namer, self._paths, self._protected, self._known = namer, paths, protected, known

    def addresses(self, text: str) -> str:
        """Redacts git@server:owner/name and scheme://server/path. Public servers and their paths stay; others are replaced as a whole."""
        if "@" in text:
            text = patterns.SCP_ADDRESS.sub(self._scp_address, text)
        return patterns.URL.sub(self._url, text) if "://" in text else text

    def shares(self, line: str) -> str:
        """Redacts the sources in a line of /proc/mounts, mountinfo or df; //server/share and \\\\server\\share anywhere."""
        if "/" in line:
            if line[-1:].isdigit():
                line = patterns.MOUNT.sub(self._mount, line)
            if " - " in line:
                line = patterns.MOUNTINFO.sub(lambda m: m[1] + m[2] + self._source(m[3]), line)
            if "%" in line:
                line = patterns.DF.sub(lambda m: self._source(m[1]), line)
            if " type " in line:
                line = patterns.MOUNTED.sub(lambda m: self._source(m[1]) + m[2], line)
        if "UNC\\" in line:
            line = patterns.LONG_SHARE.sub(lambda m: m[1] + self._server(m[2]) + m[3] + self._name(m[4]), line)
        return patterns.SHARE.sub(self._share, line) if "//" in line or "\\\\" in line else line

    def _url(self, match: re.Match[str]) -> str:
        scheme, host, port, path = match[1], match[2], match[3], match[4]
        if _stays(host, self._known):
            path = self._repository(path) if scheme.lower().startswith("git+") and not is_ours(host) else self._asked(path)
            return scheme + host + port + path
        mapped = "".join(f"/{self._paths.part(part)}" if part else "/" for part in path.split("/")[1:])
        return scheme + self._namer.stand_in("host", self._namer.short(host)) + port + mapped

    def _asked(self, path: str) -> str:
        """Redacts the path on a public server: known words, versions and files of packages stay."""
        plain, mark, query = re.split(r"([?#])", path, maxsplit=1) if re.search(r"[?#]", path) else (path, "", "")
        parts = ["" if not part else part if self._public(part) else self._namer.stand_in("folder", part) for part in plain.split("/")]
        if (
            len(parts) > 2 and parts[1] == "t" and parts[2] and not is_ours(parts[2])
        ):  # conda: the part after /t/ is the token of a private channel
            parts[2] = self._namer.secret()
        return "/".join(parts) + mark + query

    def _public(self, part: str) -> bool:
        return is_ours(part) or re.search(r"\.(?:whl|tar\.gz|deb|rpm|run|exe|msi|html?|pdf)$", part) is not None or self._known(part)

    def _repository(self, path: str) -> str:
        """Redacts owner/name of a repository; its words stay where all are technical."""
        body, at, rest = path.partition("@")
        return "/".join(self._part_of_repository(part) for part in body.split("/")) + at + rest

    def _part_of_repository(self, part: str) -> str:
        bare = part.removesuffix(".git")
        if not part or is_ours(part) or self._paths.stays(bare) or bare.lower() in self._protected:
            return part
        return self._namer.stand_in("project", bare)

    def _scp_address(self, match: re.Match[str]) -> str:
        host = match[2] if is_public(match[2]) or is_ours(match[2]) else self._namer.stand_in("host", self._namer.short(match[2]))
        user = match[1] if match[1] in ("git@", "root@") else self._namer.user_of_context(match[1][:-1]) + "@"
        return f"{user}{host}:{self._repository(match[3])}"

    def _mount(self, match: re.Match[str]) -> str:
        options = patterns.MOUNT_OPTION.sub(self._option, match[4])
        return f"{self._source(match[1])} {match[2]} {match[3]} {options}{match[5]}"

    def _option(self, match: re.Match[str]) -> str:
        name, value = match[1], match[2]
        return f"{name}=" + (self._namer.user_of_context(value) if name.startswith("user") else self._namer.stand_in("domain", value))

    def _source(self, source: str) -> str:
        """Redacts the source of a mount: server and share of a network; others stay unchanged."""
        if not patterns.NETWORK_SOURCE.search(source) or re.match(r"^[A-Za-z]:[/\\]", source):
            return source
        if source.startswith("//"):
            server, _, share = source[2:].partition("/")
            return f"//{self._server(server)}/{self._name(share)}"
        server, _, share = source.partition(":/")
        user, at, server = server.rpartition("@")
        who = self._namer.user_of_context(user) if user else ""
        return f"{who}{at}{self._server(server)}:/{self._name(share)}"

    def _share(self, match: re.Match[str]) -> str:
        server, share = match[2][2:], match[3]
        if server.lower() in _FOLDERS_OF_A_SYSTEM or is_public(server):
            return match[0]
        return match[1] + match[2][:2] + self._server(server) + share[0] + self._name(share[1:])

    def _server(self, server: str) -> str:
        if re.fullmatch(r"[\d.]+", server):
            return self._namer.address(server)
        return server if is_ours(server) else self._namer.stand_in("host", self._namer.short(server))

    def _name(self, share: str) -> str:
        return share if not share or is_ours(share) else self._namer.stand_in("share", share)


def _stays(host: str, known: Callable[[str], bool]) -> bool:
    if is_public(host):
        return all(known(label) for label in host.split(".")[:-2])
    if is_ours(host) or re.fullmatch(r"[\d.]+|\[.*", host):  # addresses are replaced by privacy.numbers
        return True
    return "." not in host and host.lower() in TECHNICAL
