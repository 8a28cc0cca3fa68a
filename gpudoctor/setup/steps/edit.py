"""edit: removes lines and words from a file that others wrote.

remove_lines: texts with which a line begins (without its indentation); such a line becomes a comment.
remove_words: words of a quoted or bare list, such as i915.force_probe in GRUB_CMDLINE_LINUX="quiet i915.force_probe=56a0"; a word
with a value after = goes as well. Only in lines that begin with `in_lines` (default: GRUB_CMDLINE).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudoctor.model.plan import DONE, Act, FileChange, Word
from gpudoctor.setup.file_change import OneFile, checked_after, checked_path, content_at, needs_root, trigger_acts
from gpudoctor.setup.steps._step import Draft, Kind, Look, PlanError, Settings

MARK = "# taken out by gpudoctor: "


def edited(text: str, settings: Settings) -> str:
    """The text without those lines and words; the same text where it does not hold them."""
    return "".join(_line(line, settings) for line in text.splitlines(keepends=True))


def _line(line: str, settings: Settings) -> str:
    begins = line.lstrip()
    if any(begins.startswith(text) for text in settings["remove_lines"]):
        return f"{MARK}{line}"
    if begins.startswith(settings["in_lines"]):
        for word in settings["remove_words"]:
            line = re.sub(rf"(?P<before>[\s\"'=]){re.escape(word)}(=[^\s\"']*)?(?=[\s\"']|$)", _without, line)
    return line


def _without(match: re.Match[str]) -> str:
    """What replaces a word and the character before it: nothing for a space; a quote or = stays."""
    return "" if match["before"] in " \t" else match["before"]


def _wanted(settings: Settings, now: bytes | None) -> bytes | None:
    # Bytes that are no UTF-8 must stay as they are.
    return None if now is None else edited(now.decode("utf-8", "surrogateescape"), settings).encode("utf-8", "surrogateescape")


class Edit(OneFile):
    name = "edit"
    keys: Mapping[str, type | tuple[type, ...]] = {"path": str, "remove_lines": list, "remove_words": list, "in_lines": str, "after": list}
    required: tuple[str, ...] = ("path",)

    def plan(self, given: Settings, look: Look) -> Draft:
        path, after = checked_path(str(given["path"])), checked_after(given)
        lines, words = [str(text) for text in given.get("remove_lines", ())], [str(word) for word in given.get("remove_words", ())]
        if not (lines or words) or not all(text.strip() for text in [*lines, *words]):
            raise PlanError("an edit needs remove_lines or remove_words, none of them empty; this is a mistake in the recipe")
        root = needs_root(path, look)
        settings = {
            "path": path, "remove_lines": lines, "remove_words": words, "in_lines": str(given.get("in_lines") or "GRUB_CMDLINE"),
            "after": after, "root": root,
        }  # fmt: skip
        now = content_at(look.host, path)
        if now is None and look.host.knows(path) and not look.host.exists(path):
            return Draft(settings=settings, state=DONE, note=f"there is no {path}", root=root)
        if now is not None and edited(now, settings) == now:
            return Draft(settings=settings, state=DONE, note=f"{path} does not say so", root=root)
        changes = [f"{path}: '{text}' becomes a comment" for text in lines] + [f"{path}: {word} is taken out" for word in words]
        # Where the file cannot be read, an export must not write one.
        act: Act = FileChange(path=path, content=edited(now, settings), root=root) if now else Word(text="; ".join(changes))
        acts = (act, *trigger_acts(after, look.host))
        return Draft(settings=settings, changes=tuple(changes), acts=acts, root=root or bool(after))


KIND: Kind = Edit(_wanted)
