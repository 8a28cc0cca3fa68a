"""Whether coremltools holds the module that calls Core ML."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine_stories_apple import MODULE, SITE, TOOLS, mac

from gpudoctor.capture.recorded_host import open_recorded
from gpudoctor.facts.collect import gather
from gpudoctor.model.facts import Absent, Fact, Known, Unknown


def library_of(folder: Path, native: bool | None, **distributions: str) -> Fact:
    machine = mac("a-mac", native=native).environment_of(distributions or TOOLS).expect()
    return gather(open_recorded(str(machine.write(folder)))).facts.get("coremltools.library")


@pytest.mark.parametrize("native, expected", [(True, Known), (False, Absent), (None, Unknown)])
def test_a_package_with_it_without_it_and_one_that_was_not_looked_at(tmp_path: Path, native: bool | None, expected: type) -> None:
    assert isinstance(library_of(tmp_path, native), expected)


def test_its_place_is_told_and_without_the_package_nothing(tmp_path: Path) -> None:
    found = library_of(tmp_path, True)
    assert isinstance(found, Known) and (found.value, found.source) == (MODULE, SITE)
    assert isinstance(library_of(tmp_path, True, numpy="2.1.0"), Unknown)
