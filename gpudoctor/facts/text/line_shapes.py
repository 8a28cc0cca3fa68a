"""How the lines of a text look: an exception, a level of a log, a row of a listing, a line of code, a sentence.

Each shape is a list of named parts, regular expressions of which any may match; `roles` decides between shapes.
"""

from __future__ import annotations

import re

from gpudoctor.facts.text.trouble_words import any_of
from gpudoctor.model.lazy_pattern import lazy

# fmt: off
# Tables of words and expressions, several in a line.

SHORTEST_DOCUMENT = 4
"""The number of lines from which on the kind of a document can be recognised."""


def _any(*parts: str) -> str:
    return f"(?:{'|'.join(parts)})"


# --- What programs report
_AFTER_A_PLACE = r"(?:E\s+|\W{0,4}|.{0,120}?:\d+: )?"
_EXCEPTIONS = _any("Error", "Exception", "Warning", "Failure", "Interrupt", "Exit", "Timeout", "Killed")
EXCEPTION = lazy(rf"^{_AFTER_A_PLACE}(?:[A-Za-z_][\w]*[.:]{{1,2}})*[A-Za-z_]\w*{_EXCEPTIONS}(?:\[\w+\])?(?:\s*:|\(|\s*$)")
AT_THE_MARGIN = lazy(r"^(?:[A-Za-z_][\w.]*(?:Error|Exception)\b|\S{1,120}:\d+(?::\d+)?: (?:fatal )?error\b)")
"""The last line of a traceback, or a compiler's error: real even in a text that is mostly code."""
_BAD_WORDS = _any(
    "fatal", "error", "errors", "warning", "panic", "critical", "failed", "failure", "abort(?:ed)?", "exception", "err", "internal error"
)
_ITS_NUMBER = r"(?:\([^)]{0,60}\)|\[[^\]]{0,60}\]|[\w-]{1,20}|C?\d{1,6})?"
ERROR_AHEAD = lazy(
    _any(
        rf"^\W{{0,6}}(?:\S{{1,120}}: )?{_BAD_WORDS}\b\s{{0,8}}{_ITS_NUMBER}\s{{0,8}}[:!\]>]",
        r"^(?:ld|collect2|(?:nvcc|ptxas|cicc|nvlink)[\w-]{0,20} fatal|make\[?\d*\]?|ninja|cmake error)\b.{0,40}[:*]",
        r"^\s*[\w.]{1,30}\s+: (?:fatal )?error\b", r"^(?:nvcc|ptxas|LINK)\s(?:error|fatal)?\s*: ",
        r"^\S{1,200}:\d+(?::\d+)?: (?:fatal )?(?:error|warning)\b", r"^\S{1,200}\(\d+\): (?:fatal )?(?:error|warning)\b",
        r"^terminate called", r"^what\(\):", r"^thread '",
        r"^\s*(?:Segmentation fault|Aborted|Bus error|Illegal instruction|Killed|Floating point exception|Fatal Python error)\b",
    ),
    re.IGNORECASE,
)
BAD_LEVEL = lazy(
    _any(
        r"\blevel=\"?(?i:error|warn|warning|fatal|panic)\b", r"\"level\":\s?\"(?i:error|warn|warning|fatal)\"",
        r"[\[<(|]\s?(?:\w+_)?(?:ERROR|ERR|WARN|WARNING|FATAL|CRITICAL|E|W)\s?[\])>|]",
        r"^(?:\S+ ){0,5}(?:ERROR|WARN(?:ING)?|FATAL|CRITICAL)\b", r"^[EWF]\d{4} ", r"^\d{4}-\d\d-\d\d[T ][\d:.,]+:? [EWF] ",
        r"(?:^|\s)[EWF] \w+/", r"\b(?:NCCL|RCCL) WARN\b", r"\*(?:ERROR|WARNING|WARN)\*",
        r"\[ONNXRuntimeError\] : \d{1,2} : [A-Z]", r"\b(?:kern|daemon)\.(?:err|warn|crit)\b",
        r"^\s*(?:Warning|Failed|Error)\s{2,}\w",
    )
)
GOOD_LEVEL = lazy(
    _any(
        r"\blevel=\"?(?i:info|debug|trace)\b", r"\"level\":\s?\"(?i:info|debug|trace)\"",
        r"[\[<(|]\s?(?:INFO|DEBUG|NOTICE|TRACE|VERBOSE|I|D)\s?[\])>|]", r"^(?:\S+ ){0,5}(?:INFO|DEBUG|NOTICE|TRACE)\b", r"^[IDV]\d{4} ",
        r"^\d{4}-\d\d-\d\d[T ][\d:.,]+:? [IDV] ", r"(?:^|\s)[IDV] \w+/", r"\b(?:NCCL|RCCL) (?:INFO|TRACE)\b", r"\*(?:INFO|NOTICE|DEBUG)\*",
        r"^\s*Normal\s{2,}\w",
    )
)
STAMPED = lazy(
    r"^\s*"
    + _any(
        r"\[\s*\d+\.\d{3,}\]", r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d", r"\[?\d\d:\d\d:\d\d", r"[A-Z][a-z]{2}\s+\d{1,2} \d\d:\d\d:\d\d",
        "time=",
        r"\[rank\d+\]", r"\[[\w.\- ]{1,40}\]\s", r"\([\w ]{1,30}pid=",
    )
)
TESTED = lazy(
    _any(
        r"\s(?:ok|pass|passed)\s{3,}", r"\b(?:PASSED|XFAIL|XPASS|SKIPPED)\b", r"^\[ (?:RUN|      OK|  PASSED) +\]", r"^\[[ =-]+\] ",
        r"\.\.\. ok$", r"^\s*(?:ok|✓|✔) \d* ?-? ?\w",
    )
)
_UNMARKED = (
    r"Got permission denied while trying", r"(?:nothing|no package) provides \S.{0,120} needed by \S",
    r"Unable to find installation candidates\b",
    r"A module that was compiled using NumPy 1\.x cannot be run in", r"Program (?:received|terminated with) signal SIG[A-Z]{3,6}\b",
    r"Failed to build [\w.\-]{2,60}\s{0,8}$", r"Unable to read the model: \S",
    r"(?:\d{1,9}\.\d{3,9}\] )?\w{2,12} [\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.\d: \[drm\] (?:Small BAR device|Using a reduced BAR size)",
    r"The program was built for \d+ devices", "Build program log for ", "The following packages have unmet dependencies",
    r"Abort was called at \d+ line\b", r"Device with [\"']\w{2,12}[\"'] name is not registered\b",
    r"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", r"\w{2,12} backend failed to initialize: \w",
    r"(?:mpirun|mpiexec|prterun) (?:noticed|detected) that \w", r"Primary job\s+terminated normally, but \d",
    r"NVIDIA-SMI has failed because it couldn't communicate", r"ROCk module is NOT loaded\b", r"Native API failed\. Native API returns",
    r"cl[A-Z]\w{3,60}(?:\(\))? (?:returned|failed with) -\d", r"XPU device count is zero", "User is not in (?:the )?group \\w",
    r"(?:Event(?: ID)?:? \d+[:,.]? )?(?:The )?Display driver \w{2,30} stopped responding",
    r"trying to overwrite '/[^']{2,200}', which is (?:also|different from other instances) (?:in|of) ",
    r"The GPU device instance has been suspended", r"EP Error \S", r"(?:CUDA|HIP|XPU) out of memory\. Tried to allocate \d",
)
UNMARKED = lazy(rf"^\W{{0,6}}{_any(*_UNMARKED)}", re.IGNORECASE)
"""Sentences that programs alone write, though nothing marks them as a message."""
TYPED_AND_ANSWERED = lazy(r"\s(?:ERROR|FATAL|Traceback|[A-Z]\w+Error:)(?:[\s:]|$)")
"""Behind a prompt: the answer of the command, put into the same line."""
_STATUSES = r"(?:FAILED|FAIL|Aborted|Segmentation fault|Killed|Timed out|(?:❌|✗|✘).{0,40}\b(?:fail|error|crash|abort|hang))"
_NAMED_EXCEPTION = r"(?:(?:[a-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception)|(?:cuda|hip)Error\w{3,60}): \S"
CELL_OF_TROUBLE = lazy(rf"[|│]\s*`?(?:{_STATUSES}|[A-Z][A-Z_]{{3,}}: \S|{_NAMED_EXCEPTION})")
"""A cell in a table of attempts: 'FAILED', 'UNAVAILABLE: Internal: …'."""
_SETTLED_CELL = (
    r"[|│]\s*\W{0,3}(?:fixed|resolved|solved|closed|done|merged|obsolete|no longer (?:seen|occurs|happens))\b"
    r"(?! (?:size|point|seed|length|it\?))[^|│?]{0,60}[|│]"
)
SETTLED_ROW = lazy(rf"^\s*(?=[|│]).*{_SETTLED_CELL}", re.IGNORECASE)
"""A row of a list of known troubles, one cell of which says that this one is over."""
HEAD_OF_EXPLANATIONS = lazy(
    r"^\s*[|│](?:[^|│]*[|│])*\s*\W{0,3}(?:meaning|cause|reason|explanation|description|remedy|solution|fix|workaround|"
    r"what (?:it means|to do)|"
    r"how to fix)\W{0,3}[|│]",
    re.IGNORECASE,
)
"""The head of a table that explains messages."""
TICKED = lazy(r"^\s*(?:[-*+•]|\d{1,3}[.)]) \[[xX✓]\]\s")
"""A task that is done."""
CMAKE = lazy(r"^\s*CMake (?:Error|Warning)\b")
"""The head of a block: the sentences below it, indented, belong to the message."""

# --- Code and settings
FRAME = lazy(
    r"^\s*"
    + _any('File "', r"at [\w$.<>]+[ (]", r"#\d{1,3}\s", r"frame #\d", r"\^[\^~]*\s*$", r"~+\^", r"\d+: [\w:<>~]+\(", r"\[0x[0-9a-f]+\]")
)
_PYTHON = (
    ">>> ", r"\.\.\. ", r"In \[\d+\]:", r"(?:async )?def \w", r"class \w+[(:]", r"import [\w.]+(?: as \w+)?(?:, ?[\w.]+)*\s*(?:[#;].*)?$",
    r"from [\w.]+ import [\w*(, ]{1,200}(?: as \w+)?\)?\s{0,8}(?:[#;].*)?$", r"return\b", r"raise\b", r"except\b", "try:", "else:", "elif ",
    "finally:", r"(?:if|for|while|with)\b.{0,160}[:{]\s*(?:#.*)?$", r"assert\b.{0,200}(?:[=<>(]|is |in )", r"@\w+",
)
_C = (
    r"#\s?include", r"#\s?define", r"#\s?if", r"#\s?endif", "//", r"/\*", r"\*/", r"\}", r"\{",
    r"\w+\s*=\s*(?:0x[0-9a-fA-F]+|-?\d+),?\s*(?:(?://|/\*).*)?$", r"using \w", r"namespace \w", r"template\s?<", "std::",
    r"(?:const|let|var|static|int|void|auto|float|double|bool|size_t|cl_\w+|hipError_t|cudaError_t|sycl::\w+) \w.{0,200}[;{(=]",
    r"(?:if|for|while|switch) ?\(.{0,300}[;{}]\s*$",
)
_FILES = (
    r"msg(?:id|str)(?:\[\d\])? \"", r"\"(?!error|err|message|msg|detail|reason|exception|stderr|log)[\w.\- ]+\"\s*: ", r"FROM \S+(?:\s|$)",
    r"RUN \S",
    r"ENV \w+[= ]", r"ARG \w", r"COPY \S", "ENTRYPOINT ", r"CMD \[", "WORKDIR /", r"EXPOSE \d", r"find_package\(", r"set\(", r"add_\w+\(",
    r"target_\w+\(", r"message\(", r"option\(",
)
_STATEMENTS = (
    r"(?:[A-Za-z_][\w.\[\]'\"]*)(?:, ?[A-Za-z_][\w.\[\]'\"]*)*\s?(?:[+\-*/|]?=)\s?(?!=)[^=].{0,300}[)\]}\w'\"]\s*(?:#.*)?$",
    r"[\w.]+\([^)]{0,200}\)\s*(?:#.*)?$", r".{0,200}[;{]\s*$",
    r"[\w.]+\([^\"'()]{0,80}[\"'].{0,300}[\"'][\w\s=,.]{0,120}\)\s*(?:#.*)?$",
)
CODE = lazy(r"^\s*(?=\S)" + _any(*_PYTHON, *_C, *_FILES, *_STATEMENTS))
SETTING = lazy(
    _any(
        r"^\s*(?:export |set |setx |\$env:|declare -x |-\s)?\"?[A-Za-z_][\w.\-]{1,60}\"?\s?[=:]\s?[\"']?[^\s\"']{0,200}[\"']?,?\s*$",
        r"^\s*(?:-\s)?[\w.\-/]+:\s{0,8}(?:[|>]-?|&\w+)?\s*$", r"^\s*[\"'][\w.\-]+[\"']\s*:\s", r"^\s*[\]}{\[],?\s*$", r"^\s*#(?!\d)",
    )
)
"""A variable, a key of YAML or JSON, or a comment."""
_LINTERS = _any(
    "mypy", "pyright", "pylint", "flake8", "ruff", "bandit", "black", "isort", "eslint", "tsc", "shellcheck", "hadolint", "clang-tidy",
    "cppcheck",
    "yamllint", "markdownlint",
)
_OF_LINTERS = (
    rf"^\W{{0,4}}{_LINTERS}(?:\[\d+\])?\s?: ",
    r"^\S{1,200}\.pyi?:\d+(?::\d+)?:? (?:- )?(?:error|warning|note|information): .{1,300}[\[(][\w-]{3,40}[\])]\s*$",
    r"^\S{1,200}:\d+:\d+: [A-Z]{1,4}\d{3,5}:? ", r"^\S{1,200}:\d+(?::\d+)?: (?:error|warning): .{1,300}\[[a-z]+[.-][\w.,-]{2,60}\]\s*$",
    r"^\S{1,200}:\d+(?::\d+)?: warning: .{1,300}\[-W(?!error)[\w=+-]{2,60}\]\s*$", r"^\S{1,200}\(\d+\): warning #\d+-D: ",
)
LINTED = lazy("|".join(_OF_LINTERS))
"""A message of a linter about source code, which was not run."""
CHANGED = lazy(r"^[+-](?:\s{2,}|\t)(?=\S)")
"""A line of a patch without its head: the sign, then the indentation of the code."""
IN_A_FILE = lazy(r"^[\w./\\+-]{1,200}\.\w{1,8}[:-]\d{1,6}[:-](?:\s{2,}|(?=\w[\w.]*\())")
"""The prefix that a search prints before a found line. A compiler's message has one space after its prefix."""
DIFF = lazy(r"^(?:@@ -\d|diff --git |--- [ab]/|\+\+\+ [ab]/|Index: )")
_HEADS_OF_PATCHES = (
    "diff ", "index ", "new file", "deleted file", "(?:old|new) mode", "similarity ", "rename ", "copy ", "Binary files", "Index: ",
    "={10,}",
)
OF_A_PATCH = lazy(rf"^(?:[+\- @\\]|$|{_any(*_HEADS_OF_PATCHES)})")
CODE_FENCES = frozenset(
    "python py c cpp c++ cuda java js ts go rust dockerfile docker yaml yml json toml ini cmake diff patch makefile julia html xml".split()
)
SEARCH = lazy(r"^(?:rg|ag|ack|git (?:grep|log|show|diff|blame))\b|^grep\b.* -\w*[rR]")
"""What these print are lines of files."""

TESTS_FOR_WORDS = lazy(r"^(?:(?:el)?if|while|until) (?:! ?)?(?:[\w/.-]{1,40} [^;]{0,200}\|\s?)?[efz]?grep\b")
"""A script that looks whether a program printed words: 'if dmesg | grep -q "…"; then'."""

# --- Listings
_TAGS = r"(?:pip3?|conda|opencl:\w|level_zero:\w|ext_oneapi_\w|cuda:\w|hip:\w)"
LISTED = lazy(
    _any(
        r"^\s*[|+│┌└├╭╰┃╞╘═─━](?!─▶).*", r"^\s*[-=*+_]{4,}\s*$", r"^(?:ii|rc|un|iU|iF)\s{1,3}\S", r"^\s*\S[^:]{0,60}\S\.{3,}\s?\S",
        r"^\s{2,}[A-Za-z(]\S.{0,60}?\s{2,}\S", r"^[\w ()\-.]{2,40}\s{2,}:\s\S",
        rf"^\s*(?:\[{_TAGS}[\w:]*\](?:\[[\w:]+\])?)\s",
        r"^\s*[A-Za-z0-9_.\-\[\]]+(?:==|@ )\S+", r"^\s*[A-Za-z][\w.\-]{1,60}\s{1,40}v?\d+(?:\.\d+)+\S*(?:\s+\S{1,60}){0,2}\s*$",
        r"^\s*-{1,2}[\w\-]+(?:[ =][\w<\[\]>|.,-]+)?\s{2,}\S", r"^[0-9a-f]{2,4}:[0-9a-f:.]{2,10}\.[0-9] \w",
        r"^\s*\w[\w /().\-]{1,48}\s?:\s{2,}\S",
        r"^\s*[\w\-.]+\s{2,}\S+(?:\s{2,}\S+)+\s*$", r"^[A-Za-z][\w /().\-#]{1,50}\s{0,40}\t\s*\S", r"^\S+\.so[\d.]* \(.{1,40}\) =>",
        r"^\s*\S+ => \S+",
    )
)
_OF_COLLECT_ENV = (
    "PyTorch version", "Is debug build", "CUDA used to build", "ROCM used to build", "OS", "GCC version", "Clang version", "CMake version",
    "Libc version", "Python version", "Python platform", "Is (?:CUDA|XPU) available", "XPU used to build", "CUDA runtime version",
    "CUDA_MODULE_LOADING set to", "GPU models and configuration", r"GPU \d+", "Nvidia driver version", "cuDNN version",
    "HIP runtime version",
    "MIOpen runtime version", "Is XNNPACK available", r"Intel GPU (?:driver|models)\b.{0,40}", "Versions of relevant libraries",
)
_OF_OTHER_TOOLS = (
    "CPU", "Architecture", r"Vulnerability [\w ]+", "Model name", "Flags", "Driver Version", "CUDA Version", "Product Name",
    "Kernel driver in use",
    "Kernel modules", "Subsystem", "Name", "Version", "Summary", "Home-page", "Author", "License", "Location", "Requires", "Required-by",
    "Platform Name", "Device Name", "Marketing Name", "Vendor Name",
)
WITH_ITS_VERSION = lazy(r"^\s*[A-Za-z][\w.\-]{1,60}\s{1,40}v?\d{1,9}(?:\.\d{1,9}){1,9}\S{0,60}\s{1,40}(?P<rest>\S.*)$")
"""A row of a list of packages, or the title of a report: 'sampler 2.1 hangs half-way'."""
KEYED = lazy(rf"^\s*{_any(*_OF_COLLECT_ENV, *_OF_OTHER_TOOLS)}\s?:", re.IGNORECASE)

# --- Words of people
_PERSONS = (
    "I", "I'm", "I've", "my", "me", "we", "our", "us", "you", "your", "someone", "anyone", "anybody", "please", "thanks", "thank you",
    "hello",
    "hi", "help",
)
_SENTENCES = (
    "tried", "trying", "try", "seems?", "looks like", "why", "how (?:can|do|to|come)", "is there", "are there",
    "does (?:it|this|anyone|the)",
    "what (?:is|do|can|am)", "should", "still", "also", "because", "since", "after", "before", "until", "even", "just", "really", "maybe",
    "the same", "however", "works?", "worked", "everything", "nothing", "whether", "which", "that", "when", "but", "and then", "though",
    "like",
    "got", "get", "gets", "want", "need", "expect(?:ed)?", "happens?", "idea", "question", "edit:", "update:", "today", "yesterday",
)
PROSE = lazy(any_of(_PERSONS, _SENTENCES), re.IGNORECASE)
PROGRAM = lazy(
    _any(
        "::", r"\(\)", "0x[0-9a-fA-F]{2,}", r"\.so\b", r"\.cpp\b", r"\.py\b", r"\.cc\b", r"\.c\b", r"\.dll\b", "[A-Za-z]_[A-Za-z]",
        "[A-Z]{3}_",
        r"^\S{1,40}: ", r"[\w)]: [`'\"<\[(\w]", r"'\S+'", r"`\S+`", r"\[\w+\]", r"^\s*\[", r"\w=\S", r"/\w+/\w+", r"\\\w+\\", r"^\S+: ",
        r"-{2}\w",
        r"\berrno\b", r"\bcode[: ]\d", r"<\w+>",
    )
)
"""Marks by which a line shows that a program wrote it."""
ONE_PERSON = lazy(r"\b(?:I|I'm|I've|my|me)\b")
SPEAKS_OF_ONESELF = lazy(r"\b(?:I|I'm|I've|my|mine|me|we|our|us)\b", re.IGNORECASE)
TITLE = lazy(
    r"^\W{0,3}"
    + _any(
        r"\[?(?:bug|issue|feature|question|rfc|docs?|perf|help|request|usage|installation|performance)[\]:)]",
        r"title:|summary:|describe|description|steps to|expected|actual|current behaviou?r|environment\b",
    ),
    re.IGNORECASE,
)
_ADVISING = (
    "try", "use", "set", "make sure", "ensure", "check", "install", "reinstall", "update", "upgrade", "downgrade", "consider", "see",
    "note",
    "please (?:check|make|try|install|update|see|use|refer|ensure|set|note|upgrade|reinstall|run)",
    "you (?:can|may|need|should|must|could|might|have to|will need)",
    "to (?:fix|solve|resolve|work around|avoid|use|enable|install|run|do|get|see)", "compile with", "for (?:debugging|more|details)", "tip",
    "hint",
    "solution", "workaround", "answer", "run the following", "first,", "then,", "next,", "verify", "add", "remove", "disable", "enable",
    "increase", "reduce", "lower",
)
ADVICE = lazy(
    rf"^\W*{_any(*_ADVISING)}\b|\byou (?:need to|should|must|can|may want|have to)\b|\b(?:troubleshooting|faq)\b", re.IGNORECASE
)
_REQUESTS = (
    r"^\W{0,3}(?:feature|enhancement|proposal|rfc|wishlist|suggestion)(?: request)?\s?[\]:)]",
    r"\bplease (?:let (?!us know|me know)|support |add (?:support|an? (?:option|flag|way|check))\b)",
    r"\b(?:would|could) be (?:nice|great|good|helpful|useful|better)\b",
    r"^\W*how (?:can|do|could|should|would) (?:I|we|one|you) (?:count|match|parse|grep|filter|catch|silence|suppress|simulate)\b",
    r"\b(?:could|can|would) (?:you|we|someone|somebody) (?:please |also |maybe )?(?:add|catch|document|mention|rename|cover|expose)\b",
    r"\b(?:it|this|that|one|which|they) should (?:\w+ )?(?:retry|print|say|warn|catch|tell|report|show|refuse|fall back|be able)\b",
)
REQUEST = lazy(_any(*_REQUESTS), re.IGNORECASE)
"""A wish, whatever message it quotes."""
_WISHES = (
    r"^\W{0,6}(?:feature|enhancement|documentation|docs?) request\s?[\]:)]", r"\bplease (?:document|rename|translate|mention)\b",
    r"\bplease (?:explain|describe|clarify|list) what .{3,300}\bmeans?\b",
)
WISH = lazy(_any(*_WISHES), re.IGNORECASE)
"""A wish for the program or its manual, whatever level the message has that it quotes."""
ASKING_HEADING = lazy(r"^\s{0,3}#{2,6} (?:what|why|when|how|where|which|is|are|does|do|can)\b.{3,300}\?\W{0,4}$", re.IGNORECASE)
QUOTES = lazy(r"[\"`“].{3,300}[\"`”]")
_MESSAGE = r"(?:[`\"'“‘]|\w{2,60}(?:Error|Exception|Warning): )"
_GUIDING = (
    r"(?:notes? from|(?:an? )?interview question|exercise|quiz|question \d+[.:]|lesson \d+|chapter \d+|glossary)\b",
    r"(?:example|sample) (?:row|entry|record):", r"(?:user|human|customer|student): ?(?:what|why|when|how|and how|and what) ",
    r"(?:if|when|whenever|in case|should) (?:you|it|this|that|the \w{2,30}) (?:ever |still )?"
    rf"(?:see|get|encounter|meet|receive|hit|run into|says?|prints?|shows?|reports?)\b[^,;]{{0,40}}?{_MESSAGE}",
    r"(?:this|the) (?:pr|pull request|patch|commit|page|section|guide|article|document|docs|documentation|readme) "
    r"(?:\w+ )?(?:explain|describ|document|cover|list|catch|handl|avoid|prevent|fix|discuss|show|tell)\w*\b",
    rf"(?:q(?:uestion)?: ?)?what (?:does|do|is|means?) (?:the )?(?:\w+ )?{_MESSAGE}.{{0,300}}\bmeans?\b", "q: ?(?:what|why|when|how) ",
    rf"(?:the|this|an?) (?:error|message|warning|exception)(?: message)?:? {_MESSAGE}.{{2,300}}[`\"'”’]\)? "
    r"(?:occurs?|happens?|appears?|means|is (?:raised|shown|printed|thrown|reported)|indicates?|comes?)\b"
    r" (?:when|if|because|that) (?!\w{1,30}ing\b)",
    r"(?:as |like )?(?:the |its |their )?(?:[\w.'-]{2,20} )?(?:docs?|documentation|manual|wiki|readme|man page|faq|specification|guide) "
    r"(?:says?|states?|mentions?|explains?|notes?|reads?|writes?|lists?|tells?)\b",
    r"(?:is|are) there (?:no|any) [^?`\"']{3,80}\?\s{0,8}$",
    rf"(?:the|this) (?:\w+ )?(?:error|message|warning|line|wording):? {_MESSAGE}.{{2,300}}[`\"'”’]\)? "
    r"(?:should (?!not\b)|could|would be|means\b|stands for\b)",
    r"(?:[^.:!?\"'`]{1,100} )?(?:users?|customers?|applications?|systems?|you) (?:may|might|can|could) "
    r"(?:also |sometimes |occasionally )?(?:observe|see|encounter|experience|get|hit|receive|notice)\b",
)
LEADS_TO_AN_EXAMPLE = lazy(
    r"^\W{0,6}(?:(?:\d+[.)]|[A-Z]\w{2,20}:) )?(?:if|when|whenever|in case|should) (?:you|it|this|that|the \w{2,30}) (?:ever |still )?"
    r"(?:see|get|encounter|meet|receive|hit|run into|says?|prints?|shows?|reports?)\b[^,;.]{0,60}$",
    re.IGNORECASE,
)
"""A clause that a block with a message follows: 'If you see the message'."""
EXPLAINS_AN_EXAMPLE = lazy(
    r"^\W{0,6}(?:(?:then|here|in this case|sometimes|on (?:some|older) \w{2,20}),? )?you (?:may|might|could|would) (?:also |then |still )?"
    r"(?:see|get|encounter|meet|receive|hit|run into)\b[^;?]{0,100}:\s*$|"
    r"^\W{0,6}(?:an?|the|any) (?:\w{2,20} )?(?:error|message|warning|exception|line)s?(?: message)? (?:such as|like) "
    r"(?:the following|this)\b[^?]{0,80}\b(?:means?|indicates?|shows?|says?|tells?|is (?:normal|harmless|expected))\b[^?]{0,120}:\s*$",
    re.IGNORECASE,
)
"""'You may see this error:', 'A message such as the following means that …:'."""
_CODES = (
    r"cudaError[A-Z]\w+", r"CUDA_ERROR_\w+", r"hipError[A-Z]\w+", r"HSA_STATUS_\w+", r"CL_[A-Z]\w+", r"(?:ZE|UR|PI)_RESULT_\w+",
    r"CU(?:DNN|BLAS|SOLVER|FFT)_STATUS_\w+", r"MIOPEN_STATUS_\w+", r"DXGI_ERROR_\w+", r"VK_ERROR_\w+", r"Xid \d+",
)
SEVERAL_CODES = lazy("|".join(rf"{code}[`'\"]?(?:, | and | or |/|, and | & )[`'\"]?{code}" for code in _CODES))
"""'cudaErrorInvalidValue, cudaErrorIllegalAddress and …': a sentence about error codes, since no program reports several at once."""
GUIDING = lazy(rf"^\W{{0,6}}{_any(*_GUIDING)}", re.IGNORECASE)
"""A guide, a question or a change is about a message that may appear: 'If you see `…`, install the driver.'"""
_KINDS_OF_CHANGES = r"(?:fix(?:es|ed)?|feat|chore|docs|refactor)(?:\([\w./ -]{1,40}\))?!?: \S"
_CHANGING = _any(
    "fix(?:es|ed)?", "handle[sd]?", "avoid(?:s|ed)?", "prevent(?:s|ed)?", "work(?:ed|s)? around", "catch(?:es)?", "suppress(?:es|ed)?",
    "silenced?",
)
_CHANGED = _any(
    r"(?:[\w-]{2,20} )?(?:crash(?:es)?|errors?|hangs?|deadlocks?|segfaults?|regressions?|bugs?|leaks?)\b",
    r"(?:[\w-]{2,20} )?(?:failures?|warnings?|exceptions?|races?|typos?)\b",
    r"[`\"'“]", r"[\w.]{2,60}(?:Error|Exception|Warning)\b",
)
"""'Fix crash …', '- Avoid a deadlock …', 'Handles `…`': a change, described by the message that it prevents."""
COMMITTED = lazy(
    _any(
        rf"^(?:[-*+•] )?(?:[0-9a-f]{{7,40}} )?{_KINDS_OF_CHANGES}",
        r"^(?:[-*+•] |[0-9a-f]{7,40} )[^\n]{3,300}\(#\d{1,7}\)\s{0,8}$",
        rf"^(?:[-*+•] |\d{{1,3}}\. |[0-9a-f]{{7,40}} )?{_CHANGING} "
        r"(?:an? |the |some |more |(?:rare|random|possible|potential|occasional|spurious) )*"
        rf"{_CHANGED}",
    ),
    re.IGNORECASE,
)
"""A line of a changelog or of the history of a repository: '* fix: RuntimeError: … (#42)'."""
_NO_TROUBLE = (
    "how (?:can|do|to|does|should)", "is there (?:a|any)", "which", r"recommend\w*", "support for", "add", "feature", "request", "proposal",
    "rfc",
    r"announc\w*", r"releas\w*", "changelog", "benchmarks?", "guide", "tutorial", "wish", "idea", "exercise", "lesson", "slides", "history",
    "weekly", "status", "minutes", "log file", r"introduc\w*", "thanks?", r"success\w*",
)
ASKING = lazy(any_of(_NO_TROUBLE), re.IGNORECASE)
"""A first line that asks for or reports something other than a trouble."""
SOLVED = lazy(r"^\W*(?:solved|resolved|fixed|closed|success)\b\W", re.IGNORECASE)
_GOOD_ENDS = (
    "(?:is|are|all|now|then|perfect,?) (?:resolved|solved|fixed)", "clos(?:ing|ed) (?:as|this|it|since)", "works as (?:intended|designed)",
    "by design", "works (?:now|again)", "working (?:now|again)", "problem (?:is )?(?:gone|solved|fixed)",
    "that (?:was|did) (?:it|the trick)",
    "solved,? thank",
)
ENDS_WELL = lazy(any_of(_GOOD_ENDS), re.IGNORECASE)
_LATER = r"(?:edit|update|upd|eta)(?: ?\d{1,2})?\W+"
SOLVED_NOW = lazy(
    _any(
        rf"^\W*(?:{_LATER})?(?:solved|resolved|fixed)(?:\W*$|[.!,:]|\s(?:by|with|it|now|after|this|that)\b)",
        rf"^\W*{_LATER}(?:it|this|that|everything|all)(?: all)? (?:works|is (?:solved|fixed|resolved|working))"
        r"(?: now| again| fine)*\b(?! (?:on|in) )",
    ),
    re.IGNORECASE,
)
"""A line that only says that the trouble is over: 'Solved.', 'EDIT: solved with a newer wheel'."""
GONE_NOW = lazy(r"\b(?:warning|error|message|problem|issue|crash|exception)s? (?:is|are) (?:now )?gone\b", re.IGNORECASE)
_WAS_SOLVED = (
    r"^(?!.*\b(?:nothing|fail\w*|crash\w*)\b).{0,200}\b(?:solved|fixed|cured|resolved) (?:it|this|the (?:problem|issue|error))\b.{0,60}"
    r"\b(?:since(?: then)?\W*$|works? now\b)",
    r"\bwas my (?:own )?(?:fault|mistake)\b.{0,120}\bworks?(?: now| fine| again)?\W*$",
)
WAS_SOLVED = lazy(_any(*_WAS_SOLVED), re.IGNORECASE)
"""A sentence that ends well: 'a new riser solved it and it has run since'."""
REMARKED_AS_SOLVED = lazy(r"\s\((?:fixed|solved|resolved)(?: now)?\b[^()?]{0,100}\)\s{0,8}$", re.IGNORECASE)
"""Somebody's remark behind a message: 'libfoo.so => not found (fixed now by installing it)'."""
ON_CONDITION = lazy(any_of(("if", "when", "with", "without", "by", "unless", "while", "as long as", "cpu", "why")), re.IGNORECASE)
"""'The error is gone when the variable is set' is a way around it."""
OPEN_AGAIN = lazy(any_of(("still", "again", "same", "another", "also", "not", "but")), re.IGNORECASE)
NOT_YET = lazy(any_of(("but", "not", "n't", "until", "unless", "how", "why", "if", "still", "only", "cpu")), re.IGNORECASE)
# fmt: on
