"""Tensors of more than 2**31 elements: places that do not fit into 32 bits. Of one byte each, where there is memory for them."""

import torch
from plain_checks import Check, Claim, Properties

COUNT = 2**31 + 1025


def cases():
    return large


large = Properties("large tensors")


@large
def places_beyond_32_bits(place):
    x = torch.zeros(COUNT, dtype=torch.uint8, device=place.where)
    x[-1] = 3
    x[2**31 - 1 : 2**31 + 1] = 7
    yield Check("the last elements", x[-3:], [0, 0, 3], 0)
    yield Check("around 2**31", x[2**31 - 2 : 2**31 + 2], [0, 7, 7, 0], 0)
    yield Check("their sum", x.sum(), 17, 0)
    yield Check("the largest", x.max(), 7, 0)
    yield Claim("its place", int(x.argmax()) in (2**31 - 1, 2**31), f"{int(x.argmax())}")
    x.add_(1)
    yield Check("added everywhere", x[-3:], [1, 1, 4], 0)
    yield Check("a selection", x.index_select(0, place.whole([0, 2**31, COUNT - 1])), [1, 8, 4], 0)
    yield Check("a copy", x[-1025:].clone().cpu()[-2:], [1, 4], 0)
