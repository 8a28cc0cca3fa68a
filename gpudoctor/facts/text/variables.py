"""Environment variables: the output of env, assignments before a command, export, set, ENV of a Dockerfile, -e of docker run."""

from __future__ import annotations

import re

from gpudoctor.facts.probes.environment import PREFIXES, RELEVANT
from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.lazy_pattern import lazy

_NAME = r"[A-Za-z][A-Za-z0-9_]{2,60}"
_ASSIGNED = lazy(
    rf"^\s*(?:\[?(?:[-*] )?`?)(?:export |set |setx |ENV |declare -x |Environment=|\$env:|- )?(?P<name>{_NAME})\s?=\s?"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s`;&|]*)"
)
_IN_JSON = lazy(rf"^\s*\"(?P<name>{_NAME})=(?P<value>[^\"]*)\",?$")
"""A variable as `docker inspect` lists it below Env."""
_FOLDERS = lazy(r"^(?P<name>LD_LIBRARY_PATH) (?P<value>/\S*)$")
"""A list of folders as TensorFlow's tf_env_collect prints it."""
_FURTHER = lazy(rf"(?:(?<=\s)|(?<=-e )|(?<=--env ))(?P<name>{_NAME})=(?P<value>\"[^\"]*\"|'[^']*'|[^\s`;&|]*)")
_OF_DOCKER = lazy(r"\b(?:docker|podman|nerdctl)\b.{0,300}?\brun\b")
_NAMES = frozenset(RELEVANT)
_ADVICE = lazy(r"\b(?:try|consider|you can|please|should|setting|as a temporary fix|to avoid)\b", re.IGNORECASE)


def read(sheet: Sheet, evidence: Evidence) -> None:
    for section in sheet.sections:
        _assignments(section.typed, evidence)
        for line in section.lines:
            if not _ADVICE.search(line.text):
                _assignments(line.text, evidence)


def _assignments(text: str, evidence: Evidence) -> None:
    first = _ASSIGNED.match(text) or _IN_JSON.match(text) or _FOLDERS.match(text)
    if first is None and not _OF_DOCKER.search(text):
        return
    for found in ([first] if first else []) + list(_FURTHER.finditer(text[:4000])):
        if matters(found["name"]):
            evidence.variable(found["name"], found["value"].strip("\"'").rstrip(","))


def matters(name: str) -> bool:
    return name in _NAMES or name.startswith(PREFIXES)
