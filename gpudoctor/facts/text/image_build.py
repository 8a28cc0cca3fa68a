"""Whether a text is the log of an image build: no step of it has a GPU or the driver's libraries, on whatever machine it runs."""

from __future__ import annotations

import re

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.facts import Known
from gpudoctor.model.lazy_pattern import lazy

LONGEST = 1_000
"""Letters of a line that are looked at."""
_COMMAND = r"\"?/bin/(?:ba)?sh -\w{0,8}c? .{1,400}"
_BUILDS = lazy(
    r"^\s*(?:#\d+ (?:\[(?:[\w.-]+ )?(?:\d+/\d+|internal)\]|"
    r"\d+\.\d+ |ERROR|CACHED)|=> (?:ERROR |CACHED )?\[|> \[[^\]]{0,60}\d+/\d+\] RUN |STEP \d+/\d+ ?: )|"
    rf"\bThe command '{_COMMAND}' returned a non-zero code\b|\bprocess {_COMMAND} did not complete successfully\b|"
    r"^\s*(?:[\w@~:.\\/-]{0,60}[$#>%] ?)?(?:sudo )?(?:(?:docker|podman|nerdctl)(?:[- ]compose)? (?:buildx )?(?:build|bake)|"
    r"buildah (?:bud|build))\b",
    re.IGNORECASE,
)
"""The lines of BuildKit, of Docker's older builder and of buildah, and the commands that start them."""
_RUNS = lazy(
    r"\b(?:docker|podman|nerdctl)(?:[- ]compose)? (?:container )?(?:run|exec|start|up)\b|\bkubectl (?:run|exec|logs|apply)\b",
    re.IGNORECASE,
)
"""A container that runs: what fails may have failed there."""


def read(sheet: Sheet, evidence: Evidence) -> None:
    lines = [line.text[:LONGEST] for line in sheet.lines]
    if any(map(_BUILDS.search, lines)) and not any(map(_RUNS.search, lines)):
        evidence.facts["text.image_build"] = Known(True, "text")
