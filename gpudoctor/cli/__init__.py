"""The command line. Importing this package imports click only; the module of a command loads when the command runs."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from gpudoctor import __version__

COMMANDS = {
    "check": ("gpudoctor.cli.check:command", "find what is broken on this machine and how to fix it"),
    "explain": ("gpudoctor.cli.explain:command", "do the same from a log, a traceback or a pasted issue"),
    "audit": ("gpudoctor.cli.audit:command", "check requirements and lock files against a device"),
    "guard": ("gpudoctor.cli.guard:command", "keep a working environment when other packages are installed"),
    "setup": ("gpudoctor.cli.setup:command", "install a stack from a recipe, verify it, undo it"),
    "validate": ("gpudoctor.cli.validate:command", "measure correctness and speed, and try known fixes"),
    "diff": ("gpudoctor.cli.diff:command", "show what changed between two runs or reports"),
    "report": ("gpudoctor.cli.report:command", "write one redacted file to attach to a bug report"),
    "capture": ("gpudoctor.cli.capture:command", "record this machine, to diagnose it elsewhere"),
    "mcp": ("gpudoctor.cli.mcp:command", "serve read-only tools to an AI assistant (MCP)"),
    "list": ("gpudoctor.cli.listing:command", "list the known checks, devices, facts, recipes and stacks"),
    "show": ("gpudoctor.cli.show:command", "show one check, recipe or stack in full"),
    "lint": ("gpudoctor.cli.lint:command", "for authors: find mistakes in check files"),
    "new": ("gpudoctor.cli.new:command", "for authors: create a check file"),
    "update-checks": ("gpudoctor.cli.update_checks:command", "take newer checks from a signed file or address"),
    "completion": ("gpudoctor.cli.completion:command", "print a completion script for bash, zsh or fish"),
}
SELDOM = ("lint", "new", "completion", "update-checks")
"""Commands that the help names in one line, so that it fits a terminal."""
ENVIRONMENT = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EFBIG, errno.EMFILE))
"""Errors of the environment, such as a full disk or a folder without write permission, which are no bug of this program."""
OK, FINDINGS, USAGE, BUG, UNKNOWN, INTERRUPTED = 0, 1, 2, 3, 4, 130


class Commands(click.Group):
    """A group whose commands are listed by name and imported when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items() if name not in SELDOM])
            formatter.write_text(f"Also: {', '.join(SELDOM)}; gpudoctor COMMAND --help explains each.")

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command '{_printable(args[0])}'{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="gpudoctor", message="%(prog)s %(version)s")
@click.option("--first-look", metavar="CAPTURE", hidden=True, help="The screen without a command, of a recorded machine.")
@click.pass_context
def group(ctx: click.Context, first_look: str | None) -> None:
    """\b
    Find out why deep learning doesn't work on your GPU, and how to fix it.
    Start with: gpudoctor check
    """
    if ctx.invoked_subcommand is not None:
        return
    if first_look is None and not sys.stdout.isatty():
        click.echo(ctx.get_help())
        return
    from gpudoctor.cli.first_look import show

    show(first_look)


def main(argv: Sequence[str] | None = None) -> None:
    """The console script. Every way out has its exit status and at most one line on standard error."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for name in ("stdout", "stderr"):  # closed by the parent process: what is written there goes nowhere
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))
    status = run(arguments)
    if status == INTERRUPTED:
        _end_at_once()
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """Runs a command line and returns its exit status."""
    try:
        status = group.main(args=_as_options(arguments), prog_name="gpudoctor", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else OK
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.UsageError as error:
        place = error.ctx.command_path if error.ctx else "gpudoctor"
        _complain(f"{_no_number(error) or error.format_message()} (see: {place} --help)")
        return USAGE
    except click.ClickException as error:
        _complain(error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _hush()
        return OK
    except MemoryError:
        _complain("reading the input takes more than 300 MB of memory; give a smaller file, or a part of it")
        return USAGE
    except Exception as error:
        if isinstance(error, OSError) and (error.errno in ENVIRONMENT or "temporary directory" in str(error)):
            _complain(f"{error.filename or 'the output'}: {error.strerror}")
            _hush()
            return USAGE
        if "-v" in arguments or "--verbose" in arguments:
            raise_to = import_module("traceback")
            raise_to.print_exc()
        last = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        _complain(f"this is a bug in gpudoctor {__version__}; please report it with the output of the same command and -v: {last}")
        return BUG


def _no_number(error: click.UsageError) -> str:
    """What an option that takes a number expects, where something else was given; empty for any other error."""
    option = error.param if isinstance(error, click.BadParameter) else None
    kind = option.type if option is not None else None
    if option is None or not isinstance(kind, (type(click.FLOAT), type(click.INT))):
        return ""
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    within = f" from {low:g} to {high:g}" if low is not None and high is not None else f" of at least {low:g}" if low else ""
    unit = " of seconds" if option.metavar == "SECONDS" else ""
    given = error.message.partition(" is not")[0]
    return f"{option.opts[0]} {given}: expected a number{unit}{within}"


def _as_options(arguments: list[str]) -> list[str]:
    """Translates `help`, `help COMMAND` and `version`, which many tools accept, into options."""
    first, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if first == "help":
        return [*rest[:1], "--help"]
    return ["--version", *rest] if first == "version" else arguments


def _end_at_once() -> None:
    """Ends the process after Ctrl-C: child processes are ended and temporary files removed; no thread is waited for, and a second Ctrl-C
    is ignored."""
    import atexit
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    processes = sys.modules.get("gpudoctor.system.processes")
    if processes is not None:
        processes.end_all()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(INTERRUPTED)


class BadInput(click.ClickException):
    """Input that cannot be used. The message says what to do instead."""

    exit_code = USAGE


def nearest(word: str, choices: Sequence[str] | dict[str, tuple[str, str]]) -> str:
    """'; did you mean …?' for a similar word; empty without one."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(choices), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""


def _complain(text: str) -> None:
    click.echo(f"gpudoctor: {_printable(' '.join(text.split()))}", err=True)


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


def _hush() -> None:
    """Redirects standard output to the null device, since nothing more can be written: the reader has gone, or the disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
