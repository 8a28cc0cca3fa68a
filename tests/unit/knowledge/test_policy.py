from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.diagnosis.policy_demands import unmet_demands
from gpudoctor.facts import vocabulary
from gpudoctor.knowledge.policy import VERSIONS, read_policy
from gpudoctor.knowledge.structure import DataError
from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.model.policy import Demand

SPECS = vocabulary.specs()
A100 = {"vendor": "nvidia", "name": "NVIDIA A100-SXM4-80GB", "memory_bytes": 80 * 10**9}
ROW = {"name": "resnet50 training float32 on cuda:0", "workload": "resnet50", "task": "training", "device": "cuda:0", "dtype": "float32",
       "status": "ok", "throughput": 210.0, "unit": "images/s"}  # fmt: skip


def policy(tmp_path: Path, text: str) -> tuple[Demand, ...]:
    path = tmp_path / "policy.toml"
    path.write_text(text)
    return read_policy(str(path), SPECS)


def outcome(tmp_path: Path, text: str, **facts: Any) -> str:
    """met, unmet or open, of the one demand in the text; facts with __ for a dot."""
    given = {name.replace("__", "."): fact if isinstance(fact, (Absent, Unknown)) else Known(fact) for name, fact in facts.items()}
    unmet, open_ones, traces = unmet_demands(policy(tmp_path, text), Facts(given))
    assert len(traces) == 1
    return "unmet" if unmet else "open" if open_ones else "met"


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ([A100] * 8, "met"),
        ([A100] * 7, "unmet"),
        ([*[A100] * 7, {"vendor": "nvidia"}], "open"),  # the name of one is not known: it may be the eighth
        ([*[A100] * 7, {"vendor": "amd"}], "unmet"),
        ([], "unmet"),
        (Unknown("not recorded"), "open"),
        (Absent(), "unmet"),
    ],
)
def test_devices_are_counted(tmp_path: Path, gpus: Any, expected: str) -> None:
    assert outcome(tmp_path, '[[device]]\ncount = 8\nvendor = "nvidia"\nname = "a100"\n', gpus=gpus) == expected


def test_memory_is_what_the_card_is_sold_with(tmp_path: Path) -> None:
    assert outcome(tmp_path, "[[device]]\nmemory_gib = 80\n", gpus=[A100]) == "met"
    assert outcome(tmp_path, "[[device]]\nmemory_gib = 80\n", gpus=[{**A100, "memory_bytes": 40 * 2**30}]) == "unmet"


def test_the_name_is_text_and_no_pattern(tmp_path: Path) -> None:
    assert outcome(tmp_path, '[[device]]\nname = "A.00"\n', gpus=[A100]) == "unmet"


@pytest.mark.parametrize(
    ("line", "facts", "expected"),
    [
        ('kernel = ">=6.8"', {"kernel__version": "6.8.0-51-generic"}, "met"),
        ('kernel = ">=6.8"', {"kernel__version": "5.15.0"}, "unmet"),
        ('kernel = ">=6.8"', {}, "open"),
        ('nvidia-driver = ">=550,<580"', {"nvidia__in_use": "570.124.06"}, "met"),
        ('nvidia-driver = ">=550,<580"', {"nvidia__in_use": "580.1"}, "unmet"),
        ('nvidia-driver = ">=550"', {"nvidia__in_use": Absent()}, "unmet"),
    ],
)
def test_versions(tmp_path: Path, line: str, facts: dict[str, Any], expected: str) -> None:
    assert outcome(tmp_path, f"[versions]\n{line}\n", **facts) == expected


def test_packages_are_those_of_the_environment_under_any_spelling(tmp_path: Path) -> None:
    installed = {"python__distributions": {"torch": "2.8.1+cu128", "intel-extension-for-pytorch": {"version": "2.8.0"}}}
    assert outcome(tmp_path, '[packages]\ntorch = "==2.8.*"\n', **installed) == "met"
    assert outcome(tmp_path, '[packages]\nIntel_Extension.for-PyTorch = ">=2.8"\n'.replace(".for", "_for"), **installed) == "met"
    assert outcome(tmp_path, '[packages]\njax = ">=0.4"\n', **installed) == "unmet"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([ROW], "met"),
        ([{**ROW, "throughput": 190.0}], "unmet"),
        ([{**ROW, "throughput": 20.0, "batch": 1}, ROW], "met"),  # the fastest of a device counts
        ([ROW, {**ROW, "device": "cuda:1", "throughput": 100.0}], "unmet"),  # and every device that was measured
        ([{**ROW, "workload": "mnist"}], "open"),
        ([{**ROW, "unit": "it/s"}], "open"),
        ([{**ROW, "status": "failed", "throughput": None, "reason": "out of memory"}], "unmet"),
        ([{**ROW, "status": "skipped", "throughput": None}], "open"),
        (Unknown("not probed"), "open"),
    ],
)
def test_throughput_of_the_last_validate(tmp_path: Path, rows: Any, expected: str) -> None:
    text = '[[throughput]]\nworkload = "resnet50"\ntask = "training"\nat_least = 200\nunit = "images/s"\n'
    assert outcome(tmp_path, text, measurements=rows) == expected


