"""Raw OpenCL on two real runtimes of the processor at once: Intel's, of the package index, and PoCL, of the system."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_backends_real import last, result, right

from gpudoctor.reporters.shared.schema import complaints

pytestmark = pytest.mark.rotates("slow", member="two OpenCL runtimes")

Environment = Callable[[str], Path]
Report = dict[str, Any]

INTEL, POCL = "Intel(R) OpenCL", "Portable Computing Language"
BOTH = [INTEL, POCL]
POCL_ICD = Path("/etc/OpenCL/vendors/pocl.icd")


def driver(environment: Environment) -> str:
    return str(environment("opencl-intel-cpu") / "lib" / "libintelocl.so")


@pytest.fixture
def beside(environment: Environment, tmp_path: Path) -> dict[str, str]:
    """Variables with which the loader sees both runtimes."""
    if not POCL_ICD.exists():
        pytest.fail("pocl-opencl-icd is not installed (.ci/packages)")
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "intel.icd").write_text(driver(environment) + "\n")
    (vendors / "pocl.icd").write_text(POCL_ICD.read_text())
    return {"OCL_ICD_VENDORS": str(vendors)}


def doctor(*words: str, more: dict[str, str], statuses: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(
        [sys.executable, "-m", "gpudoctor", *words], capture_output=True, text=True, timeout=250, env={**os.environ, **more}
    )
    assert ran.returncode in statuses, ran.stderr + ran.stdout[-2000:]
    return ran


def checked(environment: Environment, more: dict[str, str]) -> Report:
    python = str(environment("opencl-intel-cpu"))
    ran = doctor("check", "--python", python, "--format", "json", "--budget", "90", more=more, statuses=(0, 1))
    return dict(json.loads(ran.stdout)["facts"]["opencl"])


def places(environment: Environment, more: dict[str, str]) -> dict[str, str]:
    """Which opencl:P.D each platform is: loaders number them as they find them."""
    numbers = {device["platform"]: device["platform_index"] for device in checked(environment, more)["devices"]}
    return {name: f"opencl:{number}.0" for name, number in numbers.items()}


@pytest.mark.alone  # the runtime of Intel starts within the limit of clinfo only on a machine that is not full
def test_check_sees_both_and_who_registers_them(environment: Environment, beside: dict[str, str]) -> None:
    found = checked(environment, beside)
    assert sorted(found["platform_names"]) == BOTH and {device["type"] for device in found["devices"]} == {"cpu"}
    active = [icd for icd in found["icds"] if icd["active"]]
    assert {icd["vendor"]: icd["exists"] for icd in active} == {"intel-cpu": True, "pocl": True}
    # PoCL of Debian 12 has no work-group reductions, which dlprimitives wants of its drivers
    assert {device["platform"]: device["collectives"] for device in found["devices"]}[INTEL] is True


def test_check_sees_the_one_that_a_variable_names(environment: Environment) -> None:
    library = driver(environment)
    found = checked(environment, {"OCL_ICD_VENDORS": library, "OCL_ICD_FILENAMES": library})
    assert found["platform_names"] == [INTEL] and found["active_icds"] == 1
    named = [(icd["library"], icd["vendor"], icd["exists"]) for icd in found["icds"] if icd["active"]]
    assert named == [(library, "intel-cpu", True)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("platform", BOTH)
def test_validate_computes_right_on_the_device_that_is_asked_for(environment: Environment, beside: dict[str, str], platform: str) -> None:
    device = places(environment, beside)[platform]
    words = ["--python", str(environment("opencl-intel-cpu")), "--workload", "matmul,launch,host_to_device", "--duration", "1"]
    document = json.loads(doctor("validate", *words, "--device", device, "--format", "json", more=beside).stdout)
    assert complaints(document) == []
    measured = document["measurements"]
    assert [row["workload"] for row in measured] == ["matmul", "launch", "host_to_device"]
    for row in measured:
        assert row["status"] == "ok" and row["correctness"]["passed"], row
        assert row["device"] == device and platform in row["device_name"], row


@pytest.mark.timeout(300)
def test_both_are_measured_in_one_run(environment: Environment, beside: dict[str, str]) -> None:
    devices = sorted(places(environment, beside).values())
    words = ["--python", str(environment("opencl-intel-cpu")), "--workload", "launch", "--duration", "1", "--format", "json"]
    document = json.loads(doctor("validate", *words, *(word for device in devices for word in ("--device", device)), more=beside).stdout)
    assert [(row["device"], row["status"]) for row in document["measurements"]] == [(device, "ok") for device in devices]
    assert len({row["device_name"] for row in document["measurements"]}) == 2


def test_a_device_that_neither_has(environment: Environment, beside: dict[str, str]) -> None:
    python = str(environment("opencl-intel-cpu"))
    ran = doctor("validate", "--python", python, "--device", "opencl:2.0", more=beside, statuses=(2,))
    assert ran.stdout == "" and "opencl:0.0, opencl:1.0" in ran.stderr


@pytest.mark.parametrize("platform", BOTH)
@pytest.mark.parametrize("workload", ["matmul", "bandwidth", "launch", "host_to_device", "device_to_host"])
def test_small_measurements(environment: Environment, beside: dict[str, str], workload: str, platform: str) -> None:
    request = {"framework": "opencl", "workload": workload, "task": "micro", "options": {"side": 128, "bytes": 1 << 20}}
    answer = result(sys.executable, "", beside, device=places(environment, beside)[platform], **request)
    assert right(answer) and platform in answer["device_name"], answer


@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-12), ("float16", 5e-2)])
def test_other_precisions(environment: Environment, beside: dict[str, str], dtype: str, error: float) -> None:
    """Half precision is computed in where the driver has cl_khr_fp16, and said to be lacking where not."""
    known = {device["platform"]: device for device in checked(environment, beside)["devices"]}
    for platform, device in places(environment, beside).items():
        answer = last(
            sys.executable, "", beside, framework="opencl", device=device, workload="matmul", task="micro", dtype=dtype,
            options={"side": 64}, job="verify",
        )  # fmt: skip
        if known[platform]["fp64" if dtype == "float64" else "fp16"]:
            assert right(answer) and answer["outputs"][0]["max_relative_error"] < error, answer
        else:
            assert answer["stage"] == "skipped" and dtype in answer["reason"], answer


def test_a_wrong_kernel_is_found_on_intels_compiler_too(environment: Environment, beside: dict[str, str]) -> None:
    code = (
        "import ctypes\ngood = ctypes.c_char_p\n"
        "ctypes.c_char_p = lambda text: good(text.replace(b'm < GROUP', b'm < GROUP - 1') if isinstance(text, bytes) else text)"
    )
    request = {"framework": "opencl", "workload": "matmul", "task": "micro", "options": {"side": 64}, "job": "verify"}
    assert not right(result(sys.executable, code, beside, device=places(environment, beside)[INTEL], **request))


def test_torch_without_pytorch_ocl_skips_the_device(environment: Environment, beside: dict[str, str]) -> None:
    python = environment("torch-cpu") / "bin" / "python"
    answer = last(python, "", beside, framework="torch-opencl", device="ocl:0", workload="matmul", task="micro")
    assert answer == {"stage": "skipped", "reason": "pytorch_ocl is not in this environment"}


def test_asking_for_it_names_what_there_is(environment: Environment, beside: dict[str, str]) -> None:
    ran = doctor("validate", "--python", str(environment("torch-cpu")), "--device", "ocl:0", more=beside, statuses=(2,))
    assert "pytorch_ocl is not in " in ran.stderr and "opencl:0.0, opencl:1.0" in ran.stderr
