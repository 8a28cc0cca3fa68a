"""Runs in the target interpreter: measurements on one device. Reads a request (JSON) on standard input, prints lines of JSON.

Standard library only, Python 3.8, nothing of gpudoctor; its siblings here are found by their folder. Each stage is a line when it begins
(import, device, build, correctness, first, ready, measure), so that a hang or a crash is located; the last line is `result`, `skipped`
(what this backend lacks, with the reason) or `failed`. What a framework prints goes to standard error.

A request may hold several, as `jobs`, each a request of its own for the same framework: a line `job` with its number begins each of them,
and each has its own last line. After a failure nothing more is done here: what went wrong may have spoilt the process.
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
    """This backend has no such thing: the reason is the text."""


def say(stage, **what):
    data = (MARK + json.dumps(dict(what, stage=stage), default=str) + "\n").encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(SAID, data) :]


def die_with_parent():
    """Linux: where the doctor is killed there is nobody left to stop this (prctl PR_SET_PDEATHSIG)."""
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
    """One after another. What a backend lacks is the end of that job alone; any other error is that of the process."""
    for number, job in enumerate(jobs):
        say("job", number=number)
        try:
            say("result", **carry_out(job, backend))
        except Skipped as reason:
            say("skipped", reason=str(reason))
        gc.collect()  # the next one shall find the memory that this one had


def is_memory(name, text):
    """Whether an error says that the device's memory is full: each framework has its own words."""
    lowered = (name + " " + text).lower()
    return any(word in lowered for word in FULL)


ENDING = 1.5
"""Seconds before the end of its time at which a worker stops measuring: what it has shall arrive."""


def within(request, wanted, share=1.0):
    """`wanted` seconds, or a share of what is left where the request says `within` how many seconds of the start this has to be over."""
    if request.get("within") is None:
        return wanted
    left = request["within"] - ENDING - (time.monotonic() - BEGAN)
    return max(0.1, min(wanted, share * left))


def carry_out(request, backend):
    """What one request of any kind gives: a table for the result line."""
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
    found["python_debug"] = hasattr(sys, "gettotalrefcount")  # what only debug builds have
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
    """The measurement where others run the same beside this one: all begin together and none stops before the time is over."""
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
    """What all ranks do together: an operation by message size, or training."""
    run = getattr(session, request["job"], None)
    if run is None:
        raise Skipped("{} has no collective that is measured here".format(request["framework"]))
    return run(request)


class Work:
    """What a backend prepares: `step()` begins one, `sync()` waits for all that was begun."""

    items, unit = 1, "items/s"
    includes = ("compute",)
    environment = ()
    """Pairs of names and values that the backend set for itself."""

    def step(self):
        raise NotImplementedError

    def sync(self):
        pass

    def verify(self):
        """What correctness is judged by, on this side: a list of tables with name, max_relative_error, tolerance, note. Empty: none."""
        return []

    def outcome(self):
        """What the last step computed, outside the clock: None (nothing to compare), {"same": numbers} for work whose result is the same
        at each step, {"loss": number} for training."""
        return None

    def memory_peak(self):
        return None

    memory_now = None
    """Or a function: the bytes that are taken on the device now, where a backend can tell."""

    def found(self):
        """More for the result, known only after the measurement."""
        return {}

    def places(self):
        """Where it was really computed, as far as this backend tells: `computed_on` (a device), `fallbacks` (names of operators)."""
        return {}


if __name__ == "__main__":
    main()
