"""What is absent is known from a whole listing alone; what a text does not show is unknown."""

from __future__ import annotations

import pytest
from pasted_text import read

from gpudoctor.model.facts import Absent, Known, Unknown

ROWS = "".join(f"package{number:<10} 1.{number}\n" for number in range(20))
LISTING = f"Package    Version\n---------- -------\n{ROWS}pip        24.0\ntorch      2.8.0\n"


@pytest.mark.parametrize("typed", ["pip list", "python3 -m pip list", "uv pip list", "conda list -n work", "pip list --format=columns"])
def test_a_whole_list_proves_absence(typed: str) -> None:
    assert isinstance(read(f"$ {typed}\n{LISTING}").get("python.distributions.triton"), Absent)


@pytest.mark.parametrize(
    "text",
    [
        f"$ pip list | grep -i package\n{LISTING}", f"$ pip list --outdated\n{LISTING}", f"$ pip list --user\n{LISTING}",
        f"$ conda list torch\n{LISTING}", f"$ pip list | head -30\n{LISTING}", f"$ pip list\n{LISTING}...\n",
        f"$ pip list\n{LISTING}[snip]\n", f"$ pip list\n{LISTING}(120 more lines omitted)\n", f"my packages:\n{LISTING}",
        f"$ pip list\n{LISTING.replace('pip        24.0', '')}", f"$ pip list | Select-String torch\n{LISTING}",
    ],
)  # fmt: skip
def test_a_selection_or_a_cut_list_proves_nothing(text: str) -> None:
    facts = read(text)
    assert facts.value("python.distributions.torch") == "2.8.0"
    assert isinstance(facts.get("python.distributions.triton"), Unknown) and isinstance(facts.get("ipex.version"), Unknown)


def test_a_text_that_shows_nothing_proves_nothing() -> None:
    facts = read("hello world")
    no = {name for name, fact in facts.items() if isinstance(fact, Absent) or (isinstance(fact, Known) and fact.value is False)}
    assert no == set()


def test_some_rows_of_dpkg_prove_no_other_package_absent() -> None:
    facts = read("$ dpkg -l | grep opencl\nii  intel-opencl-icd  24.35.30872.22-0  amd64  Intel graphics compute runtime\n")
    assert isinstance(facts.get("level_zero.loader.version"), Unknown) and isinstance(facts.get("rocm.version"), Unknown)
    assert facts.value("intel.compute_runtime.version")


def test_of_lsmod_only_the_whole_list_tells_what_is_not_loaded() -> None:
    head = "Module                  Size  Used by\nnouveau              2000000  1\n"
    assert isinstance(read(head).get("kernel.modules"), Unknown)
    assert isinstance(read(f"$ lsmod | head -5\n{head}").get("kernel.modules"), Unknown)
    assert read(f"$ lsmod\n{head}").value("kernel.modules") == ["nouveau"]


def test_names_of_platforms_alone_do_not_prove_that_there_is_no_device() -> None:
    facts = read("$ clinfo | grep 'Platform Name'\n  Platform Name                                   Intel(R) OpenCL Graphics\n")
    assert facts.value("opencl.gpu_seen") is not False and not isinstance(facts.get("opencl.devices"), Known)
