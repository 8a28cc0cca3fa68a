"""Issue trackers: addresses, forms, comments. What is asked of a server is built here; host.http asks it."""
