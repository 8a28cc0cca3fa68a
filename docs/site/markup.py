"""Texts as MyST Markdown: whatever they hold, they are text, and never a role, a link or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.markdown_text import block, code
from gpudoctor.rules.templates import readable

__all__ = ["address", "block", "bullets", "code", "container", "heading", "label", "link", "prose", "source_address", "template"]

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_REPOSITORY = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)#([0-9]+)")
_UNSAFE = re.compile(r"[<>\\]")
_ADDRESS = re.compile(r"https?://[!-~]+")


def prose(value: str) -> str:
    """One line of running text. CommonMark takes a backslash before every punctuation of ASCII for the sign itself."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(visible(value).split()))


def template(value: str) -> str:
    """A text over facts, which stand as <kernel.release>."""
    return prose(readable(value))


def label(kind: str, name: str) -> str:
    """The anchor of a check, stack, recipe, fact or rung; unique in all pages."""
    slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    return f"{kind}-{slug}"


def link(text: str, target: str) -> str:
    """`text` is Markdown, `target` a label() of any page."""
    return f"[{text}](#{target})"


def heading(level: int, text: str, target: str = "") -> str:
    """`text` is Markdown."""
    return (f"({target})=\n" if target else "") + f"{'#' * level} {text}"


def bullets(lines: Iterable[str]) -> str:
    """`lines` are Markdown."""
    return "\n".join(f"- {line}" for line in lines)


def container(style: str, content: str) -> str:
    """`content` is Markdown without containers."""
    return f":::{{container}} {style}\n{content}\n:::"


def source_address(ref: str) -> str:
    """Where a source can be read: an address, owner/repo#number on GitHub; empty for anything else."""
    found = _REPOSITORY.fullmatch(ref)
    if found:
        return f"https://github.com/{found[1]}/issues/{found[2]}"
    return ref if _ADDRESS.fullmatch(ref) else ""


def address(ref: str) -> str:
    """A source as a link where it is an address, else as text."""
    target = source_address(ref)
    return f"[{prose(ref)}](<{_UNSAFE.sub(_percent, target)}>)" if target else prose(ref)


def _percent(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"
