"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# How long one example takes says more of the machine than of the code.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
