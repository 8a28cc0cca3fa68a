"""Failures in the shapes that also stand in notes, lists, tests, source code and manuals: here they are real, and are found.

The texts without trouble of the same shapes are in `tests/quiet`.
"""

from __future__ import annotations

import pytest
from whole_catalogue import findings, named

KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
DEVICES = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
LIBRARY = "OSError: libcudart.so.12: cannot open shared object file: No such file or directory"
MEMORY = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB"
CODE = "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"
SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver"
DRIVER = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver"
IDS = {
    KERNEL: "cuda-no-kernel-image", DEVICES: "tensors-on-two-devices", LIBRARY: "cuda-runtime-library-not-found",
    MEMORY: "cuda-out-of-memory", CODE: "rocm-no-kernel-for-gpu", SMI: "nvidia-smi-cannot-communicate",
    DRIVER: "torch-cuda-finds-no-driver",
}  # fmt: skip
ARCH = "nvcc-architecture-unknown"

FORMERLY = (
    (KERNEL, "It used to work but now it fails with\n{}"), (KERNEL, "This used to work. After the update it fails:\n{}"),
    (MEMORY, "It used to fail only sometimes, now always:\n{}"), (DEVICES, "Formerly it worked, with torch 2.9 I get\n{}"),
    (DRIVER, "My training used to run. After upgrading the driver it dies:\n{}"), (LIBRARY, "I used to get another error, now\n{}"),
    (CODE, "It works on Windows but on Linux it fails with\n{}"), (KERNEL, "Works with 2.5; 2.6 gives\n{}"),
    (SMI, "This used to fail with a timeout but after the update it fails with\n{}"), (SMI, "Before the update it worked fine.\n\n{}"),
)  # fmt: skip
ROWS = (
    (KERNEL, "| run | result |\n|---|---|\n| torch 2.8 | {} |"),
    (DEVICES, "What I tried:\n\n| build | outcome |\n| --- | --- |\n| 2.7 | works |\n| 2.8 | `{}` |"),
    (LIBRARY, "| {} | open |\nHow do I get rid of it?"), (MEMORY, "{}\n\n| version | state |\n|---|---|\n| 2.3 | fixed, they say |"),
    (SMI, "| GPU | status |\n|---|---|\n| 4090 | broken |\n{}"),
    (CODE, "| card | torch | outcome |\n|---|---|---|\n| 7900 XTX | 2.4 | {} |"),
    (DRIVER, "| step | output |\n| --- | --- |\n| import | fine |\n| .cuda() | {} |"), (KERNEL, "| {} |"),
    (MEMORY, "| batch | result |\n|---|---|\n| 8 | ok |\n| 16 | {} |"), (DEVICES, "| rank | error |\n|---|---|\n| 0 | {} |"),
)  # fmt: skip
TASKS = (
    (KERNEL, "- [x] I have searched the issues\n- [x] I use the newest release\n\n{}"), (MEMORY, "[x] {}"),
    (CODE, "### Checklist\n- [x] newest version\n\n### Log\n```\n{}\n```"),
    (SMI, "### Checklist\n- [x] I rebooted\n\n### Output\n```\n{}\n```"),
    (DRIVER, "- [ ] I can help with a fix\n\n{}"), (LIBRARY, "- [x] asked the forum\n\nAnd it still says\n{}"),
    (DEVICES, "* [x] read the guide\n\n```\n{}\n```"), (KERNEL, "1. [x] reinstalled the driver\n2. [x] rebooted\n{}"),
    (MEMORY, "## Before you report\n- [X] searched\n## What happens\n{}"), (SMI, "- [x] Linux\n- [ ] Windows\n\n{}"),
)  # fmt: skip
TESTS = (
    (KERNEL, "E   {}\n\ntests/test_a.py:12: RuntimeError"),
    (DEVICES, "    with pytest.raises(ValueError):\n>       run()\nE       {}\n\na.py:3: RuntimeError\n=== 1 failed in 0.2s ==="),
    (MEMORY, "FAILED tests/test_a.py::test_run - {}"), (DRIVER, "ERROR collecting tests/test_a.py\nE   {}"),
    (LIBRARY, "ImportError while importing test module '/x/test_a.py'.\nE   {}"),
    (KERNEL, "=== 3 passed, 1 failed in 2.0s ===\nFAILED test_a.py::test_b - {}"), (CODE, "test_a.py:12: in test_run\n    run()\nE   {}"),
    (DEVICES, "    def test_run():\n        model(x)\nE   {}"), (SMI, "$ pytest -q\n1 passed in 0.2s\n$ nvidia-smi\n{}"),
    (MEMORY, "ERROR: test_run (tests.A)\nTraceback (most recent call last):\n  File \"a.py\", line 3, in test_run\n{}"),
)  # fmt: skip
SOURCE = (
    (KERNEL, 'Traceback (most recent call last):\n  File "/x/a.py", line 3, in f\n    raise RuntimeError(msg)\n{}'),
    (DRIVER, 'Traceback (most recent call last):\n  File "/x/a.py", line 3, in f\n    raise RuntimeError("{}")\n{}'),
    (MEMORY, "WARNING:root:{}"), (DEVICES, "2026-01-01 10:00:00,000 - app - ERROR - {}"),
    (KERNEL, '  File "/x/a.py", line 3, in f\n    self.run()\n{}'), (KERNEL, "[rank0]: {}"), (LIBRARY, "app.py:12: {}"),
    (DRIVER, '    warnings.warn("slow")\n{}'), (MEMORY, "    logger.error(message)\nERROR    app:a.py:3 {}"), (CODE, "Error: {}"),
)  # fmt: skip
DOCUMENTS = (
    (KERNEL, "I see the following message:\n\n```\n{}\n```\n"), (MEMORY, "I get this error:\n```\n{}\n```"),
    (LIBRARY, "The following error occurs:\n\n```\n{}\n```"), (SMI, "When I run it, the program prints the following:\n```\n{}\n```"),
    (DEVICES, "Running train.py gives the following error:\n\n    {}\n"),
    (DRIVER, "If I start it twice, I see the following message:\n\n```\n{}\n```"),
    (CODE, "Error message:\n```\n{}\n```"), (KERNEL, "My log:\n```text\n{}\n```"), (MEMORY, "You can see the error here:\n```\n{}\n```"),
    (DRIVER, "The output is the following:\n\n```\n{}\n```"),
)  # fmt: skip
KINDS = {"formerly": FORMERLY, "rows": ROWS, "tasks": TASKS, "tests": TESTS, "source": SOURCE, "documents": DOCUMENTS}
SHAPES = [
    pytest.param(message, shape, id=f"{kind}-{number}") for kind, shapes in KINDS.items() for number, (message, shape) in enumerate(shapes)
]


