"""Whether a sentence tells of a trouble: negation, resolution and hypothesis are understood here, once for all checks."""

from __future__ import annotations

import re

from gpudoctor.model.lazy_pattern import lazy

TROUBLE, FINE, HYPOTHETICAL, NEUTRAL = "trouble", "fine", "hypothetical", "neutral"

_TROUBLE = lazy(
    r"error|\berr\b|\bexceptions?\b|fail|outof(?:device|host|gpu)?memory|\bnever\b|\bnothing\b|\bkeeps\b|\bstill\b|\bempty\b|\bzero\b"
    r"|\bcannot\b|\bcan ?not\b|\bcan'?t\b|\bcouldn'?t\b|\bcould not\b|\bunable\b"
    r"|\bun(?:supported|recogni[sz]ed|defined|resolved|expected|available|detected|known|usable|reachable|stable|healthy|satisf\w+)\b"
    r"|\bnot?\b[ -](?:\w+ ){0,2}(?:found|support\w*|availab\w+|recogni\w+|detect\w*|compatib\w+|implement\w*|enabled|visible|permitted"
    r"|allowed|install\w*|load\w*|work\w*|compil\w*|built|exist\w*|see|seen|show\w*|listed?|appear\w*|usable|possible|utili[sz]\w+|use|used"
    r"|using|start\w*|respond\w*|divisible|initiali[sz]\w*|registered|linked|match\w*|enough|sufficient|permission|image|kernel|space|such"
    r"|device|devices|gpus?|platforms?|cards?|ipus?|accelerators?|adapters?|module|symbol|valid|allocate\w*|executed|accessible|capable"
    r"|open|opened|assigned|present|there|active|accept\w*|a member|defined|converge\w*|learn\w*|progress|response|output|driver|version)\b"
    r"|(?:n't|\b(?:does|did|do|will) not) (?:\w+ ){0,2}\w+|\bdoes ?nt\b|\bwont\b"
    r"|\bno (?:such|module|kernel|devices?|gpus?|platforms?|space|matching|compatible"
    r"|suitable|usable"
    r"|supported|nvidia|cuda|amd|intel|opencl|ipus?|response|output|progress|permission|package|version|graphics|accelerators?|hip|rocm"
    r"|xpu)\b"
    r"|\bonly (?:\w+ ){0,3}(?:cpu|one|the first|half|lists?|shows?|sees?|finds?|detects?|available|supports?|on)\b|\blists? only\b"
    r"|\bshows? only\b"
    r"|\binvalid\b|\bmissing\b|\bmismatch\w*|\bdenied\b|\brefus\w+|\babort\w*|\bcrash\w*|\bseg(?:mentation)? ?fault\w*|\bsig(?:segv|abrt"
    r"|ill|bus)\b"
    r"|\bfaults?\b|\bcore dumped\b|\bkilled\b|\btimed[ -]?out\b|\btime-?outs?\b|\bhangs?\b|\bhung\b|\bhanging\b|\bstuck\b|\bfreez\w+"
    r"|\bfroze\w*"
    r"|\bdeadlock\w*|\bout of (?:\w+ )?(?:memory|resources|space|range|disk)\b|\bo{1,2}om\b|\boverflow\w*|\billegal\b|\bcorrupt\w*"
    r"|\bnans?\b"
    r"|\binaccurate\b|\bincorrect\w*|\bwrong\w*|\bgarbage\w*|\bgibberish\b|\bnonsense\b|\bblack (?:image|picture|screen|output)s?\b"
    r"|\ball zeros?\b"
    r"|\bslow\w*|\btoo (?:old|new|small|large|big|long|many|few|low|high|deep)\b|\bconflict\w*|\bincompatib\w*|\bfatal\b|\bpanic\w*"
    r"|\bassert\w*"
    r"|\bwarn(?:ing)?s?\b|\bdeprecated\b|\bre[js]ected\b|\bexhausted\b|\binsufficient\w*|\bexceed\w*|\blost\b|\bdropped\b|\bdisconnect\w*"
    r"|\bdisappear\w*|\bvanish\w*|\bdies\b|\bdied\b|\bdead\b|\bbroken?\b|\bbreaks?\b|\bbug\b|\bproblem\w*|\bissues?\b|\btrouble\w*"
    r"|\bdegrad\w+|\bregress\w*|\bthrottl\w+|\bdiverg\w+|\bis none\b|\bis false\b|returns? (?:false|0|none)\b|:\s*false\b|\bfalse$"
    r"|\bnothing happens\b|\bno longer\b|\binstead of (?:the )?(?:gpu|cuda|xpu|npu|dgpu)|\bon (?:the )?cpu (?:only|instead)\b"
    r"|\bfalls? back\b"
    r"|\bfalling back\b|\bfallback to\b|\bignor(?:es|ed|ing)\b|\bneeds?\b.{0,40}\bbut\b|\brequires?\b.{0,60}\b(?:but|found|have|got)\b"
    r"|\bis (?:\w+ )?required\b|\bmust (?:be|have)\b|\bexpected\b.{0,60}\b(?:got|but|found)\b|\btimes (?:slower|longer)\b|\bforever\b"
    r"|\bagain and again\b"
    r"|\bxid\b|\bunder-?utili[sz]\w+|\bidle\b|\b0 ?% ?(?:gpu|util\w*)|\bgpu (?:usage|util\w*|load)?:? ?0 ?%|\bstops?\b|\bstopped\b"
    r"|\bhigh cpu\b|\bstrange\b"
    r"|\bdelay\w*|\bwaits?\b|\bpoor\w*|\bbad\w*|\bleak\w*|\bgrows\b|\bfull\b|\bexit(?:s|ed)?(?: with)? (?:code|status) -?[1-9]"
    r"|\bcode -?[1-9]\d*\b",
    re.IGNORECASE,
)  # fmt: skip
"""In the words of programs and of people. Wide on purpose: a signature asks for its own words besides."""
_DENIED = lazy(
    r"\b(?:0|zero) (?:errors?|failures?|failed|warnings?|problems?|issues?|crashes|timeouts?)\b(?=\s*(?:[,;.)|/]|$|in\b|and\b))"
    r"|\b(?:no|without(?: any| an?)?|not an?|not any|never an?|free of|nor)\s(?:[\w/\-]+\s){0,3}"
    r"(?:errors?|failures?|failed|fails?|warnings?|problems?|issues?|troubles?|crash(?:es)?|faults?|hangs?|leaks?|conflicts?"
    r"|mismatch(?:es)?"
    r"|exceptions?|timeouts?|slowdown|regressions?|oom|out of (?:\w+ )?memory|nans?|throttling)\b"
    r"|\b(?:errors?|failures?|failed|warnings?|mismatch(?:es)?|missing|conflicts?|broken|retired|dropped|lost|timeouts?"
    r"|overflows?)\s?[:=]\s?"
    r"(?:(?:0|none|n/?a|false)\b(?![.:\w])|no\s*$|\[\])"
    r"|\b(?:never|no longer|not|does(?: not|n't)|did(?: not|n't)|do(?: not|n't)|won't|will not)\s(?:\w+\s)?"
    r"(?:fails?|failed|crash(?:es|ed)?|hangs?|hung|happens?|occurs?|freezes?|break|slow|stuck|abort|complain|downgrad|replac)\w*"
    r"|\bno (?:black screens?|hangs?|freezes?|artefacts?|stutter\w*)\b|\bnothing (?:is|was) (?:stuck|wrong)|\bnever (?:freezes|hangs"
    r"|crashes|fails)"
    r"|(?:\berrors?|\bmessages?|\bwarnings?|\bproblems?|\bissues?|\") (?:is |does |do )?no longer\b"
    r"|\bno (?:\w+ ){1,2}(?:was|were|is|are|has|have)(?: been)? (?:killed|lost|dropped|affected|harmed|rebooted|cancelled)\b"
    r"|\bno longer (?:an issue|a problem|happens|seen|needed|necessary|required)|\bnot (?:needed|necessary|required|relevant|important)\b"
    r"|\bcan(?:not| not|'t) complain\b|\bcan'?t (?:say|tell) (?:anything )?(?:bad|wrong)|\bno [\w ]{1,30} (?:seen|observed|occurred"
    r"|reported)\b"
    r"|\bnothing (?:is |was )?(?:wrong|missing|broken|failed|fails)\b|\bunlike\b|\bnot because\b|\berror (?:rate|bars?|margin)\b"
    r"|\b(?:handling|handler|handlers|checking|correction|codes? table|messages? table|log level)\b",
    re.IGNORECASE,
)
_SETTLED = lazy(
    r"\b(?:fix(?:ed|es)|resolv(?:ed|es)|solv(?:ed|es)|cured?|repaired|gone|went away|goes away|succeeded|succeeds|successful(?:ly)?"
    r"|pass(?:ed|es)(?! (?:through|to|into|on)\b)"
    r"|works? (?:now|again|fine|well|perfectly|great|flawlessly|as expected|everywhere|out of the box|on (?:all|both))"
    r"|working (?:now|again|fine|well|perfectly|great)|(?:is|are|runs?|all|was|were) (?:now )?(?:fine|ok|okay|good|healthy|right|stable)"
    r"|as expected|as intended|by design|on purpose|no topic|(?:is|are|was) history|in the past|back then|had (?:been )?(?:failing"
    r"|an? (?:error|crash"
    r"|issue|problem))"
    r"|(?:not|no longer) affected|closed as|closing|(?:is|was) harmless|(?:can|may) be ignored|disappears? (?:with|after|when)"
    r"|disappeared|helped"
    r"|all \d+ (?:tests )?pass)\b"
    r"|\bPASS(?:ED)?\b|\[\s?OK\s?\]|\.\.\.\s*(?:ok|yes|done|passed)\s*$|:\s*(?:ok|yes|passed|success|healthy|none|true)\s*$",
    re.IGNORECASE,
)
_SETTLING_NEGATED = lazy(
    r"\b(?:not|n't|never|isn't|wasn't|un|without|hardly|cannot be|can't be|be) (?:\w+ )?(?:fix|resolv|solv|cur|gone|succe|pass|help|work)"
    r"|(?:not|n't|never) (?:\w+ ){0,2}as expected|\bto be (?:fixed|resolved)|\bcan this be (?:fixed|solved)|\bhow (?:is|can"
    r"|do) .{0,30}(?:fix|solv)"
    r"|\b(?:was|is|were|has) (?:\w+ )?(?:supposed|said|claimed)|\bworks? (?:fine|well|great|perfectly|as expected) (?:on|with|in|under"
    r"|when|using|for) ",
    re.IGNORECASE,
)
_HYPOTHETICAL = lazy(
    r"[\"']if you\b|^\W*(?:if|in case|whenever you|when you (?:see|get|encounter|run into)|should (?:you|this|it)|unless|suppose"
    r"|assuming|to avoid"
    r"|to prevent"
    r"|for (?:debugging|example|instance)|in order to|e\.g\.|such as)\b"
    r"|\bwould (?:be|like|love|help|make|allow|also|not)\b|\b(?:feature request|please add|add(?:ing)? support|support for .{1,40} would"
    r"|might|may fail|can fail|could fail|if any|or else|in the event|wishlist|roadmap|proposal|nice to have)\b",
    re.IGNORECASE,
)
_OVER = lazy(
    r"\b(?:(?:was|were|is|are|has been|have been|got|now) (?:now )?(?:fixed|solved|resolved|gone)|solved:|resolved:|fixed (?:in|by|with"
    r"|since|it)|(?:that|this|which) (?:fixed|solved|helped)|(?:that|this|which|it) is (?:by design|expected|intended|normal|harmless"
    r"|fine))\b",
    re.IGNORECASE,
)
_AGAIN = lazy(r"\b(?:but|again|still|however|not|n't|until|unless it|until it|be fixed|how)\b", re.IGNORECASE)
"""'It was fixed in 2.5, but 2.6 has it again' is a trouble."""
_CLAUSES = lazy(r"(?<=[.;!?])\s+|\s{1,4}(?:but|however|though|although|yet|while|whereas|except)\s+|\s[-–—]\s|,\s(?=(?:it|this|that"
                      r"|the|and|then|so|i|we)\b)", re.IGNORECASE)
_JOINED = lazy(r"(?<=[A-Za-z])_(?=[A-Za-z])")
LONGEST = 1_200
"""Letters of a line that are weighed."""


def polarity(text: str, *, prose: bool = True) -> str:
    """trouble, fine, hypothetical or neutral. In the output of a program (`prose` false) nothing is hypothetical."""
    if prose and _OVER.search(text) and not _AGAIN.search(text):
        return FINE
    said = NEUTRAL
    for clause in _CLAUSES.split(_JOINED.sub(" ", text[:LONGEST])):
        of_clause = _of_clause(clause, prose)
        if of_clause == TROUBLE:
            return TROUBLE
        said = of_clause if said == NEUTRAL else said
    return said


def _of_clause(clause: str, prose: bool) -> str:
    troubled = _TROUBLE.search(clause) is not None and _TROUBLE.search(_DENIED.sub(" ", clause)) is not None
    if _SETTLED.search(clause) and not _SETTLING_NEGATED.search(clause):
        return FINE
    if not troubled:
        return FINE if _DENIED.search(clause) else NEUTRAL
    return HYPOTHETICAL if prose and _HYPOTHETICAL.search(clause) else TROUBLE
