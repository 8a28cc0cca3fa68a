"""Fingerprints of OpenPGP keys: keys made by hand, by gpg, and by somebody hostile."""

from __future__ import annotations

import base64
import hashlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.setup.openpgp import KeyUnreadable, WrongKey, armored, dearmored, normal, pinned_key, primary_fingerprints

BODY = bytes([4]) + bytes(4) + bytes([22]) + bytes.fromhex("092b06010401da470f01") + bytes([1, 7, 0x40]) + bytes(range(32))
FINGERPRINT = hashlib.sha1(b"\x99" + len(BODY).to_bytes(2, "big") + BODY).hexdigest().upper()


def old(tag: int, body: bytes, kind: int = 1) -> bytes:
    return bytes([0x80 | tag << 2 | kind]) + len(body).to_bytes(1 << kind, "big") + body


def new(tag: int, body: bytes, size: int = 1) -> bytes:
    many = len(body)
    length = {1: [many], 2: [(many - 192 >> 8) + 192, many - 192 & 0xFF], 5: [255, *many.to_bytes(4, "big")]}[size]
    return bytes([0xC0 | tag, *length]) + body


def armor(data: bytes, checksum: bytes = b"") -> bytes:
    begin, end = (b"-----%s PGP PUBLIC KEY BLOCK-----\n" % word for word in (b"BEGIN", b"END"))
    return begin + b"Comment: x\n\n" + base64.encodebytes(data) + checksum + end


@pytest.mark.parametrize("first", [old(6, BODY, 0), old(6, BODY, 1), old(6, BODY, 2), new(6, BODY), new(6, BODY, 5)])
def test_every_kind_of_packet_header(first):
    key = first + new(13, b"somebody")
    assert primary_fingerprints(key) == (FINGERPRINT,)
    assert primary_fingerprints(armor(key)) == (FINGERPRINT,)


def test_lengths_of_two_octets():
    body = bytes([4]) + bytes(4) + bytes([1]) + bytes(300)
    assert primary_fingerprints(new(6, body, 2)) == (hashlib.sha1(b"\x99\x01\x32" + body).hexdigest().upper(),)


def test_version_6_is_a_longer_digest():
    body = bytes([6]) + bytes(4) + bytes([27]) + (32).to_bytes(4, "big") + bytes(range(32))
    expected = hashlib.sha256(b"\x9b" + len(body).to_bytes(4, "big") + body).hexdigest().upper()
    assert len(expected) == 64 and primary_fingerprints(new(6, body)) == (expected,)
    assert pinned_key(new(6, body), expected.lower()) == new(6, body)


def test_only_the_pinned_key_of_several_is_kept():
    stranger = new(6, BODY[:-1] + b"\xff") + new(13, b"stranger") + new(14, BODY)
    ours = new(6, BODY) + new(13, b"ours") + new(2, b"signature")
    assert pinned_key(stranger + ours, FINGERPRINT) == ours
    assert pinned_key(armor(ours) + armor(stranger), f"0x{FINGERPRINT.lower()}") == ours


def test_another_key_is_refused_with_both_fingerprints():
    with pytest.raises(WrongKey) as refused:
        pinned_key(new(6, BODY), "AB" * 20)
    assert refused.value.found == (FINGERPRINT,)
    assert "expected the key ABAB ABAB" in str(refused.value) and FINGERPRINT[:4] in str(refused.value)


def test_a_subkey_is_never_taken_for_the_primary_key():
    with pytest.raises(WrongKey):
        pinned_key(new(6, BODY[:-1] + b"\xff") + new(14, BODY), FINGERPRINT)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no OpenPGP public key"),
        (b"<html>not found</html>", "it begins with '<html>"),
        (new(6, BODY)[:-5], "cut off"),
        (old(6, BODY)[:2], "cut off"),
        (armor(new(6, BODY))[:-20], "has no end"),
        (armor(new(6, BODY)).replace(b"g", b"!", 1), "base64"),
        (armor(new(6, BODY), b"=AAAA\n"), "checksum"),
        (bytes([0x80 | 6 << 2 | 3]) + BODY, "without a length"),
        (bytes([0xC6, 0xE1]) + BODY, "in parts"),
        (new(5, BODY), "secret key"),
        (new(6, BODY) + new(8, b"x"), "compressed"),
        (new(6, bytes([3]) + BODY[1:]), "version 3"),
        (new(6, bytes([4, 0])), "damaged"),
        (new(13, b"nobody"), "no public key in it"),
        (new(6, BODY) + b"\x00", "no OpenPGP packet at byte"),
        (new(13, b"") * 30_000, "too many packets"),
        (b"\xc6\xff\xff\xff\xff\xff" + BODY, "cut off"),
        (bytes(5_000_000), "too many for a key"),
    ],
)
def test_what_is_no_key_says_so(data, reason):
    with pytest.raises(KeyUnreadable, match=reason):
        primary_fingerprints(data)


def test_a_pin_that_is_no_fingerprint_is_refused():
    with pytest.raises(KeyUnreadable, match="is no fingerprint"):
        pinned_key(new(6, BODY), FINGERPRINT[-16:])
    assert normal("0xab cd:ef") == "ABCDEF"


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_hostile_bytes_never_do_more_than_be_refused(data, armored):
    for prefix in (b"", new(6, BODY), b"\xc6", b"\x99"):
        try:
            found = primary_fingerprints(armor(prefix + data) if armored else prefix + data)
        except KeyUnreadable:
            continue
        assert all(len(one) in (40, 64) for one in found)


@pytest.mark.starts_processes("gpg says which fingerprint a key has")
@pytest.mark.parametrize("kind", ["rsa3072", "ed25519"])
def test_a_key_of_gpg_has_the_fingerprint_that_gpg_says(tmp_path: Path, kind: str):
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)

    def gpg(*words: str) -> bytes:
        return subprocess.run(["gpg", "--homedir", str(home), "--batch", *words], capture_output=True, check=True, timeout=120).stdout

    gpg("--pinentry-mode", "loopback", "--passphrase", "", "--quick-generate-key", "A <a@example.org>", kind, "default", "never")
    said = next(line.split(":")[9] for line in gpg("--with-colons", "--list-keys").decode().splitlines() if line.startswith("fpr"))
    binary, text = gpg("--export"), gpg("--armor", "--export")
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)
    assert primary_fingerprints(binary) == primary_fingerprints(text) == (said,)
    assert dearmored(text) == binary == pinned_key(text, said)
    assert dearmored(armored(binary)) == binary
    assert armored(binary).split() == text.split()
