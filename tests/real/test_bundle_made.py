"""A bundle made by pip from an index on loopback."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from wheel_index import Wheel, WheelIndex

from gpudoctor.model.plan import Plan, PlannedStep
from gpudoctor.setup.offline.bundle import BundleError, open_bundle
from gpudoctor.setup.offline.bundle_making import make_bundle
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.local_host import LocalHost
from gpudoctor.system.writable_host import ActFailed


def machine(folder: Path) -> ActingHost:
    (folder / "state").mkdir()
    return ActingHost(LocalHost(budget=600.0), log=folder / "state/log")


def pip_plan(env: str, *steps: dict[str, Any]) -> Plan:
    minor = "{}.{}".format(*sys.version_info)
    settings: list[tuple[str, dict[str, Any]]] = [("venv", {"path": env, "python": sys.executable, "minor": minor, "uv": ""})]
    settings += [("pip", given) for given in steps]
    planned = tuple(
        PlannedStep(number=number, kind=kind, title=kind, why="", layer="framework", recipe="cpu", settings=given)
        for number, (kind, given) in enumerate(settings, 1)
    )
    return Plan(name="cpu", recipe="cpu", title="", stack="", compute="", machine="", env=env, steps=planned)


def test_made_from_an_index_in_the_order_of_the_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    wanted = [
        Wheel("torch", "2.8.0+cpu", requires=["numpy"]), Wheel("torch", "2.9.0+cpu"), Wheel("numpy", "1.26.4"), Wheel("numpy", "2.1.0"),
        Wheel("vision", "0.23", requires=["torch", "numpy"]), Wheel("old", "1.0", requires=["numpy<2"]),
    ]  # fmt: skip
    with WheelIndex(wanted) as index:
        plan = pip_plan(
            str(tmp_path / "env"),
            {"packages": ["torch==2.8.*"], "index": index.url},
            {"packages": ["vision"], "index": index.url},
            {"packages": ["old"], "index": index.url},
        )
        acting = machine(tmp_path)
        made = make_bundle(plan, {}, str(tmp_path / "bundle"), acting, date="2026-11-20")
        names = [path.split("/")[1].rsplit("-py3", 1)[0] for path in made.of("wheels")]
        # vision takes the torch and numpy of the first step; old cannot, and brings its own numpy beside it
        assert names == ["numpy-1.26.4", "numpy-2.1.0", "old-1.0", "torch-2.8.0+cpu", "vision-0.23"]
        assert made == open_bundle(str(tmp_path / "bundle")) and made.date == "2026-11-20"
        assert {entry.source for entry in made.files.values()} == {index.url}
        assert not (tmp_path / "env").exists() and not (tmp_path / "bundle/.work").exists()

        (tmp_path / "bundle/mine.txt").write_text("x")
        with pytest.raises(BundleError, match=r"holds other things \(mine.txt\)"):
            make_bundle(plan, {}, str(tmp_path / "bundle"), acting)
        (tmp_path / "bundle/mine.txt").unlink()
        gone = pip_plan(str(tmp_path / "env"), {"packages": ["torch==7"], "index": index.url})
        with pytest.raises(ActFailed, match=r"step 2: .*torch==7"):
            make_bundle(gone, {}, str(tmp_path / "bundle"), acting)
        with pytest.raises(BundleError, match="which is written last"):
            open_bundle(str(tmp_path / "bundle"))  # half of a bundle is none
