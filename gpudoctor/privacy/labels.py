"""Names that a label before them identifies, even where they are English words: Signed-off-by, the owner of a job, its account."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from gpudoctor.privacy.patterns import NOTHING
from gpudoctor.privacy.pseudonyms import is_ours
from gpudoctor.system.system_names import WORD_VARIABLES

_PERSON = re.compile(
    r"((?:\b(?:signed-off|co-authored|co-developed|reviewed|tested|reported|acked|suggested)-by|\bregistered ?(?:owner|user)"
    r"|\bprimary ?owner ?name|\buser name(?=: )|\buser\.name"
    r"|\[user\][ \t]{0,4}name|\breal name|\bfull name|\bdisplay name|\bgit_(?:author|committer)_name)[\"']?[ \t]{0,40}[:=][ \t]{0,40}[\"']?"
    r"|\bfull name[ \t]{3,40}|\blogin: [^\s:]{1,64}[ \t]{1,40}name: )"
    r"([^\W\d_][^\n<>(){}\[\]:;,\"|=]{1,60})",
    re.IGNORECASE,
)
_MAKER = re.compile(r"((?i:(?:\b|_)(?:author|maintainer|packager|uploaded by))(?:__)?[\"']?[ \t]{0,4}[:={][ \t]{0,20}[\"']?)"
                    r"((?:[^\W\d_a-z][\w.'-]{0,40})(?: [^\W\d_a-z][\w.'-]{0,40}){1,3})(?=[\s,;<(\"'}]|$)")  # fmt: skip
_FIRM = re.compile(
    r"((?:\bregistered )?\borgani[sz]ation[\"']?[ \t]{0,40}[:=][ \t]{0,40}[\"']?)([^\W\d_][^\n<>(){}\[\]:;,\"|=]{1,60})", re.IGNORECASE
)
_LOGIN = re.compile(r"(\bUser Name: [^\n()]{1,60} \()([^\s()]{1,64})(?=\))")
_COMPANY = re.compile(
    r"nvidia|intel|\bamd\b|advanced micro|graphcore|microsoft|google|apple|canonical|debian|ubuntu|red ?hat|fedora|khronos|team|corp"
    r"|\binc\b|ltd|gmbh|developers?|maintainers?|foundation|contributors|project|community|packag|authors|software|labs?\b|group",
    re.IGNORECASE,
)
"""Words of companies, which are no private persons."""
_BEFORE_MAIL = re.compile(
    r"()((?:[^\W\d_a-z][\w.'-]{0,40})(?: [^\W\d_a-z][\w.'-]{0,40}){1,3})(?= <(?:<email>|<credentials>|[^<>@\s]{1,64}@))"
)
_GROUP = re.compile(r"(\bGroupId=)([^\s()=]{1,60})(?=\((\d{4,10})\))|(\b[UG]id: {1,4}\( ?\d{4,10}/ {0,12})([^\s()=]{1,60})(?=\))")
_JOB = re.compile(
    r"((?:\b(?:Accounts?|JobName|ReservationName|WCKey)=|(?<![\w-])--(?:account|job-name|reservation|wckey)[= ]"
    r"|\bProject <|\bContainer (?=[\w.-]{1,80} {1,4}(?:[CSRE][a-z]{3,9}ed|exited|Running)\b)"
    rf"|\b(?:{'|'.join(sorted(WORD_VARIABLES))})=|\b[Nn]amespace(?:[=:] {{0,2}}| (?=[\"']))\\?)[\"']?)([A-Za-z][\w.-]{{1,80}})"
)
_USER = re.compile(r"(\bUser <|\bUsers=)([A-Za-z][\w.,-]{1,200})")
_OF_A_CLUSTER = frozenset(
    "kube operator operators plugin plugins istio cert manager monitoring prometheus resources feature discovery".split()
)
_STEMS = ("-by", "owner", "l name", "y name", ".name", "_name", "] name", "name: ", "author", "maintainer", "packager",
          "uploaded", "groupid", "id: (", "organi", "account", "job", "reservation", "wckey", "project", "namespace", "container", "user",
          "wandb", "slurm", "prompt")  # fmt: skip


class LabelNamer(Protocol):
    def stand_in(self, kind: str, original: str, counted: str = "") -> str: ...
    def user_of_context(self, user: str) -> str: ...


class Labels:
    """`stays(word)`: whether it is a technical word and no known account."""

    def __init__(self, namer: LabelNamer, stays: Callable[[str], bool]) -> None:
        self._namer, self._stays = namer, stays

    def in_line(self, line: str, lowered: str) -> str:
        if " <" in line:
            line = _BEFORE_MAIL.sub(lambda m: m[0] if _COMPANY.search(m[2]) else self._person(m), line)
        if not any(stem in lowered for stem in _STEMS):
            return line
        line = _PERSON.sub(self._person, line)
        line = _MAKER.sub(lambda m: m[0] if _COMPANY.search(m[2]) else self._person(m), line)
        line = _FIRM.sub(self._firm, line)
        line = _LOGIN.sub(lambda m: m[1] + self._namer.user_of_context(m[2]), line)
        line = _GROUP.sub(lambda m: (m[1] or m[4]) + self._namer.user_of_context(m[2] or m[5]), line)
        line = _USER.sub(lambda m: m[1] + ",".join(self._namer.user_of_context(name) if name else "" for name in m[2].split(",")), line)
        return _JOB.sub(self._job, line)

    def _person(self, match: re.Match[str]) -> str:
        name = match[2].rstrip(" \t.'")
        return match[1] + self._namer.user_of_context(name) + match[2][len(name) :] if name else match[0]

    def _firm(self, match: re.Match[str]) -> str:
        name = match[2].rstrip(" \t.'")
        if is_ours(name) or name.lower() in NOTHING or all(self._stays(word.lower()) for word in re.findall(r"[^\W\d_]+", name)):
            return match[0]
        return match[1] + self._namer.stand_in("project", name) + match[2][len(name) :]

    def _job(self, match: re.Match[str]) -> str:
        name = match[2].rstrip(".")
        words = re.findall(r"[^\W\d_]+", name.lower())
        if is_ours(name) or all(word in _OF_A_CLUSTER or self._stays(word) for word in words):
            return match[0]
        return match[1] + self._namer.stand_in("project", name) + match[2][len(name) :]
