"""file, edit and environment: byte for byte back, and nothing of a person's destroyed."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest
from stepping import carry_out, listing, look, machine, plan

from gpudoctor.model.plan import DONE, FileChange, Word
from gpudoctor.setup.steps._step import PlanError
from gpudoctor.setup.steps.edit import MARK
from gpudoctor.system.live_changes import ActingHost

GRUB = """# If you change this file
GRUB_DEFAULT=0
GRUB_CMDLINE_LINUX_DEFAULT="quiet splash i915.force_probe=56a0 pci=realloc"
  GRUB_CMDLINE_LINUX="i915.force_probe=!56a0 xe.force_probe=56a0"
#GRUB_TERMINAL=console i915.force_probe
"""


@pytest.fixture
def acting(tmp_path: Path) -> ActingHost:
    return machine(tmp_path)


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    return tmp_path / "etc"


def test_a_new_file_and_its_folders_go_again(acting: ActingHost, etc: Path) -> None:
    path = etc / "OpenCL" / "vendors" / "pocl.icd"
    step = carry_out("file", look(etc / "env"), acting, path=str(path), content="/usr/lib/libpocl.so", mode="0640")
    assert path.read_text() == "/usr/lib/libpocl.so\n" and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert step.draft.acts == (FileChange(path=str(path), content="/usr/lib/libpocl.so\n", mode=0o640, root=True),)
    assert plan("file", look(etc / "env"), path=str(path), content="/usr/lib/libpocl.so").draft.state == DONE
    assert step.undo(acting) == () and listing(etc) == {}
    assert step.undo(acting) == ()


def test_what_was_there_comes_back_byte_for_byte(acting: ActingHost, etc: Path) -> None:
    path = etc / "old.conf"
    path.write_bytes(b"\xff\x00 no text\r\n")
    path.chmod(0o600)
    before = listing(etc)
    step = carry_out("file", look(etc / "env"), acting, path=str(path), content="new")
    assert path.read_text() == "new\n"
    assert step.undo(acting) == () and listing(etc) == before


def test_a_file_that_was_changed_since_is_kept(acting: ActingHost, etc: Path) -> None:
    path = etc / "some.conf"
    step = carry_out("file", look(etc / "env"), acting, path=str(path), content="ours")
    path.write_text("ours\nand mine\n")
    (line,) = step.undo(acting)
    assert f"{path} is kept: it was changed since; sudo rm {path} removes it" == line
    assert path.read_text() == "ours\nand mine\n"


def test_begun_and_never_done(acting: ActingHost, etc: Path) -> None:
    path = etc / "some.conf"
    step = plan("file", look(etc / "env"), path=str(path), content="ours").begin(acting)
    assert step.undo(acting) == () and not path.exists()
    path.write_text("ours\n")  # written, and then the doctor died
    step.recover(acting)
    assert step.undo(acting) == () and not path.exists()


def test_nothing_of_this_persons_needs_root(etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(etc))
    assert not plan("file", look("/elsewhere"), path=f"{etc}/x", content="x").draft.root
    assert plan("file", look("/elsewhere"), path="/etc/x.conf", content="x").draft.root


@pytest.mark.parametrize("path", ["relative", "/etc/../root/x", "/etc//x"])
def test_paths_are_plain(path: str) -> None:
    with pytest.raises(PlanError, match="no absolute path"):
        plan("file", look("/e"), path=path, content="x")


def test_an_unknown_trigger(etc: Path) -> None:
    with pytest.raises(PlanError, match="did you mean 'udev'"):
        plan("file", look("/e"), path="/etc/x", content="x", after=["udevd"])


@pytest.mark.starts_processes("a shell reads the variables; triggers are commands")
def test_triggers_run_after_and_again_after_undo(acting: ActingHost, etc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, ...]] = []
    real = acting.run
    monkeypatch.setattr(acting, "run", lambda argv, **how: ran.append(tuple(argv)) or real(["true"]))
    step = carry_out("file", look(etc / "env"), acting, path=f"{etc}/x.conf", content="x", after=["ldconfig"])
    assert ran == [("ldconfig",)]
    step.undo(acting)
    assert ran == [("ldconfig",)] * 2


def test_words_and_lines_are_taken_out_and_put_back(acting: ActingHost, etc: Path) -> None:
    path = etc / "grub"
    path.write_text(GRUB)
    given = {"path": str(path), "remove_words": ["i915.force_probe"], "remove_lines": ["GRUB_DEFAULT="]}
    step = carry_out("edit", look(etc / "env"), acting, **given)
    assert path.read_text().splitlines() == [
        "# If you change this file",
        f"{MARK}GRUB_DEFAULT=0",
        'GRUB_CMDLINE_LINUX_DEFAULT="quiet splash pci=realloc"',
        '  GRUB_CMDLINE_LINUX=" xe.force_probe=56a0"',
        "#GRUB_TERMINAL=console i915.force_probe",
    ]
    assert plan("edit", look(etc / "env"), **given).draft.state == DONE
    step.recover(acting).apply(acting)
    assert step.undo(acting) == () and path.read_text() == GRUB


def test_a_word_is_a_whole_word(acting: ActingHost, etc: Path) -> None:
    path = etc / "grub"
    path.write_text('GRUB_CMDLINE_LINUX="xi915.force_probe i915.force_probed=1 nomodeset2"\n')
    draft = plan("edit", look(etc / "env"), path=str(path), remove_words=["i915.force_probe", "nomodeset"]).draft
    assert draft.state == DONE


def test_an_edited_file_that_changed_since_is_kept(acting: ActingHost, etc: Path) -> None:
    path = etc / "grub"
    path.write_text(GRUB)
    step = carry_out("edit", look(etc / "env"), acting, path=str(path), remove_words=["pci"])
    path.write_text(path.read_text() + "GRUB_TIMEOUT=1\n")
    (line,) = step.undo(acting)
    assert "is kept: it was changed since" in line and "GRUB_TIMEOUT=1" in path.read_text()


def test_no_file_no_edit(acting: ActingHost, etc: Path) -> None:
    assert plan("edit", look("/e"), path=f"{etc}/absent", remove_words=["x"]).draft.note == f"there is no {etc}/absent"
    with pytest.raises(PlanError, match="needs remove_lines or remove_words"):
        plan("edit", look("/e"), path=f"{etc}/absent", remove_words=[""])


def test_an_export_never_writes_a_file_that_nobody_read(tmp_path: Path) -> None:
    from gpudoctor.capture.recorded_host import open_recorded

    (tmp_path / "machine.toml").write_text('format = 1\nplatform = "linux"\ncomplete = true\n')
    seen = look("/home/u/env", host=open_recorded(str(tmp_path)))
    draft = plan("edit", seen, path="/etc/default/grub", remove_words=["nomodeset"]).draft
    assert draft.state != DONE
    assert draft.acts == (Word(text="/etc/default/grub: nomodeset is taken out"),)


@pytest.mark.parametrize(
    ("kind", "given", "path", "content"),
    [
        ("udev.rule", {"name": "70-ipu", "content": 'KERNEL=="ipu*", MODE="0666"'}, "/etc/udev/rules.d/70-ipu.rules",
         '# Written by gpudoctor setup.\nKERNEL=="ipu*", MODE="0666"\n'),
        ("modprobe", {"name": "xe", "options": ["options xe force_probe=56a0", "blacklist i915"]}, "/etc/modprobe.d/gpudoctor-xe.conf",
         "# Written by gpudoctor setup.\noptions xe force_probe=56a0\nblacklist i915\n"),
    ],
)  # fmt: skip
def test_rules_and_options(kind: str, given: dict[str, object], path: str, content: str) -> None:
    draft = plan(kind, look("/e"), **given).draft
    assert draft.root and FileChange(path=path, content=content, root=True) in draft.acts


def test_a_line_that_modprobe_would_not_take() -> None:
    with pytest.raises(PlanError, match=r"no line of modprobe\.d"):
        plan("modprobe", look("/e"), name="x", options=["rm -rf /"])
    with pytest.raises(PlanError, match="is none such as 70-render"):
        plan("udev.rule", look("/e"), name="../x", content="x")


# environment


@pytest.fixture
def env(tmp_path: Path) -> Path:
    import venv

    venv.create(tmp_path / "my env", with_pip=False, symlinks=True)
    return tmp_path / "my env"


def shell(env: Path, command: str) -> str:
    script = f'. "{env}/bin/activate"; {command}'
    return subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=True, cwd="/").stdout


@pytest.mark.starts_processes("a shell reads the variables; triggers are commands")
def test_variables_hold_while_it_is_active(acting: ActingHost, env: Path, tmp_path: Path) -> None:
    before = listing(env)
    (tmp_path / "enable it.sh").write_text("export FROM_SCRIPT=yes\n")
    nasty = """a 'b' "c" $HOME `id` \\"""
    step = carry_out(
        "environment",
        look(env),
        acting,
        variables={"HSA_OVERRIDE_GFX_VERSION": "10.3.0", "NASTY": nasty},
        source=[f"{tmp_path}/enable it.sh"],
    )
    assert shell(env, 'printf "%s|" "$HSA_OVERRIDE_GFX_VERSION" "$NASTY" "$FROM_SCRIPT"') == f"10.3.0|{nasty}|yes|"
    second = carry_out("environment", look(env), acting, variables={"SECOND": "2"})
    assert shell(env, 'printf "%s|" "$HSA_OVERRIDE_GFX_VERSION" "$SECOND"') == "10.3.0|2|"
    assert plan("environment", look(env), variables={"SECOND": "2"}).draft.state == DONE
    assert second.undo(acting) == () and step.undo(acting) == ()
    assert listing(env) == before
    assert step.undo(acting) == ()


@pytest.mark.starts_processes("a shell reads the variables; triggers are commands")
def test_what_a_person_wrote_beside_stays(acting: ActingHost, env: Path) -> None:
    step = carry_out("environment", look(env), acting, variables={"A": "1"})
    for path in (env / "bin" / "activate", env / "gpudoctor-env.sh"):
        path.write_text(path.read_text() + "export MINE=1\n")
    assert step.undo(acting) == ()
    assert shell(env, 'printf "%s|" "${A-unset}" "$MINE"') == "unset|1|"


@pytest.mark.parametrize("variables", [{"A B": "1"}, {"A": "1\n2"}, {"A;id": "1"}, {}])
def test_names_and_values_are_checked(env: Path, variables: dict[str, str]) -> None:
    with pytest.raises(PlanError):
        plan("environment", look(env), variables=variables)
