"""What `validate` measured, on a screen."""
