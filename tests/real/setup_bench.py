"""A root that is taken for Ubuntu 24.04, the mirrors that it uses, and gpudoctor setup in it. For tests that go through whole runs."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from debian_root import RootState
from layered_root import Frozen, LayeredRoot, Workshop
from vendor_mirrors import CONFIG, Mirrors, served

AS_ANNA = {"USER": "anna", "XDG_CACHE_HOME": "/var/cache/gpudoctor-test"}
"""Root works for the user anna, as sudo would have it."""


@dataclass
class Bench:
    shop: Workshop
    base: Frozen
    mirrors: Mirrors

    @contextlib.contextmanager
    def machine(self) -> Iterator[Machine]:
        self.mirrors.heal()
        with self.shop.lent(self.base) as root:
            root.write(CONFIG, self.mirrors.config())
            yield Machine(root, self.mirrors)


class Machine:
    """One root with the state that it began with."""

    def __init__(self, root: LayeredRoot, mirrors: Mirrors) -> None:
        self.root, self.mirrors = root, mirrors
        self.start: RootState = root.state()
        self.lists = root.apt_lists()

    def setup(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.root.doctor(["setup", *arguments], check=False, env=AS_ANNA)

    def begin(self, *arguments: str) -> subprocess.Popen[bytes]:
        """The same, not waited for; what it prints goes to `log`."""
        return self.root.start(self.root.doctor_argv(["setup", *arguments]), env=AS_ANNA, log=self.log)

    @property
    def log(self) -> Path:
        return self.root.here("/var/tmp/log")

    def is_as_before(self) -> bool:
        differences = self.root.state().differences(self.start)
        assert not differences, "\n".join(differences[:20])
        assert self.root.apt_lists() == self.lists
        assert not list(self.root.here("/usr/share/keyrings").glob("gpudoctor*"))
        return True

    def undo(self) -> None:
        undone = self.setup("--undo")
        assert undone.returncode == 0, undone.stdout
        assert self.is_as_before()


@contextlib.contextmanager
def bench_in(folder: Path) -> Iterator[Bench]:
    # The recipes ask for 8.5 GB; that much is promised, not used.
    with Workshop(size="16G") as shop, served(folder) as mirrors:
        yield Bench(shop, shop.base(mirrors.prepare), mirrors)
