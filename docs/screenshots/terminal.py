"""Writes the terminal session of the README: the picture check.svg, and the screen between its fences.

    python docs/screenshots/terminal.py

The machine is a recorded one of the tests, so that both come out alike everywhere.
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PICTURE = Path(__file__).parent / "check.svg"
COMMAND = ("check", "--capture", "tests/machines/arc-a750-old-kernel")
COLUMNS = 80
FONTS = re.compile(r"@font-face \{[^}]*\}\s*")  # they would be fetched from elsewhere
SCREEN = re.compile(r"(<!-- screen: [^\n]+ -->\n```\n)(.*?)(```\n)", re.DOTALL)


def main() -> None:
    README.write_text(SCREEN.sub(lambda found: found[1] + plain() + found[3], README.read_text("utf-8")), "utf-8")
    PICTURE.write_text(drawn(coloured()), "utf-8")


def plain() -> str:
    """What a pipe gets."""
    return subprocess.run(_argv(), capture_output=True, text=True, cwd=ROOT, env=_variables(), timeout=60, check=False).stdout


def coloured() -> str:
    """What a terminal gets, with its escape sequences."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(_argv(), stdout=theirs, stderr=subprocess.DEVNULL, stdin=theirs, cwd=ROOT, env=_variables()):
        os.close(theirs)
        received = bytearray()
        while block := _read(ours):
            received += block
    os.close(ours)
    return received.decode("utf-8").replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    """b'' at the end: Linux ends a terminal whose other side is closed with an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def drawn(screen: str) -> str:
    """The picture of a terminal, as SVG."""
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(f"$ gpudoctor check\n\n{screen.rstrip()}"))
    picture = FONTS.sub("", console.export_svg(title="gpudoctor", unique_id="gpudoctor"))
    return "\n".join(line.rstrip() for line in picture.splitlines()) + "\n"


def _argv() -> list[str]:
    return [sys.executable, "-m", "gpudoctor", *COMMAND]


def _variables() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "PYTHONPATH": str(ROOT)}


if __name__ == "__main__":
    main()
