"""Whether the devices that a job was given can be used by it: what its variables name is there, has a driver, and may be opened.

The rules of a control group, which keep a job from the devices of others, show in whether a device file may be opened.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from gpudoctor.facts.derive._visible_devices import left_by

ASSIGNED = "assigned"
"""In the place of a device: all that the variables of the job leave."""
_VENDORS = {"nvidia": "cuda", "amd": "cuda", "intel": "xpu"}
_ADDRESS = re.compile(r"(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)
Gpu = Mapping[str, Any]


class DeviceAnswer(Struct, frozen=True):
    """`ready`: None where it could not be determined. `says`: the device, and what is wrong with it or its driver."""

    ready: bool | None
    says: str


class _Wrong(Exception):
    """Why a name leads to no device; `ready` of the answer."""

    def __init__(self, says: str, ready: bool | None = False) -> None:
        super().__init__(says)
        self.ready = ready


def answer(facts: Mapping[str, Any], device: str) -> DeviceAnswer:
    """One sentence on the device, or on all assigned devices. `facts`: the tree of a report."""
    gpus = facts.get("gpus")
    if not isinstance(gpus, list):
        return DeviceAnswer(None, "the GPUs of this machine were not determined")
    try:
        if device == ASSIGNED:
            return _together([_usable(gpu, name, facts) for gpu, name in _all_assigned(gpus, facts)])
        return _usable(_named(gpus, facts, device), device, facts)
    except _Wrong as wrong:
        return DeviceAnswer(wrong.ready, str(wrong))


def _together(answers: Sequence[DeviceAnswer]) -> DeviceAnswer:
    """Of several devices the one that stops the job, else all of them."""
    if not answers:
        return DeviceAnswer(False, "there is no GPU")
    for state in (False, None):
        bad = [each for each in answers if each.ready is state]
        if bad:
            more = f"; and {len(bad) - 1} more" if len(bad) > 1 else ""
            return DeviceAnswer(state, bad[0].says + more)
    return answers[0] if len(answers) == 1 else DeviceAnswer(True, f"{len(answers)} devices: {'; '.join(each.says for each in answers)}")


def _all_assigned(gpus: Sequence[Gpu], facts: Mapping[str, Any]) -> list[tuple[Gpu, str]]:
    """What the variables leave of each vendor. An integrated GPU beside a card counts only where a variable names it."""
    found: list[tuple[Gpu, str]] = []
    for vendor, prefix in _VENDORS.items():
        own = [gpu for gpu in gpus if gpu.get("vendor") == vendor]
        left = _left(vendor, own, facts)
        if any(gpu.get("kind") == "discrete" for gpu in gpus) and not _variables(vendor, facts):
            left = [gpu for gpu in left if gpu.get("kind") != "integrated"]
        found += [(gpu, f"{prefix}:{number}") for number, gpu in enumerate(left)]
    return found


def _variables(vendor: str, facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Those that are set, in the order in which they act: each numbers what the one before it leaves."""
    env = facts.get("env")
    env = env if isinstance(env, Mapping) else {}
    second = "HIP_VISIBLE_DEVICES" if "HIP_VISIBLE_DEVICES" in env else "CUDA_VISIBLE_DEVICES"
    names = {"nvidia": ["CUDA_VISIBLE_DEVICES"], "amd": ["ROCR_VISIBLE_DEVICES", second], "intel": ["ZE_AFFINITY_MASK"]}[vendor]
    return [(name, str(env[name])) for name in names if isinstance(env.get(name), str) and (vendor != "intel" or env[name].strip())]


def _left(vendor: str, own: Sequence[Gpu], facts: Mapping[str, Any]) -> list[Gpu]:
    """The vendor's GPUs that its variables leave, as a framework numbers them."""
    left = list(own)
    if not own:
        return left
    for name, value in _variables(vendor, facts):
        before, left = left, []
        if left_by(value, None) == "none":
            raise _Wrong(f'{name}="{value.strip()}" hides every GPU')
        for entry in dict.fromkeys(part.strip() for part in value.split(",")):
            gpu = _entry(entry, before, facts, name)
            if gpu not in left:
                left.append(gpu)
    return left


def _entry(entry: str, gpus: Sequence[Gpu], facts: Mapping[str, Any], variable: str) -> Gpu:
    number = re.match(r"\d+(?=\.|$)", entry)
    if number and (variable == "ZE_AFFINITY_MASK" or number[0] == entry):
        if int(number[0]) < len(gpus):
            return gpus[int(number[0])]
        raise _Wrong(f"{variable} names device {number[0]}, and there {'is' if len(gpus) == 1 else 'are'} only {len(gpus)}")
    return _by_uuid(entry, gpus, facts, f"{variable} names {entry[:60]}, which")


