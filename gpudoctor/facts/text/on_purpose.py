"""Whether a text says that its program is to run on the processor: no line about an unused GPU is then a trouble."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudoctor.facts.text.line_shapes import EXCEPTION
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

LONGEST = 600
"""Letters of a line that are looked at."""
LOOKED_AT = 2_000
"""Lines of a text that are looked at."""
_PURPOSE = r"(?:on purpose|by design|by choice|deliberate(?:ly)?|intentional(?:ly)?|intended|as (?:wanted|intended|planned))"
_FINE = (
    r"(?:is|are|was|works?|does|runs?) (?:just |perfectly |quite |all )?(?:fine|ok|okay|enough|sufficient|wanted|intended|good enough|"
    r"all (?:we|I) need)"
)
_MACHINE = r"(?:machine|laptop|notebook|server|box|pc|host|node|vm|desktop|runner|workstation|container|image|instance|vps|computer|system)"
_HARDWARE = r"(?:machine|laptop|notebook|server|box|pc|host|node|vm|desktop|runner|workstation|vps|computer|system)"
"""A container or image without a GPU may be what somebody complains of."""
_GPU = r"(?:gpus?|(?:nvidia|amd|radeon|graphics|video|discrete|dedicated)(?: \w+)? (?:card|gpu)s?|accelerators?)"
_WANTED = (
    rf"\bcpu\b[^.;\n]{{0,60}}?\b{_PURPOSE}", rf"\b{_PURPOSE}\b[^.;\n]{{0,60}}\bcpu\b", rf"\bcpu(?:[- ]only)? {_FINE}\b",
    r"\b(?:want(?:s|ed)?|prefer|need|asked|t(?:old|ells?)|forced|configured|set) [^.;\n]{0,40}?"
    r"\b(?:on|to) (?:the |my )?cpu(?: only| alone)?\b",
    rf"\bcpu[- ]only (?:\w+ )?{_MACHINE}\b", r"\b(?:docker |build )?(?:\w+ )?cpu (?:image|container|runner)\b",
    rf"\b{_HARDWARE} (?:that )?(?:without|has no|with no|lacks)(?: an?y?| any)? (?:(?:nvidia|amd|intel|discrete|dedicated) )?{_GPU}",
    rf"\bno {_GPU} (?:at all )?(?:in|on) (?:this|the|my|that|our) {_MACHINE}\b", r"\bthere is no gpu (?:here|in it)\b",
    r"\bpip3? install (?:-\S+ )*tensorflow[-_]cpu\b(?!.{0,80}directml)", r"^tensorflow \d[\d.]* cpu\s*$",
    r"\bfaiss-cpu\b.{0,40}\binstalled\b",
    r"^(?:\$ |> |# )?\S.{0,200}\s(?:--cpu|--device[= ]cpu|--force-cpu|--use-cpu)\b",
)  # fmt: skip
_WANTS = lazy("|".join(_WANTED), re.IGNORECASE)
_NOT_WANTED = lazy(
    r"\b(?:never|why|instead|although|even though|but|still|only slow|slow\w*|how|should)\b|n['’]t\b|\?\s*$|"
    r"\bwithout (?:\w+ )?gpu support|\bfall\w* back\b",
    re.IGNORECASE,
)
_DENIED = lazy(r"\b(?:not|never|why|how|should|instead)\b|n['’]t\b", re.IGNORECASE)
_OF_THE_GPU = lazy(
    r"\bcpu\b|\bgpus?\b|\bcuda\w*|\bnvidia\b|\brocm\b|\bhip\w*|\bhsa(?:_\w+)?\b|/dev/(?:kfd|dri|nvidia)|"
    r"\bcu(?:init|pti|dart|dnn|blas)\w*|\blib(?:cu|nv|hip|opencl)\w*|"
    r"\bopencl\b|\bxpu\b|executionprovider",
    re.IGNORECASE,
)
_FAILS_OTHERWISE = lazy(
    r"\bout of memory\b|\b(?:cuda|hip) error\b|^\w*RuntimeError|\bsegmentation|\bcore dumped|\billegal\b|\bxid\b|\bhang", re.IGNORECASE
)


def wants_the_processor(lines: Sequence[Numbered]) -> bool:
    """Whether a line says that the processor is wanted, or that the machine has no GPU."""
    return any(map(_wants, (line.text[:LONGEST] for line in lines[:LOOKED_AT])))


def _wants(text: str) -> bool:
    found = None if EXCEPTION.match(text.strip()) else _WANTS.search(text)
    return found is not None and not _DENIED.search(text, 0, found.end()) and not _NOT_WANTED.search(text, found.start())


def speaks_of_a_gpu(text: str) -> bool:
    """Whether the line says that a GPU, or a library for one, is not used or not found."""
    text = text[:LONGEST]
    return _OF_THE_GPU.search(text) is not None and _FAILS_OTHERWISE.search(text) is None
