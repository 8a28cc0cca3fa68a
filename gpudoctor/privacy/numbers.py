"""Addresses and numbers of devices in one line: an address is what the standard library parses as one, unless it is a version."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Protocol

from gpudoctor.privacy import patterns
from gpudoctor.privacy.pseudonyms import is_ours

_DOTTED = re.compile(r"(?<![\w.])(?<!\d-)(\d{1,3}(?:\.\d{1,3}){3})(?![\w-]|\.\d|\+|~)")
_COLONS = re.compile(r"(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{3,39}(?:\d{1,3}(?:\.\d{1,3}){3})?(?![\w:]|\.\d)")
_CLOUD = re.compile(
    r"(?<![\w])((?:ip|ec2|compute|vm|host|node|worker|rank|server|static|dynamic|pool|gpu)-)(\d{1,3}(?:-\d{1,3}){3})(?![\w-]*\d-)"
    r"|(?<![\w.-])([a-z]{2,20}-)((?:10|192-168|172-(?:1[6-9]|2\d|3[01]))(?:-\d{1,3}){2,3})(?![\w-])"
)
"""An address in the name of a server; one of a private network after any prefix."""
_SOFTWARE = re.compile(
    r"version|release|driver|firmware|build|toolkit|runtime|library|plugin|revision|package|wheel|compiler|sdk|python|pytorch"
    r"|torch|cuda|cudnn"
    r"|cublas|cufft|curand|cusolver|cusparse|nccl|nvjitlink|tensorrt|tensorflow|directml|opencl|openvino|onnxruntime"
    r"|level.?zero|oneapi|mkl|dnnl"
    r"|vulkan|windows|kernel|mesa|rocm|hip|adrenalin|geforce|studio|gcc|msvc|chipset|bios|agent|client|update|upgrade|downgrade"
    r"|required?|requires|least|than|or newer|older|installed?|expects?|expected|found",
    re.IGNORECASE,
)
_NETWORK = re.compile(
    r"addr|inet|\bip\b|\bhost|server|peer|gateway|router|nameserver|rank|worker|connect|listen|bind|via|port|remote|master"
    r"|client|dhcp|dns|proxy"
    r"|lease|ssh|route|socket|net/|from (?=[\d.]+ port)|ping|reach|nfs",
    re.IGNORECASE,
)
_BEFORE = 40
_VERSION_SIGN = re.compile(r"(?:==|[<>~!]=|[<>]|\bv|[\w)]-|@ ?|\bver(?:sion)?[ =:]{1,4})$")
_PORT = re.compile(r"(?:^|[=, ])\d{1,5}@$")
_BEFORE_WORDS = re.compile(r"[\w.+/-]+")
_BETWEEN = re.compile(r"[\d.]+|from|to|is|was|and|or|the|a|by|with|than", re.IGNORECASE)
_MAC = re.compile(
    r"(?<![\w:.-])[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4,18}(?![\w:-])"
    r"|(?<![\w.])[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?![\w.])",
    re.IGNORECASE,
)
_BARE_MAC = re.compile(r"(\b(?:mac|ether|hwaddr|bssid|bdaddr|lladdr|server \w{1,60})[ =:]{1,3})([0-9a-f]{12})(?![0-9a-f])", re.IGNORECASE)
_FOUR_GROUPS = re.compile(r"(?<![\w:.])[0-9a-f]{4}(?::[0-9a-f]{4}){3}(?![\w:.])", re.IGNORECASE)
_NAMED_HEX = re.compile(
    r"(\b(?:[a-z_]{0,20}guid|hostid|(?:port|node)_name|ww[pn]?n|wwid|naa|nguid|eui)[ \"'=:.-]{1,4}(?:0x)?)([0-9a-f]{12,32})(?![0-9a-f])",
    re.IGNORECASE,
)
_UUID = re.compile(r"(?<![0-9a-f])([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?![0-9a-f-])", re.IGNORECASE)
_UUID_WITHOUT_DASHES = re.compile(r"(\buuid\W{1,3})([0-9a-f]{32})(?![0-9a-f])", re.IGNORECASE)
_LAYER = re.compile(r"(?<=/)[0-9a-f]{64}(?=/)")
"""A layer of a container, whose folder has a checksum as its name."""
_NUMBERED = re.compile(
    r"(\b(?:serial(?:[ _-]?(?:number|no|num))?|s/n|service[ _]tag|asset[ _]?tag|product (?:key|id)|imei|imsi|iccid|account"
    r"|licen[sc]e (?:number|no)|iserial\s{1,24}\d|tag)\W{1,4}(?:is |of |with )?)"
    r"([A-Za-z0-9][\w-]{4,40})(?![\w-])"
    r"|(\bsn(?:[:=] ?| (?=\d{9}))|\b(?:board|card|device) serial:? {1,20})([A-Z0-9][A-Z0-9.-]{6,40})(?![\w-])",
    re.IGNORECASE,
)
_STEMS = ("serial", "s/n", "sn:", "sn=", "sn ", "tag", "product", "imei", "imsi", "iccid", "account", "license", "licence")
_DISK = re.compile(r"((?:ata|nvme|scsi|usb|mmc)-[\w.-]{3,80}?_)([A-Z0-9][A-Z0-9-]{7,24})(?=-part\d|[^\w-]|$)")
_INSTANCE = re.compile(r"(?<![\w-])(i|vol|eni|ami|sg|subnet|vpc)-([0-9a-f]{8}(?:[0-9a-f]{9})?)(?![\w-])")
_ARN = re.compile(r"\b(arn:[\w-]{1,20}:[\w-]{0,30}:[\w-]{0,30}:)(\d{12})(?=:)")
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?:\d{11,30})(?!\w)")
_PLACE = re.compile(r"(\b(?:lat|lon|latitude|longitude)\W{1,3})(-?\d{1,3}\.\d{3,})", re.IGNORECASE)
_PHONE = re.compile(
    r"(?<![\w.+])(?:\+\d{1,3}[ -](?:\(0\) ?)?\d[\d -]{6,14}\d|\(\d{3}\) ?\d{3}-\d{4}|00[1-9]\d{9,13}|\d{3}-\d{2}-\d{4})(?![\w.-])"
    r"|((?i:\b(?:tel|phone|mobile|telephone|fax|handy)[.:]{1,2} ?))(\+?[\d(][\d ()/-]{5,20}\d)"
)
"""Telephones, and numbers of social security."""
_BORN = re.compile(r"(\b(?:dob|birth ?da(?:y|te)|date of birth)\W{1,4})(\d{1,4}[./-]\d{1,2}[./-]\d{1,4})", re.IGNORECASE)
_CARD = re.compile(r"(?<![\w-])[3-6]\d{3}([ -]?)\d{4}\1\d{4}\1\d{4}(?![\w-])")
_MANY_DIGITS = re.compile(r"\d[\d ()/-]{7}\d")
_FAT = re.compile(r"(\bUUID=\"?)([0-9A-F]{4}-[0-9A-F]{4})(?![\w-])")


_GROUPED_HEX = re.compile(r"(\b(?:wwn device id|eui-64)\W{1,4})([0-9a-f]? ?[0-9a-f]{6} [0-9a-f]{9,10})(?![0-9a-f])", re.IGNORECASE)
_USB_INSTANCE = re.compile(
    r"(\bVID_[0-9A-F]{4}&PID_[0-9A-F]{4}(?:&\w{1,10}){0,3}\\{1,4})([^\s\\&\"',;]{4,80})(?![^\s\\\"',;])", re.IGNORECASE
)
"""Windows takes the serial number of a USB device into the name of its instance; a name with & was made by Windows."""
_OF_A_KEY = re.compile(r"(?<!\w)[0-9A-F]{4}(?: {1,2}[0-9A-F]{4}){9}(?!\w)")
"""The fingerprint of a PGP key."""


_BY_LABEL = (
    (("mac", "addr", "ether", "server", "bssid"), _BARE_MAC), (("guid", "_name", "ww", "naa.", "eui", "hostid"), _NAMED_HEX),
    (("ata-", "nvme-", "scsi-", "usb-", "mmc-"), _DISK), (_STEMS, _NUMBERED), (("device id", "eui-64"), _GROUPED_HEX),
    (("vid_",), _USB_INSTANCE),
    (("arn:",), _ARN), (("lat", "lon"), _PLACE),
    (("birth", "dob"), _BORN), (("uuid=",), _FAT),
)  # fmt: skip
"""What a number is called in a line in lower case, and the expression that finds it there."""


class NumberNamer(Protocol):
    def stand_in(self, kind: str, original: str, counted: str = "") -> str: ...
    def address(self, address: str) -> str: ...


class Numbers:
    """`installed`: names of packages, which a version may follow."""

    def __init__(self, namer: NumberNamer, installed: Collection[str], learn: Callable[[str], None]) -> None:
        self._namer, self._installed, self._learn = namer, installed, learn

    def uuids(self, text: str) -> str:
        """Replaces UUIDs and similar numbers, which also occur in paths."""
        if text.count("-") >= 4:
            text = _UUID.sub(self._uuid, text)
        if len(text) > 64 and "/" in text:
            text = _LAYER.sub(lambda m: self._namer.stand_in("label", m[0]), text)
        if "GPU-" in text:
            text = patterns.AMD_UUID.sub(lambda m: "GPU-" + self._namer.stand_in("amd-uuid", m[1], "uuid"), text)
        if "S-1-5-21" in text:
            text = patterns.SID.sub(lambda m: self._namer.stand_in("sid", m[0]), text)
        if "id" in text.lower():
            text = patterns.MACHINE_ID.sub(lambda m: m[1] + self._namer.stand_in("machine-id", m[2], "uuid"), text)
            text = _UUID_WITHOUT_DASHES.sub(lambda m: m[1] + self._namer.stand_in("machine-id", m[2], "uuid"), text)
        return text

    def in_line(self, line: str, lowered: str) -> str:
        """The line with numbers replaced that identify a device, a place or a person. `lowered`: the line in lower case."""
        line = self._by_punctuation(line)
        line = self._by_label(line, lowered)
        if _MANY_DIGITS.search(line):
            line = _PHONE.sub(lambda m: (m[1] or "") + self._namer.stand_in("label", m[2] or m[0]), line)
            line = _CARD.sub(lambda m: self._namer.stand_in("label", m[0]) if _sums_up(m[0]) else m[0], line)
            line = _OF_A_KEY.sub(lambda m: self._namer.stand_in("label", m[0]), line)
            line = _IBAN.sub(lambda m: self._namer.stand_in("label", m[0]), line)
        return line

    def _by_punctuation(self, line: str) -> str:
        """Replaces numbers that their groups identify. A pattern is tried only where the line has its colons, dashes or dots."""
        colons, dashes, dots = line.count(":"), line.count("-"), line.count(".")
        if colons >= 5 or dashes >= 5 or dots >= 2:
            line = _MAC.sub(self._mac, line)
        if colons >= 2:
            line = _COLONS.sub(self._colons, line)
        if colons >= 3:
            line = _FOUR_GROUPS.sub(lambda m: m[0] if m[0].startswith("0000:") else self._namer.stand_in("label", m[0]), line)
        if dots >= 3:
            line = _DOTTED.sub(self._dotted, line)
        if dashes >= 4:
            line = _CLOUD.sub(lambda m: (m[1] or m[3]) + self._namer.stand_in("label", m[2] or m[4]), line)
        if dashes:
            line = _INSTANCE.sub(lambda m: f"{m[1]}-" + self._namer.stand_in("label", m[2]), line)
        return line

    def _by_label(self, line: str, lowered: str) -> str:
        """Replaces numbers that a word before them identifies. A pattern is tried only where the line has one of its words."""
        for words, expression in _BY_LABEL:
            if any(word in lowered for word in words):
                line = expression.sub(self._replacement(expression), line)
        return line

    def _replacement(self, expression: re.Pattern[str]) -> Callable[[re.Match[str]], str]:
        return self._bare_mac if expression is _BARE_MAC else self._numbered if expression is _NUMBERED else self._named

    def _named(self, match: re.Match[str]) -> str:
        if is_ours(match[2]) or not match[2].strip("0") or (match.re is _DISK and not re.search(r"\d", match[2])):
            return match[0]
        return match[1] + self._namer.stand_in("serial", match[2])

    def _numbered(self, match: re.Match[str]) -> str:
        label, number = match[1] or match[3], match[2] or match[4]
        if not re.search(r"\d", number) or number.lower() in patterns.NOTHING or is_ours(number):
            return match[0]
        self._learn(number)
        return label + self._namer.stand_in("serial", number)

    def _uuid(self, match: re.Match[str]) -> str:
        return match[0] if not match[1].strip("0-") else self._namer.stand_in("uuid", match[1])

    def _mac(self, match: re.Match[str]) -> str:
        found = match[0]
        if not found.strip("0:-.") or not found.lower().strip("f:-."):
            return found
        return self._namer.stand_in("mac", found if len(found) in (14, 17) else found[:17])

    def _bare_mac(self, match: re.Match[str]) -> str:
        return match[1] + self._namer.stand_in("mac", match[2]) if match[2].strip("0") else match[0]

    def _colons(self, match: re.Match[str]) -> str:
        found = match[0]
        try:
            address = ipaddress.IPv6Address(found)
        except ValueError:
            return found
        if address.is_loopback or address.is_unspecified or address in _DOCUMENTS_6 or not re.search(r"\d", found) or len(found) < 6:
            return found
        if address.is_link_local:  # that it was not given by anybody is what a reader of network cards asks
            return found if _SHORT_LINK_LOCAL.fullmatch(found) else self._namer.stand_in("ipv6-link", found, "ip")
        return self._namer.stand_in("ipv6", found, "ip")

    def _dotted(self, match: re.Match[str]) -> str:
        """Four numbers are an address, unless a version sign or the name of software precedes them and no word about networks does."""
        found = match[1]
        try:
            address = ipaddress.IPv4Address(found)
        except ValueError:
            return found
        if any(address in network for network in _HARMLESS):
            return found
        before = match.string[max(match.start() - _BEFORE, 0) : match.start()]
        after = match.string[match.end() : match.end() + 8]
        if _PORT.search(before):
            return self._namer.address(found)
        if _VERSION_SIGN.search(before):
            return found
        if re.match(r":\d{2,5}\b|/(?:[12]?\d|3[0-2])\b", after):
            return self._namer.address(found)
        words = [word for word in _BEFORE_WORDS.findall(before) if not _BETWEEN.fullmatch(word)]
        last = [word.strip(".-/") for word in words[-3:]]
        if any(_of_network(word) for word in last) or (
            re.search(r"(?<![=<>!~])=[\"']?$|//$|@$", before) and not _SOFTWARE.search(before[-24:])
        ):
            return self._namer.address(found)
        if any(_of_software(word) or (("-" in word or "_" in word) and word.lower() in self._installed) for word in last):
            return found
        return self._namer.address(found)


def _sums_up(number: str) -> bool:
    """Whether the check digit is that of a payment card (the Luhn algorithm, ISO/IEC 7812-1)."""
    digits = [int(digit) for digit in reversed(re.sub(r"\D", "", number))]
    return sum(digits[::2]) % 10 == -sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2]) % 10


@lru_cache(maxsize=20_000)
def _of_network(word: str) -> bool:
    return _NETWORK.search(word) is not None


@lru_cache(maxsize=20_000)
def _of_software(word: str) -> bool:
    return word.startswith(("nvidia-", "lib", "intel-")) or _SOFTWARE.search(word) is not None


_HARMLESS = tuple(
    ipaddress.ip_network(each) for each in ("0.0.0.0/8", "127.0.0.0/8", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "255.0.0.0/8")
)
_DOCUMENTS_6 = ipaddress.IPv6Network("2001:db8::/32")
_SHORT_LINK_LOCAL = re.compile(r"fe80::[0-9a-f]{1,4}", re.IGNORECASE)
"""No part of a MAC address fits into these."""
