"""Whether one line reports a trouble that is over: a person had a message, and the same line says what ended it.

The sentence is the person's ('I used to get …, after the update it works'), or the line is a message with a person's remark behind it
('RuntimeError: …. Fixed by opening the port').
"""

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
    r"fail\w*", r"crash\w*", "not", "never", "while", "whereas", "until",
)  # fmt: skip
_AGO = "(?:now |since |finally |then |eventually |later |meanwhile |already |long |here |for (?:me|us) |today |yesterday ){0,6}"
_ENDED = r"(?:fixed|solved|resolved|cured|sorted(?: out)?|worked around|gone|went away|disappeared|vanished|remedied|overcome)"
_IT = (
    r"(?:this|that|it|which|(?:the|this|that) (?:\w+ ){0,2}(?:problem|issue|error|bug|crash|message|warning|fault|hang|failure|exception))"
)
_BY = r"(?:by|with|after|once|through|via|thanks to|using|on [A-Z]|since (?!\d)|when (?:I|we))"
_REMARKS = (
    rf"{_AGO}{_ENDED} {_AGO}{_BY}\b",
    rf"(?:{_IT} )?(?:was|were|is|are|got|has been|have been) {_AGO}{_ENDED}\b"
    rf"(?: {_AGO}{_BY}\b|\s?(?:[.,;:!)\]]|$)|[^?]{{0,60}}\bclos(?:ing|ed)\b)",
    rf"{_IT} {_AGO}(?:went away|disappeared|vanished)\b",
    r"(?:is |was |are |it'?s )?no longer (?:seen|happen(?:s|ing)|occurs?|occurring|appears?|reproduc\w+|shows up|an? (?:issue|problem)|"
    r"present|observed|there)\b",
    r"(?:not|never) (?:been )?(?:seen|observed|reproduced|happened|occurred|come back|came back|returned) "
    r"(?:again|any ?more|since|afterwards)\b",
    r"(?:it |that )?(?:has|have|had|did)(?: not|n['’]t) "
    r"(?:come back|returned?|happen(?:ed)?|occur(?:red)?|reappear(?:ed)?|been seen|recur(?:red)?)"
    r"(?: (?:again|since|afterwards|any ?more))?",
    r"(?:solved|resolved|fixed|cured): \w",
    r"(?:solved|resolved|fixed|closed|cured)(?: now| since| it| today| for (?:me|us))?(?=[.!)\]]*\s*$)",
    r"(?:now |since then |since |then )(?:it|everything|all(?: of it)?|things) (?:just )?(?:works|worked|runs|ran|is fine|is good|is well)"
    r"(?: (?:again|now|fine|well|too))*(?=[.!)\]]*\s*$)",
    r"(?:it |everything |all )?(?:works|runs|is fine|fine|good|working) (?:now|again)(?=[.!)\]]*\s*$)",
)
_AHEAD_OF_A_REMARK = (
    r"(?:[.;,!?)\]\"'`”›…]\s+|\s[-–—|/#]{1,2}\s*|\s?(?:=>|->|→|⇒|<-|←)\s*|\s[(\[{]\s?|\s?✅\s*|:\s|\s(?=and (?:is|was|are|has)\b))"
)
_OF_THE_PAST = (
    r"(?:used to|would always) (?:fail|crash|die|end|stop|hang|abort|exit|break|throw|raise|give|get|print|report|show|see|say|complain|be|"
    r"return|log|spam|kill|trip|hit|run into)\b",
    r"(?:failed|fails|crashed|died|ended|stopped|aborted|was failing|got|gave|threw|raised|had|saw|hit|kept \w+ing) "
    r"[^?]{8,400}? until (?:I|we) \w",
)
_NOW = lazy(
    r"\b(?:now|but|today|lately|again|still|currently|since (?:the|I|we|updating|upgrading)|this time|"
    r"instead|after|only|per|fps)\b|it/s", re.IGNORECASE
)
# fmt: on
_REMARKED = lazy(rf"{_AHEAD_OF_A_REMARK}(?:and |but |which |now |finally |then ){{0,4}}(?P<remark>{'|'.join(_REMARKS)})", re.IGNORECASE)
"""A remark behind a message; a mark or the end of a sentence stands between them."""
_ONCE = lazy(rf"\b(?:{'|'.join(_OF_THE_PAST)})", re.IGNORECASE)
_PAST_HEADS = (
    r"(?:change ?log|release notes?|patch notes?|bug ?fix(?:es)?|fix(?:ed|es)?|resolved|solved|history|formerly|previously|"
    r"(?:old|past|closed|former)"
    r" (?:bug|issue|error|problem|crash))(?: (?:bugs?|issues?|errors?|problems?|crash(?:es)?|since|"
    r"in (?:v|version )?\d[\w.]{0,12}))?\s?:\s",
    r"[\[(](?:resolved|solved|fixed|closed|done|obsolete|wontfix)[\])]\s",
    r"[✅✔☑]\s?",
    r"~~\S.*\S~~(?:\W.{0,80})?$",
)
_PAST_HEAD = lazy(rf"^\W{{0,3}}(?<!\w)(?:{'|'.join(_PAST_HEADS)})", re.IGNORECASE)
_SHORTEST = 12
"""Letters from which on what stands ahead of a remark is a message."""
_CURED = lazy("|".join(_CURES), re.IGNORECASE)
_WAS = lazy(rf"{any_of(_FORMERLY)}", re.IGNORECASE)
_ENDS_WELL = lazy(rf"(?:{_BEGINS}|{_DID_IT})(?=\s?(?:[.!,;:)]|$))", re.IGNORECASE)
_DENIES = lazy(rf"{any_of(_DENYING)}|n['’]t\b", re.IGNORECASE)
_OPEN_STILL = lazy(rf"{any_of(_NOT_OVER)}|n['’]t\b|\b(?:now|today|next|then|remains|[\w.]{{2,60}}(?:Error|Exception)): ", re.IGNORECASE)
_TURNS = lazy(r"\s?(?:but|now)\b", re.IGNORECASE)
"""What stands ahead of it is of the time before: also its 'not'."""
_ELSEWHERE = lazy(r"\s?(?:on|under|when|if|with(?! it\b)|without)\b", re.IGNORECASE)
"""'It works on Windows' implies that it fails elsewhere."""


