"""The words by which programs and people report a trouble, deny one, or say that it is over. Extended here once, for all checks.

Each tuple holds regular expressions (case ignored) of one kind; `any_of` joins them. They are wide on purpose: a signature asks for its own
words besides.
"""

from __future__ import annotations

from collections.abc import Sequence


def any_of(*groups: Sequence[str], whole: bool = True) -> str:
    """One regular expression that matches any of `groups`; with `whole`, each matches whole words only."""
    joined = "|".join(expression for group in groups for expression in group)
    return rf"\b(?:{joined})\b" if whole else f"(?:{joined})"


# --- Trouble: whole words

# fmt: off
# Tables of words and expressions, several in a line.

NOT_THERE = (
    "never", "nothing", "empty", "zero", "missing", "lost", "dropped", r"disconnect\w*", r"disappear\w*", r"vanish\w*", "no longer",
    "is none", "is false", r"returns? (?:false|0|none)",
    r"only (?:\w+ ){0,3}(?:cpu|one|the first|half|lists?|shows?|sees?|finds?|detects?|available|supports?|on)", "lists? only",
    "shows? only",
)
IMPOSSIBLE = (
    "cannot", "can ?not", "can'?t", "couldn'?t", "could not", "unable", "denied", r"refus\w+", r"re[js]ected", "illegal", "invalid",
    r"un(?:supported|recogni[sz]ed|defined|resolved|expected|available|detected|known|usable|reachable|stable|healthy|satisf\w+)",
    r"conflict\w*", r"incompatib\w+", r"mismatch\w*", "deprecated", r"exceed\w*", "does ?nt", "wont",
)
NOT_SO = (
    "found", r"support\w*", r"availab\w+", r"recogni\w+", r"detect\w*", r"compatib\w+", r"implement\w*", "enabled", "visible", "permitted",
    "allowed", r"install\w*", r"load\w*", r"work\w*", r"compil\w*", "built", r"exist\w*", "see", "seen", r"show\w*", "listed?",
    r"appear\w*",
    "usable", "possible", r"utili[sz]\w+", "use", "used", "using", r"start\w*", r"respond\w*", "divisible", r"initiali[sz]\w*",
    "registered",
    "linked", r"match\w*", "enough", "sufficient", "permission", "image", "kernel", "space", "such", "device", "devices", "gpus?",
    "platforms?", "cards?", "ipus?", "accelerators?", "adapters?", "module", "symbol", "valid", r"allocate\w*", "executed", "accessible",
    "capable", "native", "open", "opened", "assigned", "present", "there", "active", r"accept\w*", "a member", "defined", r"converge\w*",
    r"learn\w*",
    "progress", "response", "output", "driver", "version",
)
"""Words that report a trouble after 'not' or 'no'."""
NONE_OF = (
    "such", "module", "kernel", "devices?", "gpus?", "platforms?", "space", "matching", "compatible", "suitable", "usable", "supported",
    "nvidia", "cuda", "amd", "intel", "opencl", "ipus?", "response", "output", "progress", "permission", "package", "version", "graphics",
    "accelerators?", "hip", "rocm", "xpu",
)
"""Words that report a trouble after 'no' alone."""
DEMANDED = (
    r"needs?\b.{0,40}\bbut", r"requires?\b.{0,60}\b(?:but|found|have|got)", r"is (?:\w+ )?required", "must (?:be|have)",
    r"expected\b.{0,60}\b(?:got|but|found)",
)
AT_ODDS = (r"\b(?:loaded|found|installed|detected|running)\b.{0,80}\bbut\b.{0,60}\b(?:compiled|built|made) (?:with|for|against)",)
"""Two clauses that say it together: 'loaded library 8.0 but source was compiled with 8.1'."""
FAILING = (
    "err", "exceptions?", r"abort\w*", r"crash\w*", r"seg(?:mentation)? ?fault\w*", "sig(?:segv|abrt|ill|bus)", "faults?", "core dumped",
    "killed", "fatal", r"panic\w*", r"assert\w*", "warn(?:ing)?s?", "dies", "died", "dead", "broken?", "breaks?", r"corrupt\w*", "xid",
    r"code -?[1-9]\d*", r"exit(?:s|ed)?(?: with)? (?:code|status) -?[1-9]",
)
HANGING = (
    "keeps", "still", r"timed[ -]?out", "time-?outs?", "hangs?", "hung", "hanging", "stuck", r"freez\w+", r"froze\w*", r"deadlock\w*",
    "forever",
    "again and again", "nothing happens", "stops?", "stopped", "idle", r"delay\w*", "waits?",
)
SHORT_OF = (
    r"out of (?:\w+ )?(?:memory|resources|space|range|disk)", "o{1,2}om", r"overflow\w*", "exhausted", r"insufficient\w*", r"leak\w*",
    "grows", "full",
    "too (?:old|new|small|large|big|long|many|few|low|high|deep)",
)
WRONG = (
    "nans?", "inaccurate", r"incorrect\w*", r"wrong\w*", r"garbage\w*", "gibberish", "nonsense", "black (?:image|picture|screen|output)s?",
    "all zeros?", r"diverg\w+", "strange", r"bad\w*", "bug", r"problem\w*", r"issues?", r"trouble\w*",
)
SLOW = (
    r"slow\w*", r"degrad\w+", r"regress\w*", r"throttl\w+", r"under-?utili[sz]\w+", "times (?:slower|longer)", r"poor\w*", "high cpu",
    "instead of (?:the )?(?:gpu|cuda|xpu|npu|dgpu)", "on (?:the )?cpu (?:only|instead)", "falls? back", "falling back", "fallback to",
    "ignor(?:es|ed|ing)",
)
# --- Trouble: also within longer words, or with marks around
ANYWHERE = (
    r"^\S{1,120}: .{0,200}\bis not an? \w+", "error", "fail", "outof(?:device|host|gpu)?memory", r":\s*false\b", r"\bfalse$",
    r"(?:n't|\b(?:does|did|do|will) not) (?:\w+ ){0,2}\w+", r"\b0 ?% ?(?:gpu|util\w*)", r"\bgpu (?:usage|util\w*|load)?:? ?0 ?%",
)

