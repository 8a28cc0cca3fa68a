"""Names that people and programs give to devices and systems: which vendor, which product, which release."""

from __future__ import annotations

import re
from functools import cache

from gpudoctor.facts.text.evidence import Evidence
from gpudoctor.model.lazy_pattern import lazy

_PCI_ID = lazy(r"\b(8086|10de|1002|1d95):([0-9a-f]{4})\b", re.IGNORECASE)
_NVIDIA = (
    r"(?:NVIDIA )?(?:GeForce )?(?:RTX|GTX)[ -]?(?:PRO )?A?\d{3,5}(?: ?(?:Ti|SUPER|Ada|Blackwell|Max-Q|Laptop))*|"
    r"(?:NVIDIA |Tesla )(?:[AHBLVPTK]\d{1,3}\w?(?:-\w+)*|GH200|GB[123]00|Titan[\w ]{0,4}|Quadro[\w ]{0,12}|Jetson[\w ]{0,16}|"
    r"RTX[\w ]{0,12})|"
    r"\b(?:[AHB]100|[HB]200|GH200|GB[123]00|L40S?|A6000|A40|V100|Titan (?:RTX|V|Xp?))\b|"
    r"GeForce(?! (?:drivers?|game|experience|now)\b)(?: [\w ]{2,20})?|Quadro \w+|Jetson \w+"
)
_AMD = (
    r"(?:AMD )?(?:Radeon )?(?:RX|Pro W|PRO W|W|AI PRO R)[ -]?[4-9]\d{2,3}S?(?: ?(?:XTX?|GRE|M|S)\b)?|(?:AMD )?Instinct \w+|"
    r"\bMI\d{2,3}[XA]?\b|Radeon(?:\(TM\)|™)? (?!i?GPUs?\b)[\w ]{2,16}|"
    r"\b(?:[5-7]\d[05]0|90[67]0) ?XTX?\b|\bR9700\b|Radeon VII|\bVega ?\d{1,2}\b|Strix Halo|Steam Deck|"
    r"\b(?:8060S|780M|890M|880M|860M|840M|760M|680M|660M)\b|FirePro \w+"
)
_INTEL = (
    r"Intel\(R\) [\w()/ ]{3,40}|(?:Intel )?Arc(?:\(TM\))? ?(?:Pro )?[AB]\d{2,3}M?(?: Graphics)?|"
    r"(?:Intel )?Arc(?:\(TM\))? (?:Graphics|\d{3}[VT])|"
    r"\b(?:A770M?|A750|A730M|A580|A550M|A380|A370M|A310|B580|B570)\b|\bPro [AB]\d0\b|UHD(?: Graphics)? ?\d{3}|"
    r"UHD Graphics|Iris(?:\(R\))? ?(?:Xe|Plus|Pro)?(?: Graphics)?(?: \d{3})?|HD Graphics ?\d{3,4}|"
    r"(?:Data Cent(?:er|re) GPU )?(?:Flex|Max)(?: Series)? ?1\d\d0?|"
    r"Lunar Lake|Meteor Lake|Arrow Lake|Panther Lake|Battlemage(?: G\d\d)?|DG[12]\b"
)
MAKERS = tuple(
    (maker, lazy(rf"(?<![\w\-])(?:{pattern})", re.IGNORECASE))
    for maker, pattern in (
        ("nvidia", _NVIDIA), ("amd", _AMD), ("intel", _INTEL),
        ("graphcore", r"Graphcore(?: C?\w+)?|GC200|(?:Mk[12] )?IPU-?(?:M2000|POD\d+)|C2 (?:card|IPU)"),
        ("apple", r"Apple M[1-5](?: (?:Pro|Max|Ultra))?|M[1-5] (?:Pro|Max|Ultra)"),
    )
)  # fmt: skip
_PROCESSOR = lazy(
    r"\b(?:Core(?:\(TM\)|™)|(?:Xeon|Pentium|Celeron|Atom|Ryzen|EPYC|Threadripper|Athlon)(?:\((?:R|TM)\)|\b)|"
    r"Core (?:Ultra |i)?\d|i[3579]-\d{4,5}\w*|CPU\b|Processor\b|OpenCL\b)",
    re.IGNORECASE,
)
_THEN_A_PROCESSOR = lazy(r"[\s(]*(?:\w+[\s)]+)?(?:Core\(TM\)|Core i\d|Xeon|Ryzen|EPYC|Threadripper|CPU)\b", re.IGNORECASE)
_INTEL_ID = lazy(r"\bIntel(?:\(R\)[^\[\n]{0,60}\[0x| Corporation Device )([0-9a-f]{4})\b", re.IGNORECASE)
"""Intel's drivers, and lspci, call a GPU that they have no name for by its id."""
_NAME_ENDS = lazy(r"\*\*|\((?!R\)|TM\)|C\))|`", re.IGNORECASE)
"""Behind a product: emphasis, and what stands in parentheses; (R) and (TM) are of the name."""
_BRACKET = lazy(r"\[([^\[\]]{3,60})\]")
"""lspci and inxi: the chip, and in brackets the product."""
GFX = lazy(r"\bgfx(\d{3,4}[a-f]?)\b")


