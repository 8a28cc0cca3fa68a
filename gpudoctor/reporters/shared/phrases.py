"""Sentences on a machine, a stack and a layer that all reporters use."""

from __future__ import annotations

from collections.abc import Mapping

from gpudoctor.model.report import LayerResult, Report, StackResult
from gpudoctor.reporters.shared.advice_lines import command_lines, first_sentence, only_looks, sentence

WORDS = {"ok": "ok", "warning": "warning", "broken": "BROKEN", "unknown": "not checked", "not-reached": "not reached"}
MEASURED = ("compute", "performance")
"""Layers that are known only after `validate`."""
NO_GPU = "No GPU found"
AGAIN = "gpudoctor check"
FEW = 3
"""The number of commands that are repeated at the end of a screen."""
LATE = "timeout: "
"""The beginning of the reason of a fact that is unknown because a tool did not end; the tool follows."""
LOGGED = {
    "nvidia-smi": "sudo dmesg | grep -iE 'nvrm|xid'",
    "amd-smi": "sudo dmesg | grep -i amdgpu",
    "rocminfo": "sudo dmesg | grep -i amdgpu",
}
"""The command that shows what the driver logged, for each tool that did not answer."""


def name(layer: str) -> str:
    return layer.replace("-", " ")


def python_line(head: Mapping[str, str]) -> str:
    """The environment that was examined, and why this one."""
    where, why = head.get("python_executable", ""), head.get("python_why", "")
    text = " ".join(
        part for part in (f"Python {head.get('python', '')}".strip(), f"at {where}" if where else "", f"({why})" if why else "") if part
    )
    return text if head.get("python") or where else ""


def no_gpu(report: Report) -> bool:
    """Whether the machine is known to have neither a GPU nor another accelerator."""
    return "gpus" in report.facts and not report.facts["gpus"] and not _other_accelerator(report)


def _other_accelerator(report: Report) -> bool:
    """Whether a stack has an accelerator that is not a GPU: an IPU behind a network is on no bus."""
    return any(
        stack.stack == "poplar" and any(rung.layer == "device" and rung.status == "ok" for rung in stack.layers) for stack in report.stacks
    )


def looked_for(report: Report) -> str:
    """The sentence for a machine without a GPU, with what was examined: 'none is there' and 'none could be seen' differ."""
    kind = _platform(report)
    devices = _pci_devices(report)
    if devices:
        count = len(devices)
        return f"No GPU among the {count} devices of the PCI bus." if count > 1 else "The only device on the PCI bus is not a GPU."
    if kind == "wsl2":
        return "No GPU: /dev/dxg is missing, through which WSL reaches the GPU."
    place = {"container": "this container", "windows": "this Windows", "macos": "this Mac"}.get(kind, "this machine")
    if kind in ("windows", "macos"):
        return f"No GPU among the display adapters of {place}."
    return f"No PCI bus is visible on {place} (virtual machines and containers may hide it), so a card would not be seen."


def bus_seen(report: Report) -> bool:
    """Whether a bus could be examined; without one, 'no device' is not known."""
    return bool(report.facts.get("gpus") or _pci_devices(report)) or _platform(report) in ("windows", "macos", "wsl2")


def _pci_devices(report: Report) -> list[object]:
    pci = report.facts.get("pci")
    devices = pci.get("devices") if isinstance(pci, dict) else None
    return devices if isinstance(devices, list) else []


def _platform(report: Report) -> str:
    platform = report.facts.get("platform")
    return str(platform.get("kind")) if isinstance(platform, dict) else ""


def verdict_words(stack: StackResult) -> str:
    if stack.verdict == "broken":
        return f"broken at {name(stack.broken_layer or '')}".removesuffix(" at ")
    if stack.verdict == "unknown":
        sound = ""
        for rung in stack.layers:
            if rung.status not in ("ok", "warning"):
                break
            sound = rung.layer
        return f"ok up to {name(sound)}" if sound else "not checked"
    if stack.verdict == "incomplete":
        missing = stops_at(stack)
        return f"stops at {name(missing.layer)}" if missing else "not installed"
    return "no device" if stack.verdict == "not-applicable" else stack.verdict


