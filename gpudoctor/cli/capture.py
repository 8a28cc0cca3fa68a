"""`gpudoctor capture -o FILE`: record this machine, so that `check --capture FILE` says elsewhere what it would say here."""

from __future__ import annotations

from typing import Any

import click


@click.command("capture")
@click.option("-o", "--output", required=True, metavar="FILE", help="NAME.tar.gz, NAME.zip, or a folder (a name that ends in /).")
@click.option("--raw", is_flag=True, help="Keep names, addresses and serial numbers.")
@click.option("--python", metavar="PATH", help="The target interpreter or environment folder.")
@click.option(
    "--budget", type=click.FloatRange(min=0.1), default=60.0, show_default=True, metavar="SECONDS", help="One limit for all probes."
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when it worked.")
def command(output: str, raw: bool, python: str | None, budget: float, quiet: bool) -> None:
    """Record this machine into a file.

    Without --raw, user and host names, addresses, serial numbers, tokens and passwords are replaced.
    """
    from gpudoctor import __version__
    from gpudoctor.gather.collect import gather
    from gpudoctor.host.archive import check_output, write_capture
    from gpudoctor.host.base import CaptureError
    from gpudoctor.host.open_host import open_host
    from gpudoctor.host.recording import RecordingHost
    from gpudoctor.host.redact import Redactor
    from gpudoctor.probes.environment import PREFIXES, RELEVANT

    try:
        check_output(output)
        host = RecordingHost(open_host(None, budget, False, python))
        facts = gather(host).facts
        host.run(["id"])
        keep = {name for name in host.recording.environment if name in RELEVANT or name.startswith(PREFIXES)}
        distributions = facts.value("python.distributions", {})
        redactor = Redactor() if raw else Redactor.of_this_machine(protected=list(distributions))
        kind = str(facts.value("platform.kind", host.platform))
        removed = write_capture(
            host.recording,
            output,
            python_environment(facts),
            raw=raw,
            platform={"wsl1": "wsl2"}.get(kind, kind),
            keep_env=keep,
            redactor=redactor,
            recorder=f"gpudoctor {__version__}",
            host=host.platform,
            target=python,
        )
    except CaptureError as error:
        from gpudoctor.cli import BadInput

        raise BadInput(str(error)) from None
    if not quiet:
        what = ", ".join(f"{count} {name}" for name, count in sorted(removed.items())) or "nothing"
        click.echo(
            f"{output}: {len(host.recording.commands)} commands, {len(host.recording.texts)} files"
            + ("" if raw else f"; replaced: {what}"),
            err=True,
        )


def python_environment(facts: Any) -> dict[str, Any] | None:
    """python.json: what was learnt of the target environment; None where there is none."""
    executable = facts.value("python.executable")
    if not executable:
        return None
    said: dict[str, Any] = {"executable": executable}
    for key in ("version", "prefix", "kind", "why", "error", "externally_managed"):
        value = facts.value(f"python.{key}")
        if value is not None:
            said[key] = value
    said["distributions"] = plain(facts.value("python.distributions", {}))
    frameworks = facts.value("python.frameworks")
    if frameworks is not None:
        said["frameworks"] = plain(frameworks)
    return said


def plain(value: Any) -> Any:
    """Facts to JSON: what is not known becomes null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if isinstance(value, (str, int, float, bool)) or value is None else None
