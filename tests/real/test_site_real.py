"""The site as Sphinx really builds it: nothing broken in it, nothing missing, nothing from elsewhere, and it can be searched from disk."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import axe, chromium

from gpudoctor.model.check import LAYERS
from gpudoctor.services import checking, setup_planning

ROOT = Path(__file__).resolve().parents[2]
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src", "audio": "src", "object": "data"}
NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author", "copyright"}
pytestmark = [pytest.mark.timeout(900), pytest.mark.rotates("slow", member="the site")]


class Page(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if LOADS.get(tag) in given and not (tag == "link" and set(given.get("rel", "").split()) & NOT_LOADED):
            self.loaded.append(given[LOADS[tag]])
        for name, value in given.items():
            assert not name.startswith("on"), f"{tag} {name}={value}"


@pytest.fixture(scope="module")
def wanted() -> set[str]:
    """Read before the site is built: somebody may be adding checks meanwhile."""
    return names()


@pytest.fixture(scope="module")
def site(wanted: set[str], environment: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "out"
    argv = [str(environment("site") / "bin" / "python"), str(ROOT / "docs" / "site" / "build_site.py"), str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=800, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=folder.parent)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}


def names() -> set[str]:
    knowledge = checking.catalogue()
    return {
        *(f"checks/{check.id}" for check in knowledge.checks),
        *(f"stacks/{stack.stack}" for stack in knowledge.stacks),
        *(f"recipes/{recipe.id}" for recipe in setup_planning.book().recipes),
        *(f"layers/{layer}" for layer in LAYERS),
        *(f"guide/{path.stem}" for path in (ROOT / "docs" / "guide").glob("*.md")),
        "index", "facts", "checks", "stacks", "recipes", "writing-checks",
    }  # fmt: skip


def test_everything_has_its_page_and_is_in_the_search_index(wanted: set[str], site: Path, pages: dict[Path, Page]) -> None:
    there = {str(path.relative_to(site).with_suffix("")) for path in pages}
    assert wanted - there == set()
    text = (site / "searchindex.js").read_text("utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    assert wanted - set(index["docnames"]) == set()


def test_no_link_and_no_anchor_leads_nowhere(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                assert parts.scheme == "https" or parts.scheme == "http", f"{path.name}: {link}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            if known is None or (parts.fragment and unquote(parts.fragment) not in known.anchors):
                broken.append(f"{path.name}: {link}")
    assert broken == []


def test_no_page_loads_anything_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for loaded in page.loaded:
            parts = urlsplit(loaded)
            assert (not parts.scheme and not parts.netloc) or parts.scheme == "data", f"{path.name}: {loaded}"
            assert parts.scheme == "data" or (path.parent / unquote(parts.path)).is_file(), f"{path.name}: {loaded}"
    for sheet in site.rglob("*.css"):
        assert "url(http" not in sheet.read_text("utf-8").replace('"', "").replace("'", ""), sheet
        assert "url(//" not in sheet.read_text("utf-8").replace('"', "").replace("'", ""), sheet


def test_it_is_read_and_searched_from_disk_at_every_width(site: Path) -> None:
    shown = [
        "index",
        "layers/kernel-driver",
        "checks/intel-kernel-too-old",
        "stacks/torch-xpu",
        "recipes/torch-xpu-linux",
        "guide/report",
    ]
    with chromium() as browser:
        for width, scheme in ((1280, "light"), (390, "dark")):
            context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page = context.new_page()
            asked: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            for name in shown:
                page.goto((site / f"{name}.html").as_uri())
                assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, (name, width)
                violations, _ = axe(page)
                serious = [one["id"] for one in violations if one["impact"] in ("serious", "critical")]
                assert serious == [], (name, scheme, [node["html"] for one in violations for node in one["nodes"]][:5])
            page.goto((site / "search.html").as_uri() + "?q=intel-kernel-too-old")
            page.wait_for_selector("#search-results li a[href*='checks/intel-kernel-too-old']", timeout=20_000)
            assert [address for address in asked if not address.startswith(("file:", "data:"))] == []
            context.close()
