"""Runs in the target interpreter and measures on one device: reads a request (JSON) on standard input, and prints lines of JSON.

It uses the standard library alone, runs under Python 3.8 and newer, imports nothing from gpudoctor, and finds its siblings by their folder.
Each stage is a line when it begins (import, device, build, correctness, first, ready, measure), so that a hang or a crash is located; the
last line is `result`, `skipped` (what this backend lacks, with the reason) or `failed`. What a framework prints goes to standard error.

A request may hold several, as `jobs`, each a request of its own for the same framework: a line `job` with its number begins each of them,
and each has its own last line. After a failure the worker ends, because the failure may have damaged the process.
"""

import gc
import importlib
import json
import os
import signal
import sys
import time

BEGAN = time.monotonic()
FOLDER = os.path.dirname(os.path.abspath(__file__))
MARK = "@gpudoctor "
SAID = 1
BACKENDS = {
    "torch": "torch_backend", "ipex": "torch_backend", "torch-directml": "torch_backend", "torch-opencl": "torch_backend",
    "openvino": "openvino_backend", "onnxruntime": "onnxruntime_backend", "tensorflow": "tensorflow_backend", "jax": "jax_backend",
    "opencl": "opencl_backend", "poptorch": "poptorch_backend", "popart": "popart_backend", "llama-cpp": "llama_cpp_backend",
    "llama-bench": "llama_bench_backend", "wgpu": "wgpu_backend",
}  # fmt: skip


FULL = (
    "out of memory", "outofmemory", "out_of_host_memory", "out_of_device_memory", "cl_mem_object_allocation_failure", "resource_exhausted",
    "out_of_resources", "not enough memory", "not enough gpu video memory", "allocate memory", "failed to allocate",
    "insufficient memory", "e_outofmemory", "bad_alloc", "failed to map segment",
)  # fmt: skip


class Skipped(Exception):
    """The backend lacks what was requested; the message is the reason."""


def say(stage, **what):
    data = (MARK + json.dumps(dict(what, stage=stage), default=str) + "\n").encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(SAID, data) :]


def die_with_parent():
    """Asks Linux to kill this process when gpudoctor ends, because nothing could stop it after that (prctl PR_SET_PDEATHSIG)."""
    if sys.platform.startswith("linux"):
        try:
            import ctypes

            ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
        except (ImportError, OSError, AttributeError):
            pass


def main():
    global SAID
    die_with_parent()
    SAID = os.dup(1)
    os.dup2(2, 1)
    sys.path[:0] = [FOLDER, os.path.join(FOLDER, "backends")]
    sys.modules["worker"] = sys.modules["__main__"]
    try:
        request = json.loads(sys.stdin.read())
        for name in request.get("unset", ()):
            os.environ.pop(name, None)
        say("import")
        backend = importlib.import_module(BACKENDS[request["framework"]])
        if "jobs" in request:
            in_turn(request["jobs"], backend)
        else:
            say("result", **carry_out(request, backend))
    except Skipped as reason:
        say("skipped", reason=str(reason))
    except MemoryError:
        say("failed", error="MemoryError: main memory is full", memory=True)
    except Exception as error:
        name = type(error).__name__
        text = " ".join(str(error).split())[:600]
        say("failed", error=name + ": " + text if text else name, memory=is_memory(name, text))


def in_turn(jobs, backend):
    """Carries out the jobs one after another. Skipped ends its job alone; any other error ends the process."""
    for number, job in enumerate(jobs):
        say("job", number=number)
        try:
            say("result", **carry_out(job, backend))
        except Skipped as reason:
            say("skipped", reason=str(reason))
        gc.collect()  # this frees the memory of the job before the next one begins


def is_memory(name, text):
    """Whether an error says that the device's memory is full, in the words of any framework."""
    lowered = (name + " " + text).lower()
    return any(word in lowered for word in FULL)


ENDING = 1.5
"""A worker stops measuring this many seconds before the end of its time, so that its result arrives."""


def within(request, wanted, share=1.0):
    """`wanted` seconds, or less: at most `share` of what is left of the `within` seconds since the start that the request allows."""
    if request.get("within") is None:
        return wanted
    left = request["within"] - ENDING - (time.monotonic() - BEGAN)
    return max(0.1, min(wanted, share * left))


