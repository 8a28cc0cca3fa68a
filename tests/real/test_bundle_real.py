"""An offline bundle made from the real index and the real Debian mirror, then used where there is no network interface at all."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest
from apt_repository import AptRepository, Deb, SigningKey
from debian_root import DebianRoot
from loopback_server import LoopbackServer

from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.plan import Plan, PlannedStep
from gpudoctor.model.recipe import Address
from gpudoctor.setup.offline.bundle import Bundle, BundleError, open_bundle
from gpudoctor.setup.offline.bundle_making import make_bundle
from gpudoctor.setup.steps import kind_named
from gpudoctor.setup.steps._step import Look
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.local_host import LocalHost
from gpudoctor.system.writable_host import ActFailed

pytestmark = pytest.mark.rotates("slow", member="bundles")

ROOT = Path(__file__).resolve().parents[2]
PYTHON = {"path": sys.executable, "minor": "{}.{}".format(*sys.version_info), "version": "", "venv": True}
ADDRESSES = {"pypi": Address(name="pypi", kind="python-index", url="https://pypi.org/simple")}

# Runs in a network namespace without interfaces, in a fresh interpreter: what a machine without a network does.
OFFLINE = """
import json, socket, sys
from pathlib import Path
from gpudoctor.system.live_changes import ActingHost
from gpudoctor.system.local_host import LocalHost
from gpudoctor.setup.offline.bundle import open_bundle
from gpudoctor.setup.steps import kind_named
from gpudoctor.setup.steps._step import Look
from gpudoctor.model.facts import Facts, Known

asked = json.loads(sys.argv[1])
try:
    socket.create_connection(("1.1.1.1", 443), 3)
    sys.exit("there is a network here: this proves nothing")
except OSError:
    pass
bundle = open_bundle(asked["bundle"])
host = LocalHost(budget=600.0)
facts = Facts({name: Known(value) for name, value in asked["facts"].items()})
machine = ActingHost(host, log=Path(asked["log"]), offline=True)
for kind, given in asked["steps"]:
    look = Look(facts=facts, host=host, addresses={}, env=asked["env"], options={"bundle": bundle.folder, "uv": False})
    made = kind_named(kind)
    settings = made.plan(given, look).settings
    before = made.before(settings, machine)
    made.apply(settings, before, machine)
    made.after(settings, before, machine)
    missing = made.missing(settings, machine)
    if missing:
        sys.exit(missing)
