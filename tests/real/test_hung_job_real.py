"""A job of two ranks that really hangs (gloo on this processor): its flight recorder's dumps name the rank that is late."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

from environments import build

JOB = """
import os, sys, threading, time
import torch, torch.distributed as dist
import torch._C._distributed_c10d as c10d
rank, folder, port = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=str(rank), WORLD_SIZE="2")
dist.init_process_group("gloo")
values = torch.ones(4)

def train_step():
    dist.all_reduce(values)

for _ in range(3):
    train_step()

def dump_and_leave():
    while c10d._dump_fr_trace_json().count(b'"collective_seq_id"') < (4 if rank == 0 else 3):
        time.sleep(0.1)
    time.sleep(1)
    with open(os.path.join(folder, f"nccl_trace_rank_{rank}"), "wb") as file:
        file.write(c10d._dump_fr_trace() if rank == 0 else c10d._dump_fr_trace_json())
    open(os.path.join(folder, f"done{rank}"), "w").close()
    while not all(os.path.exists(os.path.join(folder, f"done{each}")) for each in (0, 1)):
        time.sleep(0.1)
    os._exit(0)

threading.Thread(target=dump_and_leave, daemon=True).start()
if rank == 0:
    train_step()
time.sleep(600)
"""


def test_the_late_rank_is_named_from_real_dumps(tmp_path: Path) -> None:
    python = str(build("torch-cpu") / "bin" / "python")
    (tmp_path / "job.py").write_text(JOB)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    words = [str(tmp_path), port]
    variables = {"TORCH_FR_BUFFER_SIZE": "100", "PATH": "/usr/bin:/bin"}
    running = [
        subprocess.Popen([python, str(tmp_path / "job.py"), str(rank), *words], env=variables, stderr=subprocess.DEVNULL) for rank in (0, 1)
    ]
    try:
        for process in running:
            process.wait(timeout=240)
    finally:
        for process in running:
            process.kill()
    dumps = [str(tmp_path / f"nccl_trace_rank_{rank}") for rank in (0, 1)]
    done = subprocess.run(
        [sys.executable, "-m", "gpudoctor", "explain", *dumps, "--format", "json"], capture_output=True, text=True, check=False
    )
    report = json.loads(done.stdout)
    assert done.returncode == 1 and [finding["id"] for finding in report["findings"]] == ["hung-job-rank-behind"]
    job = report["facts"]["job"]
    assert job["behind"] == "1" and "number 4, called in train_step (job.py:" in job["waits_in"], job


def test_a_checkpoint_is_no_dump(tmp_path: Path) -> None:
    python = str(build("torch-cpu") / "bin" / "python")
    old = tmp_path / "weights.pt"
    saving = "import sys, torch; torch.save({'w': torch.ones(2)}, sys.argv[1], _use_new_zipfile_serialization=False)"
    subprocess.run([python, "-c", saving, str(old)], check=True)
    done = subprocess.run([sys.executable, "-m", "gpudoctor", "explain", str(old)], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
