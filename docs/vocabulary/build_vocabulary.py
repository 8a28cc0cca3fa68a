"""Makes gpudoctor/data/vocabulary.txt: words of machines, software and plain English that are nobody's name.

    build_vocabulary.py --scowl DIR --pci-ids FILE --sources DIR... --texts DIR... [-o FILE]

`--scowl` is the folder of word lists of Debian's package scowl, `--sources` are source trees in C or Python whose string literals and
identifiers are read (the Linux kernel, NVIDIA's open kernel modules, PyTorch), `--texts` are folders of texts about broken set-ups.
A word of the sources or texts is taken only if several files have it, and names of people and places are left out.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import re

_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.){3,400})"')
_ALNUM = re.compile(r"[A-Za-z0-9]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ENGLISH = ("english", "american", "british")
_SIZES = ("10", "20")
_VENDORS = frozenset("10de 1002 1022 8086 144d 15b3 10ec 14e4 1b21 15b7 14c3 1af4 1414 1ae0 1d0f 15ad 1234 80ee 1e3b 1ed5".split())
RARE = 12
"""Files that a plain English word or a name must stand in to count as technical: wombat is a driver's joke, amber is a generation."""
_NOBODY = frozenset("bob john jack smith rabbit nautilus wombat".split())
_FURTHER = frozenset(
    """
    3dnowprefetch adx amddrm amdkcl amdttm amdxcp aname apport avx512bw avx512cd avx512dq avx512vbmi avx512vl axolotl bdfid
    besteffort biosdevname bitalg bos03 clflushopt clwb colossalai conmon constexpr coopmat coopvec cpasync crio cudafe cuobjdump
    dcdebugmask dcfeaturemask dracut drmgpusvm exl2 exllamav2 exllamav3 expt fatbinary flashattn fsgsbase fusectl fxsr gdrcopy
    gfni gpusvm gscfi gvfsd handoff hdim invpcid irqaffinity isolcpus kubepods lcy02 ldmatrix libpod linuxkit lmdeploy logbsize
    logbufs lora lowerdir lxcfs machete maxrregcount mfma mhwd movbe mqueue msccl mscclpp msize netifnames nolapic nopl noretry
    noserverino nosplash noxattr nsdelegate numa nvmeof nvptx okay omnitrace osi ospke osxsave panic pge pku pni popcnt posixacl
    ppfeature ppfeaturemask ptmxmode rdpid rdseed rdtscp recursiveprot rocprof rocprofv3 rocwmma simdgroup skew slurmstepd softdep
    splash strictatime subvolid switcheroo swrast symlinkroot torchtitan ubuntu1 vbmi2 virtiofs vmlinuz vpclmulqdq vpopcntdq
    vramlimit warp wmma wti xcompiler xcudafe xgetbv1 xlinker xptxas xsavec xsaveopt xtopology
    """.split()
)
"""Parameters of the kernel and of mounts, flags of processors, options of compilers and names of tools that the sources above lack."""
_KEPT_FROM_NAMES = frozenset(
    """
    mei gart adlp adls adln rplp mtlp dg2 bmg lnl ptl pty mok plymouth drvfs dxg gem gsc huc guc drmfb simpledrmdrmfb jammy noble focal
    bionic xenial bookworm bullseye buster trixie sid lunar mantic oracular plucky questing resolute jetson orin xavier thor grace gaudi
    ponte vecchio habana instinct epyc ryzen threadripper xeon celeron pentium snapdragon adreno mali powervr matrox aspeed nouveau
    ada alder amber ampere apple arch asus athlon atlas aurora austin barcelona bonaire carrizo cezanne comet dell devon docker emerald
    fermi fiji gemini gigabyte granite hawaii helm hewlett hopper intel jasper java kepler kingston lenovo lexa linux lisa lovelace
    lucienne lunar maxwell mendocino meteor milan minerva naples navi nvidia oland pascal perl phoenix picasso pitcairn polaris python
    raptor raven red renoir rocky rome ruby rust sapphire sienna stoney tahiti tesla tiger tonga turing ubuntu vega venus verde volta
    windows wolf ziff zen samsung sony toshiba western digital seagate micron gnu bios debian fedora microsoft google amazon azure oracle
""".split()
)


