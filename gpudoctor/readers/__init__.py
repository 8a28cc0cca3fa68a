"""Text to facts. Each reader takes what it recognises; order matters where one knows better than another."""

from gpudoctor.model.facts import FactSpec

ALL = (
    "tool_output", "device_tools", "amd_tools", "intel_tools", "ipu_tools", "nvidia_tables", "system_lists", "desktops", "labelled",
    "package_lists", "variables", "exceptions", "traces", "prose",
)  # fmt: skip
SPECS = (
    FactSpec("text.stacks", "list", "stacks that a pasted text speaks of, the most spoken of first"),
    FactSpec("text.readers", "list", "outputs of programs that were recognised in a pasted text"),
)
