"""Preflight against real servers on loopback: a Python index, an apt tree, a folder of downloads."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import lzma
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

sys.path.insert(0, str(Path(__file__).parents[2]))
from http_tree import Tree
from wheel_index import Wheel, WheelIndex

from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.plan import DONE, Plan, PlannedStep
from gpudoctor.model.recipe import Address
from gpudoctor.setup.packages import apt_index, python_index
from gpudoctor.setup.preflight import Preflight, preflight
from gpudoctor.setup.steps._step import Look
from gpudoctor.system.http import HttpClient
from gpudoctor.system.local_host import LocalHost

pytestmark = pytest.mark.starts_processes("preflight asks gpgv and sudo")

LINUX = ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "linux_x86_64"]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def tree() -> Iterator[Tree]:
    with Tree() as one:
        yield one


def step(number: int, kind: str, settings: Mapping[str, Any], **more: Any) -> PlannedStep:
    return PlannedStep(number=number, kind=kind, title=kind, why="", layer="framework", recipe="r", settings=settings, **more)


def plan(*steps: PlannedStep, env: str = "", **more: Any) -> Plan:
    return Plan(name="torch-xpu", recipe="r", title="", stack="", compute="", machine="", env=env, steps=steps, **more)


def run(made: Plan, addresses: Mapping[str, Address] = {}, facts: Mapping[str, Any] = {}, online: bool = True, **options: Any) -> Preflight:
    known = {"platform.machine": "x86_64", "user.is_root": True, **facts}
    look = Look(
        facts=Facts({name: Known(value) for name, value in known.items()}), host=LocalHost(budget=60.0), addresses=addresses, env=made.env,
        options=options,
    )  # fmt: skip
    return preflight(made, look, HttpClient(online=True) if online else None, LINUX)


def pip(index: str, *packages: str, minor: str = "3.11", **settings: Any) -> tuple[PlannedStep, ...]:
    venv = step(1, "venv", {"path": "/nowhere/env", "python": sys.executable, "minor": minor, "uv": ""}, state=DONE)
    return venv, step(2, "pip", {"packages": list(packages), "index": index, **settings})


def said(result: Preflight) -> str:
    return "\n".join(f"{row.status}: {row.what}: {row.detail}; {row.advice}" for row in result.rows)


def test_a_version_that_is_gone_names_the_nearest_and_the_command() -> None:
    with WheelIndex({"torch": ["2.7.1+xpu", "2.8.1+xpu", "2.9.0+xpu", "2.8.2"], "numpy": "2.1.0"}) as index:
        url = index.at("whl/xpu")
        addresses = {"pytorch": Address(name="pytorch", kind="python-index", url=index.at("whl"))}
        result = run(plan(*pip(url, "torch==2.8.0+xpu", "numpy")), addresses)
    (problem,) = result.problems
    assert problem.detail == "torch 2.8.0+xpu is not there any more; nearest: 2.8.1+xpu"
    assert problem.advice == "gpudoctor setup torch-xpu --torch 2.8.1"
    assert problem.what == "torch==2.8.0+xpu on pytorch/xpu" and problem.address == "pytorch"
    assert "ok: numpy on pytorch/xpu: 2.1.0" in said(result)


def test_a_python_without_a_wheel_is_told_which_has_one() -> None:
    wheels = [Wheel("torch", "2.8.0", tag=f"cp3{minor}-cp3{minor}-manylinux_2_28_x86_64") for minor in (10, 11, 12)]
    with WheelIndex([*wheels, Wheel("torch", "2.9.0", tag="cp313-cp313-manylinux_2_28_aarch64")]) as index:
        assert not run(plan(*pip(index.url, "torch==2.8.*", minor="3.12"))).problems
        (problem,) = run(plan(*pip(index.url, "torch==2.8.*", minor="3.13"))).problems
        (other,) = run(plan(*pip(index.url, "torch==2.9.*", minor="3.13"))).problems
    assert "no wheel for Python 3.13" in problem.detail and "3.10, 3.11, 3.12" in problem.detail
    assert problem.advice == "gpudoctor setup torch-xpu --python-version 3.12"
    assert "no wheel" in other.detail and "--python-version" not in other.advice  # another Python would not help


def test_pip_looks_at_all_indexes_and_so_does_the_question() -> None:
    with WheelIndex({"torch": "2.8.0"}) as one, WheelIndex({"numpy": "2.1.0"}) as two:
        assert not run(plan(*pip(one.url, "torch", "numpy", first_index=two.url))).problems
        (problem,) = run(plan(*pip(one.url, "torch", "numpy"))).problems
    assert "numpy is not on" in problem.detail


def test_markers_files_and_addresses() -> None:
    with WheelIndex({"torch": "2.8.0"}) as index:
        there = f"{index.at('files')}/torch-2.8.0-py3-none-any.whl#sha256={'0' * 64}"
        gone = f"x @ {index.at('files')}/x-1.0-py3-none-any.whl#sha256={'0' * 64}"
        result = run(plan(*pip(index.url, 'old; python_version < "3.9"', "/sdk/poptorch-1.whl", there, gone)))
    (problem,) = result.problems
    assert "x-1.0-py3-none-any.whl does not exist any more" in problem.detail
    assert "old" not in said(result) and "poptorch" not in said(result)


def test_one_problem_for_a_network_that_is_gone() -> None:
    dead = "http://127.0.0.1:1/simple"
    vendor = {"name": "vendor", "url": "http://127.0.0.1:1/apt", "key_url": "http://127.0.0.1:1/k", "fingerprint": "A" * 40}
    made = plan(
        *pip(dead, "torch", "numpy", "pillow"),
        step(3, "apt.repository", {**vendor, "suite": "stable", "components": ["main"]}),
        step(4, "apt.install", {"packages": ["libze1=1.*"]}),
    )
    result = run(made)
    (problem,) = result.problems
    assert (
        problem.what == "network"
        and "127.0.0.1:1" in problem.detail
        and "--mirror" in problem.advice
        and "--offline-bundle" in problem.advice
    )
    assert all(row.status in ("ok", "problem") for row in result.rows), said(result)


def test_a_bundle_needs_no_network() -> None:
    result = run(plan(*pip("http://127.0.0.1:1/simple", "torch")), bundle="/media/bundle")
    assert not result.problems and "/media/bundle" in result.notes[-1]


def release(tree: Tree, packages: bytes, *, signed: bool = True, architectures: str = "amd64 all", name: str = "Packages.xz") -> None:
    digest = hashlib.sha256(packages).hexdigest()
    text = (
        f"Suite: jammy\nArchitectures: {architectures}\nComponents: unified\n"
        f"SHA256:\n {digest} {len(packages)} unified/binary-amd64/{name}\n"
    )
    folder = "/apt/dists/jammy"
    tree.files[f"{folder}/unified/binary-amd64/{name}"] = packages
    if signed:
        text = (
            f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n{text}-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n"
        )
        tree.files[f"{folder}/InRelease"] = text.encode()
    else:
        tree.files[f"{folder}/Release"] = text.encode()


LISTED = b"Package: libze1\nVersion: 1.21.9-1\n\nPackage: libze1\nVersion: 1.9-1\n\nPackage: intel-opencl-icd\nVersion: 25.13-1\n"


def vendor(tree: Tree, *packages: str, suite: str = "jammy", components: tuple[str, ...] = ("unified",), key: str = "") -> Preflight:
    address = {"name": "vendor", "url": f"{tree.url}/apt", "key_url": f"{tree.url}/key" if key else "", "fingerprint": key}
    made = plan(
        step(1, "apt.repository", {**address, "suite": suite, "components": list(components)}),
        step(2, "apt.install", {"packages": list(packages)}),
    )
    return run(made)


def test_a_flat_repository(tree: Tree) -> None:
    release(tree, LISTED, name="Packages")
    old = tree.files.pop("/apt/dists/jammy/InRelease").replace(b"unified/binary-amd64/", b"")
    tree.files |= {"/apt/InRelease": old, "/apt/Packages": LISTED}
    for suite in ("/", "./"):
        (problem,) = vendor(tree, "libze1=1.21*", "libze1=3", suite=suite, components=()).problems
        assert problem.what == "libze1=3"


@pytest.mark.parametrize("name", ["Packages.xz", "Packages.gz", "Packages"])
def test_pinned_packages_are_looked_up(tree: Tree, name: str) -> None:
    pack = {"Packages.xz": lzma.compress, "Packages.gz": gzip.compress}.get(name, bytes)
    release(tree, pack(LISTED), name=name)
    result = vendor(tree, "libze1=1.21*", "intel-opencl-icd=24.*", "ocl-icd-libopencl1=2.3", "libze1|other", "aa=1|libze1>=1.10")
    (problem,) = result.problems
    assert problem.detail == "intel-opencl-icd=24.* is not on vendor any more; there is intel-opencl-icd 25.13-1"
    assert {row.what for row in result.rows if row.status == "ok"} >= {"libze1=1.21*", "aa=1|libze1>=1.10", "vendor jammy"}
    assert "ocl-icd" not in said(result)  # the distribution's: apt judges


def test_versions_are_named_newest_first(tree: Tree) -> None:
    release(tree, lzma.compress(LISTED))
    (problem,) = vendor(tree, "libze1=2.0").problems
    assert problem.detail.endswith("there is libze1 1.21.9-1, 1.9-1")  # as Debian counts, not as text sorts


def test_an_unsigned_repository_is_a_problem(tree: Tree) -> None:
    release(tree, LISTED, signed=False, name="Packages")
    (problem,) = vendor(tree).problems
    assert "is not signed" in problem.detail
    tree.files["/apt/dists/jammy/Release.gpg"] = b"-----BEGIN PGP SIGNATURE-----"
    assert not vendor(tree).problems


def test_a_suite_a_component_or_an_architecture_that_is_gone(tree: Tree) -> None:
    release(tree, LISTED, name="Packages")
    assert "/apt/dists/noble does not exist any more" in said(vendor(tree, suite="noble"))
    assert "no component client any more; it has unified" in said(vendor(tree, components=("client",)))
    release(tree, LISTED, name="Packages", architectures="arm64")
    assert "no packages for amd64" in said(vendor(tree))
    tree.files["/apt/dists/jammy/InRelease"] = b"<html>log in to the hotel's network</html>"
    assert "is no Release file" in said(vendor(tree))


def test_another_key_than_the_pinned_one(tree: Tree) -> None:
    release(tree, LISTED, name="Packages")
    tree.files["/key"] = _public_key(b"vendor")
    own = _fingerprint(b"vendor")
    assert not vendor(tree, key=own).problems
    tree.files["/key"] = _public_key(b"somebody else")
    (problem,) = vendor(tree, key=own).problems
    assert "expected the key" in problem.detail and "do not use this repository" in problem.advice
    tree.files["/key"] = b"<html>"
    assert len(vendor(tree, key=own).problems) == 1


def _body(seed: bytes) -> bytes:
    """A version 4 RSA public key packet's body; no real key."""
    number = hashlib.sha512(seed).digest() * 4
    number = bytes([number[0] | 0x80]) + number[1:]
    return b"\x04\x5f\x00\x00\x00\x01" + (len(number) * 8).to_bytes(2, "big") + number + b"\x00\x11\x01\x00\x01"


