#!/usr/bin/@PYTHON@ -I
"""Starts the gpudoctor of /usr/lib/gpudoctor; no package of the user's or of the system takes the place of its own."""

import sys

sys.path.insert(0, "/usr/lib/gpudoctor")

from gpudoctor.start import main

main()