# --- A trouble that is denied
_FAULTS = (
    "errors?", "failures?", "failed", "fails?", "warnings?", "problems?", "issues?", "troubles?", "crash(?:es)?", "faults?", "hangs?",
    "leaks?",
    "conflicts?", "mismatch(?:es)?", "exceptions?", "timeouts?", "slowdown", "regressions?", "oom", r"out of (?:\w+ )?memory", "nans?",
    "throttling",
)
_COUNTED = (
    "errors?", "failures?", "failed", "warnings?", "mismatch(?:es)?", "missing", "conflicts?", "broken", "retired", "dropped", "lost",
    "timeouts?",
    "overflows?",
)
_DOES_NOT = (
    "fails?", "failed", "crash(?:es|ed)?", "hangs?", "hung", "happens?", "occurs?", "freezes?", "break", "slow", "stuck", "abort",
    "complain",
    "downgrad", "replac",
)
DENIED = (
    r"\b(?:0|zero) (?:errors?|failures?|failed|warnings?|problems?|issues?|crashes|timeouts?)\b(?=\s*(?:[,;.)|/]|$|in\b|and\b))",
    rf"\b(?:no|without(?: any| an?)?|not an?|not any|never an?|free of|nor)\s(?:[\w/\-]+\s){{0,3}}{any_of(_FAULTS)}",
    rf"{any_of(_COUNTED)}\s?[:=]\s?(?:(?:0|none|n/?a|false)\b(?![.:\w])|no\s*$|\[\])",
    rf"\b(?:never|no longer|not|does(?: not|n't)|did(?: not|n't)|do(?: not|n't)|won't|will not)\s(?:\w+\s)?(?:{'|'.join(_DOES_NOT)})\w*",
    r"\bno (?:black screens?|hangs?|freezes?|artefacts?|stutter\w*)\b", r"\bnothing (?:is|was) (?:stuck|wrong)",
    r"\bnever (?:freezes|hangs|crashes|fails)",
    r"(?:\berrors?|\bmessages?|\bwarnings?|\bproblems?|\bissues?|\") (?:is |does |do )?no longer\b",
    r"\bno (?:\w+ ){1,2}(?:was|were|is|are|has|have)(?: been)? (?:killed|lost|dropped|affected|harmed|rebooted|cancelled)\b",
    r"\b(?:do|does|did|have|has)(?: not|n't) (?:get|got|see|seen|have|had|receive|hit|run into|encounter)\b.{0,80}?"
    rf"(?:['\"]|{any_of(_FAULTS, ('messages?',))}).{{0,60}}?\b(?:any ?more|any longer)\b",
    r"\bno longer (?:an issue|a problem|happens|seen|needed|necessary|required)",
    r"\bnot (?:needed|necessary|required|relevant|important)\b",
    r"\bcan(?:not| not|'t) complain\b", r"\bcan'?t (?:say|tell) (?:anything )?(?:bad|wrong)",
    r"\bno [\w ]{1,30} (?:seen|observed|occurred|reported)\b", r"\bnothing (?:is |was )?(?:wrong|missing|broken|failed|fails)\b",
    r"\b(?:it|that|this) (?:was|is)(?: not|n't) (?:the|my|our) (?:cards?|drivers?|gpus?|hardware|software|fault|cause|reason)\b",
    r"\bno such (?:error|message|problem|line|warning)\b",
    r"\bno (?:illegal|invalid|uncorrectable|out[- ]of[- ]bounds|misaligned|unhandled|fatal) [\w ]{2,40}? (?:was|were|is|are) "
    r"(?:encountered|found|detected|seen|observed|reported)\b",
    r"\bunlike\b", r"\bnot because\b", r"\berror (?:rate|bars?|margin)\b",
    r"\b(?:handling|handler|handlers|checking|correction|codes? table|messages? table|log level)\b",
)

