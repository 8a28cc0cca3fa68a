"""Which requirements proposed lines ask for, in the language of each kind of file; and what pip's answers mean."""

from __future__ import annotations

import pytest

from gpudoctor.audit.resolving import InstallerRequest, asked, refusal

XPU = "https://download.pytorch.org/whl/xpu"


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["xformers==0.0.29.post3"], InstallerRequest(("xformers==0.0.29.post3",))),
        ([f"--extra-index-url {XPU}", "torch==2.8.0+xpu"], InstallerRequest(("torch==2.8.0+xpu",), ("--extra-index-url", XPU))),
        ([f'RUN pip install "torch>=2.5" --index-url {XPU}'], InstallerRequest(("torch>=2.5",), ("--index-url", XPU))),
        (['"torch==2.8.0",', "[tool.uv.sources]", 'torch = { index = "pytorch-xpu" }', "[[tool.uv.index]]", 'name = "pytorch-xpu"',
          f'url = "{XPU}"', "explicit = true"], InstallerRequest(("torch==2.8.0",), ("--extra-index-url", XPU))),
        (["- pip:", f"  - --extra-index-url {XPU}", "  - torch==2.8.0+xpu"],
          InstallerRequest(("torch==2.8.0+xpu",), ("--extra-index-url", XPU))),
        (["onnxruntime-openvino"], InstallerRequest(("onnxruntime-openvino",))),
        (["pip uninstall -y triton"], InstallerRequest(())),
        (["# no release is on an index"], InstallerRequest(())),
    ],
)  # fmt: skip
def test_what_lines_ask_for(lines: list[str], found: InstallerRequest) -> None:
    assert asked(lines) == found


@pytest.mark.parametrize(
    ("status", "said", "why"),
    [
        (0, "", ""),
        (1, "ERROR: No matching distribution found for torch==2.1.0+xpu", "pip finds no torch==2.1.0+xpu"),
        (1, "ERROR: ResolutionImpossible: for help visit", "pip finds no set of releases that go together"),
        (1, "Could not fetch URL: connection error", None),
        (None, "", None),
    ],
)
def test_only_an_answer_counts(status: int | None, said: str, why: str | None) -> None:
    assert refusal(InstallerRequest(("torch==2.1.0+xpu",)), "3.12", "/tmp/x", lambda words: (status, said)) == why


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (['torch = { version = "==2.6.0", source = "pytorch-xpu" }', "[[tool.poetry.source]]", 'name = "pytorch-xpu"', f'url = "{XPU}"',
          'priority = "explicit"'], InstallerRequest(("torch==2.6.0",), ("--extra-index-url", XPU))),
        (['jax = { version = "*", extras = ["cuda13"] }'], InstallerRequest(("jax[cuda13]",))),
        ([f"poetry source add --priority explicit pytorch-xpu {XPU}", "poetry add --source pytorch-xpu torch==2.6.0"],
         InstallerRequest(("torch==2.6.0",), ("--extra-index-url", XPU))),
        ([f"pipenv install --index {XPU} torch==2.6.0+xpu"], InstallerRequest(("torch==2.6.0+xpu",), ("--extra-index-url", XPU))),
    ],
)  # fmt: skip
def test_what_lines_of_poetry_and_pipenv_ask_for(lines: list[str], found: InstallerRequest) -> None:
    assert asked(lines) == found
