"""AMD: each GPU joined with its kfd node, the wheel's targets, and the override; which device ROCm would take first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gpudoctor.facts.derive import _rocm_wheels as wheels
from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._versions import older
from gpudoctor.facts.derive._visible_devices import READ_BY, beside_a_card, is_card, left_by
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown

_UNSAID = Unknown("not recorded")


def torch_rocm(facts: Facts) -> str | None:
    """The ROCm for which torch was built: from its local version (rocm6.1, rocm7.1.1.lw.git1), else from torch.version.hip."""
    match = re.match(r"rocm(\d+\.\d+(?:\.\d+)?)", str(facts.value("torch.local", "")))
    if match:
        return match.group(1)
    hip = facts.value("torch.hip")
    match = re.match(r"\d+\.\d+", str(hip)) if hip else None
    return match.group() if match else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _real_gfx(gpu: dict[str, Any], facts: Facts) -> str | None:
    """The target of the hardware: by the kernel, else by the bus, else by ROCm's one agent. With HSA_OVERRIDE_GFX_VERSION an agent has
    the name of the target that it pretends, which is not used."""
    for node in facts.value("amd.kfd.nodes", []) or []:
        if node.get("address") == gpu.get("address") and _text(node.get("gfx")):
            return _text(node["gfx"])
    if _text(gpu.get("gfx")):
        return _text(gpu["gfx"])
    agents = facts.value("rocm.agents", []) or []
    amd = [g for g in facts.value("gpus", []) if g.get("vendor") == "amd"]
    if len(agents) == 1 and len(amd) == 1 and not facts.known("env.HSA_OVERRIDE_GFX_VERSION"):
        return _text(agents[0].get("gfx"))
    return None


def _covered(gfx: str, rocm: str | None, arch_list: Any, packages: list[str]) -> bool | Unknown:
    if isinstance(arch_list, list) and any(str(a).startswith("gfx") for a in arch_list):
        return any(str(a).split(":")[0] == gfx for a in arch_list)
    return wheels.covers(rocm, gfx, packages) if rocm else Unknown("not recorded")


def _wrong(gfx: str | None, override: str | None) -> bool | Unknown:
    """Whether the override names another generation than that of the GPU, whose code it cannot run: gfx1030 for a gfx1100."""
    shown = wheels.pretended(override) if override else None
    if not shown:
        return False
    return shown[:-2] != gfx[:-2] if gfx else _UNSAID


def _built_here(facts: Facts) -> bool:
    """Whether torch was compiled from source (2.9.1+git8907517, 2.10.0a0+gitabc), so that no table says for which targets."""
    return "+git" in str(facts.value("torch.version") or "")


def describe(gpu: dict[str, Any], facts: Facts, amd: list[dict[str, Any]]) -> dict[str, Any]:
    """The record of the fact amd.gpus for one of the AMD GPUs `amd`."""
    gfx = _real_gfx(gpu, facts)
    row = wheels.target(gfx) if gfx else {}
    rocm = None if _built_here(facts) else torch_rocm(facts)
    override = _text(facts.value("env.HSA_OVERRIDE_GFX_VERSION"))
    effective = (wheels.pretended(override) if override else None) or gfx
    distributions = facts.value("python.distributions", {}) or {}
    packages = [n for n in distributions if re.match(r"(amd-torch|rocm-sdk)-device-", n)]
    arch_list = facts.value("torch.arch_list")
    native: Any = _covered(gfx, rocm, arch_list, packages) if gfx else _UNSAID
    served: Any = _covered(effective, rocm, arch_list, packages) if effective else _UNSAID
    wanted = _text(row.get("override"))
    helps: Any = False if gfx and not wanted else _UNSAID
    if wanted and native is False:
        helps = _covered(wheels.pretended(wanted) or "", rocm, arch_list, packages)
    system = _text(facts.value("rocm.version"))
    kernel = _text(facts.value("kernel.version"))
    first = wheels.first_index(gfx) if gfx else None
    kind = gpu.get("kind")
    return {
        "address": gpu.get("address"), "name": gpu.get("name"), "gfx": gfx or _UNSAID, "kind": kind, "driver": gpu.get("driver", _UNSAID),
        "node": gpu.get("node", _UNSAID), "main": not beside_a_card(gpu, amd), "native": native, "served": served,
        "override": wanted if wanted else (None if gfx else _UNSAID), "override_helps": helps, "override_risky": bool(row.get("risky")),
        "pretends": wheels.pretended(override) if override else None, "override_wrong": _wrong(gfx, override),
        "state": row.get("state", "served") if gfx else _UNSAID,
        "first_rocm": row.get("first") or (None if gfx else _UNSAID), "last_rocm": row.get("last") or (None if gfx else _UNSAID),
        "min_kernel": row.get("kernel") or gpu.get("min_kernel") or (None if gfx else _UNSAID), "wheels": bool(row.get("wheels")),
        "system_too_old": bool(row.get("first") and older(system, row["first"])) if gfx and system else _UNSAID,
        "system_too_new": bool(row.get("last") and older(wheels.line(row["last"]), wheels.line(system))) if gfx and system
        else _UNSAID,
        "wheel_too_new": bool(row.get("last") and older(wheels.line(row["last"]), wheels.line(rocm))) if gfx and rocm else _UNSAID,
        "kernel_too_old": _UNSAID if not (gfx and kernel)
        else bool(row.get("kernel") and older(kernel, row["kernel"])) and facts.value("amd.driver.dkms") is not True,
        "index": wheels.index_for(_text(facts.value("torch.base_version")), gfx),
        "native_wheel": f"torch {first[0]} from https://download.pytorch.org/whl/rocm{first[1]}" if first
        else "AMD's own wheels" if row.get("wheels") else "no newer wheel",
    }  # fmt: skip


def _hidden(facts: Facts, of_kernel: int | None, of_runtime: int | None) -> Fact:
    """A sentence where a variable leaves no AMD GPU visible; absent where none does. ROCR_VISIBLE_DEVICES counts the GPUs of the kernel
    driver (`of_kernel`), the other variables those that ROCm then still lists (`of_runtime`)."""
    if not facts.known("env"):
        return Unknown("not recorded")
    for name in READ_BY["amd"]:
        found = facts.get(f"env.{name}")
        if not isinstance(found, Known):
            continue
        value = str(found.value).strip()
        count = of_kernel if name == "ROCR_VISIBLE_DEVICES" else of_runtime
        left = left_by(value, count)
        if left == "none":
            return Known(f'{name}="{value}" hides every GPU', name)
        if left == "out-of-range" and count:
            return Known(f"{name}={value} names a device that is not there: ROCm counts {count} from 0", name)
    return Absent("environment")


def _libraries_shadowed(facts: Facts) -> Fact:
    """A ROCm folder in LD_LIBRARY_PATH of another release than torch was built for: its libraries replace those of the wheel."""
    path, rocm = facts.get("env.LD_LIBRARY_PATH"), torch_rocm(facts)
    if isinstance(path, Absent):
        return Absent("environment")
    if not isinstance(path, Known) or not rocm:
        return Unknown("not recorded")
    for folder in str(path.value).split(":"):
        if "rocm" not in folder or "site-packages" in folder:
            continue
        match = re.search(r"rocm-(\d+\.\d+)", folder)
        version = match.group(1) if match else _text(facts.value("rocm.version"))
        if version and wheels.line(version) != wheels.line(rocm):
            return Known(f"{folder} (ROCm {wheels.line(version)})", "LD_LIBRARY_PATH")
    return Absent("environment")


def derive(facts: Facts) -> Iterable[tuple[str, Fact]]:
    gpus = facts.get("gpus")
    rocm = torch_rocm(facts)
    if rocm:
        yield "torch.rocm", Known(rocm, "torch.local")
    elif facts.known("torch.build") or isinstance(facts.get("torch.version"), Absent):
        yield "torch.rocm", Absent("torch.local")
    if not isinstance(gpus, Known) and not facts.value("rocm.agents"):
        for name in ("amd.gpus", "amd.igpu_first", "amd.hidden", "amd.libraries_shadowed"):
            yield name, Unknown(gpus.reason) if isinstance(gpus, Unknown) else Unknown("not recorded")
        return
    if isinstance(gpus, Known):
        amd = [g for g in gpus.value if isinstance(g, dict) and g.get("vendor") == "amd"]
    else:  # a pasted rocminfo: its agents are the GPUs, by the target that an override pretends
        shown = {} if not facts.known("env.HSA_OVERRIDE_GFX_VERSION") else {"gfx": _UNSAID}
        amd = [{"address": f"agent {a.get('index')}", "name": a.get("name"), "gfx": a.get("gfx"), "kind": _UNSAID, **shown}
               for a in facts.value("rocm.agents", []) if isinstance(a, dict)]  # fmt: skip
    records = [describe(g, facts, amd) for g in amd]
    yield "amd.gpus", Known(records, "gpus")
    gfx = sorted({r["gfx"] for r in records if r["main"] and isinstance(r["gfx"], str)})
    # A name without a target (a pasted 'RX 6600' that several chips bear) is not 'no target'.
    yield "amd.gfx", Known(gfx, "gpus") if gfx or not records else Unknown("the GPU is named, its target is not")
    yield "amd.cards", Known(sum(1 for r in records if r["kind"] != "integrated"), "gpus")
    versions = facts.value("rocm.versions")
    yield "rocm.several", Known(len(versions) > 1, "/opt") if versions is not None else Unknown("not recorded")
    yield (
        "torch.rocm_index",
        Known(wheels.index_for(_text(facts.value("torch.base_version")), gfx[0] if len(gfx) == 1 else None), "rocm-torch"),
    )
    agents = facts.value("rocm.agents")
    nodes = facts.value("amd.kfd.nodes")
    of_kernel = len(nodes) if nodes else None
    yield "amd.hidden", _hidden(facts, of_kernel, len(agents) if agents else of_kernel)
    yield "amd.libraries_shadowed", _libraries_shadowed(facts)
    yield "amd.igpu_first", _igpu_first(records, agents, nodes)


def _igpu_first(records: list[dict[str, Any]], agents: Any, nodes: Any) -> Fact:
    """Whether ROCm's first device is an integrated GPU although there is a card."""
    small = {r["gfx"] for r in records if r["kind"] == "integrated" and isinstance(r["gfx"], str)}
    if not small or not any(map(is_card, records)):
        return Known(False, "gpus")
    order = [a.get("gfx") for a in agents] if agents else [n.get("gfx") for n in nodes] if nodes else None
    return Known(order[0] in small, "rocminfo") if order else Unknown("not recorded")


