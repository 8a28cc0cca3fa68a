"""Whether a path is there, and whether 'no' may be believed."""

from __future__ import annotations

from gpudoctor.model.facts import Fact, Known, Unknown
from gpudoctor.system.host import Host


def there(host: Host, path: str) -> bool | None:
    """True, False, or None where a recording simply does not tell."""
    if host.exists(path):
        return True
    knows = getattr(host, "knows", None)
    return False if knows is None or knows(path) else None


def presence(host: Host, path: str) -> Fact:
    """Whether the path is there, as a fact."""
    answer = there(host, path)
    return Unknown("not recorded") if answer is None else Known(answer, path)
