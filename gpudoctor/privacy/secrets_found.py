"""Finds secrets by the prefixes of known services (data, from gitleaks), by the name of their field, and by the header of a key."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from gpudoctor.model.package_data import data_text
from gpudoctor.privacy.patterns import NOTHING
from gpudoctor.privacy.pseudonyms import is_ours

_TOKEN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9{$][A-Za-z0-9_.~+=/$:{}-]{9,}")
_MOST_OF_A_TOKEN = 20_000
_LINES_OF_A_KEY = r"(?:\r?\n[ \t]{0,20}[A-Za-z0-9+/=]{16,200}[ \t]{0,20})"
_KEY_BLOCKS = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:(?!-----BEGIN).){0,20000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|" + _LINES_OF_A_KEY + r"*)"
    r"|PuTTY-User-Key-File-\d:[^\n]*(?:\r?\n(?:Encryption|Comment|Public-Lines|Private-Lines|Private-MAC|Key-Derivation"
    r"|Argon2-\w{1,20}):[^\n]*|" + _LINES_OF_A_KEY + r")*",
    re.DOTALL,
)
"""Key blocks up to their end; of a block that was cut off, only the lines that look like a key."""
_PUBLIC_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\w{1,20}|sk-ssh-ed25519@openssh\.com) AAAA[A-Za-z0-9+/=]{20,}(?: [^\s\"',]+)?"
)
STEMS = ("pass", "pwd", "secret", "token", "key", "auth", "cred", "sig", "cookie", "session", "sid", "bearer", "basic", "login", "pin",
         "code",
         "clave", "geheim", "kennwort", "license", "licence", "api", "pat", "response")  # fmt: skip
"""One of these stands in each line that has a field of a secret."""
_KEY = re.compile(
    r"(?<![\w.-])([A-Za-z_][\w.-]{0,80}(?: [A-Za-z][\w@.-]{0,40}){0,3})\\?[\"']?\s{0,4}(?:=>|:=|[=:](?![=:]))\s{0,4}(?:[bur](?=[\"']))?"
)
_VALUE = re.compile(r"\\?\"[^\"\n]{1,400}?\\?\"|'[^'\n]{1,400}'|[^\s\"'<>]+")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_NAME = re.compile(
    r"(?:^|_)(?:pass(?:word|wd|phrase|code|wort)?|passwd|passe|pwd|secret|(?:secret_(?:access_)?|api_?|access_|account_"
    r"|private_|encryption_|signing_|ssh_"
    r"|licen[sc]e_|auth_|master_|service_|storage_|shared_|secret_)key(?:_id)?|apikey|token|credentials?|sig|signature"
    r"|session_?id|session|cookie|bearer"
    r"|kennwort|contrase\w{1,2}a|auth|pin|pin_code|activation_code|recovery_codes?|one_time_code|connection_string"
    r"|sid|rootpw|adminpw|psk)(?:_(?:for|of)_\w{1,60})?(?:_is)?$"
)
_GLUED = re.compile(r"(?:token|passw(?:or)?d|authtok|apitok|(?:api|signing|private|secret|access|account|master|encryption)key)$")
"""The end of a name without marks between its words: identitytoken."""
_SPOKEN = re.compile(
    r"\b((?:password|passphrase|passwort|kennwort|passwd)(?: for [^\s:]{1,60}(?: [^\s:]{1,60})?)?(?: is)?:? "
    r"|(?:wandb|huggingface-cli|hf|docker|ngc|gh|az|modal) (?:auth )?login (?:--\w+[ =])?|sshpass -p ?|(?:mysql|mysqldump"
    r"|mariadb)\b[^\n]{0,80}? -p"
    r"|docker login[^\n]{0,80}? -p |curl\b[^\n]{0,80}? (?:-u|--user) |activation code |recovery codes?:? |license key:? "
    r"|pin code:? |bearer |basic auth \w+:"
    r"|identified by )([^\s\"'<>;]+)",
    re.IGNORECASE,
)
_SPOKEN_STEMS = ("pass", "kennwort", "login", "mysql", "mariadb", "curl", "code", "key", "bearer", "basic", "identified")
_PRINCIPAL = re.compile(r"\b(principal )(\S+)")
_AUTHORIZATION = re.compile(
    r"(\b(?:proxy-)?authorization\\?[\"']?\s{0,8}[:=]\s{0,8}\\?[\"']?(?:(?:bearer|basic|token|digest|negotiate|apikey|key"
    r"|aws4-hmac-sha256)\s{1,8})?)([^\"\n]*\S)",
    re.IGNORECASE,
)
_HEADER = re.compile(r"\b((?:set-)?cookie2?\\?[\"']?\s{0,4}:\s{0,4})([^\n]*\S)", re.IGNORECASE)
_OPTION = re.compile(r"((?<![\w-])--?([A-Za-z][\w-]{1,60})[ =])([^\s\"'-][^\s\"']*)")
_MASKED = re.compile(r"(?<![\w*-])(?=[\w-]{0,40}\d)[\w-]{4,40}\*{3,200}[\w-]{0,40}")
"""A service shows the first and the last letters of a key."""
_SIGNED = re.compile(r"(\bSIGN2?=\\?\"?)([0-9A-F][0-9A-F ]{7,200})")
"""The signature in a line of a licence file of FlexNet."""
_TUPLE = re.compile(r"(\bauth=\(['\"])([^'\"\n]{1,100}['\"], ?['\"][^'\"\n]{1,200})", re.IGNORECASE)
_SETTING = re.compile(r"\d{1,3}|\d{1,3}\.\d+|true|false|yes|no|on|off|file|auto|keyring|n/?a|not|required|invalid|missing"
    r"|failed|error|rejected|expired"
                      r"|(?:is|was|for|and|or|the|with|in|has|must|cannot|could)", re.IGNORECASE)  # fmt: skip
_PATHLIKE = re.compile(r"(?:~|\.{0,2}/|[A-Za-z]:[\\/])[\w./\\~ -]*")
_TECHNICAL_FIELD = re.compile(
    r"(?:max|min|num|n|pad|eos|bos|unk|sep|cls|mask|image|special|new|total|added|primary|foreign|sort|cache|public|x)_", re.IGNORECASE
)


class Secrets:
    """`hidden()` counts one secret and returns its replacement."""

    def __init__(self, hidden: Callable[[], str]) -> None:
        self._hidden = hidden

    def blocks(self, text: str) -> str:
        """Replaces keys that span several lines."""
        if "PRIVATE KEY" in text or "PuTTY" in text:
            text = _KEY_BLOCKS.sub(lambda _: self._hidden(), text)
        return text

    def in_line(self, line: str, lowered: str) -> str:
        line = _TOKEN.sub(self._token, line)
        if " AAAA" in line:
            line = _PUBLIC_KEY.sub(lambda _: self._hidden(), line)
        if not any(stem in lowered for stem in STEMS):
            return line
        if "auth" in lowered:
            line = _AUTHORIZATION.sub(self._found, line)
            line = _TUPLE.sub(self._found, line)
        if "cookie" in lowered:
            line = _HEADER.sub(self._found, line)
        line = self._fields(line)
        if "-" in line:
            line = _OPTION.sub(self._option, line)
        if "SIGN" in line:
            line = _SIGNED.sub(self._found, line)
        if "***" in line:
            line = _MASKED.sub(lambda _: self._hidden(), line)
        if any(stem in lowered for stem in _SPOKEN_STEMS):
            line = _SPOKEN.sub(self._said, line)
        return _PRINCIPAL.sub(self._found, line) if "principal " in lowered else line

    def _token(self, match: re.Match[str]) -> str:
        token = match[0]
        prefixes, lengths = _prefixes()
        if not token.startswith(prefixes):
            return token
        for length in lengths:
            if token[:length] in _prefix_set() and looks_made(token[length:_MOST_OF_A_TOKEN]):
                return self._hidden() + _tail(token)
        return token

    def _fields(self, line: str) -> str:
        """Replaces the value of `name = value` where the name is that of a secret."""
        kept: list[str] = []
        end = 0
        for key in _KEY.finditer(line):
            if key.start() < end or not is_name(key[1]):
                continue
            value = _VALUE.match(line, key.end())
            if value is None:
                continue
            bare = value[0].strip("\"'\\,;")
            if len(bare) < 4 or (len(bare) < 12 and _TECHNICAL_FIELD.match(key[1])):
                continue
            kept += [line[end : key.end()], self._hide(value[0])]
            end = value.end()
        return "".join([*kept, line[end:]]) if kept else line

    def _found(self, match: re.Match[str]) -> str:
        return match[1] + self._hide(match[2])

    def _option(self, match: re.Match[str]) -> str:
        name = match[2].replace("-", "_").lower()
        return match[1] + self._hide(match[3]) if is_name(name) or name in ("pat", "key") else match[0]

    def _hide(self, value: str) -> str:
        """Replaces the value between its quotes, unless it is no secret: a setting, a path, a pseudonym."""
        bare = value.strip("\"'\\,;")
        if bare.lower() in NOTHING or is_ours(bare) or bare.startswith("<secret>") or _SETTING.fullmatch(bare) or _PATHLIKE.fullmatch(bare):
            return value
        if not bare or re.fullmatch(r"[.…*x]+", bare):
            return value
        start = value.find(bare)
        return value[:start] + self._hidden() + value[start + len(bare) :]

    def _said(self, match: re.Match[str]) -> str:
        return self._found(match) if re.search(r"\d|[^\w.,:]", match[2]) or match[1].endswith("-p") else match[0]


@lru_cache(maxsize=20_000)
def is_name(key: str) -> bool:
    """Whether a field of this name holds a secret: dbPassword, API key, X-Auth-Token, password for alice."""
    name = "_".join(word.lower() for word in _WORD.findall(key))
    return _NAME.search(name) is not None or _GLUED.search(name) is not None


def looks_made(rest: str) -> bool:
    """Whether the rest after the prefix is long and mixes kinds of letters, as no word does."""
    body = re.match(r"[A-Za-z0-9_.~+=/$:-]*", rest)
    text = body[0] if body else ""
    return len(text) >= 10 and (re.search(r"\d", text) is not None or (len(text) >= 20 and text.lower() != text != text.upper()))


def _tail(token: str) -> str:
    return token[len(token.rstrip(".:}")) :] if token[-1] in ".:}" else ""


@cache
def _prefixes() -> tuple[tuple[str, ...], tuple[int, ...]]:
    found = _prefix_set()
    return tuple(sorted(found)), tuple(sorted({len(each) for each in found}))


@cache
def _prefix_set() -> frozenset[str]:
    text = data_text("secret-prefixes.txt")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))
