"""A fleet in each format: what it says, and that the words of a host are harmless in it."""

from __future__ import annotations

import html as html_text
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fleet_rows import finding, rows, view
from fleet_views import ATTACK, full, good, hostile
from jsonschema import Draft202012Validator
from msgspec.structs import replace

import gpudoctor
from gpudoctor.model.fleet_view import FleetView
from gpudoctor.reporters.fleet import (
    fleet_html,
    fleet_json,
    fleet_kubernetes,
    fleet_nvsentinel,
    fleet_otel,
    fleet_prometheus,
    fleet_text,
    host_lists,
)
from gpudoctor.reporters.shared.layout import Terminal

SCHEMA = Path(gpudoctor.__file__).parent / "data" / "fleet.schema.json"
FORMATS: dict[str, Callable[[FleetView], str]] = {
    "text": fleet_text.render, "json": fleet_json.render, "html": fleet_html.render, "prometheus": fleet_prometheus.render,
    "slurm": host_lists.slurm, "exclude": host_lists.exclude, "kubernetes": fleet_kubernetes.render,
    "nvsentinel": fleet_nvsentinel.render, "otel": fleet_otel.render,
}  # fmt: skip
FULL, HOSTILE = full(), hostile()


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_passes_on_control_characters(name: str) -> None:
    written = FORMATS[name](HOSTILE)
    assert not [char for char in written if not char.isprintable() and char != "\n"]


def test_text_has_every_part_in_eighty_columns() -> None:
    shown = fleet_text.render(FULL, Terminal(width=80))
    assert max(map(len, shown.splitlines())) <= 80 and "\x1b" not in shown
    for words in (
        "17 hosts", "3 hosts cannot be used: gpu[03,13-14]", "1 host gave no result: gpu15", "silent    gpu16",
        "ssh: connection refused", "Not like the others",
        "535.1, usually 550.54", "confirmed gpu03", "No driver is loaded", "gpudoctor show no-driver", "dcgm Memory on gpu14",
        "525.0 before, 550.54 now",
    ):  # fmt: skip
        assert words in shown, words


def test_text_without_unicode_is_ascii_and_colour_is_asked_for() -> None:
    assert fleet_text.render(FULL, Terminal(unicode=False)).isascii()
    assert "\x1b[" in fleet_text.render(FULL, Terminal(colour=True))


def test_text_of_one_host() -> None:
    shown = fleet_text.host(FULL, "gpu12", Terminal(width=80))
    assert "gpu12  usable" in shown and "535.1, usually 550.54" in shown and "No driver" not in shown
    assert "not usable" in fleet_text.host(FULL, "gpu14") and "DBE on GPU 3" in fleet_text.host(FULL, "gpu14")
    with pytest.raises(KeyError):
        fleet_text.host(FULL, "nobody")


def test_text_of_a_healthy_fleet_is_short() -> None:
    shown = fleet_text.render(good())
    assert "3 hosts can be used; nothing speaks against a single host." in shown and len(shown.splitlines()) < 8


@pytest.mark.parametrize("shown", [FULL, HOSTILE, good()])
def test_json_follows_its_schema(shown: FleetView) -> None:
    document = json.loads(fleet_json.render(shown))
    assert not list(Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).iter_errors(document))
    assert [each["host"] for each in document["hosts"]] == [each.host for each in shown.hosts]


def test_html_has_its_sections_and_escapes() -> None:
    page = fleet_html.render(FULL)
    assert re.findall(r'<h[12][^>]* id="([a-z]+)"', page) == ["summary", "odd", "slow", "findings", "others", "since", "hosts"]
    assert "since" not in re.findall(r'id="([a-z]+)"', fleet_html.render(good()))
    attacked = fleet_html.render(HOSTILE)
    assert "<script>window" not in attacked and "</td><script>" not in attacked
    assert html_text.escape("<script>window.canary=1</script>", quote=False) in attacked
    assert len(re.findall("<script", attacked)) == len(re.findall("<script", page))


SERIES = re.compile(r'[a-z_]+(\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\})? -?[0-9.e+-]+')


@pytest.mark.parametrize("shown", [FULL, HOSTILE])
def test_prometheus_lines_are_whole(shown: FleetView) -> None:
    lines = fleet_prometheus.render(shown).splitlines()
    assert [line for line in lines if not line.startswith("# ") and not SERIES.fullmatch(line)] == []
    assert len(set(lines)) == len(lines)


def test_prometheus_counts() -> None:
    lines = fleet_prometheus.render(FULL).splitlines()
    for line in (
        'gpudoctor_fleet_hosts{answer="fresh"} 15', 'gpudoctor_fleet_hosts{answer="silent"} 1',
        'gpudoctor_fleet_host_usable{host="gpu13"} 0',
        'gpudoctor_fleet_host_usable{host="gpu00"} 1',
        'gpudoctor_fleet_finding_hosts{id="no-driver",severity="error",layer="kernel-driver"} 1',
        'gpudoctor_fleet_suspicions{life="confirmed"} 2',
    ):  # fmt: skip
        assert line in lines
    assert not [line for line in lines if 'host_usable{host="gpu16"}' in line]


def test_slurm_drains_the_unusable_ones_alone() -> None:
    lines = host_lists.slurm(FULL).splitlines()
    assert [shlex.split(line)[2:4] for line in lines] == [
        ["NodeName=gpu03", "State=DRAIN"], ["NodeName=gpu13", "State=DRAIN"], ["NodeName=gpu14", "State=DRAIN"],
    ]  # fmt: skip
    assert host_lists.exclude(FULL) == "gpu[03,13-14]\n" and host_lists.exclude(good()) == "\n" and host_lists.slurm(good()) == ""


