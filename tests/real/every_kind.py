"""A recipe with a step of every kind that can be tried on Debian, and the loopback servers that it stands on.

The expensive steps come first: a run that goes on after a kill has only the cheap ones left.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from apt_repository import AptRepository, Deb, SigningKey
from layered_root import LayeredRoot
from loopback_server import LoopbackServer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from wheel_index import Wheel, WheelIndex

RECIPES = "/opt/recipes"
ENV = "/root/gpudoctor/cpu"
OLD_ENV = "/root/work"
"""An environment of the person's, which was there before."""
STEPS = (
    "venv", "pip", "pip", "environment", "apt.repository", "apt.remove", "apt.install", "group", "file", "edit", "udev.rule", "modprobe",
    "download", "unpack",
)  # fmt: skip
MIDDLE: dict[str, tuple[tuple[str, str], ...]] = {
    "venv": (("the interpreter is there", f"{ENV}/bin/python"), ("pip is being unpacked", f"{ENV}/lib/python3*/site-packages/pip")),
    "pip": (
        ("a wheel is on its way", f"{ENV}.gpudoctor-*.tmp/pip-*/*.whl"),
        ("the first package is in", f"{ENV}/lib/python3*/site-packages/framework"),
    ),
    "apt.repository": (("a list is on its way", "/var/lib/apt/lists/partial/*127.0.0.1*"),),
    "apt.remove": (("prerm", "/tmp/old-driver-prerm"), ("postrm", "/tmp/old-driver-postrm")),
    "apt.install": (
        ("preinst of the first package", "/tmp/loader-preinst"),
        ("the driver is being unpacked", "/usr/share/driver/1*.dpkg-new"),
        ("postinst", "/tmp/driver-postinst"),
    ),
    "edit": (("the boot menu is being made", "/tmp/update-grub"),),
    "download": (("half of it is there", "/opt/kit/*.gpudoctor-part"),),
    "unpack": (("the first files are out", "/opt/kit/sdk*.part/*"),),
}
"""What to wait for, so that a kill falls into the middle of a step: (what then happens, glob)."""
ACTS: dict[str, tuple[str, ...]] = {
    "venv": ("make_folder", "write", "run", "write", "remove"),
    "pip": ("snapshot_tree", "make_folder", "run", "write", "run", "remove_tree", "write", "drop_snapshot"),
    "pip of theirs": ("snapshot_tree", "make_folder", "run", "run", "remove_tree"),
    "environment": ("write", "write"),
    "apt.repository": ("fetch", "write", "write", "run"),
    "apt.remove": ("run",),
    "apt.install": ("run", "run"),
    "group": ("run",),
    "file": ("make_folder", "make_folder", "write", "run"),
    "edit": ("write", "run"),
    "udev.rule": ("write",),
    "modprobe": ("write",),
    "download": ("make_folder", "download"),
    "unpack": ("unpack",),
}
"""What the steps do to the machine, one after another: the points of a kill are known before anything is run, and a test compares."""
UNDO_RUNS = ((10, 2), (9, 4), (8, 1), (8, 2), (7, 1), (7, 2), (7, 3), (7, 4), (7, 5), (6, 1))
"""Where an undo starts a process: (step, which of its acts)."""

