"""The script of the target environment: its comparison, and what it says where nothing can compute, with small stand-ins for frameworks."""

from __future__ import annotations

import ast
import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gpudoctor.facts.probes.frameworks import payload
from gpudoctor.setup.first_computation import Computed, compute

pytestmark = pytest.mark.starts_processes("the payload is run as an interpreter of the machine runs it")


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("loaded_" + Path(path).stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = payload("first_computation.py")
PARTS = sorted(Path(SCRIPT).with_name("computations").glob("*.py"))
tools = load(SCRIPT)
RIGHT = [0.5, -2.0, 0.0]


@pytest.mark.parametrize("path", [Path(SCRIPT), *PARTS], ids=lambda path: path.stem)
def test_it_is_written_for_python_3_6_and_imports_nothing_of_ours(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 6))
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in names if name.startswith("gpudoctor")]


def test_every_framework_has_its_computation() -> None:
    assert {f"{name}.py" for name in tools.FAMILIES.values()} == {path.name for path in PARTS}


def test_equal_numbers() -> None:
    assert tools.compare([("output", RIGHT, RIGHT)]) == (0.0, "output")


def test_the_error_is_relative_to_the_largest_value_of_its_tensor() -> None:
    error, where = tools.compare([("loss", [1000.0], [1000.1]), ("output", [0.5, -2.02, 0.0], RIGHT)])
    assert where == "output"
    assert error == pytest.approx(0.01)
    assert error > tools.TOLERANCE


@pytest.mark.parametrize("got", [[0.5, 2.0, 0.0], [0.0, 0.0, 0.0], [-2.0, 0.5, 0.0], [0.5, -2.003, 0.0]])
def test_wrong_numbers_are_seen(got: list[float]) -> None:
    assert tools.compare([("output", got, RIGHT)])[0] > tools.TOLERANCE


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("got", "wanted"),
    [(RIGHT[:2], RIGHT), ([], RIGHT), ([], []), ([0.0], [0.0]), ([NAN, -2.0, 0.0], RIGHT), ([INF, -2.0, 0.0], RIGHT), (RIGHT, [NAN] * 3)],
)
def test_what_could_show_nothing_is_never_equal(got: list[float], wanted: list[float]) -> None:
    assert tools.compare([("first", RIGHT, RIGHT), ("output", got, wanted)]) == (math.inf, "output")


def test_nothing_compared_is_not_equal() -> None:
    assert tools.compare([])[0] == math.inf


def test_no_value_before_a_relu_is_near_zero_whatever_is_summed() -> None:
    grid = {a * b for a in tools.pattern(400, 0) for b in tools.pattern(400, 5)}
    assert all(value * 256 == int(value * 256) for value in grid)
    assert all(abs((bias * 256) % 1 - 0.5) < 1e-9 for bias in tools.biases(400, 1)), "half a step off the grid of the products"


def test_a_card_that_the_framework_does_not_list_is_a_fault() -> None:
    with pytest.raises(RuntimeError, match=r"torch.xpu lists no device, though the card 0000:03:00.0 is here"):
        tools.none_listed("Intel GPU", "torch.xpu", "the card 0000:03:00.0")
    with pytest.raises(tools.NoDevice):
        tools.none_listed("Intel GPU", "torch.xpu")


@pytest.mark.parametrize(("wanted", "found"), [("", "xpu:0"), ("xpu", "xpu:0"), ("xpu:1", "xpu:1"), ("xpu:10", "xpu:10")])
def test_the_device_that_was_asked_for(wanted: str, found: str) -> None:
    assert tools.chosen(wanted, [{"id": f"xpu:{i}"} for i in range(11)])["id"] == found


def test_a_device_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(RuntimeError, match="there is no xpu:3 here, but xpu:0"):
        tools.chosen("xpu:3", [{"id": "xpu:0"}])


