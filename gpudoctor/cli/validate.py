"""gpudoctor validate: measures, shows the progress, and explains the result."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gpudoctor.cli import FINDINGS, INTERRUPTED, OK, UNKNOWN, BadInput
from gpudoctor.cli.formats import MEASURED
from gpudoctor.cli.given_python import check_python

if TYPE_CHECKING:
    from rich.live import Live

    from gpudoctor.benchmark.job_plan import Job
    from gpudoctor.benchmark.own_model import OwnModel
    from gpudoctor.model.measurement import Measurement
    from gpudoctor.model.report import Report
    from gpudoctor.reporters.measurement.validation_text import Running
    from gpudoctor.services.validating import Validated, ValidateRequest

LAYERS = ("compute", "performance")
TOLD_FROM = 90.0
"""Seconds from which the expected duration of a run is announced."""


@click.command("validate")
@click.option("--quick", is_flag=True, help="Run the most informative workloads within a minute (default).")
@click.option("--full", is_flag=True, help="Run every workload, dtype and size that the device supports.")
@click.option("--workload", "workloads", metavar="A,B", help="Run only these; to list them: gpudoctor list workloads.")
@click.option("--task", "tasks", metavar="TASK", help="Run only these tasks: training, inference, micro.")
@click.option("--batch", "batches", metavar="2,4,6", help="Batch sizes, instead of the default one.")
@click.option("--dtype", "dtypes", metavar="A,B", help="Data types: float32, float16, bfloat16, float64.")
@click.option("--duration", type=float, metavar="SECONDS", help="Time per measurement, after the warm-up.")
@click.option(
    "--device", "devices", multiple=True, metavar="DEVICE", help="Measure only this device: xpu:0, cuda:0, ocl:1, openvino:GPU.0, cpu …"
)
@click.option("--python", metavar="PATH", help="Interpreter or environment to measure in; default: the active one, ./.venv, python3.")
@click.option(
    "--compile",
    "compiler",
    type=click.Choice(["none", "default", "reduce-overhead", "max-autotune"]),
    default="none",
    help="Mode of torch.compile.",
)
@click.option("--optimizer", type=click.Choice(["sgd", "adam"]), default="sgd", help="Optimizer of the training steps.")
@click.option("--copies", is_flag=True, help="Include copies to the device and back in the measured time.")
@click.option("--preprocess", is_flag=True, help="Include image preprocessing on the host and the copies in the measured time.")
@click.option("--replicas", type=int, metavar="N", help="Split each batch over N processes, one per device.")
@click.option("--dataset", metavar="DIR", help="Measure how fast a data loader reads the files of this folder.")
@click.option("--operators", is_flag=True, help="Test each operator that common models use, forward and backward.")
@click.option("--try-fixes", is_flag=True, help="Measure with and without each known fix that applies, in turns.")
@click.option("--sweep-batch", is_flag=True, help="Measure throughput, latency and memory at growing batch sizes until memory runs out.")
@click.option(
    "--model",
    metavar="MODEL",
    help="Measure your own model: model.onnx, or module:function (torch), which runs your code and gives (model, inputs).",
)
@click.option("--table", metavar="NAME", help="Measure a published table: dlprimitives, arc-a770, graphcore-c2. With --quick: small sizes.")
@click.option(
    "--max-latency",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MS",
    help="Latency limit for the batch that --replicas or --sweep-batch picks.",
)
@click.option("--compare", multiple=True, metavar="OTHER.json", help="Compare with that report; twice: compare both, measure nothing.")
@click.option("--ignore", multiple=True, metavar="ID", help="Skip this check.")
@click.option("--format", "form", type=click.Choice(MEASURED), default="text", help="Output format.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--no-color", is_flag=True, help="Disable colour, as NO_COLOR does.")
@click.option("-v", "--verbose", is_flag=True, help="Show every note and source.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def command(**given: Any) -> int:
    """Measure whether the device computes correctly, how fast, and how that compares with what it should reach.

    Each measurement runs in its own process in the target environment; if one fails, the others continue.
    """
    from gpudoctor.cli import validate_more
    from gpudoctor.cli.output import ensure_writable
    from gpudoctor.services import checking, validating

    request = _request(given)
    ensure_writable(given["output"])
    _end_as_interrupted()
    if validate_more.wanted(given):
        try:
            return validate_more.carry_out(given, request)
        except checking.BAD_INPUT as error:
            raise _refused(error) from error
    other = validate_more.other(given)
    screen = MeasurementScreen(given)
    try:
        done = validating.validate(request, screen.looking, screen)
    except checking.BAD_INPUT as error:
        raise _refused(error) from error
    finally:
        screen.clear()
    status = _say(done, given) if other is None else validate_more.beside(done, other, given)
    if done.interrupted:
        click.echo("gpudoctor: interrupted; the report holds what was finished", err=True)
        return INTERRUPTED
    return status


class BrokenEnvironment(BadInput):
    """The request is right, but the environment is broken."""

    exit_code = FINDINGS


def _refused(error: Exception) -> BadInput:
    """The error that ends the run: wrong usage, or a broken framework that was requested correctly."""
    from gpudoctor.services.checking import FrameworkBroken

    return BrokenEnvironment(str(error)) if isinstance(error, FrameworkBroken) else BadInput(str(error))


def _end_as_interrupted() -> None:
    """Treats SIGTERM and SIGHUP like Ctrl-C: a batch system or a closed terminal stops the workers, and their files are removed."""
    import signal
    import threading

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.default_int_handler)


def _request(given: Mapping[str, Any]) -> ValidateRequest:
    from gpudoctor.benchmark.job_plan import ValidateOptions
    from gpudoctor.cli.project import ignored
    from gpudoctor.services.validating import ValidateRequest

    check_python(given["python"])
    dataset = os.path.abspath(os.path.expanduser(given["dataset"])) if given["dataset"] else ""
    if dataset and not os.path.isdir(dataset):
        raise BadInput(f"--dataset {given['dataset']}: no such folder; give one with the files to read")
    options = ValidateOptions(
        workloads=_words(given["workloads"]), tasks=_words(given["tasks"]), batches=_sizes(given["batches"]), duration=given["duration"],
        dtypes=_words(given["dtypes"]), full=given["full"], quick=given["quick"], compile=given["compiler"], optimizer=given["optimizer"],
        copies=given["copies"], preprocess=given["preprocess"], replicas=given["replicas"], max_latency=_max_latency(given),
        dataset=dataset, model=_model(given["model"]),
    )  # fmt: skip
    devices = tuple(word for text in given["devices"] for word in _words(text))
    left_out = frozenset(ignored(given["ignore"], project_file=True))
    return ValidateRequest(python=given["python"], devices=devices, asked=options, ignore=left_out)


def _model(text: str | None) -> OwnModel | None:
    """The model that --model names. A remark says that it runs the person's own code."""
    if text is None:
        return None
    from gpudoctor.benchmark import own_model
    from gpudoctor.benchmark.job_plan import MeasurementRequestError

    try:
        found = own_model.read(text)
    except MeasurementRequestError as error:
        raise BadInput(str(error)) from error
    if found.kind == "function":
        click.echo(f"gpudoctor: --model {text} runs your code, with your rights: {found.function}() of {found.path}", err=True)
    return found