def test_slurm_lines_hold_nothing_that_a_shell_would_run() -> None:
    for line in host_lists.slurm(HOSTILE).splitlines():
        assert not set("$`\\;'") & set(line) and line.count('"') == 2 and len(shlex.split(line)) == 5


def patches(shown: FleetView) -> dict[str, dict[str, Any]]:
    found = {}
    for line in fleet_kubernetes.render(shown).splitlines():
        words = shlex.split(line)
        assert words[:3] == ["kubectl", "patch", "node"] and words[4:7] == ["--subresource=status", "--type=strategic", "-p"]
        assert len(words) == 8
        (found[words[3]],) = json.loads(words[7])["status"]["conditions"]
    return found


def test_kubernetes_has_a_condition_for_each_known_host() -> None:
    found = patches(FULL)
    assert {name for name, each in found.items() if each["status"] == "True"} == {"gpu03", "gpu13", "gpu14"}
    assert not {"gpu15", "gpu16"} & set(found) and found["gpu00"]["status"] == "False"
    assert found["gpu13"] == {
        "type": "GpuDoctorProblem", "status": "True", "reason": "GpuUnusable", "message": "No driver is loaded",
        "lastHeartbeatTime": FULL.created, "lastTransitionTime": FULL.created,
    }  # fmt: skip


def test_kubernetes_quotes_the_words_of_a_host() -> None:
    found = patches(HOSTILE)
    assert "$(touch /tmp/owned)" in found["hostile-a"]["message"]
    assert fleet_kubernetes.render(HOSTILE).count("\n") == sum(each.usable is not None for each in HOSTILE.hosts)


def test_kubernetes_takes_only_names_of_nodes() -> None:
    shown = view([*rows(1), *[each.__class__(**{**{name: getattr(each, name) for name in each.__struct_fields__}, "host": "A_b"})
                              for each in rows(1)]])  # fmt: skip
    assert "# A_b: no node of Kubernetes can have this name\n" in fleet_kubernetes.render(shown)


def events(shown: FleetView) -> list[dict[str, Any]]:
    document = json.loads(fleet_nvsentinel.render(shown))
    assert document["version"] == 1
    return list(document["events"])


def test_nvsentinel_is_fatal_only_where_a_host_cannot_be_used() -> None:
    found = events(FULL)
    assert {each["nodeName"] for each in found if each["isFatal"]} == {"gpu03", "gpu13", "gpu14"}
    assert {each["nodeName"] for each in found if each["isHealthy"]} == {f"gpu{number:02}" for number in range(13) if number != 3}
    assert {each["recommendedAction"] for each in found} == {"NONE", "CONTACT_SUPPORT"}
    slow = next(each for each in found if each["nodeName"] == "gpu03")
    assert slow["entitiesImpacted"] == [{"entityType": "PCI", "entityValue": "0000:00:00.0"}] and slow["errorCode"] == ["slow-card"]
    warned = next(each for each in found if each["nodeName"] == "gpu12" and not each["isHealthy"])
    assert (warned["isFatal"], warned["recommendedAction"], warned["checkName"]) == (False, "NONE", "driver-old")
    assert all(each["agent"] == "gpudoctor" and each["generatedTimestamp"] == FULL.created for each in found)


def test_nvsentinel_knows_no_event_of_a_host_without_a_result() -> None:
    assert not {"gpu15", "gpu16"} & {each["nodeName"] for each in events(FULL)}


def test_otel_counts_errors_by_host_and_card() -> None:
    document = json.loads(fleet_otel.render(FULL))
    found = {}
    for each in document["resourceMetrics"]:
        (name,) = each["resource"]["attributes"]
        (metric,) = each["scopeMetrics"][0]["metrics"]
        assert (metric["name"], metric["sum"]["isMonotonic"], metric["sum"]["aggregationTemporality"]) == ("hw.errors", True, 2)
        points = metric["sum"]["dataPoints"]
        assert all(point["asInt"] == "1" and point["timeUnixNano"] == "1795168920000000000" for point in points)
        found[name["value"]["stringValue"]] = [tuple(each["value"]["stringValue"] for each in point["attributes"]) for point in points]
    assert found == {
        "gpu03": [("0000:00:00.0", "gpu", "slow-card"), ("0000:01:00.0", "gpu", "slow-card")], "gpu13": [("gpu", "gpu", "no-driver")],
        "gpu14": [("gpu", "gpu", "dcgm: Memory")],
    }  # fmt: skip


def test_a_doubted_check_accuses_nobody() -> None:
    unlike = rows(3, findings=(finding("bad-check"),))
    others = [replace(each, host=f"x{each.host}", cards=(replace(each.cards[0], model="another"),)) for each in unlike]
    shown = view([*unlike, *others])
    assert shown.findings[0].doubted
    assert json.loads(fleet_otel.render(shown))["resourceMetrics"] == [] and not [each for each in events(shown) if each["isFatal"]]


def test_the_attack_reaches_the_formats() -> None:
    assert sum("touch /tmp/owned" in FORMATS[name](HOSTILE) for name in ("text", "json", "html", "slurm", "kubernetes", "otel")) == 6
    assert "\x1b" in ATTACK and "\u202e" in ATTACK
