"""Text to facts. Each reader takes what it recognises; order matters where one knows better than another."""

from gpudoctor.model.facts import FactSpec

ALL = ("tool_output", "device_tools", "system_lists", "labelled", "package_lists", "variables", "exceptions", "traces", "prose")
SPECS = (
    FactSpec("text.stacks", "list", "stacks that a pasted text speaks of, the most spoken of first"),
    FactSpec("text.readers", "list", "outputs of programs that were recognised in a pasted text"),
)
