"""A line that says that a trouble is over, whatever message it quotes; and lines that sound so and do not."""

from __future__ import annotations

import pytest

from gpudoctor.facts.text.cleaning import lines_of
from gpudoctor.facts.text.roles import Roles
from gpudoctor.facts.text.settled import is_settled
from gpudoctor.model.signature import ADVICE, SETTLED, TROUBLE


@pytest.mark.parametrize(
    "line",
    [
        'I used to get "RuntimeError: CUDA error: no kernel image is available" but after updating torch it works.',
        "We used to get 'clGetPlatformIDs returned -1001' on every node, after updating to 26.1 it works.",
        "With 2.9 I was getting “MPS backend out of memory”, since 2.10 everything runs.",
        'I had "AssertionError: Torch not compiled with CUDA enabled" yesterday. Reinstalled from the other index. Works.',
        "Had the same `hipErrorInvalidDeviceFunction`, the wheel of the newer index helped.",
        'Turns out "Could not load library libcudnn_ops.so.9" came from an old variable; after unsetting it everything is fine.',
        "Previously this ended in 'ImportError: libcudart.so.11.0: cannot open shared object file'; since the move to conda it imports.",
        'Setting the override solved the "Unable to find code object for all current devices" error for me.',
        "A wheel of the night solved the error no kernel image for me on my RTX 5070.",
        'Upgrading the driver got rid of "driver version is insufficient" on our cluster.',
        'Adding --ipc=host made the "killed by signal: Bus error. It is possible that workers are out of shared memory" error disappear.',
        'The "No XPU devices are available" message went away once I was in the group render.',
        'Great tip, that fixed my "compiled using NumPy 1.x cannot be run" problem.',
    ],
)
def test_a_message_that_somebody_no_longer_gets_is_no_trouble(line: str) -> None:
    assert is_settled(line)
    lines = lines_of("Notes of a week\n\n" + line)
    assert Roles(lines)(2) == SETTLED


@pytest.mark.parametrize(
    "line",
    [
        'I used to get 30 it/s, after updating to 26.1 it works at 5 it/s and "falling back to the CPU" is shown.',
        'I used to get "out of memory" rarely, now I get it in every run.',
        'Nothing solved the "no kernel image is available" error.',
        'Which driver solved the "no kernel image is available" error for you?',
        'Reinstalling solved the "version is insufficient" error, but the next one is "out of memory".',
        'I had "Torch not compiled with CUDA enabled". It works on Windows.',
        'I had "no kernel image is available". On the CPU it works, on the card it does not.',
        'It was said that the update solved the "invalid device function" error.',
        'That fixed the "libcudnn.so.8: cannot open" error for a day.',
        'Restarting made the "Xid 79" message disappear, it comes back after an hour.',
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        "[  812.4] amdgpu 0000:03:00.0: ring gfx_0 timeout, but soft recovered",
        "The service failed, systemd started it again: exit code 139",
        'I had "DataLoader worker exited unexpectedly" twice, then it worked but slower.',
    ],
)
def test_a_trouble_that_only_sounds_over_is_one(line: str) -> None:
    assert not is_settled(line)


@pytest.mark.parametrize(
    "line",
    [
        'Fix crash "torch.OutOfMemoryError: CUDA out of memory" when the finder starts too high',
        "- Fix crash RuntimeError: Expected all tensors to be on the same device, but found at least two devices",
        "* Avoid a rare deadlock `NCCL WARN Timeout waiting for connection`",
        "3. Fixes `cudaErrorIllegalAddress` with long sequences",
        "Handle XPUOutOfMemoryError: XPU out of memory in the trainer",
    ],
)
def test_a_line_of_a_changelog_is_no_trouble(line: str) -> None:
    lines = lines_of("0.9.3\n\n" + line)
    assert Roles(lines)(2) == ADVICE


def test_what_only_sounds_like_a_changelog_is_one_of_the_troubles() -> None:
    for line in ("Fixed-size buffer is too small: out of memory", "Fix it please, the run dies with CUDA error: out of memory"):
        lines = lines_of("Notes\n\n" + line)
        assert Roles(lines)(2) in TROUBLE


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: No HIP GPUs are available. Fixed by joining the group render.",
        "NCCL WARN Call to connect failed, solved after opening the ports",
        "On 6.1 this used to die with hipErrorNoBinaryForGpu",
        "Release notes: an illegal memory access was encountered in scatter",
        "~~nvcc fatal : Unsupported gpu architecture~~ done",
        "CUDA failure 700: an illegal memory access was encountered; seen in 1.18 and is fixed in 1.20, closing.",
        "ring gfx_0 timeout, no longer seen",
    ],
)
def test_a_remark_behind_a_message_settles_it(line: str) -> None:
    assert is_settled(line)


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: No HIP GPUs are available. Not fixed by joining the group render.",
        "RuntimeError: No HIP GPUs are available (said to be fixed by 6.2)",
        "The first error was fixed by reinstalling. Now: RuntimeError: No HIP GPUs are available",
        "NCCL WARN Call to connect failed, solved by a restart but it comes again",
        "RuntimeError: the size is not fixed by the model",
        "This used to run in 5 s, now it hangs",
        "CUDA error: out of memory, fixed in 2.9",
    ],
)
def test_a_remark_that_leaves_the_trouble_settles_nothing(line: str) -> None:
    assert not is_settled(line)
