"""What the installed PyTorch, TensorFlow and JAX ask of an NVIDIA driver and card, by tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpudoctor.facts.derive._cuda_wheels import wheel_facts
from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._pythons import pip_of
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive._versions import older
from gpudoctor.facts.derive.nvidia import CARD_FIELDS
from gpudoctor.facts.derive.torch_build import cuda_of_local
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Incomplete, Known, Unknown
from gpudoctor.rules.versions import compare_dotted, dotted

_INDEX = "https://download.pytorch.org/whl/"


def runs(capability: str, archs: list[str]) -> str:
    """Whether code for these architectures runs on a GPU of this capability: runs, jit (by PTX alone), too-new or too-old.

    Machine code runs on its own major version, from its own minor version upwards; PTX on its own version and on all newer GPUs. sm_90a
    runs on 9.0 alone (CUDA C++ Programming Guide, 'Application Compatibility').
    """
    wanted = dotted(capability) or (0, 0)
    major, minor = wanted[0], wanted[1] if len(wanted) > 1 else 0
    codes, ptx = [], []
    for arch in archs:
        found = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", arch)
        if not found:
            continue
        pair = int(found[2]), int(found[3])
        if found[1] == "compute":
            ptx.append(pair)
        elif found[4] != "a" or pair == (major, minor):
            codes.append(pair)
    if any(code[0] == major and code[1] <= minor for code in codes):
        return "runs"
    if any(code <= (major, minor) for code in ptx):
        return "jit"
    lowest = min(codes + ptx, default=(0, 0))
    return "too-old" if (major, minor) < lowest else "too-new"


def torch_cuda(facts: Facts) -> Fact:
    """The CUDA version of the installed torch: as torch says, by its local version, else that of PyPI's wheels for Linux."""
    said = facts.get("torch.cuda")
    if isinstance(said, Known) and re.match(r"\d+\.\d+", str(said.value)):
        return Known(str(said.value), "torch.cuda")
    of_local = cuda_of_local(str(facts.value("torch.local", "")))
    if of_local:
        return Known(of_local, "torch.local")
    base = facts.value("torch.base_version")
    if not isinstance(base, str) or facts.value("torch.build") != "cuda":
        return said if not isinstance(said, Known) else Unknown("unparsable")
    release = ".".join(base.split(".")[:2])
    if older(table("cuda-torch")["newest_torch"], release):
        return Unknown(f"newer than this table ({table('cuda-torch')['date']})")
    rows = [row for row in table("cuda-torch")["pypi"] if not older(release, row["since"])]
    return Known(rows[-1]["cuda"], "PyPI table") if rows else Unknown("unparsable")


def torch_archs(facts: Facts, cuda: Fact) -> Fact:
    """The architectures (sm_86, compute_90) in the installed torch: as torch says, else by the table of PyTorch's wheels."""
    said = facts.get("torch.arch_list")
    if isinstance(said, Known) and isinstance(said.value, list) and said.value:
        return said
    base = facts.value("torch.base_version")
    if not isinstance(base, str) or not isinstance(cuda, Known):
        return Unknown("not recorded")
    flavour = "cu" + str(cuda.value).replace(".", "")
    data = table("cuda-torch")
    for row in data["wheel"]:
        if row["flavour"] == flavour and not older(base, row["first"]) and older(base, row["before"]):
            return Known(row["archs"], "table of wheels")
    if older(data["newest_torch"], ".".join(base.split(".")[:2])):
        return Unknown(f"newer than this table ({data['date']})")
    return Unknown("not recorded")


def floor_of(cuda: str, platform: Any) -> str | None:
    """The oldest driver that runs programs of this CUDA release; None for one that the table lacks. Up to CUDA 10 each minor release has
    its own, from 11 on each major release."""
    numbers = dotted(cuda) or (0,)
    major = numbers[0]
    column = "windows" if platform in ("windows", "wsl2") else "linux"
    if major < 11:
        for row in table("cuda-driver")["toolkit"]:
            if dotted(row["cuda"]) == numbers[:2]:
                return str(row[column])
    for row in table("cuda-driver")["floor"]:
        if row["major"] == major:
            return str(row[column])
    return None


