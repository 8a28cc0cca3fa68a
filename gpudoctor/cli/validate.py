"""gpudoctor validate: measure, show it while it runs, say what it means."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gpudoctor.cli import FINDINGS, OK, UNKNOWN, BadInput
from gpudoctor.cli.formats import MEASURED
from gpudoctor.cli.given_python import check_python

if TYPE_CHECKING:
    from gpudoctor.model.measurement import Measurement
    from gpudoctor.model.report import Report
    from gpudoctor.reporters.validation_text import Running
    from gpudoctor.validate.requests import Job
    from gpudoctor.validating import Validated, ValidateRequest

LAYERS = ("compute", "performance")


@click.command("validate")
@click.option("--quick", is_flag=True, help="What says most within a minute; this is the default.")
@click.option("--full", is_flag=True, help="Every workload, dtype and size that the device can do.")
@click.option("--workload", "workloads", metavar="A,B", help="These only; gpudoctor list workloads names them.")
@click.option("--task", "tasks", metavar="TASK", help="training, inference or micro; several with commas.")
@click.option("--batch", "batches", metavar="2,4,6", help="These batch sizes instead of the usual one.")
@click.option("--dtype", "dtypes", metavar="A,B", help="float32, float16, bfloat16 or float64.")
@click.option("--duration", type=float, metavar="SECONDS", help="Time for one measurement, after its warm-up.")
@click.option(
    "--device", "devices", multiple=True, metavar="DEVICE", help="Such as xpu:0, cuda:0, ocl:1, openvino:GPU.0, cpu; may be repeated."
)
@click.option("--python", metavar="PATH", help="The interpreter or environment to measure in; default: the active one, ./.venv, python3.")
@click.option(
    "--compile",
    "compiler",
    type=click.Choice(["none", "default", "reduce-overhead", "max-autotune"]),
    default="none",
    help="Modes of torch.compile.",
)
@click.option("--optimizer", type=click.Choice(["sgd", "adam"]), default="sgd", help="Of training steps.")
@click.option("--copies", is_flag=True, help="Copies to the device and back are inside the clock.")
@click.option("--preprocess", is_flag=True, help="So is the preparation of images on the host, and with it the copies.")
@click.option("--replicas", type=int, metavar="N", help="N processes at once, one per device, share each batch.")
@click.option("--dataset", metavar="DIR", help="A folder whose small files are read as a data loader reads them.")
@click.option("--operators", is_flag=True, help="Instead: the operators that real models use, one by one, forward and backward.")
@click.option("--try-fixes", is_flag=True, help="Instead: the workload with and without each known fix that applies, in turns.")
@click.option("--sweep-batch", is_flag=True, help="Instead: throughput, latency and memory against the batch, up to the end of memory.")
@click.option(
    "--max-latency", type=click.FloatRange(min=0, min_open=True), metavar="MS", help="With --replicas or --sweep-batch: picks the batch."
)
@click.option("--compare", multiple=True, metavar="OTHER.json", help="Beside that report of validate; given twice, nothing is measured.")
@click.option("--ignore", multiple=True, metavar="ID", help="Leave out this check.")
@click.option("--format", "form", type=click.Choice(MEASURED), default="text", help="json: the report of check, measurements in it.")
@click.option("-o", "--output", metavar="FILE", help="Write there instead of to standard output, whole or not at all.")
@click.option("--no-color", is_flag=True, help="No colour, as with NO_COLOR set or in a pipe.")
@click.option("-v", "--verbose", is_flag=True, help="Every note and source.")
@click.option("-q", "--quiet", is_flag=True, help="No moving table.")
def command(**given: Any) -> int:
    """Does it compute right, how fast, and is that what this device should do?

    Each measurement runs in a process of its own, in the target environment; whatever becomes of it, the others go on.
    """
    from gpudoctor import app, validating
    from gpudoctor.cli import validate_more

    request = _request(given)
    _end_as_interrupted()
    if validate_more.wanted(given):
        try:
            return validate_more.carry_out(given, request)
        except app.BAD_INPUT as error:
            raise BadInput(str(error)) from error
    other = validate_more.other(given)
    screen = Screen(given)
    try:
        done = validating.validate(request, screen.looking, screen)
    except app.BAD_INPUT as error:
        raise BadInput(str(error)) from error
    finally:
        screen.clear()
    return _say(done, given) if other is None else validate_more.beside(done, other, given)


def _end_as_interrupted() -> None:
    """A batch system or a closed terminal ends this like Ctrl-C does: workers are stopped and their files removed."""
    import signal
    import threading

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.default_int_handler)


def _request(given: Mapping[str, Any]) -> ValidateRequest:
    from gpudoctor.cli.project import ignored
    from gpudoctor.validate.requests import Asked
    from gpudoctor.validating import ValidateRequest

    check_python(given["python"])
    dataset = os.path.abspath(os.path.expanduser(given["dataset"])) if given["dataset"] else ""
    if dataset and not os.path.isdir(dataset):
        raise BadInput(f"--dataset {given['dataset']}: no such folder; give one with the files to read")
    asked = Asked(
        workloads=_words(given["workloads"]), tasks=_words(given["tasks"]), batches=_sizes(given["batches"]), duration=given["duration"],
        dtypes=_words(given["dtypes"]), full=given["full"], quick=given["quick"], compile=given["compiler"], optimizer=given["optimizer"],
        copies=given["copies"], preprocess=given["preprocess"], replicas=given["replicas"], max_latency=_max_latency(given),
        dataset=dataset,
    )  # fmt: skip
    devices = tuple(word for text in given["devices"] for word in _words(text))
    left_out = frozenset(ignored(given["ignore"], project_file=True))
    return ValidateRequest(python=given["python"], devices=devices, asked=asked, ignore=left_out)


def _max_latency(given: Mapping[str, Any]) -> float | None:
    """Of replicas; a sweep keeps its own."""
    return given["max_latency"] if not given["sweep_batch"] else None


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))


def _sizes(text: str | None) -> tuple[int, ...]:
    words = _words(text)
    if not all(word.isascii() and word.isdigit() and len(word) < 7 for word in words):
        raise BadInput(f"--batch {text}: expected numbers such as 2,4,6")
    return tuple(int(word) for word in words)


def _say(done: Validated, given: Mapping[str, Any]) -> int:
    from gpudoctor.cli.output import deliver, terminal

    if given["form"] != "text":
        from gpudoctor.cli.formats import render

        text = render(given["form"], _of_measurements(done.report) if given["form"] == "junit" else done.report)
    else:
        from gpudoctor.reporters import validation_text

        place = terminal(given["no_color"], to_file=given["output"] not in (None, "-"))
        text = validation_text.render(
            done.report, place, left_out=done.left_out, picks=done.picks, seconds=done.seconds, verbose=given["verbose"]
        )
    deliver(text, given["output"])
    if done.not_kept:
        click.echo(f"gpudoctor: gpudoctor check will not know of this: {done.not_kept}", err=True)
    if not done.targets:
        click.echo("gpudoctor: nothing to measure on: no framework works in this environment; gpudoctor check says why", err=True)
    return status(done)


def _of_measurements(report: Report) -> Report:
    """What this command's status is made of: the other checks are those of `check`."""
    from dataclasses import replace

    return replace(report, traces=(), findings=tuple(finding for finding in report.findings if finding.layer in LAYERS))


