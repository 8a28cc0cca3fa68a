"""The measurements of `validate` on a screen."""
