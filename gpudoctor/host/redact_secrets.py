"""Secrets: by how those of known services begin (data, from gitleaks), by the field that they stand in, by the header of a key."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import resources

from gpudoctor.host.pseudonyms import is_ours
from gpudoctor.host.redact_patterns import NOTHING

_TOKEN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9{$][A-Za-z0-9_.~+=/$:{}-]{9,}")
_MOST_OF_A_TOKEN = 20_000
_KEY_BLOCKS = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
    r"|PuTTY-User-Key-File-\d:.*?(?:Private-MAC: [0-9a-f]+|\Z)",
    re.DOTALL,
)
_PUBLIC_KEY = re.compile(
    r"(?<![A-Za-z0-9])(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\w{1,20}|sk-ssh-ed25519@openssh\.com) AAAA[A-Za-z0-9+/=]{20,}(?: [^\s\"',]+)?"
)
STEMS = ("pass", "pwd", "secret", "token", "key", "auth", "cred", "sig", "cookie", "session", "sid", "bearer", "basic", "login", "pin", "code",
         "clave", "geheim", "kennwort", "license", "licence", "api", "pat", "response")  # fmt: skip
"""One of these stands in each line that has a field of a secret."""
_VALUE = r"(?:\\?\"[^\"\n]{1,400}?\\?\"|'[^'\n]{1,400}'|[^\s\"'<>]+)"
_FIELD = re.compile(
    r"(?<![A-Za-z0-9])((?:[A-Za-z0-9]{1,40}[_.-]){0,6}?[A-Za-z]{0,20}?"
    r"(?:pass(?:word|wd|phrase|code|wort)?|pwd|secret(?:[_-]?(?:access[_-]?)?key)?|(?:api|access|account|private|encryption|signing|ssh|license"
    r"|licence|auth|master|service|storage|shared)[ _-]?key(?:[_-]?id)?|token|credentials?|sig|signature|session[_-]?id|session|cookie|bearer"
    r"|kennwort|contrase\w{1,2}a|mot de passe|(?:x-)?auth(?:orization)?[_-]?token|_auth|\bauth|pin(?: code)?|activation[ _-]code|recovery[ _-]codes?"
    r"|one[ _-]time[ _-]code|client[_-]?secret|connection[_-]?string|sid(?=\s?=))"
    r"\\?[\"']?(?: for [^\s:]{1,60}| is| of [^\s:]{1,60})?\s{0,4}(?:=>|:=|[=:](?![=:]))\s{0,4}(?:b|u|r)?)(" + _VALUE + r"(?:,(?! )[^\s\"'<>]+)?)",
    re.IGNORECASE,
)
_SPOKEN = re.compile(
    r"\b((?:password|passphrase|passwort|kennwort|passwd)(?: for [^\s:]{1,60}(?: [^\s:]{1,60})?)?(?: is)?:? "
    r"|(?:wandb|huggingface-cli|hf|docker|ngc|gh|az|modal) (?:auth )?login (?:--\w+[ =])?|sshpass -p ?|(?:mysql|mysqldump|mariadb)\b[^\n]{0,80}? -p"
    r"|docker login[^\n]{0,80}? -p |curl\b[^\n]{0,80}? (?:-u|--user) |activation code |recovery codes?:? |license key:? |pin code:? |bearer |basic auth \w+:"
    r"|identified by )([^\s\"'<>;]+)",
    re.IGNORECASE,
)
_PRINCIPAL = re.compile(r"\b(principal )(\S+)")
_AUTHORIZATION = re.compile(
    r"(\b(?:proxy-)?authorization\\?[\"']?\s{0,8}[:=]\s{0,8}\\?[\"']?(?:(?:bearer|basic|token|digest|negotiate|apikey|key|aws4-hmac-sha256)\s{1,8})?)([^\"\n]*\S)",
    re.IGNORECASE,
)
_HEADER = re.compile(r"\b((?:set-)?cookie2?\\?[\"']?\s{0,4}:\s{0,4})([^\n]*\S)", re.IGNORECASE)
_OPTION = re.compile(r"((?<![\w-])--?(?:password|passwd|pass|token|secret|api-key|access-token|auth|pat|key)[ =])([^\s\"'-][^\s\"']*)", re.IGNORECASE)
_TUPLE = re.compile(r"(\bauth=\(['\"])([^'\"\n]{1,100}['\"], ?['\"][^'\"\n]{1,200})", re.IGNORECASE)
_SETTING = re.compile(r"\d{1,3}|\d{1,3}\.\d+|true|false|yes|no|on|off|file|auto|keyring|n/?a|not|required|invalid|missing|failed|error|rejected|expired"
                      r"|(?:is|was|for|and|or|the|with|in|has|must|cannot|could)", re.IGNORECASE)  # fmt: skip
_PATHLIKE = re.compile(r"(?:~|\.{0,2}/|[A-Za-z]:[\\/])[\w./\\~ -]*")
_TECHNICAL_FIELD = re.compile(
    r"max_?|min_?|num_?|n_?|pad_?|eos_?|bos_?|unk_?|sep_?|cls_?|mask_?|image_?|special_?|new_?|total_?|added_?|primary_?|foreign_?|sort_?|cache_?|public_?|x_?", re.I
)


class Secrets:
    """`hidden()` counts one and gives what stands there from now on."""

    def __init__(self, hidden: Callable[[], str]) -> None:
        self._hidden = hidden

    def blocks(self, text: str) -> str:
        """Keys of several lines."""
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
        line = _FIELD.sub(self._field, line)
        line = _OPTION.sub(self._found, line)
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

    def _field(self, match: re.Match[str]) -> str:
        before, value = match[1], match[2]
        name = before.rstrip(" =:>\"'\\")
        bare = value.strip("\"'\\,;")
        if bare.isdigit() and _TECHNICAL_FIELD.match(name):
            return match[0]
        return self._found(match) if len(bare) >= 4 else match[0]

    def _found(self, match: re.Match[str]) -> str:
        before, value = match[1], match[2]
        bare = value.strip("\"'\\,;")
        if bare.lower() in NOTHING or is_ours(bare) or bare.startswith("<secret>") or _SETTING.fullmatch(bare) or _PATHLIKE.fullmatch(bare):
            return match[0]
        start = value.find(bare)
        if not bare or re.fullmatch(r"[.…*x]+", bare):
            return match[0]
        return before + value[:start] + self._hidden() + value[start + len(bare) :]

    def _said(self, match: re.Match[str]) -> str:
        return self._found(match) if re.search(r"\d|[^\w.,:]", match[2]) or match[1].endswith("-p") else match[0]


def looks_made(rest: str) -> bool:
    """Whether what follows the beginning is long and mixed, as no word is."""
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
    text = (resources.files("gpudoctor.data") / "secret-prefixes.txt").read_text(encoding="ascii")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))
