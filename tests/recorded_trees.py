"""Small recorded machines whose files a test may change while something watches them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gpudoctor.capture.recorded_host import RecordedHost, open_recorded


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / "files" / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def machine(folder: Path, files: Mapping[str, str]) -> RecordedHost:
    """`folder` may get further contents of the same files with `write`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "machine.toml").write_text('format = 1\ncomplete = false\nrecorder = "a test"\ntitle = "a tree"\nplatform = "linux"\n')
    write(folder, files)
    return open_recorded(str(folder))
