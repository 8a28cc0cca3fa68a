"""Debian roots that cost nothing: an overlay over one unpacked root, which can be branched off at any moment.

    with Workshop() as shop:
        base = shop.base(lambda root: root.run([...]))     # unpacked once, then never changed
        root = shop.root(base)                             # an overlay over it
        frozen = shop.freeze(root)                         # what it holds now; `root` is gone
        one, two = shop.root(frozen), shop.root(frozen)

All mounts live in a mount namespace of this process alone: they vanish with it, however it ends.
"""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from debian_root import PACKAGES, DebianRoot, _tarball

_CLONE_NEWNS = 0x00020000
_private = False


def private_mounts() -> None:
    """This process and all that it starts from now on see mounts of their own. To be called before other threads begin."""
    global _private
    if not _private:
        if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS) != 0:
            raise OSError(ctypes.get_errno(), "no mount namespace of our own; these tests need root")
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        _private = True


@dataclass(frozen=True)
class Frozen:
    """Folders that hold a root, topmost first; nothing in them changes any more."""

    layers: tuple[Path, ...]


class LayeredRoot(DebianRoot):
    """`upper` is what was changed since the root was begun."""

    def __init__(self, path: Path, upper: Path, below: Frozen, binds: Sequence[tuple[Path, str]] = ()) -> None:
        super().__init__(path, binds)
        self.upper, self.below = upper, below

    def close(self) -> None:
        """Ends what runs in it and takes the mount away; what it held stays in `upper`."""
        self.kill_all()
        subprocess.run(["umount", "--lazy", str(self.path)], check=False)


class Workshop:
    """Where roots are made. `folder` is on tmpfs: nothing of it survives."""

    def __init__(self, size: str = "6G") -> None:
        private_mounts()
        self.folder = Path(tempfile.mkdtemp(prefix="gpudoctor-roots-"))
        self._heavy = Path(tempfile.mkdtemp(prefix="gpudoctor-base-"))
        self._count = itertools.count()
        self._size = size

    def __enter__(self) -> Workshop:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self._size},mode=0700", "tmpfs", str(self.folder)], check=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self._heavy, ignore_errors=True)

    def base(self, prepare: Callable[[LayeredRoot], object] | None = None, packages: Sequence[str] = PACKAGES) -> Frozen:
        """A clean Debian root, unpacked; with what `prepare` does to it."""
        unpacked = self._heavy / f"base-{next(self._count)}"
        unpacked.mkdir(mode=0o755)
        subprocess.run(["tar", "--numeric-owner", "-xpf", str(_tarball("bookworm", tuple(packages))), "-C", str(unpacked)], check=True)
        frozen = Frozen((unpacked,))
        if prepare is None:
            return frozen
        root = self.root(frozen)
        try:
            prepare(root)
        except BaseException:
            root.close()
            raise
        return self.freeze(root)

    def root(self, below: Frozen, *, on_disk: bool = False) -> LayeredRoot:
        """`on_disk`: for what is too big for memory."""
        place = (self._heavy if on_disk else self.folder) / f"root-{next(self._count)}"
        upper, work, path = place / "upper", place / "work", place / "root"
        for folder in (place, upper, work, path):
            folder.mkdir(mode=0o755)
        # redirect_dir: a folder of a lower layer can be renamed, as on any file system
        options = f"lowerdir={':'.join(map(str, below.layers))},upperdir={upper},workdir={work},redirect_dir=on,index=off"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(path)], check=True)
        return LayeredRoot(path, upper, below)

    def freeze(self, root: LayeredRoot) -> Frozen:
        """`root` cannot be used afterwards."""
        root.close()
        return Frozen((root.upper, *root.below.layers))

    @contextmanager
    def lent(self, below: Frozen, *, on_disk: bool = False) -> Iterator[LayeredRoot]:
        """A root that is thrown away afterwards."""
        root = self.root(below, on_disk=on_disk)
        try:
            yield root
        finally:
            self.throw_away(root)

    def throw_away(self, root: LayeredRoot) -> None:
        root.close()
        shutil.rmtree(root.upper.parent, ignore_errors=True)
