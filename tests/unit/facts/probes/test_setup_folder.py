"""The folder that a person gives to setup: names in it, and the SDK that is here where none was given."""

from __future__ import annotations

from pathlib import Path

from gpudoctor.capture.open_host import open_host
from gpudoctor.facts.probes.setup_folder import PROBE
from gpudoctor.model.facts import Fact, Facts, Known


def looked(root: Path, **given: object) -> dict[str, Fact]:
    facts = Facts({name.replace("__", "."): Known(value) for name, value in given.items()})
    return dict(PROBE.collect(open_host(None, 10, True, None), facts))


def unpacked(root: Path) -> Path:
    sdk = root / "poplar_sdk-ubuntu_20_04-3.3.0+1403"
    (sdk / "poplar-ubuntu_20_04-3.3.0+7857" / "bin" / "deep" / "deeper").mkdir(parents=True)
    (sdk / "poplar-ubuntu_20_04-3.3.0+7857" / "enable.sh").touch()
    (sdk / "poplar-ubuntu_20_04-3.3.0+7857" / "bin" / "deep" / "deeper" / "file").touch()
    (sdk / "poptorch-3.3.0-cp38-cp38-linux_x86_64.whl").touch()
    return sdk


def test_nothing_is_looked_at_unless_asked(tmp_path: Path) -> None:
    assert looked(tmp_path) == {}
    assert looked(tmp_path, setup__name="cuda", poplar__sdk__installed=[str(unpacked(tmp_path))]) == {}


def test_the_given_folder_three_deep(tmp_path: Path) -> None:
    found = looked(tmp_path, setup__name="poplar", setup__folder=f"{unpacked(tmp_path)}/")
    names = found["setup.files"]
    assert isinstance(names, Known)
    assert "poplar-ubuntu_20_04-3.3.0+7857/enable.sh" in names.value
    assert "poplar-ubuntu_20_04-3.3.0+7857/bin/deep" in names.value
    assert not [name for name in names.value if "deeper" in name]


def test_the_sdk_that_is_here_and_the_one_of_an_enabled_part(tmp_path: Path) -> None:
    sdk = unpacked(tmp_path)
    for installed in (sdk, sdk / "poplar-ubuntu_20_04-3.3.0+7857"):
        found = looked(tmp_path, setup__name="poplar", poplar__sdk__installed=[str(installed)])
        assert found["setup.files_at"] == Known(str(sdk), "--folder")


def test_a_huge_folder_is_not_read_to_its_end(tmp_path: Path) -> None:
    for number in range(4_100):
        (tmp_path / f"file{number}.txt").touch()
    names = looked(tmp_path, setup__name="opencl", setup__folder=str(tmp_path))["setup.files"]
    assert isinstance(names, Known) and len(names.value) == 4_000
