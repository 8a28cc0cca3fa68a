"""Sources of apt: their text, those of a machine, the lists that belong to one, and why the update of one failed (sources.list(5))."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from gpudoctor.system.writable_host import ActFailed

_QUOTED = set('\\|{}[]<>"^~_=!@#$%^&*')
_OWN_LISTS = re.compile(r"(In)?Release(\.[A-Za-z]+)*|(Packages|Sources|Translation|Contents|Components)\b.*|.+_.+")
_FLAT_LISTS = re.compile(r"(In)?Release(\.[A-Za-z]+)*|(Packages|Sources|Translation|Contents|Components)[^_]*")

_UNREACHABLE = re.compile(
    r"Could not (connect|resolve|handshake)|Temporary failure|Connection (failed|timed out|refused)|Error reading from server"
    r"|Unable to connect|Undetermined Error|Remote end closed|connection was reset|Network is unreachable"
)


class AptSource(Struct, frozen=True):
    """One source of a machine; `where` is the file that holds it."""

    where: str
    url: str
    suite: str
    components: tuple[str, ...]


def source_text(url: str, suite: str, components: Sequence[str], architectures: Sequence[str], keyring: str) -> str:
    """The text of a .sources file (deb822). A suite that ends with / is a flat repository, which has no components."""
    lines = ["# written by gpudoctor setup", "Types: deb", f"URIs: {url}", f"Suites: {suite}"]
    if not suite.endswith("/"):
        lines.append(f"Components: {' '.join(components)}")
    if architectures:
        lines.append(f"Architectures: {' '.join(architectures)}")
    return "\n".join([*lines, f"Signed-By: {keyring}"]) + "\n"


def list_prefix(url: str, suite: str) -> str:
    """The beginning of the names that a source's files have in /var/lib/apt/lists."""
    parts = urlsplit(url)
    place = f"{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/") + "/"
    if not suite.endswith("/"):
        place += f"dists/{suite}/"
    elif suite != "/":
        place += suite
    quoted = "".join(f"%{ord(letter):02x}" if letter in _QUOTED or not letter.isprintable() else letter for letter in place)
    return quoted.replace("/", "_")


def own_lists(names: Iterable[str], url: str, suite: str) -> list[str]:
    """Those names of files in /var/lib/apt/lists that belong to this source, sorted."""
    prefix = list_prefix(url, suite)
    shape = _FLAT_LISTS if suite.endswith("/") else _OWN_LISTS
    return sorted(name for name in names if name.startswith(prefix) and shape.fullmatch(name[len(prefix) :]))


def parse_sources(where: str, text: str) -> Iterator[AptSource]:
    """The sources in a file: one-line style (*.list) or deb822 (*.sources), without disabled ones and those of source packages alone."""
    if where.endswith(".sources"):
        for stanza in re.split(r"\n(?:[ \t]*\n)+", "\n" + re.sub(r"(?m)^#.*\n?", "", text)):
            yield from _stanza(where, stanza)
        return
    for line in text.splitlines():
        found = re.match(r"\s*deb\s+(?:\[[^]]*\]\s*)?(\S+)\s+(\S+)\s*([^#]*)", line)
        if found:
            yield AptSource(where, found[1], found[2], tuple(found[3].split()))


def _stanza(where: str, stanza: str) -> Iterator[AptSource]:
    fields: dict[str, list[str]] = {}
    name = ""
    for line in stanza.splitlines():
        key, colon, rest = line.partition(":")
        if line[:1] in (" ", "\t") and name:
            fields[name] += line.split()
        elif colon:
            name = key.strip().lower()
            fields[name] = rest.split()
    if "deb" not in fields.get("types", ()) or "".join(fields.get("enabled", ())).lower() in ("no", "false", "0", "off"):
        return
    for url in fields.get("uris", ()):
        for suite in fields.get("suites", ()):
            yield AptSource(where, url, suite, tuple(fields.get("components", ())))


def same_place(one: str, other: str) -> bool:
    return one.rstrip("/") == other.rstrip("/")


def refusal(output: str, title: str, url: str, suite: str) -> ActFailed:
    """The error for a failed update of one source, with the reason and the next step, by the output of apt-get."""
    tail = output[-4000:]
    place = f"the repository {title} ({url} {suite})"
    if re.search(r"EXPKEYSIG|KEYEXPIRED|expired key", output):
        return ActFailed(f"{place} is signed by a key that has expired", "update gpudoctor, or tell the vendor", tail)
    if re.search(r"NO_PUBKEY|BADSIG|not signed by|Missing key|could(?:n't| not) be verified|signatures were invalid", output):
        return ActFailed(
            f"{place} is not signed by the pinned key; it is refused",
            "use the vendor's repository, or a mirror that keeps its signature",
            tail,
        )
    if re.search(r"is not valid yet|is expired|Release file .* expired", output):
        return ActFailed(f"{place} is dated otherwise than this machine's clock allows", "set the clock; a mirror may be out of date", tail)
    # before the next test, since a server that does not answer has no Release file either
    if _UNREACHABLE.search(output):
        return ActFailed(f"{place} cannot be reached", "nothing was changed; when the network is back: gpudoctor setup --resume", tail)
    if "does not have a Release file" in output:
        return ActFailed(f"{place} is not there: it has nothing for {suite}", "gpudoctor list recipes --verify-online says what is", tail)
    if "is not signed" in output:
        return ActFailed(f"{place} is not signed; it is refused", "use the vendor's repository, or a mirror that keeps its signature", tail)
    if re.search(r"Hash Sum mismatch|File has unexpected size|Mirror sync in progress", output):
        return ActFailed(
            f"{place} does not fit together: its files are not those that it signed", "try again in an hour, or another mirror", tail
        )
    return ActFailed(f"{place} cannot be used", "the end of the log says why", tail)
