"""The networks as data: published parameter counts, shapes, work, and ONNX bytes made without numpy."""

from __future__ import annotations

import ast
import math
import sys
from array import array
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

WORKLOADS = Path(__file__).resolve().parents[3] / "gpudoctor" / "target" / "workloads"
sys.path.insert(0, str(WORKLOADS))

import network_ir  # noqa: E402
import networks  # noqa: E402
import onnx_encoding  # noqa: E402
import onnx_networks  # noqa: E402
import weights  # noqa: E402
import work_counts  # noqa: E402

# GFLOP of an image, forward and of a training step: counted on other people's implementations (torchvision, timm, YOLOX, diffusers)
GFLOP = {
    "alexnet": (1.4284, 4.1446),
    "resnet18": (3.6281, 10.6484),
    "resnet50": (8.1784, 24.2991),
    "vgg16": (30.9405, 92.6482),
    "mobilenet_v2": (0.6015, 1.7830),
    "resnext101_32x4d": (15.9400, 47.5840),
    "yolox_tiny": (3.1873, None),
    "unet_sd21": (804.257, None),
}


def parameter_count(network: network_ir.Network) -> int:
    return sum(math.prod(each.shape) for each in network_ir.parameters(network) if each.trained)


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_has_as_many_parameters_as_published(name: str) -> None:
    assert parameter_count(networks.draw(name)) == networks.NETWORKS[name].published


@pytest.mark.parametrize(("name", "forward", "training"), [(name, *pair) for name, pair in GFLOP.items()])
def test_work_is_what_others_counted(name: str, forward: float, training: float | None) -> None:
    work = work_counts.work(networks.draw(name))
    assert work.forward_flop / work.batch / 1e9 == pytest.approx(forward, rel=1e-4)
    assert training is None or work.training_flop / work.batch / 1e9 == pytest.approx(training, rel=1e-4)


@pytest.mark.parametrize(
    ("name", "options", "shapes"),
    [
        ("alexnet", {"batch": 3}, [(3, 1000)]),
        ("vgg16", {"batch": 2, "height": 64, "width": 96, "classes": 18}, [(2, 18)]),
        ("style_transfer", {"height": 512, "width": 384}, [(1, 3, 512, 384)]),
        ("yolox_tiny", {}, [(1, 1764, 85)]),  # 48 x 28 + 24 x 14 + 12 x 7 boxes
        ("yolox_tiny", {"height": 512, "width": 896}, [(1, 9408, 85)]),
        ("unet_sd15", {"height": 8, "width": 16}, [(2, 4, 8, 16)]),
        ("gpt2_prefill", {"tokens": 7}, [(1, 1, 50257)] + [(1, 7, 768)] * 24),
        ("gpt2_decode", {"batch": 4, "past": 7}, [(4, 1, 50257)] + [(4, 8, 768)] * 24),
    ],
)
def test_output_shapes(name: str, options: dict[str, int], shapes: list[tuple[int, ...]]) -> None:
    network = networks.draw(name, **options)
    known = network_ir.shapes(network)
    assert [known[output] for output in network.outputs] == shapes


def test_a_classifier_takes_another_head() -> None:
    assert parameter_count(networks.draw("resnet18", classes=18)) == 11689512 - (512 + 1) * (1000 - 18)


@pytest.mark.parametrize("name", networks.NETWORKS)
def test_bytes_are_between_the_least_and_the_most_that_can_be_needed(name: str) -> None:
    network = networks.draw(name)
    work, half = work_counts.work(network), work_counts.work(network, width=2)
    tables = sum(layer.settings["rows"] * layer.settings["width"] for layer in network.layers if layer.kind == "embedding") * 4
    assert work.weight_bytes == networks.NETWORKS[name].published * 4 == 2 * half.weight_bytes
    assert work.weight_bytes - tables + work.output_bytes < work.fused_bytes < work.unfused_bytes
    assert half.fused_bytes * 2 == work.fused_bytes


def test_an_image_batch_moves_what_the_benchmark_copied() -> None:
    assert work_counts.work(networks.draw("resnet50", batch=16)).input_bytes == 16 * 602112


def test_bytes_of_a_few_layers_counted_by_hand() -> None:
    d = network_ir.GraphBuilder("few")
    x = d.input("image", (1, 4, 6, 6))
    y = d("relu", "relu", d("batch_norm", "norm", d("conv", "conv", x, out=8, kernel=3, padding=1)))
    d("flatten", "flat", d("add", "add", y, d.input("beside", (1, 8, 6, 6))))
    work = work_counts.work(d.finish("flat"), width=1)
    weights_read, image, value = 4 * 8 * 9 + 8 + 4 * 8, 4 * 36, 8 * 36
    assert work.unfused_bytes == weights_read + image + 8 * value  # conv 1, norm 2, relu 2, add 3
    assert work.fused_bytes == weights_read + image + 2 * value  # beside is read, the sum written


def test_making_a_token_is_bound_by_reading_the_weights() -> None:
    work = work_counts.work(networks.draw("gpt2_decode", past=128))
    assert work.weight_bytes < work.fused_bytes < 1.3 * work.weight_bytes
    assert work.forward_flop / work.fused_bytes < 1


