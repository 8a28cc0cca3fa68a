"""Exports without the linters and runs of tests/real: what they hold, refuse and leave out."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
import yaml
from hostile_plans import plans as hostile
from hostile_plans import texts
from hypothesis import HealthCheck, assume, given, settings
from msgspec.structs import replace
from plans import ALL, ARC, POPLAR, REFUSED, ROCM, WSL, apt, step

from gpudoctor.model.plan import DONE, Command, FileChange, Plan
from gpudoctor.reporters.plan import plan_acts, plan_ansible, plan_base, plan_dockerfile, plan_json, plan_shell
from gpudoctor.reporters.shared import schema
from gpudoctor.reporters.shared.shell_text import Unwritable, delimiter, flat, heredoc, word

MADE = {"version": "0.1.0", "date": "2026-11-20"}
CREATED = {"version": "0.1.0", "created": "2026-11-20T10:00:00Z"}
EXPORTS = {"sh": plan_shell, "dockerfile": plan_dockerfile, "ansible": plan_ansible}


class Loader(yaml.SafeLoader):
    """Playbooks as Ansible reads them."""


Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))


def tasks(plan: Plan) -> list[dict[str, Any]]:
    (play,) = yaml.load(plan_ansible.render(plan, **MADE), Loader=Loader)
    return list(play["tasks"])


def one(*acts: Any, **more: Any) -> Plan:
    return replace(ARC, steps=(step(1, more.pop("kind", "file"), "A step", *acts, **more),))


# JSON


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_plan_is_one_document_that_the_published_schema_accepts(name: str) -> None:
    text = plan_json.render(ALL[name], **CREATED)
    assert text.isascii()
    assert schema.complaints(json.loads(text), "plan") == []
    assert [given["title"] for given in json.loads(text)["steps"]] == [planned.title for planned in ALL[name].steps]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"kind": "shell"}, "steps/0/kind"),
        ({"state": "maybe"}, "steps/0/state"),
        ({"restart": "later"}, "steps/0/restart"),
        ({"layer": "kernel driver"}, "steps/0/layer"),
        ({"acts": (Command(argv=()),)}, "steps/0/acts/0"),
        ({"acts": (FileChange(path="/x", fetched_from="https://x"),)}, "steps/0/acts/0"),
    ],
)
def test_the_schema_refuses(change: dict[str, Any], place: str) -> None:
    wrong = replace(ARC, steps=(replace(ARC.steps[3], **change),))
    assert [line for line in schema.complaints(plan_json.document(wrong, **CREATED), "plan") if line.startswith(place)]


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(hostile)
def test_acts_are_exact_in_json_and_texts_for_people_are_clean(plan: Plan) -> None:
    document = json.loads(plan_json.render(plan, **CREATED))
    assert schema.complaints(document, "plan") == []
    argvs = [act["argv"] for given in document["steps"] for act in given["acts"] if act["act"] == "command"]
    assert argvs == [list(act.argv) for planned in plan.steps for act in planned.acts if isinstance(act, Command)]
    assert document["env"] == plan.env
    assert all(char.isprintable() or char in "\n\t" for given in document["steps"] for char in given["title"] + given["why"])


# All three


@pytest.mark.parametrize("name", sorted(EXPORTS))
def test_the_head_says_what_for_which_machine_from_where_and_by_whom(name: str) -> None:
    text = EXPORTS[name].render(ARC, **MADE)
    for said in ("PyTorch on Intel GPUs (XPU)", ARC.machine, "gpudoctor 0.1.0 on 2026-11-20", *ARC.sources, *ARC.warnings, *ARC.remarks):
        assert any(line.startswith("#") and said in line for line in text.splitlines()), said
    assert f"# archived: {WSL.archived}\n" in EXPORTS[name].render(WSL, **MADE)


@pytest.mark.parametrize("name", sorted(EXPORTS))
def test_a_refused_plan_exports_its_reason_and_no_act(name: str) -> None:
    text = EXPORTS[name].render(REFUSED, **MADE)
    assert "No kernel or display driver is installed in WSL. Install the driver for Windows: WSL uses it." in text
    assert "Step 1 cannot be done: A newer kernel. WSL brings its own" in text
    assert "intel-opencl-icd" not in text


@pytest.mark.parametrize("name", sorted(EXPORTS))
@pytest.mark.parametrize(
    "act",
    [
        FileChange(path="/x", fetched_from="https://example.org/x"),
        FileChange(path="/x", fetched_from="https://example.org/x", fingerprint="D34DB33F"),
        FileChange(path="/x", fetched_from="https://example.org/x", sha256="12"),
        Command(argv=()),
        Command(argv=("a\0b",)),
        Command(argv=("true",), env={"A B": "x"}),
    ],
)
def test_what_cannot_be_written_safely_is_not_written(name: str, act: Any) -> None:
    with pytest.raises(Unwritable):
        EXPORTS[name].render(one(act), **MADE)


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(hostile)
def test_a_reviewer_sees_every_character(plan: Plan) -> None:
    for export in EXPORTS.values():
        try:
            text = export.render(plan, **MADE)
        except Unwritable:
            continue
        assert not {char for char in text if not char.isprintable()} - {"\n", "\t"}


# Words of a shell


@pytest.mark.starts_processes("bash reads what was quoted for it")
@given(texts)
def test_a_word_is_one_argument_in_both_forms(text: str) -> None:
    for form in (word(text), flat(text)):
        said = subprocess.run(["bash", "-c", f'set -- {form}; printf "%s|%s" "$#" "$1"'], capture_output=True)
        assert said.stdout.decode() == f"1|{text}"
    assert "\n" not in flat(text)


@pytest.mark.starts_processes("bash reads what was quoted for it")
@given(texts)
def test_a_heredoc_gives_the_content_and_nothing_else(text: str) -> None:
    said = subprocess.run(["bash", "-c", heredoc("cat", text)], capture_output=True)
    assert (said.stdout.decode(), said.stderr) == (text, b"")


def test_the_delimiter_is_no_line_of_the_content() -> None:
    assert delimiter("END_OF_FILE\nEND_OF_FILE_2\n") == "END_OF_FILE_3"
    assert delimiter("an END_OF_FILE inside\n") == "END_OF_FILE"


def test_what_is_built_into_the_shell_is_never_run() -> None:
    assert "\nenv exit 0\n" in plan_shell.render(one(Command(argv=("exit", "0"))), **MADE)


# Script


def test_the_script_takes_the_steps_in_order_with_sudo_for_root_alone() -> None:
    script = plan_shell.render(ARC, **MADE)
    places = [script.index(f"# {planned.number}. {planned.title}\n") for planned in ARC.steps]
    assert places == sorted(places)
    assert "# 1. Kernel 6.2 or newer\n# done already: 6.8 runs\n" in script
    assert "\njoin_groups render,video\n" in script and "nick\n" not in script.partition("join_groups render,video")[2]
    assert "\nenv PIP_NO_CACHE_DIR=1 /home/nick/.local/share/gpudoctor/torch-xpu/bin/python -m pip install " in script
    assert "\nif [ ! -x /home/nick/.local/share/gpudoctor/torch-xpu/bin/python ]; then\n  python3 -m venv " in script
    assert "\nset -euo pipefail\n" in script


def test_helpers_come_only_where_they_are_used() -> None:
    script = plan_shell.render(replace(one(Command(argv=("true",))), compute=""), **MADE)
    assert "()" not in script and "SUDO" not in script and "mktemp" not in script


# Dockerfile


def test_the_image_is_the_distribution_of_the_plan() -> None:
    for os_id, version, image in (("ubuntu", "24.04", "ubuntu:24.04"), ("debian", "12", "debian:12"), ("arch", "", "archlinux:base")):
        assert f"\nFROM {image}\n" in plan_dockerfile.render(replace(ARC, os_id=os_id, os_version=version), **MADE)
    for os_id, version in (("gentoo", "2"), ("", ""), ("ubuntu", "24.04 AS x\nRUN evil")):
        text = plan_dockerfile.render(replace(ARC, os_id=os_id, os_version=version), **MADE)
        assert "\nFROM ubuntu:24.04\n" in text and "# note: no image is known for" in text and "\nRUN evil" not in text


def test_what_belongs_to_the_host_is_a_comment() -> None:
    text = plan_dockerfile.render(ROCM, **MADE)
    lines = text[text.index("# on the host: 1. amdgpu is not blacklisted\n") :].splitlines()[1:4]
    assert lines == ["# $ sudo update-initramfs -u", "# file: /etc/modprobe.d/gpudoctor-amdgpu.conf", "# then: Reboot the machine."]
    assert "# on the host: 2. nick in the groups render and video\n" in text
    instructions = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in instructions if "usermod" in line or "initramfs" in line or "sudo" in line]
    assert "# note: planned for WSL; " in plan_dockerfile.render(WSL, **MADE)
    assert "# by hand: 1. The SDK archive\n" in plan_dockerfile.render(POPLAR, **MADE)


def test_packages_are_fetched_and_tidied_in_one_layer() -> None:
    text = plan_dockerfile.render(ARC, **MADE)
    assert "\nRUN apt-get update \\\n  && env DEBIAN_FRONTEND=noninteractive apt-get install " in text
    assert text.count("RUN apt-get update") == text.count("&& rm -rf /var/lib/apt/lists/*\n") == 2
    assert "ca-certificates curl gnupg python3 python3-venv" in text


def test_a_done_step_is_carried_out_in_the_image_where_its_acts_are_known() -> None:
    done = replace(ARC.steps[3], state=DONE)
    text = plan_dockerfile.render(replace(ARC, steps=(done,)), **MADE)
    assert "libze-intel-gpu1" in next(line for line in text.splitlines() if not line.startswith("#") and "libze" in line)
    assert "intel-opencl-icd" not in plan_shell.render(replace(ARC, steps=(done,)), **MADE)


@pytest.mark.parametrize(
    ("plan", "flags"),
    [
        (ARC, "--device /dev/dri --group-add"),
        (ROCM, "--device /dev/kfd --device /dev/dri"),
        (WSL, "--device /dev/dxg --volume /usr/lib/wsl"),
        (POPLAR, "--device /dev/ipuN "),
        (replace(ARC, name="cuda", stack="torch-cuda", compute="torch-cuda", machine="GeForce RTX 3060"), "--gpus all"),
    ],
)
def test_the_last_comment_says_how_the_card_gets_into_the_container(plan: Plan, flags: str) -> None:
    last = plan_dockerfile.render(plan, **MADE).splitlines()[-1]
    assert last.startswith("# to run it: docker run --rm -it ") and flags in last


def test_variables_are_set_as_they_are() -> None:
    text = plan_dockerfile.render(replace(ARC, variables={"A": 'x "$HOME" \\ y', "B": "two\nlines"}), **MADE)
    assert '\nENV A="x \\"\\$HOME\\" \\\\ y"\n' in text
    assert "# note: B cannot be set by ENV" in text
    assert f'ENV PATH="{ARC.env}/bin:$PATH"\n' in text


def test_what_the_planned_machine_has_the_image_gets() -> None:
    there = step(1, "apt.install", "PoCL", state=DONE, note="installed already", settings={"packages": ["pocl-opencl-icd", "clinfo=3.0-1"]})
    text = plan_dockerfile.render(replace(ARC, steps=(replace(there, layer="user-driver"),)), **MADE)
    assert "  && apt-get install -y --no-install-recommends pocl-opencl-icd clinfo=3.0-1 \\\n" in text
    unclear = replace(there, layer="user-driver", settings={"packages": ["a | b"]})
    assert "apt-get" not in plan_dockerfile.render(replace(ARC, steps=(unclear,)), **MADE)


def test_programs_of_a_home_folder_are_those_of_the_image() -> None:
    home = "/home/nick/.pyenv/versions/3.11.9/bin/python3.11"
    acts = (Command(argv=("/home/nick/.local/bin/uv", "venv", "--python", home, ARC.env)), Command(argv=(f"{ARC.env}/bin/python3", "-V")))
    text = plan_dockerfile.render(one(*acts, kind="venv"), **MADE)
    assert f"\nRUN uv venv --python python3.11 {ARC.env}\n" in text and f"\nRUN {ARC.env}/bin/python3 -V\n" in text
    assert "python3.11 python3.11-venv" in text and "uv==" in text and "ln -sf /opt/uv/bin/uv /usr/local/bin/uv\n" in text


def test_an_apt_command_that_is_not_understood_is_kept_as_it_is() -> None:
    text = plan_dockerfile.render(one(Command(argv=("apt-get", "install", "-y", "-t", "bookworm-backports", "a"), root=True)), **MADE)
    assert "# hadolint ignore=DL3008,DL3015\nRUN apt-get update \\\n  && apt-get install -y -t bookworm-backports a \\\n" in text


def test_the_script_of_the_variables_is_named_where_the_environment_does_not_source_it() -> None:
    assert f"Done. The environment: . {ARC.env}/bin/activate; . {ARC.env}/gpudoctor-env.sh'" in plan_shell.render(ARC, **MADE)
    hooked = replace(ARC, steps=(*ARC.steps, step(9, "environment", "Hook", FileChange(path=f"{ARC.env}/bin/activate", content="x\n"))))
    assert f"Done. The environment: . {ARC.env}/bin/activate'" in plan_shell.render(hooked, **MADE)
    assert f"# in each shell: . {ARC.env}/gpudoctor-env.sh " in plan_dockerfile.render(ARC, **MADE)


# Playbook


def test_packages_groups_files_and_environments_are_those_of_modules() -> None:
    made = tasks(ARC)
    needed, packages = [task for task in made if "name" in task.get("ansible.builtin.apt", {})]
    assert needed["ansible.builtin.apt"]["name"] == ["ca-certificates", "curl", "gnupg", "python3", "python3-venv"]
    assert packages["become"] is True
    assert packages["ansible.builtin.apt"]["name"] == ["libze-intel-gpu1", "libze1", "intel-opencl-icd"]
    assert packages["ansible.builtin.apt"]["install_recommends"] is False
    (user,) = [task["ansible.builtin.user"] for task in made if "ansible.builtin.user" in task]
    assert user == {"name": "{{ ansible_facts.user_id }}", "groups": ["render", "video"], "append": True}
    (venv,) = [task["ansible.builtin.command"] for task in made if "creates" in task.get("ansible.builtin.command", {})]
    assert venv["creates"] == f"{ARC.env}/bin/python"
    (lists,) = [task for task in made if task.get("ansible.builtin.apt", {}).get("update_cache") and "when" in task]
    assert lists["when"] == "act_1 is changed or act_2 is changed"
    assert all(name.startswith("ansible.builtin.") for task in made for name in task if "." in name)
    assert next(task for task in made if "pip" in str(task.get("ansible.builtin.command")))["changed_when"]


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(hostile)
def test_a_playbook_is_yaml_with_the_same_files_and_arguments(plan: Plan) -> None:
    try:
        made = tasks(plan)
    except Unwritable:
        assume(False)
    todo = [act for planned in plan_acts.carried(plan) if planned.kind != "person" for act in planned.acts]
    checked = plan_base.verification(plan)
    todo += [checked.build, checked.device] if checked else []
    copied = [task["ansible.builtin.copy"]["content"] for task in made if "content" in task.get("ansible.builtin.copy", {})]
    assert copied == [act.content for act in todo if isinstance(act, FileChange) and not act.fetched_from]
    ran = [
        task["ansible.builtin.command"]["argv"]
        for task in made
        if task.get("ansible.builtin.command", {}).get("expand_argument_vars") is False
    ]
    assert all(argv in [list(act.argv) for act in todo if isinstance(act, Command)] for argv in ran)


def test_what_jinja_might_read_is_marked() -> None:
    text = plan_ansible.render(one(FileChange(path="/x", content="{{ 7 * 7 }}\n"), FileChange(path="/y", content="#jinja2: x")), **MADE)
    assert 'content: !unsafe "{{ 7 * 7 }}\\n"\n' in text and 'content: !unsafe "#jinja2: x"\n' in text


def test_a_path_that_ansible_would_change_is_refused() -> None:
    with pytest.raises(Unwritable, match="would replace a part"):
        plan_ansible.render(one(FileChange(path="/home/$USER/x")), **MADE)


def test_restarts_wait_for_a_change_and_persons_for_the_person() -> None:
    made = tasks(ROCM)
    (reboot,) = [task for task in made if "ansible.builtin.reboot" in task]
    (stop,) = [task for task in made if "ansible.builtin.fail" in task]
    assert reboot["when"].startswith("(act_1 is changed or act_2 is changed) and not (") and reboot["become"] is True
    assert "Reboot the machine." in stop["ansible.builtin.fail"]["msg"]
    asked = [task for task in tasks(POPLAR) if "ansible.builtin.fail" in task]
    assert [task["when"] for task in asked] == ["not act_1.stat.exists", "'4' not in (by_hand | default('') | string).split(',')"]


# apt-get


@pytest.mark.parametrize(
    ("argv", "read"),
    [
        (("apt-get", "update"), plan_acts.Apt("update")),
        (("/usr/bin/apt-get", "-y", "install", "a", "b=1"), plan_acts.Apt("install", ("a", "b=1"))),
        (
            ("apt-get", "install", "-y", "--no-install-recommends", "-o", "A=install", "a"),
            plan_acts.Apt("install", ("a",), recommends=False),
        ),
        (("apt-get", "purge", "-y", "a"), plan_acts.Apt("purge", ("a",))),
        (("apt-get", "install", "--download-only", "a"), None),
        (("apt-get", "install", "-t", "bookworm-backports", "a"), None),
        (("apt-get", "dist-upgrade"), None),
        (("apt-get", "install", "-y", "/bundle/a.deb"), None),
        (("apt-get", "install", "-y"), None),
        (("apt-mark", "hold", "a"), None),
    ],
)
def test_apt_commands_are_read_whole_or_not_at_all(argv: tuple[str, ...], read: plan_acts.Apt | None) -> None:
    assert plan_acts.apt(Command(argv=argv)) == read


def test_the_example_of_apt_is_understood() -> None:
    assert plan_acts.apt(apt("a")) == plan_acts.Apt("install", ("a",), recommends=False)