_QUOTED = "(?:\"[^\"]{4,200}\"|'[^']{4,200}')"
_TROUBLED = r"(?:errors?|failures?|failed|cannot|not|no|out of|invalid|unsupported|warnings?|messages?|exceptions?|timeouts?)"
FORMER = (
    r"\b(?:I|we) used to (?:see|get|have|hit|receive|encounter|run into)\b(?!.{0,200}\b(?:now|after|since|only|anymore|per|it/s|fps)\b)",
    rf"\bno longer (?:get|see|have|hit|receive|encounter)s? (?:(?:the|this|that|any|an?) )?[`\"'“]?[^`\"',;]{{0,60}}\b{_TROUBLED}\b",
    r"\bno longer (?:get|see|have|hit|receive|encounter)s? [`\"'“]?\w{2,60}Error\b",
)
"""A clause about a trouble that was: 'I used to see …', 'we no longer get …'."""
QUOTED_IN_VAIN = (
    rf"\bno \w+ (?:has|have|had) (?:shown|printed|reported|given|said) {_QUOTED}",
    rf"{_QUOTED}[^.;\"']{{0,80}}\b(?:does|do|did)(?: not|n't) (?:come up|appear|occur|show up)\b", rf"{_QUOTED} had been\b",
    rf"\bno (?:more|further|new) {_QUOTED}(?: (?:or|and|nor) [\w ]{{1,40}})?",
    rf"^before (?:I|we) .{{0,80}}\b(?:this|it) (?:failed|crashed|ended|stopped|died) (?:with|by) {_QUOTED}\. now\b",
)
"""A message is quoted, and the sentence says that it no longer appears."""

# --- A trouble that is over
SETTLED = (
    r"fix(?:ed|es)(?!-|\s(?:size|seed|length|point|width|shape|step|batch|number|amount|frequency|clock|resolution|price))",
    "resolv(?:ed|es)", "solv(?:ed|es)", "cured?", "repaired", "gone", "went away", "goes away", "succeeded", "succeeds",
    "successful(?:ly)?", r"pass(?:ed|es)(?! (?:through|to|into|on)\b)",
    "works? (?:now|again|fine|well|perfectly|great|flawlessly|as expected|everywhere|out of the box|on (?:all|both))",
    "working (?:now|again|fine|well|perfectly|great)", "(?:is|are|runs?|all|was|were) (?:now )?(?:fine|ok|okay|good|healthy|right|stable)",
    "as expected", "as intended", "by design", "on purpose", "no topic", "(?:is|are|was) history", "in the past", "back then",
    "had (?:been )?(?:failing|an? (?:error|crash|issue|problem))", "(?:not|no longer) affected", "closed as", "closing",
    r"no [\w ]{1,40} (?:seen|encountered|observed|occurred) since",
    "(?:is|was) harmless", "(?:can|may) be ignored", "disappears? (?:with|after|when)", "disappeared", "helped", r"all \d+ (?:tests )?pass",
)
SETTLED_BY_A_MARK = (
    r"\bPASS(?:ED)?\b", r"\[\s?OK\s?\]", r"\.\.\.\s*(?:ok|yes|done|passed)\s*$", r":\s*(?:ok|yes|passed|success|healthy|none|true)\s*$",
)
NOT_SETTLED = (
    r"(?:\b(?:not|never|un|without|hardly|cannot be|can't be|be)|n't) (?:\w+ )?(?:fix|resolv|solv|cur|gone|succe|pass|help|work)",
    r"(?:not|n't|never) (?:\w+ ){0,2}as expected", r"\bto be (?:fixed|resolved)", r"\bcan this be (?:fixed|solved)",
    r"\bhow (?:is|can|do) .{0,30}(?:fix|solv)", r"\b(?:was|is|were|has) (?:\w+ )?(?:supposed|said|claimed)",
    r"\bworks? (?:fine|well|great|perfectly|as expected) (?:on|with|in|under|when|using|for) ",
)
OVER = (
    "(?:was|were|is|are|has been|have been|got|now) (?:now )?(?:fixed|solved|resolved|gone)", "(?:solved|resolved):",
    "fixed (?:in|by|with|since|it)", "(?:that|this|which) (?:fixed|solved|helped)",
    "(?:that|this|which|it) is (?:by design|expected|intended|normal|harmless|fine)",
)
"""These end a trouble in whichever clause of the sentence they stand."""
AGAIN = ("but", "again", "still", "however", "not", "n't", "until", "unless it", "until it", "be fixed", "how")
"""'It was fixed in 2.5, but 2.6 has it again' is a trouble."""

# --- A trouble that nobody has yet
IF_AT_ALL = (
    "if", "in case", "whenever you", "when you (?:see|get|encounter|run into)", "should (?:you|this|it)", "unless", "suppose", "assuming",
    "to avoid", "to prevent", "for (?:debugging|example|instance)", "in order to", r"e\.g\.", "such as",
)
"""Words that stand at the beginning of a clause."""
WISHED = (
    "would (?:be|like|love|help|make|allow|also|not)", "feature request", "please add", "add(?:ing)? support", "support for .{1,40} would",
    "might", "may fail", "can fail", "could fail", "if any", "or else", "in the event", "wishlist", "roadmap", "proposal", "nice to have",
)
# fmt: on