@pytest.mark.parametrize(
    ("kind", "settings", "told"),
    [
        ("conv", {"out": 8, "kernel": 9}, "layer bad (conv) of [(1, 3, 4, 4)]: nothing is left"),
        ("conv", {"out": 8, "kernel": 3, "groups": 2}, "no multiple of groups"),
        ("reflect_pad", {"by": 4}, "smaller than its reflection"),
        ("conv", {"out": 8}, "missing or unknown: kernel"),
        ("relu", {"slope": 1}, "missing or unknown: slope"),
    ],
)
def test_a_layer_that_does_not_fit_is_named(kind: str, settings: dict[str, int], told: str) -> None:
    d = network_ir.GraphBuilder("wrong")
    d.input("image", (1, 3, 4, 4))
    with pytest.raises(ValueError) as caught:
        d(kind, "bad", "image", **settings)
    assert "layer bad" in str(caught.value) and told in str(caught.value)


def test_an_unknown_option_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="resnet18 has no option colour, but batch, classes, height, width"):
        networks.draw("resnet18", colour=1)
    with pytest.raises(ValueError, match="GPT-2 knows 1024 positions"):
        networks.draw("gpt2_decode", past=1024)


def test_a_network_can_be_cut_at_a_layer() -> None:
    whole = networks.draw("resnet18", batch=1)
    part = network_ir.until(whole, "layer1.0.relu")
    assert [layer.name for layer in part.layers][-1] == "layer1.0.relu" and part.outputs == ("layer1.0.relu",)
    assert part.layers == whole.layers[: len(part.layers)]
    with pytest.raises(ValueError, match="resnet18 has no layer nonsense"):
        network_ir.until(whole, "nonsense")


def test_weights_are_the_same_for_ever() -> None:
    """A change here changes every checksum and golden value that was ever recorded."""
    found = weights.values("conv1.weight", (3, 2), 1.0, 0.5)
    assert isinstance(found, array)
    assert list(found) == [
        0.6649267077445984,
        1.1349084377288818,
        0.900062620639801,
        1.3574728965759277,
        0.6539238691329956,
        0.7325258851051331,
    ]
    assert weights.classes("labels", 5, 1000) == [862, 97, 755, 865, 191]


def test_weights_look_random() -> None:
    numbers = weights.values("some", (weights.LENGTH,))
    assert -1 <= min(numbers) < -0.999 and 0.999 < max(numbers) < 1
    assert abs(sum(numbers) / len(numbers)) < 3e-3
    assert sum(each * each for each in numbers) / len(numbers) == pytest.approx(1 / 3, rel=0.01)
    neighbours = sum(a * b for a, b in pairwise(numbers)) / len(numbers)
    assert abs(neighbours) < 3e-3
    assert weights.values("other", (8,)) != weights.values("some", (8,))


def test_weights_go_on_beyond_their_table() -> None:
    numbers = weights.values("long", (2 * weights.LENGTH + 5,))
    assert len(numbers) == 2 * weights.LENGTH + 5 and numbers[weights.LENGTH : weights.LENGTH + 9] == numbers[:9]


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """A reader of protocol buffers, as strict as it is short."""

    def varint(place: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            value |= (data[place] & 127) << shift
            place, shift = place + 1, shift + 7
            if not data[place - 1] & 128:
                return value, place

    place = 0
    while place < len(data):
        key, place = varint(place)
        if key & 7 == 0:
            value, place = varint(place)
            yield key >> 3, value
        else:
            length, place = (4, place) if key & 7 == 5 else varint(place)
            assert key & 7 in (2, 5) and place + length <= len(data)
            yield key >> 3, data[place : place + length]
            place += length


def inner(data: bytes, number: int) -> list[bytes]:
    return [value for key, value in fields(data) if key == number and isinstance(value, bytes)]


@pytest.mark.parametrize(("dtype", "width"), [("float32", 4), ("float16", 2)])
def test_onnx_bytes_hold_every_weight(dtype: str, width: int) -> None:
    network = networks.draw("style_transfer", height=64, width=64)
    (graph,) = inner(onnx_networks.model_bytes(network, opset=11, dtype=dtype), 7)
    raw = {inner(each, 8)[0].decode(): inner(each, 9)[0] for each in inner(graph, 5)}
    for parameter in network_ir.parameters(network):
        assert len(raw[parameter.name]) == math.prod(parameter.shape) * width
    expected = weights.values("in1.weight", (32,), 1.0, network_ir._single(0.1))
    got = memoryview(raw["in1.weight"]).cast("f").tolist() if width == 4 else None
    assert got is None or got == list(expected)


def test_what_one_file_cannot_hold_is_refused_before_it_is_made() -> None:
    network = networks.draw("unet_sd15")
    with pytest.raises(ValueError, match=r"unet_sd15 in float32 has 34\d{8} bytes, more than one ONNX file can hold"):
        onnx_networks.model_bytes(network)


def test_numbers_are_encoded_as_protocol_buffers_say() -> None:
    assert onnx_encoding.varint(300) == b"\xac\x02"
    assert onnx_encoding.varint(-1) == b"\xff" * 9 + b"\x01"
    with pytest.raises(ValueError, match="8 bytes were announced, 4 made"):
        list(onnx_encoding.Message().later(1, 8, lambda: [b"1234"]).pieces())


def test_matrices_are_turned_without_numpy() -> None:
    d = network_ir.GraphBuilder("turned")
    y = d("linear", "line", d.input("words", (1, 2, 3)), out=2, bias=False)
    (graph,) = inner(onnx_networks.model_bytes(d.finish(y)), 7)
    (tensor,) = inner(graph, 5)
    (parameter,) = network_ir.parameters(d.finish(y))
    made = list(weights.values("line.weight", (2, 3), 0.0, parameter.spread))
    assert memoryview(inner(tensor, 9)[0]).cast("f").tolist() == [made[0], made[3], made[1], made[4], made[2], made[5]]


@pytest.mark.parametrize("path", sorted(WORKLOADS.rglob("*.py")), ids=lambda path: path.name)
def test_is_readable_to_python_3_8(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