def carry_out(request, backend):
    """Carries out one request of any kind; returns the table for the line `result`."""
    import measuring
    import timing

    worker_group = request.get("worker_group")
    if worker_group and worker_group.get("same"):
        import barrier

        request.setdefault("threads", barrier.share_of_cores(worker_group["same"]))
    session = backend.open_session(request)
    say("device", **session.about())
    if request.get("job") == "operators":
        return {"operators": session.operators(request)}
    if request.get("job") in ("collective", "data_parallel"):
        return collective(request, session)
    if request.get("fine_tuning") and not getattr(backend, "FINE_TUNES", False):
        raise Skipped("fine-tuning is measured with torch's own devices, not with {}".format(request["framework"]))
    say("build")
    work = session.prepare(request)
    if request.get("preprocess") and "preprocess" not in work.includes:
        raise Skipped("{} takes no images that could be prepared here".format(request["workload"]))
    found = dict(session.about(), environment=dict(work.environment), includes=list(work.includes))
    found["python_debug"] = hasattr(sys, "gettotalrefcount")  # only debug builds have it
    if request.get("verify", True):
        say("correctness")
        found["outputs"] = work.verify()
    if request.get("job") == "verify":
        return found
    if hasattr(work, "timed_by_itself"):
        say("measure")
        return dict(found, **work.timed_by_itself(lambda: within(request, request.get("duration", 3.0))))
    say("first")

    def warm_limit():
        return within(request, request.get("warm_up", 10.0), 0.4)

    if worker_group:
        warm = timing.warm_up(work.step, work.sync, warm_limit())
        return dict(found, **beside_others(work, request, warm.first, warm.warm, warm.steady))
    times, samples = measuring.measure(
        work, request.get("dtype", "float32"), found.get("outputs"), warm_limit, lambda: within(request, request.get("duration", 3.0)), say
    )
    found.update(times)
    found["memory_peak_bytes"] = work.memory_peak()
    found.update(work.found())
    found.update(work.places())
    if request.get("samples"):
        found["samples_ms"] = [value * 1e3 for value in samples.times]
    return found


def beside_others(work, request, first, warm, steady):
    """The measurement where other workers do the same at the same time: all begin together and none stops before the time is over."""
    import barrier

    say("ready", first_ms=first * 1e3, warm_ms=warm * 1e3, steady=steady)
    barrier.wait_for_start(request["worker_group"]["folder"])
    say("measure")
    times, seconds = barrier.window(
        work.step, work.sync, request.get("duration", 3.0),
        lambda count, mean: say("progress", iterations=count, median_ms=mean * 1e3, step_ms=mean * 1e3, next_within=max(10.0, 30.0 * mean)),
    )  # fmt: skip
    say("progress")
    kept, every = barrier.microseconds(times)
    return dict(
        work.found(), samples_us=kept, every=every, iterations=len(times), window_s=seconds, first_ms=first * 1e3, steady=steady,
        items_per_step=work.items, unit=work.unit, memory_peak_bytes=work.memory_peak(),
    )  # fmt: skip


def collective(request, session):
    """The measurement that all ranks make together: an operation by message size, or training."""
    run = getattr(session, request["job"], None)
    if run is None:
        raise Skipped("{} has no collective that is measured here".format(request["framework"]))
    return run(request)


class Work:
    """What a backend prepares: `step()` begins a step, `sync()` waits until all steps that were begun are done."""

    items, unit = 1, "items/s"
    includes = ("compute",)
    environment = ()
    """Pairs (name, value) of the settings that the backend chose by itself."""

    def step(self):
        raise NotImplementedError

    def sync(self):
        pass

    def verify(self):
        """Checks the results: a list of tables with name, max_relative_error, tolerance and note; empty where nothing can be compared."""
        return []

    def outcome(self):
        """What the last step computed, asked outside the measured time: None (nothing to compare), {"same": numbers} for work whose result
        is the same at each step, {"loss": number} for training."""
        return None

    def memory_peak(self):
        return None

    memory_now = None
    """A backend may replace it by a function that returns the bytes in use on the device."""

    def found(self):
        """Further entries for the result that are known only after the measurement."""
        return {}

    def places(self):
        """Where the work was really computed, as far as the framework says: `computed_on` (a device), `fallbacks` (names of operators)."""
        return {}


if __name__ == "__main__":
    main()
