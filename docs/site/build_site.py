"""Writes the pages of all checks, stacks, recipes and facts, and has Sphinx make a site of them.

    python docs/site/build_site.py [FOLDER]      (the extra `docs`: pip install '.[docs]')

The site is FOLDER/html (FOLDER: build/site), to be opened from disk or served by anything; FOLDER/pages holds its Markdown.
Exit status: 0 built, 1 Sphinx found fault with a page, 2 a file cannot be used or Sphinx is missing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import check_pages
import ladder_pages
import recipe_pages
import reference_pages
from knowledge import Knowledge, gathered

from gpudoctor.model.check import LAYERS
from gpudoctor.services import checking

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
MARK = ".made-by-gpudoctor"


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or any(word.startswith("-") for word in arguments):
        print(__doc__, file=sys.stderr)  # noqa: T201
        return 0 if arguments in (["-h"], ["--help"]) else 2
    missing = [name for name in ("sphinx", "furo", "myst_parser") if find_spec(name) is None]
    if missing:
        return _refused(f"{', '.join(missing)} cannot be imported by {sys.executable}; pip install '.[docs]' brings what is missing")
    folder = Path(arguments[0]) if arguments else ROOT / "build" / "site"
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        return _refused(f"{folder} holds something that this did not make; name a folder that is new or empty")
    try:
        known = gathered()
        pages = dict(all_pages(known))
    except checking.BAD_INPUT as error:
        return _refused(str(error))
    write(pages, folder)
    argv = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-E", "-b", "html", str(folder / "pages"), str(folder / "html")]
    done = subprocess.run(argv, check=False)
    if done.returncode == 0:
        print(f"{len(pages)} pages: {folder / 'html' / 'index.html'}")  # noqa: T201
    return 1 if done.returncode else 0


def all_pages(known: Knowledge) -> Iterator[tuple[str, str]]:
    """(name without .md, Markdown)."""
    guide = reference_pages.guide_pages(guide_texts())
    yield "index", ladder_pages.first_page(known, [(title, name) for title, name, _ in guide])
    for _, name, text in guide:
        yield name, text
    yield "writing-checks", reference_pages.writing_page((ROOT / "checks" / "README.md").read_text("utf-8"), {})
    yield "facts", reference_pages.facts_page(known.facts)
    yield "checks", reference_pages.checks_page(known)
    yield "stacks", ladder_pages.stacks_page(known)
    yield "recipes", recipe_pages.list_page(known)
    for layer in LAYERS:
        yield f"layers/{layer}", ladder_pages.rung_page(layer, known)
    for stack in known.stacks:
        yield f"stacks/{stack.stack}", ladder_pages.stack_page(stack, known)
    for check in known.checks:
        yield f"checks/{check.id}", check_pages.page(check, known)
    for recipe in known.recipes:
        yield f"recipes/{recipe.id}", recipe_pages.page(recipe, known)


def guide_texts() -> dict[str, str]:
    return {path.stem: path.read_text("utf-8") for path in (ROOT / "docs" / "guide").glob("*.md")}


def write(pages: dict[str, str], folder: Path) -> None:
    """Everything that was there before goes."""
    source = folder / "pages"
    for old in (source, folder / "html"):
        shutil.rmtree(old, ignore_errors=True)
    for name, text in pages.items():
        path = source / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (folder / MARK).write_text("")
    for picture in reference_pages.pictures(guide_texts().values(), ROOT):
        there = source / picture.relative_to("docs")
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / picture, there)
    (source / "_static").mkdir()
    for ours in ("pages.css", "pages.js"):
        shutil.copyfile(HERE / ours, source / "_static" / ours)
    shutil.copyfile(HERE / "conf.py", source / "conf.py")


def _refused(why: str) -> int:
    print(f"build_site.py: {why}", file=sys.stderr)  # noqa: T201
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
