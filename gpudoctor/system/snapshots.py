"""Snapshots of folders by hard links, and their restoration, for folders of this user only. Links are never followed.

Unchanged files need no room: those that an installer replaces get new inodes, and the snapshot keeps the old ones. Files that tools rewrite
in place are copied.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping

from gpudoctor.system.writable_host import ActFailed

_HASHED = 256 * 1024
_IN_PLACE = (".pth", ".cfg", ".egg-link")
_FRESH = ".gpudoctor-restored"
Listing = dict[str, str]
"""Path below the folder to its mark: a checksum, size and time, the target of a link, or 'folder'."""


class Trees:
    """The methods of system.writable_host.WritableHost that copy and restore folders."""

    def list_tree(self, path: str) -> Listing:
        """The listing of a folder; empty where there is none. Compiled Python files and folders that hold only these are left out."""
        return {name: _mark(full, name) for name, full in _walk(path) if not is_compiled(name)}

    def snapshot_tree(self, source: str, target: str) -> None:
        """Makes the snapshot `target`, which appears when it is complete; an existing one is not changed. Raises ActFailed."""
        if os.path.lexists(target):
            return
        part = f"{target}.part"
        try:
            _remove(part)
            _link_tree(source, part)
            os.rename(part, target)
        except OSError as error:
            raise ActFailed(f"{source} cannot be kept as {target}: {error.strerror or error}", "free some space, then --resume") from error

    def restore_tree(self, snapshot: str, target: str, after: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """Gives `target` the content of `snapshot`, which stays. It may be repeated after an interruption.

        `after`: the result of `list_tree` when the step was done. What is neither as it was then nor as in the snapshot is kept; its paths
        below the folder are returned.
        """
        try:
            return _restore(snapshot, target, after)
        except OSError as error:
            raise ActFailed(f"{target} cannot be restored: {error.strerror or error}", f"what it was is kept in {snapshot}") from error

    def unpack(self, archive: str, target: str) -> None:
        """Unpacks a tar or zip file into a folder that appears when it is complete. Raises ActFailed (see system.unpacking)."""
        from gpudoctor.system.unpacking import unpack

        unpack(archive, target)

    def drop_snapshot(self, snapshot: str) -> None:
        """Removes a snapshot, which need not exist. After an interruption it does not count as a snapshot any more."""
        gone = f"{snapshot}.gone"
        try:
            if os.path.lexists(snapshot):
                _remove(gone)
                os.rename(snapshot, gone)
            _remove(gone)
            _remove(f"{snapshot}.part")
        except OSError as error:
            raise ActFailed(f"{snapshot} cannot be removed: {error.strerror or error}", f"rm -r {snapshot}") from error


def is_compiled(name: str) -> bool:
    """Whether a path is one that Python writes when it imports modules."""
    return name.endswith((".pyc", ".pyo")) or name.rpartition("/")[2] == "__pycache__"


def _walk(top: str, below: str = "") -> Iterator[tuple[str, str]]:
    """(path below `top`, full path) of everything in a folder, folders before their content."""
    try:
        entries = sorted(os.scandir(os.path.join(top, below) if below else top), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        name = f"{below}/{entry.name}" if below else entry.name
        yield name, entry.path
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(top, name)


def _mark(path: str, name: str) -> str:
    """The mark by which a change of a file is noticed: a checksum for small files that people edit, size and time for others."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        return f"link {os.readlink(path)}"
    if stat.S_ISDIR(found.st_mode):
        return "folder"
    if _written_in_place(name) and found.st_size <= _HASHED and stat.S_ISREG(found.st_mode):
        with open(path, "rb") as file:
            return f"sha256 {hashlib.sha256(file.read()).hexdigest()[:32]}"
    return f"{found.st_size} {found.st_mtime_ns}"


def _written_in_place(name: str) -> bool:
    return name.endswith(_IN_PLACE) or name.startswith("bin/")


def _keep(source: str, target: str, name: str) -> None:
    """Puts one file or link into a snapshot."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    if not _written_in_place(name):
        try:
            os.link(source, target, follow_symlinks=False)
            return
        except OSError:
            pass  # the file is on another file system, belongs to another user, or has too many links
    if stat.S_ISREG(os.lstat(source).st_mode):
        shutil.copy2(source, target, follow_symlinks=False)


def _link_tree(source: str, target: str) -> None:
    os.mkdir(target, 0o700)
    folders = [(source, target)]
    for name, path in _walk(source):
        copy = os.path.join(target, name)
        if os.path.isdir(path) and not os.path.islink(path):
            os.mkdir(copy, 0o700)
            folders.append((path, copy))
        else:
            _keep(path, copy, name)
    for path, copy in reversed(folders):
        shutil.copystat(path, copy, follow_symlinks=False)


def _restore(snapshot: str, target: str, after: Mapping[str, str] | None) -> tuple[str, ...]:
    was, now = dict(_walk(snapshot)), dict(_walk(target))
    kept: list[str] = []
    os.makedirs(target, exist_ok=True)
    for name, path in sorted(was.items()):
        there = os.path.join(target, name)
        if name in now and _same(path, there, name):
            continue
        if _changed_since(name, now.get(name), after):
            kept.append(name)
        elif os.path.isdir(path) and not os.path.islink(path):
            if name in now:
                _remove(there)
            os.mkdir(there)
        elif os.path.isdir(os.path.dirname(there)):
            _put(path, there, name)
    for name in sorted(now, reverse=True):  # in this order the content of a folder comes before the folder itself
        path = now[name]
        if name in was or not os.path.lexists(path):
            continue
        if os.path.isdir(path) and not os.path.islink(path):
            if not os.listdir(path):
                os.rmdir(path)
        elif _changed_since(name, path, after):
            kept.append(name)
        else:
            os.unlink(path)
    for name, path in sorted(was.items(), reverse=True):
        there = os.path.join(target, name)
        if os.path.isdir(path) and not os.path.islink(path) and os.path.isdir(there):
            shutil.copystat(path, there)
    shutil.copystat(snapshot, target)
    return tuple(sorted(kept))


def _same(path: str, there: str, name: str) -> bool:
    one, two = os.lstat(path), os.lstat(there)
    if stat.S_IFMT(one.st_mode) != stat.S_IFMT(two.st_mode):
        return False
    if stat.S_ISDIR(one.st_mode) or (one.st_ino, one.st_dev) == (two.st_ino, two.st_dev):
        return True
    return _mark(path, name) == _mark(there, name) and (stat.S_ISLNK(one.st_mode) or one.st_mode == two.st_mode)


def _changed_since(name: str, path: str | None, after: Mapping[str, str] | None) -> bool:
    if after is None or is_compiled(name) or name.endswith(_FRESH):
        return False
    return (_mark(path, name) if path is not None and os.path.lexists(path) else None) != after.get(name)


def _put(path: str, there: str, name: str) -> None:
    """Replaces a file by that of the snapshot, atomically."""
    fresh = there + _FRESH
    _remove(fresh)
    _keep(path, fresh, name)
    if os.path.isdir(there) and not os.path.islink(there):
        _remove(there)
    os.replace(fresh, there)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