def _public_key(seed: bytes) -> bytes:
    body = _body(seed)
    packet = b"\x99" + len(body).to_bytes(2, "big") + body + b"\xb4\x04test"
    text = base64.b64encode(packet).decode()
    lines = "\n".join(text[start : start + 64] for start in range(0, len(text), 64))
    return f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{lines}\n-----END PGP PUBLIC KEY BLOCK-----\n".encode()


def _fingerprint(seed: bytes) -> str:
    body = _body(seed)
    return hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body).hexdigest().upper()


def test_a_small_index_that_unpacks_to_a_giant_is_given_up(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apt_index, "UNPACKED_LIMIT", 3_000_000)
    release(tree, gzip.compress(b"Package: xx\n" * 1_000_000), name="Packages.gz")
    result = vendor(tree, "xx=1")
    assert not result.problems and "larger than 3 MB" in said(result)
    release(tree, b"not packed at all", name="Packages.gz")
    assert "cannot be unpacked" in said(vendor(tree, "xx=1"))
    release(tree, lzma.compress(b"Package: x" * 1_000_000), name="Packages.xz")
    assert "line without end" in said(vendor(tree, "xx=1"))


def test_downloads(tree: Tree) -> None:
    tree.files["/files/sdk.tar.gz"] = b"x" * 100
    here = step(1, "download", {"url": f"{tree.url}/files/sdk.tar.gz", "sha256": "0" * 64, "to": "/opt/x", "file": ""})
    gone = step(2, "download", {"url": f"{tree.url}/files/old.tar.gz", "sha256": "0" * 64, "to": "/opt/y", "file": ""})
    result = run(plan(here, gone))
    (problem,) = result.problems
    assert "old.tar.gz does not exist any more" in problem.detail


