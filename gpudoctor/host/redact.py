"""Taking people out of text while leaving the machine in it. `capture` and `report` share this.

Only values are changed, only whole words, and the same name gets the same pseudonym everywhere. Names come from the system
(system_names.py), and besides from places where they can be nothing else: homes, `id`, `user@host`, the host of a log line. A user or
host that is called like a technical word (cuda, root, test) is replaced in such places alone. What was redacted can be redacted again:
nothing changes any more.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from gpudoctor.host import redact_patterns as patterns
from gpudoctor.host.pseudonyms import Pseudonyms, is_ours
from gpudoctor.host.public_hosts import is_public
from gpudoctor.host.redact_network import Network
from gpudoctor.host.redact_paths import Paths
from gpudoctor.host.redact_structure import in_json, in_xml, is_json, is_xml
from gpudoctor.host.redact_words import Words
from gpudoctor.host.system_names import HOST_VARIABLES, USER_VARIABLES, WORD_VARIABLES, Names
from gpudoctor.host.technical import GROUPS, TECHNICAL

_PAYLOAD = re.compile(r"^(@gpudoctor )(\{.*\})$", re.MULTILINE)
_PLACES = ("folder", "file", "project", "share")
_ROUNDS = 5
_FIRST_OF_PEOPLE = 1000
"""Numbers of accounts and groups below belong to the system."""
_EXACT = ("ip", "ipv6", "mac", "uuid", "machine-id")
"""Nobody and nothing else is called so."""
_COUNTED = {"ipv6": "ip", "amd-uuid": "uuid", "machine-id": "uuid", "file": "folder"}
_PATH_KEY = re.compile(r"[/\\@]")


class Redactor:
    """Replaces; inactive it is the identity (a raw capture). `counts` says how often something of a kind was replaced."""

    def __init__(
        self, names: Names | None = None, protected: Collection[str] = (), *, active: bool = True, pseudonyms: Pseudonyms | None = None
    ) -> None:
        """`protected`: words that no name may destroy (of the catalogue, names of installed packages), in lower case."""
        self.active = active
        self.counts: dict[str, int] = {}
        self.pseudonyms = pseudonyms or Pseudonyms()
        names = names or Names()
        self._protected = protected = frozenset(protected)
        self._hosts: dict[str, str] = {}
        self._users: set[str] = set()
        self._words = Words(protected)
        self._paths = Paths(self.stand_in, self._is_technical, protected, self._users)
        self._network = Network(self, self._paths, protected)
        self._literal_paths: dict[str, str] = {}
        self._path_pattern: re.Pattern[str] | None = None
        self._below_domain = _any_of(names.domains, r"(?<![\w.-])(?:[A-Za-z0-9_-]{1,63}\.){1,5}", r"(?![\w-])(?!\.\w)", re.IGNORECASE)
        for user in names.users:
            self.learn("user", user)
        for host in names.hosts:
            self.learn("host", host)
        for domain in names.domains:
            self.learn("domain", domain)
        for kind, word in names.words:
            self.learn(kind, word)
        for path in sorted(names.paths, key=len):
            self._learn_path(path)
        self._path_pattern = _any_of(self._literal_paths, r"(?<![\w.-])", r"(?![\w-])")

    # what is asked

    def name(self, owner: str) -> str:
        """The owner of a file, or a user in a list of them."""
        if self.active and owner.lower() in self._users:
            return self.stand_in("user", owner)
        return owner

    def group(self, group: str) -> str:
        """A group: that of a person is replaced, one of the system never, whoever is called like it."""
        return group if group.lower() in GROUPS else self.name(group)

    def path(self, path: str) -> str:
        """A path, or one word of a command: names and numbers go, the rest of it is what is asked for."""
        if not self.active or not path:
            return path
        for _ in range(_ROUNDS):
            before, path = path, self._people(self._numbers(path))
            if path == before:
                break
        return path

    def text(self, text: str) -> str:
        """Any text: JSON and XML keep their keys and tags."""
        if not self.active or not text:
            return text
        if is_json(text):
            return in_json(text, self.key, self.keyed)
        if is_xml(text):
            return in_xml(text, lambda tag, inner: self.keyed(tag, inner, in_text=self._plain))
        if "@gpudoctor {" not in text:
            return self._plain(text)
        kept: list[str] = []
        end = 0
        for match in _PAYLOAD.finditer(text):
            kept += [self._plain(text[end : match.start()]), match[1], self.text(match[2])]
            end = match.end()
        return "".join([*kept, self._plain(text[end:])])

    def value(self, value: Any) -> Any:
        """Every text in lists and tables; keys too where they are paths."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, Mapping):
            return {self.key(key): self.field(str(key), item) for key, item in value.items()}
        return value

    def key(self, key: Any) -> Any:
        """A key of a table: never changed, unless it is a path or an address of somebody."""
        return self.path(key) if isinstance(key, str) and _PATH_KEY.search(key) else key

    def field(self, key: str, value: Any) -> Any:
        """A value whose name says more of it than it does itself."""
        lowered = key.lower()
        if lowered in ("distributions", "packages") and isinstance(value, Mapping):  # packages may be called serial, token or secret
            return {name: item if isinstance(item, str) and item[:1].isdigit() else self.value(item) for name, item in value.items()}
        return self.keyed(key, value) if self.active and isinstance(value, str) else self.value(value)

    def keyed(self, key: str, value: str, in_text: Callable[[str], str] | None = None) -> str:
        """The text behind a key, a tag or a variable; `in_text` is for what its key says nothing of (default: as any text)."""
        bare = value.strip()
        if not self.active or bare.lower() in patterns.NOTHING or is_ours(bare):
            return value
        lowered = key.lower()
        if patterns.SERIAL_KEY.search(lowered):
            return value.replace(bare, self._serial_number(bare))
        if patterns.SECRET_KEY.search(lowered) and not _is_technical_setting(bare):
            return self._count("secret", "<secret>")
        if key.upper() in USER_VARIABLES and re.fullmatch(r"[^\s\\/:]+", bare):
            return value.replace(bare, self.user_of_context(bare))
        if key.upper() in HOST_VARIABLES and re.fullmatch(r"[\w.-]+", bare) and re.search(r"[A-Za-z]", bare):
            return value.replace(bare, self._host_of_context(bare))
        if key.upper() in WORD_VARIABLES and re.fullmatch(r"[\w. +-]+", bare) and not self._paths.stays(bare):
            return value.replace(bare, self.stand_in("project", bare))
        if patterns.IP_KEY.search(key) and patterns.IP_ALONE.fullmatch(value):
            return value.replace(bare, self.address(bare))
        return (in_text or self.text)(value)

    # names

    def learn(self, kind: str, original: str) -> None:
        """From now on `original` is replaced wherever it stands as a whole word; in its own places alone where it is a technical word."""
        original = original.strip().strip(".")
        lowered = original.casefold()
        if not original or is_ours(original) or lowered in ("localhost", "nobody", "root", "localhost.localdomain"):
            return
        if kind == "user":
            self._users.add(lowered)
        if kind == "host":
            short = lowered.split(".")[0]
            self._hosts[lowered] = self._hosts[short] = short
        if kind not in _EXACT and not self._is_distinct(original):
            return
        self._words.add(lowered, kind, self._hosts.get(lowered, lowered) if kind == "host" else original)
        if kind == "host" and not original.replace(".", "").isdigit():
            short = lowered.split(".")[0]
            if self._is_distinct(short):
                self._words.add(short, kind, short)

    def _learn_path(self, path: str) -> None:
        path = path.rstrip("/\\")
        if len(path) < 2:
            return
        before = dict(self.counts)
        mapped = self._people(path) if not path.startswith("/") else self._paths.whole(path)
        self.counts = before
        if mapped != path:
            self._literal_paths[path] = mapped

    def _is_technical(self, word: str) -> bool:
        return word in TECHNICAL

    def _is_distinct(self, name: str) -> bool:
        """Whether it can be told from technical words wherever it stands: one of its words at least is none."""
        lowered = name.casefold()
        if len(name) < 3 or lowered in self._protected or lowered in TECHNICAL:
            return False
        words = re.findall(r"[^\W\d_]+", lowered)
        if not words:
            return len(re.sub(r"\D", "", name)) >= 6
        return any(len(word) >= 3 and word not in self._protected and word not in TECHNICAL for word in words) or " " in name

    # kinds of text

    def _plain(self, text: str) -> str:
        """Until nothing changes: what one replacement tells may be a name elsewhere."""
        for _ in range(_ROUNDS):
            before, text = text, self._once(text)
            if text == before:
                break
        return text

    def _once(self, text: str) -> str:
        text = patterns.SECRETS.sub(lambda _: self._count("secret", "<secret>"), text)
        text = patterns.SECRET_FIELD.sub(self._secret_field, text)
        if "@" in text:
            text = patterns.CREDENTIALS.sub(self._credentials, text)
        text = self._network.addresses(text)
        if "@" in text:
            text = patterns.EMAIL.sub(lambda _: self._count("email", "<email>"), text)
        text = self._network.shares(text)
        text = patterns.SERIAL.sub(self._serial, text)
        text = self._numbers(text)
        text = patterns.MAC.sub(lambda m: self._mac(m[0]), text)
        text = patterns.IPV6.sub(self._ipv6, text)
        for pattern in (patterns.IP_IN_CONTEXT, patterns.IP_WITH_PORT, patterns.PRIVATE_IP):
            text = pattern.sub(self._address_of, text)
        return self._places(self._people(text))

    def _numbers(self, text: str) -> str:
        """UUIDs and the like, which stand in paths too."""
        text = patterns.UUID.sub(self._uuid, text)
        text = patterns.AMD_UUID.sub(lambda m: "GPU-" + self.stand_in("amd-uuid", m[1], "uuid"), text)
        text = patterns.SID.sub(lambda m: self.stand_in("sid", m[0]), text)
        return patterns.MACHINE_ID.sub(lambda m: m[1] + self.stand_in("machine-id", m[2], "uuid"), text)

    def _people(self, text: str) -> str:
        """Paths, then names wherever they stand."""
        if self._literal_paths and self._path_pattern is not None:
            text = self._path_pattern.sub(lambda m: self._count("folder", self._literal_paths[m[0]]), text)
        text = self._paths.in_text(text)
        if self._below_domain is not None:
            text = self._below_domain.sub(lambda m: self.stand_in("host", self.short(m[0]).split(".")[0]), text)
        return self._words.replaced(text, self.stand_in)

    def _places(self, text: str) -> str:
        """Where a name can be nothing else, whatever it is called."""
        text = patterns.SERVER.sub(lambda m: self._named_server(m[0]), text)
        text = patterns.WINDOWS_NAME.sub(lambda m: self._host_of_context(m[0]), text)
        text = patterns.CONTAINER_ID.sub(lambda m: self.stand_in("host", m[0][:12]) if m[0][:12] in self._hosts else m[0], text)
        if "uid=" in text:
            text = patterns.ID_LINE.sub(self._id_line, text)
        text = patterns.UNAME.sub(lambda m: m[1] + self._host_of_context(m[2]), text)
        text = patterns.BUILT_BY.sub(lambda m: f"{m[1]}{self.user_of_context(m[2])}@{self._host_of_context(m[3])}", text)
        text = patterns.LOG_HOST.sub(lambda m: m[1] + self._host_of_context(m[2]), text)
        text = patterns.HOST_FIELD.sub(lambda m: m[1] + m[2] + self._host_of_context(m[3]), text)
        text = patterns.USER_FIELD.sub(lambda m: m[1] + self.user_of_context(m[2]), text)
        if self._users:
            text = patterns.LISTING.sub(lambda m: m[1] + self.name(m[2]) + m[3] + self.group(m[4]), text)
            text = patterns.GROUP_FILE.sub(self._group_line, text)
        if self._hosts:
            text = patterns.HOSTS_FILE.sub(self._hosts_line, text)
        return patterns.AT_HOST.sub(self._at_host, text) if "@" in text else text

    # single replacements

    def _secret_field(self, match: re.Match[str]) -> str:
        before = next(group for group in (match[1], match[3], match[5], match[7]) if group is not None)
        secret = match[0][len(before) :]
        if secret.lower() in patterns.NOTHING or is_ours(secret) or secret.startswith("<secret>"):
            return match[0]
        return before + self._count("secret", "<secret>")

    def _credentials(self, match: re.Match[str]) -> str:
        return match[0] if match[2] == "<credentials>" or match[2] == "git" else match[1] + self._count("credentials", "<credentials>@")

    def _serial(self, match: re.Match[str]) -> str:
        number = match[2].rstrip(".;")
        if number.lower() in patterns.NOTHING or is_ours(number):
            return match[0]
        return match[1] + self._serial_number(number) + match[2][len(number) :]

    def _serial_number(self, number: str) -> str:
        if len(number) >= 6 and re.search(r"\d", number) and self._words.get(number) is None:
            self._words.add(number, "serial", number)  # elsewhere it stands without its name
        return self.stand_in("serial", number)

    def _uuid(self, match: re.Match[str]) -> str:
        if not match[2].strip("0-"):
            return match[0]
        return (match[1] or "") + self.stand_in("uuid", match[2])

    def _mac(self, mac: str) -> str:
        if not mac.strip("0:-") or not mac.lower().strip("f:-"):
            return mac
        return self.stand_in("mac", mac) if len(mac) == 17 else self.stand_in("mac", mac[:17])

    def _ipv6(self, match: re.Match[str]) -> str:
        try:
            ipaddress.IPv6Address(match[0])
        except ValueError:
            return match[0]
        return self.stand_in("ipv6", match[0], "ip")

    def _address_of(self, match: re.Match[str]) -> str:
        address = match[match.lastindex or 0]
        return match[0][: -len(address)] + self.address(address)

    def address(self, address: str) -> str:
        if address.startswith(("127.", "0.", "255.")):
            return address
        return self.stand_in("ip", address)

    def short(self, host: str) -> str:
        return self._hosts.get(host.lower(), host.lower())

    def _named_server(self, name: str) -> str:
        first = name.split(".")[0]
        return first if is_ours(first) else name if is_public(name) else self.stand_in("host", self.short(name))

    def _host_of_context(self, host: str) -> str:
        if host.lower() in ("localhost", "kernel", "none", "n", "localhost.localdomain", "(none)") or is_ours(host):
            return host
        lowered = host.lower()
        if lowered not in self._hosts and not re.fullmatch(r"[\d.]+", host):
            self.learn("host", host)
        return self.stand_in("host", self.short(host))

    def user_of_context(self, user: str) -> str:
        if user.lower() in ("root", "nobody") or is_ours(user) or not re.search(r"\w", user):
            return user
        if user.lower() not in self._users:
            self.learn("user", user)
        return self.stand_in("user", user)

    def _at_host(self, match: re.Match[str]) -> str:
        """A prompt: alice@wonderland."""
        user, host = match[1], match[2]
        if host.lower() not in self._hosts and not (user.lower() in self._users and not is_public(host)):
            return match[0]
        return f"{self.name(user)}@{self._host_of_context(host)}"

    def _id_line(self, line: re.Match[str]) -> str:
        def named(match: re.Match[str]) -> str:
            own = match[1].startswith("uid") or int(match[2]) >= _FIRST_OF_PEOPLE
            return f"{match[1]}{match[2]}(" + (self.name(match[3]) if own else self.group(match[3]))

        who = re.search(r"uid=\d+\(([^)\s]*)\)", line[0])
        if who:
            self.user_of_context(who[1])
        return re.sub(r"((?:uid=|gid=|groups=|,)?)(\d{1,10})\(([^()\s]+)(?=\))", named, line[0])

    def _hosts_line(self, match: re.Match[str]) -> str:
        def named(name: re.Match[str]) -> str:
            return self.stand_in("host", self.short(name[0])) if name[0].lower() in self._hosts else name[0]

        return match[1] + re.sub(r"[\w.-]+", named, match[2])

    def _group_line(self, match: re.Match[str]) -> str:
        number = int(match[2].split(":")[2])
        group = self.name(match[1]) if number >= _FIRST_OF_PEOPLE else self.group(match[1])
        return group + match[2] + ",".join(self.name(name) for name in match[3].split(","))

    def stand_in(self, kind: str, original: str, counted: str = "") -> str:
        """The pseudonym, counted as `counted` or its kind. A folder that is called like a known project or share is that."""
        if kind in _PLACES:
            known = self._words.get(original)
            kind = known[0] if known and known[0] in _PLACES else kind
        found = self.pseudonyms.of(kind, original)
        if found.casefold() == original.casefold():
            return original
        return self._count(counted or _COUNTED.get(kind, kind), found)

    def _count(self, kind: str, replacement: str) -> str:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return replacement


def _is_technical_setting(value: str) -> bool:
    return re.fullmatch(r"\d{1,3}|true|false|yes|no|on|off|file|auto|keyring", value, re.IGNORECASE) is not None


def _any_of(words: Iterable[str], before: str, after: str, flags: int = 0) -> re.Pattern[str] | None:
    choices = "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))
    return re.compile(f"{before}(?:{choices}){after}", flags) if choices else None