def _by_uuid(uuid: str, gpus: Sequence[Gpu], facts: Mapping[str, Any], who: str) -> Gpu:
    """A GPU, or the one that holds a MIG device. A beginning that fits one alone is enough, as for CUDA."""
    if not re.match(r"(?:GPU|MIG)-[0-9a-f]", uuid, re.IGNORECASE):
        raise _Wrong(f"{who} is neither a number nor a UUID")
    nvidia = facts.get("nvidia")
    rows = nvidia.get("devices") if isinstance(nvidia, Mapping) else None
    rows = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    mig = uuid.upper().startswith("MIG-")
    if not any(row.get("mig_uuids" if mig else "uuid") for row in rows):
        if mig and rows and all(row.get("mig_mode") in ("Disabled", "N/A", "[N/A]") for row in rows):
            raise _Wrong(f"{who} is a MIG device, and MIG is off here")
        raise _Wrong(f"{who} cannot be looked up: nvidia-smi lists no UUIDs", None)
    for row in rows:
        known = [str(each) for each in row.get("mig_uuids") or ()] if mig else [str(row.get("uuid"))]
        if any(each.lower().startswith(uuid.lower()) for each in known):
            same = [gpu for gpu in gpus if gpu.get("address") == row.get("address")] or list(gpus if len(rows) == 1 else ())
            if same:
                return same[0]
    raise _Wrong(f"{who} is no device of this machine")


def _named(gpus: Sequence[Gpu], facts: Mapping[str, Any], device: str) -> Gpu:
    numbered = re.fullmatch(r"(?:(cuda|xpu|hip):)?(\d+)", device)
    if numbered:
        vendors = [vendor for vendor, prefix in _VENDORS.items() if (numbered[1] or prefix) in (prefix, "hip") and _has(vendor, gpus)]
        left = [gpu for vendor in vendors for gpu in _left(vendor, [gpu for gpu in gpus if gpu.get("vendor") == vendor], facts)]
        if int(numbered[2]) < len(left):
            return left[int(numbered[2])]
        raise _Wrong(f"{device}: a job sees {len(left)} such device{'s' * (len(left) != 1)} here")
    if _ADDRESS.fullmatch(device):
        wanted = device.lower() if device.count(":") == 2 else f"0000:{device.lower()}"
        found = [gpu for gpu in gpus if gpu.get("address") == wanted]
    elif device.startswith("/dev/"):
        found = [gpu for gpu in gpus if device in (gpu.get("node"), gpu.get("card_node"))]
    else:
        return _by_uuid(device, gpus, facts, device[:60])
    if not found:
        raise _Wrong(f"{device}: no GPU of this machine has this {'file' if device.startswith('/') else 'address'}")
    return found[0]


def _has(vendor: str, gpus: Sequence[Gpu]) -> bool:
    return any(gpu.get("vendor") == vendor for gpu in gpus)


def _usable(gpu: Gpu, name: str, facts: Mapping[str, Any]) -> DeviceAnswer:
    title = f"{name} is {gpu.get('name') or gpu.get('pci_id') or 'a GPU'}" + (f" at {gpu['address']}" if gpu.get("address") else "")
    driver, node = gpu.get("driver"), gpu.get("node")
    if "driver" in gpu and driver is None:
        return DeviceAnswer(False, f"{title}: no driver is bound")
    if gpu.get("access") is False:
        return DeviceAnswer(
            False, f"{title}: {node or 'its device file'} may not be opened (permission, or a rule of the job's control group)"
        )
    if gpu.get("vendor") == "nvidia" and driver == "nvidia":
        nvidia = facts.get("nvidia")
        smi = nvidia.get("smi") if isinstance(nvidia, Mapping) else None
        smi = smi if isinstance(smi, Mapping) else {}
        if isinstance(smi.get("error"), str):
            return DeviceAnswer(False, f"{title}: nvidia-smi says '{smi['error'][:120]}'")
        if "tool" not in smi:  # null where it is not installed, as in many containers
            return DeviceAnswer(None, f"{title}: nvidia-smi gave no answer")
    if "driver" not in gpu or gpu.get("access") is None:
        return DeviceAnswer(None, f"{title}: {'its driver' if 'driver' not in gpu else 'whether it may be opened'} was not determined")
    return DeviceAnswer(True, f"{title}, driver {driver}")
