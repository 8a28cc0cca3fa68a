"""Synonyms: `words:slow` in a signature matches any word of the group. A group is extended here for all checks at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

PREFIX = "words:"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "not-seen": (
        "not detect", "n't detect", "undetected", "not found", "not find", "n't find", "cannot find", "can't find", "can not find",
        "could not find", "finds no", "found no", "not recogni", "n't recogni", "unrecogni", "not list", "n't list", "lists no",
        "not show", "n't show", "shows no", "not appear", "n't appear", "not see", "n't see", "sees no", "not visible", "invisible",
        "not available", "unavailable", "isn't there", "not there", "disappear", "vanish", "is missing", "are missing", "not picked up",
        "not pick up", "not identif", "not enumerat", "fail to find", "fails to find", "failed to find", "fail to detect",
        "fails to detect", "failed to detect", "unable to find", "unable to detect",
    ),
    "only-some": (
        "shows only", "only shows", "lists only", "only lists", "sees only", "only sees", "finds only", "only finds", "detects only",
        "only detects", "only one of", "only the first", "not both", "instead of both", "fewer than",
    ),
    "slow": (
        "slow", "takes minutes", "takes a minute", "takes several minutes", "takes about a minute", "more than a minute",
        "over a minute", "for minutes", "takes long", "takes very long", "takes too long", "takes forever", "takes ages", "takes hours",
        "long time", "too long", "low performance", "poor performance", "bad performance", "worse performance", "performance drop",
        "performance regress", "half the speed", "times longer", "twice as long", "times as long",
        "minutes to start", "minutes before", "minutes at first",
        "minutes anew", "seconds per iteration", "s/it]", "s/it,", "s/it ", " s/it",
    ),
    "hangs": (
        "hangs", "hang ", " hang", " hanging", "hung up",
        "stuck", "freez", "frozen", "never return", "never finish", "never end", "never start", "deadlock", "does nothing",
        "nothing happens", "no progress", "blocks forever", "waits forever", "not respond", "unresponsive", "stalls",
    ),
    "not-installed": (
        "cannot be installed", "can't be installed", "can not be installed", "could not be installed", "cannot install",
        "can't install", "unable to install", "fails to install", "failed to install", "not install", "n't install",
        "installation fails", "installation failed", "install fails", "install failed", "not installable", "error installing",
        "error while installing", "installation error", "install error", "unmet dependencies", "not going to be installed",
    ),
    "not-built": (
        "fails to build", "failed to build", "not build", "n't build", "build fail", "cannot be built", "can't be built", "build error",
        "error building", "fails to compile", "failed to compile", "not compil", "n't compil", "compilation fail", "compilation error",
        "compile error", "error compiling", "could not build", "unable to build", "build problem", "unable to compile",
    ),
    "not-loaded": (
        "not loaded", "not load", "n't load", "fails to load", "failed to load", "no longer load", "cannot be loaded",
        "can't be loaded", "not loading", "isn't loaded", "cannot load", "can't load", "unable to load", "could not be loaded",
        "cannot be opened", "could not be opened",
    ),
    "dies": (
        "crash", "segfault", "segmentation fault", "core dump", "sigsegv", "sigabrt", "aborts", "aborted", " dies", "access violation",
        "exit code 139", "exit code 134", "0xc0000005", "terminates", " killed",
    ),
    "wrong": (
        "wrong result", "wrong output", "wrong answer", "incorrect result", "incorrect output", "garbage", "gibberish", "nonsense",
        "black image", "black picture", "all black", "corrupt", "differs from the cpu", "differ from the cpu", "different from the cpu",
        "different results", "not the same as", "mismatch", "nan values", "nans", "all zeros", "wrong values",
    ),
    "on-the-cpu": (
        "uses the cpu", "uses cpu", "use the cpu", "using the cpu", "using cpu", "runs on cpu", "runs on the cpu", "running on cpu",
        "running on the cpu", "run on the cpu", "falls back to cpu", "falls back to the cpu", "fall back to cpu", "only cpu",
        "only the cpu", "cpu only", "cpu-only", "cpu is used", "gpu is not used", "not using gpu", "not using the gpu",
        "not using my gpu", "gpu not used", "gpu unused", "n't use gpu", "n't use the gpu", "n't use my gpu", "not use gpu",
        "not use the gpu", "not use my gpu", "ignores the gpu", "100% cpu", " 0% gpu", "gpu usage 0", "gpu stays idle", "gpu is idle",
    ),
}  # fmt: skip
"""The groups, in lower case. A word matches all words that begin with it: 'detect' matches 'detected' and 'detects'."""
_SHORTENED = "n't "
"""A contraction, which occurs at the end of the preceding word."""


@cache
def members(literal: str) -> tuple[str, ...]:
    """The words of a group, or the literal itself. Raises KeyError for an unknown group."""
    if not literal.startswith(PREFIX):
        return (literal,)
    return tuple(f"{'*' if word.startswith(_SHORTENED) else ''}{word.strip()}*" for word in GROUPS[literal.removeprefix(PREFIX)])


def spelled(choice: Iterable[str]) -> Iterator[str]:
    """All words that one alternative of a signature stands for."""
    for literal in choice:
        if literal.startswith(PREFIX):
            yield from members(literal)
        else:
            yield literal
