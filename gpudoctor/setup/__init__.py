"""From a recipe to a changed machine: plan, journal, apply, verify, resume, undo."""
