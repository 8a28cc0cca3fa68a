"""The report of a machine, of a text, or of several, in each of its formats."""