"""


def machine(folder: Path) -> ActingHost:
    (folder / "state").mkdir(exist_ok=True)
    return ActingHost(LocalHost(budget=600.0), log=folder / "state/log")


def plan(env: str, *steps: tuple[str, dict[str, object]], facts: dict[str, object], addresses: Mapping[str, Address] = ADDRESSES) -> Plan:
    look = Look(
        facts=Facts({name: Known(value) for name, value in facts.items()}), host=LocalHost(budget=60.0), addresses=addresses, env=env,
        options={"uv": False, "insecure": list(addresses)},
    )  # fmt: skip
    planned = tuple(
        PlannedStep(
            number=number,
            kind=kind,
            title=kind,
            why="",
            layer="framework",
            recipe="r",
            settings=kind_named(kind).plan(given, look).settings,
        )
        for number, (kind, given) in enumerate(steps, 1)
    )
    return Plan(
        name="cpu", recipe="cpu", title="", stack="", compute="", machine="", env=env, steps=planned, os_id="debian", os_version="12"
    )


def test_wheels_from_the_real_index_install_without_a_network(tmp_path: Path) -> None:
    facts: dict[str, object] = {"python.interpreters": [PYTHON], "os.id": "debian", "os.version": "12"}
    venv: tuple[str, dict[str, object]] = ("venv", {"python": f"=={PYTHON['minor']}.*"})
    steps = (
        venv,
        ("pip", {"packages": ["markupsafe<3"]}),
        ("pip", {"packages": ["jinja2==3.1.4"]}),
        ("pip", {"packages": ["docopt==0.6.2"]}),  # has no wheel: one is built while there is a network
    )
    made = make_bundle(plan(str(tmp_path / "elsewhere"), *steps, facts=facts), ADDRESSES, str(tmp_path / "bundle"), machine(tmp_path))
    names = [path.partition("/")[2].partition("-")[0].lower() for path in made.of("wheels")]
    assert sorted(names) == ["docopt", "jinja2", "markupsafe"]  # one release of each, although two steps ask for markupsafe
    assert all(path.endswith(".whl") for path in made.of("wheels"))
    assert {made.files[path].source for path in made.of("wheels")} == {"https://pypi.org/simple"}
    assert made.python == PYTHON["minor"] and sorted(path.name for path in (tmp_path / "bundle").iterdir()) == ["manifest.json", "wheels"]

    env = tmp_path / "env"
    asked = {
        "bundle": str(tmp_path / "bundle"), "env": str(env), "facts": facts, "steps": steps, "log": str(tmp_path / "state/offline"),
    }  # fmt: skip
    argv = ["unshare", "--net", sys.executable, "-c", OFFLINE, json.dumps(asked)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = subprocess.run(
        [f"{env}/bin/python", "-c", "import jinja2, docopt; print(jinja2.__version__, docopt.__version__)"], capture_output=True, text=True
    )
    assert shown.stdout == "3.1.4 0.6.2\n", shown.stderr

    wheel = next((tmp_path / "bundle/wheels").glob("[Jj]inja2*"))
    content = wheel.read_bytes()
    wheel.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(BundleError, match="size or checksum differ"):
        open_bundle(str(tmp_path / "bundle"))


def _bundle_of_packages(tmp_path: Path, *packages: str) -> Bundle:
    made = plan("", ("apt.install", {"packages": list(packages)}), facts={})
    return make_bundle(made, ADDRESSES, str(tmp_path / "bundle"), machine(tmp_path))


def test_debian_packages_install_without_a_network(tmp_path: Path) -> None:
    lists = sorted(path.name for path in Path("/var/lib/apt/lists").iterdir())
    made = _bundle_of_packages(tmp_path, "no-such-package-at-all|ocl-icd-libopencl1", "clinfo")
    assert lists == sorted(path.name for path in Path("/var/lib/apt/lists").iterdir())  # this machine's apt is left alone
    debs = [path for path in made.of("repos") if path.endswith(".deb")]
    names = {path.rpartition("/")[2].partition("_")[0] for path in debs}
    assert {"ocl-icd-libopencl1", "clinfo", "libc6"} <= names  # libc6 is here already: another machine may have an older one
    assert all(made.files[path].source.endswith(".deb") for path in debs)

    with DebianRoot.fresh() as root:
        root.bind_doctor()
        root.binds.append((tmp_path / "bundle", "/media/bundle"))
        before = root.state()
        root.run(["sh", "-c", "rm -rf /var/lib/apt/lists/*"])
        asked = {
            "bundle": "/media/bundle", "env": "", "facts": {}, "log": "/root/log",
            "steps": [("apt.install", {"packages": ["no-such-package-at-all|ocl-icd-libopencl1", "clinfo"]})],
        }  # fmt: skip
        root.write("/root/offline.py", textwrap.dedent(OFFLINE))
        path = {"PYTHONPATH": "/opt/gpudoctor:/opt/site-packages", "PYTHONDONTWRITEBYTECODE": "1"}
        root.run(["unshare", "--net", "python3", "/root/offline.py", json.dumps(asked)], env=path)
        after = root.state()
        assert {"ocl-icd-libopencl1:amd64", "clinfo:amd64"} == after.packages.keys() - before.packages.keys()
        assert {name: after.packages[name] for name in before.packages} == before.packages  # nothing else was touched


def test_a_vendor_repository_comes_along_with_its_pinned_key(tmp_path: Path) -> None:
    signing, other = SigningKey(tmp_path / "gnupg"), SigningKey(tmp_path / "other")
    repository = AptRepository(tmp_path / "repository", signing)
    repository.add(Deb("gpudoctor-test-ze1", "1.2", depends="gpudoctor-test-igc"), Deb("gpudoctor-test-igc", "3"))
    repository.publish()
    steps: tuple[tuple[str, dict[str, object]], ...] = (
        ("apt.repository", {"repository": "vendor", "suite": "stable", "components": ["main"]}),
        ("apt.install", {"packages": ["gpudoctor-test-ze1=1.*"]}),
    )
    with LoopbackServer(repository.folder) as server:

        def made(fingerprint: str, folder: str) -> Bundle:
            addresses = {"vendor": Address(**repository.address(server.url, "vendor", fingerprint))}
            planned = plan("", *steps, facts={"platform.machine": "x86_64"}, addresses=addresses)
            return make_bundle(planned, addresses, str(tmp_path / folder), machine(tmp_path))

        bundle = made(signing.fingerprint, "bundle")
        debs = [path for path in bundle.of("repos") if path.endswith(".deb")]
        assert debs == ["repos/0/pool/gpudoctor-test-igc_3_all.deb", "repos/0/pool/gpudoctor-test-ze1_1.2_all.deb"]
        assert bundle.of("keys") == ["keys/vendor.gpg"]
        assert bundle.files[debs[1]].source.startswith(server.url)
        with pytest.raises(ActFailed, match="expected the key"):
            made(other.fingerprint, "with-another-key")
        repository.publish(key=other)
        with pytest.raises(ActFailed):
            made(signing.fingerprint, "signed-by-another")
        repository.publish(sign=False)
        with pytest.raises(ActFailed):
            made(signing.fingerprint, "unsigned")
    for folder in ("with-another-key", "signed-by-another", "unsigned"):
        with pytest.raises(BundleError):
            open_bundle(str(tmp_path / folder))
