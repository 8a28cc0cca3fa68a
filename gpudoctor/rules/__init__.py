"""The condition language: pure functions over facts."""
