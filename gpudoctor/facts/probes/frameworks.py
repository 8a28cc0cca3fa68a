"""Versions, devices and libraries of each installed framework, imported in children of the target interpreter, one for each framework."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpudoctor.facts.probes._probe import Probe
from gpudoctor.model.facts import Fact, Facts, FactSpec, Known, Unknown
from gpudoctor.system.framework_child import QUIET, SIGNALS, SILENT, signal_of, table_of
from gpudoctor.system.host import Host, Ran

OWN_LIMIT = 60.0
"""The most seconds that one child may take."""
MEMORY_PER_CHILD = 1_500_000_000
"""Bytes of main memory that a child with a framework is assumed to need."""
FRAMEWORKS: Mapping[str, tuple[str, ...]] = {
    "torch": ("torch", "pytorch-directml"),
    "intel_extension_for_pytorch": ("intel-extension-for-pytorch", "intel-extension-for-pytorch-deepspeed"),
    "torch_directml": ("torch-directml",),
    "pytorch_ocl": ("pytorch-ocl",),
    "poptorch": ("poptorch",),
    "tensorflow": (
        "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tensorflow-intel", "tensorflow-rocm", "tensorflow-directml", "tensorflow-macos",
        "tf-nightly",
    ),
    "onnxruntime": (
        "onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-directml", "onnxruntime-training", "onnxruntime-rocm",
        "onnxruntime-migraphx", "onnxruntime-qnn", "onnxruntime-silicon", "onnxruntime-vitisai", "onnxruntime-windowsml", "ort-nightly",
        "ort-nightly-gpu",
    ),
    "openvino": ("openvino",),
    "jax": ("jax",),
    "bitsandbytes": ("bitsandbytes",),
    "xformers": ("xformers",),
}  # fmt: skip


def present(distributions: Iterable[str]) -> list[str]:
    """The frameworks (module names) that the installed distributions bring."""
    names = set(distributions)
    return [module for module, owners in FRAMEWORKS.items() if names.intersection(owners)]


def parse_child(ran: Ran, name: str) -> dict[str, Any] | Unknown:
    """The record of python.frameworks for the framework `name`, from the stages that its child printed and how it ended; Unknown where it
    was not started."""
    if ran.not_recorded:
        return Unknown(f"not inspected: {ran.not_run}" if ran.not_run else "not inspected")
    if ran.missing:
        return Unknown("not inspected: the interpreter is missing")
    said, stages = _stages(ran.stdout)
    last = stages[-1] if stages else ""
    if last in ("done", "failed"):
        said.setdefault("imported", False)
        if isinstance(said.get("error"), dict):
            said["error"]["message"] = _with_output(str(said["error"].get("message", "")), ran.stderr)
    elif ran.timed_out and ran.seconds < 1.0:
        return Unknown("out of time")
    elif last == "graph":  # the driver of the NPU hung or died; what openvino said before is true nevertheless
        said.setdefault("npu_graph", _how_the_graph_ended(ran))
    elif ran.timed_out:
        said["timed_out"] = True
        if not stages:
            return Unknown("timeout: the interpreter did not start")
        what = f"import {name}" if last == "import" else f"{name} asked for its devices"
        said["error"] = {"kind": "timeout", "name": "timeout", "message": f"{what}: no end after {ran.seconds:.0f} s"}
    else:
        error = _how_it_died(ran, name, last)
        if error is None:
            return Unknown(f"crashed: {_tail(ran.stderr) or 'the interpreter did not start'}"[:300])
        said["error"] = error
    said["imported"] = bool(said.get("imported"))
    said.setdefault("version", Unknown("not inspected"))
    said.setdefault("error", None)
    if said.pop("devices_skipped", None):
        said["devices"] = Unknown("device busy")
    elif "devices" not in said:
        said["devices"] = Unknown(f"unparsable: {str(said.get('device_error') or 'not imported')[:300]}")
    if "libraries" not in said:
        said["libraries"] = Unknown("not inspected")
    return said


def _stages(stdout: str) -> tuple[dict[str, Any], list[str]]:
    """(all values that the child printed, the later ones counting; the names of the stages that it reached)."""
    said: dict[str, Any] = {}
    stages: list[str] = []
    for line in stdout.splitlines():
        part = table_of(line)
        if part is not None:
            stages.append(str(part.pop("stage", "")))
            said.update(part)
    return said, stages


def _how_it_died(ran: Ran, name: str, last_stage: str) -> dict[str, str] | None:
    """The error of a child that ended before its last stage; None where the interpreter did not start."""
    signal = signal_of(ran)
    if not last_stage and signal is None:
        return None
    where = f"import {name}" if last_stage in ("import", "") else f"{name} after its import"
    if signal is None:
        return {"kind": "exception", "name": "exit", "message": _with_output(f"{where} left with status {ran.rc}", ran.stderr)}
    label = SIGNALS.get(signal, f"signal {signal}")
    return {"kind": "signal", "name": label, "message": _with_output(f"{where} died of {label}", ran.stderr)}


def _how_the_graph_ended(ran: Ran) -> str:
    signal = signal_of(ran)
    if ran.timed_out:
        return f"no end after {ran.seconds:.0f} s"
    return (
        f"the process died of {SIGNALS.get(signal, f'signal {signal}')}" if signal is not None else f"the process left with status {ran.rc}"
    )


def _tail(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _with_output(message: str, stderr: str) -> str:
    """The message, followed by the last lines of the framework's output that it does not repeat."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and "Warning" not in line][-4:]
    more = "\n".join(line[:400] for line in lines if line not in message)
    return f"{message}\n{more}" if more else message


