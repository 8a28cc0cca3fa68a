"""How many threads llama.cpp gets: one for each core that this process may use, as its own programs take. Standard library, Python 3.8."""

import os


def physical_cores():
    """Cores; processors that share one count once, where the system tells."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    cores = set()
    for number in allowed:
        try:
            with open(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list") as file:
                cores.add(file.read().strip())
        except OSError:
            cores.add(str(number))
    return max(len(cores), 1)
