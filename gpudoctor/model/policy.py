"""A policy (`check --expect`): what must be true of a machine, each demand with the place in the file that makes it."""

from __future__ import annotations

from msgspec import Struct

from gpudoctor.model.condition import Condition

SCHEMA = "gpudoctor.policy/1"
MOST_DEVICES = 4096
VENDORS = ("nvidia", "amd", "intel", "graphcore", "apple", "microsoft")
VERSIONS = {
    "kernel": ("kernel.version", "kernel-driver"), "os": ("os.version", "device"), "python": ("python.version", "framework"),
    "nvidia-driver": ("nvidia.in_use", "kernel-driver"), "amd-driver": ("amd.driver.version", "kernel-driver"),
    "rocm": ("rocm.version", "runtime"), "cuda-toolkit": ("nvidia.toolkit.version", "runtime"),
    "intel-runtime": ("intel.runtime.version", "user-driver"), "level-zero-loader": ("level_zero.loader.version", "runtime"),
    "oneapi": ("oneapi.active", "runtime"), "opencl-loader": ("opencl.loader.version", "runtime"),
    "poplar-sdk": ("poplar.sdk.version", "runtime"), "nvidia-container-toolkit": ("nvidia.container_toolkit.version", "runtime"),
}  # fmt: skip
"""Keys of [versions]: the fact that each asks for, and its layer."""


class Count(Struct, frozen=True):
    """At least so many items of the records fact `of` satisfy `where`, whose leaves name `item.field`."""

    of: str
    item: str
    where: Condition
    at_least: int


class Reached(Struct, frozen=True):
    """On every device that was measured, the fastest of the measurements that satisfy `where` reaches `at_least`, in `unit`.

    `where` names fields of `measurement`. Where no measurement fits, the demand is undetermined.
    """

    where: Condition
    at_least: float
    unit: str = ""
    """Empty: whatever the workload is counted in."""
    measure: str = "gpudoctor validate"
    """The command whose output would decide the demand."""


class Demand(Struct, frozen=True, kw_only=True):
    """One condition that a policy demands of a machine."""

    name: str
    that: Condition | Count | Reached
    advice: str = ""
    layer: str = "device"
    stacks: tuple[str, ...] = ()
    place: str = ""
    """file:line of the policy"""
