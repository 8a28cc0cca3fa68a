"""Publishes the folder checks/ as a signed catalogue for `gpudoctor update-checks`: a repository of The Update Framework, and a .zip of it.

    python packaging/publish_checks.py REPOSITORY --keys FOLDER [--days 90] [--made YYYY-MM-DD]

REPOSITORY is a folder that a web server can serve as it is. FOLDER holds the private keys (root.pem, online.pem), which are made the first
time; keep them away from the server. REPOSITORY/root.json is what people trust once (`--trust`), REPOSITORY.zip is for machines without a
network. Each run adds a version and renews the dates; nothing that was published is changed.
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp

from gpudoctor import __version__
from gpudoctor.knowledge.compiled_catalogue import CompiledCatalogue
from gpudoctor.knowledge.loader import compile_folder
from gpudoctor.knowledge.updated_checks import TARGET

CHECKS = Path(__file__).resolve().parents[1] / "checks"
ROLES = ("targets", "snapshot", "timestamp")
ROOT_DAYS = 3650


def signer_of(path: Path) -> CryptoSigner:
    """The key in a file, which is made where there is none, readable by its owner only."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        kinds = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        path.write_bytes(Ed25519PrivateKey.generate().private_bytes(*kinds))
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    if not isinstance(key, Ed25519PrivateKey):
        sys.exit(f"{path}: expected an Ed25519 key; move it away, and a new one is made")
    return CryptoSigner(key)


def last_version(metadata: Path, role: str) -> int:
    """The highest published version of a role; 0 before the first."""
    found = [re.fullmatch(rf"(\d+)\.{role}\.json", path.name) for path in metadata.iterdir()]
    return max((int(each[1]) for each in found if each), default=0)


def publish(repository: Path, keys: Path, checks: Path = CHECKS, days: int = 90, made: str = "", release: str = __version__) -> Path:
    """Adds one version to the repository, and returns the .zip of all that a client needs."""
    metadata, targets = repository / "metadata", repository / "targets"
    metadata.mkdir(parents=True, exist_ok=True)
    targets.mkdir(exist_ok=True)
    root_signer, online = signer_of(keys / "root.pem"), signer_of(keys / "online.pem")
    now = datetime.now(timezone.utc).replace(microsecond=0)
    if not last_version(metadata, "root"):
        root = Root(expires=now + timedelta(days=ROOT_DAYS), consistent_snapshot=True)
        root.add_key(root_signer.public_key, "root")
        for role in ROLES:
            root.add_key(online.public_key, role)
        signed = Metadata(root)
        signed.sign(root_signer)
        signed.to_file(str(metadata / "1.root.json"))
        signed.to_file(str(repository / "root.json"))
    content = compile_folder(checks)
    version = last_version(metadata, "targets") + 1
    expires = now + timedelta(days=days)
    target = TargetFile.from_data(TARGET, content, ["sha256"])
    about = {"version": CompiledCatalogue(content).version, "made": made or f"{now:%Y-%m-%d}", "gpudoctor": release}
    target.unrecognized_fields["custom"] = about
    (targets / f"{target.hashes['sha256']}.{TARGET}").write_bytes(content)
    written = [
        (Targets(version=version, expires=expires, targets={TARGET: target}), f"{version}.targets.json"),
        (Snapshot(version=version, expires=expires, meta={"targets.json": MetaFile(version)}), f"{version}.snapshot.json"),
        (Timestamp(version=version, expires=expires, snapshot_meta=MetaFile(version)), "timestamp.json"),
    ]
    for role, name in written:  # the timestamp last: until it is there, clients see the version before
        document = Metadata(role)
        document.sign(online)
        document.to_file(str(metadata / name))
    archive = repository.with_suffix(".zip")
    wanted = [*metadata.glob("*.root.json"), *(metadata / name for _, name in written), targets / f"{target.hashes['sha256']}.{TARGET}"]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(wanted):
            packed.write(path, path.relative_to(repository).as_posix())
    return archive


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("repository", type=Path)
    options.add_argument("--keys", type=Path, required=True)
    options.add_argument("--days", type=int, default=90)
    options.add_argument("--made", default="")
    given = options.parse_args()
    archive = publish(given.repository, given.keys, days=given.days, made=given.made)
    sys.stdout.write(f"{given.repository} has a new version; for machines without a network: {archive}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
