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
    ("desktops", ("card name:", "chipset model:", "wsl", "default runtime:", "virtual packages")),
    ("labelled", ()), ("console", ("torch.__version__",)), ("package_lists", ()),
    ("variables", ()), ("exceptions", ()), ("traces", ()), ("prose", ()), ("missing", ()),
    ("requirements", ("torch",)),
    ("torch_flavour", ("torch",)), ("zluda", ("zluda",)),
)  # fmt: skip
"""In their order; some only where a text, in lower case, has one of these words: most texts show no more than one tool's output."""
SPECS = (
    FactSpec("text.stacks", "list", "stacks that a pasted text speaks of, the most spoken of first"),
    FactSpec("text.vendors", "list", "makers of the GPUs whose cards or stacks a pasted text shows"),
    FactSpec("text.other_vendors", "list", "the same without the names of what a text says was not found"),
    FactSpec("text.torch_asked", "version", "the torch that a resolver (pip, uv, conda, poetry) was asked for, or has"),
    FactSpec("text.partner_asked", "text", "the torchvision or torchaudio that a resolver was asked for, where it names no torch"),
    FactSpec("text.missing", "records", "what programs in a pasted text say they did not find", item="thing", fields={
        "kind": "so, dylib, dll, h, l (to link), cmd, cmake, py, pip or attr", "name": "its name"}),
    FactSpec("text.zluda", "bool", "whether a pasted text shows ZLUDA at work"),
    FactSpec("text.readers", "list", "outputs of programs that were recognised in a pasted text"),
)  # fmt: skip
