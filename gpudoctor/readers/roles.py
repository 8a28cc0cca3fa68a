"""What each line of a pasted text is: a failure, a complaint, a log line, a row of a listing, code, a command, advice or other prose.

The role of a line follows from its shape, its neighbours (fences, tracebacks, diffs, the command before it) and its polarity. A role is
worked out when it is asked for: most lines never are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import ADVICE, CODE, COMMAND, COMPLAINT, FAILURE, LISTING, LOG, PROSE, Numbered
from gpudoctor.model.signature import TROUBLE as TROUBLE_ROLES
from gpudoctor.readers.polarity import FINE, HYPOTHETICAL, NEUTRAL, TROUBLE, polarity
from gpudoctor.readers.sheet import typed_in

SHORTEST_DOCUMENT = 4
"""Lines of a text from which on its kind can be told."""
LONGEST = 2_000
"""Letters of a line that its shape is read from."""

_EXCEPTION = lazy(
    r"^(?:E\s+|\W{0,4}|.{0,120}?:\d+: )?(?:[A-Za-z_][\w]*[.:]{1,2})*[A-Za-z_]\w*(?:Error|Exception|Warning|Failure|Interrupt|Exit"
    r"|Timeout|Killed)"
    r"(?:\[\w+\])?(?:\s*:|\(|\s*$)"
)
_ERROR_AHEAD = lazy(
    r"^\W{0,6}(?:\S{1,120}: )?(?:fatal|error|errors|warning|panic|critical|failed|failure|abort(?:ed)?|exception|err|internal error)\b"
    r"\s{0,8}(?:\([^)]{0,60}\)|\[[^\]]{0,60}\]|[\w-]{1,20}|C?\d{1,6})?\s{0,8}[:!\]>]"
    r"|^(?:ld|collect2|nvcc fatal|ptxas fatal|make\[?\d*\]?|ninja|cmake error)\b.{0,40}[:*]"
    r"|^\s*[\w.]{1,30}\s+: (?:fatal )?error\b|^(?:nvcc|ptxas|LINK)\s(?:error|fatal)?\s*: |^\S{1,200}:\d+(?::\d+)?: (?:fatal )?(?:error"
    r"|warning)\b|^\S{1,200}\(\d+\): (?:fatal )?(?:error|warning)\b|^terminate called"
    r"|^what\(\):|^thread '"
    r"|^\s*(?:Segmentation fault|Aborted|Bus error|Illegal instruction|Killed|Floating point exception"
    r"|Fatal Python error)\b", re.IGNORECASE,
)
_BAD_LEVEL = lazy(
    r"\blevel=\"?(?i:error|warn|warning|fatal|panic)\b|\"level\":\s?\"(?i:error|warn|warning|fatal)\"|[\[<(|]\s?(?:\w+_)?(?:ERROR|ERR"
    r"|WARN|WARNING|FATAL|CRITICAL|E|W)\s?[\])>|]"
    r"|^(?:\S+ ){0,5}(?:ERROR|WARN(?:ING)?|FATAL|CRITICAL)\b|^[EWF]\d{4} |^\d{4}-\d\d-\d\d[T ][\d:.,]+:? [EWF] |(?:^|\s)[EWF] \w+/"
    r"|\b(?:NCCL|RCCL) WARN\b"
    r"|\*(?:ERROR|WARNING|WARN)\*|\b(?:kern|daemon)\.(?:err|warn|crit)\b|^\s*(?:Warning|Failed|Error)\s{2,}\w",
)
_GOOD_LEVEL = lazy(
    r"\blevel=\"?(?i:info|debug|trace)\b|\"level\":\s?\"(?i:info|debug|trace)\"|[\[<(|]\s?(?:INFO|DEBUG|NOTICE|TRACE|VERBOSE|I|D)\s?[\])>|]"
    r"|^(?:\S+ ){0,5}(?:INFO|DEBUG|NOTICE|TRACE)\b|^[IDV]\d{4} |^\d{4}-\d\d-\d\d[T ][\d:.,]+:? [IDV] |(?:^|\s)[IDV] \w+/|\b(?:NCCL"
    r"|RCCL) (?:INFO|TRACE)\b"
    r"|\*(?:INFO|NOTICE|DEBUG)\*|^\s*Normal\s{2,}\w",
)
_STAMPED = lazy(
    r"^\s*(?:\[\s*\d+\.\d{3,}\]|\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|[A-Z][a-z]{2}\s+\d{1,2} \d\d:\d\d:\d\d|time="
    r"|\[rank\d+\]|\[[\w.\- ]{1,40}\]\s|\([\w ]{1,30}pid=)"
)
_FRAME = lazy(r"^\s*(?:File \"|at [\w$.<>]+[ (]|#\d{1,3}\s|frame #\d|\^[\^~]*\s*$|~+\^|\d+: [\w:<>~]+\(|\[0x[0-9a-f]+\])")
_CODE = lazy(
    r"^\s*(?=\S)(?:>>> |\.\.\. |In \[\d+\]:|(?:async )?def \w|class \w+[(:]|import [\w.]+(?: as \w+)?(?:, ?[\w.]+)*\s*(?:[#;].*)?$"
    r"|from [\w.]+ import [\w*(, ]{1,200}(?: as \w+)?\)?\s{0,8}(?:[#;].*)?$|return\b|raise\b|except\b|try:|else:"
    r"|elif |finally:"
    r"|(?:if|for|while|with)\b.{0,160}[:{]\s*(?:#.*)?$|assert\b.{0,200}(?:[=<>(]|is |in )|@\w+|#\s?include|#\s?define|#\s?if|#\s?endif"
    r"|//|/\*|\*/|\}|\{|\w+\s*=\s*(?:0x[0-9a-fA-F]+|-?\d+),?\s*(?:(?://|/\*).*)?$|using \w|namespace \w|template\s?<|std::"
    r"|(?:const|let|var|static|int|void|auto|float|double|bool|size_t|cl_\w+|hipError_t|cudaError_t|sycl::\w+) \w.{0,200}[;{(=]"
    r"|(?:if|for|while|switch) ?\(.{0,300}[;{}]\s*$"
    r"|msg(?:id|str)(?:\[\d\])? \"|\"(?!error|err|message|msg|detail|reason|exception|stderr|log)[\w.\- ]+\"\s*: |FROM \S+(?:\s|$)"
    r"|RUN \S|ENV \w+[= ]|ARG \w|COPY \S|ENTRYPOINT |CMD \[|WORKDIR /|EXPOSE \d|find_package\(|set\(|add_\w+\("
    r"|target_\w+\(|message\(|option\("
    r"|(?:[A-Za-z_][\w.\[\]'\"]*)(?:, ?[A-Za-z_][\w.\[\]'\"]*)*\s?(?:[+\-*/|]?=)\s?(?!=)[^=].{0,300}[)\]}\w'\"]\s*(?:#.*)?$"
    r"|[\w.]+\([^)]{0,200}\)\s*(?:#.*)?$|.{0,200}[;{]\s*$)"
)
_SETTING = lazy(
    r"^\s*(?:export |set |setx |\$env:|declare -x |-\s)?\"?[A-Za-z_][\w.\-]{1,60}\"?\s?[=:]\s?[\"']?[^\s\"']{0,200}[\"']?,?\s*$"
    r"|^\s*(?:-\s)?[\w.\-/]+:\s{0,8}(?:[|>]-?|&\w+)?\s*$|^\s*[\"'][\w.\-]+[\"']\s*:\s|^\s*[\]}{\[],?\s*$|^\s*#(?!\d)"
)
"""A variable, a key of YAML or JSON, or a comment."""
_LISTED = lazy(
    r"^\s*[|+│┌└├╭╰┃╞╘═─━](?!─▶).*|^\s*[-=*+_]{4,}\s*$|^(?:ii|rc|un|iU|iF)\s{1,3}\S|^\s*\S[^:]{0,60}\S\.{3,}\s?\S"
    r"|^\s{2,}[A-Za-z(]\S.{0,60}?\s{2,}\S|^[\w ()\-.]{2,40}\s{2,}:\s\S"
    r"|^\s*(?:\[(?:pip3?|conda|opencl:\w|level_zero:\w|ext_oneapi_\w|cuda:\w|hip:\w)[\w:]*\](?:\[[\w:]+\])?)\s"
    r"|^\s*[A-Za-z0-9_.\-\[\]]+(?:==|@ )\S+"
    r"|^\s*[A-Za-z][\w.\-]{1,60}\s{1,40}v?\d+(?:\.\d+)+\S*(?:\s+\S{1,60}){0,2}\s*$|^\s*-{1,2}[\w\-]+(?:[ =][\w<\[\]>|.,-]+)?\s{2,}\S"
    r"|^[0-9a-f]{2,4}:[0-9a-f:.]{2,10}\.[0-9] \w"
    r"|^\s*\w[\w /().\-]{1,48}\s?:\s{2,}\S|^\s*[\w\-.]+\s{2,}\S+(?:\s{2,}\S+)+\s*$|^[A-Za-z][\w /().\-#]{1,50}\s{0,40}\t\s*\S"
    r"|^\S+\.so[\d.]* \(.{1,40}\) =>|^\s*\S+ => \S+"
)
_KEYED = lazy(
    r"^\s*(?:PyTorch version|Is debug build|CUDA used to build|ROCM used to build|OS|GCC version|Clang version|CMake version"
    r"|Libc version|Python version|Python platform"
    r"|Is (?:CUDA|XPU) available|XPU used to build|CUDA runtime version|CUDA_MODULE_LOADING set to|GPU models and configuration|GPU \d+"
    r"|Nvidia driver version|cuDNN version"
    r"|HIP runtime version|MIOpen runtime version|Is XNNPACK available|Intel GPU (?:driver|models)\b.{0,40}"
    r"|Versions of relevant libraries|CPU|Architecture|Vulnerability [\w ]+|Model name|Flags|Driver Version|CUDA Version|Product Name"
    r"|Kernel driver in use|Kernel modules|Subsystem|Name|Version|Summary|Home-page|Author|License|Location|Requires|Required-by"
    r"|Platform Name|Device Name|Marketing Name|Vendor Name)\s?:", re.IGNORECASE,
)
_PROSE = lazy(
    r"\b(?:I|I'm|I've|my|me|we|our|us|you|your|someone|anyone|anybody|please|thanks|thank you|hello|hi|help|tried|trying|try|seems?"
    r"|looks like|why|how (?:can|do|to|come)"
    r"|is there|are there|does (?:it|this|anyone|the)|what (?:is|do|can|am)|should|still|also|because|since|after|before|until|even|just"
    r"|really|maybe|the same|however"
    r"|works?|worked|everything|nothing|whether|which|that|when|but|and then|though|like|got|get|gets|want|need|expect(?:ed)?|happens?"
    r"|idea|question|edit:|update:|today|yesterday)\b",
    re.IGNORECASE,
)
_PROGRAM = lazy(r"::|\(\)|0x[0-9a-fA-F]{2,}|\.so\b|\.cpp\b|\.py\b|\.cc\b|\.c\b|\.dll\b|[A-Za-z]_[A-Za-z]|[A-Z]{3}_|^\S{1,40}: "
                      r"|[\w)]: [`'\"<\[(\w]|'\S+'|`\S+`|\[\w+\]|^\s*\[|\w=\S|/\w+/\w+|\\\w+\\|^\S+: |-{2}\w|\berrno\b|\bcode[: ]\d|<\w+>")
_TITLE = lazy(r"^\W{0,3}(?:\[?(?:bug|issue|feature|question|rfc|docs?|perf|help|request|usage|installation|performance)[\]:)]"
                    r"|title:|summary:|describe|description|steps to|expected|actual|current behaviou?r|environment\b)", re.IGNORECASE)
_ADVICE = lazy(
    r"^\W*(?:try|use|set|make sure|ensure|check|install|reinstall|update|upgrade|downgrade|consider|see|note|please (?:check|make|try"
    r"|install|update|see|use|refer|ensure|set|note|upgrade|reinstall|run)"
    r"|you (?:can|may|need|should|must|could|might|have to|will need)|to (?:fix|solve|resolve|work around|avoid|use|enable|install|run"
    r"|do|get|see)|compile with|for (?:debugging|more|details)"
    r"|tip|hint|solution|workaround|answer|run the following|first,|then,|next,|verify|add|remove|disable|enable|increase|reduce|lower)\b"
    r"|\byou (?:need to|should|must|can|may want|have to)\b|\b(?:troubleshooting|faq)\b", re.IGNORECASE,
)
_ASKING = lazy(
    r"\b(?:how (?:can|do|to|does|should)|is there (?:a|any)|which|recommend\w*|support for|add|feature|request|proposal|rfc|announc\w*"
    r"|releas\w*|changelog"
    r"|benchmarks?|guide|tutorial|wish|idea|exercise|lesson|slides|history|weekly|status|minutes|log file|introduc\w*|thanks?"
    r"|success\w*)\b", re.IGNORECASE,
)
"""A first line that asks for or tells something else than a trouble."""
_CODE_FENCES = frozenset(
    "python py c cpp c++ cuda java js ts go rust dockerfile docker yaml yml json toml ini cmake diff patch makefile julia html xml".split()
)
_SEARCH = lazy(r"^(?:rg|ag|ack|git (?:grep|log|show|diff|blame))\b|^grep\b.* -\w*[rR]")
"""What these print are lines of files."""
_SOLVED = lazy(r"^\W*(?:solved|resolved|fixed|closed|success)\b\W", re.IGNORECASE)
_ENDS_WELL = lazy(
    r"\b(?:(?:is|are|all|now|then|perfect,?) (?:resolved|solved|fixed)|clos(?:ing|ed) (?:as|this|it|since)|works as (?:intended"
    r"|designed)|by design"
    r"|works (?:now|again)|working (?:now|again)|problem (?:is )?(?:gone|solved|fixed)|that (?:was|did) (?:it|the trick)"
    r"|solved,? thank)\b", re.IGNORECASE,
)
_NOT_YET = lazy(r"\b(?:but|not|n't|until|unless|how|why|if|still|only|cpu)\b", re.IGNORECASE)
_TESTED = lazy(r"\s(?:ok|pass|passed)\s{3,}|\b(?:PASSED|XFAIL|XPASS|SKIPPED)\b|^\[ (?:RUN|      OK|  PASSED) +\]|^\[[ =-]+\] "
                     r"|\.\.\. ok$|^\s*(?:ok|✓"
                     r"|✔) \d* ?-? ?\w")
_AT_THE_MARGIN = lazy(r"^(?:[A-Za-z_][\w.]*(?:Error|Exception)\b|\S{1,120}:\d+(?::\d+)?: (?:fatal )?error\b)")
"""The last line of a traceback, or a compiler's error: real even in a text that is mostly code."""
_DIFF = lazy(r"^(?:@@ -\d|diff --git |--- [ab]/|\+\+\+ [ab]/|Index: )")
_CMAKE = lazy(r"^\s*CMake (?:Error|Warning)\b")
"""The head of a block: the sentences below it, indented, belong to the message."""
_REACH = 60
"""Lines above that are looked at for the head of a diff or the command whose output a line is."""


