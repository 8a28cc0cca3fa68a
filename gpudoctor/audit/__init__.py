"""Parses dependency files into requirements, and judges these. Pure functions on text: no file is opened here and nothing is run."""
