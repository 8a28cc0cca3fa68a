"""Which texts say that their trouble is over, and which quotes report a trouble that only somebody else has."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gpudoctor.facts.text import line_shapes as shapes
from gpudoctor.facts.text.polarity import TROUBLE, polarity
from gpudoctor.facts.text.trouble_words import any_of
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.model.signature import Numbered

_MARK = lazy(r"^(?!>>>)(?:> ?){1,4}(?!>)\S")
_HERE = r"(?:here|for me|for us|on my (?:machine|side|system|end|pc|card|setup|box)|on our (?:side|machines|systems))"
_SEEN = r"(?:see|get|have|hit|observe|experience|reproduce)"
_DENIALS = (
    rf"(?:I|we) (?:do not|don't|did not|didn't|never) (?:\w+ )?{_SEEN} "
    r"(?:this|that|it|the (?:same )?(?:error|problem|issue|message|crash))",
    r"(?:cannot|can't|can not|could not|couldn't|not able to|unable to|failed to) reproduce",
    rf"(?:no such|not a) (?:error|problem|issue|message|crash) {_HERE}",
    rf"works (?:\w+ )?{_HERE}",
)
_DENIAL = lazy(any_of(_DENIALS), re.IGNORECASE)
_ON_PURPOSE = lazy(
    r"\b(?:I|we) (?:have |had )?(?:triggered|provoked|forced|injected|caused) "
    r"(?:this|it|these|that|them|the (?:reset|error|fault|crash|message))\b"
    r".{0,120}\b(?:to test|for (?:a|the|our) test|on purpose|deliberately|intentionally)\b",
    re.IGNORECASE,
)
"""'I triggered this to test our monitoring'."""
LONGEST = 600
"""Letters of a line that can tell a cure."""
_WORKS = (
    r"(?:it|everything|all(?: of it)?|that|things|the \w+(?: \w+)?) (?:all |just )?(?:now )?"
    r"(?:works?|worked|runs?|ran|starts?|trains?|loads?|"
    r"is (?:fine|good|well|ok|okay|gone|back|found|detected|visible|seen|listed|recogni[sz]ed))"
    r"(?: (?:again|now|fine|well|perfectly|great|flawlessly|too|as (?:expected|it should)|without (?:problems|errors|issues|trouble|it)))*"
)
_ENDING = r"(?=\s?(?:[.!,;:)(]|$))"
_DID = (
    r"(?:has |have )?(?:finally |then |indeed |really )?(?:fixed|solved|cured|resolved|sorted(?: out)?|took care of|got rid of)"
    r" (?:it|this|that|things|everything|"
    r"(?:the|this|that|my|our) (?:\w+ ){0,2}(?:problem|issue|error|errors|crash|warning|hang|trouble|fault)s?)"
)
_DONE = (
    r"(?:(?:is|are|was|were|got|has been) (?:now )?(?:gone|fixed|solved|resolved)|(?:did|does) the trick|went away|disappeared|helped|"
    r"works? (?:now|again|fine)|working (?:now|again|fine))"
)
_LATER_ON = (
    r"(?:edit|update|upd|eta|later|follow-?up|resolution|conclusion|outcome|result|end of (?:the )?story|for the record)(?: ?\d{1,2})?"
    r"(?: \([^)]{1,30}\))?"
)
_CURES = (
    rf"{_LATER_ON}\s?[:,–—-]+\s.{{0,300}}?\b(?:{_DID}|{_DONE}){_ENDING}",
    rf"(?:[\w`'\"./=+-]+ ){{1,16}}?(?<!what )(?<!who ){_DID}(?: (?:for (?:me|us|good)|now|in the end|completely|permanently))*{_ENDING}",
    rf"(?:so |ok,? |okay,? |and )?(?:after|since|once|now(?: with)?) .{{3,200}}?[ ,]{_WORKS}{_ENDING}",
    rf"(?:it )?turn(?:s|ed) out .{{3,300}}?\b(?:{_DID}|{_DONE}|{_WORKS}){_ENDING}",
    r"(?:reinstall|updat|upgrad|downgrad|remov|unsett|sett|us|add|switch|chang|disabl|enabl|install|reseat|replac|reboot|restart|"
    rf"rebuild)ing .{{2,200}}?\b(?:{_DID}|{_DONE}){_ENDING}",
)
_CURE = lazy(rf"^\W{{0,6}}(?:{'|'.join(_CURES)})", re.IGNORECASE)
_NO_CURE = lazy(
    any_of((
        "but", "not", "until", "unless", "how", "why", "if", "still", "only", "cpu", "nothing", "neither", "none", "never", "however",
        "except",
        "anyone", "anybody", "someone", "somebody", "would", "could", "should", "might", "may", "hopefully", "supposed(?:ly)?", "claims?",
        "half", "partly", "almost", "temporarily", "for (?:a (?:while|time|day|few)|now|one|an hour|some)", "once in", "yet",
        "again (?:fails?|crashes)", "instead(?! of)", "slow\\w*", "without gpu", "windows", "to (?:fix|solve)",
    )) + r"|n['’]t\b", re.IGNORECASE,
)  # fmt: skip
_NEXT = lazy(r"\b(?:new|next|other|another|then|now) (?:error|problem|one|issue|it|I|the)\b", re.IGNORECASE)
_CLOSES = lazy(
    r"^\W{0,3}(?:(?:I am|I'm|I will|I'll|we are|we're|so|ok|okay|thanks|thank you),? ){0,2}clos(?:e|ed|ing)\b[^?]{0,200}"
    r"\b(?:fixed|solved|resolved|completed|no longer|works?|working|gone|went away)\b",
    re.IGNORECASE,
)
"""'Closing as resolved', 'I'm closing this: works with the new driver'."""
_NOT_MINE = lazy(
    any_of((
        r"(?:I|we) (?:do not|don['’]t) (?:\w+ )?have (?:this|that|the|any|a) (?:\w+ )?(?:problem|issue|error)s? (?:my|our)sel(?:f|ves)",
        r"(?:it is|it['’]s) not that (?:I|we) have (?:this|that|the|any|a) (?:\w+ )?(?:problem|issue|error)s?",
        r"my own (?:\w+ )?(?:machine|pc|computer|laptop|setup|system|card|gpu|server) (?:is|works|runs|does) (?:just |perfectly )?"
        r"(?:fine|well|ok|okay|healthy)",
    )), re.IGNORECASE,
)  # fmt: skip
"""Somebody writes about a message that others get."""
_RESTRICTED = lazy(
    any_of(("but", "except", "however", "yet", "although", "only", "until", "unless", "on windows", "on linux")), re.IGNORECASE
)
_COMPLAINS = lazy(r"\b(?:I|my|we|our|still|again|now|help|but)\b", re.IGNORECASE)
_SAME = lazy(r"\bsame (?:here|problem|issue|error|for me)\b|\bme too\b|\bbut\b[^.;]{0,60}\bI\b", re.IGNORECASE)


