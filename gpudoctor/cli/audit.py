"""gpudoctor audit: will these dependencies run on this device's backend?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from gpudoctor.cli import FINDINGS, OK, UNKNOWN, BadInput
from gpudoctor.cli.given_python import check_python
from gpudoctor.cli.output import deliver, terminal
from gpudoctor.cli.progress import StatusLine

FRAMEWORKS = {"tensorflow": "cuda, rocm, xpu, directml or mps", "jax": "cuda, rocm, xpu or mps"}


@click.command("audit")
@click.argument("files", nargs=-1, metavar="[FILE…]")
@click.option(
    "--backend", metavar="NAME", help="xpu, rocm, cuda, directml, opencl, ipu, openvino, onnxruntime, mps, cpu; default: this machine's."
)
@click.option("--python", metavar="PATH", help="Audit this environment (without FILE); with FILE, its Python is the target.")
@click.option("--capture", metavar="PATH", help="Use a recorded machine instead of this one.")
@click.option("--format", "form", type=click.Choice(["text", "json", "github", "sarif"]), default="text", help="Output format.")
@click.option("-o", "--output", metavar="FILE", help="Write to FILE instead of standard output.")
@click.option("--fail-on", type=click.Choice(["error", "warning", "never"]), default="error", help="Lowest severity that exits 1 (error).")
@click.option("--offline/--online", default=True, help="--online: have pip resolve each proposed line against its index.")
@click.option("--no-color", is_flag=True, help="No colour, as with NO_COLOR set or in a pipe.")
@click.option("-v", "--verbose", is_flag=True, help="Show packages that work too, and the sources.")
@click.option("-q", "--quiet", is_flag=True, help="Show errors and warnings only.")
def command(files: Sequence[str], **given: Any) -> int:
    """Check dependencies against a device: wrong builds and indexes, conflicting versions, and the line to write instead.

    FILE: requirements*.txt, pyproject.toml, setup.cfg, setup.py, Pipfile, a lock file (uv, poetry, pdm, pylock, Pipfile,
    conda-lock), environment.yml, a Dockerfile or compose file. Without FILE: what is installed. Nothing is executed.
    """
    from gpudoctor.model.audit import FormatError
    from gpudoctor.services import auditing, checking

    check_python(given["python"], given["capture"])
    backend = _backend(given["backend"])
    request = auditing.AuditRequest(
        files=files, backend=backend, python=given["python"], capture=given["capture"], online=not given["offline"]
    )
    line = StatusLine(quiet=given["quiet"])
    try:
        audit = auditing.audit(request, line.looking)
    except (*checking.BAD_INPUT, FormatError) as error:
        raise BadInput(str(error)) from error
    except auditing.BackendUnknown as error:
        line.wipe()
        click.echo(f"gpudoctor: {error}", err=True)
        return UNKNOWN
    finally:
        line.wipe()
    if given["form"] == "text":
        from gpudoctor.reporters.audit import audit_text

        place = terminal(given["no_color"], to_file=given["output"] not in (None, "-"))
        text = audit_text.render(audit, place, verbose=given["verbose"], quiet=given["quiet"])
    else:
        from gpudoctor.reporters.audit import audit_json

        text = {"json": audit_json.render, "github": audit_json.github, "sarif": audit_json.sarif}[given["form"]](audit)
    deliver(text, given["output"])
    levels = {"error": ("error",), "warning": ("error", "warning"), "never": ()}[given["fail_on"]]
    return FINDINGS if any(audit.count(level) for level in levels) else OK


def _backend(name: str | None) -> str | None:
    from gpudoctor.knowledge.stack_names import backend_of, suggestion
    from gpudoctor.model.audit import BACKENDS

    if name is None or backend_of(name, BACKENDS) in BACKENDS:
        return name
    if name in FRAMEWORKS:
        raise BadInput(f"--backend {name}: {name} runs on several backends; give one of {FRAMEWORKS[name]}")
    raise BadInput(f"--backend {name}: there is no such backend{suggestion(name, BACKENDS)}; give one of {', '.join(BACKENDS)}")
