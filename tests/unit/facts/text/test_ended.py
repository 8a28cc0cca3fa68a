"""Troubles that are over, that only somebody else has, or that a test or a manual shows."""

from __future__ import annotations

import pytest
from pasted_text import read

from gpudoctor.facts.text.cleaning import lines_of, unquoted
from gpudoctor.facts.text.roles import Roles
from gpudoctor.model.signature import TROUBLE

NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
NO_HIP = "RuntimeError: No HIP GPUs are available"


def troubles(text: str) -> list[str]:
    """The lines that tell of a trouble."""
    lines = unquoted(lines_of(text))
    roles = Roles(lines)
    return [line.text.strip() for row, line in enumerate(lines) if roles(row) in TROUBLE]


@pytest.mark.parametrize(
    "text",
    [
        f"> {NO_HIP}\n\nI do not see this on my machine, everything works with the same versions.",
        f"> My card is not found.\n> {NO_KERNEL}\n> and then it ends\n\nCannot reproduce here with an RTX 3090.",
        f"> {NO_HIP}\n\nHi, it works fine for me with ROCm 6.2. Which kernel do you have?",
    ],
)
def test_a_quote_that_the_answer_denies_is_nobodys_trouble(text: str) -> None:
    assert troubles(text) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"> {NO_HIP}\n\nSame here with the other card.", NO_HIP),
        (f"> {NO_HIP}\n\nI do not get this error, but with the new wheel I see:\n\n{NO_KERNEL}", NO_KERNEL),
        (f"The job ends with\n\n> {NO_HIP}\n\nWhat can I do?", NO_HIP),
        (f"> join the group\n\nWorks for me in torch 2.5, but with 2.6 I get {NO_HIP}", NO_HIP),
        (f"> works for me\n\nI still have it:\n{NO_HIP}", NO_HIP),
    ],
)
def test_a_quote_of_ones_own_or_a_shared_trouble_counts(text: str, told: str) -> None:
    assert any(told in line for line in troubles(text))


@pytest.mark.parametrize(
    "text",
    [
        f'$ pytest tests\ntests/test_e.py::test_a PASSED\nE   expected message: "{NO_HIP}"\n==== 12 passed, 1 xfailed ====',
        f"===== test session starts =====\ntests/test_e.py .x.\n\nE   {NO_KERNEL}\n\n===== 40 passed, 1 xfailed in 9.10s =====",
        f'    assert "{NO_KERNEL}" in str(err.value)',
    ],
)
def test_messages_of_tests_that_passed_are_none(text: str) -> None:
    assert troubles(text) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"$ pytest\ntests/test_e.py::test_a FAILED\nE   {NO_HIP}\n==== 12 passed, 1 failed in 3.2s ====", NO_HIP),
        (f"{NO_HIP}\n\n$ pytest\n3 passed in 0.1s", NO_HIP),
        (
            f"$ pytest\n.. \n=== warnings summary ===\n  /a/torch/cuda.py:12: UserWarning: {NO_KERNEL}\n=== 2 passed, 1 warning in 1s ===",
            NO_KERNEL,
        ),
    ],
)
def test_a_test_that_failed_and_the_warnings_of_one_that_passed_count(text: str, told: str) -> None:
    assert any(told in line for line in troubles(text))


@pytest.mark.parametrize(
    "text",
    [
        "Feature request: please document what '[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout' means",
        "[Feature request] Document in the manual what 'XPU device count is zero!' means",
        'The message `level=WARN msg="unable to locate gpu dependency libraries"` should be logged at the info level.',
        "The message `[TRT] [E] 6: The engine plan file is not compatible` could link to the manual.",
        'How to use the node\n\n### What does "nvidia-smi hangs in state D" mean?\n\nThe card is gone.',
        "Please document |CCL_ERROR| and [CL_BUILD_ERROR] in the list of codes.",
        "Please explain what '[gpu] *ERROR* ring sdma0 timeout' means in the manual.",
    ],
)
def test_a_wish_or_a_question_of_a_manual_quotes_messages(text: str) -> None:
    assert troubles(text) == []


@pytest.mark.parametrize(
    "text",
    [
        '## My comfyui freezes with "HIP error: invalid device function"',
        "I get the message `[TRT] [E] 6: The engine plan file is not compatible` each time.",
        "The message `[TRT] [E] 6: The engine plan file is not compatible` should not come, I built it here.",
        "2026:01:01-10:00:00:( 12) |CCL_ERROR| atl_ofi.cpp:12 fi_getinfo failed",
        "## Why does my card hang with [drm] *ERROR* ring timeout?",
    ],
)
def test_a_complaint_of_ones_own_stays_one(text: str) -> None:
    assert troubles(text)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (f"How to set up a node\n\nIf you see the message\n\n    {NO_HIP}\n\njoin the group render.", False),
        (f"How to set up a node\n\n2. When you get\n\n```\n{NO_KERNEL}\n```\n\nthe wheel is for other cards.", False),
        (f"How to set up a node\n\nIn case the program prints:\n\n    {NO_HIP}\n\njoin the group render.", False),
        (f"How to set up a node\n\nI see the message\n\n    {NO_HIP}\n\nWhat is to be done?", True),
        (f"How to set up a node\n\nIf I run it I see\n\n    {NO_HIP}\n", True),
        (f"How to set up a node\n\nWhen you run the example, you get\n\n    {NO_HIP}\n", True),
        (f"How to set up a node\n\nIf you see the message\n\n    {NO_HIP}\n\njoin render. I did:\n\n    {NO_HIP}\n", True),
    ],
)
def test_a_block_below_if_you_see_the_message_is_an_example(text: str, counts: bool) -> None:
    assert bool(troubles(text)) is counts


