"""A person's own model (`validate --model`): which file or function it is, and the jobs that measure it.

A file is read by the runtimes of ONNX models. A function is the person's own code: it is imported in the worker alone, in the target
interpreter, and gives (model, inputs).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from gpudoctor.benchmark import job_plan
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import Job, MeasurementRequestError, ValidateOptions
from gpudoctor.benchmark.workload_list import Workload

RUNTIMES = {
    "onnx": ("onnxruntime", "openvino"),
    "function": ("torch", "ipex", "torch-directml", "torch-opencl"),
}
NEEDS = {"onnx": "onnxruntime or openvino", "function": "torch"}
FORMS = "give a file (model.onnx), or a function that gives (model, inputs): package.module:function, or path/to/file.py:function"
BEGINNINGS = (
    (b"", "it is empty"),
    (b"version https://git-lfs", "it is a pointer of Git LFS; get the file itself: git lfs pull"),
    (b"PK\x03\x04", "it is an archive, such as torch.save writes; write it with torch.onnx.export"),
    (b"\x80", "it is a pickle, which is not read: it could run anything; write it with torch.onnx.export"),
    (b"<", "it is a page or an OpenVINO model in XML, not ONNX"),
)
"""What files that are no ONNX models begin with."""


class OwnModel(Struct, frozen=True):
    kind: str
    """onnx or function"""
    path: str
    """of the file, or of the file or module that holds the function"""
    function: str = ""
    folder: str = ""
    """The folder in which the module is searched first."""

    @property
    def title(self) -> str:
        return f"{os.path.basename(self.path)}{f':{self.function}' if self.function else ''}"

    def request(self) -> dict[str, Any]:
        return {"kind": self.kind, "path": self.path, "function": self.function, "folder": self.folder}


def read(text: str) -> OwnModel:
    """Parses --model. Raises MeasurementRequestError."""
    if text.lower().endswith(".onnx"):
        return OwnModel("onnx", _file(text))
    module, _, function = text.rpartition(":")
    if module.endswith(".py") and function.isidentifier():
        path = _file(module, onnx=False)
        return OwnModel("function", path, function, os.path.dirname(path))
    if function.isidentifier() and re.fullmatch(r"\w+(\.\w+)*", module):
        return OwnModel("function", module, function, os.getcwd())
    raise MeasurementRequestError(f"--model {text}: expected something else; {FORMS}")


def _file(text: str, onnx: bool = True) -> str:
    path = os.path.abspath(os.path.expanduser(text))
    if not os.path.isfile(path):
        problem = "it is no regular file" if os.path.exists(path) else "no such file"
        raise MeasurementRequestError(f"--model {text}: {problem}; {FORMS}")
    try:
        with open(path, "rb") as file:
            begins = file.read(64)
    except OSError as error:
        raise MeasurementRequestError(f"--model {text}: {error.strerror}") from error
    for start, why in BEGINNINGS if onnx else ():
        if begins == b"" if not start else begins.startswith(start):
            raise MeasurementRequestError(f"--model {text}: {why}")
    return path


def plan(target: MeasurementTarget, asked: ValidateOptions) -> list[Job]:
    """The jobs of the model that was given, else the usual ones."""
    if asked.model is None:
        return job_plan.plan(target, asked)
    if target.framework not in RUNTIMES[asked.model.kind]:
        return []
    workload = Workload(
        id=asked.model.title, title=asked.model.path, tasks=("inference",), unit="items/s", worker="own_model",
        settings={"own_model": asked.model.request()},
    )  # fmt: skip
    duration = asked.duration if asked.duration is not None else 1.5 if asked.quick else 10.0 if asked.full else 3.0
    return [
        Job(
            target=target, workload=workload, task="inference", dtype=dtype, options={"batch": size} if size else {}, duration=duration,
            compile=asked.compile, copies=asked.copies,
        )
        for size in asked.batches or (0,)
        for dtype in asked.dtypes or ("float32",)
    ]  # fmt: skip


def check(asked: ValidateOptions, targets: Sequence[MeasurementTarget]) -> None:
    """Raises MeasurementRequestError where no target can run the model, or where options have no meaning with it."""
    if asked.model is None:
        return
    for option, given in (("workload", asked.workloads), ("replicas", asked.replicas), ("preprocess", asked.preprocess)):
        if given:
            raise MeasurementRequestError(f"--model and --{option} exclude each other; give one of them")
    if asked.tasks and "inference" not in asked.tasks:
        raise MeasurementRequestError(f"--task {','.join(asked.tasks)}: a model of your own is measured in inference")
    if asked.model.kind == "function" and asked.batches:
        raise MeasurementRequestError("--batch: your function decides the batch; it gives (model, inputs)")
    if targets and not any(target.framework in RUNTIMES[asked.model.kind] for target in targets):
        there = ", ".join(dict.fromkeys(f"{target.framework} on {target.device}" for target in targets))
        raise MeasurementRequestError(f"--model {asked.model.title}: needs {NEEDS[asked.model.kind]}; here is {there}")
