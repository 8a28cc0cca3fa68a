"""The program that a child runs to import one framework (target/payloads); the script holds its text."""

from __future__ import annotations

from importlib import resources

INSPECT = resources.files("gpudoctor.target.payloads").joinpath("inspect_framework.py").read_text(encoding="utf-8")
