"""A new check file: it works as it stands, and lint reminds of every TODO."""

from __future__ import annotations

import re
from pathlib import Path

from gpudoctor.catalog.structure import DataError

TODO = "TODO"
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")

_TEMPLATE = '''\
id = "{id}"                       # the file's name; it names the trouble, not the cure
title = "TODO {{gpu.name}} has …"  # one line; {{fact.name}} is filled in (gpudoctor list facts)
severity = "warning"               # error: it does not work; warning: it may not; info: worth knowing
layer = "kernel-driver"            # the rung of the ladder that is broken
stacks = ["{stack}"]
for_each = "gpus"                  # once per item of this fact; leave it out for a question about the whole machine
explanation = """TODO Why, in plain words, one to three sentences."""

[applies]                          # when the question makes sense at all
all = [ {{ fact = "gpu.vendor", is = "intel" }} ]

[problem]                          # when it is a problem
all = [ {{ fact = "gpu.driver", absent = true }} ]

[advice]
text = "TODO What to do."
commands = []

[[source]]
ref = "https://example.org/TODO"   # an address or owner/repo#number
date = {date}
says = "TODO what it proves, in one line"

[[example]]
name = "no driver"
expect = "problem"
facts = {{ "gpus" = [ {{ address = "0000:03:00.0", vendor = "intel", driver = {{ absent = true }} }} ] }}

[[example]]
name = "a driver"
expect = "ok"
facts = {{ "gpus" = [ {{ address = "0000:03:00.0", vendor = "intel", driver = "xe" }} ] }}
'''


def scaffold(folder: Path, topic: str, check_id: str, stack: str, today: str) -> Path:
    """Writes <folder>/<topic>/<id>.toml and says where. Raises DataError for a bad name or a file that is there."""
    if not _ID.fullmatch(check_id):
        raise DataError(f"'{check_id}' is no id: lower-case words joined by '-', two at least, such as gpu-without-driver")
    if not re.fullmatch(r"[a-z0-9-]+", topic):
        raise DataError(f"'{topic}' is no topic: one lower-case folder name, such as torch")
    path = folder / topic / f"{check_id}.toml"
    taken = next(folder.glob(f"*/{check_id}.toml"), None)
    if taken:
        raise DataError(f"{taken} is there already; ids are unique")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_TEMPLATE.format(id=check_id, stack=stack, date=today), encoding="utf-8")
    return path
