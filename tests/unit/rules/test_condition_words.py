from __future__ import annotations

import pytest

from gpudoctor.rules.condition_words import in_words
from gpudoctor.rules.conditions import parse

WINDOWS = {"fact": "platform.kind", "is": "windows"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (WINDOWS, "on Windows"),
        ({"any": [{"fact": "platform.kind", "unknown": True}, {"not": WINDOWS}]}, "not on Windows"),
        ({"fact": "platform.kind", "in": ["linux", "container"]}, "on Linux or in a container"),
        ({"fact": "os.id", "in": ["ubuntu", "debian", "pop"]}, "on Ubuntu, Debian or Pop!_OS"),
        (
            {"all": [{"fact": "os.id", "is": "arch"}, {"fact": "os.version", "at_least": "24.04"}]},
            "on Arch Linux and its version is 24.04 or newer",
        ),
        ({"fact": "gpu.vendors", "contains": "nvidia"}, "with an NVIDIA GPU"),
        ({"not": {"fact": "packages.manager", "is": "apt"}}, "not with apt"),
        ({"fact": "cuda.max", "older_than": "13"}, "highest CUDA version is older than 13"),
        ({"fact": "said.library", "is": "libze"}, "the library in the message is libze"),
        ({"fact": "python.rosetta", "is": True}, "rosetta of python: yes"),
        ({"any": [{"fact": "x.y", "unknown": True}]}, "y of x is not known"),
    ],
)
def test_a_condition_reads_as_a_person_would_say_it(written: dict[str, object], read: str) -> None:
    meanings = {"cuda.max": "highest CUDA version, as the driver says"}
    assert in_words(parse(written, "here", {}), lambda fact: meanings.get(fact, "")) == read
