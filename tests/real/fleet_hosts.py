"""Hosts of a fleet on one machine: each has a network namespace, a name, an sshd and a recorded machine behind gpudoctor.

What a host does when it is asked stands in /etc/fleet/NAME of the root that they share: `machine NAME` answers as that recorded machine of
tests/machines, the others are in BEHAVIOURS.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from debian_root import PACKAGES, DebianRoot

FLEET = (
    *PACKAGES, "openssh-server", "openssh-client", "iproute2", "iputils-ping", "slurmctld", "slurmd", "slurm-client", "munge",
)  # fmt: skip
BEHAVIOURS = """
  hang) exec sleep 600 ;;
  die) printf '{"schema":"gpudoctor.row/1","host":"%s","run":' "$(hostname)"; sleep 0.2; kill -9 $(ps_of_sshd) ;;
  garbage) head -c 3000 /dev/urandom; printf '\\033]0;owned\\007 no row at all\\n'; exit 0 ;;
  flood) while :; do printf '%01000d' 0; done ;;
  long) head -c 60000 /dev/zero | tr '\\0' x; echo; exit 0 ;;
  absent) echo "sh: 1: gpudoctor: not found" >&2; exit 127 ;;
  crash) echo "Traceback: something" >&2; exit 3 ;;
  impostor) export GPUDOCTOR_HOST=gpu01; answer h100-server-rdma "$@" ;;
  old) export GPUDOCTOR_FLEET_RUN=2020-01-01; answer h100-server-rdma "$@" ;;
