"""Names and secrets in disguise, and how long looking takes: every text is read in linear time."""

from __future__ import annotations

import time

import pytest

from gpudoctor.model.deadline import Deadline
from gpudoctor.privacy.redactor import Redactor
from gpudoctor.privacy.unknown_words import is_random
from gpudoctor.privacy.visible_text import clean, decoded, folded
from gpudoctor.system.system_names import Names

NAMES = Names(users=("carol", "Carol Nußbaum"), hosts=("nautilus",), domains=("zebrafish.lan",))
TOKEN = "ghp_u8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL8d"


@pytest.fixture
def hide() -> Redactor:
    return Redactor(NAMES)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("owner ca\x1b[01;34mrol\x1b[0m here", "owner user-1 here"),
        ("owner ca\u200brol, ca\u00adrol", "owner user-1, user-1"),
        ("owner \uff43\uff41\uff52\uff4f\uff4c", "owner user-1"),
        ("CAROL NUSSBAUM and Nußbaum", "user-1 and user-1"),
        ("path=%2Fhome%2Fdpetrov%2Fx", "path=/home/user-1/x"),
        ("mail dmitri.petrov%40zebrafish-labs.de", "mail <email>"),
        ("access_token%3D" + TOKEN, "access_token=<secret>"),
        ("\\u0063arol", "user-1"),
        ("carol&#64;nautilus", "user-1@host-1"),
        ("<carol@nautilus> joined", "<user-1@host-1> joined"),
        ('{"carol": "x"}', '{"user-1": "x"}'),
    ],
)
def test_disguised(hide: Redactor, before: str, after: str) -> None:
    assert hide.text(before) == after
    assert hide.text(after) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("worker 203.17.45.67 died", "worker 192.0.2.1 died"),
        ("cuDNN 8.9.2.26 and driver 31.0.15.3623", "cuDNN 8.9.2.26 and driver 31.0.15.3623"),
        ("bound 127.0.0.1:80", "bound 127.0.0.1:80"),
        ("tcp://[2a02:8071:abcd:1201::9]:29500", "tcp://[2001:db8::1]:29500"),
        ("0000:03:00.0 and std::terminate at 12:30:45", "0000:03:00.0 and std::terminate at 12:30:45"),
        ("mac 3c7c.3f12.3457", "mac 02:00:00:00:00:01"),
        ("port guid 0x506b4b0300a1b2c3", "port guid 0xserial-1"),
        ("gpu17.hpc.zebrafish-labs.de reached", "host-1 reached"),
        ("torch.utils.data, numpy.core.multiarray, setup.py, libfoo.so", "torch.utils.data, numpy.core.multiarray, setup.py, libfoo.so"),
        ("/nethome/dpetrov/x /afs/cern.ch/user/d/dpetrov/x ~dpetrov/x", "/nethome/user-1/x /afs/cern.ch/user/d/user-1/x ~user-1/x"),
        ("https://conda.anaconda.org/t/ab-1234/linux-64", "https://conda.anaconda.org/t/<secret>/linux-64"),
        ("sudo:   dpetrov : TTY=pts/0", "sudo:   user-1 : TTY=pts/0"),
        ('password="two words mL7f"', 'password="<secret>"'),
        ("Authorization: ApiKey V26XkHbwXT", "Authorization: ApiKey <secret>"),
        ("max_new_tokens=512 pad_token=[PAD]", "max_new_tokens=512 pad_token=[PAD]"),
    ],
)
def test_by_structure(hide: Redactor, before: str, after: str) -> None:
    assert hide.text(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("i915 0000:03:00.0: [drm] GuC firmware i915/dg2_guc_70.bin version 70.20.0", None),
        ("RuntimeError: CUDA error: no kernel image is available for execution on the device", None),
        ("ImportError: libcudart.so.12: cannot open shared object file", None),
        ("NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.", None),
        ("quokka-train on wombatnas failed", "name1-train on name2 failed"),
        ("serial H4ZN700123, key 5f3Kq9ZxT1", "serial serial-1, key name1"),
    ],
)
def test_where_the_type_is_not_known_only_known_words_stay(hide: Redactor, before: str, after: str | None) -> None:
    assert hide.free(before) == (after or before)
    assert hide.free(after or before) == (after or before)


def test_normal_forms() -> None:
    assert clean("a\x1b]0;title\x07b\x00c\td\r\n") == "ab\x00c\td\r\n"
    assert decoded("100% \\u0041 &amp;") == "100% A &"
    assert folded("İbrahim") == folded("ibrahim") and folded("Zoe\u0308") == folded("zoë")
    assert is_random("mL7fLltLwDwXSBU3") and not is_random("CUDA_VISIBLE") and not is_random("ProcessGroupNCCL")


def test_a_key_that_is_cut_off_takes_nothing_else_with_it(hide: Redactor) -> None:
    text = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234567890abcdef\nCUDA error\n"
    assert hide.text(text) == "<secret>\nCUDA error\n"


HOSTILE = {
    "colons": "a:", "dots": "a.b", "fields": "token='", "at": "a@", "slashes": "/a", "dashes": "a-", "quotes": "password='",
    "percent": "%41",
    "escapes": "\x1b[31m", "spaces": " ", "letters": "a", "digits": "1", "keys": "-----BEGIN PRIVATE KEY-----\n", "addresses": "http://",
    "underscores": "_", "headers": "authorization: ", "curl": "curl x ", "people": "/users/x", "tags": "<a>", "lists": '["a",',
    "backslashes": "\\",
    "homes": "~a/", "hexadecimal": "ab:cd:", "login": "docker login ", "versions": "1.2.3.4 ", "disks": "nvme-a_", "mounts": "a:/ /b c d\n",
    "wide": "\u200b\uff41", "machines": "i-0abc1234 ", "brackets": "[", "unfinished": "\x1b]0;",
}  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("free", [False, True], ids=["typed", "free"])
def test_time_grows_with_the_text_and_no_faster(hide: Redactor, piece: str, free: bool) -> None:
    def seconds(length: int) -> float:
        text = (piece * (length // len(piece) + 1))[:length]
        began = time.process_time()
        Redactor(NAMES).text(text, free)
        return time.process_time() - began

    hide.free("the vocabulary is loaded once")
    small, large = seconds(20_000), seconds(80_000)
    assert large < 12 * small + 0.1  # four times the text
    assert large < 1.2


def test_what_was_not_read_in_time_is_left_out() -> None:
    hide = Redactor(NAMES, deadline=Deadline(0.0))
    assert hide.text("carol was here\n/home/carol") == "<not read>\n<not read>" and hide.counts == {"unread": 2}
    assert "carol" not in str(hide.value({"note": "carol", "more": ["carol"]}))
    unhurried = Redactor(NAMES, deadline=Deadline(60.0))
    assert unhurried.text("carol was here") == "user-1 was here" and "unread" not in unhurried.counts


def test_a_log_is_read_at_a_megabyte_a_second(hide: Redactor) -> None:
    """On the slowest machine of the tests; a factor of three is allowed for its neighbours."""
    line = "[{0:5d}.{1:06d}] nvidia 0000:01:00.0: Loading NVIDIA UNIX x86_64 Kernel Module 570.124.06, allocated {1} bytes\n"
    log = "".join(line.format(number, number * 7) for number in range(9_000))
    hide.free("the vocabulary is loaded once")
    began = time.process_time()
    hide.free(log)
    assert time.process_time() - began < 3 * len(log) / 1_000_000
