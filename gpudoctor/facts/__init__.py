"""Runs probes and derivations into one set of facts."""