def name_gpu(name: str, evidence: Evidence, prose: bool = False) -> bool:
    """Records the device that `name` names; false where it names none. From `prose`, only the words of the name are kept."""
    intel = _INTEL_ID.search(name[:400])
    if intel:
        evidence.gpu(f"8086:{intel[1].lower()}", intel[0])
        return True
    bracket = _BRACKET.search(name[:400])
    if prose and bracket and any(pattern.match(bracket[1]) for _, pattern in MAKERS):  # 'DG2 [Arc A770]': the product, not the chip
        return name_gpu(bracket[1], evidence, prose)
    name = re.sub(r"(?:\(UUID|\[)[^\n]*", "", name.strip()[:400]).rstrip()[:160]
    by_id = _PCI_ID.search(name)
    if by_id:
        evidence.gpu(f"{by_id[1].lower()}:{by_id[2].lower()}", name)
        return True
    for maker, pattern in MAKERS:
        found = pattern.search(name)
        if found:
            before = name[: found.start()]
            if _PROCESSOR.search(found[0]) or (maker in ("intel", "amd") and _THEN_A_PROCESSOR.match(name[found.end() :])):
                continue
            label = _without_its_sentence(found[0]) if prose or _PROCESSOR.search(before) else _to_its_end(name, found.end())
            label += ")" * (label.count("(") - label.count(")") == 1)  # 'gfx906 (Radeon VII, device 0)', of which a comma ends the part
            evidence.gpu(maker, label)
            if _CUT.match(name, found.end()):
                evidence.cut_names.add(label)
            return True
    return prose and bracket is not None and name_gpu(bracket[1], evidence, prose)


_CUT = lazy(r" ?(?:\.\.\.|…)")
"""nvidia-smi's table cuts long names: 'NVIDIA GeForce RTX 3050 ...'."""
_SENTENCE = lazy(
    r"\s(?:a|after|again|and|any\w*|as|at|because|but|by|can|cannot|does|for|from|gets?|gives?|has|have|in|is|not|of|on|or|out|runs?|since|so|still|that|the|to|"
    r"under|using|was|when|while|with|works?)\b",
    re.IGNORECASE,
)


def _without_its_sentence(words: str) -> str:
    """A product's name without the words that follow it: 'Radeon 780M runs out of' is a Radeon 780M."""
    end = _SENTENCE.search(words)
    return (words[: end.start()] if end else words).strip()


def _to_its_end(words: str, begin: int) -> str:
    """What a listing says of a device, up to an emphasis or a remark behind the product's name, which ends at `begin`."""
    end = _NAME_ENDS.search(words, begin)
    if (
        end and ")" in words[end.end() :] and any(pattern.search(words, end.end()) for _, pattern in MAKERS)
    ):  # 'DG2 (Arc A770)': the chip, then the product
        return words
    return (words[: end.start()] if end else words).strip(" *")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """The compiled pattern. Compiled at its first use, since most texts name no system."""
    return lazy(pattern, re.IGNORECASE)


