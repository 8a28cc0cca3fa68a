"""The package that brings a vendor's driver on this distribution, from a table of gpudoctor/data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import older
from gpudoctor.model.facts import Facts


def driver_package(of: str, vendor: str, facts: Facts) -> tuple[str, str]:
    """(what to install, the command) by the first row of the table `of` that fits. The command is '' where it names the branch of the
    driver and that is unknown, and where no row fits. A row may name the releases of its system: `since` this one, `before` that one."""
    like = facts.value("os.id_like", [])
    systems = [facts.value("os.id", ""), *(like.split() if isinstance(like, str) else like or [])]
    branch = str(facts.value("nvidia.driver.version") or facts.value("nvidia.kernel_module.version") or "").split(".")[0]
    for row in table(of)["row"]:
        if row["vendor"] == vendor and (not row["os"] or any(system in row["os"] for system in systems)):
            if not _of_this_release(row, facts.value("os.version")):
                continue
            if "{branch}" in row["command"] and not branch:
                return row["text"], ""
            return row["text"], row["command"].replace("{branch}", branch)
    return table(of)["otherwise"], ""


def _of_this_release(row: Mapping[str, Any], version: Any) -> bool:
    """Whether the row serves this release of the system. One that names releases serves no unknown one."""
    if "since" in row and older(version, row["since"]) is not False:
        return False
    return "before" not in row or older(version, row["before"]) is True
