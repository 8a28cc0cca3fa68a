"""A condition in words for readers: 'on Windows' instead of 'platform.kind is windows'. Authors see rules.conditions.english."""

from __future__ import annotations

from collections.abc import Callable

from gpudoctor.model.condition import AnyItem, Combination, Condition, Leaf
from gpudoctor.rules.operators import OPERATORS, STATES

Meaning = Callable[[str], str]
PLATFORMS = {
    "linux": "on Linux", "wsl2": "in WSL 2", "wsl1": "in WSL 1", "windows": "on Windows", "macos": "on macOS",
    "container": "in a container",
}  # fmt: skip
SYSTEMS = {
    "ubuntu": "Ubuntu", "debian": "Debian", "fedora": "Fedora", "arch": "Arch Linux", "rhel": "RHEL", "linuxmint": "Linux Mint",
    "pop": "Pop!_OS", "zorin": "Zorin OS", "centos": "CentOS", "ol": "Oracle Linux",
    "nobara": "Nobara", "manjaro": "Manjaro", "endeavouros": "EndeavourOS", "cachyos": "CachyOS", "rocky": "Rocky Linux",
    "almalinux": "AlmaLinux", "opensuse": "openSUSE", "opensuse-leap": "openSUSE Leap", "opensuse-tumbleweed": "openSUSE Tumbleweed",
    "nixos": "NixOS", "alpine": "Alpine", "gentoo": "Gentoo", "void": "Void Linux", "suse": "SUSE", "windows": "Windows", "macos": "macOS",
}  # fmt: skip
VENDORS = {"nvidia": "an NVIDIA GPU", "amd": "an AMD GPU", "intel": "an Intel GPU", "apple": "an Apple GPU"}


def in_words(condition: Condition, meaning: Meaning) -> str:
    """The condition as one phrase. `meaning` gives the description of a fact from the vocabulary; empty for an unknown name."""
    if isinstance(condition, Leaf):
        return _leaf(condition, meaning)
    if isinstance(condition, AnyItem):
        return f"one of the {_noun(condition.of, lambda _: '')}: {in_words(condition.where, meaning)}"
    if condition.kind == "not":
        return _negated(in_words(condition.parts[0], meaning))
    parts = condition.parts
    if condition.kind == "any":  # an author must write 'or it is not known'; a reader needs no such words
        parts = tuple(part for part in parts if not (isinstance(part, Leaf) and part.operator == "unknown")) or parts
    said = list(dict.fromkeys(_inner(part, meaning, len(parts)) for part in parts))
    return _joined(said, "or") if condition.kind == "any" else " and ".join(said)


def _inner(part: Condition, meaning: Meaning, siblings: int) -> str:
    words = in_words(part, meaning)
    joins = isinstance(part, Combination) and part.kind != "not" and (" and " in words or " or " in words)
    return f"({words})" if joins and siblings > 1 else words


def _joined(words: list[str], last: str) -> str:
    """Several phrases as one: 'on Debian, Ubuntu or Fedora'. A beginning that all share is written once."""
    first = words[0].split(" ")[0]
    if first in ("on", "with", "in") and all(word.startswith(f"{first} ") for word in words):
        words = [words[0], *(word.removeprefix(f"{first} ") for word in words[1:])]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def _negated(words: str) -> str:
    if words.startswith(("on ", "in ", "with ")) and " and " not in words:
        return f"not {words}"
    return f"not ({words})"


def _leaf(leaf: Leaf, meaning: Meaning) -> str:
    values = [str(value) for value in (leaf.value if isinstance(leaf.value, list) else [leaf.value])]
    if leaf.operator in ("is", "in", "contains"):
        if leaf.fact == "platform.kind":
            return _joined([PLATFORMS.get(value, f"on {value}") for value in values], "or")
        if leaf.fact == "os.id":
            return _joined([f"on {SYSTEMS.get(value, value)}" for value in values], "or")
        if leaf.fact == "os.id_like":
            return _joined([f"on a relative of {SYSTEMS.get(value, value)}" for value in values], "or")
        if leaf.fact == "packages.manager":
            return _joined([f"with {value}" for value in values], "or")
        if leaf.fact == "gpu.vendors":
            return _joined([f"with {VENDORS.get(value, value)}" for value in values], "or")
        if leaf.fact == "container.kind":
            return _joined([f"in {value}" for value in values], "or")
        if leaf.fact == "text.stacks":
            return _joined([f"where the text speaks of {value}" for value in values], "or")
    noun = _noun(leaf.fact, meaning)
    if leaf.operator in STATES:
        return f"{noun} {STATES[leaf.operator]}"
    if isinstance(leaf.value, bool) and leaf.operator == "is":
        return f"{noun}: {'yes' if leaf.value else 'no'}"
    value = _noun(leaf.other, meaning) if leaf.other else ", ".join(values)
    return f"{noun} {OPERATORS[leaf.operator].phrase.replace('{value}', value)}"


NOUNS = {
    "os.version": "its version", "torch.build": "the build of torch", "torch.local": "the local part of torch's version",
    "amd.gfx": "the GPU's target",
    "python.kind": "the kind of environment", "measurement.backend": "the backend", "onnxruntime.version": "the version of onnxruntime",
}  # fmt: skip


def _noun(fact: str, meaning: Meaning) -> str:
    if fact in NOUNS:
        return NOUNS[fact]
    said = meaning(fact).partition(":")[0].partition(",")[0].partition(";")[0]
    if " " in said and len(said) <= 60:  # a single word is only the first of several possible values
        return said
    owner, _, last = fact.rpartition(".")
    last = last.replace("_", " ")
    if owner == "said":
        return f"the {last} in the message"
    return f"{last} of {owner.replace('_', ' ').replace('.', ' ')}" if owner else last
