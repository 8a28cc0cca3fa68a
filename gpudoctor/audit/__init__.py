"""Dependency files to what they ask for, and that to verdicts. Pure: text in, no file is opened here and nothing is run."""
