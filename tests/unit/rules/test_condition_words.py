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
        (
            {"some": {"of": "opencl.all_platforms", "where": {"fact": "platform.ok", "is": False}}},
            "one of the all platforms of opencl: ok of platform: no",
        ),
        ({"not": {"all": [WINDOWS, {"fact": "os.id", "is": "arch"}]}}, "not (on Windows and on Arch Linux)"),
        ({"not": {"fact": "cuda.max", "older_than": "13"}}, "not (highest CUDA version is older than 13)"),
        ({"not": {"fact": "container.kind", "in": ["docker", "podman"]}}, "not in docker or podman"),
        ({"all": [{"any": [WINDOWS, WINDOWS]}, {"fact": "os.id", "is": "arch"}]}, "on Windows and on Arch Linux"),
        ({"all": [{"any": [WINDOWS, {"fact": "x.y", "is": 1}]}, {"fact": "a.b", "is": 2}]}, "(on Windows or y of x is 1) and b of a is 2"),
        ({"any": [{"all": [WINDOWS, {"fact": "x.y", "is": 1}]}, {"fact": "a.b", "is": 2}]}, "(on Windows and y of x is 1) or b of a is 2"),
        ({"any": [{"all": [WINDOWS, {"fact": "x.y", "is": 1}]}, {"fact": "a.b", "unknown": True}]}, "on Windows and y of x is 1"),
        ({"any": [WINDOWS, {"fact": "packages.manager", "is": "apt"}]}, "on Windows or with apt"),
        ({"any": [{"fact": "gpu.vendors", "contains": "amd"}, {"fact": "gpu.vendors", "contains": "x"}]}, "with an AMD GPU or x"),
        (
            {"any": [{"fact": "os.id_like", "is": "debian"}, {"fact": "os.id_like", "is": "odd"}]},
            "on a relative of Debian or a relative of odd",
        ),
        ({"fact": "gpu.vendors", "in": ["nvidia", "amd"]}, "with an NVIDIA GPU or an AMD GPU"),
        ({"fact": "x.y", "is_fact": "cuda.max"}, "y of x is highest CUDA version"),
        ({"fact": "os.id", "is": "a-new-one"}, "on a-new-one"),
        ({"fact": "platform.kind", "is": "a-new-one"}, "on a-new-one"),
        ({"fact": "text.stacks", "contains": "torch-xpu"}, "where the text speaks of torch-xpu"),
        ({"fact": "text.stacks", "in": ["ipex", "openvino"]}, "where the text speaks of ipex or where the text speaks of openvino"),
        ({"fact": "os.id_like", "in": ["debian", "odd"]}, "on a relative of Debian or a relative of odd"),
        (
            {"all": [{"not": {"all": [WINDOWS, {"fact": "x.y", "is": 1}]}}, {"fact": "a.b", "is": 2}]},
            "not (on Windows and y of x is 1) and b of a is 2",
        ),
        ({"fact": "os.id", "matches": "^a"}, "id of os matches /^a/"),
        ({"fact": "os.version", "at_least_fact": "torch.build"}, "its version is the build of torch or newer"),
        ({"fact": "a.b_c.d_e", "is": False}, "d e of a b c: no"),
        ({"fact": "a.b", "in": ["x", "y"]}, "b of a is one of x, y"),
        ({"fact": "alone", "present": True}, "alone is there"),
        ({"fact": "one.word", "known": True}, "word of one is known"),
        ({"fact": "very.long", "known": True}, "long of very is known"),
        ({"fact": "sixty.letters", "known": True}, f"a {'b' * 58} is known"),
    ],
)
def test_a_condition_reads_as_a_person_would_say_it(written: dict[str, object], read: str) -> None:
    meanings = {
        "cuda.max": "highest CUDA version, as the driver says", "one.word": "version; of it", "very.long": f"a {'b' * 59}",
        "sixty.letters": f"a {'b' * 58}: and more",
    }  # fmt: skip
    assert in_words(parse(written, "here", {"opencl.all_platforms": "platform"}), lambda fact: meanings.get(fact, "")) == read
