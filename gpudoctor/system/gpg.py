"""Public keys, checked by the GnuPG of this system: in a home of its own, which is gone afterwards, and without any network."""

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
    """A key that is not to be trusted, or that nobody here can check: why; what to do stands in `advice`."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.advice = advice


def checked_key(data: bytes, fingerprint: str) -> bytes:
    """The one key with this primary fingerprint, as GnuPG gives it out: with what the key itself has signed, and with nothing else.

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
    """The same for a keyring that only apt reads; `data` holds the one pinned key. Without gpg it stays as it is.

    A minimal Debian or Ubuntu has no gpg. What apt checks signatures with (gpgv or sqv, which apt depends on) accepts neither a subkey that
    the key has not signed nor a key that is expired or revoked, so the pinned key is safe there with whatever else its packets hold.
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
    """The colon records of gpg (doc/DETAILS): field 2 is the validity, 7 the end, 12 what it can do; capitals say what all of it can."""
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
