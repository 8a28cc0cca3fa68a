"""Real podman in a Debian root: entered by pivot_root in a mount namespace that lives as long as the test, and a `podman` for its PATH."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from debian_root import DebianRoot

PODMAN = ("python3", "ca-certificates", "podman", "crun", "busybox-static", "netavark")
IMAGE = "localhost/tiny:1"
NO_SHELL = "localhost/no-shell:1"
_HOLD = """set -e
root=$1
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mkdir -p "$root/before"
cd "$root" && pivot_root . before
echo ready
exec sleep 3600
"""
_MAKE = """set -e
mkdir -p /i/bin /i/etc /i/usr/bin /i/proc /i/sys /i/dev /i/tmp /n/etc
cp /bin/busybox /i/bin/busybox
for tool in sh cat head ls readlink stat env uname id printf sleep timeout mktemp rm; do ln -s busybox /i/bin/$tool; done
printf 'ID=tiny\\nVERSION_ID=1\\nPRETTY_NAME="Tiny Linux 1"\\n' > /i/etc/os-release
echo root:x:0:0::/:/bin/sh > /i/etc/passwd
cp /i/etc/passwd /n/etc/passwd
tar -C /i -cf /i.tar . && podman import -q /i.tar localhost/tiny:1
tar -C /n -cf /n.tar . && podman import -q /n.tar localhost/no-shell:1
"""
_ENVIRONMENT = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C")


class Podman:
    def __init__(self, holder: int, folder: Path) -> None:
        self._enter = ["nsenter", "-t", str(holder), "-m", "-r", "-w", *_ENVIRONMENT]
        program = folder / "bin" / "podman"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec {" ".join(self._enter)} podman "$@"\n')
        program.chmod(0o755)
        self.env: Mapping[str, str] = {**os.environ, "PATH": f"{program.parent}:/usr/sbin:/usr/bin:/sbin:/bin"}

    def run(self, words: Sequence[str], *, check: bool = True, stdin: IO[bytes] | None = None) -> str:
        done = subprocess.run([*self._enter, *words], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        assert not check or done.returncode == 0, f"{' '.join(words)} exited with {done.returncode}:\n{done.stdout}"
        return done.stdout


@contextlib.contextmanager
def podman(folder: Path) -> Iterator[Podman]:
    """Podman with two images: one with busybox, one without any program."""
    with DebianRoot.fresh(packages=PODMAN) as root:
        root.write("/etc/containers/storage.conf", '[storage]\ndriver="vfs"\nrunroot="/run/c"\ngraphroot="/var/c"\n')
        root.write(
            "/etc/containers/containers.conf",
            '[engine]\ncgroup_manager="cgroupfs"\nevents_logger="file"\nruntime="crun"\n[network]\nnetwork_backend="netavark"\n'
            '[containers]\ncgroups="disabled"\nnetns="host"\ndefault_ulimits=["nofile=1024:1024","nproc=1024:1024"]\n',
        )
        root.write("/etc/containers/policy.json", '{"default":[{"type":"insecureAcceptAnything"}]}')
        hold = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _HOLD, "sh", str(root.path)]
        holder = subprocess.Popen(hold, stdout=subprocess.PIPE, text=True)
        try:
            assert holder.stdout is not None and holder.stdout.readline() == "ready\n"
            engine = Podman(holder.pid, folder)
            engine.run(["sh", "-c", _MAKE])
            yield engine
            engine.run(["podman", "rm", "-f", "-a", "-t", "0"], check=False)
        finally:
            holder.kill()
            holder.wait()