def driver_serves(facts: Facts, cuda: str) -> Fact:
    """Whether the driver in use reaches the floor of this CUDA major release."""
    driver = facts.value("nvidia.in_use")
    floor = floor_of(cuda, facts.value("platform.kind"))
    if floor is None:
        return Unknown(f"newer than this table ({table('cuda-driver')['date']})")
    if driver is not None:
        too_old = older(driver, floor)
        return Unknown("unparsable") if too_old is None else Known(not too_old, "nvidia.in_use")
    highest = facts.value("nvidia.cuda_max")
    if isinstance(highest, str) and dotted(highest):
        return Known((dotted(highest) or (0,))[0] >= (dotted(cuda) or (0,))[0], "nvidia.cuda_max")
    return Unknown("not recorded")


def highest_major(facts: Facts) -> int:
    """The newest CUDA major release that the driver serves; the newest of all where the driver is unknown."""
    driver, best = facts.value("nvidia.in_use"), 0
    rows = table("cuda-driver")["floor"]
    column = "windows" if facts.value("platform.kind") in ("windows", "wsl2") else "linux"
    for row in rows:
        if driver is None or older(driver, row[column]) is False:
            best = max(best, row["major"])
    return best


def pick(facts: Facts, capabilities: list[str], major: int) -> tuple[str, str] | None:
    """(flavour, requirement) of the torch to advise, ('cu126', 'torch==2.7.1'): the installed release where a flavour of it serves all
    cards and the driver, else the newest release that does. `major`: the newest CUDA major release that the driver serves."""
    numbers = [float(text) for text in capabilities]
    base = facts.value("torch.base_version")
    data = table("cuda-torch")
    if isinstance(base, str) and re.fullmatch(r"\d+\.\d+(\.\d+)?", base):
        for row in reversed(data["wheel"]):
            cuda_major = int(row["flavour"][2:-1])
            fits = not older(base, row["first"]) and older(base, row["before"]) and cuda_major <= major
            fits = fits and _reached(facts, row["flavour"])
            if fits and capabilities and all(runs(text, row["archs"]) == "runs" for text in capabilities):
                return row["flavour"], f"torch=={base}"
    for row in data["pick"]:
        if row["major"] <= major and all(row["lowest"] <= number <= row["highest"] for number in numbers):
            return row["flavour"], "torch"
    return None


def _reached(facts: Facts, flavour: str) -> bool:
    """Whether wheels of this flavour (cu101) may run: False only where the driver is known to be too old for them."""
    driver, floor = facts.value("nvidia.in_use"), floor_of(f"{flavour[2:-1]}.{flavour[-1]}", facts.value("platform.kind"))
    return driver is None or floor is None or not older(driver, floor)


def _advice(facts: Facts, capabilities: list[str]) -> Iterator[tuple[str, Fact]]:
    chosen = pick(facts, capabilities, highest_major(facts))
    nothing: Fact = Unknown("not recorded")
    yield "cuda.pick.flavour", Known(chosen[0]) if chosen else nothing
    yield "cuda.pick.index", Known(_INDEX + chosen[0]) if chosen else nothing
    pip = pip_of(facts)
    command = f"{pip} install --force-reinstall {chosen[1]} torchvision --index-url {_INDEX}{chosen[0]}" if chosen else ""
    yield "cuda.pick.command", Known(command) if chosen else nothing
    yield "cuda.pip", Known(pip)


def _tensorflow(facts: Facts) -> Iterator[tuple[str, Fact]]:
    installed = facts.get("python.distributions")
    if not isinstance(installed, Known):
        yield "tensorflow.version", Unknown("not recorded")
        return
    names = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tf-nightly", "tensorflow-intel", "tensorflow-macos", "tensorflow-cpu-aws")
    package = next((name for name in names if facts.known(f"python.distributions.{name}")), None)
    version = facts.value(f"python.distributions.{package}") if package else None
    if isinstance(version, Mapping):
        version = version.get("version")
    yield "tensorflow.package", Known(package) if package else Absent("python.distributions")
    if not isinstance(version, str):
        yield "tensorflow.version", Absent("python.distributions") if package is None else Unknown("unparsable")
        return
    yield "tensorflow.version", Known(version)
    release = ".".join(version.split(".")[:2])
    row = next((row for row in table("cuda-tensorflow")["release"] if row["tensorflow"] == release), None)
    newer = Unknown(f"newer than this table ({table('cuda-tensorflow')['date']})")
    for name in ("cuda", "cudnn", "python_first", "python_last"):
        yield f"tensorflow.{name}", Known(row[name]) if row else newer
    python = ".".join(str(facts.value("python.version", "")).split(".")[:2])
    if row and dotted(python):
        fits = not older(python, row["python_first"]) and not older(row["python_last"], python)
        yield "tensorflow.python_ok", Known(fits, "python.version")
    if row:
        yield "tensorflow.driver_ok", driver_serves(facts, row["cuda"])
        yield "tensorflow.driver_floor", Known(floor_of(row["cuda"], facts.value("platform.kind")))


