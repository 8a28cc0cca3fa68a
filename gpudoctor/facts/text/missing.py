"""What programs say they did not find: libraries, headers, commands, CMake packages, Python modules, names in them, requirements."""

from __future__ import annotations

import re
from functools import cache

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.facts.text.sections import Sheet
from gpudoctor.model.facts import Known
from gpudoctor.model.lazy_pattern import lazy

MOST = 24
"""The largest number of names: a log with more missing names has one cause for all."""
LONGEST = 1000
"""Letters of a line that are looked at."""
_WORDS = lazy(
    r"cannot open|can't open|not found|no such file|cannot find|can't find|could not|couldn't|unable to|no module named|not recognized|"
    r"not loaded|failed to load|failed to find|provided by|must be installed|not a full path|is missing|error loading|lnk1104|"
    r"cannot execute|importing|has no attribute|cannot import name|matching distribution|satisfies|no versions? of|"
    r"candidates for|no wheels|(?:oserror|importerror): [^\s:]{0,200}\.so|^\s*- [a-z]|was removed|deprecated alias",
    re.IGNORECASE,
)
_SO = r"(?P<name>lib[\w.+-]{1,60}?\.so(?:\.\d+){0,3})\b"
_PLACE = r"(?:[\w.~/+-]{0,200}/)?"
_WINDOWS_PLACE = r"(?:[\w.~:\\/ +-]{0,200}[\\/])?"
_DLL = r"(?P<name>[\w.+-]{2,60}\.dll)"
_HEADER = r"(?P<name>[\w./+-]{2,80}\.(?:hpp|hxx|hh|cuh|h)|(?:cuda|nv|Eigen|eigen3)/[\w./+-]{1,60})"
_COMMAND = r"(?P<name>[A-Za-z][\w.+-]{1,40})"
_FAILED = r"(?:could not|couldn't|unable to|failed to|cannot|can't)"
_PACKAGE = r"`?(?P<name>[A-Za-z][\w.-]{1,60})"
_TOOLS = r"(?P<name>Rust compiler|nvcc|ptxas|cmake|ninja|hipcc|icpx|icx|cl|gcc|clang)\b"
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("so", rf"{_PLACE}{_SO}['\"]?:? ?(?:cannot open shared object|=> not found|is not found|not found)"),
    ("so", rf"{_FAILED} (?:dynamically )?(?:load|open|find|locate|dlopen)[\w ]{{0,30}}?[ :{{]{{1,3}}['\"]?{_PLACE}{_SO}"),
    ("so", rf"(?:OSError|ImportError): {_PLACE}{_SO}\s*$"),
    ("so", rf"Unable to load any of \{{{_SO}"),
    ("dylib", r"(?:Library not loaded|image not found)[^\n]{0,20}?:? ?['\"]?[\w.~/@+-]{0,200}?(?P<name>lib[\w.+-]{1,60}\.dylib)"),
    ("dll", rf"{_DLL}['\"]? ?(?:was not found|not found|is missing|is not found|could not be found|\(?error code (?:126|127))"),
    ("dll", rf"{_FAILED} (?:load|find|locate|open)[\w ]{{0,30}}?[ :{{]{{1,3}}['\"]?{_WINDOWS_PLACE}{_DLL}"),
    ("dll", rf"(?:specified (?:module|procedure) could not be found|error loading)[^\n]{{0,20}}?['\"]{_WINDOWS_PLACE}{_DLL}"),
    ("dll", rf"importing \w+: {_DLL}"),
    ("h", rf"(?:fatal error|error|catastrophic error)[^:\n]{{0,12}}:\s+['\"]?{_HEADER}['\"]?:? (?:no such file|file not found)"),
    ("h", r"(?:cannot open (?:include|source) file:? ?['\"])(?P<name>[\w./\\+-]{2,80})"),
    ("l", r"(?:cannot find|library not found for|unable to find library) -l(?P<name>[\w.+-]{1,40})"),
    ("l", r"LNK1104: cannot open file ['\"](?P<name>[\w.+-]{1,40})\.lib"),
    ("cmd", rf"(?:^|[\s:'\"`/]){_COMMAND}['\"`]?: ?(?:command )?not found\s*$"),
    ("cmd", rf"(?:command not found|Cannot find command):? ['\"]?{_COMMAND}"),
    ("cmd", rf"(?:^|\s)['\"]?{_COMMAND}['\"]? is not recogni[sz]ed as "),
    ("cmd", rf"The term ['\"]{_COMMAND}['\"] is not recogni[sz]ed"),
    ("cmd", rf"command ['\"]{_WINDOWS_PLACE}{_COMMAND}['\"] (?:failed: No such file|not found)"),
    ("cmd", rf"No such file or directory: ['\"](?:[\w.~/ +-]{{0,200}}/)?{_COMMAND}['\"]"),
    ("cmd", rf"(?:^|[\s:'\"`])/(?:[\w.~+-]{{1,60}}/){{1,8}}{_COMMAND}['\"`]?: No such file or directory"),
    ("cmd", rf"/usr/bin/env: ['\"‘]?{_COMMAND}['\"’]?: No such file"),
    ("cmd", rf"exec: ['\"]{_COMMAND}['\"]: executable file not found"),
    ("cmd", rf"cannot execute ['\"‘]?{_COMMAND}['\"’]?: "),
    ("cmd", rf"(?:CMAKE_\w+_COMPILER|compiler)[^\n]{{0,40}}:\s+{_COMMAND}\s+(?:is not a full path|is not found)"),
    ("cmd", rf"{_FAILED} find (?:the )?{_TOOLS}"),
    ("cmd", r"Command ['\"](?P<name>mpicc|cmake|ninja|nvcc|hipcc)['\"] not found"),
    ("cmd", r"(?P<name>CMake|Ninja) (?:must be installed|is required)"),
    ("cmd", r"(?:version for|Compiler:) (?P<name>cl|c\+\+|g\+\+|icx|icpx)\b(?=[^\n]{0,60}(?:not found|cannot find|No such file))"),
    ("cmake", r"package\s+configuration\s+file\s+provided\s+by\s+\"(?P<name>[\w.:+-]{2,40})\""),
    ("cmake", r"^(?!\s*-- )[^\n]{0,80}Could NOT find (?P<name>[\w.:+-]{2,40})\b"),  # '-- ' begins what CMake does without
    ("cmake", r"contains:\s+(?P<name>CUDA::nvToolsExt)\b"),
    ("pip", rf"(?:satisfies the requirement|matching distribution found for|no versions? of|candidates for) {_PACKAGE}"),
    ("pip", rf"Because (?:there (?:is|are) no versions? of )?{_PACKAGE}[^\n]{{0,40}} has no wheels"),
    ("conda", rf"^\s*- {_PACKAGE}(?:\[version)?[=<>~!]{{1,2}}[^\n]{{0,60}}$"),
    ("attr", r"module ['\"](?P<name>[\w.]{2,60}['\"] has no attribute ['\"]\w{2,60})"),
    ("attr", r"cannot import name (?P<name>['\"]\w{2,60}['\"] from (?:partially initialized module )?['\"][\w.]{2,80})"),
    ("attr", r"^\W*(?:AttributeError: )?`?(?P<name>np\.\w{3,20})`? was (?:removed|a deprecated alias)"),
    ("py", r"No module named ['\"]?(?P<name>[A-Za-z_][\w.]{0,80})"),
)  # fmt: skip
_NO_COMMANDS = frozenset({"file", "the", "to", "it", "key", "library", "module", "package", "device", "config", "json", "log"})


