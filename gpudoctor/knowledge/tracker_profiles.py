"""Reads profiles of issue trackers: those of gpudoctor/data/trackers, and the one that a project keeps as .github/gpudoctor.toml."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from gpudoctor.knowledge.structure import DataError
from gpudoctor.model.toml_text import loads
from gpudoctor.model.tracker_profile import SCHEMA, TrackerProfile

OWN_FILE = ".github/gpudoctor.toml"
"""Where a project keeps its own profile."""
LARGEST = 100_000
"""Characters of a profile; none needs more."""
LONGEST = 300
"""Characters of a label, an option or a command."""
MOST = 100
"""Questions of one form."""
_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")


def ours() -> Iterator[TrackerProfile]:
    """Each profile that comes with gpudoctor, by file name."""
    from importlib.resources import files

    folder = files("gpudoctor").joinpath("data", "trackers")
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        if path.name.endswith(".toml"):
            yield parse(path.read_text(encoding="utf-8"), f"gpudoctor/data/trackers/{path.name}")


def profile_of(project: str) -> TrackerProfile | None:
    """The profile of owner/name that comes with gpudoctor, also by an earlier name of the project; None where there is none."""
    wanted = project.lower()
    return next((each for each in ours() if wanted in (each.project.lower(), *(alias.lower() for alias in each.aliases))), None)


def parse(text: str, where: str, is_answer: Callable[[str], bool] | None = None) -> TrackerProfile:
    """A profile of unknown origin. `is_answer`: whether a name of an answer exists. Raises DataError with the place and the key."""
    if len(text) > LARGEST:
        raise DataError(f"{where}: it has {len(text)} characters; expected a profile of at most {LARGEST}")
    try:
        profile = msgspec.convert(_dates_as_text(loads(text)), TrackerProfile)
    except (ValueError, msgspec.ValidationError) as error:
        raise DataError(f"{where}: {error}") from error
    if profile.schema != SCHEMA:
        raise DataError(f"{where}: schema: {profile.schema[:40]!r}; expected {SCHEMA!r}")
    if not _PROJECT.fullmatch(profile.project):
        raise DataError(f"{where}: project: {profile.project[:80]!r}; expected owner/name")
    for number, form in enumerate(profile.form):
        if len(form.question) > MOST:
            raise DataError(f"{where}: form[{number}]: {len(form.question)} questions; expected at most {MOST}")
        for question in form.question:
            texts = (question.label, question.run, *question.options, *question.options.values())
            if any(len(each) > LONGEST or not each.isprintable() for each in texts):
                raise DataError(f"{where}: form[{number}]: {question.label[:40]!r}: expected lines of at most {LONGEST} characters")
            if is_answer and question.answer and not is_answer(question.answer):
                raise DataError(f"{where}: form[{number}]: {question.label[:40]!r}: no answer is called {question.answer[:40]!r}")
    return profile


def _dates_as_text(value: object) -> object:
    """TOML's dates as YYYY-MM-DD, at any depth."""
    if isinstance(value, dict):
        return {key: _dates_as_text(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_dates_as_text(each) for each in value]
    return value if isinstance(value, (str, int, float, bool)) else str(value)
