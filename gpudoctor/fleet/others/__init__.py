"""Results of other programs, read from the documents that they write."""
