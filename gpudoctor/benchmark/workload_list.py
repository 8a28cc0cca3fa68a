"""The workloads that a person can choose: their conditions, and which of them --quick and --full include. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

Options = Mapping[str, int]
TASKS = ("training", "inference", "micro")
CLASSIFIER: Options = {"batch": 16, "height": 224, "width": 224}
"""The conditions of the dlprimitives benchmark: batch 16, 224 x 224."""
FIRST = 2
"""Positions in --quick below this are the first turns: a small network's inference, the shortest test of the speed, and its training."""
LLAMA = ("llama-cpp", "llama-bench")
"""Frameworks that have a language model of their own, and nothing else."""
SMALL = 6
"""The place of the last of the small measurements."""
MESSAGES = tuple(1024 * 8**step for step in range(7))
"""Sizes of messages in bytes, 1 KiB to 256 MiB: small ones show the latency, large ones the bandwidth."""


class Workload(Struct, frozen=True, kw_only=True):
    """A workload. `id`: its name for --workload; `worker`: its name in the worker, where that differs."""

    id: str
    title: str
    tasks: tuple[str, ...]
    unit: str
    """images/s, it/s, tokens/s, FLOP/s, B/s, launches/s or files/s"""
    worker: str = ""
    options: Options = field(default_factory=dict)
    """The default conditions of a measurement."""
    variants: tuple[Options, ...] = ()
    """Further conditions, with --full: each changes some of `options`."""
    processor: Options = field(default_factory=dict)
    """What of `options` is smaller with --quick on a processor, so that steps take seconds at most."""
    dtypes: tuple[str, ...] = ("float32",)
    """On an accelerator with --full; --quick and a processor take the first, a matrix product all."""
    processor_dtype: str = ""
    """Instead of the first of `dtypes`, on a processor."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """More for the worker's request: fine_tuning, own_model."""
    together: bool = False
    """Several processes do it with each other: a collective."""
    frameworks: tuple[str, ...] = ()
    """Only these do it; (): those do that have no workloads of their own."""
    quick: Mapping[str, int] = field(default_factory=dict)
    """Place of each task in the order of --quick: the lowest first, those below FIRST before anything else of any framework. A task that
    is not there is measured by --full or by name."""

    @property
    def name(self) -> str:
        return self.worker or self.id


def _classifier(name: str, title: str, quick: Mapping[str, int]) -> Workload:
    return Workload(
        id=name, title=title, tasks=("training", "inference"), unit="images/s", options=CLASSIFIER, processor={"batch": 4},
        dtypes=("float32", "bfloat16"), quick=quick,
    )  # fmt: skip


