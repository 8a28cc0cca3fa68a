"""Systems that a text names and that are not at hand: one from which a person logs in, one where it works, one that a page supports."""

from __future__ import annotations

import re

from gpudoctor.model.lazy_pattern import lazy

LONGEST = 400
"""Letters of a line that can be prose."""
_MAC = (
    r"(?:macos|mac os x|os x|macbooks?(?: (?:pro|air))?|mac (?:mini|studio|pro)|imac|(?:an? |my |the )macs?(?! \w+ address))\b"
    r"(?: ?\d{2}(?:\.\d+)*)?"
)
_WINDOWS = r"windows\b(?: (?:1[01]|server))?"
_LINUX = r"(?:linux|ubuntu|debian|fedora)\b(?: \d{2}(?:\.\d{2})?)?"
_WSL = r"wsl ?-?[12]?\b"
_SYSTEM = rf"(?:{_MAC}|{_WINDOWS}|{_WSL}|{_LINUX})"
_AND = r"(?:\s?[,/+&]\s?(?:and |or )?|\s(?:and|or|as well as)\s(?:on )?)"
_IN_A_LIST = (
    rf"(?:{_SYSTEM}{_AND}){{1,4}}{_MAC}(?:{_AND}{_SYSTEM}){{0,3}}", rf"{_MAC}(?:{_AND}{_SYSTEM}){{1,4}}",
    rf"(?:{_WINDOWS}{_AND}linux|linux{_AND}{_WINDOWS})\b",
)  # fmt: skip
"""'Linux, macOS and Windows': a list of systems that cannot all be at hand."""
_WAY_IN = (
    r"(?:ssh|log(?:ged|ging)? in|connect(?:s|ed|ing)?|connection|putty|rdp|vnc|vpn|tunnel|client|vs ?code|editor|browser|terminal|reached|"
    r"remote\w*)"
)
_PAGE = (
    r"(?:readme|docs?|documentation|page|wiki|manual|website|supports?|supported on|"
    r"(?:guide|tutorial|wheels?|builds?|binaries|installers?|ports?) for)"
)
_FAR = r"(?:server|cluster|node|instance|workstation|remote machine|gpu machine|box)"
_FINE = r"(?<!nothing )(?<!never )(?:works|worked|fine|no (?:problem|issue)s?|the same (?:script|code|model|file) \w+)"
_THE = r"(?:my |a |an |our |the )?"
_NOT_HERE = (
    rf"\b{_WAY_IN}\b[^.;!?\n]{{0,60}}?\s(?:from|on|via|with|under)\s{_THE}{_SYSTEM}",
    rf"\bfrom {_THE}{_SYSTEM}(?=[^.;!?\n]{{0,80}}\b{_WAY_IN}\b)",
    rf"\b{_PAGE}\b[^.;!?\n]{{0,60}}?\s{_SYSTEM}(?: only)?", rf"{_SYSTEM} (?:is|are) (?:not )?supported",
    rf"\b{_FINE} (?:\w+ ){{0,3}}?(?:on|under|in) {_THE}{_SYSTEM}",
    rf"\b(?:on|under|in) {_THE}{_SYSTEM},? [^.;!?\n,]{{0,40}}?\b{_FINE}\b",
    rf"(?<!but )\b(?:not|no|nor|unlike|instead of|rather than|neither|n[o']t use)\s(?:(?:on|in|under|using|a|the|my)\s){{0,2}}{_SYSTEM}",
    rf"\bmy (?:laptop|notebook) (?:runs|is|has) [^.;!?\n]{{0,20}}?{_SYSTEM}(?=[^.!?\n]{{0,120}}\b{_FAR}\b)",
    r"\b(?:not|n't|without|outside(?: of)?|no) (?:\w+ ){0,2}?(?:in |inside )?(?:a |any |the )?(?:docker )?container\b",
)  # fmt: skip
_ELSEWHERE = lazy("|".join((*_IN_A_LIST, *_NOT_HERE)), re.IGNORECASE)
_NAMED = lazy(r"mac|windows|wsl|linux|ubuntu|container", re.IGNORECASE)
_OF_A_TOOL = lazy(r"^\s*[\w ()/]{2,40}\s?[:=]\s|^\s*[|│]|[\\/]\w+[\\/]")
"""'OS: …', a row of a table and a path describe the machine at hand, whatever else they name."""


def at_hand(text: str) -> str:
    """The text without the systems that its sentences place elsewhere."""
    if _NAMED.search(text) is None:
        return text
    return "\n".join(_of_this_machine(line) for line in text.split("\n"))


def _of_this_machine(line: str) -> str:
    if (
        len(line) > LONGEST
        or _NAMED.search(line) is None
        or (_OF_A_TOOL.search(line) and not re.match(r"\s*supported", line, re.IGNORECASE))
    ):
        return line
    return _ELSEWHERE.sub(" ", line)
