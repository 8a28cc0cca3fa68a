"""gpudoctor mcp: serves the tools of assistant_tools over standard input and output, with the official SDK (extra `mcp`)."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Mapping
from typing import Any

import click

from gpudoctor.cli import OK, BadInput
from gpudoctor.cli.given_python import check_python

AT_ONCE = 4
"""The number of calls that run at the same time; those that examine this machine run one after the other."""
WAITING = 12
"""The largest number of open calls."""
LOOKING, READING = 60.0, 20.0
"""Seconds for a call that examines this machine, and for one that reads recorded or pasted data."""


@click.command("mcp")
@click.option("--allow", multiple=True, metavar="PATH", help="A capture or report that the assistant may look at; may be repeated.")
@click.option("--python", metavar="PATH", help="The interpreter or environment to look at; default: as in check.")
def command(allow: tuple[str, ...], python: str | None) -> int:
    """Let an assistant look at this machine: a Model Context Protocol server on standard input and output.

    Its tools look and never act: check, show, list, plan (of a recipe, never carried out), diff. User and host names, addresses and
    secrets are taken out of the answers. An assistant names no path: it sees this machine and what --allow gives it.
    """
    from gpudoctor.cli.assistant_tools import Allowed, names_of

    check_python(python)
    try:
        import mcp.server.stdio  # noqa: F401
    except ImportError as error:
        raise BadInput(f"the MCP SDK is not installed here ({error.name or error}): {sys.executable} -m pip install 'mcp>=2,<3'") from error
    import anyio

    anyio.run(_serve, Allowed(files=names_of(allow), python=python))
    return OK


async def _serve(allowed: Any) -> None:
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    from gpudoctor import __version__
    from gpudoctor.cli.assistant_tools import TOOLS

    desk = Desk(allowed)

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        hints = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
        tools = [
            types.Tool(name=tool.name, title=tool.title, description=tool.description, input_schema=tool.schema(), annotations=hints)
            for tool in TOOLS
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text, failed = await desk.answer(params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(text=text)], is_error=failed)

    server: Any = Server(
        "gpudoctor", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool,
        instructions="Diagnoses why a GPU does not do deep learning. Start with check; show explains a finding by its id. "
        "Nothing here changes the machine: what is to be done, the person does.",
    )  # fmt: skip
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class Desk:
    """Runs calls in parallel, each in a process of its own, which is ended when the caller no longer waits."""

    def __init__(self, allowed: Any) -> None:
        import anyio

        self._allowed = allowed
        self._turn = anyio.CapacityLimiter(AT_ONCE)
        self._here = anyio.CapacityLimiter(1)
        self._calls = 0

    async def answer(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """The answer, and whether it is an error, which is always one line."""
        import anyio.to_thread

        wrong = refusal(name, dict(arguments))
        if wrong:
            return wrong, True
        if self._calls >= WAITING:
            return "gpudoctor is busy: too many calls wait already; ask again later", True
        stop = threading.Event()
        self._calls += 1
        try:
            async with contextlib.AsyncExitStack() as turns:
                if looks_here(name, arguments):  # two examinations of one card at a time would disturb each other
                    await turns.enter_async_context(self._here)
                work = functools.partial(answer_apart, name, dict(arguments), self._allowed, stop)
                done: tuple[str, bool] = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._turn)
                return done
        finally:
            stop.set()
            self._calls -= 1


def looks_here(name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether the call examines this machine and not recorded or given data."""
    if name in ("check", "plan"):
        return not arguments.get("capture")
    return name == "diff" and not arguments.get("after")


def answer_apart(name: str, arguments: dict[str, Any], allowed: Any, stop: threading.Event, limit: float | None = None) -> tuple[str, bool]:
    """Runs one call in a process of its own with a time limit; it ends as soon as `stop` is set."""
    import json

    from gpudoctor.system import isolated_calls

    limit = limit or (LOOKING if looks_here(name, arguments) else READING)
    given = {"name": name, "arguments": arguments, "files": dict(allowed.files), "python": allowed.python}
    helped = isolated_calls.call("gpudoctor.cli.mcp_call", given, limit=limit, stop=stop)
    if helped.problem == "stopped":
        return "cancelled", True
    if helped.problem == "timeout":
        return f"{name}: no answer after {limit:.0f} seconds, and it was given up; ask for less, or give a shorter text", True
    if helped.problem:
        return _line(f"{name}: the call did not come to an end ({helped.problem})", 300), True
    said = json.loads(helped.said)
    return said["text"], said["failed"]


def refusal(name: str, arguments: dict[str, Any]) -> str:
    """Why the call is refused: there is no such tool, or its arguments do not match its schema; empty where it is accepted."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped, unused-ignore]

    from gpudoctor.cli.assistant_tools import TOOLS

    tool = next((tool for tool in TOOLS if tool.name == name), None)
    if tool is None:
        return f"there is no tool '{_line(name, 60)}'; there are {', '.join(tool.name for tool in TOOLS)}"
    try:
        wrong = next(Draft202012Validator(tool.schema()).iter_errors(arguments), None)
    except RecursionError:
        return f"{name}: the arguments are nested too deep"
    if wrong is None:
        return ""
    place = "/".join(map(str, wrong.absolute_path))
    return _line(f"{name}: {place + ': ' if place else ''}{wrong.message}", 300)


def answer(name: str, arguments: dict[str, Any], allowed: Any, stop: threading.Event) -> tuple[str, bool]:
    """Runs one call, after its arguments were validated against the schema."""
    from gpudoctor import __version__
    from gpudoctor.cli.assistant_tools import TOOLS, Cancelled, bounded
    from gpudoctor.services import checking

    wrong = refusal(name, arguments)
    if wrong:
        return wrong, True
    tool = next(tool for tool in TOOLS if tool.name == name)
    try:
        return bounded(tool.run(arguments, allowed, stop)), False
    except BadInput as error:
        return _line(error.message, 600), True
    except Cancelled:
        return "cancelled", True
    except MemoryError:
        return f"{name}: what was given takes more than 300 MB of memory to read, and was given up; give a smaller file or text", True
    except checking.BAD_INPUT as error:
        return _line(str(error), 600), True
    except Exception as error:  # an assistant gets one line, as a person does
        return _line(f"a bug in gpudoctor {__version__}: {type(error).__name__}: {error}", 300), True


def _line(text: str, most: int) -> str:
    from gpudoctor.reporters.shared.escape import visible

    flat = " ".join(visible(text).split())
    return flat if len(flat) <= most else flat[:most] + " …"
