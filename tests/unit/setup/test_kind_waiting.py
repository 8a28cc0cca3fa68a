"""Steps that stop for a person, and groups as they are planned."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from stepping import facts, look, machine, plan

from gpudoctor.model.plan import DONE
from gpudoctor.setup.steps import reboot
from gpudoctor.setup.steps._step import PlanError, Waiting


def test_waits_until_the_path_is_there(tmp_path: Path) -> None:
    acting = machine(tmp_path)
    given = {"text": "Download the SDK", "ready_path": f"{tmp_path}/sdk/poplar_sdk-*/enable.sh", "commands": ["tar xf …"]}
    step = plan("person", look("/e"), **given).begin(acting)
    with pytest.raises(Waiting, match="Download the SDK\n  tar xf"):
        step.apply(acting)
    assert step.missing(acting).endswith("is not there")
    (tmp_path / "sdk" / "poplar_sdk-3.4").mkdir(parents=True)
    (tmp_path / "sdk" / "poplar_sdk-3.4" / "enable.sh").write_text("")
    step.recover(acting).apply(acting)
    assert step.undo(acting) == ()
    assert plan("person", look("/e"), **given).draft.note == f"{tmp_path}/sdk/poplar_sdk-3.4/enable.sh is there"


def test_what_a_person_types_stands_apart_from_the_sentence() -> None:
    draft = plan("person", look("/e"), text="Enrol the key.", commands=["sudo mokutil --import K", "https://example.org/"]).draft
    assert [act.text for act in draft.acts] == ["Enrol the key.", "$ sudo mokutil --import K", "https://example.org/"]


def test_waits_until_a_condition_holds_on_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    acting = machine(tmp_path)
    step = plan("person", look("/e"), text="do it", ready={"fact": "env.CUDA_TEST_SWITCH", "is": "on"}).begin(acting)
    with pytest.raises(Waiting, match="do it"):
        step.apply(acting)
    monkeypatch.setenv("CUDA_TEST_SWITCH", "on")
    step.apply(acting)


def test_a_word_without_a_condition_is_only_shown(tmp_path: Path) -> None:
    acting = machine(tmp_path)
    plan("person", look("/e"), text="Mind the gap").begin(acting).apply(acting)


def test_a_restart_is_seen_by_the_boot_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    acting = machine(tmp_path)
    step = plan("reboot", look("/e"), what="reboot")
    assert step.draft.restart == "reboot"
    step.begin(acting)
    with pytest.raises(Waiting, match="restart the machine"):
        step.recover(acting).apply(acting)
    monkeypatch.setattr(reboot, "boot_id", lambda host: "another")
    step.recover(acting).apply(acting)


def test_a_restart_that_is_not_needed_any_more() -> None:
    known = facts(kernel__release="6.8.0-40-generic")
    ready = {"fact": "kernel.release", "at_least": "6.2"}
    assert plan("reboot", look("/e", known=known), what="reboot", ready=ready).draft.state == DONE
    assert plan("reboot", look("/e", known=facts(kernel__release="5.19.0")), what="reboot", ready=ready).draft.state != DONE
    with pytest.raises(PlanError, match="none of login, reboot, wsl"):
        plan("reboot", look("/e"), what="shutdown")


def test_a_login_is_waited_for_where_groups_are_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    acting = machine(tmp_path)
    step = plan("reboot", look("/e", known=facts(user__is_root=False)), what="login").begin(acting)
    monkeypatch.setattr(reboot, "pending", lambda host: ["render"])
    acting.is_root = False
    with pytest.raises(Waiting, match="so that the groups render count"):
        step.apply(acting)
    assert step.missing(acting) == "this session is not in render yet"
    acting.is_root = True
    step.apply(acting)  # root has no use for them
    assert plan("reboot", look("/e", known=facts(user__is_root=True)), what="login").draft.state == DONE


PERSON = {"user__name": "mia", "user__groups": ["mia", "video"], "user__groups_pending": ["docker"],
          "system__groups": ["root", "mia", "video", "render", "docker"]}  # fmt: skip


def test_only_groups_that_exist_and_are_lacking() -> None:
    draft = plan("group", look("/e", known=facts(**PERSON)), groups=["video", "render", "docker", "gpu"]).draft
    assert draft.changes == ("adds mia to render",) and draft.root and draft.restart == "login"
    assert draft.acts[0].argv == ("usermod", "-aG", "render", "mia")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("groups", "user", "note"),
    [
        (["video"], None, "mia is in video"),
        (["gpu"], None, "no group gpu exists here"),
        (["render"], "root", "root may open every device"),
    ],
)
def test_no_group_is_needed(groups: list[str], user: str | None, note: str) -> None:
    draft = plan("group", look("/e", known=facts(**PERSON), user=user), groups=groups).draft
    assert (draft.state, draft.note) == (DONE, note)


def test_a_probe_that_crashes_leaves_a_condition_open_and_the_rest_to_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine that cannot be read ends a run."""
    from gpudoctor.facts import vocabulary
    from gpudoctor.setup.present_facts import truth_of

    def crash(host: object, known: object) -> object:
        raise RuntimeError("odd machine")

    probes = [replace(probe, collect=crash) if probe.name == "kernel" else probe for probe in vocabulary.all_probes()]
    monkeypatch.setattr(vocabulary, "all_probes", lambda: iter(probes))
    monkeypatch.setenv("CUDA_TEST_SWITCH", "on")
    host = machine(tmp_path).look
    kernel, switch = {"fact": "kernel.release", "at_least": "1.0"}, {"fact": "env.CUDA_TEST_SWITCH", "is": "on"}
    assert truth_of(kernel, host) == "unknown" and truth_of({"any": [kernel, switch]}, host) == "true"
