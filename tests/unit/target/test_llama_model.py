"""The GGUF file that is written without a library, and what is read of llama-bench."""

from __future__ import annotations

import importlib
import io
import json
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

WORKLOADS = Path(__file__).resolve().parents[3] / "gpudoctor" / "target" / "workloads"
sys.path[:0] = [str(WORKLOADS), str(WORKLOADS / "backends")]

import llama_model  # noqa: E402
import worker  # noqa: E402

sys.modules.setdefault("worker", worker)
bench = importlib.import_module("llama_bench_backend")


class GgufReader:
    """The header as docs/gguf.md describes it."""

    def __init__(self, data: bytes) -> None:
        self.stream = io.BytesIO(data)
        assert self.stream.read(4) == b"GGUF" and self.number("I") == 3
        tensors, entries = self.number("Q"), self.number("Q")
        self.metadata = {self.text(): self.value(self.number("I")) for _ in range(entries)}
        self.tensors = {self.text(): self.tensor() for _ in range(tensors)}

    def number(self, form: str) -> Any:
        (found,) = struct.unpack(f"<{form}", self.stream.read(struct.calcsize(f"<{form}")))
        return found

    def text(self) -> str:
        return self.stream.read(self.number("Q")).decode()

    def value(self, kind: int) -> Any:
        if kind == 9:
            inner, count = self.number("I"), self.number("Q")
            return [self.value(inner) for _ in range(count)]
        return self.text() if kind == 8 else self.number({4: "I", 5: "i", 6: "f"}[kind])

    def tensor(self) -> tuple[tuple[int, ...], int, int]:
        shape = tuple(self.number("Q") for _ in range(self.number("I")))
        return shape, self.number("I"), self.number("Q")


@pytest.fixture(scope="module", params=["float16", "float32"])
def header(request: pytest.FixtureRequest) -> tuple[str, GgufReader]:
    return request.param, GgufReader(llama_model._header(llama_model.tensors(request.param)))


def test_the_header_says_what_llama_cpp_asks_for(header: tuple[str, GgufReader]) -> None:
    _, read = header
    said = read.metadata
    assert said["general.architecture"] == "llama" and said["llama.block_count"] == llama_model.LAYERS
    assert said["llama.embedding_length"] == said["llama.attention.head_count"] * said["llama.rope.dimension_count"]
    assert len(said["tokenizer.ggml.tokens"]) == len(said["tokenizer.ggml.token_type"]) == said["llama.vocab_size"] == 259
    assert said["tokenizer.ggml.tokens"][3 + 10] == "<0x0A>", "without a token for a line feed llama.cpp takes no such vocabulary"


def test_tensors_stand_one_behind_the_other_at_aligned_places(header: tuple[str, GgufReader]) -> None:
    kind, read = header
    place = 0
    for tensor in llama_model.tensors(kind):
        shape, form, offset = read.tensors[tensor.name]
        assert offset == place and offset % 32 == 0
        assert shape == ((tensor.columns,) if tensor.rows == 1 else (tensor.columns, tensor.rows)), "the innermost side comes first"
        assert form == {"float32": 0, "float16": 1}[tensor.kind] and (tensor.kind == "float32" or tensor.rows > 1)
        place += -(-tensor.size // 32) * 32
    assert len(read.tensors) == 9 * llama_model.LAYERS + 3


def test_a_tensor_is_as_long_as_it_says_and_no_two_rows_are_the_same() -> None:
    tensor = next(each for each in llama_model.tensors("float16") if each.name == "blk.0.ffn_down.weight")
    data = llama_model.content(tensor)
    rows = {data[place : place + 2 * tensor.columns] for place in range(0, len(data), 2 * tensor.columns)}
    assert len(data) == tensor.size and len(rows) == tensor.rows


def test_a_prompt_holds_bytes_and_no_control_token() -> None:
    tokens = llama_model.prompt(600)
    assert tokens == llama_model.prompt(600) and 3 <= min(tokens) and max(tokens) < llama_model.VOCABULARY and len(set(tokens)) > 200


def answer(**changed: Any) -> str:
    row = {"build_commit": "cd6983d", "build_number": 6123, "cpu_info": "AMD EPYC", "gpu_info": "", "backends": "CPU", "n_prompt": 512,
           "n_gen": 0, "n_depth": 0, "avg_ns": 2_000_000, "avg_ts": 256.0, "samples_ns": [1_900_000, 2_100_000],
           "samples_ts": [269.5, 243.8]}  # fmt: skip
    return json.dumps([{**row, **changed}])


def test_the_times_of_llama_bench_are_those_of_its_runs() -> None:
    row, seconds = bench.parse(answer())
    assert row["build_number"] == 6123 and seconds == [0.0019, 0.0021]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("main: error: failed to load model", "no JSON"), ("[]", "another number of tests"), (answer(samples_ns=[]), "no times"),
        (answer(samples_ns=[1, -1]), "no positive numbers"), (answer(samples_ns=None), "no times"), ("{}", "another number of tests"),
    ],
)  # fmt: skip
def test_what_is_no_answer_of_llama_bench_is_said(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        bench.parse(text)


def test_writing_is_timed_by_the_token_and_reading_by_the_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def ran(argv: list[str], **_: object) -> Any:
        asked.append(argv)
        count = int(argv[argv.index("-r") + 1])
        text = answer(samples_ns=[32_000_000] * count)
        return type("Ran", (), {"returncode": 0, "stdout": text.encode(), "stderr": b""})

    monkeypatch.setattr(bench.subprocess, "run", ran)
    monkeypatch.setattr(llama_model, "kept", lambda folder, kind: f"{folder}/m.gguf")
    found = {}
    for workload, options in (("llama_prefill", {"tokens": 512}), ("llama_decode", {"past": 512})):
        given = {"program": "/opt/llama-bench", "device": "llama:1", "workload": workload, "dtype": "float16", "options": options}
        found[workload] = bench.open_session(given).prepare(given).timed_by_itself(lambda: 0.32)
    assert asked[0][0] == "/opt/llama-bench" and asked[1][asked[1].index("-r") + 1] == "10"
    assert "-mg 1" in " ".join(asked[0]) and "-p 512 -n 0" in " ".join(asked[0]) and "-n 16 -d 512" in " ".join(asked[2])
    assert found["llama_prefill"]["latency_ms"]["median"] == pytest.approx(32) and found["llama_prefill"]["iterations"] == 10
    assert found["llama_decode"]["latency_ms"]["median"] == pytest.approx(2) and found["llama_decode"]["iterations"] == 160
    assert found["llama_decode"]["busy_s"] == pytest.approx(0.32) and found["llama_prefill"]["framework_version"] == "b6123"
