"""modprobe: options of kernel modules, in a file in /etc/modprobe.d."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudoctor.setup.file_change import OneFile
from gpudoctor.setup.steps._step import Draft, Kind, Look, PlanError, Settings
from gpudoctor.setup.steps.file import its_content, whole_file
from gpudoctor.setup.steps.udev_rule import HEADER

_LINE = re.compile(r"(options|blacklist|alias|softdep|install|remove)\s+\S.*")


class Modprobe(OneFile):
    name = "modprobe"
    keys: Mapping[str, type | tuple[type, ...]] = {"name": str, "options": list, "after": list}
    required: tuple[str, ...] = ("name", "options")

    def plan(self, given: Settings, look: Look) -> Draft:
        name, lines = str(given["name"]), [str(line).strip() for line in given["options"]]
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise PlanError(f"name = '{name}' is no name of a module or topic; this is a mistake in the recipe")
        for line in lines:
            if not _LINE.fullmatch(line):
                raise PlanError(
                    f"'{line}' is no line of modprobe.d such as 'options i915 force_probe=56a0'; this is a mistake in the recipe"
                )
        return whole_file(f"/etc/modprobe.d/gpudoctor-{name}.conf", HEADER + "\n".join(lines) + "\n", look, given)


KIND: Kind = Modprobe(its_content)
