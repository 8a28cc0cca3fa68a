"""A clean Debian root to change and to compare: made once by debootstrap, unpacked per test, entered in a private mount namespace.

    with DebianRoot.fresh(suite="bookworm") as root:
        before = root.state()
        root.run(["apt-get", "install", "-y", "hello"])
        assert root.state().differences(before) == []

Needs root, debootstrap and a Debian mirror: the one of this machine's apt sources, or $GPUDOCTOR_TEST_MIRROR.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from environments import cache

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGES = ("python3", "python3-venv", "ca-certificates")
WATCHED = ("/etc", "/root", "/home")
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C", "TERM": "dumb"}
_NOT_COMPARED = re.compile(r"/etc/[^/]*-|/etc/ld\.so\.cache")
_RECIPE = "3"
"""Raised when `_build` changes, so that no old tarball is taken."""

# Entered without a new PID namespace: what a killed parent leaves behind lives on, as on a real machine.
_ENTER = """set -e
root=$1; shift
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mkdir -p "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
while [ "$1" != -- ]; do
  mkdir -p "$root$2"
  mount --bind "$1" "$root$2"
  mount -o remount,bind,ro "$root$2"
  shift 2
done
shift
cwd=$1; shift
exec chroot "$root" /usr/bin/env -i -C "$cwd" "$@"
"""


@dataclass(frozen=True)
class RootState:
    """What undo must restore. `packages`: name:arch -> 'version status'; `files`: path -> kind, mode, owner and checksum."""

    packages: Mapping[str, str]
    manual: frozenset[str]
    auto: frozenset[str]
    held: frozenset[str]
    files: Mapping[str, str]

    def differences(self, before: RootState) -> list[str]:
        """One line for each thing that is not as it was in `before`; empty where nothing is."""
        lines: list[str] = []
        for title, old, new in (("package", before.packages, self.packages), ("file", before.files, self.files)):
            for key in sorted(old.keys() | new.keys()):
                if old.get(key) != new.get(key):
                    lines.append(f"{title} {key}: was {old.get(key, 'not there')}, is {new.get(key, 'not there')}")
        for title, was, now in (
            ("manual", before.manual, self.manual),
            ("auto", before.auto, self.auto),
            ("held", before.held, self.held),
        ):
            lines += [f"{title} mark of {name}: gone" for name in sorted(was - now)]
            lines += [f"{title} mark of {name}: new" for name in sorted(now - was)]
        return lines


class DebianRoot:
    """One root. `path` is its folder as this machine sees it; `binds` are (source here, folder there), read-only in the root."""

    def __init__(self, path: Path, binds: Sequence[tuple[Path, str]] = ()) -> None:
        self.path = path
        self.binds = list(binds)

    @classmethod
    @contextlib.contextmanager
    def fresh(cls, suite: str = "bookworm", packages: Sequence[str] = PACKAGES) -> Iterator[DebianRoot]:
        """A root of its own for this test. `packages` beyond minbase are part of the cached tarball."""
        tarball = _tarball(suite, tuple(packages))
        folder = Path(tempfile.mkdtemp(prefix="gpudoctor-root-"))
        root = cls(folder / "root")
        try:
            root.path.mkdir(mode=0o755)
            subprocess.run(["tar", "--numeric-owner", "-xpf", str(tarball), "-C", str(root.path)], check=True)
            yield root
        finally:
            root.kill_all()
            shutil.rmtree(folder, ignore_errors=True)

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        check: bool = True,
        timeout: float = 900.0,
        stdin: str = "",
        cwd: str = "/root",
    ) -> subprocess.CompletedProcess[str]:
        """Runs it in the root to its end; both streams in `stdout`. `check`: AssertionError with the output where it failed."""
        done = subprocess.run(
            self._entered(argv, env, cwd),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
        )
        assert not check or done.returncode == 0, f"{' '.join(argv)} exited with {done.returncode}:\n{done.stdout}"
        return done

    def out(self, argv: Sequence[str], **options: object) -> str:
        return self.run(argv, **options).stdout  # type: ignore[arg-type]

    def start(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, log: Path | None = None) -> subprocess.Popen[bytes]:
        """Starts it in the root; `pid` is that of the program itself, in a session of its own. Output goes to `log`."""
        with contextlib.ExitStack() as stack:
            stream = stack.enter_context(open(log or os.devnull, "ab"))
            return subprocess.Popen(
                self._entered(argv, env, "/root"), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True
            )

    def bind_doctor(self) -> None:
        """Makes this working tree and the packages it needs readable in the root, for `doctor`."""
        import click

        site = Path(click.__file__).parents[1]
        self.binds += [(REPOSITORY, "/opt/gpudoctor"), (site, "/opt/site-packages")]

    def doctor_argv(self, arguments: Sequence[str]) -> list[str]:
        """`gpudoctor …` of this working tree as the root runs it."""
        if not any(there == "/opt/gpudoctor" for _, there in self.binds):
            self.bind_doctor()
        path = "PYTHONPATH=/opt/gpudoctor:/opt/site-packages"
        return ["env", path, "PYTHONDONTWRITEBYTECODE=1", "python3", "-m", "gpudoctor", *arguments]

    def doctor(self, arguments: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
        return self.run(self.doctor_argv(arguments), **options)  # type: ignore[arg-type]

    def processes(self) -> list[int]:
        """The PIDs of what runs in this root."""
        here = os.stat(self.path)
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError):
                    there = os.stat(f"/proc/{name}/root")
                    if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
                        found.append(int(name))
        return sorted(found)

    def kill_all(self, number: int = signal.SIGKILL) -> list[int]:
        """Kills everything that runs in this root, and waits for it to be gone. Returns the PIDs."""
        killed: list[int] = []
        for _ in range(200):
            living = [pid for pid in self.processes() if not _is_zombie(pid)]
            if not living:
                break
            for pid in living:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            killed += living
            time.sleep(0.02)
        return sorted(set(killed))

    def here(self, path: str) -> Path:
        """Where `path` of the root lies on this machine."""
        return self.path / path.lstrip("/")

    def read(self, path: str) -> str:
        return self.here(path).read_text(errors="replace")

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        target = self.here(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def state(self) -> RootState:
        listed = self.out(["dpkg-query", "-W", "-f=${binary:Package}:${Architecture}\t${Version} ${db:Status-Abbrev}\n"])
        packages = {}
        for line in listed.splitlines():
            name, _, rest = line.partition("\t")
            parts = name.split(":")
            packages[f"{parts[0]}:{parts[-1]}"] = rest.strip()
        return RootState(
            packages={name: rest for name, rest in packages.items() if not rest.split()[-1].startswith("un")},
            manual=self._marks("showmanual"),
            auto=self._marks("showauto"),
            held=self._marks("showhold"),
            files=dict(_listing(self.path, WATCHED)),
        )

    def apt_lists(self) -> list[str]:
        """Names below /var/lib/apt/lists, without apt's own lock and folders."""
        folder = self.here("/var/lib/apt/lists")
        return sorted(name for name in os.listdir(folder) if name not in ("lock", "partial", "auxfiles"))

    def _marks(self, which: str) -> frozenset[str]:
        return frozenset(self.out(["apt-mark", which]).split())

    def _entered(self, argv: Sequence[str], env: Mapping[str, str] | None, cwd: str) -> list[str]:
        binds = [text for source, there in self.binds for text in (str(source), there)]
        variables = [f"{name}={value}" for name, value in {**ENVIRONMENT, **(env or {})}.items()]
        namespace = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _ENTER, "sh"]
        return [*namespace, str(self.path), *binds, "--", cwd, *variables, *argv]


