"""Containers and images by the command lines of docker and podman, as these were recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpudoctor.model.door import Wanted
from gpudoctor.system.doors import containers
from gpudoctor.system.doors.containers import Engine, open_container, started
from gpudoctor.system.host import DoorError, Ran

RUNNING = {"State": {"Running": True, "Status": "running"}, "Config": {"Image": "pytorch/pytorch:latest", "Env": ["PATH=/usr/bin"]}}
WEB = Wanted(kind="container", name="web")


def answering(monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, Any]) -> None:
    """`answers`: what `ENGINE … inspect NAME` says: a table of a container, or a Ran. Engines that are not in it are not installed."""

    def run(argv: tuple[str, ...]) -> Ran:
        said = answers[argv[0]]
        return said if isinstance(said, Ran) else Ran(argv, rc=0, stdout=json.dumps([said]))

    monkeypatch.setattr(containers, "find_program", lambda name, path: f"/usr/bin/{name}" if name in answers else None)
    monkeypatch.setattr(containers, "run", run)


def failed(text: str, **more: Any) -> Ran:
    return Ran(("docker",), rc=None if more else 1, stderr=text, **more)


def test_a_running_container_is_asked_by_exec(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, {"docker": RUNNING})
    way = open_container(WEB)
    assert way.argv(first=True) == ["docker", "exec", "-i", "web", "sh"]
    assert way.door.title == "container web (docker)"


def test_the_engine_that_knows_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, {"docker": failed("Error: No such container: web"), "podman": RUNNING})
    assert open_container(WEB).argv(first=True)[0] == "podman"


def test_an_image_gets_a_container_without_network_and_rights_that_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, {"podman": {"Id": "1"}})
    words = open_container(Wanted(kind="image", name="ubuntu:24.04")).argv(first=True)
    assert words[:2] == ["podman", "run"] and {"--rm", "--network=none", "--cap-drop=ALL", "--pull=never", "--entrypoint=sh"} <= set(words)
    assert words[-1] == "ubuntu:24.04"


@pytest.mark.parametrize(("answers", "said"), [
    ({}, "neither docker nor podman is on PATH"),
    ({"docker": failed("Error response from daemon: No such container: web")}, "docker knows no such container; docker ps -a lists them"),
    ({"docker": failed("no such object"), "podman": failed("no such container")}, "docker and podman know no such container"),
    ({"docker": failed("Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?")}, "its service does not answer"),
    ({"docker": failed("permission denied while trying to connect")}, "may not be used by this user"),
    ({"docker": failed("", timed_out=True)}, "does not answer in 15 s"),
    ({"podman": failed("Error: inspecting object: web: image not known")}, "podman knows no such container"),
    ({"docker": failed("kaboom")}, "docker failed: kaboom; see what this says: docker container inspect web"),
    ({"docker": Ran(("docker",), rc=0, stdout="not json")}, "answered what cannot be read"),
    ({"docker": Ran(("docker",), rc=0, stdout="[1]")}, "answered what cannot be read"),
    ({"docker": {**RUNNING, "State": {"Running": False, "Status": "exited"}}}, "it is exited; docker start web, or look at its image: "),
    ({"podman": {**RUNNING, "State": {"Running": True, "Paused": True, "Status": "paused"}}}, "it is paused; podman unpause web"),
    ({"docker": {"State": "odd"}}, "it is stopped; docker start web"),
])  # fmt: skip
def test_what_cannot_be_examined_names_the_next_step(monkeypatch: pytest.MonkeyPatch, answers: Mapping[str, Any], said: str) -> None:
    answering(monkeypatch, answers)
    with pytest.raises(DoorError) as raised:
        open_container(WEB)
    assert said in str(raised.value) and str(raised.value).startswith("--container web: ")


@pytest.mark.parametrize("name", ["-v", "a b", "", "$(id)", "../x" * 100])
def test_a_name_that_is_an_option_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    answering(monkeypatch, {"docker": RUNNING})
    with pytest.raises(DoorError, match="expected a name or an id"):
        open_container(Wanted(kind="container", name=name))


@pytest.mark.parametrize(("config", "asked"), [
    ({"DeviceRequests": [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}]}, True),
    ({"DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}]}, True),
    ({"Runtime": "nvidia"}, True),
    ({"Devices": [{"PathOnHost": "nvidia.com/gpu=all"}]}, True),
    ({"Devices": [{"PathOnHost": "/dev/dri"}], "GroupAdd": ["104"]}, False),
    ({"DeviceRequests": None, "Devices": None}, False),
    ({"DeviceRequests": "odd", "Devices": [7], "GroupAdd": {}}, False),
])  # fmt: skip
def test_how_it_was_started(config: dict[str, Any], asked: bool) -> None:
    engine = started("docker", {**RUNNING, "HostConfig": config})
    assert engine.gpus_asked is asked and engine.image == "pytorch/pytorch:latest"
    if "GroupAdd" in config and asked is False and config["Devices"] != [7]:
        assert engine == Engine("docker", "pytorch/pytorch:latest", False, ["/dev/dri"], ["104"])


def test_an_image_without_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, {"docker": RUNNING})
    said = open_container(WEB).why_not('OCI runtime exec failed: exec: "sh": executable file not found in $PATH')
    assert "it holds no shell" in said and "--root DIR" in said
