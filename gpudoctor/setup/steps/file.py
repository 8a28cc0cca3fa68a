"""file: a file with given content."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudoctor.model.plan import DONE, FileChange
from gpudoctor.setup.file_change import OneFile, checked_after, checked_path, content_at, needs_root, trigger_acts
from gpudoctor.setup.steps._step import Draft, Kind, Look, PlanError, Settings


def its_content(settings: Settings, now: bytes | None) -> bytes:
    """The content in the settings, whatever the file holds now."""
    return str(settings["content"]).encode()


def whole_file(path: str, content: str, look: Look, given: Settings, mode: int = 0o644) -> Draft:
    """The draft of a step that writes one whole file. Raises PlanError for an unusable path or trigger."""
    path, after, root = checked_path(path), checked_after(given), needs_root(path, look)
    settings = {"path": path, "content": content, "mode": mode, "root": root, "after": after}
    now = content_at(look.host, path)
    if now == content:
        return Draft(settings=settings, state=DONE, note=f"{path} says so already", root=root)
    change = f"writes {path}" if now is None else f"replaces {path}; undo puts back what it was"
    acts = (FileChange(path=path, content=content, mode=mode, root=root), *trigger_acts(after, look.host))
    return Draft(settings=settings, changes=(change,), acts=acts, root=root or bool(after))


class File(OneFile):
    name = "file"
    keys: Mapping[str, type | tuple[type, ...]] = {"path": str, "content": str, "mode": str, "after": list}
    required: tuple[str, ...] = ("path", "content")

    def plan(self, given: Settings, look: Look) -> Draft:
        mode = str(given.get("mode") or "0644")
        if not re.fullmatch(r"0?[0-7]{3}", mode):
            raise PlanError(f"mode = '{mode}' is none such as 0644; this is a mistake in the recipe")
        content = str(given["content"])
        return whole_file(str(given["path"]), content if content.endswith("\n") else f"{content}\n", look, given, int(mode, 8))


KIND: Kind = File(its_content)
