"""Output: reports, plans, measurements, audits and comparisons as text, JSON, HTML and other formats."""
