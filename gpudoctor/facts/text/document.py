"""What kind of document a text is as a whole: source code, a configuration, release notes, a manual, or somebody's report.

Notes, manuals and code quote messages that nobody got. A report has a person who speaks, a traceback, or the log of a program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gpudoctor.facts.text.line_shapes import SHORTEST_DOCUMENT
from gpudoctor.facts.text.polarity import TROUBLE, polarity
from gpudoctor.facts.text.trouble_words import any_of
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import ADVICE, CODE, Numbered

REPORT, SOURCE, CONFIG, NOTES, MANUAL = "report", "source", "config", "notes", "manual"
ROLES = {SOURCE: CODE, CONFIG: CODE, NOTES: ADVICE, MANUAL: ADVICE}
"""The role of every line of such a text, except errors at its margin. A report has roles line by line."""
LOOKED_AT = 400

_STATEMENTS = (
    "#!",
    "//",
    r"/\*",
    r"\*/",
    r"import \w",
    r"from [\w.]+ import",
    r"def \w",
    r"class \w",
    r"return\b",
    r"func \w",
    r"package \w",
    r"(?:else|elif|if|for|while|switch|case)\b.{0,200}(?:[:{;]|then|do)\s*$",
    "fi$",
    "done$",
    "esac$",
    "end$",
    r"[{}\]\[()]+[,;]?\s*$",
    r"[\w.\"'\[\]]+\s?(?::=|[+-]?=)\s",
    r"[\w.]+\(.*\)[,;]?\s*$",
    r".{1,300}[;{]\s*$",
    r"#\s?\w",
    r"set -\w",
    r"@\w+",
    r"[\"']?[\w.\-]+[\"']?:\s+(?:re\.compile\(|[\"'{\[]|\d).{0,300},\s*$",
    r".{1,200}(?:\|\||&&) (?:fail|die|exit|echo|error)\b",
    r"msg(?:id|str) \"",
)
_SOURCE = lazy(rf"^\s*(?=\S)(?:{'|'.join(_STATEMENTS)})")
_KEYS = (
    r"^\s*(?=\S)(?:-\s)?[\"']?[\w.\-/${} ]{1,50}[\"']?\s?:(?:\s.*)?$",
    r"^\s*-\s\S.*$",
    r"^\s*#",
    "^---$",
    r"^\s*[\w.\-]+\s?=\s?\S.*$",
    r"^\[[\w.\-\" ]+\]$",
)
_CONFIG = lazy("|".join(_KEYS))
_BULLET = lazy(r"^\s*(?:[-*+•] |\d{1,2}[.)] )")
_HEADING = lazy(r"^\.\. [\w:]+|^\s{0,3}#{1,5} \S|^[=~^\"-]{4,}\s*$|^\*\*[^*]{3,60}\*\*:?\s*$")
_TITLE = lazy(r"^# (?=\S)")
_WORDS_OF_NOTES = (
    "release notes?",
    "changelog",
    "change log",
    "what'?s new",
    "highlights",
    "known issues",
    "update notes",
    "released?",
    "version history",
    "fixed bugs",
    "bug fixes",
    "changes in",
    "new in",
    "unreleased",
    "advisory",
    "summary of",
    "update of",
    "(?:major|new) features",
    "improvements",
    r"\d+\.\d+(?:\.\d+)? \(\d{4}",
    r"v?\d+\.\d+\.\d+",
)
_NOTES = lazy(any_of(_WORDS_OF_NOTES), re.IGNORECASE)
_WORDS_OF_MANUALS = (
    "faq",
    "troubleshooting",
    "guide",
    "manual",
    "documentation",
    "reference",
    "tutorial",
    "readme",
    "requirements",
    "prerequisites",
    "installation",
    "install",
    "how to",
    "usage",
    "support matrix",
    "onboarding",
    "exercise",
    "lesson",
    "course",
    "slides",
    "paragraph",
    "glossary",
    "handbook",
    "runbook",
    "policy",
)
_MANUAL = lazy(rf"^exceptions?\b|{any_of(_WORDS_OF_MANUALS)}", re.IGNORECASE)
_WORDS_OF_TEACHERS = (
    r"slides? \d+",
    "interview questions?",
    r"exercise \d",
    "homework",
    r"lesson (?:\d|for)",
    "quiz",
    "for (?:the|a|my) (?:course|talk|lecture)",
)
_TEACHING = lazy(any_of(_WORDS_OF_TEACHERS), re.IGNORECASE)
_QUESTION = lazy(r"^\s*(?:#+ |\*\*|Q: ?).{5,150}\?(?:\*\*)?")
_OPTION = lazy(r"^\s*\(?[a-eA-E1-5]\)\s\S")
_ENTRY = lazy(r"^\s*(?:\d{1,2}[.)]|[-*+•]) [\"“`][^\"”`]{5,200}[\"”`]\s?[:–—-] ?\w")
_OF_FORMS = (
    r"(?:describe|description of) (?:the|your) (?:bug|issue|problem)",
    r"bug (?:description|incidence)",
    r"(?:issue|problem) description",
    "what (?:has )?happened",
    "what did you (?:do|expect|see)",
    r"what (?:is|was) the (?:problem|bug|issue)",
    r"(?:what|which) .{1,60} (?:are you (?:using|running|seeing|on)|is your|is running|did you|do you (?:use|have))",
    r"(?:actual|current|observed|expected) (?:behaviou?r|results?|output)",
    r"(?:(?:steps|how) )?to reproduce",
    r"(?:step-by-step |minimal |steps for )?(?:reproduction|repro)(?: steps| script| code)?\W{0,4}$",
    r"(?:relevant |debug |error )(?:logs?|log output|message|/ output)\W{0,4}$",
)
_FORM = lazy(rf"^\s{{0,3}}(?:#{{1,5}}|\*\*)\s?(?:\W{{0,4}}|\d[.)] )(?:{'|'.join(_OF_FORMS)})(?!\w)", re.IGNORECASE)
"""A heading of the form in which a project asks for reports: 'Actual behavior', 'Which version are you using?'."""
_OF_CHANGES = (
    "test plan",
    "type of change",
    "motivation and context",
    "how has this been tested",
    "changelogs?",
    "modifications",
)
_CHANGE = lazy(
    rf"^(?:\s{{0,3}}#{{1,5}} |\*\*|_)\W{{0,4}}(?:{'|'.join(_OF_CHANGES)})\W{{0,4}}$|"
    r"^(?:this|the) (?:PR|pull request|MR|merge request|patch|commit) (?:also |(?:tries|attempts|aims) to )?"
    r"(?:add|fix|chang|updat|remov|introduc|improv|document)(?:e?s)?\b|"
    r"^\s*(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?):?\s+#\d+\W{0,2}$",
    re.IGNORECASE,
)
"""A line of a change: a heading of its form, its sentence about itself, or the report that it answers ('Fixes #12'). What a change
describes, it repairs."""
_ADDRESS = lazy(r"https?://\S+|\b[\w-]+\.(?:sh|bat|py|md|txt|ps1)\b")
"""An address, or the name of a file: 'install.sh' and '…/system-requirements.html' are no words of a manual."""
_TICKED = lazy(r"^\s*[-*] \[[xX]\] ")
"""The confirmations of an issue's form: 'I have searched the issues'."""
_SPEAKER = lazy(r"^\s*\[?\d\d:\d\d(?::\d\d)?\]? (?:HOST|GUEST|SPEAKER ?\d?|INTERVIEWER|MODERATOR|NARRATOR)\b")
_TRAILER = lazy(r"^\s*(?:Signed-off-by|Co-authored-by|Reviewed-by|Acked-by|Change-Id|Fixes): \S")
_QUOTING = lazy(r"^\s*(?:>|#: |//|/\*)")
_OF_A_TOOL = lazy(r"^\s*(?:PyTorch version|CUDA used|OS|GPU|CPU|Platform|Device|Driver|Model name|Kernel|RAM|iGPU|Hardware)\b.{0,20}:")
_PERSON = lazy(r"(?:^|[^\w'])(?:I|I'm|I've|I'd|my|mine|me)(?:[^\w']|$)")
_OF_A_RUN = (
    "^Traceback",
    r'^\s+File "',
    r"^\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d",
    r"^\s*\[\s*\d+\.\d{3,}\]",
    r"^\s*\[\d\d:\d\d:\d\d[.,]\d{1,9}\] \S",
    r"^[EWIF]\d{4} ",
    r"^(?:ERROR|WARNING|INFO)\b[: ]",
    r"^(?:error|fatal)(?::| [A-Z\d(\[])",
    r"^\$ ",
    "^>>> ",
    r"^[\w.]+Error: ",
    r"^E\s{2,}",
)
_TRACE = lazy("|".join(_OF_A_RUN))