def _jax(facts: Facts) -> Iterator[tuple[str, Fact]]:
    installed = facts.value("python.distributions")
    if not isinstance(installed, Mapping):
        yield "jax.plugins", Unknown("not recorded")
        return
    plugins = sorted(
        name for name in installed if re.fullmatch(r"jax-(cuda\d+|rocm\d*)-(plugin|pjrt)|jax-metal|libtpu(-nightly)?", str(name))
    )
    # A distribution that a text does not name may be installed all the same.
    unnamed = Unknown("not in the text") if isinstance(installed, Incomplete) else None
    yield "jax.plugins", Known(plugins) if plugins else unnamed or Known([])
    versions = {str(installed[name]) for name in plugins if "cuda" in name}
    local = re.search(r"\+cuda(\d{2})", str(installed.get("jaxlib", "")))
    majors = sorted(
        {int(found[1]) for name in plugins if (found := re.match(r"jax-cuda(\d+)", name))} | ({int(local[1])} if local else set())
    )
    yield "jax.cuda_majors", Known([str(major) for major in majors]) if majors else unnamed or Known([])
    yield "jax.cuda", Known(True) if majors else unnamed or Known(False)
    jax, lib = installed.get("jax"), installed.get("jaxlib")
    if majors and versions and (lib is not None or unnamed is None):
        yield "jax.plugins_agree", Known(len(versions) == 1 and _release(next(iter(versions))) == _release(lib))
    if isinstance(jax, str) and isinstance(lib, str):
        ours, theirs = dotted(jax), dotted(lib)
        if ours and theirs:
            yield "jax.lib_ok", Known(compare_dotted(theirs, ours) <= 0 and ours[:2] == theirs[:2])
    if majors:
        yield "jax.driver_ok", driver_serves(facts, f"{majors[0]}.0")
        floor = floor_of(f"{majors[0]}.0", facts.value("platform.kind"))
        yield "jax.driver_floor", Known(floor) if floor else Unknown("newer than this table")
        yield from _jax_capability(facts, majors[0])


def _jax_capability(facts: Facts, major: int) -> Iterator[tuple[str, Fact]]:
    """Whether one of the cards reaches the capability that JAX's plugin for this CUDA major release asks for: 7.5 for 13, 5.2 for 12."""
    floor = next((row.get("capability") for row in table("cuda-jax")["plugin"] if row["major"] == major), None)
    yield "jax.capability_floor", Known(floor, "cuda-jax") if floor else Unknown("not recorded")
    cards = [card.get("compute_capability") for card in facts.value("nvidia.cards") or []]
    below = [older(card, floor) for card in cards if floor and isinstance(card, str)]
    yield "jax.capability_ok", Known(False in below, "nvidia.cards") if below and None not in below else Unknown("not recorded")


def _release(version: Any) -> tuple[int, ...] | None:
    return (dotted(version) or (0,))[:3]


def _torch_sees_a_card(facts: Facts) -> bool:
    """Whether torch lists a CUDA device: then the driver serves its CUDA, perhaps through a cuda-compat that its version does not show."""
    devices = facts.value("python.frameworks.torch.devices")
    return isinstance(devices, list) and any(
        isinstance(device, Mapping) and str(device.get("id", "")).startswith("cuda") for device in devices
    )