def busy(host: Host) -> bool:
    """Whether another process computes on a device of this machine, so that no context may be made on it."""
    if host.listdir("/sys/class/kfd/kfd/proc"):
        return True
    if host.exists("/dev/nvidia-uvm"):
        ran = host.run(["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"], timeout=3.0)
        return ran.ok and any(line.strip().isdigit() for line in ran.stdout.splitlines())
    return False


def _children(host: Host) -> int:
    """How many children may run at a time, by the number of cores and the free main memory."""
    cores = os.cpu_count() or 1
    text = host.read("/proc/meminfo", limit=100_000)
    for line in text.text.splitlines() if text.ok else ():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
            return max(1, min(cores, free // MEMORY_PER_CHILD))
    return max(1, min(cores, 2))


def payload(name: str) -> str:
    """The path of a script in target/payloads, which the target interpreter runs."""
    from gpudoctor.system.target_programs import program  # late: a quick check runs none

    return program("payloads", name)


def collect(host: Host, facts: Facts) -> Iterator[tuple[str, Fact]]:
    distributions = facts.get("python.distributions")
    if not isinstance(distributions, Known):
        yield "python.frameworks", distributions if isinstance(distributions, Unknown) else Unknown("not inspected")
        return
    wanted = present(distributions.value)
    if host.origin == "capture":
        yield "python.frameworks", Known(_recorded(host, wanted), "python.json")
        return
    executable = facts.value("python.executable")
    if refused(facts):
        yield "python.frameworks", Known({name: Unknown("not inspected: its interpreter was not run") for name in wanted})
        return
    if not executable or facts.known("python.error"):
        yield "python.frameworks", Known({name: Unknown("not inspected: the interpreter is missing") for name in wanted})
        return
    yield "python.frameworks", Known(_ask(host, executable, wanted), f"{executable} inspect_framework.py")


def refused(facts: Facts) -> bool:
    """Whether the target interpreter is not run, since other users could have changed it and --python did not name it."""
    said = facts.get("python.not_run")
    return isinstance(said, Unknown) and said.reason.startswith("permission denied")


def _recorded(host: Host, wanted: list[str]) -> dict[str, Any]:
    said = host.python_environment() or {}
    frameworks = said.get("frameworks")
    result: dict[str, Any] = {name: Unknown("not recorded") for name in wanted}
    for name, value in frameworks.items() if isinstance(frameworks, Mapping) else ():
        if isinstance(value, Mapping):
            result[str(name)] = {"error": None, **value} if value.get("imported") is not None else dict(value)
    return result


def _ask(host: Host, executable: str, wanted: list[str]) -> dict[str, Any]:
    if not wanted:
        return {}
    environment = {**{name: value for name, value in QUIET.items() if host.env(name) is None}, **SILENT}
    without = getattr(getattr(host, "door", None), "no_devices", "")
    if without or busy(host):
        environment["GPUDOCTOR_NO_DEVICE"] = "1"

    def one(name: str) -> dict[str, Any] | Unknown:
        argv = [executable, "-X", "utf8", payload("inspect_framework.py"), name]
        left = host.remaining()
        if left < 1.0:
            return Unknown("out of time")
        said = parse_child(host.run_child(argv, timeout=min(OWN_LIMIT, left - 0.5), limit=4_000_000, env=environment), name)
        if without and isinstance(said, dict) and said["devices"] == Unknown("device busy"):
            said["devices"] = Unknown(f"not inspected: {without}")
        return said

    if len(wanted) == 1:
        return {wanted[0]: one(wanted[0])}
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_children(host)) as pool:
        return dict(zip(wanted, pool.map(one, wanted), strict=True))


PROBE = Probe(
    "frameworks",
    provides=(
        FactSpec(
            "python.frameworks", "map",
            "per framework: imported, version, build, config, error {kind, name, message}, devices, libraries, notes; of openvino "
            "npu_graph: 'compiled', or why a graph of one operation cannot be compiled for the NPU that it lists",
            privacy="identifying",
        ),
    ),
    collect=collect,
    needs=("python.distributions", "python.executable", "python.not_run"),
    slow=True,
)  # fmt: skip
