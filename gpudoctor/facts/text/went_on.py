"""Troubles after which a program went on: the log shows further down that it computes, or the line itself says what is used instead.

That a GPU is not used is a trouble of its own: no progress settles it, only a line that shows a GPU at work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gpudoctor.facts.text.line_shapes import EXCEPTION
from gpudoctor.facts.text.sections import typed_in
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

LONGEST = 600
"""Letters of a line that are looked at."""
REACH = 400
"""Lines below a trouble in which the program may show that it went on."""
_RATE = (
    r"\d[\d.,]{0,9} ?(?:k )?(?:tok(?:en)?s?/s(?:ec)?|tokens? per second|it/s|s/it|samples/s|images/s|img/s|fps|examples(?:/s|"
    r" per second))\b"
)
_LOSS = r"(?:loss|acc(?:uracy)?|perplexity|ppl|mAP|score)['\"]?\s?[:= ]\s?(?:-?\d[\d.]*(?:e-?\d+)?)"
_PROGRESS = (
    rf"\b{_RATE}", rf"\b(?:epoch|step|iter(?:ation)?|batch)s?\b[ :#\[(]{{0,3}}\d.{{0,120}}?\b{_LOSS}",
    rf"^\s*\d+/\d+ \[=+>?\.*\].*\b{_LOSS}",
    r"^\s*epoch[ :#]{0,2}\d+(?:/\d+)?[ :-]{1,3}(?:done|finished|complete|100 ?%)",
    r"\b(?:training|evaluation|inference|benchmark|conversion|export|generation|synthesis|transcription|fine-?tuning|render(?:ing)?|"
    r"job|run|tts|demo)"
    r" (?:has |is |was )?(?:finished|done|complete[d]?|succeeded|ended well)\b",
    r"\bsuccessfully (?:installed|built|exported|converted|compiled|trained|finished|completed|saved|loaded)\b",
    r"^\s*(?:\[100%\]|-- )?\s?(?:built target|build files have been written to|build (?:finished|succeeded|completed))\b",
    r"\b(?:wrote|saved|written)\b.{0,60}\.(?:wav|png|jpe?g|mp4|pt|pth|onnx|safetensors|gguf|ckpt|csv|json|engine|txt)\b",
    r"\b(?:exit(?:ed)?(?: with)? (?:code|status)|return code|rc)[ :=]{1,2}0\b(?![.\d])", r"\ball (?:\d+ )?tests passed\b",
    r"\b(?:the|correct|right|expected) (?:result|output)s?(?: is| are)?(?: correct| right| as expected)?\)?\s*\.?$",
    r"\b(?:application startup complete|uvicorn running on|server (?:is )?(?:ready|listening|started|up))\b",
    r"^ran \d+ tests? (?:in [\d.]+ ?s )?-? ?ok\b", r"[,;:] (?:and )?(?:it )?works\s*\.?$",
)  # fmt: skip
_AT_WORK = (
    r"\boffloaded (\d+)/\1 layers to gpu", r"\blibrary=(?:cuda|rocm|vulkan|metal|hip)\w*\b", r"\b(?:[5-9]\d|100) ?% gpu\b",
    r"^ggml_(?:vulkan|cuda|hip|metal|sycl|opencl)(?:_init)?: (?:\d+ = \S|using device |\s*device \d: \S)",
    r"\bcreated device /job:\S{0,60}device:gpu:\d", r"\bgpu[- ]util\w*[: ]{1,3}(?:[5-9]\d|100) ?%",
    r"\b(?:otherwise|everything(?: else)?|all the rest|the rest)(?: it)? (?:works|runs|is fine)\b(?! (?:on|with|under|in|but|except|"
    r"if|when)\b)",
    r"\b(?:cuda|vulkan|hip|rocm|sycl|metal|opencl) backend (?:is )?loaded\b(?: ok\b)?",
)  # fmt: skip
_SHOWS_PROGRESS = lazy("|".join(_PROGRESS), re.IGNORECASE)
_SHOWS_A_GPU = lazy("|".join(_AT_WORK), re.IGNORECASE)
_COMPUTES = lazy(r"\boffloaded (\d+)/\1 layers to gpu|\b(?:[5-9]\d|100) ?% gpu\b", re.IGNORECASE)
_ALL_WORKS = lazy(r"[,;:–] (?:and |but )?(?:otherwise|everything(?: else)?|all of it)(?: it)? (?:works|runs|is fine)\W*$", re.IGNORECASE)
_ENDS_WELL = lazy(r"\b(?:works|runs|fine|ok)\W*$|\b(?:otherwise|everything|the rest)(?: else| it)? (?:works|runs|is fine)\b", re.IGNORECASE)
"""The end of a line that itself holds the trouble."""
_UNUSED = lazy(
    r"\bcpu\b|\bcuinit\b|skipping registering|\b(?:dlopen|dynamic library)\b|"
    r"\b(?:no|not?|n['’]t|cannot|unable|fail(?:ed|s)?|missing|without|skip\w*)\b.{0,80}\b(?:gpus?|cuda|devices?|(?<!miopen\()hip|rocm|"
    r"xpu|npu|nvidia|drivers?|opencl|vulkan|kfd)\b|"
    r"\b(?:gpus?|cuda|devices?|(?<!miopen\()hip|rocm|xpu|npu|nvidia|drivers?|opencl|vulkan|kfd)\b.{0,80}\b(?:no|not|n['’]t|cannot|"
    r"unable|fail(?:ed|s)?|missing|false|none)\b",
    re.IGNORECASE,
)
"""A line from which it follows that a GPU may not be used."""
_LASTING = lazy(
    r"^\W{0,3}\d{1,9}\.\d{3,9}\]|\bkernel: |\bNVRM\b|\bxid\b|\bamdgpu\b|\bi915\b|\bxe \d|\b[NR]CCL\b|\bnan\b|\binf\b|\bautotune|"
    r"\bslow|\bperform|degrad|throttl|"
    r"\bthroughput|suboptimal|bandwidth|\bleak|\bwrong|incorrect|inaccura|deprecat|corrupt|\bout of memory\b|\boom\b|fragment|"
    r"retrying|timed? ?out|"
    r"\bdropp|\blost\b|unsupported gpu|not (?:yet )?support\w* (?:by|on) (?:this|your)|capability",
    re.IGNORECASE,
)
"""What the kernel reports, and what spoils a result or its speed: progress does not settle it."""
_INSTEAD = (
    r"\b(?:(?:falling|falls?|fell|fall) ?back|fallback) (?:to|on)(?: the| an?)? "
    r"(?![^.;,)]{0,60}\b(?:cpu|host|software|processor|driver|slow\w*)\b)\w",
    r"\bcontinu(?:e|es|ing) (?:without|with|in|anyway|using)\b(?! (?:the )?cpu)",
    r"\b(?:so |, )using (?:torch|pytorch|the (?:default|built-?in|native|pure))\b",
    r"\b(?:is|are|was|will be) (?:just |simply |only )?(?:skipped|ignored)\b",
)  # fmt: skip
_GOES_ON = lazy("|".join(_INSTEAD), re.IGNORECASE)
_NEEDLESS = lazy(
    r"\bbackend skipped\b|\bwill (?:just |simply )?not be (?:monitored|shown|displayed)\b|\bthis is (?:harmless|no(?:t an?)? (?:error|"
    r"problem))\b",
    re.IGNORECASE,
)
_MILD = lazy(r"warn(?:ing)?\b|^\[W\]|(?:^|\s)W(?:\d{4})? |\blevel=warn|\binfo\b|\bnotice\b", re.IGNORECASE)


class Continuations:
    """The lines of a text whose trouble a later line shows to be overcome: `Continuations(lines)(row, fails)`."""

    def __init__(self, lines: Sequence[Numbered]) -> None:
        self._lines = lines
        self._working = [row for row, line in enumerate(lines) if _SHOWS_A_GPU.search(line.text[:LONGEST])]
        self._going = sorted({*self._working, *(row for row, line in enumerate(lines) if _SHOWS_PROGRESS.search(line.text[:LONGEST]))})
        self._ends_well: dict[int, bool] = {}

    def is_used_later(self, row: int) -> bool:
        """Whether the row says that no GPU is used, and one is at work further down: the program was started again."""
        return _UNUSED.search(self._lines[row].text[:LONGEST]) is not None and any(
            row < place <= row + REACH and _COMPUTES.search(self._lines[place].text[:LONGEST]) for place in self._working
        )

    def __call__(self, row: int, fails: Callable[[int], bool], complains: Callable[[], bool]) -> bool:
        """Whether the program went on after this row. `fails`: whether another line is a failure; `complains`: whether a person has a
        trouble at all."""
        text = self._lines[row].text[:LONGEST]
        exception = EXCEPTION.match(text.strip())
        if _LASTING.search(text) or (exception and "Warning" not in exception.group()):
            return False
        instead = _GOES_ON.search(text)
        good = self._working if _UNUSED.search(text) and not instead else self._going
        after = next((place for place in reversed(good) if place >= row), None)
        if after is None or after - row > REACH or (after == row and not _ENDS_WELL.search(text)):
            return False
        if any(typed_in(self._lines[near].text) for near in range(row + 1, after)):
            return False  # another program
        return self._well_from(after, fails) and not complains()

    def _well_from(self, row: int, fails: Callable[[int], bool]) -> bool:
        """Whether nothing fails below the row."""
        if row not in self._ends_well:
            below = range(row + 1, min(len(self._lines), row + REACH))
            self._ends_well[row] = not any(self._lines[near].text.strip() and fails(near) for near in below)
        return self._ends_well[row]


def names_a_way_around(text: str) -> bool:
    """Whether a warning names what the program does instead, and that is not to use the processor: 'falling back to eager mode'."""
    text = text[:LONGEST]
    if _LASTING.search(text):
        return False
    return _NEEDLESS.search(text) is not None or (_GOES_ON.search(text) is not None and _MILD.search(text) is not None)


def ends_well(text: str) -> bool:
    """'…, everything works': the words around say of what."""
    return _ALL_WORKS.search(text) is not None