_MARK = "echo x > /tmp/{}; sleep 0.3"
_DEBS = (
    Deb("old-driver", "1.0", depends="old-loader", files={"/etc/old-driver.conf": "a = 1\n", "/usr/share/old-driver/a": "a"},
        conffiles=("/etc/old-driver.conf",),
        scripts={"prerm": _MARK.format("old-driver-prerm"), "postrm": _MARK.format("old-driver-postrm")}),
    Deb("old-loader", "1.0", files={"/etc/old-loader.conf": "b = 1\n"}, conffiles=("/etc/old-loader.conf",)),
    Deb("loader", "1.0", files={"/etc/loader.conf": "c = 1\n"}, conffiles=("/etc/loader.conf",),
        scripts={"preinst": _MARK.format("loader-preinst")}),
    Deb("middle", "1.0", files={"/etc/middle.conf": "1\n"}, conffiles=("/etc/middle.conf",)),
    Deb("middle", "2.0", files={"/etc/middle.conf": "2\n"}, conffiles=("/etc/middle.conf",)),
    Deb("driver", "2.0", depends="loader, middle (>= 2)", padding=100_000, conffiles=("/etc/driver.conf",),
        files={"/etc/driver.conf": "d = 1\n", **{f"/usr/share/driver/{number}": "x" * 100 for number in range(3000)}},
        scripts={"postinst": _MARK.format("driver-postinst"), "prerm": _MARK.format("driver-prerm")}),
)  # fmt: skip
_ADDRESSES = """
[test]
kind = "apt"
url = "https://apt.invalid"
title = "a test repository"
key_url = "https://apt.invalid/key.asc"
fingerprint = "0123456789ABCDEF0123456789ABCDEF01234567"
date = 2026-11-20
ref = "https://example.org"

[pypi]
kind = "python-index"
url = "https://index.invalid/simple"
title = "a test index"
date = 2026-11-20
ref = "https://example.org"

[files]
kind = "download"
url = "https://files.invalid"
title = "test files"
date = 2026-11-20
ref = "https://example.org"
"""
_MIRRORS = """
[mirrors]
pypi = "{index}"
files = "{files}"

[mirrors.test]
url = "{apt}"
fingerprint = "{fingerprint}"
"""
_HEAD = """
id = "{id}"
name = "{id}"
title = "a step of every kind"
platform = "Linux"
rank = 1
disk_gb = 0.1
applies = {{ fact = "platform.kind", is = "linux" }}

[[source]]
ref = "https://example.org"
read = 2026-11-20
says = "a test"
"""
_SETTINGS = {
    "venv": ['python = ">=3.8"'],
    "pip": ['packages = ["framework==2.0"]'],
    "pip-2": ['packages = ["framework==2.1", "extension"]'],
    "environment": ['variables = { DEVICE = "one two" }'],
    "apt.repository": ['repository = "test"', 'suite = "stable"', 'components = ["main"]', 'architectures = ["amd64"]'],
    "apt.remove": ['packages = ["old-driver"]'],
    "apt.install": ['packages = ["driver"]', "hold = true"],
    "group": ['groups = ["render", "video"]'],
    "file": ['path = "/etc/ld.so.conf.d/deep/er/kit.conf"', 'content = "/opt/kit/lib"', 'after = ["ldconfig"]'],
    "edit": ['path = "/etc/default/grub"', 'remove_words = ["i915.force_probe"]', 'after = ["grub"]'],
    "udev.rule": ['name = "70-test"', 'content = \'KERNEL=="accel*", GROUP="render"\''],
    "modprobe": ['name = "i915"', 'options = ["options i915 enable_guc=3"]'],
    "download": ['address = "files"', 'path = "sdk.tar.gz"', 'sha256 = "{digest}"', 'to = "/opt/kit/sdk.tar.gz"'],
    "unpack": ['archive = "/opt/kit/sdk.tar.gz"', 'to = "/opt/kit/sdk"'],
}