def test_the_onnx_model_holds_what_its_fields_say() -> None:
    part = tools.part("onnx_inference")
    assert part.varint(300) == b"\xac\x02"
    assert part.field(7, b"ab") == b"\x3a\x02ab"
    assert part.field(1, 4) == b"\x08\x04"


# Stand-ins: the script is the real one, the framework is a few lines.

TORCH = """
__version__ = "2.8.0"
class version: cuda, hip = {cuda!r}, {hip!r}
class backends:
    class mps:
        is_built = staticmethod(lambda: True)
        is_available = staticmethod(lambda: False)
class cuda:
    is_available = staticmethod(lambda: False)
class xpu:
    is_available = staticmethod(lambda: {xpu})
    device_count = staticmethod(lambda: 1)
    get_device_name = staticmethod(lambda number: "Intel Arc A770")
    synchronize = staticmethod(lambda: None)
"""


def stand_in(folder: Path, framework: str, **modules: str) -> Computed:
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return compute(framework, sys.executable, variables={"PYTHONPATH": str(folder)}, limit=30.0)


@pytest.mark.parametrize(
    ("framework", "what", "by", "vendor", "more"),
    [
        ("torch-xpu", "Intel GPU", "torch.xpu", "0x8086", {}),
        ("ipex", "Intel GPU", "torch.xpu", "0x8086", {"intel_extension_for_pytorch": "import sys; assert 'torch' in sys.modules"}),
        ("torch-cuda", "NVIDIA GPU", "torch.cuda", "0x10de", {}),
        ("torch-mps", "Apple GPU", "torch.backends.mps", "", {}),
    ],
)
def test_no_device_of_the_kind(tmp_path: Path, framework: str, what: str, by: str, vendor: str, more: dict[str, str]) -> None:
    result = stand_in(tmp_path, framework, torch=TORCH.format(cuda="12.8", hip=None, xpu=False), **more)
    here = tools.card(vendor) if vendor else ""
    if here:  # on a machine with such a card the stand-in is a fault
        assert f"{by} lists no device, though {here} is here" in result.error
    else:
        assert result.no_device
        assert result.text == f"installed, not verified: no {what} here ({by} lists none)"


def test_no_ipu(tmp_path: Path) -> None:
    poptorch = "__version__ = '3.3.0'\nipuHardwareIsAvailable = lambda: False"
    result = stand_in(tmp_path, "poptorch", torch=TORCH.format(cuda=None, hip=None, xpu=False), poptorch=poptorch)
    assert result.text == "installed, not verified: no IPU here (poptorch lists none)"


@pytest.mark.parametrize(("framework", "word"), [("torch-cuda", "CUDA"), ("torch-rocm", "ROCm")])
def test_a_build_for_something_else_is_a_fault_and_not_a_missing_device(tmp_path: Path, framework: str, word: str) -> None:
    result = stand_in(tmp_path, framework, torch=TORCH.format(cuda=None, hip=None, xpu=False))
    assert not result.no_device
    assert result.error == f"device: RuntimeError: this torch 2.8.0 is not built for {word}"


def test_a_driver_that_kills_the_process_is_located(tmp_path: Path) -> None:
    torch = TORCH.format(cuda=None, hip=None, xpu=True) + "import os\nempty = lambda size: os.kill(os.getpid(), 11)\n"
    torch += "class cudnn: pass\nbackends.cuda = backends.cudnn = cudnn\n"
    result = stand_in(tmp_path, "torch-xpu", torch=torch)
    assert (result.device, result.device_name, result.stage) == ("xpu:0", "Intel Arc A770", "allocate")
    assert result.text == "installed, but the first computation failed on xpu:0 (Intel Arc A770): allocate: died of SIGSEGV"


def test_a_framework_that_leaves_at_import(tmp_path: Path) -> None:
    result = stand_in(tmp_path, "torch-xpu", torch="import sys; sys.exit(127)")
    assert result.error == "import: SystemExit: 127"
