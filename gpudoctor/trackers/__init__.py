"""Issue trackers: addresses, forms, comments. What is asked of a server is built here; system.http asks it."""
