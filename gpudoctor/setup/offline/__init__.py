"""Offline bundles: made where there is a network, verified and used where there is none."""
