"""A person's own model: what --model takes, and which jobs come of it. Nothing of it is imported or read here."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.benchmark import own_model, replica_jobs
from gpudoctor.benchmark.devices import MeasurementTarget
from gpudoctor.benchmark.job_plan import MeasurementRequestError, ValidateOptions

TORCH = MeasurementTarget(framework="torch", device="cuda:0", python="/v/bin/python", backend="cuda")
RUNTIME = MeasurementTarget(framework="onnxruntime", device="ort:CPUExecutionProvider", python="/v/bin/python", backend="cpu")


def a_file(folder: Path, name: str, content: bytes) -> str:
    (folder / name).write_bytes(content)
    return str(folder / name)


def test_a_file_and_a_function_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = own_model.read(a_file(tmp_path, "net.ONNX", b"\x08\x07rest"))
    assert (model.kind, model.path, model.title) == ("onnx", str(tmp_path / "net.ONNX"), "net.ONNX")
    code = a_file(tmp_path, "train.py", b"raise SystemExit('never imported here')")
    assert own_model.read("train.py:make") == own_model.OwnModel("function", code, "make", str(tmp_path))
    assert own_model.read("package.train:make") == own_model.OwnModel("function", "package.train", "make", str(tmp_path))


@pytest.mark.parametrize("text", ["net", "net.pt", "train.py", ":make", "train:", "a b:make", "train.py:make()", "/etc/passwd", "../x:f"])
def test_what_is_neither_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(MeasurementRequestError, match="module:function"):
        own_model.read(text)


@pytest.mark.parametrize("content, said", [
    (b"", "empty"), (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"), (b"PK\x03\x04abc", "torch.onnx.export"),
    (b"\x80\x04\x95", "pickle"), (b"<?xml version='1.0'?><net/>", "XML"),
])  # fmt: skip
def test_a_wrong_file_is_told_before_anything_starts(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(MeasurementRequestError, match=said):
        own_model.read(a_file(tmp_path, "net.onnx", content))


def test_a_missing_file_and_a_folder_are_no_models(tmp_path: Path) -> None:
    (tmp_path / "folder.onnx").mkdir()
    for name, said in (("none.onnx", "no such file"), ("folder.onnx", "no regular file"), ("none.py:make", "no such file")):
        with pytest.raises(MeasurementRequestError, match=said):
            own_model.read(str(tmp_path / name))


def test_each_framework_gets_what_it_can_run(tmp_path: Path) -> None:
    file = own_model.read(a_file(tmp_path, "net.onnx", b"\x08\x07"))
    asked = ValidateOptions(model=file, batches=(1, 8))
    plans = replica_jobs.plans([TORCH, RUNTIME], asked)
    assert [[job.batch for job in jobs] for _, jobs in plans] == [[], [1, 8]]
    request = plans[1][1][0].request()
    assert request["own_model"] == {"kind": "onnx", "path": file.path, "function": "", "folder": ""} and request["task"] == "inference"
    assert not asked.within_budget and plans[1][1][0].words().startswith("net.onnx inference float32 batch 1 on ort:")
    function = own_model.OwnModel("function", "train", "make", "/home/u")
    ((_, jobs), (_, none)) = replica_jobs.plans([TORCH, RUNTIME], ValidateOptions(model=function, dtypes=("float32", "float16")))
    assert [job.dtype for job in jobs] == ["float32", "float16"] and not none


@pytest.mark.parametrize("changes, said", [
    ({"workloads": ("resnet50",)}, "--model and --workload"), ({"replicas": 2}, "--model and --replicas"),
    ({"tasks": ("training",)}, "measured in inference"), ({"batches": (4,)}, "your function decides the batch"),
    ({}, "needs torch; here is onnxruntime"),
])  # fmt: skip
def test_what_makes_no_sense_with_it_is_told(changes: dict[str, object], said: str) -> None:
    asked = ValidateOptions(model=own_model.OwnModel("function", "train", "make", "/"), **changes)  # type: ignore[arg-type]
    with pytest.raises(MeasurementRequestError, match=said):
        own_model.check(asked, [RUNTIME])
