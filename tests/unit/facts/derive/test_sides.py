"""This machine and a container on it, side by side."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.facts.derive.sides import derive, groups_differ, without_compute
from gpudoctor.model.facts import Absent, Facts, Known


def derived(**facts: Any) -> Facts:
    given = Facts({name.replace("__", "."): Known(value) for name, value in facts.items()})
    return Facts(dict(derive(given)))


def test_without_a_machine_beside_it_there_is_nothing_to_compare() -> None:
    assert dict(derived(gpu_files__nodes=["/dev/kfd"]).items()) == {}


def test_a_vendor_is_closed_where_none_of_its_nodes_is_inside() -> None:
    found = derived(outside__nodes=["/dev/kfd", "/dev/dri/renderD128", "/dev/dri/card0"], gpu_files__nodes=["/dev/dri/renderD128"])
    assert found.value("sides.closed_vendors") == ["amd"]
    assert found.value("sides.nodes_missing") == ["/dev/kfd", "/dev/dri/card0"]


@pytest.mark.parametrize(
    ("library", "driver", "said"), [("570.86.15", "580.65.06", Known("570.86.15")), ("580.65.06", "580.65.06", Absent())]
)
def test_the_library_of_another_driver(library: str, driver: str, said: object) -> None:
    found = derived(outside__nodes=[], nvidia__libcuda_version=library, outside__nvidia_driver=driver)
    assert found.get("sides.driver_library") == said


def test_a_group_differs_by_its_name_where_the_number_is_one() -> None:
    outside = {"/dev/kfd": "104 render", "/dev/dri/card0": "44 video", "/dev/dri/card1": "44 video"}
    inside = {"/dev/kfd": "104 ssl-cert", "/dev/dri/card0": "44 video", "/dev/dri/card1": "45 video"}
    assert groups_differ(outside, inside) == [{"node": "/dev/kfd", "number": "104", "outside": "render", "inside": "ssl-cert"}]


@pytest.mark.parametrize(
    ("said", "bare"), [("utility", True), ("compute,utility", False), ("all", False), ("video, compute", False), ("", True)]
)
def test_capabilities_without_compute(said: str, bare: bool) -> None:
    assert without_compute(Facts({"env": Known({"NVIDIA_DRIVER_CAPABILITIES": said})})) is bare
    assert without_compute(Facts({"env": Known({})})) is None


def test_the_table_holds_what_one_side_has() -> None:
    found = derived(
        outside__nodes=["/dev/nvidia0"], outside__node_groups={"/dev/nvidia0": "0 root"}, gpu_files__nodes=[], engine__gpus_asked=True
    )
    rows = {row["what"]: (row["outside"], row["inside"]) for row in found.value("sides.rows")}
    assert rows == {"device files": ("nvidia0", "none"), "their groups": ("0 root", "none"), "started with": ("", "GPUs")}
