"""Puts into the wheel what is made at its build: the compiled catalogue, recipes and data tables, pages for `man`, completions of shells.

An editable install gets none; it reads the folders of its checkout.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class
from click_man.core import write_man_pages
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EPOCH = "315532800"  # 1980-01-01, the oldest time that a zip archive can hold
COMPLETIONS = {
    "bash": "bash-completion/completions/gpudoctor", "zsh": "zsh/site-functions/_gpudoctor",
    "fish": "fish/vendor_completions.d/gpudoctor.fish",
}  # fmt: skip


class MadeAtBuild(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        self._folder = tempfile.TemporaryDirectory()
        sys.path.insert(0, str(root))
        try:
            from gpudoctor.cli import group
            from gpudoctor.knowledge.loader import compile_folder
            from gpudoctor.knowledge.recipes import compile_recipes
            from gpudoctor.model.package_data import COMPILED, compiled_table

            build_data["shared_data"].update(self._shared(group))
        finally:
            sys.path.remove(str(root))
        recipes = json.dumps(compile_recipes(root / "recipes"), separators=(",", ":"))
        files = {"catalogue": compile_folder(root / "checks"), "recipes.json": recipes.encode()}
        for path in (root / "gpudoctor" / "data").glob("*.toml"):
            files[f"{COMPILED}/{path.stem}.json"] = compiled_table(path.read_text(encoding="utf-8")).encode()
        for name, content in files.items():
            compiled = Path(self._folder.name) / name
            compiled.parent.mkdir(exist_ok=True)
            compiled.write_bytes(content)
            build_data["force_include"][str(compiled)] = f"gpudoctor/data/{name}"

    def _shared(self, group: click.Group) -> dict[str, str]:
        """The files of share/ of an environment or a system, by the path where they are made. The date is SOURCE_DATE_EPOCH's."""
        from gpudoctor import __version__
        from gpudoctor.cli import COMMANDS

        made: dict[str, str] = {}
        pages = Path(self._folder.name) / "man1"
        pages.mkdir()
        day = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH") or EPOCH)))
        context = click.Context(group)
        commands = {name: found for name in group.list_commands(context) if (found := group.get_command(context, name))}
        for name, (_, says) in COMMANDS.items():
            commands[name].short_help = says  # else its first sentence, cut off
        says = "find out why deep learning does not work on a GPU"
        loaded = click.Group("gpudoctor", commands=commands, help=group.help, short_help=says, params=group.params)
        write_man_pages("gpudoctor", loaded, version=__version__, target_dir=str(pages), date=day)
        for page in sorted(pages.iterdir()):
            made[str(page)] = f"share/man/man1/{page.name}"
        for shell, place in COMPLETIONS.items():
            kind = get_completion_class(shell)
            assert kind is not None
            path = Path(self._folder.name) / f"completion.{shell}"
            path.write_text(kind(group, {}, "gpudoctor", "_GPUDOCTOR_COMPLETE").source(), encoding="utf-8")
            made[str(path)] = f"share/{place}"
        return made

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()
