"""Recorded machines: how one is recorded, stored, read back and replayed."""
