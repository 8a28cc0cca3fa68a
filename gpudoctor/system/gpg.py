"""Checks public keys with the GnuPG of this system, in a temporary home folder and without any network."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Sequence

from gpudoctor.system.local_host import find_program
from gpudoctor.system.sudo import PATH

_LIMIT = 30.0
_LARGEST = 8_000_000


class KeyRefused(ValueError):
    """Raised with the reason for a key that must not be trusted, or that cannot be checked here; `advice` says what to do."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.advice = advice


def checked_key(data: bytes, fingerprint: str) -> bytes:
    """The packets of the one key with this primary fingerprint, as GnuPG exports them: with what the key itself has signed, and nothing
    else.

    Names and subkeys without a valid signature of the key, other keys and foreign packets are left out. Raises KeyRefused, also for a key
    that is expired, revoked or cannot sign.
    """
    program = find_program("gpg", PATH)
    if program is None:
        raise KeyRefused("the key cannot be checked, because gpg is not installed", "install GnuPG (package gnupg or gnupg2), then retry")
    with tempfile.TemporaryDirectory(prefix="gpudoctor-gpg-") as home:
        given, clean = os.path.join(home, "given"), os.path.join(home, "clean")
        with open(given, "wb") as file:
            file.write(data)
        _gpg(program, home, ["--import-options", "import-clean", "--import", given])
        _refuse_unusable(_gpg(program, home, ["--with-colons", "--fixed-list-mode", "--list-keys"]), fingerprint)
        filters = ["--export-options", "export-clean,export-minimal", "--export-filter", "drop-subkey=expired -t || revoked -t"]
        _gpg(program, home, [*filters, "--output", clean, "--export", fingerprint])
        try:
            with open(clean, "rb") as file:
                return file.read(_LARGEST)
        except OSError:
            raise KeyRefused("gpg found no valid key in it", _ASK) from None


def key_for_apt(data: bytes, fingerprint: str) -> bytes:
    """The packets of the pinned key in `data` for a keyring that only apt reads: checked as by `checked_key`, or unchanged without gpg.

    A minimal Debian or Ubuntu has no gpg. What apt checks signatures with (gpgv or sqv, which apt depends on) accepts neither a subkey that
    the key has not signed nor a key that is expired or revoked, so that the pinned key is safe there, whatever its other packets hold.
    """
    return data if find_program("gpg", PATH) is None else checked_key(data, fingerprint)


_ASK = "ask the vendor for its present key, and look for a newer gpudoctor"


def _gpg(program: str, home: str, words: Sequence[str]) -> str:
    from gpudoctor.system.processes import execute

    common = ["--homedir", home, "--no-options", "--no-autostart", "--no-permission-warning", "--batch", "--no-tty"]
    common += ["--trust-model", "always"]
    environment = {"PATH": PATH, "LC_ALL": "C", "HOME": home, "GNUPGHOME": home}
    return execute([program, *common, *words], program, timeout=_LIMIT, limit=_LARGEST, env=environment, niced=False).stdout


def _refuse_unusable(listing: str, fingerprint: str) -> None:
    """Raises KeyRefused for an expired, revoked or unusable key, by the colon records of gpg (doc/DETAILS of GnuPG): field 2 is the
    validity, 7 the date of expiry, 12 the capabilities, of which capital letters stand for the whole key."""
    key: list[str] | None = None
    pub: list[str] = []
    for line in listing.splitlines():
        fields = line.split(":")
        if fields[0] == "pub":
            pub = fields
        elif fields[0] == "fpr" and pub and len(fields) > 9 and fields[9].upper() == fingerprint.upper():
            key, pub = pub, []
        elif fields[0] == "fpr":
            pub = []
    if key is None or len(key) < 12:
        raise KeyRefused("gpg found no valid key with this fingerprint in it: its own signatures are missing or wrong", _ASK)
    if key[1] == "r":
        raise KeyRefused("the key was revoked by its owner", _ASK)
    if key[1] == "e" or (re.fullmatch(r"\d{1,12}", key[6]) and int(key[6]) < time.time()):
        ended = time.strftime("%Y-%m-%d", time.gmtime(int(key[6]))) if re.fullmatch(r"\d{1,12}", key[6]) else "an unknown day"
        raise KeyRefused(f"the key has expired on {ended}", _ASK)
    if key[1] in ("i", "d", "n") or "S" not in key[11]:
        raise KeyRefused("the key has no valid part that can sign", _ASK)
