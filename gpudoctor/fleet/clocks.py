"""Clocks of hosts that are wrong, seen by the times of their rows. Which row is fresh does not depend on them: that is a matter of the run.

A row later than the view was made is of a clock that is ahead. Where nine of ten rows of a run lie within FAR of their median, the run
was short, and a row outside is of a wrong clock; in a run of hours, a row may be early or late for a good reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

FAR = 300
"""Seconds."""
SHORT_RUN = 0.9
IN_STEP = "in step"
_STEPS = ((86400, "days"), (3600, "hours"), (60, "minutes"))


def compared(times: Mapping[str, str], created: str) -> dict[str, str]:
    """For each host 'in step', else how far its clock is off: 'about 3 hours ahead'. Times are UTC, as 2026-11-20T10:00:00Z."""
    seconds = {host: _seconds(text) for host, text in times.items()}
    known = sorted(second for second in seconds.values() if second is not None)
    if not known:
        return dict.fromkeys(times, IN_STEP)
    median = known[len(known) // 2]
    short = sum(abs(second - median) <= FAR for second in known) >= SHORT_RUN * len(known)
    now = _seconds(created)
    found = {}
    for host, second in seconds.items():
        base = median if short else now
        off = 0 if second is None or base is None else second - base
        found[host] = _words(off) if abs(off) > FAR and (short or off > 0) else IN_STEP
        if found[host] == IN_STEP and second is not None and now is not None and second - now > FAR:
            found[host] = _words(second - now)
    return found


def _seconds(text: str) -> int | None:
    try:
        return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp())
    except ValueError:
        return None


def _words(seconds: int) -> str:
    size, name = next(step for step in _STEPS if abs(seconds) >= step[0])
    count = round(abs(seconds) / size)
    return f"about {count} {name if count > 1 else name[:-1]} {'ahead' if seconds > 0 else 'behind'}"
