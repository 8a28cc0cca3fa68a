"""Text to facts. Each reader takes what it recognises; order matters where one knows better than another."""

from gpudoctor.model.facts import FactSpec

ALL: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("tool_output", ()),
    ("device_tools", ("controller: ", "processing accelerators: ", "*-display", "device-1: ")),
    ("amd_tools", ("gpu[", "rocm system management", "market_name", "amdsmi tool", "| amd-smi ", "card series", "hsa agents", "rock module",
                   "/dev/kfd")),
    ("intel_tools", ("pci:vendor=", "intel-gpu-top", "intel_gpu_top", "device name:", "xpu-smi", "xpumcli")),
    ("ipu_tools", ("gc-monitor", "board type:", "ipu architecture:")),
    ("nvidia_tables", ("driver_version", "--query-gpu")), ("jetson", ("jetson", "jetpack", "tegra", "l4t")),
    ("system_lists", ()),
    ("desktops", ("card name:", "adapter compatibility:", "chipset model:", "wsl", "default runtime:", "virtual packages")),
    ("labelled", ()), ("console", ("torch.__version__",)), ("package_lists", ()),
    ("variables", ()), ("exceptions", ()), ("traces", ()), ("prose", ()), ("missing", ()),
    ("requirements", ("torch",)),
    ("arm_machine", ("aarch64", "arm64", "raspberry pi", "orange pi", "rock", "rk35", "graviton", "altra", "snapdragon", "on arm")),
    ("torch_flavour", ("torch",)), ("zluda", ("zluda",)),
    ("image_build", ("#", "=> ", "> [", "step ", "/sh -", "bash -", " build", " bake")),
    ("hung_job", ("flight recorder of rank ", "\npython v")),
)  # fmt: skip
"""The readers in order. Some run only where the text, in lower case, has one of their words, since most texts show few tools."""
SPECS = (
    FactSpec("text.stacks", "list", "stacks that a pasted text speaks of, the most spoken of first"),
    FactSpec("text.vendors", "list", "makers of the GPUs whose cards or stacks a pasted text shows"),
    FactSpec("text.other_vendors", "list", "the same without the names of what a text says was not found"),
    FactSpec("text.torch_asked", "version", "the torch that a resolver (pip, uv, conda, poetry) was asked for, or has"),
    FactSpec("text.partner_asked", "text", "the torchvision or torchaudio that a resolver was asked for, where it names no torch"),
    FactSpec("text.missing", "records", "what programs in a pasted text say they did not find", item="thing", fields={
        "kind": "so, dylib, dll, h, l (to link), cmd, cmake, py, pip or attr", "name": "its name"}),
    FactSpec("text.image_build", "bool", "whether a pasted text is the log of an image build, of which no step has a GPU"),
    FactSpec("text.zluda", "bool", "whether a pasted text shows ZLUDA at work"),
    FactSpec("job.ranks", "records", "ranks of a distributed job in the dumps of a text", item="rank", fields={
        "rank": "its number, else its process", "enqueued": "collectives that it started", "completed": "collectives that ended",
        "operation": "the collective in which it waits", "stands_at": "function and line of its main thread",
        "waits_for": "what its main thread waits for"}),
    FactSpec("job.count", "int", "ranks with a dump"),
    FactSpec("job.size", "int", "ranks of the process group"),
    FactSpec("job.missing", "int", "ranks of the process group without a dump"),
    FactSpec("job.behind", "text", "ranks that did not reach the collective in which others wait"),
    FactSpec("job.behind_count", "int", "how many these are"),
    FactSpec("job.behind_at", "text", "where the first of them stands"),
    FactSpec("job.waiting_count", "int", "ranks that wait in the last collective"),
    FactSpec("job.waits_in", "text", "that collective, and where it is called"),
    FactSpec("job.differing", "text", "ranks that call something else at the same place of the order"),
    FactSpec("text.readers", "list", "outputs of programs that were recognised in a pasted text"),
)  # fmt: skip