def _max_latency(given: Mapping[str, Any]) -> float | None:
    """The latency limit for --replicas; a sweep applies its own."""
    return given["max_latency"] if not given["sweep_batch"] else None


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))


def _sizes(text: str | None) -> tuple[int, ...]:
    words = _words(text)
    if not all(word.isascii() and word.isdigit() and len(word) < 7 for word in words):
        raise BadInput(f"--batch {text}: expected whole numbers separated by commas, such as 2,4,6")
    return tuple(int(word) for word in words)


def _say(done: Validated, given: Mapping[str, Any]) -> int:
    from gpudoctor.cli.output import deliver, terminal

    if given["form"] != "text":
        from gpudoctor.cli.formats import render

        text = render(given["form"], _of_measurements(done.report) if given["form"] == "junit" else done.report)
    else:
        from gpudoctor.reporters.measurement import validation_text

        place = terminal(given["no_color"], to_file=given["output"] not in (None, "-"))
        text = validation_text.render(
            done.report,
            place,
            left_out=done.left_out,
            picks=done.picks,
            seconds=done.seconds,
            verbose=given["verbose"],
            full_seconds=done.full_seconds,
        )
    try:
        deliver(text, given["output"])
    except BadInput:  # the disk may be full by now; the measurements must still be shown
        click.echo(text, nl=False)
        raise
    if done.not_kept:
        click.echo(f"gpudoctor: the results were not saved for gpudoctor check: {done.not_kept}", err=True)
    for line in done.broken:
        click.echo(f"gpudoctor: {line}; for the reason: gpudoctor check", err=True)
    if not done.targets and not done.broken:
        click.echo("gpudoctor: nothing was measured: no framework works in this environment; to find out why: gpudoctor check", err=True)
    return status(done)


