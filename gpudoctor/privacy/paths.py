"""Which parts of a path are private: folders of projects below homes and places for data, never those of software.

A path is mapped part by part from its beginning, so that what lies in a folder is found below what the folder became.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from gpudoctor.privacy.pseudonyms import is_ours

FOLDERS = frozenset(
    """
    activate app appdata applications apps archive authors backup bashrc bin bins build builds cache caches changelog checkout
    checkpoint checkpoints code common conda config configs conftest contrib contributing coverage dataset datasets desktop dev dist
    dockerfile documents download downloads drivers dsets env envs etc example examples exe ext extensions file files folder games
    gitconfig gitignore hub huggingface image imagenet images include index init install installer installs interop jupyter kernels
    libraries library libs licence license linuxbrew local localhost log logs makefile mamba mambaforge manifest micromamba micromamba3
    miniforge minio models music notebook notebooks notice nox old opencl option options output outputs own packages party pictures pipx
    pkgs plugins poetry portable profile program programdata programs project projects pyenv pyproject readme release releases repo
    repos repository requirements resources results roaming run runs sandbox scratch script scripts sdk setup setvars shims
    site-packages snap snapshot snapshots source sources src stable state storage store temp templates test tests third thirdparty todo
    toolkit toolkits tox train training uv var vars vendors venv venvs version versions videos virtualenv virtualenvs virtualenvwrapper
    volume volumes weights wheelhouse wheels workflows workon
    """.split()
)
"""Words of folders that say nothing of whose they are."""
SOFTWARE = frozenset({"lib", "lib32", "lib64", "bin", "include", "share", "site-packages", "dist-packages", "scripts", "windowsapps"})
"""Folders of installed software, whose names a report needs."""
_STARTS = re.compile(
    r"(?<![\w./\\-])(?P<start>file://)?(?P<root>"
    r"(?:/(?:var|usr|data|export|nfs|net|run))?/home\d*[\\/]{1,4}[^\s\\/:;,\"'<>|)(\]\[}]+"
    r"|/(?:run/)?media/[^\s\\/:;,\"'<>|)(\]\[}]+"
    r"|/(?:(?:mnt/)?[a-z]/)?users[\\/]{1,4}[^\s\\/:;,\"'<>|)(\]\[}]+"
    r"|/?[A-Za-z]:[\\/]{1,4}Users[\\/]{1,4}[^\s\\/:;,\"'<>|)(\]\[}]+(?: [^\s\\/:;,\"'<>|)(]+(?=\\))?"
    r"|/root(?=/)|/cygdrive/[a-z](?=/)"
    r"|\\Device\\HarddiskVolume\d{1,3}\\Users\\[^\s\\/:;,\"'<>|)(\]\[}]+"
    r"|/mnt/[a-z](?=/)"
    r"|/(?:nethome|homes\d*|u\d*|i?home\d*|ihome/\w{1,40}|afs/[\w.-]{1,60}/(?:user|usr|home)/\w(?:/\w{2})?)/[^\s\\/:;,\"'<>|)(\]\[}]+"
    r"|[\\/]{2,4}wsl(?:\$|\.localhost)[\\/]{1,4}[^\s\\/:]{1,40}[\\/]{1,4}home[\\/]{1,4}[^\s\\/:;,\"'<>|)(\]\[}]+"
    r"|/?[A-Za-z]:(?=[\\/]{1,4}(?!Users|Windows|Program|\$|\d)[^\s\\/:;,\"'<>|)(]+[\\/])"
    r"|~[a-z][\w.-]{1,40}(?=/)"
    r"|/(?:private/)?var/folders/\w\w/\w{1,64}/[0CTX](?=/)|/(?:usr/share|etc/apt)/keyrings(?=/)"
    r"|/(?:run/user|opt|tmp|var/tmp|var/(?:cache|mail|crash|spool/(?:mail|cron(?:/crontabs)?))|dev/mapper|dev/disk/by-label|mnt|media|groups?|cluster|apps?|sw|soft|software|projects?"
    r"|proj|p|g|fs\w{0,4}|ceph\w{0,4}"
    r"|pfs|hpc\w{0,6}|nas\w{0,6}|storage\w{0,6}|bulk|archive|work\w{0,8}|data\w{0,8}|models?|app|repo|src|workspace\w{0,4}"
    r"|content|kaggle|root)(?=/)"
    r"|/(?:data\d*|datasets?|scratch\d*|mnt|srv|work\d*|workspaces?|projects?|nfs\d*|export|storage\d*|vol\d*|lustre|gpfs|beegfs|cluster"
    r"|raid\d*|ssd\d*|hdd\d*|shared?|u)(?=/))"
    r"(?P<rest>(?:[\\/]{1,4}(?:OneDrive - [^\\/:;,\"'<>|\n]{1,60}|[^\s\\/:;,\"'<>|)(\]\[}]+))*)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"(?<![\w./\\~:<>$})*-])/(?P<first>[^\s\\/:;,\"'<>|)(\]\[}{]{1,100})(?:/[^\s\\/:;,\"'<>|)(\]\[}{]{1,200})+")
"""A path that begins in no place that systems have."""
_PART = re.compile(r"(?<![\\/])([\\/]+)([^\\/]+)")
_USER_PART = re.compile(r"^(.*[\\/])([^\\/]+)$", re.DOTALL)
_WITHOUT_USER = re.compile(r"/(?:root|groups?|apps?|proj|p|g|fs\w{0,4}|ceph\w{0,4}|pfs|hpc\w{0,6}|nas\w{0,6}"
    r"|storage\w{0,6}|bulk|archive|work\w{0,8}"
                           r"|data\w{0,8}|models?|workspace\w{0,4}|media|(?:mnt|cygdrive)/[a-z]|data\d*|datasets?|scratch\d*|mnt|srv|work\d*|workspaces?"
                           r"|projects?|nfs\d*|export|storage\d*"
                           r"|vol\d*|lustre|gpfs|beegfs|cluster|raid\d*|ssd\d*|hdd\d*|shared?|u)", re.IGNORECASE)  # fmt: skip
_LIBRARY = re.compile(r"^lib[\w+.-]*\.(so|dylib|a)\b|\.(so|dll|dylib)(\.[\d.]+)?$|\.(whl|dist-info|egg-info)$", re.IGNORECASE)
_SUFFIX = re.compile(r"^(.+?)(\.(?:py|ipynb|sh|txt|log|md|json|jsonl|toml|ya?ml|cfg|ini|csv|tsv|h5|onnx|pth?|bin|ckpt|safetensors"
                     r"|tar\.gz|tgz|tar|zip|gz|xz|run|sif|img|iso|exe|bat|ps1|c|cc|cpp|cu|h|hpp|cl|conf|d))$", re.IGNORECASE)  # fmt: skip
_TOOL = re.compile(r"\.[a-z]+(?:[._-](?:cache|history|rc|config|toml|lock|local|d))?")
"""What a tool keeps in a home: .cargo, .mypy_cache."""
_FHS = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "opt", "proc", "root", "run", "sbin", "sys", "tmp", "usr", "var", "home"}
)
_OF_SYSTEMS = _FHS | {"nix", "gnu", "system", "library", "applications", "private", "volumes", "snap", "init"}
_SOFTWARE_ROOT = re.compile(
    r"/(?:run/user|opt|tmp|var/tmp|var/(?:cache|crash)|(?:usr/share|etc/apt)/keyrings|(?:private/)?var/folders/\w\w/\w{1,64}/[0CTX]"
    r"|dev/mapper|dev/disk/by-label|apps?|sw|soft|software|content|kaggle|src|repo)|/?[A-Za-z]:",
    re.IGNORECASE,
)
_OF_PEOPLE = frozenset({"users", "user", "home", "homes", "people", "personal", "nethome", "accounts"})
_KEPT_HOMES = frozenset({"public", "default", "default user", "all users", "shared", "linuxbrew"})


class Paths:
    """Maps paths in texts. `stand_in(kind, name)` gives the pseudonym and counts it; `technical(word)` says what stays."""

    def __init__(
        self,
        stand_in: Callable[[str, str], str],
        technical: Callable[[str], bool],
        words: Collection[str],
        users: Collection[str],
        known: Callable[[str], bool],
    ) -> None:
        """`known(word)`: whether the whole vocabulary has it. Such a word stays in a place for software, but not in a home."""
        self._stand_in, self._technical, self._words, self._users, self._known = stand_in, technical, words, users, known

    def in_text(self, text: str) -> str:
        """The text with every path replaced that begins in a home or a place for data."""
        text = _STARTS.sub(self._found, text)
        return _ELSEWHERE.sub(self._elsewhere, text) if "/" in text else text

    def _elsewhere(self, match: re.Match[str]) -> str:
        """Redacts a path but for known words, since sources of software lie in such places, too (/pytorch/aten/src)."""
        if match["first"].lower() in _OF_SYSTEMS or _STARTS.match(match.string, match.start()):
            return match[0]
        parts = [part if self._known(part) or is_ours(part) else self.part(part) for part in match[0].split("/")[1:]]
        return "".join(f"/{part}" for part in parts)

    def whole(self, path: str) -> str:
        """Redacts a path that is known to lead to a private folder, wherever it begins: /opt/merger/venv."""
        found = _STARTS.match(path)
        if found is not None:
            return self._found(found, path[found.end("root") :])
        mapped = self.in_text(path)
        if mapped != path or not path.startswith("/"):
            return mapped
        first, _, rest = path[1:].partition("/")
        if not rest:
            return path if first in _FHS or self.stays(first) else "/" + self._stand_in("folder", first)
        return (f"/{first}" if first in _FHS or self.stays(first) else "/" + self._stand_in("folder", first)) + self._parts(f"/{rest}")

    def _found(self, match: re.Match[str], all_of_it: str | None = None) -> str:
        """`all_of_it`: what follows the root of a path that is known whole, spaces and all; of such a path only
        the parts stay that are the same on every machine."""
        root, rest = match["root"], match["rest"] if all_of_it is None else all_of_it
        if root.startswith("~"):
            return root if root[1:] in _KEPT_HOMES else "~" + self._stand_in("user", root[1:]) + self._parts(rest)
        place = _USER_PART.match(root)
        if place and not _WITHOUT_USER.fullmatch(root) and not _SOFTWARE_ROOT.fullmatch(root) and place[2].lower() not in _KEPT_HOMES:
            name = place[2].rstrip(".")
            if name != "root" and name.strip("$*{}%") and not is_ours(name):
                root = place[1] + self._stand_in("user", name) + place[2][len(name) :]
        return (match["start"] or "") + root + self._parts(rest, all_of_it is None and _SOFTWARE_ROOT.fullmatch(root) is not None)

    def _parts(self, rest: str, software: bool = False) -> str:
        """`software`: the path is below a place for programs, where known words may stay."""
        mapped: list[str] = []
        parts = _PART.findall(rest)
        person = False
        for number, (separator, part) in enumerate(parts):
            if part.lower() in SOFTWARE or part in (".", ".."):
                if part.lower() in SOFTWARE:
                    return "".join([*mapped, *(each + name for each, name in parts[number:])])
                mapped.append(separator + part)
                continue
            if person and not is_ours(part) and part.lower() not in _KEPT_HOMES:
                mapped.append(separator + self._stand_in("user", part))
            elif software and self._known(part) and part.casefold() not in self._users:
                mapped.append(separator + part)
            else:
                mapped.append(separator + self.part(part))
            person = part.lower() in _OF_PEOPLE
        return "".join(mapped)

    def part(self, name: str) -> str:
        """One folder or file of a path, with its private words replaced."""
        bare = name.rstrip(".,!?`")
        if bare.casefold() in self._users and not self.stays(bare):
            return self._stand_in("user", bare) + name[len(bare) :]
        if not bare or self.stays(bare) or _LIBRARY.search(bare):
            return name
        suffix = _SUFFIX.match(bare)
        if suffix:
            if self.stays(suffix[1]):
                return name
            return self._stand_in("file", suffix[1]) + suffix[2] + name[len(bare) :]
        return self._stand_in("folder", bare) + name[len(bare) :]

    def stays(self, name: str) -> bool:
        """Whether every word of the name is technical; numbers and versions count as technical."""
        lowered = name.lower()
        if lowered in self._words or _TOOL.fullmatch(lowered):
            return True
        words = re.findall(r"[^\W\d_]+", lowered)
        return all(
            (len(word) <= 2 and word.isascii()) or word in FOLDERS or self._technical(word) for word in words
        ) and not _looks_private(lowered, words)


def _looks_private(lowered: str, words: list[str]) -> bool:
    """Whether the name is a long number without a dot, which identifies (a job, a student); a short number is a version."""
    return not words and len(re.sub(r"\D", "", lowered)) >= 6 and "." not in lowered