def _listing(root: Path, folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for top, names, files in os.walk(str(root) + folder):
            for name in sorted((*names, *files)):
                full = os.path.join(top, name)
                path = full[len(str(root)) :]
                if not _NOT_COMPARED.fullmatch(path):
                    yield path, _describe(full)


def _describe(full: str) -> str:
    found = os.lstat(full)
    text = f"{stat.filemode(found.st_mode)} {found.st_uid}:{found.st_gid}"
    if stat.S_ISLNK(found.st_mode):
        return f"{text} -> {os.readlink(full)}"
    if stat.S_ISREG(found.st_mode):
        with open(full, "rb") as stream:
            return f"{text} {hashlib.sha256(stream.read()).hexdigest()}"
    return text


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()[0] in ("Z", "X")
    except OSError:
        return True


def mirror() -> str:
    """The Debian mirror of this machine."""
    if os.environ.get("GPUDOCTOR_TEST_MIRROR"):
        return os.environ["GPUDOCTOR_TEST_MIRROR"]
    for folder in (Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))):
        if folder.is_file():
            found = re.search(r"^(?:URIs:|deb(?: \[[^]]*\])?) *(\S+/debian/?)(?:\s|$)", folder.read_text(errors="replace"), re.MULTILINE)
            if found:
                return found[1].rstrip("/")
    return "http://deb.debian.org/debian"


def _tarball(suite: str, packages: tuple[str, ...]) -> Path:
    key = hashlib.sha256("\n".join((_RECIPE, suite, mirror(), *sorted(packages))).encode()).hexdigest()[:12]
    target = cache() / "roots" / f"{suite}-{key}.tar"
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _build(suite, packages, target)
    return target


def _build(suite: str, packages: tuple[str, ...], target: Path) -> None:
    folder = Path(tempfile.mkdtemp(prefix="build-", dir=target.parent))
    try:
        root = DebianRoot(folder / "root")
        log = target.with_suffix(".log")
        with open(log, "wb") as stream:
            done = subprocess.run(
                ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", suite, str(root.path), mirror()],
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        assert done.returncode == 0, f"debootstrap failed; see {log}:\n{log.read_text(errors='replace')[-2000:]}"
        signed = "/usr/share/keyrings/debian-archive-keyring.gpg"
        root.here("/etc/apt/sources.list").unlink(missing_ok=True)
        root.write("/etc/apt/sources.list.d/debian.sources", _source(suite, signed))
        # No service is started in a root, and dpkg needs no fsync here.
        root.write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)
        root.write("/etc/dpkg/dpkg.cfg.d/unsafe-io", "force-unsafe-io\n")
        root.write("/etc/apt/apt.conf.d/99test", 'Acquire::Languages "none";\n')
        shutil.copy("/etc/resolv.conf", root.here("/etc/resolv.conf"))
        root.run(["apt-get", "update"])
        root.run(["apt-get", "clean"])
        part = target.with_suffix(".part")
        subprocess.run(["tar", "--numeric-owner", "-cpf", str(part), "-C", str(root.path), "."], check=True)
        part.rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _source(suite: str, keyring: str) -> str:
    return f"Types: deb\nURIs: {mirror()}\nSuites: {suite}\nComponents: main\nSigned-By: {keyring}\n"
