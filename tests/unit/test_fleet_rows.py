"""The row of a host: small, the same for equal hosts, and different where they differ."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from gpudoctor.cli import run
from gpudoctor.model.fleet_row import LARGEST, FleetRow, RowFinding
from gpudoctor.model.measurement import Conditions, Latency, Link, Measurement, Throughput
from gpudoctor.model.report import Report
from gpudoctor.services import checking, row_making
from gpudoctor.system.fleet_store import decode

MACHINES = Path(__file__).parents[1] / "machines"
HEALTHY = "rtx4090-healthy"


def report_of(name: str) -> Report:
    return checking.check(checking.CheckRequest(capture=str(MACHINES / name)))


def made(report: Report, host: str = "gpu01") -> FleetRow:
    return row_making.row_of(report, host=host, run="first", labels={"role": "train"})


@pytest.mark.parametrize("name", sorted(path.name for path in MACHINES.iterdir() if (path / "machine.toml").is_file())[::9])
def test_the_row_of_a_recorded_machine_is_small_and_reads_back(name: str) -> None:
    row = made(report_of(name))
    content = row_making.encode(row)
    assert len(content) <= LARGEST
    assert decode(content) == row
    schema = json.loads((Path(row_making.__file__).parents[1] / "data" / "row.schema.json").read_text())
    assert not list(Draft202012Validator(schema).iter_errors(json.loads(content)))


def test_it_says_what_a_fleet_asks() -> None:
    row = made(report_of("arc-a750-old-kernel"))
    assert [(card.vendor, card.model, card.address) for card in row.cards] == [("intel", "Arc A750", "0000:03:00.0")]
    assert row.values["kernel.release"].startswith("5.15")
    finding = row.findings[0]
    assert (finding.id, finding.severity, finding.confidence) == ("intel-kernel-too-old", "error", "certain")
    assert finding.do and len(finding.do) <= 200
    assert row.labels == {"role": "train"} and row.host == "gpu01"


def test_an_ipu_is_a_card() -> None:
    assert [(card.vendor, card.address) for card in made(report_of("ipu-healthy")).cards] == [("graphcore", "ipu:0")]


def test_equal_machines_have_equal_hashes_whatever_their_names() -> None:
    report = report_of(HEALTHY)
    facts = {**report.facts, "env": {**report.facts["env"], "NCCL_DEBUG_FILE": "/logs/gpu02.log"}}
    theirs = {**facts, "env": {**facts["env"], "NCCL_DEBUG_FILE": "/logs/gpu03.log"}}
    assert made(replace(report, facts=facts), "gpu02").groups == made(replace(report, facts=theirs), "gpu03").groups


@pytest.mark.parametrize(
    ("change", "groups"),
    [
        ({"kernel": {"release": "6.9.1"}}, {"kernel"}),
        ({"env": {"CUDA_VISIBLE_DEVICES": "3"}}, {"environment"}),
        ({"nvidia": {"driver": {"version": "999.1"}}}, {"driver"}),
        ({"memory": {"available_bytes": 12345}}, set()),
    ],
)
def test_a_difference_shows_in_its_group_and_noise_in_none(change: dict[str, Any], groups: set[str]) -> None:
    report = report_of(HEALTHY)
    before = made(report).groups
    facts = {
        name: {**value, **change[name]} if name in change and isinstance(value, dict) else value for name, value in report.facts.items()
    }
    after = made(replace(report, facts={**change, **facts})).groups
    assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == groups


def test_ids_of_single_cards_are_no_difference() -> None:
    report = report_of(HEALTHY)
    devices = [{**each, "uuid": "GPU-another", "serial": "99"} for each in report.facts["nvidia"]["devices"]]
    other = replace(report, facts={**report.facts, "nvidia": {**report.facts["nvidia"], "devices": devices}})
    assert made(other).groups == made(report).groups
    assert made(other).cards[0].uuid == "GPU-another"


def measurement(**more: Any) -> Measurement:
    whole = Measurement(
        workload="resnet50", task="training", framework="torch", backend="cuda", device="cuda:1", dtype="float32", batch=16,
        latency_ms=Latency(median=10.0, processes=(10.0, 12.5), ci95_percent=1.5), throughput=Throughput(value=100.0, unit="images/s"),
        conditions=Conditions(gpu_address="0000:1a:00.0"),
    )  # fmt: skip
    return replace(whole, **more)


def test_a_measurement_keeps_its_card_and_the_speed_of_each_process() -> None:
    row = made(replace(report_of(HEALTHY), measurements=(measurement(),)))
    (found,) = row.measurements
    assert (found.card, found.value, found.unit, found.samples, found.disturbed) == ("0000:1a:00.0", 100.0, "images/s", (100.0, 80.0), "")


def test_what_disturbed_a_measurement_is_said_and_a_failure_keeps_its_reason() -> None:
    busy = measurement(noisy="other work", conditions=Conditions(others="python (4242)"))
    failed = measurement(status="failed", reason="out of memory", latency_ms=None, throughput=None)
    row = made(replace(report_of(HEALTHY), measurements=(busy, failed)))
    assert row.measurements[0].disturbed == "python (4242)"
    assert (row.measurements[1].status, row.measurements[1].reason, row.measurements[1].value) == ("failed", "out of memory", None)


def test_links_are_kept_by_their_ends() -> None:
    pairs = itertools.combinations(range(8), 2)
    links = tuple(Link(ranks=(a, b), devices=(f"cuda:{a}", f"cuda:{b}"), bytes_per_s=20e9) for a, b in pairs)
    row = made(replace(report_of(HEALTHY), measurements=(measurement(workload="all_reduce", task="micro", links=links),)))
    (one,) = row.measurements
    assert len(one.links) == 28 and one.links["cuda:0 cuda:1"] == 20.0
    assert len(row_making.encode(row)) < len(row_making.encode(replace(row, measurements=()))) + 1200
    assert decode(row_making.encode(row)) == row


def test_no_folder_of_a_person_is_in_a_row_and_hosts_can_still_be_compared() -> None:
    report = report_of("arc-a750-old-kernel")
    found = replace(report.findings[0], severity="error", confidence="certain", title="/home/lena.k/env is damaged")

    def with_cache(folder: str) -> FleetRow:
        facts = {**report.facts, "env": {"CUDA_CACHE_PATH": folder, "NCCL_IB_HCA": "mlx5_0:1"}}
        return made(replace(report, facts=facts, findings=(found,)))

    one, same, other = (with_cache(folder) for folder in ("/scratch/lena.k/cache", "/scratch/lena.k/cache", "/scratch/shared"))
    assert "lena" not in row_making.encode(one).decode() and one.findings[0].title == "~/env is damaged"
    assert one.values["env.NCCL_IB_HCA"] == "mlx5_0:1"
    assert one.values["env.CUDA_CACHE_PATH"] == same.values["env.CUDA_CACHE_PATH"] != other.values["env.CUDA_CACHE_PATH"]


def test_what_says_nothing_takes_no_bytes_and_is_read_back() -> None:
    row = made(replace(report_of(HEALTHY), measurements=(measurement(),)))
    (written,) = json.loads(row_making.encode(row))["measurements"]
    assert not {"disturbed", "reason", "links"} & set(written) and decode(row_making.encode(row)) == row


def test_a_row_that_is_too_large_is_cut_in_the_stated_order_and_says_so() -> None:
    row = made(report_of("arc-a750-old-kernel"))
    first = row.findings[0]
    many = tuple(replace(first, id=f"finding-{number}", title="t" * 100) for number in range(40))
    values = {f"env.VARIABLE_{number}": "v" * 70 for number in range(80)}
    content = row_making.encode(replace(row, findings=many, values=values))
    kept = decode(content)
    assert len(content) <= LARGEST
    assert kept.cards == row.cards and len(kept.findings) >= 8 and kept.findings == many[: len(kept.findings)]
    assert kept.left_out["values"] == 80 - len(kept.values) > 0


def test_even_a_monstrous_row_fits() -> None:
    monster = RowFinding(
        id="i" * 200, key="k" * 200, severity="error", confidence="certain", layer="compute", title="ü" * 119, do="ü" * 199
    )
    row = replace(made(report_of(HEALTHY)), findings=(monster,) * 300, labels={f"l{number}": "x" * 80 for number in range(200)})
    assert len(row_making.encode(row)) <= LARGEST


def test_check_prints_a_row(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUDOCTOR_HOST", "gpu07")
    monkeypatch.setenv("GPUDOCTOR_FLEET_RUN", "night-1")
    monkeypatch.setenv("GPUDOCTOR_LABELS", "role=train, rack=r12,nonsense")
    assert run(["check", "--capture", str(MACHINES / HEALTHY), "--format", "row"]) == 0
    out = capsys.readouterr().out
    row = decode(out.strip().encode())
    assert out.count("\n") == 1
    assert (row.host, row.run, row.labels) == ("gpu07", "night-1", {"role": "train", "rack": "r12"})


def test_without_a_collector_rows_of_one_day_belong_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUDOCTOR_FLEET_RUN", raising=False)
    assert row_making.named_run("2026-11-23T20:00:00Z") == "2026-11-23"
