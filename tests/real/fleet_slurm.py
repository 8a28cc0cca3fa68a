"""A cluster of Slurm on the hosts of fleet_hosts: munged, slurmctld on the first host, slurmd on all others."""

from __future__ import annotations

import subprocess
import time

from fleet_hosts import Fleet

CONFIGURATION = """ClusterName=test
SlurmctldHost={control}({address})
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd.%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.%n.pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=60
KillWait=2
{more}
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# A tmpfs there is how slurmd knows cgroups of version 1; of what is below, linuxproc and task/none use nothing.
SLURMD = 'mount -t tmpfs tmpfs /sys/fs/cgroup && mkdir -p "/var/spool/slurmd.$1" && exec slurmd -D'


class Slurm:
    """`control`: the host of slurmctld; `nodes`: those of slurmd."""

    def __init__(self, hosts: Fleet, more: str = "") -> None:
        self.hosts, self.control, self.nodes = hosts, hosts.names[0], hosts.names[1:]
        nodes = "\n".join(f"NodeName={name} NodeAddr={hosts.address(name)} CPUs=1 RealMemory=100 State=UNKNOWN" for name in self.nodes)
        root = hosts.root
        address = hosts.address(self.control)
        root.write("/etc/slurm/slurm.conf", CONFIGURATION.format(control=self.control, address=address, nodes=nodes, more=more))
        root.write("/etc/slurm/cgroup.conf", "CgroupPlugin=cgroup/v1\n")
        names = "".join(f"{hosts.address(name)} {name}\n" for name in hosts.names)
        root.write("/etc/hosts", f"127.0.0.1 localhost\n{names}")
        root.run(["sh", "-c", "mkdir -p /run/munge /var/spool/slurmctld && chown munge: /run/munge && chmod 755 /run/munge"])

    def begin(self) -> None:
        self._start(self.control, ["runuser", "-u", "munge", "--", "munged", "--foreground", "--force"], "munged")
        for _ in range(100):
            if self.hosts.root.here("/run/munge/munge.socket.2").exists():
                break
            time.sleep(0.1)
        self._start(self.control, ["slurmctld", "-D", "-c"], "slurmctld")
        for name in self.nodes:
            self._start(name, ["sh", "-c", SLURMD, "sh", name], f"slurmd-{name}")
        said = ""
        for _ in range(240):  # at its start slurmd waits for the health check, also on the host where gpudoctor hangs
            said = self.run(["sinfo", "--noheader", "--Node", "--format", "%N %t"], check=False)
            if said.count(" idle") == len(self.nodes):
                return
            time.sleep(0.5)
        raise AssertionError(f"Slurm does not come up: {said}\n{self.logs()}")

    def logs(self) -> str:
        places = sorted(self.hosts.folder.glob("*.log")) + sorted(self.hosts.root.here("/var/log").glob("slurm*.log"))
        return "\n".join(f"== {place.name}\n{place.read_text(errors='replace')[-600:]}" for place in places)

    def _start(self, name: str, words: list[str], log: str) -> None:
        with open(self.hosts.folder / f"{log}.log", "ab") as file:
            self.hosts.servers[f"{name}:{log}"] = subprocess.Popen(
                self.hosts.inside(name, words), stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
            )

    def run(self, words: list[str], *, check: bool = True, timeout: float = 200) -> str:
        """Runs it on the host of slurmctld and returns both streams."""
        done = subprocess.run(
            self.hosts.inside(self.control, words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=timeout,
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{words} exited with {done.returncode}: {done.stdout}\n{self.logs()}"
        return done.stdout
