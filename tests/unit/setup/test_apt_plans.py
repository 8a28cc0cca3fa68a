"""What the kinds of package managers plan from facts and files alone."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.model.facts import Facts, Known
from gpudoctor.model.plan import DONE, TODO, Command, FileChange
from gpudoctor.model.recipe import Address
from gpudoctor.setup.steps import kind_named
from gpudoctor.setup.steps._step import Look, PlanError
from gpudoctor.system.host import Text

FINGERPRINT = "0123456789ABCDEF0123456789ABCDEF01234567"
ADDRESSES = {
    "gpu": Address(name="gpu", kind="apt", url="https://h.example/gpu/", key_url="https://h.example/key", fingerprint=FINGERPRINT.lower()),
    "rpms": Address(name="rpms", kind="dnf", url="https://h.example/rpm", key_url="https://h.example/key", fingerprint=FINGERPRINT),
    "bare": Address(name="bare", kind="apt", url="https://h.example/bare"),
}


class Files:
    def __init__(self, files: dict[str, str]) -> None:
        self.files = files

    def read(self, path: str, *, limit: int = 0) -> Text:
        return Text(self.files[path]) if path in self.files else Text(problem="missing")

    def exists(self, path: str) -> bool:
        return path in self.files

    def listdir(self, path: str) -> list[str]:
        return sorted(name[len(path) + 1 :] for name in self.files if name.startswith(path + "/"))


def plan(
    kind: str, given: dict[str, Any], packages: dict[str, str] | None = None, files: dict[str, str] | None = None, **options: Any
) -> Any:
    facts = Facts({"packages": Known(packages)} if packages is not None else {})
    look = Look(facts=facts, host=Files(files or {}), addresses=ADDRESSES, env="", options=options)  # type: ignore[arg-type]
    return kind_named(kind).plan(given, look)


def test_packages_that_are_there_are_done_and_versions_are_compared() -> None:
    there = {"ocl-icd": "2.3", "intel-opencl-icd": "24.35.1-1"}
    assert plan("apt.install", {"packages": ["nothing|ocl-icd", "intel-opencl-icd>=24.35"]}, there).state == DONE
    assert plan("apt.install", {"packages": ["intel-opencl-icd=24.*"]}, there).state == DONE
    assert plan("apt.install", {"packages": ["intel-opencl-icd>=25.1"]}, there).state == TODO
    assert plan("apt.install", {"packages": ["ocl-icd"]}).state == TODO
    status = "Package: ocl-icd\nStatus: install ok installed\nProvides: libopencl1\n"
    assert plan("apt.install", {"packages": ["libopencl1"]}, there, {"/var/lib/dpkg/status": status}).state == DONE


def test_what_a_person_would_type() -> None:
    draft = plan("apt.install", {"packages": ["aa|bb", "cc=1.*"], "hold": True}, {"cc": "2"})
    assert [act.argv for act in draft.acts] == [
        ("apt-get", "update"), ("apt-get", "install", "-y", "--no-install-recommends", "aa", "cc=1.*"), ("apt-mark", "hold", "aa", "cc"),
    ]  # fmt: skip
    assert draft.root and draft.changes
    fresh = plan("apt.install", {"packages": ["aa"], "recommends": True}, {}, {"/var/lib/apt/lists/h_dists_s_InRelease": ""})
    assert [act.argv for act in fresh.acts] == [("apt-get", "install", "-y", "aa")]


def test_a_repository_is_a_key_a_source_and_an_update_of_it_alone() -> None:
    given = {"repository": "gpu/ubuntu", "suite": "noble", "components": ["unified"], "architectures": ["amd64"]}
    draft = plan("apt.repository", given)
    key, source, update = draft.acts
    assert isinstance(key, FileChange) and (key.fetched_from, key.fingerprint) == ("https://h.example/key", FINGERPRINT)
    assert isinstance(source, FileChange) and "URIs: https://h.example/gpu/ubuntu\nSuites: noble\n" in source.content
    assert f"Signed-By: {key.path}\n" in source.content and "rusted" not in source.content
    assert isinstance(update, Command) and f"Dir::Etc::sourcelist={source.path}" in update.argv
    files = {source.path: source.content, key.path: "", "/var/lib/apt/lists/h.example_gpu_ubuntu_dists_noble_InRelease": ""}
    assert plan("apt.repository", given, files=files).state == DONE
    assert plan("apt.repository", given, files={source.path: source.content + "#", key.path: ""}).state == TODO
    assert plan("apt.repository", given, bundle="/b").state == DONE
    own = {"/etc/apt/sources.list": "deb https://h.example/gpu/ubuntu/ noble unified\n"}
    assert plan("apt.repository", given, files=own).state == DONE
    with pytest.raises(PlanError, match="without unified; add that there"):
        plan("apt.repository", given, files={"/etc/apt/sources.list": "deb https://h.example/gpu/ubuntu noble other\n"})


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("apt.install", {"packages": []}),
        ("apt.install", {"packages": ["-o=x"]}),
        ("apt.remove", {"packages": ["--purge"]}),
        ("dnf.install", {"packages": ["--nogpgcheck"]}),
        ("pacman.install", {"packages": ["-U"]}),
        ("apt.repository", {"repository": "bare", "suite": "s", "components": ["main"]}),
        ("apt.repository", {"repository": "nowhere", "suite": "s", "components": ["main"]}),
        ("apt.repository", {"repository": "gpu", "suite": "s\nTrusted: yes", "components": ["main"]}),
        ("apt.repository", {"repository": "gpu", "suite": "s", "components": ["main\nTrusted: yes"]}),
        ("apt.repository", {"repository": "gpu", "suite": "s"}),
        ("apt.repository", {"repository": "gpu/x y", "suite": "/"}),
        ("dnf.repository", {"repository": "gpu"}),
    ],
)
def test_what_cannot_be_planned_is_a_plain_line(kind: str, given: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match=";"):
        plan(kind, given)


def test_removals_name_what_is_there() -> None:
    assert plan("apt.remove", {"packages": ["aa"]}, {"bb": "1"}).state == DONE
    assert plan("apt.remove", {"packages": ["aa", "bb"]}, {"bb": "1"}).acts[0].argv == ("apt-get", "remove", "-y", "bb")
    assert "gpgcheck=1" in plan("dnf.repository", {"repository": "rpms"}).acts[1].content
