"""What changed between two reports."""
