"""All addresses and versions of the recipes, asked for on loopback; and the commands that show recipes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from http_tree import Tree
from wheel_index import WheelIndex

from gpudoctor.cli import run, show_recipe
from gpudoctor.cli.show import _block
from gpudoctor.model.condition import Condition
from gpudoctor.model.recipe import Address, Recipe, RecipeBook, StepTemplate
from gpudoctor.rules.templates import fields_of
from gpudoctor.services import setup_planning
from gpudoctor.setup.verify_online import OnlineRow, summary, verify_online
from gpudoctor.system.http import HttpClient


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def tree() -> Iterator[Tree]:
    with Tree() as one:
        yield one


def book(addresses: dict[str, Address], *steps: tuple[str, dict[str, Any]]) -> RecipeBook:
    templates = tuple(StepTemplate(do=kind, title="", why="", layer="framework", settings=settings) for kind, settings in steps)
    always: Condition = setup_planning.book().recipes[0].applies
    return RecipeBook(recipes=(Recipe(id="mine", name="torch-xpu", title="", applies=always, steps=templates),), addresses=addresses)


def rows(known: RecipeBook) -> dict[str, OnlineRow]:
    return {row.what: row for row in verify_online(known, HttpClient(online=True))}


def test_versions_are_asked_of_their_own_index() -> None:
    with WheelIndex({"torch": "2.8.1+xpu", "numpy": "2.1.0"}) as index:
        addresses = {
            "pytorch": Address(name="pytorch", kind="python-index", url=index.at("whl")),
            "pypi": Address(name="pypi", kind="python-index", url=index.url),
        }
        found = rows(
            book(
                addresses,
                ("pip", {"packages": ["torch==2.8.0+xpu", "numpy"], "index": "pytorch/xpu"}),
                ("pip", {"packages": ["numpy{setup.pin}", "{setup.packages}"]}),
                ("pip", {"packages": ["torch"], "index": "{setup.index}"}),
            )
        )
    gone = found["torch==2.8.0+xpu on pytorch/xpu"]
    assert (gone.recipe, gone.address, gone.status) == ("mine", "pytorch", "problem")
    assert "nearest: 2.8.1+xpu; gpudoctor setup torch-xpu --torch 2.8.1" in gone.detail
    assert found["numpy on pytorch/xpu"].status == found["numpy on pypi"].status == "ok"  # that it is there is known, the version is not
    assert found["{setup.packages}"].status == found["torch"].status == "unknown"
    assert "{setup.index}" in found["torch"].detail


def test_repositories_downloads_and_addresses_that_no_step_names(tree: Tree) -> None:
    signed = b"-----BEGIN PGP SIGNED MESSAGE-----\n\nSuite: jammy\nComponents: main\nSHA256:\n 0 1 main/binary-amd64/Packages\n"
    tree.files = {"/apt/dists/jammy/InRelease": signed, "/apt/dists/jammy/main/binary-amd64/Packages": b"Package: libze1\nVersion: 1\n"}
    tree.files |= {"/files/a.zip": b"a", "/alone/": b"x", "/alone": b"x"}
    addresses = {
        "vendor": Address(name="vendor", kind="apt", url=f"{tree.url}/apt"),
        "files": Address(name="files", kind="download", url=f"{tree.url}/files"),
        "alone": Address(name="alone", kind="python-index", url=f"{tree.url}/alone"),
        "lost": Address(name="lost", kind="python-index", url=f"{tree.url}/lost"),
    }
    known = book(
        addresses,
        ("apt.repository", {"repository": "vendor", "suite": "jammy", "components": ["main"]}),
        ("apt.repository", {"repository": "vendor", "suite": "{os.codename}", "components": ["main"]}),
        ("apt.install", {"packages": ["libze1=2", "libze1=1", "other", "libze1={setup.pin}"]}),
        ("download", {"address": "files", "path": "a.zip"}),
        ("download", {"address": "files", "path": "b.zip"}),
        ("download", {"address": "files", "path": "{setup.file}"}),
    )
    found = rows(known)
    status = {what: row.status for what, row in found.items()}
    assert status == {
        "vendor jammy": "ok", "vendor {os.codename}": "unknown", "libze1=2": "problem", "libze1=1": "ok", "a.zip": "ok", "b.zip": "problem",
        "{setup.file}": "unknown", f"{tree.url}/alone": "ok", f"{tree.url}/lost": "problem",
    }  # fmt: skip
    assert found[f"{tree.url}/lost"].recipe == "-"
    assert summary(list(found.values())).startswith("9 looked at: 4 as they should be, 3 not")


def mirror_all(folder: Path, url: str) -> None:
    lines = [f'{name} = "{url}/{name}"' for name in setup_planning.book().addresses]
    (folder / "gpudoctor").mkdir(exist_ok=True)
    (folder / "gpudoctor" / "config.toml").write_text("\n".join(["[mirrors]", *lines, ""]))


def test_the_command_fails_where_something_is_gone(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("gpudoctor.setup.availability.ReachedServers.get", _only_loopback(tree))
    mirror_all(tmp_path, tree.url)
    assert run(["list", "recipes", "--verify-online", "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)["rows"]
    assert any(row["status"] == "problem" and row["recipe"] == "torch-xpu-linux" for row in told)
    mirror_all(tmp_path, "http://127.0.0.1:1")
    assert run(["list", "recipes", "--verify-online"]) == 4  # nothing is known to be wrong, and little is known at all
    (tmp_path / "gpudoctor" / "config.toml").write_text('[mirrors]\npytroch = "https://m"\n')
    assert run(["list", "recipes", "--verify-online"]) == 2
    assert "did you mean 'pytorch'" in capsys.readouterr().err


def _only_loopback(tree: Tree) -> Any:
    """Keys that lie elsewhere than their repository would be asked of the vendor: a unit test asks nobody."""
    from gpudoctor.setup.availability import ReachedServers
    from gpudoctor.system.http import Answer

    real = ReachedServers.get

    def get(self: ReachedServers, url: str, limit: int, timeout: float = 60.0) -> Answer:
        return real(self, url, limit, timeout) if "127.0.0.1" in url else Answer(url, problem="unreachable")

    return get


def test_recipes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "recipes", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)["recipes"]
    assert {row["id"] for row in listed} == {recipe.id for recipe in setup_planning.book().recipes}
    assert set(listed[0]) == {"name", "id", "platform", "title", "steps", "archived"}
    assert run(["list", "recipes"]) == 0
    text = capsys.readouterr().out
    assert "(archived)" in text and "{" not in text


@pytest.mark.parametrize("known", setup_planning.book().recipes, ids=lambda known: known.id)
def test_every_recipe_can_be_shown(known: Recipe) -> None:
    text = " ".join(" ".join(show_recipe.lines(known, _block)).split())
    assert f"gpudoctor setup {known.name}" in text and not fields_of(text.replace("${", ""))
    for step in known.steps:
        if isinstance(step, StepTemplate) and "{" not in step.why:
            assert " ".join(step.why.split()) in text
    assert all(source.ref in text for source in known.sources if len(source.ref) < 60)
    assert json.dumps(show_recipe.table(known))


@pytest.mark.parametrize("name", ["intel-driver-wsl", "pytorch-directml"])  # the second is the name of a stack as well
def test_the_command_shows_a_recipe(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", name]) == 0
    out = capsys.readouterr().out
    assert f"\n{name}   for " in out and "\nplan it   gpudoctor setup " in out


def test_a_recipe_name_leads_to_its_recipes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "intel-driver"]) == 2
    assert "gpudoctor show intel-driver-arch or" in capsys.readouterr().err
    assert run(["show", "torch-xpu-linux", "--format", "json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert [step["do"] for step in table["steps"]] and table["sources"][0]["ref"]
