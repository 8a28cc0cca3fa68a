"""What a pip step plans and refuses before pip is started; tests/real/test_pip_steps.py starts it."""

from __future__ import annotations

import json
import venv
from pathlib import Path

import pytest
from stepping import facts, look, machine, plan

from gpudoctor.model.plan import DONE, Command
from gpudoctor.setup.packages import pip_lock
from gpudoctor.setup.packages.pip_reports import installed_from
from gpudoctor.setup.steps._step import PlanError
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.writable_host import ActFailed

PYPI = {"pytorch": "https://download.pytorch.org/whl", "pypi": "https://pypi.org/simple"}


@pytest.fixture
def acting(tmp_path: Path) -> ActingHost:
    return machine(tmp_path)


@pytest.fixture
def env(tmp_path: Path) -> Path:
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    return tmp_path / "env"


def test_done_already_by_the_facts_of_a_recording() -> None:
    known = facts(
        python__prefix="/home/u/env",
        python__version="3.11.4",
        python__kind="venv",
        python__distributions={"torch": "2.8.0+xpu", "numpy": "2"},
    )
    seen = look("/home/u/env", {"pytorch": "https://download.pytorch.org/whl"}, known=known)
    assert plan("pip", seen, packages=["torch>=2.8"], index="pytorch/xpu").draft.state == DONE
    other = plan("pip", seen, packages=["torch>=2.8"], index="pytorch/cu128")
    assert "replaces torch 2.8.0+xpu there; gpudoctor setup --undo puts back exactly what was" in other.draft.changes
    assert other.draft.acts == (
        Command(argv=("/home/u/env/bin/python", "-m", "pip", "uninstall", "--yes", "torch")),
        Command(
            argv=("/home/u/env/bin/python", "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-cache-dir",
                  "--index-url", "https://download.pytorch.org/whl/cu128", "torch>=2.8"),
        ),
    )  # fmt: skip


def test_an_address_needs_a_checksum_and_https(env: Path) -> None:
    for text, said in (
        ("torch @ https://example.org/torch-2.8.0-py3-none-any.whl", "has no SHA-256"),
        (f"http://example.org/torch-2.8.0-py3-none-any.whl#sha256={'0' * 64}", "not fetched over https"),
        ("torch=2.8", "no requirement"),
        ("/nowhere/poptorch-*.whl", "no file in /nowhere"),
    ):
        with pytest.raises(PlanError, match=said):
            plan("pip", look(env, PYPI), packages=[text], index="pytorch/xpu")


def test_plain_http_only_for_a_mirror_that_was_asked_for(env: Path) -> None:
    addresses = {"pypi": "http://mirror.site/simple"}
    with pytest.raises(PlanError, match="not fetched over https"):
        plan("pip", look(env, addresses), packages=["torch"])
    step = plan("pip", look(env, addresses, insecure=["pypi"]), packages=["torch"])
    (act,) = step.draft.acts
    assert isinstance(act, Command) and act.argv[-3:] == ("--trusted-host", "mirror.site", "torch")


def test_never_into_the_system(tmp_path: Path, acting: ActingHost) -> None:
    with pytest.raises(PlanError, match="no environment of its own"):
        plan("pip", look("/usr", PYPI), packages=["torch"])
    step = plan("pip", look(tmp_path / "absent", PYPI), packages=["torch"]).begin(acting)
    (tmp_path / "absent").mkdir()
    with pytest.raises(ActFailed, match="no environment of its own"):
        step.apply(acting)


def test_a_package_without_a_checksum_is_said() -> None:
    row = {"metadata": {"name": "torch", "version": "2.8.0+xpu"}, "download_info": {"url": "https://h/t.whl", "archive_info": {}}}
    with pytest.raises(pip_lock.NoChecksum, match="torch"):
        pip_lock.lock([row])
    hashed = {**row, "download_info": {"url": "https://h/t.whl", "archive_info": {"hashes": {"sha256": "a" * 64}}}}
    assert pip_lock.lock([hashed]) == f"torch==2.8.0+xpu --hash=sha256:{'a' * 64}\n"
    assert pip_lock.lock([{**hashed, "is_direct": True}]) == f"torch @ https://h/t.whl --hash=sha256:{'a' * 64}\n"


@pytest.mark.parametrize("name", ["x --index-url https://evil.example", "-r /etc/passwd", "a\nb==1"])
def test_no_name_becomes_a_line_of_its_own(name: str) -> None:
    archive = {"url": "https://h/t.whl", "archive_info": {"hashes": {"sha256": "a" * 64}}}
    with pytest.raises(pip_lock.NoChecksum):
        pip_lock.lock([{"metadata": {"name": name, "version": "1"}, "download_info": archive}])


def test_an_index_for_nothing_is_a_mistake_of_the_recipe(env: Path) -> None:
    with pytest.raises(PlanError, match="belong together"):
        plan("pip", look(env, {**PYPI, "ipex": "https://ipex.example/whl"}), packages=["torch"], first_index="ipex")


def test_what_pip_says_is_not_believed_to_be_what_it_should_be(tmp_path: Path, acting: ActingHost) -> None:
    download = {"url": "https://u:p@h/x.whl?token=t", "archive_info": 3}
    rows = [5, {"metadata": []}, {"metadata": {"name": "x", "version": "1"}, "download_info": download}]
    for number, text in enumerate(("[", "[]", '{"install": 5}', json.dumps({"install": rows}))):
        (tmp_path / f"{number}.json").write_text(text)
    assert installed_from(str(tmp_path), acting) == [{"name": "x", "version": "1", "sha256": "", "from": "https://h/x.whl"}]
