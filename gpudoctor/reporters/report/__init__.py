"""The report of a machine, of a text, or of several texts, in each of its formats."""