def is_over(lines: Sequence[Numbered], first: int, fails: Callable[[int], bool]) -> bool:
    """Whether the first line, the last lines or a line by itself says so: '[SOLVED] …', '… closing as resolved', 'Solved.'."""
    if shapes.SOLVED.match(lines[first].text) is not None or _by_a_line(lines, fails) or _by_a_cure(lines, first, fails):
        return True
    if any(_ON_PURPOSE.search(line.text) or _is_not_mine(line.text) for line in lines):
        return True
    if len(lines) < shapes.SHORTEST_DOCUMENT:
        return False
    last = [row for row in range(max(0, len(lines) - 12), len(lines)) if lines[row].text.strip()][-3:]
    well = [row for row in last if shapes.ENDS_WELL.search(lines[row].text) and not shapes.NOT_YET.search(lines[row].text)]
    return bool(well) and not _goes_on(well[-1], len(lines), fails)


def _goes_on(row: int, end: int, fails: Callable[[int], bool]) -> bool:
    """Whether a log that failed above this row also fails below it."""
    return any(map(fails, range(row + 1, end))) and any(map(fails, range(row)))


def _by_a_line(lines: Sequence[Numbered], fails: Callable[[int], bool]) -> bool:
    """Whether a line says only that the trouble is over, no complaint follows it, and no log that failed above it fails again below."""
    solved = next((row for row in reversed(range(len(lines))) if _says_so(lines[row].text)), None)
    if solved is None or lines[solved].text.rstrip().endswith("?"):
        return False
    if any(shapes.OPEN_AGAIN.search(line.text) and polarity(line.text) == TROUBLE for line in lines[solved + 1 :]):
        return False
    return not _goes_on(solved, len(lines), fails)


def _by_a_cure(lines: Sequence[Numbered], first: int, fails: Callable[[int], bool]) -> bool:
    """Whether a line below the first says what ended the trouble ('Update: the new driver fixed it', 'After a reboot it works'), and
    nothing below it fails, complains or asks."""
    for row in reversed(range(first + 1, len(lines))):
        text = lines[row].text
        if _tells_a_cure(text):
            return True
        if fails(row) or text.rstrip().endswith("?") or (text.strip() and _COMPLAINS.search(text) and polarity(text) == TROUBLE):
            return False
    return False


def _tells_a_cure(text: str) -> bool:
    if len(text) > LONGEST or text.rstrip().endswith("?") or shapes.STAMPED.match(text):
        return False
    found = _CURE.match(text)
    return found is not None and _NO_CURE.search(text) is None and _NEXT.search(text, found.end()) is None


def _is_not_mine(text: str) -> bool:
    found = _NOT_MINE.search(text[:LONGEST])
    return found is not None and _RESTRICTED.search(text, found.start(), LONGEST) is None


def _says_so(text: str) -> bool:
    if _CLOSES.match(text) and shapes.NOT_YET.search(text) is None:
        return True
    if shapes.SOLVED_NOW.match(text) or shapes.WAS_SOLVED.search(text):
        return shapes.OPEN_AGAIN.search(text) is None
    return shapes.GONE_NOW.search(text) is not None and shapes.ON_CONDITION.search(text) is None and shapes.NOT_YET.search(text) is None


def denied(lines: Sequence[Numbered], troubles: Callable[[int], bool]) -> frozenset[int]:
    """The rows of quoted troubles, and of the answers that deny them: 'I do not see this on my machine'."""
    quotes = frozenset(row for row, line in enumerate(lines) if line.quoted or _MARK.match(line.text))
    if not quotes:
        return quotes
    unquoted = [row for row in range(min(quotes) + 1, len(lines)) if row not in quotes]
    answers = [row for row in unquoted if _DENIAL.search(lines[row].text) and polarity(_DENIAL.sub(" ", lines[row].text)) != TROUBLE]
    if (
        not answers
        or any(_SAME.search(lines[row].text) for row in unquoted)
        or any(troubles(row) for row in unquoted if row not in answers)
    ):
        return frozenset()
    return frozenset((*(row for row in quotes if row < answers[-1]), *answers))
