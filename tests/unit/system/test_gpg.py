"""Keys of repositories as an attacker would serve them: only what the pinned key itself has signed gets through."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpudoctor.setup import openpgp
from gpudoctor.system import gpg
from gpudoctor.system.gpg import KeyRefused, checked_key, key_for_apt

pytestmark = [
    pytest.mark.skipif(not all(map(shutil.which, ("gpg", "gpgv"))), reason="needs gpg and gpgv"),
    pytest.mark.starts_processes("gpg makes the keys and judges them"),
]
Gpg = Callable[..., bytes]


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="gd-gpg-", dir="/tmp"))  # the socket of its agent needs a short path
    yield folder
    subprocess.run(["gpgconf", "--homedir", str(folder), "--kill", "all"], check=False)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def run(home: Path) -> Gpg:
    def act(*words: str, stdin: bytes = b"") -> bytes:
        argv = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", *words]
        return subprocess.run(argv, input=stdin, capture_output=True, check=True).stdout

    return act


def make(run: Gpg, name: str, ends: str = "never", then: str = "") -> str:
    """The fingerprint of a new key. `then`: as if it were made at that time."""
    run(*(["--faked-system-time", then] if then else []), "--quick-generate-key", f"{name} <{name}@example.org>", "ed25519", "sign", ends)
    listed = run("--with-colons", "--list-keys", f"={name} <{name}@example.org>").decode()
    return next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr"))


def packets(data: bytes) -> list[bytes]:
    return [packet.raw for packet in openpgp._packets(data)]


def test_a_good_key_comes_through_as_it_is(run: Gpg) -> None:
    fingerprint = make(run, "good")
    found = checked_key(run("--armor", "--export", fingerprint), fingerprint)
    assert openpgp.primary_fingerprints(found) == (fingerprint,)
    assert packets(found) == packets(run("--export-options", "export-minimal", "--export", fingerprint))


def test_an_expired_and_a_revoked_key_are_refused(run: Gpg, home: Path) -> None:
    old = make(run, "old", "1d", "20200101T000000!")
    with pytest.raises(KeyRefused, match="has expired on 2020-01-02"):
        checked_key(run("--export", old), old)
    gone = make(run, "gone")
    revocation = (home / "openpgp-revocs.d" / f"{gone}.rev").read_text().replace(":-----BEGIN", "-----BEGIN")
    run("--import", stdin=revocation.encode())
    with pytest.raises(KeyRefused, match="revoked"):
        checked_key(run("--export", gone), gone)


def test_a_subkey_that_the_key_never_signed_is_left_out(run: Gpg) -> None:
    """With it, whoever made the subkey could sign the repository."""
    owner, thief = make(run, "owner"), make(run, "thief")
    run("--quick-add-key", thief, "ed25519", "sign", "never")
    key, stolen = packets(run("--export", owner)), packets(run("--export", thief))
    foreign = [packet for packet in stolen if (packet[0] & 0x3F if packet[0] & 0x40 else packet[0] >> 2 & 15) in (14, 2)]
    found = checked_key(b"".join([*key, *foreign]), owner)
    assert packets(found) == packets(run("--export-options", "export-minimal", "--export", owner))


def test_other_keys_user_attributes_and_odd_packets_are_left_out(run: Gpg) -> None:
    owner, other = make(run, "first"), make(run, "second")
    clean = run("--export-options", "export-minimal", "--export", owner)
    marker, attribute = b"\xca\x03PGP", b"\xd1\x05hello"
    for data in (clean + run("--export", other), clean + marker + attribute, run("--export", other) + clean):
        assert checked_key(data, owner) == clean


def test_a_key_without_its_own_signature_is_none(run: Gpg) -> None:
    owner = make(run, "bare")
    bare = packets(run("--export", owner))[:2]
    with pytest.raises(KeyRefused, match="no valid key"):
        checked_key(b"".join(bare), owner)
    with pytest.raises(KeyRefused):
        checked_key(b"garbage", owner)
    with pytest.raises(KeyRefused):
        checked_key(run("--export", owner), "A" * 40)


@pytest.fixture
def without_gpg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpg, "find_program", lambda name, path: None)


@pytest.mark.usefixtures("without_gpg")
def test_without_gpg_no_key_is_checked_for_rpm() -> None:
    with pytest.raises(KeyRefused) as refused:
        checked_key(b"", "A" * 40)
    assert "install GnuPG" in refused.value.advice


def verified(folder: Path, key: bytes, signature: bytes) -> bool:
    """As apt sees it: what gpgv says of a signature of the text 'hello' with this keyring."""
    for name, data in (("key.gpg", key), ("signature", signature), ("text", b"hello")):
        (folder / name).write_bytes(data)
    argv = ["gpgv", "--status-fd", "1", "--keyring", str(folder / "key.gpg"), str(folder / "signature"), str(folder / "text")]
    return "[GNUPG:] GOODSIG " in subprocess.run(argv, capture_output=True, text=True).stdout


@pytest.mark.usefixtures("without_gpg")
def test_what_apt_trusts_without_gpg_is_what_the_key_has_signed(run: Gpg, tmp_path: Path) -> None:
    """The reason why a key for apt may stay unchecked on a minimal system: apt's own verifier, gpgv, refuses the same keys."""
    owner, thief = make(run, "minimal"), make(run, "robber")
    run("--quick-add-key", thief, "ed25519", "sign", "never")
    listed = run("--with-colons", "--list-keys", thief).decode().splitlines()
    subkey = [line.split(":")[9] for line in listed if line.startswith("fpr")][1]
    stolen = packets(run("--export", thief))
    foreign = [packet for packet in stolen if (packet[0] & 0x3F if packet[0] & 0x40 else packet[0] >> 2 & 15) in (14, 2)]
    key = key_for_apt(b"".join([*packets(run("--export", owner)), *foreign]), owner)
    assert verified(tmp_path, key, run("-u", f"{owner}!", "--detach-sign", stdin=b"hello"))
    assert not verified(tmp_path, key, run("-u", f"{subkey}!", "--detach-sign", stdin=b"hello"))
    old = make(run, "aged", "1d", "20200101T000000!")
    signature = run("--faked-system-time", "20200101T010000!", "-u", f"{old}!", "--detach-sign", stdin=b"hello")
    assert not verified(tmp_path, key_for_apt(run("--export", old), old), signature)