@pytest.mark.parametrize(("message", "shape"), SHAPES)
def test_a_real_failure_is_found(message: str, shape: str) -> None:
    text = shape.replace("{}", message)
    found = [finding for finding in findings(text) if finding.severity != "info"]
    assert IDS[message] in [finding.id for finding in found], named(tuple(found))


BUILDS = {
    "#14 3.456 nvcc fatal   : Unsupported gpu architecture 'compute_120'": ARCH,
    "#7 12.80 make[1]: Entering directory '/src'\n#7 12.81 nvcc fatal   : Unsupported gpu architecture 'compute_120'\n"
    "#7 12.82 make: *** [a.o] Error 1": ARCH,
    " > [builder 6/9] RUN make -j8:\n12.80 nvcc fatal   : Unsupported gpu architecture 'compute_120'\n12.81 make: *** [k.o] Error 1": ARCH,
    "#14 3.456 -- The CUDA compiler identification is unknown\n#14 3.501 CMake Error at CMakeLists.txt:10 (enable_language):\n"
    "#14 3.501   No CMAKE_CUDA_COMPILER could be found.\n#14 3.501\n#14 3.501   Tell CMake where to find the compiler by setting either":
        "cmake-cuda-compiler-fails",
    "#15 45.11 src/a.cu:1:10: fatal error: cublas_v2.h: No such file or directory\n#15 45.11     1 | #include <cublas_v2.h>\n"
    "#15 45.11       |          ^~~~~\n#15 45.11 compilation terminated.": "cuda-headers-missing",
    "#9 1.2 Collecting flash-attn\n#9 4.1   error: subprocess-exited-with-error\n#9 4.1\n"
    "#9 4.1   × python setup.py egg_info did not run successfully.\n#9 4.1       ModuleNotFoundError: No module named 'torch'":
        "build-isolation-hides-torch",
    "#15 45.11 /usr/bin/ld: cannot find -lcuda: No such file or directory\n#15 45.12 collect2: error: ld returned 1 exit status":
        "linker-misses-cuda-library",
    "#9 2.0 ERROR: Could not find a version that satisfies the requirement torch==1.4.0 (from versions: 2.1.0, 2.2.0)\n"
    "#9 2.1 ERROR: No matching distribution found for torch==1.4.0": "pip-no-torch-for-this-python",
    " > [3/8] RUN pip install torch==1.4.0:\n2.011 ERROR: Could not find a version that satisfies the requirement torch==1.4.0\n"
    "2.012 ERROR: No matching distribution found for torch==1.4.0": "pip-no-torch-for-this-python",
    "#22 9.9     OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.\n#22 9.9     [end of output]":
        "cuda-home-not-set",
    "Building wheel\n  Running command python setup.py bdist_wheel\n    RuntimeError: Cuda extensions are being compiled with a version of "
    "Cuda that does not match the version used to compile Pytorch binaries.  Pytorch binaries were compiled with Cuda 12.1.":
        "nvcc-differs-from-torch",
}  # fmt: skip


@pytest.mark.parametrize("text", BUILDS)
def test_the_output_of_a_tool_is_read_in_a_build_log(text: str) -> None:
    assert BUILDS[text] in [finding.id for finding in findings(text)], named(findings(text))