def status(done: Validated) -> int:
    """A failure, or a fault that measurements show, is a finding; nothing measured at all could not be told."""
    faults = [finding for finding in done.report.findings if finding.severity == "error" and finding.layer in LAYERS]
    if done.failed or faults:
        return FINDINGS
    return OK if any(each.status == "ok" for each in done.report.measurements) else UNKNOWN


class Screen:
    """The moving table (validating.Watcher): redrawn in place on a terminal, silent in a pipe."""

    MOST = 24
    """Lines: older ones scroll out of it."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        from gpudoctor.cli.output import terminal
        from gpudoctor.cli.progress import StatusLine

        self._line = StatusLine(quiet=given["quiet"])
        self._place = terminal(given["no_color"])
        self._on = sys.stderr.isatty() and not given["quiet"] and os.environ.get("TERM") != "dumb"
        self._rows: list[Running] = []
        self._waiting = 0
        self._drawn = 0

    def looking(self, name: str) -> None:
        self._line.looking(name)

    def planned(self, jobs: Sequence[Job]) -> None:
        self._line.wipe()
        self._waiting = len(jobs)

    def begins(self, job: Job) -> None:
        if self._on:
            from gpudoctor.reporters.validation_text import Running

            self._waiting = max(self._waiting - 1, 0)
            self._rows.append(Running(words=job.words(), stage="start"))
            self._draw()

    def stage(self, job: Job, stage: str, table: Mapping[str, Any]) -> None:
        if self._on and self._rows:
            from dataclasses import replace

            median = table.get("median_ms")
            detail = f"{table.get('iterations')} steps, {median:.4g} ms" if stage == "progress" and isinstance(median, float) else ""
            self._rows[-1] = replace(self._rows[-1], stage="measuring" if stage in ("progress", "measure") else stage, detail=detail)
            self._draw()

    def ends(self, job: Job, measured: Measurement) -> None:
        if self._on and self._rows:
            from dataclasses import replace

            self._rows[-1] = replace(self._rows[-1], measured=measured)
            self._draw()

    def _draw(self) -> None:
        from gpudoctor.reporters.validation_text import moving

        text = moving(self._rows[-self.MOST :], self._waiting, self._place)
        sys.stderr.write(f"\r{self._up()}\x1b[J{text}")
        sys.stderr.flush()
        self._drawn = text.count("\n")

    def _up(self) -> str:
        return f"\x1b[{self._drawn}A" if self._drawn else ""

    def clear(self) -> None:
        """The final table takes its place."""
        self._line.wipe()
        if self._on:
            sys.stderr.write(f"\r{self._up()}\x1b[J")
            sys.stderr.flush()
            self._drawn = 0
