"""The reason why pip or uv failed, in one line. Their messages are matched, since they have no error codes."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

NETWORK, CHECKSUM, OTHER = "network", "checksum", "other"


class Failure(Struct, frozen=True):
    """Why pip or uv failed. An error of `kind` network may pass by itself: pip and uv retry a connection that fails, not one that breaks.

    One of kind checksum may come from an incomplete download.
    """

    kind: str
    reason: str
    advice: str = ""
    got: str = ""
    """The checksum of what was downloaded: the same one twice is no incomplete download."""


_CUT_OFF = re.compile(
    r"Connection broken: |IncompleteRead|error decoding response body|end of file before message length|incomplete-download",
    re.I,
)
_UNREACHABLE = re.compile(
    r"Temporary failure in name resolution|Name or service not known|Connection reset|Network is unreachable|Connection refused|timed out"
    r"|Max retries exceeded|ProxyError|NewConnectionError|Connection aborted|dns error|error sending request|Failed to fetch"
    r"|RemoteDisconnected|ProtocolError",
    re.I,
)
_TLS = re.compile(r"CERTIFICATE_VERIFY_FAILED|SSLError|invalid peer certificate|UnknownIssuer")
_NETWORK_ADVICE = "look at the network and the proxy, then: gpudoctor setup --resume"
_HASH = re.compile(r"DO NOT MATCH THE HASHES|Hash mismatch for|HashMismatch", re.I)


def _checksum(output: str) -> Failure | None:
    if not _HASH.search(output):
        return None
    what = re.search(r"^\s+(\S+(?: [^\n]*)?) from (\S+):?$", output, re.M) or re.search(r"Hash mismatch for `?([^`\n]+)`?", output)
    expected = re.search(r"Expected:?\s+(?:sha256[ :])?\s*([0-9a-f]{64})", output) or re.search(r"sha256:([0-9a-f]{64})", output)
    got = re.search(r"(?:Got|Computed:?)\s+(?:sha256:)?([0-9a-f]{64})", output) or re.search(r"Computed:\s+sha256:([0-9a-f]{64})", output)
    name = (what[1] if what else "a package").partition(" from ")[0].partition("#")[0]
    sums = f" (expected {expected[1][:12]}…, got {got[1][:12]}…)" if expected and got else ""
    return Failure(
        CHECKSUM, f"what was fetched as {name} has another checksum than promised{sums}",
        "it was not installed: the download was cut short, or the index or mirror is damaged or was tampered with; try again later, "
        "and report it to the maintainers of the index if it stays so", got[1] if got else "",
    )  # fmt: skip


def _not_found(output: str) -> Failure | None:
    found = re.search(r"No matching distribution found for ([^\n]+)", output)
    if found:
        return Failure(
            OTHER, f"no release of {found[1].strip()} is offered for this Python and this system",
            "name another release (--torch) or another Python (--python-version)",
        )  # fmt: skip
    found = re.search(r"No solution found when resolving dependencies:?\s*(.+?)(?:\n\s*\n|\Z)", output, re.S)
    if found or "ResolutionImpossible" in output or "conflicting dependencies" in output:
        detail = re.sub(r"[\s│╰─▶]+", " ", found[1]).strip()[:240] if found else "see the end of the log"
        return Failure(
            OTHER, f"the packages cannot be had together: {detail}", "name another release (--torch) or Python (--python-version)"
        )
    return None


def _plain(pattern: str, kind: str, reason: str, advice: str) -> Callable[[str], Failure | None]:
    compiled = re.compile(pattern, re.I)
    return lambda output: Failure(kind, reason, advice) if compiled.search(output) else None


_READERS: tuple[Callable[[str], Failure | None], ...] = (
    _plain(
        r"No space left on device|os error 28|Errno 28", OTHER, "the disk is full",
        "free some space on the file system of the environment, then gpudoctor setup --resume",
    ),
    _checksum,
    lambda output: Failure(
        OTHER, "the index shows a certificate that this machine does not trust",
        "behind a proxy of your own, name its certificates in SSL_CERT_FILE or PIP_CERT",
    ) if _TLS.search(output) else None,
    lambda output: Failure(NETWORK, "a download was cut off", _NETWORK_ADVICE) if _CUT_OFF.search(output) else None,
    lambda output: Failure(OTHER, "the package index cannot be reached", _NETWORK_ADVICE) if _UNREACHABLE.search(output) else None,
    _not_found,
    _plain(r"No module named pip\b", OTHER, "this environment has no pip", "install uv, or run python -m ensurepip in the environment"),
    _plain(
        r"externally-managed-environment", OTHER, "this Python belongs to the system's package manager", "name another folder with --env",
    ),
    _plain(r"ensurepip is not available|No module named ensurepip|No module named venv", OTHER, "this Python cannot make environments",
           "sudo apt install python3-venv (Debian, Ubuntu), or install uv"),
    _plain(r"Permission denied|Errno 13", OTHER, "the environment may not be written to", "it is another user's: name another with --env"),
)  # fmt: skip


def explain(output: str) -> Failure:
    """The first reason that is recognised in the output, else its last error message."""
    for read in _READERS:
        failure = read(output)
        if failure is not None:
            return failure
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    complaints = [line for line in lines if re.match(r"(error|ERROR|fatal)\b", line)] or lines
    return Failure(OTHER, (complaints[-1] if complaints else "it said nothing")[:240])


def explain_interpreter(output: str, minor: str) -> Failure:
    """The reason where uv should have downloaded the interpreter of this minor version."""
    failure = explain(output)
    found = re.search(r"Failed to download\s+`?https?://(?:[^/`\s]*@)?([^/`\s]+)/", output)
    if not found or not (_UNREACHABLE.search(output) or _CUT_OFF.search(output)):
        return failure
    return Failure(
        NETWORK, f"Python {minor} could not be fetched from {found[1]}, which cannot be reached",
        "look at the network and the proxy, or name a mirror in UV_PYTHON_INSTALL_MIRROR, then: gpudoctor setup --resume; or "
        f"gpudoctor setup --undo, then install Python {minor} by other means or name another with --python-version, and set up again",
    )  # fmt: skip