@dataclass
class Site:
    """What the recipe stands on, while it is served."""

    packages: LoopbackServer
    repository: AptRepository
    files: LoopbackServer
    index: WheelIndex
    digest: str

    def prepare(self, root: LayeredRoot) -> None:
        """A machine that is not empty: a driver that will go, a package that will be upgraded, marks, holds, a user, an environment."""
        for path in root.here("/etc/apt/sources.list.d").iterdir():
            path.unlink()  # the network is not asked
        for name in root.apt_lists():
            root.here(f"/var/lib/apt/lists/{name}").unlink()
        root.write("/etc/apt/sources.list.d/person.list", "# nothing yet\n")
        for name in ("old-driver", "old-loader", "middle"):
            source = self.repository.folder / "pool" / f"{name}_1.0_all.deb"
            root.here(f"/tmp/{source.name}").write_bytes(source.read_bytes())
        root.run(["sh", "-c", "dpkg -i /tmp/*.deb && rm /tmp/*.deb && apt-mark auto old-loader middle && apt-mark hold old-loader"])
        root.run(["sh", "-c", "groupadd -f render && useradd -m anna && usermod -aG audio anna && chmod 750 /home/anna"])
        root.write("/etc/default/grub", 'GRUB_CMDLINE_LINUX="quiet i915.force_probe=56a0"\nGRUB_TIMEOUT=1\n', 0o640)
        root.write("/usr/sbin/update-grub", "#!/bin/sh\necho x > /tmp/update-grub; sleep 0.2; cp /etc/default/grub /etc/grub.made\n", 0o755)
        root.run(["sh", "-c", "update-grub; rm /tmp/update-grub; mkdir -p /etc/modprobe.d /etc/udev/rules.d"])
        root.write("/etc/modprobe.d/gpudoctor-i915.conf", "# of an earlier life\n", 0o600)
        root.write("/root/notes", "mine\n")
        root.run(["python3", "-m", "venv", "--without-pip", OLD_ENV])
        self._fill(root)
        self.write_recipes(root)

    def _fill(self, root: LayeredRoot) -> None:
        """The person's environment holds an older framework, and something of their own."""
        site = next(root.here(f"{OLD_ENV}/lib").iterdir()) / "site-packages"
        for wheel in (Wheel("framework", "1.0"), Wheel("mine", "0.1", files={"mine.py": "x = 1\n"})):
            path = wheel.write(root.here("/tmp"))
            with contextlib.closing(__import__("zipfile").ZipFile(path)) as archive:
                archive.extractall(site)
            path.unlink()
        (site / "by_hand.pth").write_text("/root/notes\n")

    def write_recipes(self, root: LayeredRoot) -> None:
        texts = {name: [line.replace("{digest}", self.digest) for line in lines] for name, lines in _SETTINGS.items()}
        root.write(f"{RECIPES}/addresses.toml", _ADDRESSES)
        root.write("/root/.config/gpudoctor/config.toml", _MIRRORS.format(
            apt=self.packages.url, fingerprint=self.repository.key.fingerprint, index=self.index.url, files=self.files.url
        ))  # fmt: skip
        seen: list[str] = []
        steps = []
        for kind in STEPS:
            seen.append(kind)
            steps.append(_step(kind, texts["pip-2" if seen.count("pip") == 2 and kind == "pip" else kind]))
        root.write(f"{RECIPES}/cpu/cpu.toml", _HEAD.format(id="cpu") + "".join(steps))
        root.write(f"{RECIPES}/jax/jax.toml", _HEAD.format(id="jax") + _step("venv", texts["venv"]) + _step("pip", texts["pip-2"]))


def _step(kind: str, lines: list[str]) -> str:
    return "\n".join(["", "[[step]]", f'do = "{kind}"', f'title = "the step {kind}"', 'why = "a test"', 'layer = "framework"', *lines, ""])


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Site]:
    repository = AptRepository(folder / "apt", SigningKey(folder / "gnupg"))
    repository.add(*_DEBS)
    repository.publish()
    digest = _sdk(folder / "files")
    wheels = [
        Wheel("framework", "2.0", requires=["helper"], padding=400_000),
        Wheel("framework", "2.1", requires=["helper"], padding=400_000),
        Wheel("helper", "1.0", files={f"helper/part_{number}.py": f"x = {number}\n" for number in range(400)}),
        Wheel("extension", "2.1", requires=["framework==2.1"]),
    ]
    with (
        LoopbackServer(repository.folder) as packages,
        LoopbackServer(folder / "files") as files,
        WheelIndex(wheels, slow={"framework": 0.4}) as index,
    ):
        yield Site(packages, repository, files, index, digest)


def _sdk(folder: Path) -> str:
    """An archive with many files, and too big to be there at once."""
    folder.mkdir(parents=True)
    path = folder / "sdk.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        noise = b"".join(hashlib.sha512(str(number).encode()).digest() for number in range(200_000))
        members = [("sdk/noise", noise), *((f"sdk/include/{number}.h", b"// x\n") for number in range(1500))]
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), 1_700_000_000
            archive.addfile(entry, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()