def derive(facts: Facts) -> Iterator[tuple[str, Fact]]:
    cards = facts.value("nvidia.cards")
    rows = [dict(card) for card in cards] if isinstance(cards, list) else []
    cuda = torch_cuda(facts)
    yield "cuda.torch", cuda
    archs = torch_archs(facts, cuda)
    yield "cuda.archs", archs
    if isinstance(cuda, Known):
        floor = floor_of(cuda.value, facts.value("platform.kind"))
        yield "cuda.driver_floor", Known(floor) if floor else Unknown("newer than this table")
        yield "cuda.driver_ok", Known(True, "torch") if _torch_sees_a_card(facts) else driver_serves(facts, cuda.value)
    for card in rows:
        text = card.get("compute_capability")
        if isinstance(archs, Known) and isinstance(text, str):
            card["torch"] = runs(text, archs.value)
    if rows:
        yield "cuda.cards", Known(rows, "nvidia.cards")
    elif facts.known("nvidia.cards"):
        yield "cuda.cards", Known([], "nvidia.cards")
    capabilities = [card["compute_capability"] for card in rows if isinstance(card.get("compute_capability"), str)]
    yield (
        "cuda.served",
        Known(any(card.get("torch") in ("runs", "jit") for card in rows))
        if capabilities and isinstance(archs, Known)
        else Unknown("not recorded"),
    )
    if rows:
        yield from _advice(facts, capabilities)
    yield from _tensorflow(facts)
    yield from _jax(facts)
    yield from wheel_facts(facts)


DERIVATION = Derivation(
    name="cuda",
    provides=(
        FactSpec("cuda.torch", "dotted", "CUDA version of the installed torch build"),
        FactSpec("cuda.archs", "list", "architectures in the installed torch build"),
        FactSpec("cuda.driver_floor", "dotted", "oldest driver for that CUDA major release"),
        FactSpec("cuda.driver_ok", "bool", "the driver in use is at least cuda.driver_floor"),
        FactSpec(
            "cuda.cards",
            "records",
            "nvidia.cards with what the installed torch can do on them",
            item="card",
            fields={**CARD_FIELDS, "torch": "runs, jit, too-new, too-old"},
        ),
        FactSpec("cuda.served", "bool", "the installed torch has code for one of the cards"),
        FactSpec("cuda.pick.flavour", "text", "wheel flavour that fits cards and driver"),
        FactSpec("cuda.pick.index", "text", "address of the index of that wheel flavour"),
        FactSpec("cuda.pick.command", "text", "the pip command that installs that wheel flavour"),
        FactSpec("cuda.pip", "text", "how pip of the target environment is called"),
        FactSpec("tensorflow.package", "text", "the distribution that brings TensorFlow"),
        FactSpec("tensorflow.version", "version", "version of TensorFlow"),
        FactSpec("tensorflow.cuda", "dotted", "CUDA that this TensorFlow loads"),
        FactSpec("tensorflow.cudnn", "dotted", "cuDNN that this TensorFlow loads"),
        FactSpec("tensorflow.python_first", "dotted", "oldest Python with a wheel of this TensorFlow"),
        FactSpec("tensorflow.python_last", "dotted", "newest Python with a wheel of this TensorFlow"),
        FactSpec("tensorflow.python_ok", "bool", "there is a wheel of this TensorFlow for this Python"),
        FactSpec("tensorflow.driver_ok", "bool", "the driver is new enough for the CUDA of this TensorFlow"),
        FactSpec("tensorflow.driver_floor", "dotted", "oldest driver for the CUDA of this TensorFlow"),
        FactSpec("tensorflow.libraries", "text", "where CUDA libraries for TensorFlow are: wheels, system, none"),
        FactSpec("jax.plugins", "list", "installed JAX device plugins"),
        FactSpec("jax.cuda", "bool", "a CUDA plugin or build is installed"),
        FactSpec("jax.cuda_majors", "list", "CUDA majors of the plugins"),
        FactSpec("jax.plugins_agree", "bool", "plugin, pjrt and jaxlib have one version"),
        FactSpec("jax.lib_ok", "bool", "jaxlib fits jax"),
        FactSpec("jax.driver_ok", "bool", "the driver reaches the floor of the plugin's CUDA"),
        FactSpec("jax.driver_floor", "dotted", "oldest driver for the CUDA of JAX's plugin"),
        FactSpec("jax.capability_floor", "dotted", "oldest compute capability that the plugin serves"),
        FactSpec("jax.capability_ok", "bool", "at least one NVIDIA card reaches jax.capability_floor"),
        FactSpec("cuda.wheels.majors", "list", "CUDA majors of nvidia-* wheels"),
        FactSpec("cuda.wheels.duplicates", "list", "libraries installed for two CUDA majors into one folder"),
        FactSpec("cuda.wheels.cudnn", "dotted", "cuDNN wheel version"),
    ),
    derive=derive,
)
