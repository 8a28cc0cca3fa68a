"""The file of a new check: it is valid as it is, and lint reports every remaining TODO."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path

from gpudoctor.knowledge.structure import DataError
from gpudoctor.model.lazy_pattern import lazy

TODO = "TODO"
_ID = lazy(r"[a-z0-9]+(-[a-z0-9]+)+")

_TEMPLATE = '''\
id = "{id}"                       # the file's name; it names the trouble, not the cure
title = "TODO {{gpu.name}} has …"  # the trouble in one line; {{fact.name}} is filled in (gpudoctor list facts)
severity = "warning"               # error: it does not work; warning: it may not; info: worth knowing
layer = "kernel-driver"            # the rung of the ladder that is broken
stacks = ["{stack}"]
for_each = "gpus"                  # once per item of this fact; leave it out for a question about the whole machine
explanation = """TODO Why, in plain words, one or two sentences."""
verified = {{ on = {today}, how = "reported", against = "TODO the release that you looked at" }}
review_by = {review}               # half a year where a version or an address is in it, else at most two years

[applies]                          # when the question makes sense at all
all = [ {{ fact = "gpu.vendor", is = "intel" }} ]

[problem]                          # when it is a problem
all = [ {{ fact = "gpu.driver", absent = true }} ]

[advice]
do = "TODO The one thing to do, in one sentence."
steps = []                         # commands, or {{ run = "a command", when = {{ fact = "os.id", is = "ubuntu" }} }}

[[source]]
ref = "https://example.org/TODO"   # an address or owner/repo#number
read = {today}
supports = ["cause"]               # symptom, cause, fix: what it proves
says = "TODO what it proves, in one line"

[[example]]
name = "a card without a driver"
expect = "problem"
facts = {{ "gpus" = [ {{ address = "0000:03:00.0", vendor = "intel", driver = {{ absent = true }} }} ] }}

[[example]]
name = "a card that xe drives"
expect = "ok"
facts = {{ "gpus" = [ {{ address = "0000:03:00.0", vendor = "intel", driver = "xe" }} ] }}
'''
DUE_IN = 181
"""The number of days after which a new check must be reviewed."""


def scaffold(folder: Path, topic: str, check_id: str, stack: str, today: str) -> Path:
    """Writes <folder>/<topic>/<id>.toml and returns its path. Raises DataError for an invalid name and for a file that exists."""
    if not _ID.fullmatch(check_id):
        raise DataError(f"'{check_id}' is no id: lower-case words joined by '-', two at least, such as gpu-without-driver")
    if not re.fullmatch(r"[a-z0-9-]+(?:/[a-z0-9-]+)?", topic):
        raise DataError(f"'{topic}' is no topic: lower-case folder names, such as nvidia/torch")
    path = folder / topic / f"{check_id}.toml"
    taken = next(folder.glob(f"**/{check_id}.toml"), None)
    if taken:
        raise DataError(f"{taken} is there already; ids are unique")
    path.parent.mkdir(parents=True, exist_ok=True)
    review = date.fromisoformat(today) + timedelta(days=DUE_IN)
    path.write_text(_TEMPLATE.format(id=check_id, stack=stack, today=today, review=review), encoding="utf-8")
    return path
