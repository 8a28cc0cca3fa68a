"""What is examined instead of this machine (--pid, --root, --host, --container, --image), and what a running process has loaded."""

from __future__ import annotations

from gpudoctor.facts.probes._probe import Collected, Probe
from gpudoctor.model.facts import Absent, Facts, FactSpec, Known
from gpudoctor.system.host import Host


def collect(host: Host, facts: Facts) -> Collected:
    door = getattr(host, "door", None)
    if door is None:
        yield "looked_at.kind", Absent()
        return
    yield "looked_at.kind", Known(door.kind)
    yield "looked_at.name", Known(door.name)
    yield "looked_at.title", Known(door.title)
    if door.kind == "process":
        from gpudoctor.facts.probes import _process  # imported here, since most checks are of a machine

        yield from _process.collect(host, facts, int(door.name))
    if door.kind == "container":
        from gpudoctor.facts.probes import _engine

        yield from _engine.collect(host)


PROBE = Probe(
    "looked_at",
    (
        FactSpec("looked_at.kind", "text", "what is examined instead of this machine: process, root, host, container, image"),
        FactSpec("looked_at.name", "text", "number, folder or name of what is examined", privacy="identifying"),
        FactSpec("looked_at.title", "text", "how a screen names it", privacy="identifying"),
        FactSpec("process.pid", "int", "number of the process that is examined"),
        FactSpec("process.command", "text", "command line of the process", privacy="identifying"),
        FactSpec("process.program", "text", "the program file that it runs", privacy="identifying"),
        FactSpec("process.state", "text", "state of the process: running, sleeping, waiting for a device, stopped"),
        FactSpec("process.threads", "int", "number of threads of the process"),
        FactSpec("process.memory_bytes", "int", "main memory that it occupies"),
        FactSpec("process.memory_limit_bytes", "int", "main memory that its control group may take"),
        FactSpec("process.cgroup", "text", "control group of the process", privacy="identifying"),
        FactSpec("process.limits", "map", "limits of the process: open_files, processes, locked_memory, address_space; absent: unlimited"),
        FactSpec("process.in_container", "bool", "whether it sees other files than this machine"),
        FactSpec("process.devices", "list", "device files of GPUs that it has open"),
        FactSpec(
            "process.libraries", "records", "libraries of GPUs and frameworks that it has loaded", item="mapped", privacy="identifying",
            fields={"soname": "file name", "path": "where it lies", "origin": "wheel, conda, oneapi, toolkit, system, wsl or stub",
                    "replaced": "the file was removed or replaced since it was loaded"},
        ),
        FactSpec("process.replaced", "list", "libraries whose files were replaced since they were loaded", privacy="identifying"),
        FactSpec("process.replaced_count", "int", "how many of process.replaced"),
        FactSpec("process.openmp", "list", "OpenMP runtimes that it has loaded", privacy="identifying"),
        FactSpec("process.openmp_count", "int", "how many of process.openmp"),
        FactSpec(
            "process.elsewhere", "records", "libraries that it took from elsewhere although its environment holds them", item="elsewhere",
            privacy="identifying", fields={"soname": "file name", "path": "what is loaded", "installed": "what the environment holds"},
        ),
        FactSpec("engine.name", "text", "the program that runs the container: docker or podman"),
        FactSpec("engine.image", "text", "the image of the container", privacy="identifying"),
        FactSpec("engine.gpus_asked", "bool", "whether the container was started with GPUs: --gpus, a CDI device or the runtime nvidia"),
        FactSpec("engine.devices", "list", "device files that the container was started with (--device)"),
        FactSpec("engine.groups", "list", "groups that the container was started with (--group-add)"),
    ),
    collect,
    needs=("python.folders", "python.prefix"),
)  # fmt: skip
