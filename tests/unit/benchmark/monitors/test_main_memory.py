"""What programs can still get: of the machine, of a container, of a job's control group; files that are cached do not count as used."""

from __future__ import annotations

from gpudoctor.benchmark.monitors.main_memory import free_memory, memory_is_short
from gpudoctor.system.host import Text
from gpudoctor.system.local_host import LocalHost

MACHINE = (9_000_000 * 1024, 16_000_000 * 1024)
MB = 1_000_000


class Tree:
    def __init__(self, files: dict[str, str], machine: tuple[int, int] | None = MACHINE) -> None:
        self.files, self.machine = files, machine

    def main_memory(self) -> tuple[int, int] | None:
        return self.machine

    def read(self, path: str, *, limit: int = 1_000_000) -> Text:
        return Text(self.files[path]) if path in self.files else Text(problem="missing")


def group(folder: str, most: str, used: int, cached: int = 0) -> dict[str, str]:
    stat = f"anon 5\ninactive_file {cached}\nactive_file 0\n"
    return {f"{folder}/memory.max": f"{most}\n", f"{folder}/memory.current": f"{used}\n", f"{folder}/memory.stat": stat}


def test_a_container_has_less_memory_than_its_machine() -> None:
    host = Tree(group("/sys/fs/cgroup", "1000000000", 990 * MB))
    assert free_memory(host) == (10 * MB, 1000 * MB)
    assert "nearly full (10 MiB of 0.9 GiB left)" in memory_is_short(host)
    assert memory_is_short(Tree(group("/sys/fs/cgroup", "max", 990 * MB))) == ""
    assert memory_is_short(Tree({}, None)) == "" and free_memory(Tree({}, None)) == (None, None)


def test_cached_files_go_when_memory_is_needed() -> None:
    """A container that read a data set has 'used' all of its memory."""
    host = Tree(group("/sys/fs/cgroup", "1000000000", 990 * MB, cached=900 * MB))
    assert free_memory(host) == (910 * MB, 1000 * MB) and memory_is_short(host) == ""


def test_the_group_of_a_job_below_the_root_counts() -> None:
    job = "/system.slice/slurmstepd.scope/job_4"
    files = {"/proc/self/cgroup": f"0::{job}/step_0\n", **group(f"/sys/fs/cgroup{job}", "2000000000", 1990 * MB)}
    assert free_memory(Tree({**files, **group(f"/sys/fs/cgroup{job}/step_0", "max", 5)})) == (10 * MB, 2000 * MB)


def test_control_groups_of_the_first_kind() -> None:
    folder = "/sys/fs/cgroup/memory/docker/4"
    files = {
        "/proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/docker/4\n0::/\n", f"{folder}/memory.limit_in_bytes": "1000000000\n",
        f"{folder}/memory.usage_in_bytes": "995000000\n", f"{folder}/memory.stat": "total_inactive_file 5000000\ninactive_file 900000000\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "/sys/fs/cgroup/memory/memory.usage_in_bytes": "5\n",
    }  # fmt: skip
    assert free_memory(Tree(files)) == (10 * MB, 1000 * MB)


def test_a_hostile_path_leads_nowhere() -> None:
    host = Tree({"/proc/self/cgroup": "0::/../../etc\n4:memory:/a/../..\ngarbage\n"})
    assert free_memory(host) == MACHINE


def test_the_machine_of_the_test_says_what_it_has() -> None:
    """On Windows and macOS too, where there is no /proc to read."""
    free, total = free_memory(LocalHost())
    assert free is not None and total is not None and 0 < free <= total
