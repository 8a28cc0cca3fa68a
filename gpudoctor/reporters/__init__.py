"""Report to text: console and JSON."""