def stops_at(stack: StackResult) -> LayerResult | None:
    """The layer that is missing below an installed framework; None where nothing of the stack is installed."""
    installed = any(rung.layer == "framework" and rung.status in ("ok", "warning") for rung in stack.layers)
    if stack.verdict != "incomplete" or not (stack.used or installed):
        return None
    return next((rung for rung in stack.layers if rung.status == "not-reached"), None)


def why_not_checked(stack: StackResult) -> str:
    """The reason of the lowest layer that could not be examined."""
    return next((rung.detail for rung in stack.layers if rung.status == "unknown" and rung.layer not in MEASURED), "")


def plainly_missed(rung: LayerResult) -> bool:
    return rung.status == "not-reached" and not rung.detail


def unmeasured(rung: LayerResult) -> bool:
    """Whether the layer is only unmeasured, which `validate` would change, and which is no fault."""
    return rung.status == "unknown" and rung.layer in MEASURED


def rung_detail(rung: LayerResult, hint: str = "") -> str:
    """The detail that is shown beside a layer."""
    return hint if unmeasured(rung) and not rung.detail else rung.detail


def layers_not_checked(report: Report) -> int:
    """The unchecked layers of the stacks in use, else of all stacks with a device."""
    there = [stack for stack in report.stacks if stack.verdict != "not-applicable"]
    return sum(
        rung.status == "unknown" and rung.layer not in MEASURED
        for stack in [stack for stack in there if stack.used] or there for rung in stack.layers
    )  # fmt: skip


def nothing_wrong(report: Report) -> str:
    if no_gpu(report):
        return "No other problems found."
    for stack in report.stacks:
        missing = stops_at(stack) if stack.used else None
        if missing:
            said = f" ({missing.detail})" if missing.detail else ""
            return f"No cause found: {stack.title} stops at {name(missing.layer)}{said}."
    late = late_tools(report)
    if late:
        return f"No problems found, but {' and '.join(late)} did not answer in time."
    open_ones = layers_not_checked(report)
    if open_ones:
        return f"No problems found ({open_ones} layer{'s' if open_ones > 1 else ''} not checked)."
    return "No problems found in what was checked." if report.incomplete else "No problems found."


def late_tools(report: Report) -> list[str]:
    """Programs that were started and did not end."""
    tools = (reason.removeprefix(LATE) for reason in report.unknown.values() if reason.startswith(LATE))
    return list(dict.fromkeys(tool for tool in tools if " " not in tool))


def _quick(report: Report) -> bool:
    return "not inspected" in report.unknown.values()


def next_step(report: Report, again: str = AGAIN) -> tuple[str, tuple[str, ...]]:
    """The last sentence and the commands to run next. `again`: the command line that made this report."""
    serious = [finding for finding in report.findings if finding.severity != "info" and finding.confidence != "possible"]
    if serious:
        commands = tuple(command_lines(serious[0].advice))
        if commands and serious[0].advice.text and all(map(only_looks, commands)):
            return f"Next: {first_sentence(sentence(serious[0].advice))}", ()
        if len(commands) > FEW:
            return f"Next: run the {len(commands)} commands of finding 1, in their order.", ()
        return ("Next:", commands) if commands else ("Next: follow the advice of finding 1; details:", (f"gpudoctor show {serious[0].id}",))
    if _quick(report) and any(stops_at(stack) for stack in report.stacks if stack.used):
        return "Next, without --quick, which leaves out logs and programs:", (again,)
    late = late_tools(report)
    if late:
        log = LOGGED.get(late[0].rpartition("/")[2])
        if log:
            return f"Next, to see why {late[0]} hangs:", (log,)
        return f"Next, to see whether {late[0]} ends at all:", (late[0],)
    if report.incomplete:
        return "Next, with more time:", (f"{again} --budget 120",)
    if no_gpu(report):
        return "Next, on the machine with the GPU:", (AGAIN,)
    if report.origin == "live" and any(
        stack.used and stack.verdict == "ok" and any(map(unmeasured, stack.layers)) for stack in report.stacks
    ):
        return "Next, to measure correctness and speed:", ("gpudoctor validate",)
    return "Details:", (f"{again} -v",)
