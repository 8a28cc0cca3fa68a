"""gpudoctor mcp: the tools of assistant_tools over standard input and output, by the official SDK (extra `mcp`)."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

import click

from gpudoctor.cli import OK, BadInput

WAITING = 8
"""Calls that may wait for their turn; looks at a machine are taken one after the other."""


@click.command("mcp")
@click.option("--allow", multiple=True, metavar="PATH", help="A capture or report that the assistant may look at; may be repeated.")
@click.option("--python", metavar="PATH", help="The interpreter or environment to look at; default: as in check.")
def command(allow: tuple[str, ...], python: str | None) -> int:
    """Let an assistant look at this machine: a Model Context Protocol server on standard input and output.

    Its tools look and never act: check, show, list, plan (of a recipe, never carried out), diff. User and host names, addresses and
    secrets are taken out of the answers. An assistant names no path: it sees this machine and what --allow gives it.
    """
    from gpudoctor.cli.assistant_tools import Allowed, names_of

    if python and not os.path.lexists(os.path.expanduser(python)):
        raise BadInput(f"--python {python}: no such interpreter or environment folder; give one that exists")
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
    """Takes calls one after the other, each in a thread that is told when nobody waits any more."""

    def __init__(self, allowed: Any) -> None:
        import anyio

        self._allowed = allowed
        self._turn = anyio.CapacityLimiter(1)
        self._calls: set[threading.Event] = set()

    async def answer(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """(text, whether it is an error). One line for whatever goes wrong."""
        import anyio.to_thread

        if len(self._calls) >= WAITING:
            return "gpudoctor is busy: too many calls wait already; ask again later", True
        stop = threading.Event()
        self._calls.add(stop)
        begun = False

        def work() -> tuple[str, bool]:
            nonlocal begun
            begun = True
            try:
                return answer(name, dict(arguments), self._allowed, stop)
            finally:
                self._calls.discard(stop)  # a call that was given up counts until its thread has ended

        try:
            done: tuple[str, bool] = await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._turn)
            return done
        finally:
            stop.set()
            if not begun:
                self._calls.discard(stop)


def answer(name: str, arguments: dict[str, Any], allowed: Any, stop: threading.Event) -> tuple[str, bool]:
    """One call: its arguments held against the schema, then the tool."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped, unused-ignore]

    from gpudoctor import __version__, app
    from gpudoctor.cli.assistant_tools import TOOLS, Cancelled, bounded

    tool = next((tool for tool in TOOLS if tool.name == name), None)
    if tool is None:
        return f"there is no tool '{_line(name, 60)}'; there are {', '.join(tool.name for tool in TOOLS)}", True
    wrong = next(Draft202012Validator(tool.schema()).iter_errors(arguments), None)
    if wrong is not None:
        place = "/".join(map(str, wrong.absolute_path))
        return _line(f"{name}: {place + ': ' if place else ''}{wrong.message}", 300), True
    try:
        return bounded(tool.run(arguments, allowed, stop)), False
    except BadInput as error:
        return _line(error.message, 600), True
    except Cancelled:
        return "cancelled", True
    except app.BAD_INPUT as error:
        return _line(str(error), 600), True
    except Exception as error:  # an assistant gets one line, as a person does
        return _line(f"a bug in gpudoctor {__version__}: {type(error).__name__}: {error}", 300), True


def _line(text: str, most: int) -> str:
    from gpudoctor.reporters.escape import visible

    flat = " ".join(visible(text).split())
    return flat if len(flat) <= most else flat[:most] + " …"
