"""A small apt repository: packages made with dpkg-deb, signed with a test key made by gpg, served on 127.0.0.1.

key = SigningKey(folder / "gnupg")
repository = AptRepository(folder / "repository", key)
repository.add(Deb("libze1", "1.2", depends="libc6", files={"/usr/lib/libze.txt": "1"}))
repository.publish()                                 # sign=False: unsigned; key=other: signed by another key
with LoopbackServer(repository.folder) as server:
    address = repository.address(server.url, name="intel-graphics")     # what recipes/addresses.toml would hold
    server.dies_at = "libze1_1.2"
"""

from __future__ import annotations

import gzip
import hashlib
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path


class SigningKey:
    """A key pair that lives in `home` (a GNUPGHOME), and its public half in armour."""

    def __init__(self, home: Path, kind: str = "rsa3072") -> None:
        home.mkdir(mode=0o700, parents=True)
        self.home = home
        self._gpg("--passphrase", "", "--quick-generate-key", f"Test of {home.name} <test@example.org>", kind, "sign", "never")
        listed = self._gpg("--with-colons", "--list-keys")
        found = re.search(r"^fpr:{9}([0-9A-F]+):", listed, re.MULTILINE)
        assert found, listed
        self.fingerprint = found[1]
        self.armored = self._gpg("--armor", "--export", self.fingerprint)
        # The agent would outlive the test.
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)

    def sign(self, source: Path, target: Path, how: str) -> None:
        """`how`: --clear-sign or --detach-sign."""
        self._gpg("--armor", how, "--digest-algo", "SHA512", "--output", str(target), str(source))
        subprocess.run(["gpgconf", "--homedir", str(self.home), "--kill", "all"], check=False)

    def _gpg(self, *arguments: str) -> str:
        argv = ["gpg", "--homedir", str(self.home), "--batch", "--yes", "--pinentry-mode", "loopback", *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout


@dataclass(frozen=True)
class Deb:
    """One package. `scripts`: preinst, postinst, prerm, postrm -> text of a shell script; `conffiles`: absolute paths among `files`."""

    name: str
    version: str
    depends: str = ""
    recommends: str = ""
    provides: str = ""
    conflicts: str = ""
    architecture: str = "all"
    files: Mapping[str, str] = field(default_factory=dict)
    conffiles: tuple[str, ...] = ()
    scripts: Mapping[str, str] = field(default_factory=dict)
    padding: int = 0
    """Bytes that do not compress, so that a download can break off in the middle."""

    @property
    def file_name(self) -> str:
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"

    def build(self, folder: Path) -> Path:
        tree = folder / f".tree-{self.name}"
        shutil.rmtree(tree, ignore_errors=True)
        (tree / "DEBIAN").mkdir(parents=True)
        wanted = {
            "Package": self.name, "Version": self.version, "Architecture": self.architecture, "Maintainer": "Test <test@example.org>",
            "Depends": self.depends, "Recommends": self.recommends, "Provides": self.provides, "Conflicts": self.conflicts,
            "Section": "misc", "Priority": "optional", "Description": f"test package {self.name}",
        }  # fmt: skip
        (tree / "DEBIAN/control").write_text("".join(f"{key}: {value}\n" for key, value in wanted.items() if value))
        if self.conffiles:
            (tree / "DEBIAN/conffiles").write_text("".join(f"{path}\n" for path in self.conffiles))
        for name, text in self.scripts.items():
            (tree / "DEBIAN" / name).write_text(text if text.startswith("#!") else f"#!/bin/sh\nset -e\n{text}\n")
            (tree / "DEBIAN" / name).chmod(0o755)
        for path, content in self.files.items():
            target = tree / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
        if self.padding:
            place = tree / f"usr/share/{self.name}/padding"
            place.parent.mkdir(parents=True, exist_ok=True)
            seed = f"{self.name} {self.version}".encode()
            place.write_bytes(b"".join(hashlib.sha512(seed + str(i).encode()).digest() for i in range(self.padding // 64 + 1)))
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / self.file_name
        argv = ["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", str(tree), str(target)]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(tree)
        return target


class AptRepository:
    """`folder` is what a server serves: dists/, pool/ and key.asc."""

    def __init__(self, folder: Path, key: SigningKey, suite: str = "stable", component: str = "main", architecture: str = "amd64") -> None:
        self.folder, self.key, self.suite, self.component, self.architecture = folder, key, suite, component, architecture
        (folder / "pool").mkdir(parents=True)
        (folder / "key.asc").write_text(key.armored)

    def add(self, *debs: Deb) -> None:
        """Builds packages into the pool; `publish` makes them known."""
        for deb in debs:
            deb.build(self.folder / "pool")

    def publish(self, *, sign: bool = True, key: SigningKey | None = None) -> None:
        """Writes the index and signs it; unsigned or signed by another key where asked for."""
        top = self.folder / "dists" / self.suite
        shutil.rmtree(top, ignore_errors=True)
        binary = top / self.component / f"binary-{self.architecture}"
        binary.mkdir(parents=True)
        listed = subprocess.run(["dpkg-scanpackages", "--multiversion", "pool"], cwd=self.folder, capture_output=True, check=True).stdout
        (binary / "Packages").write_bytes(listed)
        (binary / "Packages.gz").write_bytes(gzip.compress(listed, mtime=0))
        lines = [
            "Origin: gpudoctor test", f"Suite: {self.suite}", f"Codename: {self.suite}", f"Date: {formatdate(usegmt=True)}",
            f"Architectures: {self.architecture}", f"Components: {self.component}", "SHA256:",
        ]  # fmt: skip
        for path in sorted(binary.iterdir()):
            content = path.read_bytes()
            lines.append(f" {hashlib.sha256(content).hexdigest()} {len(content)} {path.relative_to(top)}")
        release = top / "Release"
        release.write_text("\n".join(lines) + "\n")
        if sign:
            chosen = key or self.key
            chosen.sign(release, top / "InRelease", "--clear-sign")
            chosen.sign(release, top / "Release.gpg", "--detach-sign")

    def address(self, url: str, name: str = "test", fingerprint: str = "") -> dict[str, str]:
        """The keys of this repository's entry in addresses.toml."""
        return {
            "name": name, "kind": "apt", "url": url, "title": "a test repository", "key_url": f"{url}/key.asc",
            "fingerprint": fingerprint or self.key.fingerprint,
        }  # fmt: skip
