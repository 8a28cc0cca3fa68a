"""A machine behind ssh: sshd in a Debian root on a free port of loopback, and an ssh that is given a key for it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from debian_root import PACKAGES, DebianRoot

SSHD = (*PACKAGES, "openssh-server")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def serving(root: DebianRoot, folder: Path, *, options: tuple[str, ...] = ()) -> Iterator[dict[str, str]]:
    """The environment for a gpudoctor that reaches the root as `--host there`: a PATH whose `ssh` reads a configuration of this test."""
    folder.mkdir(parents=True, exist_ok=True)
    key, port = folder / "key", free_port()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    root.write("/root/.ssh/authorized_keys", key.with_suffix(".pub").read_text(), 0o600)
    root.here("/root/.ssh").chmod(0o700)
    root.here("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    root.run(["ssh-keygen", "-A"])
    given = [
        word for option in ("StrictModes=no", "UsePAM=no", f"Port={port}", "ListenAddress=127.0.0.1", *options) for word in ("-o", option)
    ]
    server = root.start(["/usr/sbin/sshd", "-D", "-e", *given], log=folder / "sshd.log")
    configuration = folder / "config"
    configuration.write_text(
        f"Host there\n HostName 127.0.0.1\n Port {port}\n User root\n IdentityFile {key}\n IdentitiesOnly yes\n"
        f" StrictHostKeyChecking accept-new\n UserKnownHostsFile {folder / 'known_hosts'}\n"
    )
    program = folder / "bin" / "ssh"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {configuration} "$@"\n')
    program.chmod(0o755)
    try:
        for _ in range(100):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    finally:
        server.terminate()
        server.wait(10)