def test_a_done_step_is_asked_about_by_nobody(tree: Tree) -> None:
    assert not run(plan(step(1, "download", {"url": f"{tree.url}/x", "sha256": "0" * 64, "to": "/x"}, state=DONE))).problems
    assert tree.asked == []


def test_room_permission_python_and_sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = f"{tmp_path}/deep/env"
    steps = (
        step(1, "apt.install", {"packages": ["x"]}, root=True),
        step(2, "venv", {"path": env, "python": "/usr/bin/python9.9", "minor": "9.9", "uv": ""}),
        step(3, "pip", {"packages": ["torch"], "index": ""}),
    )
    crowded = run(plan(*steps, env=env, disk_gb=20_000), online=False, facts={"user.is_root": False, "tools.sudo": "/usr/bin/sudo"})
    (room,) = crowded.problems
    assert room.what == f"room in {tmp_path}" and "20000 GB are needed" in room.detail and "--env" in room.advice
    assert "which a step before installs" in said(crowded)
    assert crowded.notes == ("root rights are needed for step 1: each command runs through sudo",)
    alone = run(plan(*steps[1:], env=env, disk_gb=0.001), online=False)
    (missing,) = alone.problems
    assert missing.what == "Python" and "/usr/bin/python9.9 is not installed" in missing.detail
    without = run(plan(steps[0]), online=False, facts={"user.is_root": False})
    assert "the commands are shown" in without.notes[0]
    monkeypatch.setattr(LocalHost, "may_open", lambda self, path: False)
    assert any("no permission" in row.detail for row in run(plan(*steps, env=env), online=False).problems)


