"""What is compared of a row: its values, the hashes of its categories, and its cards in words."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.fleet import units
from gpudoctor.model.fleet_row import FleetRow

NO_CARDS = "no cards"


def of_row(row: FleetRow, cards: str) -> dict[str, str]:
    """The facts by name; `cards` are the cards in words."""
    return {"cards": cards, **row.values, **{units.HASH + name: value for name, value in row.groups.items()}}


def cards_in_words(models: Iterable[tuple[str, int]]) -> str:
    """Models with their numbers: '8 × H100 80 GB'."""
    return " + ".join(f"{count} × {name}" for name, count in models) or NO_CARDS