_ATTRIBUTE = lazy(
    r"^(?P<module>[\w.]+)['\"] has no attribute ['\"](?P<name>\w+)$|"
    r"^['\"](?P<imported>\w+)['\"] from (?:partially initialized module )?['\"](?P<where>[\w.]+)$"
)


def _dotted(found: re.Match[str]) -> str:
    """'torch.int1', from either wording of the message that a module has no attribute."""
    return f"{found['module'] or found['where']}.{found['name'] or found['imported']}"


@cache
def _compiled() -> list[tuple[str, re.Pattern[str]]]:
    """Kind and compiled pattern. Compiled only once a line speaks of something missing: compiling forty patterns takes as long as
    reading the rest of a short text."""
    return [(kind, lazy(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS]


_STARTS_WITHOUT = lazy(
    r"TF-TRT Warning|some TensorRT libraries|could not find (?:TensorRT|cuda drivers)|Unable to initialize backend '\w+'|"
    r"(?:dso_loader|tensorflow/).{0,200}libnvinfer|libtpu\.so\b|could not locate \S{1,120}: pattern \S{1,120} not found",
    re.IGNORECASE,
)
"""What TensorFlow and JAX look for at their start and nvidia-ctk in its list of all drivers' files, and do without."""
_CONFIGURED = lazy(r"^-- (?:Configuring done|Generating done|Build files have been written)", re.MULTILINE)
_NOT_CONFIGURED = lazy(r"^(?:-- )?Configuring incomplete|^CMake Error\b", re.MULTILINE)


def _was_configured(text: str) -> bool:
    """Whether CMake went on to the end: what it did not find was optional."""
    return _CONFIGURED.search(text) is not None and _NOT_CONFIGURED.search(text) is None


def read(sheet: Sheet, evidence: Evidence) -> None:
    """text.missing: records of kind and name, in the order of the text; always known, perhaps empty."""
    found: dict[tuple[str, str], None] = {}
    configured = _was_configured(sheet.text)
    by_conda = "packagesnotfounderror" in sheet.lower or "unsatisfiable" in sheet.lower
    for index, line in enumerate(sheet.lines):
        if len(found) >= MOST:
            break
        text = line.text[:LONGEST]
        if not _WORDS.search(text) or _STARTS_WITHOUT.search(text):
            continue
        if "contains:" in text or text.rstrip().endswith(("provided", "by")):  # CMake wraps long lines
            text = " ".join([text.rstrip(), *(following.text[:LONGEST].strip() for following in sheet.lines[index + 1 : index + 4])])
        for kind, pattern in _compiled():
            if (kind == "conda" and not by_conda) or (kind == "cmake" and configured):
                continue
            for match in pattern.finditer(text):
                name = _ATTRIBUTE.sub(_dotted, match["name"]) if kind == "attr" else match["name"].replace("\\", "/")
                if kind != "cmd" or name.lower() not in _NO_COMMANDS:
                    found["pip" if kind == "conda" else kind, name] = None
    evidence.facts["text.missing"] = Known([{"kind": kind, "name": name} for kind, name in list(found)[:MOST]], "text")
