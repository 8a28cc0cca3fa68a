"""A package index of tiny wheels on 127.0.0.1 (PEP 503), as broken as a test wants it.

    with WheelIndex({"torch": "2.8.0+xpu", "numpy": ["1.26.4", "2.1.0"]}) as index:
        pip install --index-url index.url torch

The last folder of a path is the project, so every path above it is the same index: `index.url`, `index.at("whl/xpu")`.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import threading
import time
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, unquote

_CHUNK = 16_384


def normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclass(frozen=True)
class Wheel:
    """A wheel to be: `files` are paths in site-packages; without any there is a module named as the project that knows its version.

    `padding`: bytes of a data file that does not compress, for downloads that take their time.
    """

    name: str
    version: str
    requires: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    tag: str = "py3-none-any"
    requires_python: str = ""
    scripts: Mapping[str, str] = field(default_factory=dict)
    """Console scripts: name to `module:function`."""
    padding: int = 0

    @property
    def module(self) -> str:
        return re.sub(r"[-_.]+", "_", self.name)

    @property
    def filename(self) -> str:
        return f"{self.module}-{self.version}-{self.tag}.whl"

    def content(self) -> bytes:
        """The bytes of the wheel, the same on every call."""
        info = f"{self.module}-{self.version}.dist-info"
        metadata = [f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}"]
        metadata += [f"Requires-Dist: {line}" for line in self.requires]
        metadata += [f"Requires-Python: {self.requires_python}"] if self.requires_python else []
        contents: dict[str, bytes] = {path: text.encode() for path, text in self.files.items()}
        if not contents:
            contents[f"{self.module}/__init__.py"] = f"__version__ = {self.version!r}\n".encode()
        if self.padding:
            seed = hashlib.sha256(self.filename.encode()).digest()
            contents[f"{self.module}/padding.bin"] = b"".join(
                hashlib.sha256(seed + number.to_bytes(8, "big")).digest() for number in range(self.padding // 32)
            )
        contents[f"{info}/METADATA"] = ("\n".join(metadata) + "\n").encode()
        contents[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {self.tag}\n".encode()
        if self.scripts:
            lines = "\n".join(f"{name} = {target}" for name, target in self.scripts.items())
            contents[f"{info}/entry_points.txt"] = f"[console_scripts]\n{lines}\n".encode()
        record = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in contents.items()]
        contents[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode()
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, data in contents.items():
                archive.writestr(zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0)), data)
        return packed.getvalue()

    def write(self, folder: Path) -> Path:
        """The wheel as a file in `folder`, for --find-links and local requirements."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / self.filename
        path.write_bytes(self.content())
        return path


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def wheels(wanted: Mapping[str, str | Sequence[str]] | Iterable[Wheel]) -> list[Wheel]:
    """{'torch': '2.8.0+xpu', 'numpy': ['1.26.4', '2.1.0']} or wheels in full."""
    if not isinstance(wanted, Mapping):
        return list(wanted)
    return [Wheel(name, version) for name, said in wanted.items() for version in ([said] if isinstance(said, str) else said)]


class WheelIndex:
    """`wrong_hash`: projects whose page promises another checksum. `dies`: how many downloads of a project end in the middle (-1: all).

    `slow`: seconds that each download of a project takes. `requests`: paths asked for, in order. All may be changed while it serves.
    """

    def __init__(
        self,
        wanted: Mapping[str, str | Sequence[str]] | Iterable[Wheel],
        *,
        wrong_hash: Iterable[str] = (),
        dies: Mapping[str, int] | None = None,
        slow: Mapping[str, float] | None = None,
    ) -> None:
        self.files: dict[str, tuple[str, bytes]] = {}
        self.add(wanted)
        self.wrong_hash = {normalise(name) for name in wrong_hash}
        self.dies = {normalise(name): times for name, times in (dies or {}).items()}
        self.slow = {normalise(name): seconds for name, seconds in (slow or {}).items()}
        self.requests: list[str] = []
        self.downloading = threading.Event()
        """Set once the first bytes of a wheel went out."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def add(self, wanted: Mapping[str, str | Sequence[str]] | Iterable[Wheel]) -> None:
        for wheel in wheels(wanted):
            self.files[wheel.filename] = (normalise(wheel.name), wheel.content())

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return self.at("simple")

    def at(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path.strip('/')}"

    def __enter__(self) -> WheelIndex:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def page(self, project: str) -> str | None:
        links = []
        for name, (owner, content) in sorted(self.files.items()):
            if owner == project:
                digest = hashlib.sha256(b"another wheel" if owner in self.wrong_hash else content).hexdigest()
                links.append(f'<a href="/files/{quote(name)}#sha256={digest}">{name}</a><br>')
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>" if links else None

    def root(self) -> str:
        names = sorted({owner for owner, _ in self.files.values()})
        return "<!DOCTYPE html><html><body>" + "".join(f'<a href="{name}/">{name}</a><br>' for name in names) + "</body></html>"


def _handler_of(index: WheelIndex) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path.partition("?")[0])
            index.requests.append(path)
            last = path.rstrip("/").rpartition("/")[2]
            if last in index.files:
                self._send_wheel(*index.files[last])
                return
            page = index.page(normalise(last))
            if page is None and last not in ("", "simple", "whl"):
                self.send_error(404)
                return
            body = (page or index.root()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:
            self.send_error(405)

        def _send_wheel(self, project: str, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            left = index.dies.get(project, 0)
            if left:
                index.dies[project] = left - 1
            until = len(content) // 2 if left else len(content)
            pause = index.slow.get(project, 0.0) / (len(content) / _CHUNK + 1)
            try:
                for start in range(0, until, _CHUNK):
                    self.wfile.write(content[start : min(start + _CHUNK, until)])
                    index.downloading.set()
                    time.sleep(pause)
            except OSError:
                return
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            return

    return Handler
