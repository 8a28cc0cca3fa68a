"""A client of the official MCP SDK: starts the server that its arguments name, makes the calls of a JSON list on standard input.

    python mcp_client.py SERVER WORDS…  < [{"tool": "check", "arguments": {…}, "cancel_after": 0.5}]

Runs in an environment that has the SDK; prints one JSON document.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters, stdio_client


async def main() -> None:
    calls: list[dict[str, Any]] = json.load(sys.stdin)
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ), cwd=os.getcwd())
    answers = []
    async with Client(stdio_client(server)) as client:
        tools = (await client.list_tools()).tools
        for call in calls:
            answers.append(await one(client, call))
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    print(json.dumps({"tools": listed, "answers": answers}))  # noqa: T201


async def one(client: Client, call: dict[str, Any]) -> dict[str, Any]:
    began = time.monotonic()
    said: dict[str, Any] = {"cancelled": True}
    with anyio.move_on_after(call.get("cancel_after", 120)):
        try:
            result = await client.call_tool(call["tool"], call["arguments"])
            said = {"error": result.is_error, "text": result.content[0].text}
        except MCPError as error:
            said = {"error": True, "text": str(error)}
    return {**said, "seconds": time.monotonic() - began}


anyio.run(main)
