"""Which program wrote a line: the head of a syslog or journal line, of a `program: message`, and the name of a logger.

A program that has nothing to do with computing on a GPU has troubles of its own: its 'out of memory' is no message of a framework.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from gpudoctor.model.lazy_pattern import lazy

LONGEST = 400
"""Letters of a line in which its head stands."""
_STAMP = r"(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,16})"
_PROGRAM = r"(?P<program>[\w./@+-]{1,80}?)(?:\.exe)?"
_SYSLOG = lazy(rf"^(?:<\d{{1,3}}>)?{_STAMP} [\w.-]{{1,80}} {_PROGRAM}(?:\[\d{{1,9}}\])?: ")
_WITH_ITS_NUMBER = lazy(rf"^{_PROGRAM}\[\d{{1,9}}\]: ")
_NAMED = lazy(rf"^{_PROGRAM}: ")
_STAMPED = lazy(rf"^\[?{_STAMP}\S{{0,12}}\]? +|^\[ *\d+\.\d+\] +|^\d\d:\d\d:\d\d\S{{0,8}} +")
_LOGGER = lazy(
    r"^(?:\S{1,20} +)?(?:[A-Z]{4,8} ?[:\-]? ?)?(?:\d{1,8} )?(?:- |--- )?(?:\[[^\]]{1,40}\] +)?"
    r"(?P<name>[A-Za-z]\w{1,40}(?:\.[\w$]{1,60}){0,8})"
    r"(?= - |: | : |:[A-Za-z]|\] )"
)
"""'sqlalchemy.pool - ERROR - …', 'ERROR:sqlalchemy.pool:…', 'ERROR [main] org.apache.kafka.clients: …', 'psycopg2.OperationalError: …'."""
_OF_POSTGRES = lazy(r"^(?:UTC |[A-Z]{3,4} )?\[\d{1,9}\](?:: \[\d+-\d+\])? (?:\S{1,60}@\S{1,60} )?(?:ERROR|FATAL|PANIC|WARNING):  ")
"""What the server writes behind the time, without its name."""


class _Others(Struct, frozen=True):
    """The programs of the data file."""

    names: frozenset[str]
    stems: tuple[str, ...]
    loggers: tuple[str, ...]
    begins: tuple[str, ...]


@cache
def _others() -> _Others:
    from gpudoctor.model.package_data import data_table  # imported late: most runs never need the table

    table = data_table("other-programs")
    named = [name for group in table["program"].values() for name in group]
    return _Others(
        frozenset(name for name in named if not name.endswith("*")), tuple(name[:-1] for name in named if name.endswith("*")),
        tuple(table["logger"]["names"]), tuple(table["begins"]["forms"]),
    )  # fmt: skip


def other_program(line: str) -> str:
    """The program that wrote the line, if it is one that computes nothing on a GPU; empty for any other, and where none is named."""
    text = line[:LONGEST].strip()
    found = _SYSLOG.match(text) or _WITH_ITS_NUMBER.match(text)
    if found:
        name = _plain(found["program"])
        return name if _is_other(name, _others()) else ""
    stamped = _STAMPED.match(text)
    message = text[stamped.end() :] if stamped else text
    if stamped and _OF_POSTGRES.match(message):
        return "postgres"
    return _named(message)


def _named(text: str) -> str:
    others, small = _others(), text.lower()
    form = next((form for form in others.begins if small.startswith(form)), "")
    if form:
        return form.strip()
    found = _NAMED.match(text)
    if found and _is_other(name := _plain(found["program"]), others):
        return name
    logger = _LOGGER.match(text)
    name = logger["name"].lower() if logger else ""
    return name if name and any(name == other or name.startswith(f"{other}.") for other in others.loggers) else ""


def _plain(program: str) -> str:
    return program.rpartition("/")[2].lower()


def _is_other(name: str, others: _Others) -> bool:
    return name in others.names or name.startswith(others.stems)