def words_of(text: str) -> set[str]:
    """Runs of letters and digits in lower case, and their parts: ProcessGroupNCCL, process, group, nccl."""
    found: set[str] = set()
    for run in _ALNUM.findall(text):
        if len(run) <= 16:
            if run.isalpha() or (len(run) <= 8 and run[0].isalpha()):
                found.add(run.lower())
            found.update(part.lower() for part in _PART.findall(run))
    return {word for word in found if 3 <= len(word) <= 16}


def scowl(folder: pathlib.Path, kind: str, sizes: tuple[str, ...]) -> set[str]:
    found: set[str] = set()
    for language in _ENGLISH:
        for size in sizes:
            path = folder / f"{language}-{kind}.{size}"
            if path.is_file():
                found |= {word.lower().removesuffix("'s") for word in path.read_text(encoding="latin-1").split()}
    return {word for word in found if len(word) >= 3 and word.isascii() and word.isalpha()}


def pci(path: pathlib.Path) -> set[str]:
    found: set[str] = set()
    vendor = ""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if line[:1] not in ("\t", "#", "") and not line.startswith("C "):
            vendor = line.split(" ", 1)[0]
        if vendor in _VENDORS and not line.startswith("#"):
            found |= words_of(re.sub(r"^\s*(?:[0-9a-f]{4}\s+){1,2}", "", line))
    return found


def counted(texts: list[str], literals: bool) -> collections.Counter[str]:
    """In how many files each word stands; of sources in the string literals, which is what a log shows."""
    count: collections.Counter[str] = collections.Counter()
    for text in texts:
        count.update(words_of(" ".join(_LITERAL.findall(text)) if literals else text))
    return count


def read(folder: pathlib.Path, suffixes: tuple[str, ...]) -> list[str]:
    paths = (path for path in sorted(folder.rglob("*")) if path.suffix in suffixes and path.is_file() and "arch/x86/lib" not in str(path))
    return [path.read_text(encoding="utf-8", errors="replace") for path in paths]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scowl", type=pathlib.Path, required=True)
    parser.add_argument("--pci-ids", type=pathlib.Path, required=True)
    parser.add_argument("--sources", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--texts", type=pathlib.Path, nargs="*", default=[])
    parser.add_argument("--least-sources", type=int, default=2)
    parser.add_argument("--least-texts", type=int, default=3)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "gpudoctor/data/vocabulary.txt")
    given = parser.parse_args()
    names = scowl(given.scowl, "proper-names", ("50", "80", "95")) | scowl(given.scowl, "upper", ("50", "60", "70"))
    english = scowl(given.scowl, "words", _SIZES[:1]) | (scowl(given.scowl, "words", _SIZES) - names)
    usual = scowl(given.scowl, "words", ("10", "20", "35", "40", "50", "55", "60", "70"))
    rare = usual | names
    known = pci(given.pci_ids)
    count: collections.Counter[str] = collections.Counter()
    for folder in given.sources:
        count.update(counted(read(folder, (".c", ".h", ".cpp", ".py", ".cu", ".txt", ".rst")), literals=True))
    told: collections.Counter[str] = collections.Counter()
    for folder in given.texts:
        told.update(counted(read(folder, (".json", ".txt", ".log", ".md", ".toml")), literals=False))
    technical = {word for word, files in count.items() if files >= (given.least_sources if word not in rare else RARE)}
    for folder in given.sources:
        technical |= {word for path in folder.rglob("*") for word in words_of(path.stem.replace("_", " ")) if word not in rare}
    technical |= {word for word, files in told.items() if files >= given.least_texts}
    technical |= {word for word in known if word not in names and (word not in usual or word in technical)}
    words = english | (technical - (names - english)) | _KEPT_FROM_NAMES | _FURTHER
    words -= _NOBODY
    given.output.write_text("\n".join(sorted(words)) + "\n", encoding="ascii")


main()
