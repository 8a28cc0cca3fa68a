"""Two processes that train one network (gloo between processes of this processor): the gradients are those of one, and faults are seen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from environments import build

from gpudoctor.benchmark.flop_model import FOLDER

FAULTS = {
    "": "",
    "never_averaged": """
class Alone(torch.nn.Module):
    def __init__(self, module, **options):
        super().__init__()
        self.module = module
    def forward(self, *inputs):
        return self.module(*inputs)
torch.nn.parallel.DistributedDataParallel = Alone
""",
    "sum_in_place_of_mean": """
class Summed(torch.nn.parallel.DistributedDataParallel):
    def __init__(self, module, **options):
        super().__init__(module, **options)
        def hook(state, bucket):
            import torch.distributed as dist
            work = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
            return work.then(lambda done: done.value()[0])
        self.register_comm_hook(None, hook)
torch.nn.parallel.DistributedDataParallel = Summed
""",
    "one_bucket_is_of_one_rank": """
class Half(torch.nn.parallel.DistributedDataParallel):
    def __init__(self, module, **options):
        super().__init__(module, **options)
        def hook(state, bucket):
            import torch.distributed as dist
            if bucket.index() == 0:
                future = torch.futures.Future()
                dist.broadcast(bucket.buffer(), 0)
                future.set_result(bucket.buffer())
                return future
            work = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()), async_op=True).get_future()
            return work.then(lambda done: done.value()[0])
        self.register_comm_hook(None, hook)
torch.nn.parallel.DistributedDataParallel = Half
""",
}
CODE = """
import json, os, sys, types
sys.path[:0] = [{folder!r}, os.path.join({folder!r}, "backends")]
import worker
worker.SAID = os.open(os.devnull, os.O_WRONLY)
import torch
torch.set_num_threads(1)
{fault}
import torch_data_parallel
from torch_devices import Device
group = dict(rank={rank}, size=2, folder={place!r}, same=2, patience=60)
request = dict(framework="torch", device="cpu", workload="resnet18", task="training", dtype="float32", duration=0.5, worker_group=group,
               options=dict(batch=2, height=32, width=32))
print(json.dumps(torch_data_parallel.run(Device("torch", "cpu"), torch.float32, request, {{}})))
"""


def outcome(place: Path, fault: str) -> list[dict[str, Any]]:
    (place / "start").touch()
    python = str(build("torch-cpu") / "bin" / "python")
    code = [CODE.format(folder=FOLDER, fault=FAULTS[fault], rank=rank, place=str(place)) for rank in (0, 1)]
    ranks = [subprocess.Popen([python, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for text in code]
    found = []
    for rank in ranks:
        said, errors = rank.communicate(timeout=180)
        assert rank.returncode == 0, errors[-3000:]
        found.append(json.loads(said.splitlines()[-1]))
    return found


def test_two_processes_have_the_gradients_of_one(tmp_path: Path) -> None:
    first, second = outcome(tmp_path, "")
    rows = {row["name"]: row for row in first["outputs"]}
    assert set(rows) == {"gradients of all ranks", "parameters of all ranks", "gradients beside one process"}
    assert all(row["passed"] for row in rows.values()) and 0 < rows["gradients beside one process"]["max_relative_error"] < 1e-3
    assert len(second["outputs"]) == 2 and first["collective"] == "gloo"
    assert first["iterations"] == second["iterations"] >= 5 and first["items_per_step"] == 2


@pytest.mark.parametrize("fault, row", [
    ("never_averaged", "gradients of all ranks"), ("sum_in_place_of_mean", "gradients beside one process"),
    ("one_bucket_is_of_one_rank", "gradients beside one process"),
])  # fmt: skip
def test_a_fault_between_the_ranks_is_seen(tmp_path: Path, fault: str, row: str) -> None:
    found = {each["name"]: each for each in outcome(tmp_path, fault)[0]["outputs"]}
    assert not found[row]["passed"], found