def test_a_processor_for_which_nothing_is_made() -> None:
    made = plan(*pip("http://127.0.0.1:1", "torch"))
    assert "armv7l: no wheels" in said(run(made, facts={"platform.machine": "armv7l"}, online=False))
    assert not run(plan(step(1, "group", {})), facts={"platform.machine": "riscv64"}, online=False).problems


def test_both_forms_of_an_index_page() -> None:
    html = b"""<a href="../../x/torch-2.8.0%2Bxpu-cp311-cp311-linux_x86_64.whl#sha256=0" data-requires-python="&gt;=3.9">t</a>
      <a href="torch-2.9.0-py3-none-any.whl" data-yanked="broken">t</A >
      <a href="other-1.0-py3-none-any.whl">o</a><a href="torch-x.whl">?</a>
      <a href="http://[/torch-3.0.tar.gz">?</a><a>?</a><a href=torch-2.1.tar.gz>"""
    table = {
        "files": [
            {"filename": "torch-2.8.0+xpu-cp311-cp311-linux_x86_64.whl", "requires-python": ">=3.9"},
            {"filename": "torch-2.9.0-py3-none-any.whl", "yanked": "broken"},
            {"filename": "torch-2.1.tar.gz", "requires-python": None, "yanked": False},
            {"filename": 3}, "x",
        ]
    }  # fmt: skip
    wanted = [("2.8.0+xpu", ">=3.9", False), ("2.9.0", "", True), ("2.1", "", False)]
    for page in (html, json.dumps(table).encode()):
        files = python_index.read_page(page, "Torch")
        assert [(str(one.version), one.requires_python, one.yanked) for one in files] == wanted
    yanked = python_index.choose(python_index.read_page(html, "torch"), Requirement("torch>=2.9"), (3, 11), LINUX)
    assert yanked.version is None
    assert python_index.choose(python_index.read_page(html, "torch"), Requirement("torch==2.9.0"), (3, 11), LINUX).version is not None


@pytest.mark.parametrize("page", [b"{" * 200_000, b'{"files": {"a": 1}}', b"<a " * 500_000, b"<!-- " * 500_000, b"\xff\xfe\x00", b""])
def test_a_page_without_sense_holds_no_files(page: bytes) -> None:
    assert python_index.read_page(page, "torch") == []


@pytest.mark.parametrize(
    ("wanted", "there", "nearest"),
    [
        ("==2.8.0", ["2.7.1", "2.8.1", "2.9.0"], "2.8.1"),
        ("==2.8.5", ["2.8.1", "2.9.0"], "2.8.1"),
        ("==2.8.*", ["2.7.1", "2.9.0", "2.10.0rc1"], "2.9.0"),
        ("==1.13.1+cpu", ["1.13.1", "1.12.0+cpu"], "1.12.0+cpu"),
        ("<1", ["2.0", "3.0"], "2.0"),
        ("", ["1.0", "2.0", "3.0rc1"], "2.0"),
        ("==9", [], None),
    ],
)
def test_nearest(wanted: str, there: list[str], nearest: str | None) -> None:
    found = python_index.nearest_version(Requirement(f"x{wanted}"), map(python_index.Version, there))
    assert (str(found) if found else None) == nearest