def is_settled(line: str) -> bool:
    """'I used to get "…", after the update it works', 'Y solved the … error for me', 'that made "…" disappear'."""
    if len(line) > LONGEST or line.rstrip().endswith("?"):
        return False
    if _is_headed(line) or _is_remarked(line) or _was_once(line):
        return True
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


def _is_headed(line: str) -> bool:
    """'Changelog: fix "…"', '[RESOLVED] …', '~~RuntimeError: …~~'."""
    head = _PAST_HEAD.match(line)
    return head is not None and not _NOW.search(line, head.end())


def _is_remarked(line: str) -> bool:
    """'DXGI_ERROR_DEVICE_HUNG, fixed by the new driver', 'NCCL WARN …; not seen since'."""
    for found in _REMARKED.finditer(line):
        if found.start("remark") >= _SHORTEST and not _OPEN_STILL.search(line, found.end()):
            return True
    return False


def _was_once(line: str) -> bool:
    """'This used to fail with …', 'It failed with … until I set the variable': nothing says that something fails now."""
    once = _ONCE.search(line)
    return once is not None and not _denied(line, once.start()) and not _NOW.search(line, once.end())


def _denied(text: str, at: int) -> bool:
    """Whether a word shortly before position `at`, in the same sentence, negates it: 'nothing solved the error'."""
    if _TURNS.match(text, at):
        return False
    ahead = re.split(r"[.;!?,]\s|\s(?:but|now)\b", text[max(0, at - _NEAR) : at])[-1]
    return _DENIES.search(ahead) is not None
