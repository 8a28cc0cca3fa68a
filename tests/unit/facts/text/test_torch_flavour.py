"""Which CUDA a pasted torch was built for."""

from __future__ import annotations

import pytest
from pasted_text import read

from gpudoctor.facts.text.cleaning import lines_of, unquoted
from gpudoctor.facts.text.reading import take
from gpudoctor.model.facts import Known


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("PyTorch 1.10, cudatoolkit 11.3, RTX 3090, Ubuntu 20.04", "11.3"),
        ("conda install pytorch==2.0.1 pytorch-cuda=11.8 -c pytorch -c nvidia", "11.8"),
        ("torch 1.0.1 for CUDA 8.0 (whl/cu80) on Windows", "8.0"),
        ("pytorch 1.8.1+cuda11.1 on Ubuntu", "11.1"),
        ("PyTorch 1.10, CUDA 11.3, RTX 3090, Ubuntu 20.04", None),
        ("PyTorch 1.10, cudatoolkit 11.x, RTX 3090, Ubuntu 20.04", None),
        ("PyTorch 1.10, cudatoolkit 11.3 and another with cudatoolkit 10.2", None),
    ],
)
def test_the_cuda_of_a_torch_is_what_the_text_says_of_it(text: str, cuda: str | None) -> None:
    facts = read(text)
    assert facts.value("torch.build") == "cuda"
    assert facts.value("torch.cuda") == cuda


def test_a_build_that_speaks_of_a_card_is_no_cpu_build() -> None:
    facts = read("torch 1.3.1 in C:\\Users\\me\\venv\\torch\nFound GPU0 GeForce GT 740M which is of cuda capability 3.0.\n")
    assert facts.value("torch.build") == "cuda" and not isinstance(facts.get("torch.cuda"), Known)


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("RTX 3060 on Windows 11, torch 2.5.1, ComfyUI errors out", "cuda"),
        ("RTX 3060 on Windows 11, torch 2.5.1, torch.cuda.is_available() is False", "cpu"),
        ("RTX 3060 on Windows 11\ntorch 2.5.1\ntorchvision 0.20.1", "cpu"),
        ("RTX 3060 on Windows 11, pip install torch gave torch 2.5.1", "cpu"),
        ("training takes twice as long with torch 2.14 as with 2.13 on an Arc B580, Windows", "xpu"),
        ("Arc A770 beside an RTX 3060 on Windows 11, torch 2.5.1, ComfyUI errors out", "cuda"),
    ],
)
def test_a_sentence_on_windows_leaves_the_flavour_open(text: str, build: str) -> None:
    assert read(text).value("torch.build") == build


def test_a_jetson_has_builds_of_its_own() -> None:
    assert read("Jetson AGX Orin, JetPack 6.2, torch 2.8.0: RuntimeError: cuDNN error").value("torch.build") == "cuda"
    assert read("Jetson AGX Orin, pip install torch gave torch 2.8.0, torch.cuda.is_available() is False").value("torch.build") != "cuda"


def test_a_toolkit_elsewhere_is_no_statement_on_torch() -> None:
    assert read("Ubuntu 22.04, PyTorch 2.3.0\nCUDA 11.8 is in /usr/local").value("torch.cuda") != "11.8"


def test_an_old_listing_says_yes_and_no() -> None:
    text = "PyTorch version: 1.3.0\nCUDA used to build PyTorch: 9.2\nIs CUDA available: {}\nNvidia driver version: 391.74\n"
    for said, meant in (("No", "False"), ("Yes", "True")):
        old, new = (take(unquoted(lines_of(text.format(word))))[0].frameworks for word in (said, meant))
        assert old == new != {}


def test_a_listing_of_a_server_says_that_torch_sees_the_card() -> None:
    listing = "CUDA available: {seen}\nGPU 0: NVIDIA A800-SXM4-80GB\nCUDA Driver Version: 470.161.03\nPyTorch: 2.5.1+cu124\n"
    assert read(listing.format(seen="True")).value("cuda.driver_ok") is True
    assert read(listing.format(seen="False")).value("cuda.driver_ok") is False


def test_an_import_fails_in_the_outermost_module_not_in_the_server_that_asked() -> None:
    frames = ['fastapi/routing.py", line 3, in app', 'vllm/engine/x.py", line 9, in <module>', 'xops/__init__.py", line 1, in <module>']
    trace = "Traceback (most recent call last):\n" + "".join(f'  File "/v/site-packages/{frame}\n' for frame in frames)
    evidence, _ = take(list(unquoted(lines_of(trace + "ImportError: libops.so.1: cannot open shared object file\n"))))
    assert list(evidence.frameworks) == ["vllm"]
