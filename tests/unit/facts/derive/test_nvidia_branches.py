"""Which cards the driver branch in use serves."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts.derive.nvidia import DERIVATION
from gpudoctor.model.facts import Facts, Known

CARD = {"vendor": "nvidia", "address": "0000:18:00.0", "name": "NVIDIA H100 PCIe"}


def card(driver: str, listed: list[dict[str, Any]]) -> dict[str, Any]:
    facts = Facts()
    for name, value in {
        "platform.kind": "linux", "gpus": [CARD], "nvidia.kernel_module.version": driver, "nvidia.driver.version": driver,
        "nvidia.devices": listed,
    }.items():  # fmt: skip
        facts.set(name, Known(value))
    rows = dict(DERIVATION.derive(facts))["nvidia.cards"]
    assert isinstance(rows, Known)
    found: dict[str, Any] = rows.value[0]
    return found


@pytest.mark.parametrize(("driver", "too_old"), [("515.105.01", True), ("520.61.05", False), ("580.95.05", False)])
def test_hopper_begins_with_branch_520(driver: str, too_old: bool) -> None:
    assert card(driver, [])["branch_too_old"] is too_old


def test_a_driver_that_lists_the_card_is_not_too_old_for_it() -> None:
    assert card("515.105.01", [CARD])["branch_too_old"] is False
    assert card("515.105.01", [{**CARD, "address": "0000:3b:00.0"}])["branch_too_old"] is True
