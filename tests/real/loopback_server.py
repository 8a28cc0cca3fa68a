"""A folder served by HTTP on 127.0.0.1, which can be made to break while a file is on its way.

    with LoopbackServer(folder) as server:
        server.url                                  # http://127.0.0.1:PORT
        server.dies_at = "pool/small_1.0_all.deb"   # half of it, then nothing at all any more
        server.heal()

Good for apt repositories, Python indexes and downloads alike; asks for ranges are answered, folders are listed.
"""

from __future__ import annotations

import re
import socket
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType


class LoopbackServer:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dies_at = ""
        """A part of a path: its answer breaks off in the middle, and every later question goes unanswered."""
        self.dead = False
        self.asked: list[str] = []
        """The paths that were asked for, in order."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self, directory=str(folder)))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def heal(self) -> None:
        self.dies_at, self.dead = "", False

    def __enter__(self) -> LoopbackServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, owner: LoopbackServer, *arguments: object, directory: str) -> None:
        self.owner = owner
        super().__init__(*arguments, directory=directory)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self.owner.asked.append(self.path)
        if self.owner.dead:
            self._hang_up()
            return
        target = Path(self.translate_path(self.path))
        if not target.is_file():
            super().do_GET()
            return
        content = target.read_bytes()
        begin = 0
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted and int(wanted[1]) < len(content):
            begin = int(wanted[1])
        self.send_response(206 if begin else 200)
        self.send_header("Content-Type", self.guess_type(str(target)))
        self.send_header("Last-Modified", self.date_time_string(target.stat().st_mtime))
        self.send_header("Accept-Ranges", "bytes")
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - begin))
        self.end_headers()
        if self.owner.dies_at and self.owner.dies_at in self.path:
            self.owner.dead = True
            self.wfile.write(content[begin : begin + (len(content) - begin) // 2])
            self._hang_up()
            return
        self.wfile.write(content[begin:])

    def _hang_up(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: `owner.asked` has it."""
