"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

os.environ.setdefault("GPUDOCTOR_HISTORY", "0")  # tests leave no trace in the history of who runs them

# How long one example takes says more of the machine than of the code.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
