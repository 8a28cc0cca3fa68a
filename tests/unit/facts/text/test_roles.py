"""The role of a line: what a program reports, what a person complains of, and what is neither."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.cleaning import lines_of, unquoted
from gpudoctor.facts.text.roles import Roles
from gpudoctor.model.signature import ADVICE, CODE, COMMAND, COMPLAINT, FAILURE, LISTING, LOG, PROSE, SETTLED

BEFORE = "Report of a workstation\n\n"
"""The first line of a text is its title; the lines under test come after it."""


def role(text: str) -> str:
    """Of the last line."""
    lines = lines_of(BEFORE + text)
    return Roles(lines)(len(lines) - 1)


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (FAILURE, "RuntimeError: CUDA error: no kernel image is available for execution on the device"),
        (FAILURE, "/opt/app/model.py:12: UserWarning: The driver on this system is too old"),
        (FAILURE, "nvcc fatal   : Unsupported gpu architecture 'compute_120'"),
        (FAILURE, "src/kernel.cu:24:9: error: 'uint32_t' does not name a type"),
        (FAILURE, 'time=2026-01-01 level=WARN source=gpu.go msg="the driver is too old"'),
        (FAILURE, "[   12.400] amdgpu 0000:03:00.0: ring gfx_0 timeout, signaled seq=1"),
        (FAILURE, "ERROR: No matching distribution found for torch==9.9"),
        (FAILURE, "2026-01-01 10:00:00.1: E external/local_xla/xla/stream_executor.cc:10] failed call to cuInit"),
        (FAILURE, "GGML_ASSERT: ggml-sycl.cpp:3001: main_gpu < count"),
        (FAILURE, "RuntimeError: Native API failed. Native API returns: UR_RESULT_ERROR_OUT_OF_RESOURCES"),
        (FAILURE, "RuntimeError: extensions are compiled with a version that does not match the version used to compile torch"),
        (FAILURE, "libnvvm : error: -arch=compute_20 is an unsupported option"),
        (FAILURE, "ptxas-newer fatal   : Value 'sm_999a' is not defined for option 'gpu-name'"),
        (FAILURE, "error: process didn't exit successfully: `tool.exe` (exit code: 0xc0000135, STATUS_DLL_NOT_FOUND)"),
        (FAILURE, "Failed to build some-attn"),
        (FAILURE, 'EP Error D:\\w\\ep.cc:90 onnxruntime::ProviderLibrary::Get the provider was not loaded'),
        (FAILURE, '7 onnxruntime::Get [ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : which a form broke'),
        (COMPLAINT, "Failed to build wheels of my extension, and I do not know why"),
        (FAILURE, "A module that was compiled using NumPy 1.x cannot be run in"),
        (FAILURE, "Program received signal SIGILL, Illegal instruction."),
        (FAILURE, "Program terminated with signal SIGSEGV, Segmentation fault."),
        (FAILURE, "xe 0000:03:00.0: [drm] Small BAR device"),
        (FAILURE, "[    4.211] i915 0000:03:00.0: [drm] Using a reduced BAR size of 256MiB"),
        (LOG, "xid: 63 row remap, no uncorrectable ECC error encountered since"),
        (FAILURE, "nvcc error   : 'cicc' died due to signal 9"),
        (ADVICE, "Week 7: what errors mean. We look at cudaErrorInvalidValue, cudaErrorIllegalAddress and cudaErrorLaunchOutOfResources"),
        (ADVICE, "Handles CL_OUT_OF_RESOURCES and CL_INVALID_KERNEL_ARGS alike: error"),
        (CODE, "src/grid.hip.cpp:7:5: warning: ignoring return value of type 'hipError_t' [-Wunused-value]"),
        (FAILURE, "src/grid.hip.cpp:7:5: error: ignoring return value of type 'hipError_t' [-Werror=unused-value]"),
        (ADVICE, "Could you add a test for the case that OutOfMemoryError is raised inside the context?"),
        (PROSE, 'Since the memory was replaced there were no more "Xid 31" or segmentation faults in nine days'),
        (ADVICE, 'Example row: "RuntimeError: HIP error: out of memory on gfx1030", label oom.'),
        (ADVICE, 'How can I count lines such as "NVRM: Xid (PCI:0000:17:00): 94" with the agent?'),
        (FAILURE, "Abort was called at 212 line in file:"),
        (FAILURE, "HIP out of memory. Tried to allocate 3.25 GiB. GPU 0 has a total capacity of 7.98 GiB of which 1.50 GiB is free."),
        (COMPLAINT, "HIP out of memory. I tried to allocate less, and my card is still full."),
        (FAILURE, 'Device with "NPU" name is not registered in the runtime'),
        (FAILURE, "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"),
        (FAILURE, "CUDA backend failed to initialize: Found cuBLAS version 120103, but it was built against 120205, which is newer."),
        (FAILURE, "mpirun noticed that process rank 1 with PID 0 on node a exited on signal 11 (Segmentation fault)."),
        (FAILURE, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."),
        (FAILURE, "ROCk module is NOT loaded, possibly no GPU devices"),
        (FAILURE, "clGetDeviceIDs() returned -1"),
        (FAILURE, r"PS E:\my models\net> python run.py --steps 4 --size 512 --seed 1 ERROR: the device could not be opened"),
        (COMMAND, "$ grep -c ERROR: train.log"),
        (FAILURE, "Got permission denied while trying to connect to the daemon socket at unix:///var/run/example.sock"),
        (FAILURE, "  Unable to find installation candidates for torchaudio (2.9.1+cu130)"),
        (FAILURE, "  - nothing provides cuda 12.9* needed by somepkg-1.2-py312"),
        (FAILURE, "* Device #1: Not a native Intel OpenCL runtime. Expect massive speed loss."),
        (FAILURE, "| softmax kernel | gfx1100 | FAILED: HSA_STATUS_ERROR |"),
        (FAILURE, "| resnet | 1 | UNAVAILABLE: Internal: the library could not be loaded |"),
        (SETTLED, "| ECC errors | 0 |"),
        (LISTING, "| Radeon RX 580 | not supported |"),
        (COMPLAINT, "loader 2.9.1 hangs mid-epoch"),
        (LISTING, "numpy 2.1.0 pypi_0 pypi"),
        (ADVICE, "Feature request: catch 'CUDA error: out of memory' and retry"),
        (ADVICE, "When the loader meets RuntimeError: CUDA error: out of memory it should retry."),
        (ADVICE, "Please let the server print the name of the card instead of 'no device found'."),
        (COMPLAINT, "Could not locate example64_9.dll. Please make sure it is in your library path!"),
        (COMPLAINT, "loader: example64_9.dll was not found. Please add its folder to PATH and let us know."),
        (CODE, "mypy: error: CUDA out of memory"),
        (CODE, "train.py:12: error: Module has no attribute 'cuda'  [attr-defined]"),
        (CODE, "src/a.py:3:1: E402 Module level import not at top of file"),
        (FAILURE, "a.cu:3:2: error: no member named 'x' in the device code"),
        (FAILURE, "train.py:12: UserWarning: no kernel image is available"),
        (PROSE, "With the new wheel I do not get 'CUDA out of memory' any more"),
        (COMPLAINT, "clinfo does not see my device any more"),
        (FAILURE, "/sbin/ldconfig.real: /usr/lib/example/libx.so.1 is not a symbolic link"),
        (COMPLAINT, "Loaded runtime library: 8.0.5 but source was compiled with: 8.1.0. If you use a package, replace that one."),
        (LOG, 'Since the change no container has shown "Failed to initialize: unknown error" again'),
        (PROSE, '"The device is not supported" had been my companion for a year'),
        (FAILURE, 'My container has shown "Failed to initialize: unknown error" again'),
        (CODE, "    HSA_STATUS_ERROR_INVALID_ISA = 0x100f,"),
        (PROSE, "Since the update it never freezes, no black screen, nothing is stuck."),
        (PROSE, "- pip no longer downgrades torch"),
        (LOG, "[   12.400] amdgpu 0000:03:00.0: amdgpu: SMU is initialized successfully!"),
        (LOG, "node1:77:77 [0] NCCL INFO NET/IB : No device found."),
        (LOG, "INFO 05-20 10:01:33 [worker.py:10] no errors while loading the model"),
        (SETTLED, "test_out_of_memory.py::test_error_is_raised PASSED"),
        (PROSE, "100 tests, 0 failed, 0 errors"),
        (LISTING, "  Max memory allocation                           4294959104 (4GiB)"),
        (LISTING, "| N/A   41C    P0             62W /  300W |"),
        (LISTING, "ii  nvidia-driver-570   570.86.15-0ubuntu1   amd64"),
        (LISTING, "CUDA_MODULE_LOADING set to: LAZY"),
        (LISTING, "torchvision==0.24.0"),
        (LISTING, "  --error-on-missing        fail where a device is missing"),
        (CODE, '    raise RuntimeError("CUDA error: device is lost")'),
        (CODE, '  File "/usr/lib/python3/dist-packages/torch/cuda/__init__.py", line 3, in init'),
        (CODE, "export CUDA_VISIBLE_DEVICES=0"),
        (CODE, "if (err != cudaSuccess) { fprintf(stderr, \"out of memory\"); }"),
        (COMMAND, "$ clinfo -l"),
        (COMMAND, "sudo apt install intel-opencl-icd"),
        (ADVICE, "If you see `RuntimeError: the device is lost`, install the driver."),
        (ADVICE, "When you see 'RuntimeError: the device is lost', reduce the batch size."),
        (ADVICE, "If it says 'Could not locate example64_9.dll', copy the file into the folder."),
        (FAILURE, "RuntimeError: the device is lost. If you see this, reduce the batch size."),
        (COMPLAINT, "When I run it I get `RuntimeError: the device is lost` each time."),
        (FAILURE, "When the model is loaded it says RuntimeError: the device is lost"),
        (FAILURE, "If you run it on two cards, it fails with RuntimeError: the device is lost"),
        (ADVICE, "This page explains `RuntimeError: the device is lost`."),
        (ADVICE, "Q: What does `RuntimeError: the device is lost` mean?"),
        (ADVICE, "The error `RuntimeError: the device is lost` occurs when the bus is full."),
        (FAILURE, "The error `RuntimeError: the device is lost` occurs on my machine"),
        (ADVICE, "Is there no kernel image for sm_120?"),
        (SETTLED, "* fix: RuntimeError: the device is lost (#42)"),
        (ADVICE, "a1b2c3d catch RuntimeError: the device is lost (#42)"),
        (FAILURE, "* RuntimeError: the device is lost"),
        (PROSE, "I used to see the error 'no kernel image', but 2.9 works."),
        (COMPLAINT, "I used to see an error, but now the machine hangs."),
        (COMPLAINT, "It used to work, now the device is not found."),
        (PROSE, "We no longer get `no kernel image is available`."),
        (COMPLAINT, "I no longer see my card in the list, it is not found."),
        (SETTLED, "libexample.so => not found   (fixed now by installing it)"),
        (COMPLAINT, "My Arc A770 is not detected, and I do not know why."),
        (COMPLAINT, "After the update clinfo shows no device any more, please help"),
        (COMPLAINT, "clinfo only says 0 platforms on my machine"),
        (PROSE, "Solved: after the reboot the card is detected again, thanks!"),
        (PROSE, "I have an Arc A770 and it trains my models."),
        (ADVICE, "If you get an out of memory error, reduce the batch size."),
        (ADVICE, "You may need to reinstall the driver when the device is not found."),
    ],
)  # fmt: skip
def test_role_of_a_line(wanted: str, text: str) -> None:
    assert role(text) == wanted


def test_the_first_line_says_what_a_report_is_about() -> None:
    assert Roles(lines_of("Only 13 it/s on an RTX 4090\nmore"))(0) == COMPLAINT
    assert Roles(lines_of("How do I install ROCm?\nmore"))(0) == PROSE


def test_neighbours_decide() -> None:
    removed = "diff --git a/x.py b/x.py\n@@ -1,2 +1,2 @@\n-raise ValueError('device is lost')\n-RuntimeError: device is lost"
    assert role(removed) == CODE
    assert role("```python\nx = load()  # fails with: device is lost\n") == LOG
    assert role("```python\nfails = load_with_error(x)") == CODE
    assert role('  File "a.py", line 1, in f\n    check(error)') == CODE
    assert role("$ ./run\nno devices found by the loader") == FAILURE


def test_sentences_in_the_block_of_a_cmake_error_belong_to_it() -> None:
    lines = lines_of("CMake Error at lib/CMakeLists.txt:3 (find_package):\n  By not providing a module\n\n  asked for a package.\nDone")
    assert [Roles(lines)(row) for row in (1, 3)] == [FAILURE, FAILURE]
    assert Roles(lines)(4) != FAILURE


def test_the_output_of_a_step_of_docker_build_is_output() -> None:
    assert role("#9 22.41 error: command 'gcc' failed with exit status 1") == FAILURE


def test_a_report_may_have_a_heading_as_its_title() -> None:
    """Its headings make it no manual."""
    lines = lines_of("# llama.cpp does not run on the GPU any more\n\n## Log\n\nserver: no usable GPU found\n\n## Version\n\n## System\n")
    assert Roles(lines)(4) == FAILURE
    manual = lines_of("# Troubleshooting: the GPU is not found\n\n## Log\n\nserver: no usable GPU found\n\n## Version\n\n## System\n")
    assert Roles(manual)(4) != FAILURE
    assert Roles(lines_of("# [Windows] The first run takes long on an Arc B580\nmore"))(0) == COMPLAINT


def roles(text: str) -> list[str]:
    lines = unquoted(lines_of(BEFORE + text))
    return [Roles(lines)(row) for row in range(2, len(lines))]


def test_what_a_program_says_in_a_quoted_block_is_a_failure() -> None:
    quoted = "> loading\n> The program was built for 2 devices\n> Build program log for device 0:\n> all registers used"
    assert roles(quoted)[1:3] == [FAILURE, FAILURE]


def test_a_person_who_speaks_below_the_output_of_a_command() -> None:
    assert roles("$ lister\nno devices found\nBut I can do it as root:") == [COMMAND, FAILURE, PROSE]


@pytest.mark.parametrize(
    "end",
    [
        "Solved.",
        "Solved: this was it",
        "a new riser solved it and it has run since",
        "It was my fault, a module was absent; works",
        "EDIT: solved, it was a setting of the board",
        "Update: fixed by a newer wheel\n\nThe board is an X570.",
    ],
)
def test_a_line_that_says_that_it_is_solved_settles_the_text(end: str) -> None:
    failed = "RuntimeError: CUDA error: no kernel image is available"
    assert FAILURE not in roles(f"{failed}\n\n{end}")
    assert FAILURE not in roles(f"{end}\n\n{failed}")
    assert FAILURE in roles(f"{failed}\n\n{end}\n\nI still get the error, it is not solved here.")
    assert FAILURE in roles(f"{failed}\n\nNothing solved it and it has failed since.")
    assert FAILURE in roles(f"{failed}\n\nSolved for others, but not for me")


def test_added_lines_of_a_patch_are_no_failures() -> None:
    head = "diff --git a/docs/a.md b/docs/a.md\nnew file mode 100644\n--- /dev/null\n+++ b/docs/a.md\n@@ -0,0 +1,2 @@\n"
    assert roles(f"{head}+ERROR: the loader fails\n+Error: no device")[-2:] == [CODE, CODE]
    assert roles("+## Troubleshooting\n+When the loader stops with\n+RuntimeError: the device is lost") == [CODE] * 3
    assert roles("+ RuntimeError: the device is lost") == [FAILURE]


def test_a_message_that_is_gone_settles_the_text() -> None:
    failed = 'Last week I saw "the device is not supported".\n'
    assert COMPLAINT in roles(failed)
    assert COMPLAINT not in roles(f"{failed}I moved to another wheel and the warning is gone.")
    assert COMPLAINT in roles(f"{failed}The warning is gone when a variable is set.")


def test_rocms_runtime_on_a_machine_without_a_card_is_no_trouble() -> None:
    failed = "Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources."
    wanted = lines_of(f"How rocminfo answers here\n\nI build packages on a server without any AMD card.\n{failed}")
    assert Roles(wanted)(len(wanted) - 1) == SETTLED
    assert role(failed) == FAILURE
