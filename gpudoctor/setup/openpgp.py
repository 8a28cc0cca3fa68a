"""Public keys of repositories (RFC 4880, RFC 9580): ASCII armour, and the primary keys in a file. Signatures are checked by system.gpg.

The data come from the network, so that every length in them is checked.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator

from msgspec import Struct

_LARGEST = 4_000_000
_MOST_PACKETS = 20_000
_BEGIN, _END = b"-----BEGIN PGP PUBLIC KEY BLOCK-----", b"-----END PGP PUBLIC KEY BLOCK-----"
_PUBLIC_KEY = 6
_ALLOWED = {_PUBLIC_KEY, 14, 2, 13, 17, 12, 10, 21}
"""Types of packets that may be in a key: public key, subkey, signature, user id, user attribute; trust, marker and padding, without
meaning."""
_NAMES = {5: "a secret key", 7: "a secret subkey", 1: "an encrypted message", 8: "compressed data", 18: "encrypted data"}


class KeyUnreadable(ValueError):
    """Raised with the reason for which data are no OpenPGP public key."""


class WrongKey(ValueError):
    """Raised where the pinned key is not in a file; `found` are the fingerprints of the primary keys that are."""

    def __init__(self, expected: str, found: tuple[str, ...]) -> None:
        super().__init__(f"expected the key {spaced(expected)}, found {' and '.join(map(spaced, found))}")
        self.expected, self.found = expected, found


class _Packet(Struct, frozen=True):
    tag: int
    body: bytes
    raw: bytes


def pinned_key(data: bytes, fingerprint: str) -> bytes:
    """The binary form of the one key with this primary fingerprint; any other key in the file is left out.

    Raises KeyUnreadable, and WrongKey where the file does not hold it.
    """
    wanted = normal(fingerprint)
    if not re.fullmatch(r"[0-9A-F]{40}|[0-9A-F]{64}", wanted):
        raise KeyUnreadable(f"'{fingerprint}' is no fingerprint: 40 or 64 hexadecimal digits are needed")
    keys = _keys(data)
    for found, raw in keys:
        if found == wanted:
            return raw
    raise WrongKey(wanted, tuple(found for found, _ in keys))


def primary_fingerprints(data: bytes) -> tuple[str, ...]:
    """The fingerprints of the primary keys in a file, armored or binary, in their order, as upper-case hexadecimal digits."""
    return tuple(found for found, _ in _keys(data))


def normal(fingerprint: str) -> str:
    """A fingerprint, which people write with blanks, colons or 0x, as upper-case hexadecimal digits alone."""
    return re.sub(r"^0[xX]|[\s:]", "", fingerprint).upper()


def spaced(fingerprint: str) -> str:
    """A fingerprint in groups of four digits, so that a person can compare it."""
    return " ".join(fingerprint[at : at + 4] for at in range(0, len(fingerprint), 4))


def dearmored(data: bytes) -> bytes:
    """The binary packets of an armored or binary file. Raises KeyUnreadable."""
    if len(data) > _LARGEST:
        raise KeyUnreadable(f"{len(data)} bytes are too many for a key")
    if data[:1] and data[0] & 0x80:
        return data
    found: list[bytes] = []
    rest = data
    while True:
        _, begin, rest = rest.partition(_BEGIN)
        if not begin:
            break
        block, end, rest = rest.partition(_END)
        if not end:
            raise KeyUnreadable("the armored key has no end; it was cut off")
        found.append(_block(block))
    if not found:
        raise KeyUnreadable(f"this is no OpenPGP public key; it begins with {data[:40].decode('ascii', 'replace')!r}")
    return b"".join(found)


def armored(data: bytes) -> bytes:
    """The packets in ASCII armour, which rpm needs in its key files."""
    text = base64.b64encode(data)
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    checksum = b"=" + base64.b64encode(_crc24(data).to_bytes(3, "big"))
    return b"\n".join([_BEGIN, b"", *lines, checksum, _END, b""])


def _block(block: bytes) -> bytes:
    """The data between the armour lines, which hold header lines, a blank line, base64 and an optional checksum. Raises KeyUnreadable."""
    lines = [line.strip() for line in block.strip(b"\r\n").splitlines()]
    while lines and b":" in lines[0]:
        lines.pop(0)
    checksum = b""
    data: list[bytes] = []
    for line in lines:
        if len(line) == 5 and line.startswith(b"="):
            checksum = line[1:]
        elif line:
            data.append(line)
    try:
        found = base64.b64decode(b"".join(data), validate=True)
        expected = base64.b64decode(checksum, validate=True) if checksum else b""
    except binascii.Error as error:
        raise KeyUnreadable(f"the armored key is not base64: {error}") from None
    if expected and int.from_bytes(expected, "big") != _crc24(found):
        raise KeyUnreadable("the checksum of the armored key is wrong; it was damaged on the way")
    return found


def _crc24(data: bytes) -> int:
    crc = 0xB704CE
    for byte in data:
        crc ^= byte << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1864CFB
    return crc & 0xFFFFFF


def _keys(data: bytes) -> list[tuple[str, bytes]]:
    """(fingerprint, packets) of each transferable public key."""
    keys: list[tuple[str, list[bytes]]] = []
    for packet in _packets(dearmored(data)):
        if packet.tag not in _ALLOWED:
            raise KeyUnreadable(f"the file holds {_NAMES.get(packet.tag, f'a packet of type {packet.tag}')}, which no public key has")
        if packet.tag == _PUBLIC_KEY:
            keys.append((_fingerprint(packet.body), []))
        elif not keys:
            continue  # a marker before the first key
        keys[-1][1].append(packet.raw)
    if not keys:
        raise KeyUnreadable("there is no public key in it")
    return [(found, b"".join(raw)) for found, raw in keys]


def _fingerprint(body: bytes) -> str:
    version = body[0] if body else 0
    if version == 4 and 6 <= len(body) <= 0xFFFF:
        return hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body, usedforsecurity=False).hexdigest().upper()
    if version == 6 and 10 <= len(body):
        return hashlib.sha256(b"\x9b" + len(body).to_bytes(4, "big") + body).hexdigest().upper()
    if version in (4, 6):
        raise KeyUnreadable("the public key is damaged")
    raise KeyUnreadable(f"keys of version {version} cannot be checked; versions 4 and 6 can")


def _packets(data: bytes) -> Iterator[_Packet]:
    at = 0
    for _ in range(_MOST_PACKETS):
        if at >= len(data):
            return
        head = data[at]
        if not head & 0x80:
            raise KeyUnreadable(f"no OpenPGP packet at byte {at}")
        tag, start, length = _new_header(data, at) if head & 0x40 else _old_header(data, at)
        end = start + length
        if end > len(data):
            raise KeyUnreadable("the key ends in the middle of a packet; it was cut off")
        yield _Packet(tag, data[start:end], data[at:end])
        at = end
    raise KeyUnreadable("too many packets for a key")


def _old_header(data: bytes, at: int) -> tuple[int, int, int]:
    """(tag, start of the body, its length) of a packet header in the old format of RFC 4880."""
    tag, kind = (data[at] >> 2) & 0x0F, data[at] & 0x03
    if kind == 3:
        raise KeyUnreadable("a packet without a length, which no public key has")
    size = 1 << kind
    return tag, at + 1 + size, _number(data, at + 1, size)


def _new_header(data: bytes, at: int) -> tuple[int, int, int]:
    tag, first = data[at] & 0x3F, _number(data, at + 1, 1)
    if first < 192:
        return tag, at + 2, first
    if first < 224:
        return tag, at + 3, ((first - 192) << 8) + _number(data, at + 2, 1) + 192
    if first == 255:
        return tag, at + 6, _number(data, at + 2, 4)
    raise KeyUnreadable("a packet in parts, which no public key has")


def _number(data: bytes, at: int, size: int) -> int:
    part = data[at : at + size]
    if len(part) < size:
        raise KeyUnreadable("the key ends in the middle of a packet; it was cut off")
    return int.from_bytes(part, "big")
