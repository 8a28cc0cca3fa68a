"""Tensors of more than 2**31 elements: places that do not fit into 32 bits. The elements have one byte each, and the memory must be large
enough."""

import torch
from plain_checks import Check, Properties

COUNT = 2**31 + 1025


def cases():
    return large


large = Properties("large tensors")


def _refuse_where_memory_is_short(place):
    """Raises MemoryError on the processor where memory is short; on other devices the framework refuses a tensor that does not fit."""
    if place.device.kind != "cpu":
        return
    try:
        with open("/proc/meminfo") as file:
            free = next((int(line.split()[1]) for line in file if line.startswith("MemAvailable:")), 0) * 1024
    except OSError:
        free = 0
    if free < 4 * COUNT:
        raise MemoryError(f"{4 * COUNT >> 30} GiB of main memory are needed, {free >> 30} GiB are known to be free")


@large
def places_beyond_32_bits(place):
    _refuse_where_memory_is_short(place)
    x = torch.zeros(COUNT, dtype=torch.uint8, device=place.where)
    x[-1] = 3
    x[2**31 - 1 : 2**31 + 1] = 7
    yield Check("the last elements", x[-3:], [0, 0, 3], 0)
    yield Check("around 2**31", x[2**31 - 2 : 2**31 + 2], [0, 7, 7, 0], 0)
    yield Check("the largest", x.max(), 7, 0)
    yield Check("the sum of the end", x[2**31 - 1 :].sum(), 17, 0)
    x.add_(1)
    yield Check("added everywhere", x[-3:], [1, 1, 4], 0)
    yield Check("a selection", x.index_select(0, place.whole([0, 2**31, COUNT - 1])), [1, 8, 4], 0)
    yield Check("a copy", x[-1025:].clone().cpu()[-2:], [1, 4], 0)