def _of_measurements(report: Report) -> Report:
    """The part of the report that decides the exit status; the other checks belong to `check`."""
    from msgspec.structs import replace

    return replace(report, traces=(), findings=tuple(finding for finding in report.findings if finding.layer in LAYERS))


def status(done: Validated) -> int:
    """The exit status: 1 for a failed measurement and for a fault that measurements show, 4 where nothing could be measured."""
    faults = [finding for finding in done.report.findings if finding.severity == "error" and finding.layer in LAYERS]
    if done.failed or faults or (done.broken and not done.targets):
        return FINDINGS
    return OK if any(each.status == "ok" for each in done.report.measurements) else UNKNOWN


class MeasurementScreen:
    """The table of running measurements (benchmark.measurement_listener), redrawn in place on a terminal and not shown in a pipe."""

    MOST = 24
    """The number of rows; older ones scroll out of the table."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        from gpudoctor.cli.output import terminal
        from gpudoctor.cli.progress import StatusLine

        self._line = StatusLine(quiet=given["quiet"])
        self._place = terminal(given["no_color"])
        self._on = sys.stderr.isatty() and not given["quiet"] and os.environ.get("TERM") != "dumb"
        self._rows: list[Running] = []
        self._waiting, self._seconds = 0, 0.0
        self._tells = not given["quiet"]
        self._no_colour = given["no_color"]
        self._live: Live | None = None

    def looking(self, name: str) -> None:
        self._line.looking(name)

    def planned(self, jobs: Sequence[Job], seconds: float) -> None:
        self._line.wipe()
        self._waiting, self._seconds = len(jobs), seconds
        if self._tells and seconds > TOLD_FROM:
            from gpudoctor.reporters.measurement.validation_text import duration_text

            several = "" if len(jobs) == 1 else "s"
            click.echo(f"gpudoctor: {len(jobs)} measurement{several}, about {duration_text(seconds)}", err=True)

    def left(self, seconds: float) -> None:
        self._seconds = seconds
        if self._on:
            self._draw()

    def begins(self, job: Job) -> None:
        if self._on:
            from gpudoctor.reporters.measurement.validation_text import Running

            self._waiting = max(self._waiting - 1, 0)
            self._rows.append(Running(words=job.words(), stage="start"))
            self._draw()

    def stage(self, job: Job, stage: str, table: Mapping[str, Any]) -> None:
        if self._on and self._rows:
            from msgspec.structs import replace

            median = table.get("median_ms")
            detail = f"{table.get('iterations')} steps, {median:.4g} ms" if stage == "progress" and isinstance(median, float) else ""
            self._rows[-1] = replace(self._rows[-1], stage="measuring" if stage in ("progress", "measure") else stage, detail=detail)
            self._draw()

    def ends(self, job: Job, measured: Measurement) -> None:
        if self._on and self._rows:
            from msgspec.structs import replace

            self._rows[-1] = replace(self._rows[-1], measured=measured)
            self._draw()

    def _draw(self) -> None:
        from gpudoctor.reporters.measurement.validation_text import moving

        table = moving(self._rows[-self.MOST :], self._waiting, self._seconds, self._place)
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            console = Console(file=sys.stderr, color_system=None if self._no_colour else "auto")
            self._live = Live(table, console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
            self._live.start()
        self._live.update(table, refresh=True)

    def clear(self) -> None:
        """Removes the table, before the final one is written."""
        self._line.wipe()
        if self._live is not None:
            self._live.stop()
            self._live = None
