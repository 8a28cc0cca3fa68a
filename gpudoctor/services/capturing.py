"""The service of `capture`: examines this machine as `check` does, keeps every answer, and redacts the recording."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from gpudoctor import __version__
from gpudoctor.capture.archive import capture_entries, check_output, write_entries
from gpudoctor.capture.open_host import open_host
from gpudoctor.capture.recording_host import RecordingHost
from gpudoctor.capture.redacted_capture import names_in, redact_entries
from gpudoctor.capture.tables import json_table
from gpudoctor.facts.collect import Gathered, Progress, gather
from gpudoctor.facts.measurement_store import LastRun
from gpudoctor.facts.probes.environment import PREFIXES, RELEVANT
from gpudoctor.model.check import Catalogue
from gpudoctor.model.deadline import Deadline
from gpudoctor.model.facts import Facts
from gpudoctor.model.toml_text import loads
from gpudoctor.privacy.pseudonyms import FILE, Pseudonyms
from gpudoctor.privacy.redactor import Redactor
from gpudoctor.privacy.technical_vocabulary import technical_words
from gpudoctor.services import checking
from gpudoctor.system.state_folder import state_folder
from gpudoctor.system.system_names import of_this_machine


class CaptureRequest(Struct, frozen=True, kw_only=True):
    """What `capture` is to record, and the archive or folder to write."""

    output: str
    python: str | None = None
    """The interpreter or environment to record; None is the active one."""
    budget: float = 60.0
    """Seconds for all probes."""
    raw: bool = False
    """Nothing is redacted."""


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
    recorded = record(request.python, request.budget)
    if request.raw:
        write_entries(recorded.entries, request.output)
        return Captured(commands=recorded.commands, files=recorded.files, replaced={})
    redactor = redactor_here(recorded.gathered.facts, checking.catalogue())
    write_entries(redact_entries(recorded.entries, redactor, recorded.variables), request.output)
    not_kept = keep_pseudonyms(redactor)
    return Captured(commands=recorded.commands, files=recorded.files, replaced=dict(redactor.counts), not_kept=not_kept)


def record(python: str | None, budget: float, quick: bool = False, progress: Progress | None = None) -> Recorded:
    """Records this machine. Raises system.host.CaptureError."""
    host = RecordingHost(open_host(None, budget, quick, python))
    gathered = gather(host, progress)
    host.run(["id"])
    kind = str(gathered.facts.value("platform.kind", host.platform))
    entries = capture_entries(
        host.recording, python_environment(gathered.facts), platform={"wsl1": "wsl2"}.get(kind, kind), recorder=f"gpudoctor {__version__}",
        host=host.platform, target=python,
    )  # fmt: skip
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
"""The limit, in CPU seconds, for searching a foreign recording for names: three times what an ordinary log takes."""


def redactor_here(facts: Facts, knowledge: Catalogue | None = None) -> Redactor:
    """The redactor for this machine: its names as the system knows them, and the pseudonyms of earlier reports."""
    pseudonyms = Pseudonyms()
    pseudonyms.load(state_folder() / FILE)
    names = of_this_machine([str(facts.value("python.prefix") or "")])
    return Redactor(names, technical_words(knowledge, facts), pseudonyms=pseudonyms)


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
    said: dict[str, Any] = {"executable": executable}
    for key in ("version", "prefix", "kind", "why", "error", "externally_managed"):
        value = facts.value(f"python.{key}")
        if value is not None:
            said[key] = value
    said["distributions"] = _plain(facts.value("python.distributions", {}))
    frameworks = facts.value("python.frameworks")
    if frameworks is not None:
        said["frameworks"] = _plain(frameworks)
    return said


def _plain(value: Any) -> Any:
    """The values of facts as JSON; unknown ones become null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool)) or value is None else None