WORKLOADS: tuple[Workload, ...] = (
    Workload(
        id="matmul", title="matrix product, square, per dtype", tasks=("micro",), unit="FLOP/s", dtypes=("float32", "bfloat16", "float16"),
        quick={"micro": 3},
    ),
    Workload(id="memory_bandwidth", title="c = a + b over more than the caches", tasks=("micro",), unit="B/s",
             quick={"micro": 4}),
    Workload(
        id="operators", title="operators one by one against references of their own, in seconds (more of them: --operators)",
        tasks=("micro",), unit="operators", quick={"micro": 2}, settings={"job": "operators", "set": "quick"},
    ),
    Workload(
        id="large_tensors", title="operators on tensors of more than 2^31 elements, where memory allows (torch)", tasks=("micro",),
        unit="operators", settings={"job": "operators", "set": "large"}, worker="operators",
    ),
    Workload(id="host_to_device", title="copy of 64 MiB to the device", tasks=("micro",), unit="B/s", quick={"micro": 5}),
    Workload(id="device_to_host", title="copy of 64 MiB from the device", tasks=("micro",), unit="B/s", quick={"micro": 5}),
    Workload(id="launch", title="what starting one kernel costs", tasks=("micro",), unit="launches/s", quick={"micro": 6}),
    Workload(id="files", title="reading the small files of a folder (--dataset DIR)", tasks=("micro",), unit="files/s"),
    _classifier("alexnet", "AlexNet, batch 16, 224x224", {}),
    _classifier("resnet18", "ResNet-18, batch 16, 224x224", {"inference": 0, "training": 1}),
    _classifier("resnet50", "ResNet-50, batch 16, 224x224", {"inference": 7, "training": 9}),
    _classifier("vgg16", "VGG-16, batch 16, 224x224", {}),
    _classifier("mobilenet_v2", "MobileNetV2, batch 16, 224x224", {"inference": 8, "training": 10}),
    Workload(
        id="resnext101_32x4d", title="ResNeXt-101 32x4d, batches 2 to 12 (as on Graphcore's C2)", tasks=("inference",), unit="images/s",
        options={**CLASSIFIER, "batch": 2}, variants=tuple({"batch": size} for size in (4, 6, 8, 10, 12)), dtypes=("float32", "float16"),
    ),
    Workload(
        id="classifier_finetuning", worker="resnet50", tasks=("training",), unit="images/s",
        title="fine-tuning of ResNet-50 in mixed precision: a new head of 19 classes, the rest slowly; batch 32, 224x224",
        options={**CLASSIFIER, "batch": 32, "classes": 19}, processor={"batch": 4}, dtypes=("float16", "bfloat16"),
        processor_dtype="bfloat16", settings={"fine_tuning": True},
    ),
    Workload(
        id="all_reduce", title="sums over several devices, 1 KiB to 256 MiB (nccl, rccl, xccl; gloo between processes of a processor)",
        tasks=("micro",), unit="B/s", variants=tuple({"bytes": size} for size in MESSAGES), together=True,
    ),
    Workload(
        id="ddp_training", worker="resnet18", tasks=("training",), unit="images/s", together=True, options=CLASSIFIER,
        title="ResNet-18 in training by a process for each device (DistributedDataParallel); gradients as those of one process",
        processor={"batch": 4},
    ),
    Workload(
        id="style_transfer", title="style transfer with reflection padding, 256x256", tasks=("training", "inference"), unit="images/s",
        options={"batch": 1, "height": 256, "width": 256}, dtypes=("float32", "bfloat16"),
    ),
    Workload(
        id="yolox_tiny", title="YOLOX-tiny detector, 384x224 and 896x512", tasks=("inference",), unit="images/s",
        options={"batch": 1, "height": 224, "width": 384}, variants=({"height": 512, "width": 896},), dtypes=("float32", "float16"),
        quick={"inference": 11},
    ),
    Workload(
        id="unet_sd15", title="diffusion step of Stable Diffusion 1.5, 512x512, batch 2 for guidance", tasks=("inference",), unit="it/s",
        options={"batch": 2, "height": 64, "width": 64}, dtypes=("float16",),
    ),
    Workload(
        id="unet_sd21", title="diffusion step of Stable Diffusion 2.1, 512x512, batch 2 for guidance", tasks=("inference",), unit="it/s",
        options={"batch": 2, "height": 64, "width": 64}, dtypes=("float16",),
    ),
    Workload(
        id="gpt2_prefill", title="transformer (GPT-2 small) reading a prompt of 512 tokens", tasks=("inference",), unit="tokens/s",
        options={"batch": 1, "tokens": 512}, dtypes=("float32", "float16"),
    ),
    Workload(
        id="gpt2_decode", title="transformer (GPT-2 small) writing one token after 512", tasks=("inference",), unit="tokens/s",
        options={"batch": 1, "past": 512}, dtypes=("float32", "float16"), quick={"inference": 12},
    ),
    Workload(
        id="llama_prefill", title="llama.cpp reading a prompt of 512 tokens: a llama of 76 million random weights", tasks=("inference",),
        unit="tokens/s", options={"tokens": 512}, processor={"tokens": 128}, dtypes=("float16",), processor_dtype="float16",
        quick={"inference": 0}, frameworks=LLAMA,
    ),
    Workload(
        id="llama_decode", title="llama.cpp writing one token after 512, the same model", tasks=("inference",), unit="tokens/s",
        options={"past": 512}, processor={"past": 128}, dtypes=("float16",), processor_dtype="float16", quick={"inference": 1},
        frameworks=LLAMA,
    ),
)  # fmt: skip
OWN = {name: tuple(each.id for each in WORKLOADS if name in each.frameworks) for name in LLAMA}
OWN["wgpu"] = ("matmul", "memory_bandwidth", "launch")
"""What a framework does that has workloads of its own."""
BY_ID: Mapping[str, Workload] = {each.id: each for each in WORKLOADS}


def items_per_step(workload: Workload, options: Options) -> int:
    """The number of `unit`s in one step of a network: images of a batch, one iteration, or tokens."""
    if workload.unit == "it/s":
        return 1
    if workload.unit == "tokens/s":
        return options.get("batch", 1) * options.get("tokens", 1)
    return options.get("batch", 1)


def input_shape(workload: Workload, options: Options) -> tuple[int, ...] | None:
    """The shape of one item, in the form of a measurement: 3 x 224 x 224."""
    if "height" in options:
        channels = 4 if workload.unit == "it/s" else 3
        return channels, options["height"], options["width"]
    if "tokens" in options:
        return (options["tokens"],)
    return (1,) if "past" in options else None


def rows() -> list[dict[str, Any]]:
    """The rows of `gpudoctor list workloads`."""
    return [
        {
            "workload": each.id, "title": each.title, "tasks": each.tasks, "unit": each.unit, "options": dict(each.options),
            "variants": [dict(variant) for variant in each.variants], "dtypes": each.dtypes, "quick": sorted(each.quick),
        }
        for each in WORKLOADS
    ]  # fmt: skip
