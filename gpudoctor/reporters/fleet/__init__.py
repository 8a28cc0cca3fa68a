"""A fleet on the screen, as JSON, as a page, and as work for schedulers and monitors."""
