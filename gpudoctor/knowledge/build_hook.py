"""Puts the compiled catalogue, recipes and data tables into the wheel: `checks/` and `recipes/` lie beside the package, outside it.

An editable install gets none; it reads the folder of its checkout.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CatalogueHook(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root))
        try:
            from gpudoctor.knowledge.loader import compile_folder
            from gpudoctor.knowledge.recipes import compile_recipes
            from gpudoctor.model.package_data import COMPILED, compiled_table
        finally:
            sys.path.remove(str(root))
        recipes = json.dumps(compile_recipes(root / "recipes"), separators=(",", ":"))
        self._folder = tempfile.TemporaryDirectory()
        files = {"catalogue": compile_folder(root / "checks"), "recipes.json": recipes.encode()}
        for path in (root / "gpudoctor" / "data").glob("*.toml"):
            files[f"{COMPILED}/{path.stem}.json"] = compiled_table(path.read_text(encoding="utf-8")).encode()
        for name, content in files.items():
            compiled = Path(self._folder.name) / name
            compiled.parent.mkdir(exist_ok=True)
            compiled.write_bytes(content)
            build_data["force_include"][str(compiled)] = f"gpudoctor/data/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()
