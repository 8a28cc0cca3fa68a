"""llama-bench, the measuring program of llama.cpp: it times the same model itself, and says nothing of correctness.

Its answer is read as `llama-bench -o json` of tools/llama-bench/llama-bench.cpp (ggml-org/llama.cpp) prints it. Standard library only.
"""

import json
import math
import subprocess
import tempfile

import llama_model
import llama_threads
import timing
from device_names import bare, processor
from worker import Skipped, Work

MOST_RUNS = 500
ALL_LAYERS = "99"


def open_session(request):
    return Session(request)


class Session:
    def __init__(self, request):
        self.program = request.get("program") or "llama-bench"
        self.device = bare(request.get("device"), "llama") or "cpu"
        self.threads = request.get("threads") or llama_threads.physical_cores()

    def about(self):
        found = {"device": self.device, "threads": self.threads}
        return dict(found, device_name=processor()) if self.device == "cpu" else found

    def prepare(self, request):
        if request["workload"] not in ("llama_prefill", "llama_decode"):
            raise Skipped("llama-bench reads a prompt (llama_prefill) or writes tokens (llama_decode), and nothing else")
        if request.get("dtype") not in llama_model.TYPES:
            raise Skipped("the model is written in float16 and float32, not in {}".format(request.get("dtype")))
        return Bench(self, request)


class Bench(Work):
    unit = "tokens/s"
    WRITTEN = 16
    """Tokens of a run that writes: llama-bench times them together."""

    def __init__(self, session, request):
        self.session, self.request = session, request
        options, reads = request.get("options", {}), request["workload"] == "llama_prefill"
        if options.get("batch", 1) != 1:
            raise Skipped("one text at a time is measured here")
        self.per_run = 1 if reads else self.WRITTEN
        self.what = ["-p", str(options.get("tokens", 512)), "-n", "0"] if reads else ["-p", "0", "-n", str(self.WRITTEN)]
        if not reads and options.get("past"):
            self.what += ["-d", str(options["past"])]
        self.answer = {}

    def timed_by_itself(self, duration):
        """The part of a result that is about time. A first run tells how many fit into `duration()` seconds."""
        with tempfile.TemporaryDirectory(prefix="gpudoctor-model-") as folder:
            model = llama_model.kept(folder, self.request["dtype"])
            first = self._ran(model, 1)
            count = min(max(int(duration() / max(sum(first), 1e-6)), 2), MOST_RUNS)
            times = [seconds / self.per_run for seconds in self._ran(model, count)]
        busy = sum(times) * self.per_run
        found = dict(timing.summary(times, 1), busy_s=busy, window_s=busy, iterations=len(times) * self.per_run, steady=True)
        found.update(self.about(), first_ms=first[0] / self.per_run * 1e3, items_per_step=self.items, unit=self.unit)
        return found

    def _ran(self, model, count):
        on = ["-ngl", "0"] if self.session.device == "cpu" else ["-ngl", ALL_LAYERS, "-sm", "none", "-mg", self.session.device]
        argv = [self.session.program, "-m", model, *self.what, "-r", str(count), "-t", str(self.session.threads), *on, "-o", "json"]
        ran = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if ran.returncode:
            said = ran.stderr.decode("utf-8", "replace").strip().splitlines()
            raise RuntimeError("llama-bench ended with status {}: {}".format(ran.returncode, said[-1] if said else "it said nothing"))
        self.answer, seconds = parse(ran.stdout.decode("utf-8", "replace"))
        return seconds

    def about(self):
        """What it says of itself and of what it computed on."""
        found = {"framework_version": "b{}".format(self.answer["build_number"])} if self.answer.get("build_number") else {}
        name = self.answer.get("cpu_info" if self.session.device == "cpu" else "gpu_info")
        return dict(found, device_name=str(name)) if name else found


def parse(text):
    """(the table of the one test, the seconds of each of its runs) of `llama-bench -o json`. Raises ValueError for anything else."""
    try:
        rows = json.loads(text)
    except ValueError:
        raise ValueError("llama-bench printed no JSON") from None
    if not isinstance(rows, list) or len(rows) != 1 or not isinstance(rows[0], dict):
        raise ValueError("llama-bench printed another number of tests than the one that was asked for")
    times = rows[0].get("samples_ns")
    if not isinstance(times, list) or not times:
        raise ValueError("llama-bench gives no times (samples_ns)")
    seconds = [float(value) / 1e9 for value in times if isinstance(value, (int, float)) and math.isfinite(value) and value > 0]
    if len(seconds) != len(times):
        raise ValueError("the times of llama-bench (samples_ns) are no positive numbers")
    return rows[0], seconds
