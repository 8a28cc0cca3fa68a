"""Parts of checks that no example needs: a catalogue whose examples hold what its files say."""

from __future__ import annotations

import pytest
from whole_catalogue import catalogue

from gpudoctor.services.mutants import survivors

pytestmark = pytest.mark.early

MOST_SURVIVORS = 0.15
"""Share of the mutants of all checks; it only goes down."""


def test_examples_hold_what_the_checks_say() -> None:
    counted = {check.id: survivors(check) for check in catalogue().checks}
    total, left = sum(count for count, _ in counted.values()), sum(len(parts) for _, parts in counted.values())
    worst = sorted(counted, key=lambda name: -len(counted[name][1]))[:20]
    listed = "\n".join(f"{name}: {len(counted[name][1])} of {counted[name][0]}" for name in worst)
    assert left <= MOST_SURVIVORS * total, f"{left} of {total} mutants survive; gpudoctor lint mutants ID names them\n{listed}"