def test_what_cannot_be_told_says_how_to_learn_it(tmp_path: Path) -> None:
    demands = policy(tmp_path, '[[throughput]]\nworkload = "resnet50"\ndtype = "float16"\nat_least = 200\n')
    _, (line,), _ = unmet_demands(demands, Facts())
    assert "gpudoctor validate --workload resnet50 --dtype float16" in line


def test_a_demand_names_its_line(tmp_path: Path) -> None:
    text = '# ours\n[[device]]\nname = "x"\n[versions]\nkernel = ">=6"\n"os" = ">=22"\n[[device]]\n[packages]\nkernel = ">=1"\n'
    lines = [demand.place.rpartition(":")[2] for demand in policy(tmp_path, text)]
    assert lines == ["2", "7", "5", "6", "9"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "demands nothing"),
        ("[[devices]]\n", "devices: unknown key (did you mean 'device'?)"),
        ("[[device]]\nvendro = 1\n", "device[0].vendro: unknown key (did you mean 'vendor'?)"),
        ('[[device]]\nvendor = "nvdia"\n', "device[0].vendor: 'nvdia' is none of"),
        ("[[device]]\ncount = 0\n", "device[0].count: 0"),
        ("[[device]]\ncount = true\n", "device[0].count"),
        ('[[device]]\nname = ""\n', "device[0].name"),
        ('[versions]\nkernl = ">=6"\n', "versions.kernl: unknown key (did you mean 'kernel'?)"),
        ('[versions]\nkernel = "6.8"\n', 'such as ">=6.8"'),
        ("[versions]\nkernel = 6.8\n", "in quotes"),
        ('[packages]\ntorch = ">=new"\n', "no version specifier"),
        ("device = 1\n", "device: expected a list"),
        ("device = [1]\n", "device[0]: expected a table"),
        ('[[throughput]]\nworkload = "resnet50"\n', "throughput[0].at_least: is missing"),
        ('[[throughput]]\nworkload = "resnet50"\nat_least = -1\n', "throughput[0].at_least: -1"),
        ('[[demand]]\nname = "n"\nthat = { fact = "torch.bild", is = "xpu" }\n', "did you mean 'torch.build'?"),
        ('[[demand]]\nname = "n"\nthat = { some = { of = "gpus", where = { fact = "gpu.nam", is = "x" } } }\n', "did you mean 'name'?"),
        ('schema = "gpudoctor.policy/2"\n', "gpudoctor.policy/1"),
    ],
)
def test_mistakes_are_said_with_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DataError) as error:
        policy(tmp_path, text)
    assert said in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "policy.toml")) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ('schema = "gpudoctor.policy/1"\n[[device]]\ncount = 2\nvendor = "amd"\nname = "MI300X"\nmemory_gib = 192\nadvice = "a"\n', True),
        ('[versions]\nkernel = ">=6.8"\nrocm = "~=6.2"\n[packages]\ntorch = "==2.8.*"\n', True),
        ('[[throughput]]\nworkload = "mnist"\nbatch = 16\ndtype = "float16"\nat_least = 1.5\nunit = "images/s"\n', True),
        ('[[demand]]\nname = "n"\nlayer = "runtime"\nthat = { all = [ { not = { fact = "gpus", absent = true } } ] }\n', True),
        ("[[devices]]\n", False),
        ("[[device]]\ncount = 0\n", False),
        ('[versions]\nkernel = "6.8"\n', False),
        ('[[throughput]]\nworkload = "mnist"\n', False),
        ('[[demand]]\nname = "n"\nthat = { fact = "os.id", wrong = "x" }\n', False),
    ],
)  # fmt: skip
def test_the_published_schema_and_the_reader_agree(tmp_path: Path, text: str, good: bool) -> None:
    import sys

    from gpudoctor.reporters.shared import schema

    if sys.version_info < (3, 11):
        import tomli as tomllib
    else:
        import tomllib
    assert (schema.complaints(tomllib.loads(text), "policy") == []) == good
    if good:
        assert policy(tmp_path, text)
    else:
        with pytest.raises(DataError):
            policy(tmp_path, text)


def test_the_policy_of_the_guide_is_one(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[3] / "docs" / "guide" / "pipelines.md").read_text()
    (text,) = [block for block in re.findall(r"```toml\n(.*?)```", readme, re.DOTALL) if "[[device]]" in block]
    assert len(policy(tmp_path, text)) == 6


def test_every_version_that_can_be_demanded_is_a_fact() -> None:
    assert {fact for fact, _ in VERSIONS.values()} <= set(SPECS)
    assert all(SPECS[fact].kind in ("dotted", "version") for fact, _ in VERSIONS.values())