"""
WRAPPER = f"""#!/bin/sh
ps_of_sshd() {{ pid=$$; while [ "$pid" -gt 1 ]; do
  set -- $(sed 's/.*) //' /proc/$pid/stat); pid=$2
  if [ "$(cat /proc/$pid/comm)" = sshd ]; then echo "$pid"; return; fi
done; }}
answer() {{ machine=$1; shift
  export PYTHONPATH=/opt/gpudoctor:/opt/site-packages PYTHONDONTWRITEBYTECODE=1 GPUDOCTOR_STATE=/tmp/state
  if [ "$1" = validate ]; then set -- check --format row; fi
  exec python3 -m gpudoctor "$@" --capture "/opt/gpudoctor/tests/machines/$machine"
}}
read -r what machine < "/etc/fleet/$(hostname)"
case $what in
  machine) answer "$machine" "$@" ;;
{BEHAVIOURS}
esac
"""


class Fleet:
    """The running hosts. `env`: the environment in which ClusterShell, ssh and ansible reach them by name."""

    def __init__(self, root: DebianRoot, folder: Path, names: Sequence[str]) -> None:
        self.root, self.folder, self.names = root, folder, list(names)
        self.tag = f"f{random.randrange(16**5):05x}"
        self.subnet = f"198.18.{random.randrange(1, 250)}"
        self.servers: dict[str, subprocess.Popen[bytes]] = {}
        self.env: dict[str, str] = {}

    def address(self, name: str) -> str:
        return f"{self.subnet}.{self.names.index(name) + 1}"

    def inside(self, name: str, argv: Sequence[str]) -> list[str]:
        """The words that run `argv` on a host."""
        own_name = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', name]
        return ["ip", "netns", "exec", f"{self.tag}-{name}", *own_name, *self.root._entered(argv, None, "/root")]

    def behave(self, behaviours: Mapping[str, str]) -> None:
        for name, what in behaviours.items():
            self.root.write(f"/etc/fleet/{name}", what + "\n")

    def begin(self, without_server: Sequence[str] = ()) -> None:
        _run("ip", "link", "add", self.tag, "type", "bridge")
        _run("ip", "address", "add", f"{self.subnet}.254/24", "dev", self.tag)
        _run("ip", "link", "set", self.tag, "up")
        for number, name in enumerate(self.names):
            space, here, there = f"{self.tag}-{name}", f"{self.tag}h{number}", f"{self.tag}n{number}"
            _run("ip", "netns", "add", space)
            _run("ip", "link", "add", here, "type", "veth", "peer", "name", there)
            _run("ip", "link", "set", there, "netns", space)
            _run("ip", "link", "set", here, "master", self.tag, "up")
            _run("ip", "-n", space, "address", "add", f"{self.address(name)}/24", "dev", there)
            _run("ip", "-n", space, "link", "set", there, "up")
            _run("ip", "-n", space, "link", "set", "lo", "up")
        self._ssh()
        for name in self.names:
            if name not in without_server:
                self._serve(name)
        for name in self.servers:
            _wait_for(self.address(name))

    def _ssh(self) -> None:
        key = self.folder / "key"
        self.folder.mkdir(parents=True, exist_ok=True)
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
        self.root.write("/root/.ssh/authorized_keys", key.with_suffix(".pub").read_text(), 0o600)
        self.root.here("/root/.ssh").chmod(0o700)
        self.root.here("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.root.write("/usr/local/bin/gpudoctor", WRAPPER, 0o755)
        self.root.run(["ssh-keygen", "-A"])
        self.root.bind_doctor()
        hosts = "".join(f"Host {name}\n HostName {self.address(name)}\n" for name in self.names)
        (self.folder / "config").write_text(
            f"{hosts}Host *\n User root\n IdentityFile {key}\n IdentitiesOnly yes\n StrictHostKeyChecking no\n LogLevel ERROR\n"
            f" UserKnownHostsFile {self.folder / 'known_hosts'}\n"
        )
        names = "".join(f"Host {name}\n HostName {self.address(name)}\n" for name in self.names)
        self.root.write("/root/.ssh/key", key.read_text(), 0o600)
        self.root.write("/root/.ssh/config", f"{names}Host *\n IdentityFile /root/.ssh/key\n StrictHostKeyChecking no\n LogLevel ERROR\n")
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        for program in ("ssh", "scp", "sftp"):
            (programs / program).write_text(f'#!/bin/sh\nexec /usr/bin/{program} -F {self.folder / "config"} "$@"\n')
            (programs / program).chmod(0o755)
        groups = self.folder / "clustershell"
        (groups / "groups.d").mkdir(parents=True, exist_ok=True)
        (groups / "groups.conf").write_text("[Main]\ndefault: here\nautodir: $CFGDIR/groups.d\n")
        (groups / "groups.d" / "here.yaml").write_text(f"here:\n  gpu: '{','.join(self.names)}'\n")
        self.env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "CLUSTERSHELL_CFGDIR": str(groups)}

    def tree(self, gateway: str, behind: str) -> dict[str, str]:
        """The environment in which ClusterShell reaches the hosts of the node set `behind` through one of the others."""
        groups = self.folder / "tree"
        shutil.copytree(self.folder / "clustershell", groups)
        here = socket.gethostname().partition(".")[0]
        (groups / "topology.conf").write_text(f"[routes]\n{here}: {gateway}\n{gateway}: {behind}\n")
        python = {"CLUSTERSHELL_GW_PYTHON_EXECUTABLE": "python3", "CLUSTERSHELL_GW_LOG_DIR": "/tmp"}
        return {**self.env, **python, "CLUSTERSHELL_CFGDIR": str(groups)}

    def _serve(self, name: str) -> None:
        options = ("StrictModes=no", "UsePAM=no", "PidFile=none", "AcceptEnv=none", "MaxStartups=100")
        words = ["/usr/sbin/sshd", "-D", "-e", *(word for option in options for word in ("-o", option))]
        with open(self.folder / f"{name}.log", "ab") as log:
            self.servers[name] = subprocess.Popen(
                self.inside(name, words), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def end(self) -> None:
        for server in self.servers.values():
            server.kill()
            server.wait()
        self.root.kill_all()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", f"{self.tag}-{name}"], capture_output=True)
        subprocess.run(["ip", "link", "del", self.tag], capture_output=True)


@contextlib.contextmanager
def fleet(folder: Path, behaviours: Mapping[str, str], *, without_server: Sequence[str] = ()) -> Iterator[Fleet]:
    """Hosts with these behaviours, reached by their names."""
    with DebianRoot.fresh(packages=FLEET) as root:
        hosts = Fleet(root, folder, list(behaviours))
        try:
            hosts.behave(behaviours)
            hosts.begin(without_server)
            yield hosts
        finally:
            hosts.end()


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)


def _wait_for(address: str) -> None:
    for _ in range(100):
        with socket.socket() as one:
            one.settimeout(1)
            if one.connect_ex((address, 22)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"no sshd answers at {address}")
