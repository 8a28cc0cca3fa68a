"""Whether a path exists, and whether its absence is certain: a recording need not hold every path."""

from __future__ import annotations

from gpudoctor.model.facts import Fact, Known, Unknown
from gpudoctor.system.host import Host


def there(host: Host, path: str) -> bool | None:
    """Whether the path exists; None where a recording does not show it."""
    if host.exists(path):
        return True
    knows = getattr(host, "knows", None)
    return False if knows is None or knows(path) else None


def presence(host: Host, path: str) -> Fact:
    """Whether the path exists, as a fact."""
    answer = there(host, path)
    return Unknown("not recorded") if answer is None else Known(answer, path)
