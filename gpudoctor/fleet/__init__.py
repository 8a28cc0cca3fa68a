"""Many hosts at one moment: rows in, one view out. Nothing here reads a file, a clock or a host."""