class Roles:
    """Gives the role of a line by its place: `Roles(lines)(row)`."""

    def __init__(self, lines: Sequence[Numbered]) -> None:
        self._lines = [line if len(line.text) <= LONGEST else Numbered(line.number, line.text[:LONGEST]) for line in lines]
        self._known: dict[int, str] = {}
        self._fences: list[int] | None = None
        self._languages: list[str] = []
        self._diffs: list[int] = []
        self._first: int | None = None
        self._over: bool | None = None
        self._quoting: str | None = None

    def __call__(self, row: int) -> str:
        if row not in self._known:
            role = self._role(row)
            self._known[row] = PROSE if role in TROUBLE_ROLES and self._settled() else role
        return self._known[row]

    def _role(self, row: int) -> str:
        text = self._lines[row].text
        stripped = text.strip()
        if not stripped:
            return LOG
        fenced = self._fence(row)
        if self._in_diff(row, text) or _SEARCH.match(self._command_above(row)):
            return CODE
        if _TESTED.search(stripped):
            return LOG
        if self._of_the_whole() and not _AT_THE_MARGIN.match(text):
            return self._of_the_whole()
        if _is_reported(text, stripped) or (text[:2] == "  " and self._in_a_cmake_block(row)):
            return FAILURE
        return self._unreported(row, text, stripped, fenced)

    def _unreported(self, row: int, text: str, stripped: str, fenced: str | None) -> str:
        """A line that does not begin as a failure does."""
        if _is_command(text):
            return COMMAND
        if _FRAME.match(text) or self._under_a_frame(row, text):
            return CODE
        if _GOOD_LEVEL.search(text[:200]):
            return LOG
        if _STAMPED.match(text):
            return _of_program(stripped)
        if self._is_title(row, stripped):
            return _of_title(stripped[2:])
        if fenced in _CODE_FENCES or _CODE.match(text) or (stripped.startswith("# ") and self._beside_code(row)):
            return CODE
        if _LISTED.match(text) or _KEYED.match(text):
            return LISTING
        if _SETTING.match(text):
            return CODE if polarity(stripped, prose=False) != TROUBLE or fenced is not None else FAILURE
        return self._words(row, stripped, fenced)

    def _is_title(self, row: int, stripped: str) -> bool:
        """Whether it is '# title' of a report in Markdown; above a setting or code it is a comment."""
        if row != self._first_row() or not stripped.startswith("# ") or row + 1 >= len(self._lines):
            return False
        below = next((line.text for line in self._lines[row + 1 :] if line.text.strip()), "#")
        return _CODE.match(below) is None and (_SETTING.match(below) is None or below.startswith("## ")) and not typed_in(below)

    def _words(self, row: int, stripped: str, fenced: str | None) -> str:
        """Words of a person or of a program without any mark."""
        person = _is_prose(stripped, fenced is not None or self._command_above(row) != "")
        role = _of_person(stripped) if person else _of_program(stripped)
        return _of_title(stripped) if role in (PROSE, LOG) and row == self._first_row() else role

    def _settled(self) -> bool:
        """Whether the first line or the last ones say that it is all over: '[SOLVED] …', '… closing as resolved'."""
        if self._over is None:
            last = [line.text for line in self._lines[-12:] if line.text.strip()][-3:]
            self._over = _SOLVED.match(self._lines[self._first_row()].text) is not None or (
                len(self._lines) >= SHORTEST_DOCUMENT and any(_ENDS_WELL.search(text) and not _NOT_YET.search(text) for text in last)
            )
        return self._over

    def _first_row(self) -> int:
        if self._first is None:
            self._first = next((row for row, line in enumerate(self._lines) if line.text.strip()), 0)
        return self._first

    def _fence(self, row: int) -> str | None:
        """The language of the fence in which the line stands: '' where it names none, None outside."""
        if self._fences is None:
            self._fences = []
            for place, line in enumerate(self._lines):
                mark = line.text.lstrip()[:3]
                if mark in ("```", "~~~"):
                    self._fences.append(place)
                    self._languages.append(line.text.strip().strip("`~").strip().lower().split(" ")[0])
                elif _DIFF.match(line.text):
                    self._diffs.append(place)
        before = bisect_right(self._fences, row)
        return self._languages[before - 1] if before % 2 else None

    def _in_diff(self, row: int, text: str) -> bool:
        if not self._diffs or text[:1] not in ("+", "-", " ", "@"):
            return False
        before = bisect_right(self._diffs, row)
        if not before or row - self._diffs[before - 1] > _REACH:
            return False
        return all(self._lines[near].text[:1] in ("+", "-", " ", "@", "", "d", "i") for near in range(self._diffs[before - 1], row))

    def _in_a_cmake_block(self, row: int) -> bool:
        """Whether only indented and empty lines stand between this one and a 'CMake Error at …:' shortly above."""
        for near in range(row - 1, max(-1, row - 25), -1):
            above = self._lines[near].text
            if above.strip() and not above.startswith("  "):
                return _CMAKE.match(above) is not None
        return False

    def _under_a_frame(self, row: int, text: str) -> bool:
        """The line of source that a traceback shows below a frame."""
        return row > 0 and text[:2] == "  " and self._lines[row - 1].text.lstrip().startswith('File "')

    def _of_the_whole(self) -> str:
        """The role of every line of a text that only quotes messages: notes, a manual, source code; empty for a report."""
        if self._quoting is None:
            self._quoting = ""
            if len(self._lines) >= SHORTEST_DOCUMENT:
                from gpudoctor.readers import document  # late: its expressions serve longer texts alone

                self._quoting = document.ROLES.get(document.kind_of(self._lines), "")
        return self._quoting

    def _beside_code(self, row: int) -> bool:
        """Whether the line above or below is a line of code or a command: '# …' is then a comment, no heading."""
        near = (self._lines[place].text for place in (row - 1, row + 1) if 0 <= place < len(self._lines))
        return any(_CODE.match(text) is not None or typed_in(text) != "" for text in near)

    def _command_above(self, row: int) -> str:
        """The command, or the head of a traceback, whose output the line is: it stands shortly above without an empty line between."""
        for near in range(row - 1, max(-1, row - 25), -1):
            above = self._lines[near].text
            if not above.strip():
                return ""
            typed = typed_in(above)
            if typed or above.startswith(("Traceback", ">>>", "  File")):
                return typed or above
        return ""


