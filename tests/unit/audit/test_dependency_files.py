"""What each kind of file asks for, with its line; and that no text ends otherwise than in requirements or one clear error."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpudoctor.audit import formats
from gpudoctor.model.audit import FormatError, Manifest


def rows(manifest: Manifest) -> list[tuple[int | None, str, str]]:
    return [(each.line, each.name, each.specifier) for each in manifest.wanted]


def test_requirements_with_continued_lines_options_addresses_and_wheels() -> None:
    text = (
        "--extra-index-url https://user:secret@download.pytorch.org/whl/cu121  # CUDA\n"
        "-r more.txt\n"
        "Torch==2.1.0+cu121 \\\n    --hash=sha256:00\n"
        "bitsandbytes[test]>=0.40; sys_platform == 'linux'\n"
        "flash_attn @ https://x.example/flash_attn-2.5.0+cu122-cp310-cp310-linux_x86_64.whl\n"
        "./wheels/xformers-0.0.23-cp310-cp310-linux_x86_64.whl\n"
        "git+https://token@x.example/apex.git#egg=apex\n"
        "-e .\n"
    )
    found = formats.read(text, "requirements-gpu.txt")
    assert rows(found) == [
        (3, "torch", "==2.1.0+cu121"), (5, "bitsandbytes", ">=0.40"), (6, "flash-attn", "==2.5.0+cu122"), (7, "xformers", "==0.0.23"),
        (8, "apex", ""),
    ]  # fmt: skip
    assert found.includes == [("more.txt", 2)] and found.wanted[1].marker
    assert found.indexes == ["https://download.pytorch.org/whl/cu121"]
    assert "secret" not in repr(found) and "token" not in repr(found)
    assert any(note.startswith("requirements-gpu.txt:9") for note in found.notes)


def test_pyproject_of_pep_621_groups_poetry_and_uv() -> None:
    text = """[project]