DERIVATION = Derivation(
    name="amd",
    provides=(
        FactSpec("torch.rocm", "dotted", "the ROCm for which torch was built"),
        FactSpec("torch.rocm_index", "text", "PyTorch's index of ROCm wheels for this torch release"),
        FactSpec("amd.gfx", "list", "targets of the AMD GPUs that matter"),
        FactSpec("amd.cards", "int", "AMD GPUs that are not integrated"),
        FactSpec("rocm.several", "bool", "more than one ROCm under /opt"),
        FactSpec("amd.igpu_first", "bool", "ROCm's first device is the integrated GPU although a card is there"),
        FactSpec("amd.hidden", "text", "how an environment variable hides every AMD GPU"),
        FactSpec("amd.libraries_shadowed", "text", "folder in LD_LIBRARY_PATH with another ROCm than torch's own"),
        FactSpec(
            "amd.gpus", "records", "AMD GPUs with what ROCm and torch know of them", item="amd_gpu",
            fields={
                "address": "PCI address", "name": "card", "gfx": "real target", "kind": "discrete or integrated", "driver": "kernel driver",
                "node": "render node", "main": "not an integrated GPU beside a card", "native": "torch holds kernels for the target",
                "served": "torch holds kernels for the target as it is shown (override included)", "override": "the known override",
                "override_helps": "torch holds kernels for what the override shows", "override_risky": "the targets differ in instructions",
                "pretends": "target that the set override shows", "override_wrong": "the set override shows another generation",
                "state": "served, maintenance, dropped, never",
                "first_rocm": "first ROCm that knows it", "last_rocm": "last ROCm that serves it", "min_kernel": "first kernel",
                "wheels": "AMD builds wheels for it", "system_too_old": "installed ROCm is older than the target",
                "system_too_new": "installed ROCm dropped the target", "wheel_too_new": "torch's ROCm dropped the target",
                "kernel_too_old": "kernel is older than the target", "index": "PyTorch index", "native_wheel": "first wheel that serves it",
            },
        ),
    ),
    derive=derive,
)  # fmt: skip