def _is_reported(text: str, stripped: str) -> bool:
    """Whether a line is a failure by its form: an exception, a bad level, or 'error:' ahead of anything but a good end."""
    if _EXCEPTION.match(stripped):
        return True
    if _BAD_LEVEL.search(text[:240]) and not (text.startswith((" ", "\t")) and _CODE.match(text)):
        return True
    return _ERROR_AHEAD.match(stripped) is not None and polarity(stripped, prose=False) != FINE


def _is_command(text: str) -> bool:
    """A prompt, or the call of a tool; a sentence that begins with the name of a tool is none."""
    typed = typed_in(text)
    if not typed:
        return False
    plain = sum(word.isalpha() and word.islower() for word in typed.split()[1:])
    return typed != text.strip() or not (plain > 3 or _PROSE.search(typed) or polarity(typed) == TROUBLE)


def _of_program(text: str) -> str:
    return FAILURE if polarity(text, prose=False) == TROUBLE else LOG


def _is_prose(text: str, in_output: bool) -> bool:
    if _TITLE.match(text):
        return True
    words = len(text.split())
    spoken = len(set(map(str.lower, _PROSE.findall(text))))
    if in_output:
        return spoken >= 4 and words >= 8 and not _PROGRAM.search(text[:60])
    if _PROGRAM.search(text[:80]) and spoken < 2:
        return False
    return spoken >= 1 or words >= 3 or text.endswith(("?", "."))


def _of_title(text: str) -> str:
    """The first line of a report says what it is about, in whatever words."""
    return COMPLAINT if polarity(text) == NEUTRAL and not _ASKING.search(text) else _of_person(text)


def _of_person(text: str) -> str:
    said = polarity(text)
    if said == HYPOTHETICAL:
        return ADVICE
    if said == TROUBLE:
        return ADVICE if _ADVICE.search(text) and not re.search(r"\bI\b|\bmy\b|\?\s*$", text) else COMPLAINT
    return PROSE