requires-python = ">=3.10"
dependencies = [
  "torch>=2.6",
]
[project.optional-dependencies]
gpu = ["cupy-cuda12x", "apex"]
[dependency-groups]
dev = [{ include-group = "x" }, "vllm"]
[tool.uv.sources]
torch = { index = "intel" }
[[tool.uv.index]]
name = "intel"
url = "https://download.pytorch.org/whl/xpu"
explicit = true
[tool.poetry.dependencies]
python = "^3.10"
tensorflow = { version = "^2.12", extras = ["and-cuda"] }
"""
    found = formats.read(text, "pyproject.toml")
    assert rows(found) == [
        (4, "torch", ">=2.6"),
        (7, "cupy-cuda12x", ""),
        (7, "apex", ""),
        (9, "vllm", ""),
        (18, "tensorflow", "<3,>=2.12"),
    ]
    assert found.wanted[0].index == "https://download.pytorch.org/whl/xpu" and found.indexes == []
    assert found.python == ">=3.10"


@pytest.mark.parametrize("name", ["uv.lock", "poetry.lock", "pdm.lock", "pylock.toml"])
def test_lock_files_give_the_line_of_the_package(name: str) -> None:
    table = "packages" if name == "pylock.toml" else "package"
    text = f'lock-version = "1.0"\n[[{table}]]\nname = "numpy"\nversion = "2.1.0"\n\n[[{table}]]\nname = "torch"\nversion = "2.8.0"\n'
    found = formats.read(text, name)
    assert rows(found) == [(3, "numpy", "==2.1.0"), (7, "torch", "==2.8.0")] and all(each.locked for each in found.wanted)


def test_uv_lock_knows_the_index_and_leaves_the_project_out() -> None:
    text = (
        '[[package]]\nname = "mine"\nversion = "1"\nsource = { virtual = "." }\n'
        '[[package]]\nname = "torch"\nversion = "2.8.0+xpu"\nsource = { registry = "https://download.pytorch.org/whl/xpu" }\n'
    )
    (torch,) = formats.read(text, "uv.lock").wanted
    assert (torch.line, torch.index, torch.specifier) == (6, "https://download.pytorch.org/whl/xpu", "==2.8.0+xpu")


def test_pipfile_and_its_lock() -> None:
    found = formats.read(
        '[packages]\ntorch = "*"\nnumpy = {version = "<2", markers = "os_name == \'nt\'"}\n[requires]\npython_version = "3.11"\n', "Pipfile"
    )
    assert rows(found) == [(2, "torch", ""), (3, "numpy", "<2")] and found.python == "==3.11.*"
    lock = '{"_meta": {"sources": []},\n "default": {\n  "torch": {\n "version": "==2.1.0"}}}'
    assert rows(formats.read(lock, "Pipfile.lock")) == [(3, "torch", "==2.1.0")]


def test_conda_environment_with_pip_section_channels_and_builds() -> None:
    text = (
        "name: x\nchannels:\n  - pytorch\ndependencies:\n  - python=3.10\n  - pytorch=2.1  # the old one\n"
        "  - conda-forge::pytorch=2.4.0=cuda120_py310\n  - numpy>=2,<3\n  - pip:\n    - bitsandbytes==0.41\n    - --extra-index-url https://x.example/\n"
    )
    found = formats.read(text, "environment.yml")
    assert rows(found) == [(6, "torch", "==2.1.*"), (7, "torch", "==2.4.0"), (8, "numpy", "<3,>=2"), (10, "bitsandbytes", "==0.41")]
    assert found.python == "==3.10.*" and found.indexes == ["pytorch", "https://x.example/"]
    assert "build=cuda" in found.wanted[1].index


def test_conda_lock_counts_a_package_of_several_platforms_once() -> None:
    entry = "- name: pytorch\n  version: 2.4.0\n  manager: conda\n  dependencies:\n    name: x\n"
    found = formats.read(f"version: 1\npackage:\n{entry}{entry}- name: vllm\n  version: '0.5'\n  manager: pip\n", "conda-lock.yml")
    assert rows(found) == [(3, "torch", "==2.4.0"), (13, "vllm", "==0.5")]


def test_setup_py_is_read_and_never_run(tmp_path) -> None:  # type: ignore[no-untyped-def]
    trap = tmp_path / "ran"
    text = (
        f"open({str(trap)!r}, 'w')\nfrom setuptools import setup\nBASE = ['torch>=1.0']\n"
        "setup(install_requires=BASE + ['xformers'] + computed(), extras_require={'a': ['apex']}, python_requires='>=3.8')\n"
    )
    found = formats.read(text, "setup.py")
    assert [each.name for each in found.wanted] == ["torch", "xformers", "apex"] and found.python == ">=3.8"
    assert found.notes and not trap.exists()
    found = formats.read("[options]\ninstall_requires =\n  torch>=2\n[options.extras_require]\ngpu = deepspeed\n", "setup.cfg")
    assert rows(found) == [(3, "torch", ">=2"), (5, "deepspeed", "")]


def test_dockerfile_and_compose() -> None:
    text = (
        "ARG TAG=12.1\nFROM nvidia/cuda:${TAG}-runtime AS base\n# a remark\nRUN apt-get install -y curl && \\\n"
        "    pip install --no-cache-dir -i https://x.example/ torch==2.1 'vllm>0.4'\n"
        "FROM base\nRUN conda install -y -c pytorch pytorch=2.1\n"
    )
    found = formats.read(text, "Dockerfile.gpu")
    assert [(image.name, image.line) for image in found.images] == [("nvidia/cuda:12.1-runtime", 2)]
    assert rows(found) == [(4, "torch", "==2.1"), (4, "vllm", ">0.4"), (7, "torch", "==2.1.*")]
    found = formats.read(
        "services:\n  a:\n    image: rocm/pytorch:latest\n    command: |\n      image: no\n  b:\n    build: .\n", "compose.yaml"
    )
    assert [(image.name, image.line) for image in found.images] == [("rocm/pytorch:latest", 3)] and "b" in found.notes[0]


def test_yaml_as_people_write_it() -> None:
    """Flow lists over several lines, anchors and merged tables, quotes, and words that YAML would make numbers of."""
    text = """name: x
channels: [pytorch, "https://user:secret@conda.example/",
           conda-forge]
dependencies: [python=3.10,
  "pytorch=2.1",
  {pip: [torchvision, 'bitsandbytes==0.41']}]
"""
    found = formats.read(text, "environment.yml")
    assert rows(found) == [(5, "torch", "==2.1.*"), (6, "torchvision", ""), (6, "bitsandbytes", "==0.41")]
    assert [each.form for each in found.wanted] == ['"', "", "'"] and found.python == "==3.10.*"
    assert found.indexes == ["pytorch", "https://conda.example/", "conda-forge"]
    text = """x-gpu: &gpu
  image: "rocm/pytorch:${TAG:-latest}"
  build: !reset null
services:
  train:
    <<: *gpu
    image: intel/pytorch:2.8
  serve:
    <<: [*gpu]
