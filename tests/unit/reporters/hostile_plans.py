"""Plans whose every text means harm: quotes, line feeds, substitutions, backslashes, directives, control characters, braces."""

from __future__ import annotations

import string

from hypothesis import strategies as st

from gpudoctor.model.plan import DONE, TODO, Command, FileChange, Plan, PlannedStep, Word
from gpudoctor.model.recipe import KINDS

SNIPPETS = (
    "'", '"', "\\", "\n", "$(touch owned)", "`touch owned`", "${HOME}", "$", "\r", "\x1b[31m", "\t", "\\\n", "\n'\n", "EOF", "END_OF_FILE",
    "\nEND_OF_FILE\n", "\nEND_OF_RUN\n", "{{ 7*7 }}", "{% raw %}", "{% endraw %}", "{#",
    "#jinja2: x", "# shellcheck disable=all", "shellcheck disable=SC1",
    "# hadolint ignore=DL1", "escape=`", "; rm x", "&& x", "| x", "<<EOF", "~", "*", "-n", "--",
    "!", "é", "漢", "\U0001f600", "\u202e", "\x85", "’", "“",
    "%s", ": ", "- ", "a=b", "\\n", "\\'", "\x7f",
)  # fmt: skip
texts = st.lists(st.sampled_from(SNIPPETS) | st.text(string.ascii_letters + " ._/-", max_size=6), max_size=6).map("".join)
filled = texts.filter(lambda text: text.strip() != "")
names = st.sampled_from(("gpg", "/usr/bin/env", "apt-get", "python3", "if", "usermod", "exit", "/opt/a b/x", "tar", "uv"))
commands = st.builds(
    lambda name, rest, root, env: Command(argv=(name, *rest), root=root, env=env),
    names, st.lists(texts, max_size=4), st.booleans(), st.dictionaries(st.sampled_from(("A", "LD_LIBRARY_PATH", "_x1")), texts, max_size=2),
)  # fmt: skip
files = st.builds(
    lambda path, content, mode, root: FileChange(path="/" + path, content=content, mode=mode, root=root),
    texts, texts, st.sampled_from((0o600, 0o644, 0o755)), st.booleans(),
)  # fmt: skip
fetched = st.builds(
    lambda path, url, key, root: FileChange(
        path="/" + path, fetched_from=url, root=root, fingerprint="AB" * 20 if key else "", sha256="" if key else "ab" * 32
    ),
    texts, filled, st.booleans(), st.booleans(),
)  # fmt: skip
steps = st.builds(
    PlannedStep,
    number=st.just(1),
    kind=st.sampled_from(KINDS),
    title=texts,
    why=texts,
    layer=st.sampled_from(("kernel-driver", "framework", "user-driver")),
    recipe=texts,
    settings=st.fixed_dictionaries({"path": texts, "ready_path": texts}) | st.just({}),
    state=st.sampled_from((TODO, TODO, DONE)),
    note=texts,
    changes=st.lists(texts, max_size=2).map(tuple),
    acts=st.lists(commands | files | fetched | st.builds(Word, text=texts), max_size=4).map(tuple),
    root=st.booleans(),
    restart=st.sampled_from(("", "", "login", "reboot", "wsl")),
)


def _numbered(given: list[PlannedStep]) -> tuple[PlannedStep, ...]:
    from msgspec.structs import replace

    return tuple(replace(step, number=number) for number, step in enumerate(given, 1))


plans = st.builds(
    Plan,
    name=texts,
    recipe=texts,
    title=texts,
    stack=texts,
    compute=st.sampled_from(("torch-xpu", "torch-cuda", "torch-rocm", "")),
    machine=texts,
    env=st.sampled_from(["", "/opt/venv", "/srv/it's an environment", "/srv/$HOME `id`", '/srv/ä"b']),
    steps=st.lists(steps, max_size=4).map(_numbered),
    warnings=st.lists(texts, max_size=2).map(tuple),
    remarks=st.lists(texts, max_size=1).map(tuple),
    archived=texts,
    sources=st.lists(texts, max_size=2).map(tuple),
    variables=st.dictionaries(st.sampled_from(("A", "LD_LIBRARY_PATH")), texts, max_size=2),
    os_id=st.sampled_from(("ubuntu", "debian", "fedora", "arch", "", "gentoo\n")),
    os_version=texts,
)
