"""Whether another user could change a path of the examined system: as system.trust does for this machine, but by modes alone."""

from __future__ import annotations

from collections.abc import Callable

from gpudoctor.system.trust import OWNER

_MOST_HOPS = 40
Look = Callable[[str], tuple[int, int, bool] | None]
"""(mode bits, uid, whether it is a link) of a path whose links are not followed; None where nothing is there."""


def distrust_by_modes(path: str, own: set[int], look: Look, readlink: Callable[[str], str | None]) -> str:
    """'' where only root and the users in `own` can change what lies at the path, else 'owner N' as system.trust.distrust returns it."""
    waiting, given = path.split("/")[::-1], [part for part in path.split("/") if part]
    at, hops = "", 0
    if _strange(look("/"), own):
        return f"{OWNER} 0"
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            at = at.rpartition("/")[0]
            continue
        at = f"{at}/{part}"
        found = look(at)
        if found is None:
            return ""
        if _strange(found, own):
            return _owner(at, given)
        if found[2]:
            hops += 1
            target = readlink(at)
            if target is None:
                return ""
            if hops > _MOST_HOPS:
                return _owner(at, given)
            at = "" if target.startswith("/") else at.rpartition("/")[0]
            waiting += target.split("/")[::-1]
    return ""


def _owner(at: str, given: list[str]) -> str:
    names = [name for name in at.split("/") if name]
    return f"{OWNER} {len(names) if given[: len(names)] == names else 0}"


def _strange(found: tuple[int, int, bool] | None, own: set[int]) -> bool:
    """Whether somebody else owns it or all may write to it. In a folder with the sticky bit, such as /tmp, only the owner replaces a
    file."""
    if found is None:
        return False
    mode, owner, link = found
    if owner not in own:
        return True
    sticky_folder = (mode & 0o170000) == 0o040000 and bool(mode & 0o1000)
    return not link and not sticky_folder and bool(mode & 0o002)