_NO_PACKAGE = r"(?! \d+(?:\.\d+)+-\d)"
"""The kernel's first line names its compiler: gcc (Ubuntu 12.3.0-1ubuntu1)."""
_SYSTEMS = (
    ("ubuntu", rf"\bUbuntu{_NO_PACKAGE}(?:\s+Linux)?[ \-]*(?P<version>\d{{2}}\.\d{{2}}|\d{{2}}(?=\b))?"),
    ("debian", rf"\bDebian{_NO_PACKAGE}(?: GNU/Linux)?[ \-]*(?P<version>\d{{1,2}})?"),
    ("fedora", r"\bFedora(?: Linux)?[ \-]*(?P<version>\d{2})?"),
    ("nobara", r"\bNobara(?: Linux)?[ \-]*(?P<version>\d{2})?"),
    ("arch", r"\bArch(?: ?Linux)(?P<version>)"),
    ("cachyos", r"\bCachyOS(?P<version>)"),
    ("manjaro", r"\bManjaro(?P<version>)"),
    ("endeavouros", r"\bEndeavour ?OS(?P<version>)"),
    ("linuxmint", r"\b(?:Linux )?Mint[ \-]*(?P<version>\d{2}(?:\.\d)?)?"),
    ("pop", r"\bPop!?_OS[ \-]*(?P<version>\d{2}\.\d{2})?"),
    ("nixos", r"\bNixOS(?P<version>)"),
    ("centos", r"\bCentOS(?: Linux| Stream)?[ \-]*(?P<version>\d{1,2})?"),
    ("rocky", r"\bRocky(?: Linux)?[ \-]*(?P<version>\d{1,2}(?:\.\d+)?)?"),
    ("almalinux", r"\bAlma ?Linux[ \-]*(?P<version>\d{1,2}(?:\.\d+)?)?"),
    ("rhel", r"\b(?:RHEL|Red Hat Enterprise Linux)(?: release)?[ \-]*(?P<version>\d{1,2}(?:\.\d+)?)?"),
    ("opensuse", r"\bopenSUSE[ \-]*(?:Leap|Tumbleweed)?[ \-]*(?P<version>\d{2}\.\d)?"),
)
_WINDOWS = lazy(r"\bWindows(?: Server)? ?(?P<name>11|10|8\.1|7|20\d\d)?\b(?:[^\n]{0,60}?\b10\.0\.(?P<build>\d{5}))?", re.IGNORECASE)
_BUILD = lazy(r"\b(?:10\.0\.|OS Build |build )(?P<build>[12]\d{4})\b|(?<![\d.])(?P<patched>[12]\d{4})\.\d{3,5}(?![\d.])", re.IGNORECASE)
_RELEASE = lazy(
    r"\b(?P<half>2[0-5]H[12])\b|\b(?:version|ver\.?|v|Windows 10(?: Pro| Home| Enterprise)?,?) ?(?P<month>1[5-9]\d\d|2004)\b",
    re.IGNORECASE,
)
_RELEASES = {
    "1809": (17763, None), "1903": (18362, None), "1909": (18363, None), "2004": (19041, None), "20h2": (19042, None),
    "21h1": (19043, None), "21h2": (19044, 22000), "22h2": (19045, 22621), "23h2": (None, 22631),
    "24h2": (None, 26100), "25h2": (None, 26200),
}  # fmt: skip
"""Builds of the releases of Windows 10 and 11: learn.microsoft.com/windows/release-health."""
_WSL = lazy(r"(?<!`-)\bWSL ?-?[12]?\b(?! where applicable)|\bWindows Subsystem for Linux\b|microsoft-standard", re.IGNORECASE)


_EITHER = lazy(r"\b(?:and|or|but|while|whereas|versus|vs|also)\b", re.IGNORECASE)
"""'It works on Windows 11 and fails on Ubuntu' names two systems; it is unknown which one is at hand."""
SYSTEM_WORDS = (
    "ubuntu", "debian", "fedora", "nobara", "arch", "cachyos", "manjaro", "endeavour", "mint", "pop", "nixos", "centos", "rocky", "alma",
    "rhel", "red hat", "opensuse", "windows", "wsl", "microsoft-standard", "macos", "os x",
)  # fmt: skip
"""Every name of a system contains one of these words."""


def _windows_build(value: str, name: str) -> str | int | None:
    """Windows' build, from its number or from its release: 'Windows 10 20H2' is build 19042; None where neither is named."""
    found = _BUILD.search(value)
    if found:
        return found["build"] or found["patched"]
    release = _RELEASE.search(value)
    if release is None:
        return None
    ten, eleven = _RELEASES.get((release["half"] or release["month"]).lower(), (None, None))
    return eleven if name == "11" else ten if name == "10" else ten if eleven is None else eleven if ten is None else None


def name_system(value: str, evidence: Evidence) -> bool:
    """Records the operating system that `value` names; a Linux beside 'WSL' is one inside Windows."""
    named, small = False, value.lower()
    if not any(word in small for word in SYSTEM_WORDS):
        return False
    windows, inside = _WINDOWS.search(value), _WSL.search(value)
    for distribution, pattern in _SYSTEMS:
        found = _compiled(pattern).search(value)
        if found and windows and not inside and _EITHER.search(value, *sorted((found.start(), windows.start()))):
            return True
        if found:
            version = found["version"] or ""
            lines = [f"ID={distribution}", f'PRETTY_NAME="{found[0].strip()[:60]}"', *([f'VERSION_ID="{version}"'] if version else [])]
            evidence.files.setdefault("/etc/os-release", "\n".join(line.replace("`", "") for line in lines) + "\n")
            named = True
            break
    if windows or inside:
        evidence.platform("wsl2" if inside or named else "windows")
        build = windows and (windows["build"] or _windows_build(value, windows["name"] or ""))
        if build:
            evidence.fact("windows.build", int(build), "text")
        return True
    mac = re.search(r"\b(?:macOS|Mac OS X|OS X)\b[ \-]*(?P<version>\d{2}(?:\.\d+)*)?", value)
    if mac:
        evidence.platform("macos")
        if mac["version"]:
            evidence.fact("os.version", mac["version"], "text")
        return True
    if named:
        evidence.platform("linux")
    return named
