"""Whether one line reports a trouble that is over: a person had a message, and the same line says what ended it."""

from __future__ import annotations

import re

from gpudoctor.facts.text.trouble_words import any_of
from gpudoctor.model.lazy_pattern import lazy

LONGEST = 800
"""Letters of a line that can be a sentence."""
_NEAR = 60
"""Letters ahead of the cure in which a word denies it."""
_QUOTED = lazy("\"[^\"\n]{3,300}\"|“[^”\n]{3,300}”|`[^`\n]{3,300}`|(?<!\\w)'[^'\n]{3,300}'(?!\\w)")
_MESSAGE = "‹message›"
"""Stands for a quoted message: its own words ('not', 'but got') say nothing of the sentence around it."""
# fmt: off
# Tables of words and expressions, several in a line.
_FAULTS = (
    "errors?", "messages?", "problems?", "issues?", "crash(?:es)?", "warnings?", "exceptions?", "failures?", "faults?", "segfaults?",
    "hangs?", "freezes?", r"\w{2,40}(?:Error|Exception)",
)
_OF_THEM = rf"(?:{_MESSAGE}|{any_of(_FAULTS)})"
_CURES = (
    r"\b(?:fixed|solved|cured|resolved|got rid of|gets rid of|took care of|sorted out|helped (?:me )?(?:with|against))\s"
    rf"[^.;!?]{{0,200}}?{_OF_THEM}",
    rf"\b(?:made|makes) [^.;!?]{{0,60}}?{_OF_THEM}[^.;!?]{{0,20}}?\b(?:disappear|go away|vanish)\b",
    rf"{_OF_THEM}[^.;]{{0,60}}?\b(?:went away|disappeared|vanished|(?:has|is|was) gone|"
    r"(?:was|is|were|are|got|has been) (?:now |since )?(?:fixed|solved|cured|resolved))\b",
)
_FORMERLY = (
    r"(?:I|we) (?:once |always |often |also |first )?(?:used to|had|(?:was|were) (?:getting|seeing)|kept (?:getting|seeing))",
    r"(?:this|it|that) (?:used to|ended|failed|crashed|stopped|hung)", "previously", "formerly", "initially", "originally", "at first",
    "used to (?:fail|crash|die|end|stop|hang|abort|exit|break|throw|raise|give|get|print|report|show|see|say|complain)",
    "yesterday", "last (?:week|month|year)", "came from", "was caused by", "turn(?:s|ed) out",
    r"had (?:the (?:same|exact)|this|that|similar)",
)
_DOES = r"(?:works?|worked|runs?|ran|imports?|imported|loads?|loaded|starts?|started|trains?|trained|passes|passed|renders?|rendered)"
_WELL = (
    rf"(?:it|everything|all(?: of it)?|that|things|the \w+(?: \w+)?)(?: all| just)? (?:now )?{_DOES}", "works",
    "(?:all|everything|it|that|things)(?: is| was| are|'s)? (?:now )?(?:fine|good|ok|okay|well|healthy|solved)",
)
_AND_SO_ON = (
    r"(?: (?:again|now|fine|well|perfectly|great|smoothly|flawlessly|since|too|here|then|for (?:me|us)|as (?:expected|it should)|"
    r"without (?:it|problems|errors|trouble|issues|a hitch)))*"
    r"(?: (?:since|after) (?:[\w+-]{1,20}(?:\.\d{1,4}){0,3} ){0,4}[\w+-]{1,20}(?:\.\d{1,4}){0,3})?"
)
_AFTER = (
    r"(?:(?:^|[.,;:!]\s|\b(?:and|but|now|then|since|so)\s)|\b(?:now|since|after|afterwards)\b(?:[^.;]|\.\d){0,120}?\s|"
    r"[,;] (?:with|under|using|on) (?:[^.,;]|\.\d){1,60}?\s)"
)
_BEGINS = rf"{_AFTER}(?:{'|'.join(_WELL)}){_AND_SO_ON}"
_DID_IT = rf"\b(?:helped|did the trick|(?:solved|fixed|cured) it){_AND_SO_ON}"
_DENYING = (
    "not", "never", "nothing", "no", "none", "neither", "nor", "hardly", "without", "how", "what", "who", "anyone", "anybody", "somebody",
    "someone", "has", "have", "can", "could", "would", "should", "might", "may", "will", "until", "if", "unless", "supposed",
    "claim(?:s|ed)?",
    "said", "says", "thought", "assumed", "hoped", "to be", "only", "partly", "almost", "needs?", "please",
)
_NOT_OVER = (
    "but", "still", "however", "unfortunately", "yet", "again after", "comes? back", "came back", "instead", "another",
    "new (?:error|problem|one)",
    "now (?:I|it|there|we)", "for (?:a (?:while|time|day|moment)|some time|one|the first)", "only", "except", r"slow\w*", "cpu",
    r"fail\w*", r"crash\w*", "not", "never", "while", "whereas",
)  # fmt: skip
# fmt: on
_CURED = lazy("|".join(_CURES), re.IGNORECASE)
_WAS = lazy(rf"{any_of(_FORMERLY)}", re.IGNORECASE)
_ENDS_WELL = lazy(rf"(?:{_BEGINS}|{_DID_IT})(?=\s?(?:[.!,;:)]|$))", re.IGNORECASE)
_DENIES = lazy(rf"{any_of(_DENYING)}|n['’]t\b", re.IGNORECASE)
_OPEN_STILL = lazy(rf"{any_of(_NOT_OVER)}|n['’]t\b", re.IGNORECASE)
_TURNS = lazy(r"\s?(?:but|now)\b", re.IGNORECASE)
"""What stands ahead of it is of the time before: also its 'not'."""
_ELSEWHERE = lazy(r"\s?(?:on|under|when|if|with(?! it\b)|without)\b", re.IGNORECASE)
"""'It works on Windows' implies that it fails elsewhere."""


def is_settled(line: str) -> bool:
    """'I used to get "…", after the update it works', 'Y solved the … error for me', 'that made "…" disappear'."""
    if len(line) > LONGEST or line.rstrip().endswith("?"):
        return False
    plain = _QUOTED.sub(_MESSAGE, line)
    cured = _CURED.search(plain)
    if cured:
        return not _denied(plain, cured.start()) and not _OPEN_STILL.search(plain, cured.end())
    was = _WAS.search(plain)
    if was is None:
        return False
    well = _ENDS_WELL.search(plain, was.end())
    if well is None or _denied(plain, well.start()) or _ELSEWHERE.match(plain, well.end()):
        return False
    return _OPEN_STILL.search(plain, well.end()) is None


def _denied(text: str, at: int) -> bool:
    """Whether a word shortly before position `at`, in the same sentence, negates it: 'nothing solved the error'."""
    if _TURNS.match(text, at):
        return False
    ahead = re.split(r"[.;!?,]\s|\s(?:but|now)\b", text[max(0, at - _NEAR) : at])[-1]
    return _DENIES.search(ahead) is not None
