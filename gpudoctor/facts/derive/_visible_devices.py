"""Which GPUs count: those that environment variables leave visible, and discrete cards before an integrated GPU."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

READ_BY = {
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
    "amd": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "CUDA_VISIBLE_DEVICES"),
}
"""The variables that the runtime of a vendor reads. Vulkan's programs of ggml read another one, whatever the vendor."""
_OF_VULKAN = ("GGML_VK_VISIBLE_DEVICES",)
_NO_DEVICE = ("", "-1", "none", "None", "NoDevFiles", "void")
"""Values that people and schedulers set in order to hide every GPU."""


def left_by(value: str, count: int | None) -> Literal["none", "out-of-range", "some"]:
    """What a variable leaves of `count` devices: 'none' where it asks for none, 'out-of-range' where its first entry is the number of no
    device, else 'some'. `count` is None where the number of devices is unknown.

    The first entry decides: the runtimes read entries from the left and stop at the first one that is no device
    (CUDA C++ Programming Guide, appendix 'CUDA Environment Variables').
    """
    first = value.split(",")[0].strip()
    if first in _NO_DEVICE:
        return "none"
    if re.fullmatch(r"-?\d+", first) and (int(first) < 0 or (count is not None and int(first) >= count)):
        return "out-of-range"
    return "some"


def hiding_variable(vendor: str, env: Mapping[str, str], count: int) -> str | None:
    """The setting that hides every one of `count` GPUs of this vendor, 'CUDA_VISIBLE_DEVICES=-1'; None where there is none.

    An empty value hides GPUs from CUDA alone: the other runtimes take it for a variable that is not set.
    """
    for name in READ_BY.get(vendor, _OF_VULKAN):
        value = env.get(name)
        if value is not None and (value.strip() or vendor == "nvidia") and left_by(value, count) != "some":
            return f"{name}={value}"
    return None


def is_card(gpu: Any) -> bool:
    """Whether a record of the fact gpus is a GPU with memory of its own: a discrete card or an accelerator."""
    return isinstance(gpu, Mapping) and gpu.get("kind") in ("discrete", "accelerator")


def beside_a_card(gpu: Mapping[str, Any], gpus: Iterable[Any]) -> bool:
    """Whether this is an integrated GPU and one of `gpus` is a card, which programs use instead."""
    return gpu.get("kind") == "integrated" and any(map(is_card, gpus))