"""
    found = formats.read(text, "compose.yaml")
    assert [(image.name, image.line) for image in found.images] == [("intel/pytorch:2.8", 7), ("rocm/pytorch:latest", 2)]
    text = "package:\n- {name: pytorch, version: 2.10, manager: conda}\n---\n: not read\n"
    assert rows(formats.read(text, "conda-lock.yml")) == [(2, "torch", "==2.10")]


LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 50))
REPEATED = "x: &p [" + "pkg, " * 3000 + "pkg]\ndependencies: [" + "{pip: *p}, " * 300 + "python]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS + "dependencies: *a49\n", "environment.yml:.*aliases included"),
        (REPEATED, "environment.yml:1: more than 10000 entries"),
        ("dependencies: " + "[" * 5000, "environment.yml:1: nested more than 60 levels"),
        ("- " * 5000, "environment.yml:1: nested more than 60 levels"),
        ("dependencies: &a [*a]\n", r"environment.yml:1: the alias '\*a' stands for something that it is part of"),
        ("dependencies: *b\n", r"environment.yml:1: the alias '\*b' stands for nothing"),
        ("dependencies:\n- torch\n- [a]\n", "environment.yml:3: an entry of 'dependencies' is no text"),
        ("dependencies:\n- 'torch\n", "environment.yml:2: no YAML.*quoted scalar found unexpected end"),
    ],
    ids=["laughs", "repeated", "flow", "block", "itself", "nothing", "list", "quote"],
)  # fmt: skip
def test_yaml_that_means_harm_is_refused_at_once(text: str, said: str) -> None:
    began = time.process_time()
    with pytest.raises(FormatError, match=said) as caught:
        formats.read(text, "environment.yml")
    assert time.process_time() - began < 2 and "\n" not in str(caught.value)


def test_a_tag_calls_nothing(tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    text = f"dependencies:\n- !!python/object/apply:os.mkdir ['{trap}']\n"
    with pytest.raises(FormatError, match=r"environment\.yml:2"):
        formats.read(text, "environment.yml")
    assert not trap.exists()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("requirements.txt", "torch\nfoo bar\n", "requirements.txt:2"),
        ("pyproject.toml", "[project\n", "no TOML"),
        ("uv.lock", "package = 3\n", r"\[\[package\]\]"),
        ("Pipfile.lock", "[1]", "_meta"),
        ("Pipfile.lock", "[" * 100000, "JSON"),
        ("pyproject.toml", "a = " + "[" * 100000, "TOML"),
        ("environment.yml", "dependencies: {a: b}\n", "environment.yml:1"),
        ("environment.yml", "dependencies:\n\t- torch\n", "tab"),
        ("setup.py", "setup(\n", "setup.py"),
        ("setup.py", "x = " + "(" * 5000, "nested"),
        ("Dockerfile", "RUN true\n", "FROM"),
        ("compose.yaml", "x: 1\n", "services"),
        ("setup.cfg", "no section\n", "INI"),
        ("photo.png", "", "requirements"),
    ],
)  # fmt: skip
def test_broken_files_are_one_clear_line(name: str, text: str, said: str) -> None:
    with pytest.raises(FormatError, match=said) as caught:
        formats.read(text, name)
    assert "\n" not in str(caught.value)


NAMES = [
    "requirements.txt", "pyproject.toml", "uv.lock", "Pipfile", "Pipfile.lock", "environment.yml", "conda-lock.yml", "setup.cfg",
    "setup.py", "Dockerfile", "compose.yaml",
]  # fmt: skip
PIECES = st.sampled_from([
    "torch==2.1", "- ", "-r ", "\n", "  ", "[[package]]", "name = ", '"', "'", "[project]\ndependencies = [", "]", "{", "}", "=", "==",
    "dependencies:", "pip:", "package:", "FROM ", "RUN pip install ", "services:\n  a:\n    image: ", "setup(install_requires=", "(", ")",
    "\\", "$", "${A}", "\x1b[31m", "\u202e", "\0", ";", "#", "@ https://", "&a", "*a", "|", "%(x)s", "[options]\ninstall_requires=", "0",
    "+cu", "\r", "\ud800", "é",
])  # fmt: skip


@settings(max_examples=400, deadline=None)
@example(name="Dockerfile", text="RUN pip install @ https://\x1b[31m")  # an address that urlsplit refuses
@given(name=st.sampled_from(NAMES), text=st.one_of(st.lists(PIECES, max_size=40).map("".join), st.text(max_size=200)))
def test_hostile_text_ends_in_requirements_or_one_error(name: str, text: str) -> None:
    try:
        formats.read(text, name)
    except FormatError as error:
        assert str(error)
