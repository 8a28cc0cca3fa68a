"""The links between processes of this processor (gloo): a table of pairs, and a link with a delay is named."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from environments import build
from validate_runs import validate, workers

from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.flop_model import FOLDER
from gpudoctor.benchmark.links import links_of
from gpudoctor.benchmark.workers import WorkerAnswer
from gpudoctor.reporters.shared.schema import complaints

DELAY = """
import time
import torch.distributed as dist
plain = dist.send
def slow(tensor, other):
    if {{dist.get_rank(), other}} == {{0, 2}}:
        time.sleep(0.2)
    plain(tensor, other)
dist.send = slow
"""
CODE = """
import json, os, sys
sys.path[:0] = [{folder!r}, os.path.join({folder!r}, "backends")]
import worker
worker.SAID = os.open(os.devnull, os.O_WRONLY)
import torch
torch.set_num_threads(1)
{delay}
import torch_collective
from torch_devices import Device
group = dict(rank={rank}, size={size}, folder={place!r}, same={size}, patience=60)
request = dict(worker_group=group, options=dict(sizes=[1024], link_bytes=1 << 20), duration=0.2)
print(json.dumps(torch_collective.run(Device("torch", "cpu"), torch.float32, request, {{}})))
"""


def test_a_link_with_a_delay_is_named(tmp_path: Path) -> None:
    (tmp_path / "start").touch()
    python, size = str(build("torch-cpu") / "bin" / "python"), 4
    told = {"folder": FOLDER, "delay": DELAY.format(), "place": str(tmp_path), "size": size}
    ranks = [
        subprocess.Popen([python, "-c", CODE.format(**told, rank=rank)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for rank in range(size)
    ]
    answers = []
    for rank in ranks:
        said, errors = rank.communicate(timeout=180)
        assert rank.returncode == 0, errors[-3000:]
        answers.append(WorkerAnswer(status="ok", reason="", result=json.loads(said.splitlines()[-1])))
    links = links_of(answers, [MeasurementTarget(framework="torch", device="cpu", python=python, backend="cpu")] * size)
    assert [link.ranks for link in links] == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    delayed = next(link for link in links if link.ranks == (0, 2))
    assert delayed.slow and delayed == min(links, key=lambda link: link.bytes_per_s) and delayed.name == "ranks 1 and 3"


@pytest.mark.rotates("several processes at once")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("ranks", [2, 3])
def test_validate_tells_the_bandwidth_of_each_pair(environment: Callable[[str], Path], tmp_path: Path, ranks: int) -> None:
    words = ("--workload", "all_reduce", "--replicas", str(ranks), "--duration", "1")
    ran, document, _ = validate(environment("torch-cpu"), tmp_path, *words)
    assert ran.returncode == 0 and complaints(document) == []
    *before, largest = document["measurements"]
    assert all(each["links"] == [] for each in before)
    assert [link["ranks"] for link in largest["links"]] == ([[0, 1]] if ranks == 2 else [[0, 1], [0, 2], [1, 2]])
    assert all(1e6 < link["bytes_per_s"] < 1e12 and link["devices"] == ["cpu", "cpu"] for link in largest["links"])
    assert not workers(tmp_path) and not list(tmp_path.iterdir())
