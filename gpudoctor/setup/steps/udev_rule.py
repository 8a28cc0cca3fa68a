"""udev.rule: a rule of udev about who may open which device."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudoctor.setup.file_change import OneFile
from gpudoctor.setup.steps._step import Draft, Kind, Look, PlanError, Settings
from gpudoctor.setup.steps.file import its_content, whole_file

HEADER = "# Written by gpudoctor setup.\n"


class UdevRule(OneFile):
    name = "udev.rule"
    keys: Mapping[str, type | tuple[type, ...]] = {"name": str, "content": str}
    required: tuple[str, ...] = ("name", "content")

    def plan(self, given: Settings, look: Look) -> Draft:
        name = str(given["name"])
        if not re.fullmatch(r"[0-9]{2}-[A-Za-z0-9_-]+", name):
            raise PlanError(f"name = '{name}' is none such as 70-render; this is a mistake in the recipe")
        content = f"{HEADER}{str(given['content']).strip()}\n"
        return whole_file(f"/etc/udev/rules.d/{name}.rules", content, look, {"after": ["udev"]})


KIND: Kind = UdevRule(its_content)