def kind_of(lines: Sequence[Numbered]) -> str:
    """By the shares of its lines; a report where nothing else is plain."""
    texts = [line.text for line in lines[:LOOKED_AT] if line.text.strip() and not line.text.lstrip().startswith(("```", "~~~"))]
    if len(texts) < SHORTEST_DOCUMENT or any(_TRACE.match(text) for text in texts):
        return REPORT
    if any(map(_matches(_FORM), texts)):
        return REPORT
    number = len(texts)
    if sum(map(_matches(_QUESTION), texts)) >= 2 or any(_TEACHING.search(text) for text in (*texts[:2], texts[-1])):
        return MANUAL
    if sum(map(_matches(_OPTION), texts)) >= 3 and any(text.rstrip().endswith("?") for text in texts[:2]):
        return MANUAL
    if sum(map(_matches(_SPEAKER), texts)) >= 2 or sum(map(_matches(_ENTRY), texts)) >= 2:
        return MANUAL
    if any(map(_matches(_TRAILER), texts[-4:])) or any(map(_matches(_CHANGE), texts)):
        return NOTES
    if _complains(texts[0]):
        return REPORT
    if sum(map(_matches(_SOURCE), texts)) >= 0.5 * number:
        return SOURCE
    bullets = sum(map(_matches(_BULLET), texts))
    if any(_PERSON.search(text) for text in texts):
        return REPORT
    head = " ".join(texts[:3])
    if _NOTES.search(head) and bullets >= 0.3 * number:
        return NOTES
    indented = sum(text.startswith("  ") for text in texts)
    if sum(map(_matches(_CONFIG), texts)) >= 0.7 * number and indented >= 0.3 * number and not any(map(_matches(_OF_A_TOOL), texts)):
        return CONFIG
    if any(map(_matches(_TICKED), texts)):
        return REPORT
    headings = sum(map(_matches(_HEADING), texts))
    return MANUAL if (_MANUAL.search(_ADDRESS.sub(" ", head)) and headings + bullets >= 2) or headings >= 3 else REPORT


def _complains(first: str) -> bool:
    """Whether the first line is the title of a report: a sentence about a trouble that quotes nothing, also as '# title'."""
    first = _ADDRESS.sub(" … ", _TITLE.sub("", first))
    if any(shape.match(first) for shape in (_HEADING, _BULLET, _QUOTING)) or '"' in first or _MANUAL.search(first):
        return False
    return len(first.split()) >= 4 and polarity(first) == TROUBLE


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.match(text) is not None
