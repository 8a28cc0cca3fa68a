"""The names of the files in the folder that a person gave to `setup` (--folder): an unpacked SDK, downloaded wheels."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Facts, FactSpec, Known
from gpudoctor.model.lazy_pattern import lazy
from gpudoctor.system.host import Host

_DEPTH, _MOST = 3, 4_000
_FILE = lazy(r"\.[A-Za-z]\w{0,4}$")
"""Names that end like those of files; 'poplar-ubuntu_20_04-3.0.0' is a folder."""


def names_below(host: Host, root: str, depth: int = _DEPTH) -> Iterator[str]:
    """The paths below `root`, relative to it, at most `depth` folders deep: an SDK has its parts in the first or second."""
    for name in sorted(host.listdir(root)):
        yield name
        if depth > 1 and not _FILE.search(name):
            for inner in names_below(host, f"{root}/{name}", depth - 1):
                yield f"{name}/{inner}"


def whole_sdk(folder: str) -> str:
    """The folder of the whole SDK. An enabled SDK may be known by the folder of its part Poplar or PopART, below which no wheels lie."""
    above, _, name = folder.rstrip("/").rpartition("/")
    return above if name.startswith(("poplar-", "popart-")) else folder


def collect(host: Host, facts: Facts) -> Collected:
    given = facts.value("setup.folder")
    found = facts.value("poplar.sdk.installed") or []
    folder = str(given or "")
    if not folder and found and facts.value("setup.name") == "poplar":
        folder = whole_sdk(str(found[0]))
    if not folder:
        return
    folder = folder.rstrip("/") or "/"
    names = []
    for name in names_below(host, folder):
        names.append(name)
        if len(names) >= _MOST:
            break
    yield "setup.files_at", Known(folder, "--folder")
    yield "setup.files", Known(names, folder)


PROBE = Probe(
    "setup_folder",
    (
        FactSpec("setup.files_at", "text", "the folder whose files setup uses: --folder, else the Poplar SDK here", privacy="identifying"),
        FactSpec("setup.files", "list", "names of the files in it, up to three folders deep", privacy="identifying"),
    ),
    collect,
    needs=("poplar.sdk.installed",),
)
