"""What becomes of the answers of hosts, with an engine that gives chosen answers. Real engines: tests/real/test_fleet_*_real.py."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpudoctor.cli import group
from gpudoctor.model.fleet_row import LARGEST_READ, FleetRow
from gpudoctor.services import fleet_collecting
from gpudoctor.services.fleet_collecting import CollectError, Wanted, collect
from gpudoctor.system.engines.asking import Answer, Asked, EngineError, Taker, last_row, why_none
from gpudoctor.system.fleet_store import FleetStore

Say = Callable[[Asked, str], Answer]


def row(asked: Asked, host: str, **other: object) -> bytes:
    run = asked.variables["GPUDOCTOR_FLEET_RUN"]
    document = {"schema": "gpudoctor.row/1", "host": host, "run": run, "created": "2026-11-23T00:00:00Z", "tool": "test", **other}
    return json.dumps(document).encode()


class Scripted:
    """An engine whose hosts answer as `says` says; a host of None raises."""

    def __init__(self, says: Mapping[str, Say]) -> None:
        self.says = says
        self.asked: Asked | None = None

    def hosts(self, given: str, expand: Callable[[str], Sequence[str]]) -> Sequence[str]:
        return expand(given) if given else list(self.says)

    def ask(self, asked: Asked, take: Taker) -> None:
        self.asked = asked
        for host in asked.hosts:
            take(self.says[host](asked, host))


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, Say]], Scripted]:
    def use(says: Mapping[str, Say]) -> Scripted:
        engine = Scripted(says)
        monkeypatch.setattr(fleet_collecting, "_engine", lambda name, wanted: engine)
        return engine

    return use


def good(asked: Asked, host: str) -> Answer:
    return Answer(host, row(asked, host), "exit status 1 without an answer")


def kept(store: FleetStore) -> dict[str, FleetRow]:
    return {each.host: each for each in store.rows()}


def test_rows_are_kept_and_what_is_none_is_a_failed_row_of_its_host(scripted: Callable[..., Scripted], tmp_path: Path) -> None:
    scripted(
        {
            "a1": good,
            "a2": lambda asked, host: Answer(host, b"", "no answer within 9 s"),
            "a3": lambda asked, host: Answer(host, row(asked, "a1")),
            "a4": lambda asked, host: Answer(host, row(asked, host, run="2020-01-01")),
            "a5": lambda asked, host: Answer(host, b"\x1b]0;x\x07{}\n[1]", "its answer is no row"),
            "a6": lambda asked, host: Answer(host, b"welcome to a6 {x}\n" + row(asked, host) + b"\n\n"),
            "a7": lambda asked, host: Answer(host, row(asked, host, cards="many")),
        }
    )
    store = FleetStore(tmp_path)
    done = collect(Wanted(engine="local", expect="a[1-2,8]", labels=["role=train"]), store)
    assert done.answered == ["a1", "a6"] and not done.waiting
    rows = kept(store)
    assert sorted(rows) == ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"] and {each.run for each in rows.values()} == {done.run}
    assert rows["a2"].failed == "no answer within 9 s" and rows["a2"].labels == {"role": "train"}
    assert rows["a3"].failed == "it answered as a1" and rows["a4"].failed == "it answered for another run, 2020-01-01"
    assert rows["a5"].failed and "cards" in rows["a7"].failed and "expected" in rows["a8"].failed
    assert sorted(place.partition(",")[0] for place in store.refused()) == ["a3", "a4", "a5", "a7"]


def test_rows_are_kept_as_they_arrive(scripted: Callable[..., Scripted], tmp_path: Path) -> None:
    def break_off(asked: Asked, host: str) -> Answer:
        raise KeyboardInterrupt

    scripted({"b1": good, "b2": break_off, "b3": good})
    with pytest.raises(KeyboardInterrupt):
        collect(Wanted(engine="local"), FleetStore(tmp_path))
    assert list(kept(FleetStore(tmp_path))) == ["b1"]


def test_what_hosts_are_asked(scripted: Callable[..., Scripted], tmp_path: Path) -> None:
    engine = scripted({"c1": good})
    collect(
        Wanted(engine="srun", labels=["role=train", "rack=r12"], validate="quick", command="nice '/opt/my doctor'"), FleetStore(tmp_path)
    )
    assert engine.asked is not None
    assert (engine.asked.command, engine.asked.arguments) == (["nice", "/opt/my doctor"], ("validate", "--quick", "--format", "row"))
    assert engine.asked.timeout == 300 and engine.asked.variables["GPUDOCTOR_LABELS"] == "role=train,rack=r12"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"labels": ["role"]}, "expected NAME=VALUE"),
        ({"labels": ["a=$(id)"]}, "expected NAME=VALUE"),
        ({"hosts": "x;y"}, "--hosts"),
        ({"hosts": "-oProxyCommand=id"}, "--hosts"),
        ({"hosts": "-v"}, "expected the name of a host"),
        ({"expect": "a[3-1]"}, "runs backwards"),
        ({"deploy": "/nowhere/gpudoctor.pyz"}, "No such file"),
        ({"command": "'open"}, "expected words as in a shell"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_asked(
    scripted: Callable[..., Scripted], tmp_path: Path, given: dict[str, str], says: str
) -> None:
    engine = scripted({"d1": good})
    with pytest.raises(CollectError, match=re.escape(says)):
        collect(Wanted(engine="local", **given), FleetStore(tmp_path))
    assert engine.asked is None and not list(tmp_path.iterdir())


def test_without_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    for wanted, says in ((Wanted(), "which hosts"), (Wanted(engine="dask", deploy=__file__[:-3] + ".py"), "expected gpudoctor.pyz")):
        with pytest.raises(CollectError, match=says):
            collect(wanted, FleetStore(tmp_path))


def test_the_screen_folds_hosts_by_reason(scripted: Callable[..., Scripted], tmp_path: Path) -> None:
    late = lambda asked, host: Answer(host, b"", "no answer within 9 s")  # noqa: E731
    scripted({"e1": good, "e2": late, "e3": late, "e4": lambda asked, host: Answer(host, b"", "ssh: connection refused")})
    done = CliRunner().invoke(group, ["fleet", "run", "--engine", "local", "--store", str(tmp_path)], standalone_mode=False)
    assert done.return_value == 4
    assert done.output == (
        "1 of 4 hosts answered.\n\nNo result:\n  e[2-3] (2): no answer within 9 s\n  e4: ssh: connection refused\n\n"
        f"Next: gpudoctor fleet show --store {tmp_path}\n"
    )


def test_an_engine_that_cannot_begin_is_wrong_usage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def cannot(name: str, wanted: Wanted) -> Scripted:
        raise EngineError("there is no program srun")

    monkeypatch.setattr(fleet_collecting, "_engine", cannot)
    done = CliRunner().invoke(group, ["fleet", "run", "--engine", "srun", "--store", str(tmp_path)])
    assert done.exit_code == 2 and "there is no program srun" in done.output


def test_the_row_is_the_last_object_of_an_answer() -> None:
    assert last_row(b'{"a": 1}\n{"b": 2}\nbye') == b'{"b": 2}'
    assert last_row(b'{"a": 1') is None and last_row(b"") is None and last_row(b"{\xff}") is None
    assert last_row(b"[" * 9000 + b"\n" + b'{"a":' * 9000 + b"}") is None
    assert last_row(b"x" * (LARGEST_READ + 1) + b'\n{"a": 1}') is None


@pytest.mark.parametrize(
    ("status", "output", "errors", "says"),
    [
        (255, b"", b"ssh: connect to host gpu07 port 22: Connection refused", "ssh: connection refused"),
        (255, b"", b"root@gpu07: Permission denied (publickey).", "ssh: permission denied"),
        (255, b'{"sch', b"Connection to 198.18.0.7 closed by remote host.", "ssh: the connection was closed"),
        (255, b"", b"kex of gpu07: odd", "ssh: kex of HOST: odd"),
        (127, b"", b"sh: 1: gpudoctor: not found", "the command is not there (sh: 1: gpudoctor: not found)"),
        (0, b"hello", b"", "its answer is no row"),
        (1, b'{"schema": "gpu', b"", "its answer broke off in the middle"),
        (3, b"", b"first\ngpu07: \x1b[31mbad\n", "exit status 3 without an answer: HOST:  [31mbad"),
        (None, b"", b"", "it ended without an answer"),
    ],
)
def test_reasons_are_short_and_without_the_name_of_the_host(status: int | None, output: bytes, errors: bytes, says: str) -> None:
    assert why_none("gpu07", status, output, errors).startswith(says)


def test_the_help_names_the_default_times() -> None:
    shown = CliRunner().invoke(group, ["fleet", "run", "--help"]).output
    times = fleet_collecting.SECONDS
    assert f"{times['']:g}, or {times['quick']:g} with --validate" in " ".join(shown.split())