@pytest.mark.parametrize(
    "end",
    [
        "Update: solved, it works now. It was the riser.", "EDIT: fixed by joining the group render.",
        "Update: it works now after a reboot.",
        "UPDATE 2: Fixed! Had to join the group render.", "edit: everything is fixed",
    ],
)  # fmt: skip
def test_an_update_at_the_end_quietens_what_is_above(end: str) -> None:
    log = "[   12.345678] NVRM: Xid (PCI:0000:01:00): 79, pid=12, GPU has fallen off the bus."
    assert troubles(f"{NO_HIP}\n{log}\n\n{end}") == []
    assert not read(f"{log}\n\n{end}").value("kernel.log")
    assert read(f"{log}\n\nWhat is this?").value("kernel.log")


@pytest.mark.parametrize(
    "end",
    [
        f"Update: solved, it works now.\n\nTraceback (most recent call last):\n{NO_KERNEL}",
        "Update: it works on the CPU only.",
        "Update: fixed it, but the same error comes again.",
    ],
)
def test_an_update_above_a_log_that_goes_on_to_fail_quietens_nothing(end: str) -> None:
    assert NO_HIP in troubles(f"{NO_HIP}\n\n{end}")


@pytest.mark.parametrize(
    "text",
    [
        "Display driver nvlddmkm stopped responding and has successfully recovered.",
        "Event ID 4101, Display driver nvlddmkm stopped responding and has successfully recovered. RTX 3060, Windows 11",
        "Event 4101: Display driver amdwddmg stopped responding and has successfully recovered.",
        " trying to overwrite '/lib/udev/rules.d/71-nvidia.rules', which is also in package nvidia-kernel-common-535 535.161.07-0ubuntu1",
    ],
)
def test_messages_of_failures_that_sound_like_prose_or_a_cure_count(text: str) -> None:
    assert text.strip() in troubles(f"Log of the workstation\n\n{text}")


@pytest.mark.parametrize(
    "text",
    [
        f"{NO_KERNEL}\nI triggered this on purpose, the alarm works.",
        "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!\nWe injected the fault to test our monitoring.",
    ],
)
def test_a_failure_that_was_made_for_a_test_is_none(text: str) -> None:
    assert troubles(text) == []


def test_a_failure_that_somebody_can_repeat_counts() -> None:
    assert troubles(f"{NO_KERNEL}\nI triggered this by running train.py twice.")[:1] == [NO_KERNEL]


@pytest.mark.parametrize(
    "end",
    [
        "Update: a wheel of another index fixed it.", "After joining the group it works.", "Reseating the card did the trick.",
        "Turned out that the riser was bad; a new one solved the problem.",
        "Installing it from conda-forge instead of pip solved this for me.",
    ],
)  # fmt: skip
def test_a_cure_told_below_ends_even_a_short_report(end: str) -> None:
    assert troubles(f"{NO_HIP}\n{end}") == []


@pytest.mark.parametrize(
    "end",
    [
        "What fixed it for you?", "Nothing fixed it.", "A restart fixed it for a day.", "With torch 2.4 it works.",
        f"After the update it works, then:\n{NO_KERNEL}", "I solved the other problem.\nHow do I get rid of this one?",
        "I was told that the update fixed it, but not here.", "After a reboot it works on Windows, here it does not.",
    ],
)  # fmt: skip
def test_what_only_sounds_like_a_cure_ends_nothing(end: str) -> None:
    assert NO_HIP in troubles(f"{NO_HIP}\n{end}")


@pytest.mark.parametrize(
    "line",
    [
        "Closing this as fixed: it runs with the new kernel.",
        "I'm closing it, no longer seen with the next release.",
        "Ok, closing. The driver of last week solved it.",
        "We don't have this problem ourselves, a customer asked what it means.",
        "It's not that I have this error; the list of messages is to become a page.",
        "My own laptop is fine.",
    ],
)
def test_a_text_that_is_closed_or_of_somebody_else_reports_no_trouble(line: str) -> None:
    assert troubles(f"{NO_HIP}\n\n{line}") == []


@pytest.mark.parametrize(
    "line",
    [
        "Closing this did not solve it.",
        "The last one was closed, but it is not fixed.",
        "Who can say how it was fixed in the issue that was closed?",
        "My own laptop is fine, but the server is not.",
        "We don't have this problem ourselves on Windows.",
    ],
)
def test_a_text_that_stays_open_keeps_its_trouble(line: str) -> None:
    assert NO_HIP in troubles(f"{NO_HIP}\n\n{line}")


def test_a_script_that_looks_for_a_message_does_not_report_it() -> None:
    assert troubles(f"if ! grep -q '{NO_HIP}' run.log; then echo fine; fi") == []
    assert troubles(f"if dmesg | grep -q '{NO_KERNEL}'; then exit 3; fi") == []


def test_the_message_of_a_commit_reports_nothing_and_what_follows_does() -> None:
    log = f"commit 0a1b2c3d4e\nAuthor: A B <a@example.org>\nDate:   Mon Mar 2\n\n    Explain the message\n\n    {NO_HIP}\n"
    assert troubles(log) == []
    assert troubles(f"{log}\nWith it I get:\n{NO_KERNEL}")[-1] == NO_KERNEL


def test_a_known_issue_is_of_users_in_general() -> None:
    assert troubles(f"On some systems users may observe: {NO_HIP}") == []
