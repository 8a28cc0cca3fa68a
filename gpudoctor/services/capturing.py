"""The service of `capture`: examines this machine as `check` does, keeps every answer, and redacts the recording."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from gpudoctor import __version__
from gpudoctor.capture.archive import capture_entries, check_output, write_entries
from gpudoctor.capture.open_host import open_host
from gpudoctor.capture.recorded_door import table_of
from gpudoctor.capture.recording_host import RecordingHost
from gpudoctor.capture.redacted_capture import names_in, redact_entries
from gpudoctor.capture.tables import json_table
from gpudoctor.facts.collect import Gathered, Progress, gather
from gpudoctor.facts.measurement_store import LastRun
from gpudoctor.facts.probes.environment import PREFIXES, RELEVANT
from gpudoctor.model.check import Catalogue
from gpudoctor.model.deadline import Deadline
from gpudoctor.model.door import Wanted
from gpudoctor.model.facts import Fact, Facts, Known
from gpudoctor.model.toml_text import loads
from gpudoctor.privacy.pseudonyms import FILE, Pseudonyms
from gpudoctor.privacy.redactor import Redactor
from gpudoctor.privacy.technical_vocabulary import technical_words
from gpudoctor.services import checking
from gpudoctor.system.state_folder import state_folder
from gpudoctor.system.system_names import Names, of_this_machine, together


class CaptureRequest(Struct, frozen=True, kw_only=True):
    """What `capture` is to record, and the archive or folder to write."""

    output: str
    python: str | None = None
    """The interpreter or environment to record; None is the active one."""
    budget: float = 60.0
    """Seconds for all probes."""
    raw: bool = False
    """Nothing is redacted."""
    door: Wanted | None = None
    """What is recorded in the place of this machine."""


class Captured(Struct, frozen=True, kw_only=True):
    """What was written: the number of recorded commands and files, and of replacements by their kind."""

    commands: int
    files: int
    replaced: Mapping[str, int]
    not_kept: str = ""
    """Why the list of pseudonyms could not be saved."""


class Recorded(Struct, frozen=True):
    """A recording of this machine before redaction."""

    gathered: Gathered
    entries: Mapping[str, bytes]
    variables: frozenset[str]
    """The environment variables whose values are kept by the redaction."""
    commands: int
    files: int


def capture(request: CaptureRequest) -> Captured:
    """Records this machine and writes the recording. Raises services.checking.BAD_INPUT."""
    check_output(request.output)
    recorded = record(request.python, request.budget, door=request.door)
    if request.raw:
        write_entries(recorded.entries, request.output)
        return Captured(commands=recorded.commands, files=recorded.files, replaced={})
    redactor = redactor_here(recorded.gathered.facts, checking.catalogue(), recorded.entries if request.door else {})
    write_entries(redact_entries(recorded.entries, redactor, recorded.variables), request.output)
    not_kept = keep_pseudonyms(redactor)
    return Captured(commands=recorded.commands, files=recorded.files, replaced=dict(redactor.counts), not_kept=not_kept)


def record(
    python: str | None, budget: float, quick: bool = False, progress: Progress | None = None, door: Wanted | None = None
) -> Recorded:
    """Records this machine, or what is behind the door. Raises system.host.CaptureError and system.host.DoorError."""
    given: dict[str, Fact] = {}
    if door is None:
        host = RecordingHost(open_host(None, budget, quick, python))
        gathered = gather(host, progress)
        host.run(["id"])
    else:
        from gpudoctor.services.beside import outside
        from gpudoctor.system.doors.opening import close_door, confirm_door, open_door

        inner = open_door(door, budget=budget, quick=quick, python=python)
        try:
            host, given = RecordingHost(inner), outside(inner)
            gathered = gather(host, progress, given=given)
            host.run(["id"])
            confirm_door(inner)
        finally:
            close_door(inner)
        python = inner.target_python
    kind = str(gathered.facts.value("platform.kind", host.platform))
    entries = capture_entries(
        host.recording, python_environment(gathered.facts), platform={"wsl1": "wsl2"}.get(kind, kind), recorder=f"gpudoctor {__version__}",
        host=host.platform, target=python, door=table_of(host),
    )  # fmt: skip
    if given:
        entries["beside.json"] = json_table({name: fact.value for name, fact in given.items() if isinstance(fact, Known)})
    variables = frozenset(name for name in host.recording.environment if _matters(name))
    return Recorded(gathered, entries, variables, len(host.recording.commands), len(host.recording.texts))


def variables_of(entries: Mapping[str, bytes]) -> frozenset[str]:
    """The variables of a recording whose values are kept; other variables of a person are private."""
    return frozenset(name for name in loads(entries.get("env.toml", b"").decode("utf-8", "replace")) if _matters(name))


def _matters(name: str) -> bool:
    return name in RELEVANT or name.startswith(PREFIXES)


def with_measurements(entries: Mapping[str, bytes], runs: Collection[LastRun]) -> dict[str, bytes]:
    """The same recording with the measurements of the last `validate` (measurements.json), so that it replays to the same findings."""
    if not runs:
        return dict(entries)
    rows = [{"date": run.date, "measurements": [each.to_json() for each in run.measurements]} for run in runs]
    return {**entries, "measurements.json": json_table({"runs": rows})}


LEAST_SECONDS, SECONDS_A_MEGABYTE = 4.0, 3.0
"""The limit, in CPU seconds, for searching a foreign recording for names: three times the time for an ordinary log."""


def redactor_here(facts: Facts, knowledge: Catalogue | None = None, entries: Mapping[str, bytes] | None = None) -> Redactor:
    """The redactor for this machine: its names as the system knows them, and the pseudonyms of earlier reports. `entries`: a recording of
    another system, whose names leave as well."""
    pseudonyms = Pseudonyms()
    pseudonyms.load(state_folder() / FILE)
    names = of_this_machine([str(facts.value("python.prefix") or "")])
    if entries:
        names = together(names, names_in(entries), _of_the_door(facts))
    return Redactor(names, technical_words(knowledge, facts), pseudonyms=pseudonyms)


def _of_the_door(facts: Facts) -> Names:
    """The name of the machine and the user that ssh was given."""
    if facts.value("looked_at.kind") != "host":
        return Names()
    user, _, machine = str(facts.value("looked_at.name")).rpartition("@")
    return Names(users=(user,) if user else (), hosts=(machine,))


def redactor_of(entries: Mapping[str, bytes], facts: Facts, knowledge: Catalogue | None = None) -> Redactor:
    """The redactor for a recorded machine: the names that were recorded, with pseudonyms of its own. Parts that take too long to search
    are left out."""
    seconds = LEAST_SECONDS + SECONDS_A_MEGABYTE * sum(map(len, entries.values())) / 1e6
    return Redactor(names_in(entries), technical_words(knowledge, facts), deadline=Deadline(seconds))


def keep_pseudonyms(redactor: Redactor) -> str:
    """Saves the pseudonyms in a private file of this machine. Returns why that failed; empty where it did not."""
    return redactor.pseudonyms.save(state_folder() / FILE)


def python_environment(facts: Facts) -> dict[str, Any] | None:
    """The content of python.json: what is known of the target environment; None where nothing is."""
    executable = facts.value("python.executable")
    if not executable:
        return None
    environment: dict[str, Any] = {"executable": executable}
    for key in ("version", "prefix", "kind", "why", "error", "externally_managed"):
        value = facts.value(f"python.{key}")
        if value is not None:
            environment[key] = value
    environment["distributions"] = _plain(facts.value("python.distributions", {}))
    frameworks = facts.value("python.frameworks")
    if frameworks is not None:
        environment["frameworks"] = _plain(frameworks)
    return environment


def _plain(value: Any) -> Any:
    """The values of facts as JSON; unknown ones become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool)) or value is None else None
