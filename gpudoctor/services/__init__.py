"""The use cases: one module for each command. They wire the machine, the facts, the knowledge and the diagnosis together."""
