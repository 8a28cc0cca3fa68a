"""The service of `fleet run`: asks many hosts by one engine, and keeps what each of them answered, or why it did not."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import secrets
import shlex
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module, util
from pathlib import Path

from msgspec import Struct

from gpudoctor import __version__
from gpudoctor.model.fleet_row import FleetRow
from gpudoctor.model.node_sets import NodeSetError, expand
from gpudoctor.services.row_making import encode
from gpudoctor.system.engines.asking import Answer, Asked, Engine, EngineError, last_row
from gpudoctor.system.fleet_store import HOST_NAME, FleetStore, RowRefused, decode

ENGINES = ("clustershell", "srun", "dask", "ray", "local")
MOST_HOSTS = 200_000
SECONDS = {"": 90.0, "quick": 300.0}
"""The default of --timeout, by --validate."""
ARGUMENTS = {"": ("check", "--format", "row"), "quick": ("validate", "--quick", "--format", "row")}
"""What gpudoctor is asked on each host, by --validate."""
LABEL = re.compile(r"[A-Za-z0-9_.-]{1,40}=[A-Za-z0-9_.:/@+-]{1,80}")
NOT_KNOWN = "it was expected, and the engine knows no such host"
EXTRA = {
    "clustershell": ("ClusterShell", "in the environment of gpudoctor: pip install ClusterShell"),
    "dask": ("distributed", "run it in the environment of the cluster, which has the package distributed"),
    "ray": ("ray", "run it in the environment of the cluster, which has the package ray"),
}
"""What an engine needs to import, and where it comes from."""


class CollectError(ValueError):
    """A collection that cannot begin: what is wrong, and what to do."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What the person asked for, as given on the command line; empty where nothing was given."""

    hosts: str = ""
    engine: str = ""
    validate: str = ""
    timeout: float | None = None
    expect: str = ""
    deploy: str = ""
    labels: Sequence[str] = ()
    command: str = ""
    scheduler: str = ""


class Progress(Struct):
    """How far a collection is. Hosts leave `waiting` when they answer or fail."""

    run: str
    answered: list[str]
    failed: dict[str, str]
    waiting: dict[str, None]


Watcher = Callable[[Progress], None]


def collect(wanted: Wanted, store: FleetStore, watch: Watcher | None = None) -> Progress:
    """Asks the hosts and keeps a row of each as it arrives, so that a collector that is killed loses none. Raises CollectError, OSError."""
    labels = _labels(wanted.labels)
    file, checksum = _file(wanted.deploy)
    try:
        expected = expand(wanted.expect) if wanted.expect else []
    except NodeSetError as error:
        raise CollectError(f"--expect-hosts: {error}") from None
    try:
        name = wanted.engine or _usual(wanted)
        engine = _engine(name, wanted)
        hosts = _checked(engine.hosts("" if _is_address(wanted.hosts) else wanted.hosts, _expand))
        command = _command(wanted.command, name)
        so_far = Progress(run=new_run(), answered=[], failed={}, waiting=dict.fromkeys(hosts))
        keeper = _Keeper(store, so_far, labels, watch)
        asked = Asked(
            hosts=hosts, command=command, arguments=ARGUMENTS[wanted.validate], timeout=wanted.timeout or SECONDS[wanted.validate],
            variables={"GPUDOCTOR_FLEET_RUN": so_far.run, **({"GPUDOCTOR_LABELS": ",".join(wanted.labels)} if labels else {})},
            file=file, checksum=checksum,
        )  # fmt: skip
        if watch is not None:
            watch(so_far)
        engine.ask(asked, keeper.take)
    except EngineError as error:
        raise CollectError(str(error)) from None
    for host in list(so_far.waiting):
        keeper.take(Answer(host, b"", "the engine gave no answer of it"))
    for host in expected:
        if host not in so_far.failed and host not in so_far.answered and HOST_NAME.fullmatch(host):
            keeper.take(Answer(host, b"", NOT_KNOWN))
    return so_far


def new_run() -> str:
    """An id that no other collection has, and that sorts by time."""
    return f"{_now()}-{secrets.token_hex(3)}"


