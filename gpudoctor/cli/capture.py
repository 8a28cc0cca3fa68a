"""`gpudoctor capture -o FILE`: record this machine, so that `check --capture FILE` says elsewhere what it would say here."""

from __future__ import annotations

import click


@click.command("capture")
@click.option("-o", "--output", required=True, metavar="FILE", help="Write to NAME.tar.gz, NAME.zip, or a folder (a name that ends in /).")
@click.option("--raw", is_flag=True, help="Do not redact names, addresses, serial numbers and secrets.")
@click.option("--python", metavar="PATH", help="Interpreter or environment to record; default: the active one, ./.venv, python3.")
@click.option(
    "--budget", type=click.FloatRange(min=0.1), default=60.0, show_default=True, metavar="SECONDS", help="Time limit for all probes."
)
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
def command(output: str, raw: bool, python: str | None, budget: float, quiet: bool) -> None:
    """Record this machine, so that check --capture FILE can examine it elsewhere.

    Without --raw, user and host names, addresses, serial numbers, tokens and passwords are replaced.
    """
    from gpudoctor.capture.archive import check_output, write_entries
    from gpudoctor.capture.redacted_capture import redact_entries
    from gpudoctor.services import capturing, checking
    from gpudoctor.system.host import CaptureError

    counts: dict[str, int] = {}
    try:
        check_output(output)
        recorded = capturing.record(python, budget)
        entries = recorded.entries
        if not raw:
            redactor = capturing.redactor_here(recorded.gathered.facts, checking.catalogue())
            entries = redact_entries(entries, redactor, recorded.variables)
            counts = redactor.counts
        write_entries(entries, output)
        trouble = "" if raw else capturing.keep_pseudonyms(redactor)
    except CaptureError as error:
        from gpudoctor.cli import BadInput

        raise BadInput(str(error)) from None
    if not quiet:
        what = ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "nothing"
        click.echo(f"{output}: {recorded.commands} commands, {recorded.files} files" + ("" if raw else f"; replaced: {what}"), err=True)
        if trouble:
            click.echo(f"the list of what each pseudonym stands for was not saved: {trouble}", err=True)
