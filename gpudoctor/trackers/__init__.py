"""Issue trackers: addresses, forms, comments. Requests are built here, and sent by system.http."""
