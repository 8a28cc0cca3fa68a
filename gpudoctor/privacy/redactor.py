"""Removes people from text, and keeps what describes the machine. `capture` and `report` share this.

Only values are changed, only whole words, and the same name gets the same pseudonym everywhere. Names come from the system
(system_names.py), and from places where nothing but a name can stand: homes, `id`, `user@host`, the host of a log line. A user or
host whose name is a technical word (cuda, root, test) is replaced in such places only. Redacting a redacted text again
changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from gpudoctor.model.deadline import Deadline
from gpudoctor.privacy import patterns
from gpudoctor.privacy.known_words import Words
from gpudoctor.privacy.labels import Labels
from gpudoctor.privacy.network import ServerNames
from gpudoctor.privacy.numbers import Numbers
from gpudoctor.privacy.paths import Paths
from gpudoctor.privacy.places import NamePlaces
from gpudoctor.privacy.pseudonyms import Pseudonyms, is_ours
from gpudoctor.privacy.secrets_found import Secrets
from gpudoctor.privacy.structure import in_json, in_xml, is_json, is_xml
from gpudoctor.privacy.technical_words import GROUPS, TECHNICAL
from gpudoctor.privacy.unknown_words import UnknownWords
from gpudoctor.privacy.visible_text import clean, decoded, folded
from gpudoctor.system.system_names import HOST_VARIABLES, USER_VARIABLES, WORD_VARIABLES, Names

_PAYLOAD = re.compile(r"^(@gpudoctor )(\{.*\})$", re.MULTILINE)
_PLACES = ("folder", "file", "project", "share")
_ROUNDS = 4
UNREAD = "<not read>"
_CACHED = 50_000  # lines whose outcome is remembered: logs repeat themselves
_EXACT = ("ip", "ipv6", "ipv6-link", "mac", "uuid", "machine-id")  # nobody and nothing else is called so
_COUNTED = {"ipv6": "ip", "ipv6-link": "ip", "amd-uuid": "uuid", "machine-id": "uuid", "file": "folder"}
_MESSAGES = frozenset(
    """message messages error errors why reason note notes log logs line lines text detail details explanation evidence title stderr stdout
    output traceback trace warning warnings said stopped problem cmdline command_line environment env processes process_name""".split()
)
"""Fields that hold messages of any program."""
_PATH_KEY = re.compile(r"[/\\@]")


class Redactor:
    """Redacts texts; inactive, it returns them unchanged (a raw capture). `counts`: the number of replacements of each kind."""

    def __init__(
        self,
        names: Names | None = None,
        protected: Collection[str] = (),
        *,
        active: bool = True,
        pseudonyms: Pseudonyms | None = None,
        deadline: Deadline | None = None,
    ) -> None:
        """`protected`: words that no name may destroy (of the catalogue, names of installed packages), in lower case.

        `deadline`: the time limit for a foreign text. Lines that were not read by then are removed as a whole, and counted as 'unread'.
        """
        self.active = active
        self._deadline = deadline
        self.counts: dict[str, int] = {}
        self.pseudonyms = pseudonyms or Pseudonyms()
        names = names or Names()
        self._protected = protected = frozenset(protected)
        self._hosts: dict[str, str] = {}
        self._users: set[str] = set()
        self._words = Words(protected)
        self._unknown = UnknownWords(protected)
        self._paths = Paths(self.stand_in, TECHNICAL.__contains__, protected, self._users, self._unknown.stays)
        self._network = ServerNames(self, self._paths, protected, self._unknown.stays)
        self._numbers_in = Numbers(self, protected, self._learn_serial)
        self._secrets = Secrets(self.secret)
        self._labels = Labels(self, TECHNICAL.__contains__)
        self._places = NamePlaces(self, self._users, self._hosts, self._unknown.stays)
        self._literal_paths: dict[str, str] = {}
        self._path_pattern: re.Pattern[str] | None = None
        self._seen: dict[tuple[str, bool], tuple[str, dict[str, int]]] = {}
        """Redacted lines by their original, with the counts of their replacements."""
        self._generation = 0
        self._below_domain = patterns.any_of(
            names.domains, r"(?<![\w.-])(?:[A-Za-z0-9_-]{1,63}\.){0,5}", r"(?![\w-])(?!\.\w)", re.IGNORECASE
        )
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
        self._path_pattern = patterns.any_of(self._literal_paths, r"(?<![\w.-])", r"(?![\w-])")

    # what is asked

    def name(self, owner: str) -> str:
        """Redacts the owner of a file, or a user in a list of users."""
        if self.active and owner.casefold() in self._users:
            return self.stand_in("user", owner)
        return owner

    def group(self, group: str) -> str:
        """Redacts a group: that of a person is replaced, one of the system never, even where a person has the same name."""
        return group if group.lower() in GROUPS else self.name(group)

    def path(self, path: str) -> str:
        """Redacts a path or one word of a command: names and numbers are replaced; the rest stays, since a replay looks it up."""
        if not self.active or not path:
            return path
        path = clean(path)
        for _ in range(_ROUNDS):
            before, path = path, self._people(self._numbers_in.uuids(self._secrets.in_line(path, path.lower())))
            if path == before:
                break
        return path

    def text(self, text: str, free: bool = False) -> str:
        """Any text: JSON and XML keep their keys and tags. `free`: of no known type, so that words that nobody knows go too."""
        if not self.active or not text:
            return text
        if is_json(text):
            return in_json(
                text,
                self._server_key if free else self.key,
                lambda key, inner: self.keyed(key, inner, self.free if free or key.lower() in _MESSAGES else None),
            )
        if is_xml(text):
            return in_xml(
                text, lambda tag, inner: self.keyed(tag, inner, self._free if free or tag in _MESSAGES else self._plain), self._tag
            )
        plain = self._free if free else self._plain
        if "@gpudoctor {" not in text:
            return plain(text)
        kept: list[str] = []
        end = 0
        for match in _PAYLOAD.finditer(text):
            kept += [plain(text[end : match.start()]), match[1], self.text(match[2], free=True)]
            end = match.end()
        return "".join([*kept, plain(text[end:])])

    def free(self, text: str) -> str:
        """Redacts a text of no known type: a log, an error message, the value of a variable."""
        return self.text(text, free=True)

    def _tag(self, tag: str) -> str:
        """Redacts the text between < and >; known words stay."""
        return "".join(
            part if re.fullmatch(r"[\w:.-]*", part) and self._unknown.stays(part) else self._free(part) for part in re.split(r"(\W+)", tag)
        )

    def value(self, value: Any, free: bool = False) -> Any:
        """Redacts every text in lists and tables, and those keys that are paths or a person's name."""
        if isinstance(value, str):
            return self.text(value, free)
        if isinstance(value, (list, tuple)):
            return [self.value(item, free) for item in value]
        if isinstance(value, Mapping):
            return {self.key(key): self.field(str(key), item, free) for key, item in value.items()}
        return value

    def key(self, key: Any) -> Any:
        """Redacts a key of a table: its words stay, unless it is a path, an address or a person's name."""
        if not isinstance(key, str) or not self.active:
            return key
        return self.path(key) if _PATH_KEY.search(key) else self._words.replaced(key, self.stand_in)

    def _server_key(self, key: str) -> str:
        """Redacts a key of a setting, which may be the name of a server, too."""
        return self._places.in_line(redacted, redacted.lower()) if "." in (redacted := str(self.key(key))) else redacted

    def field(self, key: str, value: Any, free: bool = False) -> Any:
        """Redacts a value by the name of its key. Every text below a key for messages is of no known type."""
        lowered = key.lower()
        if lowered in ("distributions", "packages") and isinstance(value, Mapping):  # packages may have the names serial, token or secret
            return {name: item if isinstance(item, str) and item[:1].isdigit() else self.value(item) for name, item in value.items()}
        free = free or lowered in _MESSAGES
        return self.keyed(key, value, self.free if free else None) if self.active and isinstance(value, str) else self.value(value, free)

    def keyed(self, key: str, value: str, in_text: Callable[[str], str] | None = None) -> str:
        """Redacts the value of a key, a tag or a variable. `in_text` redacts values whose key has no meaning here (default: any text)."""
        bare = value.strip()
        if not self.active or bare.lower() in patterns.NOTHING or is_ours(bare):
            return value
        lowered = key.lower()
        if "version" in lowered and re.fullmatch(r"v?\d[\d.]*", bare):
            return value
        if patterns.SERIAL_KEY.search(lowered):
            return value.replace(bare, self._serial_number(bare))
        if patterns.SECRET_KEY.search(lowered) and not patterns.SETTING.fullmatch(bare):
            return self._count("secret", "<secret>")
        if key.upper() in USER_VARIABLES and re.fullmatch(r"[^\s\\/:]+", bare):
            return value.replace(bare, self.user_of_context(bare))
        if key.upper() in USER_VARIABLES and (account := patterns.ACCOUNT.fullmatch(bare)):
            return value.replace(bare, self.host_of_context(account[1]) + account[2] + self.user_of_context(account[3]))
        if key.upper() in HOST_VARIABLES and re.fullmatch(r"[\w.-]+", bare) and re.search(r"[A-Za-z]", bare):
            return value.replace(bare, self.host_of_context(bare))
        if key.upper() in WORD_VARIABLES and re.fullmatch(r"[\w. +-]+", bare) and not self._paths.stays(bare):
            return value.replace(bare, self.stand_in("project", bare))
        if patterns.IP_ALONE.fullmatch(value):  # in a field of known type that is not one for addresses, four numbers are a version
            unknown = in_text is not None and not patterns.VERSION_KEY.search(key)
            return value.replace(bare, self.address(bare)) if patterns.IP_KEY.search(key) or unknown else value
        return (in_text or self.text)(value)

    # names

    def learn(self, kind: str, original: str) -> None:
        """Adds a name, which is then replaced wherever it is a whole word; a technical word only where nothing but a name can stand."""
        original = clean(original).strip().strip(".")
        lowered = original.casefold()
        if not original or is_ours(original) or lowered in ("localhost", "nobody", "root", "localhost.localdomain"):
            return
        self._generation += 1
        self._seen.clear()
        if kind == "user":
            self._users.add(lowered)
            if " " in original:
                for part in re.split(r"[\s,]+", original):
                    if len(part) > 3 and self._words.get(part) is None and self._is_distinct(part) and not self._unknown.knows(part):
                        self._words.add(part, kind, original)
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

    def _is_distinct(self, name: str) -> bool:
        """Whether the name can be distinguished from technical words: at least one of its words is not technical."""
        lowered = name.casefold()
        if len(name) < 3 or lowered in self._protected or lowered in TECHNICAL:
            return False
        words = re.findall(r"[^\W\d_]+", lowered)
        if not words:
            return len(re.sub(r"\D", "", name)) >= 6
        return any(len(word) >= 3 and word not in self._protected and word not in TECHNICAL for word in words) or " " in name

    # kinds of text

    def _plain(self, text: str) -> str:
        return self._by_lines(text, False)

    def _free(self, text: str) -> str:
        return self._by_lines(text, True)

    def _by_lines(self, text: str, free: bool) -> str:
        """Redacts line by line, and once more where a line added a name that other lines may have."""
        text = self._secrets.blocks(clean(text))
        for _ in range(_ROUNDS):
            generation, before = self._generation, text
            text = "\n".join(self._line(line, free) for line in text.split("\n"))
            if generation == self._generation or text == before:
                break
        return text

    def _line(self, line: str, free: bool) -> str:
        if not line or line.isspace():
            return line
        if self._deadline is not None and self._deadline.over():
            return self._count("unread", UNREAD)
        known = self._seen.get((line, free))
        if known is not None:
            for kind, count in known[1].items():
                self.counts[kind] = self.counts.get(kind, 0) + count
            return known[0]
        before = self.counts.copy()
        found = self._read(line, free)
        if len(self._seen) < _CACHED:
            self._seen[line, free] = (
                found,
                {kind: count - before.get(kind, 0) for kind, count in self.counts.items() if count != before.get(kind)},
            )
        return found

    def _read(self, line: str, free: bool) -> str:
        """Redacts a line. Where its decoded form (percent signs, escapes) has something to redact, returns that form, redacted."""
        plain = decoded(line)
        if plain != line:
            changed = self._settled(plain, free)
            if changed != plain:
                return changed
        return self._settled(line, free)

    def _settled(self, line: str, free: bool) -> str:
        for _ in range(_ROUNDS):
            before, line = line, self._once(line, free)
            if line == before:
                break
        return line

    def _once(self, line: str, free: bool) -> str:
        lowered = line.lower()
        line = self._secrets.in_line(line, lowered)
        if "@" in line:
            line = patterns.CREDENTIALS.sub(self._credentials, line)
            line = patterns.CREDENTIALS_ALONE.sub(self._credentials, line)
        line = self._network.addresses(line)
        if "@" in line:
            line = patterns.EMAIL.sub(lambda _: self._count("email", "<email>"), line)
        line = self._network.shares(line)
        if "serial" in lowered or "s/n" in lowered or "unique" in lowered or "asset" in lowered or "pdi" in lowered or "udid" in lowered:
            line = patterns.SERIAL.sub(self._serial, line)
        line = self._numbers_in.in_line(self._numbers_in.uuids(line), lowered)
        line = self._places.in_line(self._people(self._labels.in_line(line, lowered)), lowered)
        if free:
            return self._without_unknown(line)
        return patterns.PROCESS_ROW.sub(lambda m: m[1] + self._without_unknown(m[2]), line) if line[:1] == "|" else line

    def _without_unknown(self, text: str) -> str:
        return self._unknown.replaced(text, lambda word: self.stand_in("name", word))

    def _people(self, text: str) -> str:
        """Replaces paths, then names."""
        if self._literal_paths and self._path_pattern is not None:
            text = self._path_pattern.sub(lambda m: self._count("folder", self._literal_paths[m[0]]), text)
        if "/" in text or "\\" in text or "~" in text:
            text = self._paths.in_text(text)
        if self._below_domain is not None and "." in text:
            text = self._below_domain.sub(lambda m: self.stand_in("host", self.short(m[0]).split(".")[0]), text)
        return self._words.replaced(text, self.stand_in)

    # single replacements

    def secret(self) -> str:
        return self._count("secret", "<secret>")

    def _credentials(self, match: re.Match[str]) -> str:
        return match[0] if match[2] == "<credentials>" or match[2] == "git" else match[1] + self._count("credentials", "<credentials>@")

    def _serial(self, match: re.Match[str]) -> str:
        number = match[2].rstrip(".;")
        if number.lower() in patterns.NOTHING or is_ours(number):
            return match[0]
        return match[1] + self._serial_number(number) + match[2][len(number) :]

    def _serial_number(self, number: str) -> str:
        self._learn_serial(number)
        return self.stand_in("serial", number)

    def _learn_serial(self, number: str) -> None:
        """Adds a serial number to the known names, since other lines hold it without its label."""
        if len(number) >= 6 and re.search(r"\d", number) and self._words.get(number) is None:
            self._words.add(number, "serial", number)
            self._generation += 1
            self._seen.clear()

    def address(self, address: str) -> str:
        if address.startswith(("127.", "0.", "255.")):
            return address
        return self.stand_in("ip", address)

    def short(self, host: str) -> str:
        return self._hosts.get(host.lower(), host.lower())

    def host_of_context(self, host: str) -> str:
        if host.lower() in ("localhost", "kernel", "none", "n", "localhost.localdomain", "(none)") or is_ours(host):
            return host
        lowered = host.lower()
        if lowered not in self._hosts and not re.fullmatch(r"[\d.]+", host):
            self.learn("host", host)
        return self.stand_in("host", self.short(host))

    def user_of_context(self, user: str) -> str:
        if user.lower() in ("root", "nobody") or is_ours(user) or not re.search(r"\w", user):
            return user
        if user.casefold() not in self._users:
            self.learn("user", user)
        return self.stand_in("user", user)

    def stand_in(self, kind: str, original: str, counted: str = "") -> str:
        """The pseudonym, counted as `counted` or its kind. A folder with the name of a known project or share gets that pseudonym."""
        if kind in _PLACES:
            known = self._words.get(original)
            kind = known[0] if known and known[0] in _PLACES else kind
        found = self.pseudonyms.of(kind, original)
        if folded(found) == folded(original):
            return original
        return self._count(counted or _COUNTED.get(kind, kind), found)

    def _count(self, kind: str, replacement: str) -> str:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return replacement