class _Keeper:
    """Keeps what hosts answer. What is no row of this host and this run is refused, and the host counts as failed."""

    def __init__(self, store: FleetStore, so_far: Progress, labels: Mapping[str, str], watch: Watcher | None) -> None:
        self.store, self.so_far, self.labels, self.watch = store, so_far, labels, watch

    def take(self, answer: Answer) -> None:
        content = last_row(answer.output)
        why = answer.why or "its answer is no row"
        if content is not None:
            why = self._wrong(answer.host, content)
            if not why:
                self.store.add(content, answer.host)
                self.so_far.answered.append(answer.host)
        elif answer.output.strip():
            self.store.refuse(f"{answer.host}, run {self.so_far.run}", why)
        if why:
            self.so_far.failed[answer.host] = why
            self.store.add(encode(self._failed(answer.host, why)))
        self.so_far.waiting.pop(answer.host, None)
        if self.watch is not None:
            self.watch(self.so_far)

    def _wrong(self, host: str, content: bytes) -> str:
        """Why a row is not the answer of this host; empty where it is. It is remembered as refused."""
        try:
            row = decode(content)
        except RowRefused as refused:
            why = str(refused)
        else:
            if row.host == host and row.run == self.so_far.run:
                return ""
            why = f"it answered as {row.host[:60]}" if row.host != host else f"it answered for another run, {row.run[:60]}"
        self.store.refuse(f"{host}, run {self.so_far.run}", why)
        return why[:200]

    def _failed(self, host: str, why: str) -> FleetRow:
        tool = f"gpudoctor {__version__}"
        return FleetRow(host=host, run=self.so_far.run, created=_now(), tool=tool, labels=dict(self.labels), failed=why)


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _usual(wanted: Wanted) -> str:
    """The engine where none was named."""
    if wanted.hosts and util.find_spec("ClusterShell") is not None:
        return "clustershell"
    if os.environ.get("SLURM_JOB_ID"):
        return "srun"
    if wanted.hosts:
        raise EngineError(
            "--hosts needs ClusterShell, which is not installed: pip install ClusterShell for gpudoctor, or name another --engine"
        )
    raise EngineError("which hosts? Give --hosts NODESET, or run it inside an allocation of Slurm; gpudoctor check examines this machine")


def _engine(name: str, wanted: Wanted) -> Engine:
    """The engine of a name; what it needs is imported now."""
    scheduler = wanted.scheduler or (wanted.hosts if _is_address(wanted.hosts) else "")
    if scheduler and name not in ("dask", "ray"):
        raise EngineError(f"the address of a scheduler is for --engine dask and ray, not for {name}")
    if wanted.deploy and name in ("dask", "ray"):
        raise EngineError(f"--deploy: the workers of {name} run gpudoctor of their own environment; install it there")
    try:
        module = import_module(f"gpudoctor.system.engines.{name}")
    except ImportError as error:
        package, how = EXTRA.get(name, ("", ""))
        if not package or (error.name or "").partition(".")[0] not in (package, "cloudpickle"):
            raise
        raise EngineError(f"--engine {name} needs {package}; {how}") from None
    kind = getattr(module, {"clustershell": "ClusterShell"}.get(name, name.capitalize()))
    engine: Engine = kind(scheduler) if name in ("dask", "ray") else kind()
    return engine


def _is_address(text: str) -> bool:
    return "://" in text


def _expand(text: str) -> Sequence[str]:
    try:
        return expand(text)
    except NodeSetError as error:
        raise EngineError(f"--hosts: {error}") from None


def _checked(hosts: Collection[str]) -> list[str]:
    """The hosts, each once. Names go into command lines and files, so only those of letters, digits, '.', '_' and '-' are taken."""
    names = list(dict.fromkeys(hosts))
    if not names:
        raise EngineError("--hosts names no host")
    if len(names) > MOST_HOSTS:
        raise EngineError(f"--hosts names {len(names)} hosts; at most {MOST_HOSTS} are asked at once")
    for name in names:
        if not HOST_NAME.fullmatch(name):
            raise EngineError(f"--hosts: {name[:60]!r} is no name of a host (letters, digits, '.', '_', '-')")
    return names


def _labels(given: Sequence[str]) -> dict[str, str]:
    for label in given:
        if not LABEL.fullmatch(label):
            raise CollectError(f"--labels {label[:80]}: expected NAME=VALUE of letters, digits and '_.:/@+-', as in role=train")
    return {name: value for name, _, value in (label.partition("=") for label in given)}


def _command(given: str, engine: str) -> Sequence[str]:
    try:
        words = shlex.split(given)
    except ValueError as error:
        raise CollectError(f"--command {given[:80]}: {error}; expected words as in a shell") from None
    if given and not words:
        raise CollectError("--command: expected the words that call gpudoctor on the hosts")
    return words or ([sys.executable, "-m", "gpudoctor"] if engine == "local" else ["gpudoctor"])


def _file(given: str) -> tuple[Path | None, str]:
    """The file of --deploy with its SHA-256."""
    if not given:
        return None, ""
    path, digest = Path(given).absolute(), hashlib.sha256()
    try:
        with open(path, "rb") as file:
            if file.read(4) not in (b"#!/u", b"#!/b") and path.suffix != ".pyz":
                raise CollectError(f"--deploy {given}: expected gpudoctor.pyz, the single file of a release")
            file.seek(0)
            while piece := file.read(1_000_000):
                digest.update(piece)
    except OSError as error:
        raise CollectError(f"--deploy {given}: {error.strerror or error}; expected gpudoctor.pyz, the single file of a release") from None
    return path, digest.hexdigest()
