"""Puts gpudoctor-env.py together from gpudoctor/envtext, and writes the tables that those modules take from probes and checks.

`python docs/env_script.py` says whether the files are as the code makes them; `--write` writes them. A test compares the two.
"""

from __future__ import annotations

import ast
import io
import os
import re
import sys
import textwrap
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path

from gpudoctor.facts import vocabulary
from gpudoctor.facts.probes import (
    _ollama_log,
    _ollama_service,
    dist_info,
    environment,
    filesystems,
    frameworks,
    kernel_log,
    libraries,
    ollama,
)
from gpudoctor.knowledge.loader import load_catalogue
from gpudoctor.model.check import Catalogue

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "gpudoctor" / "envtext"
SCRIPT = ROOT / "gpudoctor-env.py"
DERIVED = FOLDER / "derived.py"
MODULES = (
    "questions",
    "derived",
    "inspecting",
    "kept",
    "cleaning",
    "environment_kind",
    "asking",
    "heading",
    "layout",
    "local_door",
    "env_script",
)
"""In the order in which the script holds them."""
FURTHER_WORDS = """
    audio azure bindings bmg bnxt bookworm cufile deb nano orin thor cusparselt efa gaudi haswell hbm highvram inactive infiniband irdma
    jammy lovelace lowvram lts mhz mlx mobile noble nvidiafb nvshmem pascal pathfinder raptor replicas rocep sxm trixie turing vitis xanmod
    xnnpack
"""
"""Words of devices, drivers, kernels and libraries, as tools write them; the others come from the probes and the checks."""
FURTHER = (
    "pip", "amdsmi", "flashinfer-[a-z]+", "llama-cpp-python", "causal-conv1d", "mamba-ssm", "tensorrt[a-z0-9-]*", 
    "khronos-opencl-icd-loader", "plaidml", "vulkan", "kp", "kompute", "taichi", "wgpu", "gpt4all", "comfyui[a-z-]*", "amd-[a-z0-9-]+",
    "transformers", "diffusers", "peft",
)  # fmt: skip
"""Distributions that derivations look for and no pattern of a probe names."""
VARIABLES_OF_PROBES = (
    "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PWD", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE", "CMPLR_ROOT", "MKLROOT",
    "SETVARS_COMPLETED", "WSL_DISTRO_NAME", "container", "KUBERNETES_SERVICE_HOST", "OS", "LOCALAPPDATA", "PROCESSOR_ARCHITECTURE",
    "COMFYUI_PATH",
    *filesystems.DATA_VARIABLES,
)  # fmt: skip
"""Variables that probes ask for by name; the others are those of conditions of checks."""
WIDTH = 140
CLOSE = re.compile(r"[-+*/%|&<>=!]=?|//|\*\*|->|:=")
BLOCK = re.compile(r"(if|for|while|with|try|def|class|else|elif|except|finally|return lambda)\b")
ROLES = {"failure", "complaint", "log"}
HEAD = '''#!/usr/bin/env python3
"""Says what GPUs, drivers and frameworks this machine and this Python have, for a bug report: at most 8 KB of text on standard output.

    python gpudoctor-env.py            also: curl -sL URL | python -, or python -I gpudoctor-env.py

It reads files and runs programs that only print; it changes nothing, needs no package, root or network, and ends within 20 seconds.
Names of people, hosts, folders and projects, addresses, serial numbers and secrets do not leave: only known words and short numbers do.
Python 3.8 and newer. Made by docs/env_script.py of gpudoctor from gpudoctor/envtext. Read its text: gpudoctor explain FILE
"""
from __future__ import annotations

import sys

if sys.path and not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # the folder of this file, or the current one: no module is imported from there
'''


# derived tables


def words() -> list[str]:
    """Words that may leave a machine: those that probes look for, that the messages have which checks know, and FURTHER_WORDS."""
    catalogue = load_catalogue(vocabulary.items())
    found = _often(catalogue)
    for file in resources.files("gpudoctor.facts.probes").iterdir():
        if file.name.endswith(".py"):
            found |= set(_words(_constants(file.read_text(encoding="utf-8"))))
    for name in ("kept", "questions", "heading", "layout"):
        found |= set(_words(_constants((FOLDER / f"{name}.py").read_text(encoding="utf-8"))))
    found |= set(_words(owner for owners in frameworks.FRAMEWORKS.values() for owner in owners))
    return sorted(_needed(found | set(FURTHER_WORDS.split())))


def _often(catalogue: Catalogue) -> set[str]:
    """Words that conditions of checks and lines of logs have, and those of the messages of at least four checks."""
    counted: Counter[str] = Counter()
    for check in catalogue.checks:
        for roles, number in ((ROLES, 1), ({"log"}, 2)):
            messages = (literal for each in check.signatures if roles & set(each.roles) for choices in each.text for literal in choices)
            counted.update(dict.fromkeys(_words(messages), number))
        counted.update(dict.fromkeys(_words([repr((check.problem, check.applies, check.suspect))]), 4))
    return {word for word, number in counted.items() if number > 3}


def _constants(source: str) -> Iterator[str]:
    """Single words and expressions; sentences are what gpudoctor says itself."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and (" " not in node.value.strip() or "|" in node.value):
            yield node.value


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        plain = re.sub(r"\[([A-Za-z])[A-Za-z]\]", r"\1", text)  # the word of `[Ff]ailed` is that with its first letter
        plain = re.sub(r"\\+[A-Za-z]", " ", plain)  # \\b and \\s of an expression belong to no word
        yield from re.findall(r"[A-Za-z]{3,24}", plain)


def _needed(found: set[str]) -> set[str]:
    """Without long ones, which are several words in one, without what the script's tables and Python's library have or inflections."""
    from gpudoctor.envtext.cleaning import known, library_words, own_words

    there = own_words() | library_words()
    needed: set[str] = set()
    for word in sorted(found, key=lambda each: (len(each), each)):
        if len(word) < 14 and not known(word, there | needed):
            needed.add(word.lower())
    return needed


def grouped(words: Iterable[str]) -> list[str]:
    """Words that begin alike as one: `cu{bin,fft,sparse}`; as few letters as there can be, in the order of the alphabet."""
    listed = sorted(words)
    best: list[tuple[int, int]] = [(0, 0)] * (len(listed) + 1)
    """For each word: the letters of the list from it on, and the end of the group that it begins."""
    for start in reversed(range(len(listed))):
        best[start] = (len(listed[start]) + 1 + best[start + 1][0], start + 1)
        for end in range(start + 2, len(listed) + 1):
            shared = len(os.path.commonprefix([listed[start], listed[end - 1]]))  # noqa: RUF071
            if shared < 2:
                break
            letters = shared + 2 + sum(len(word) - shared + 1 for word in listed[start:end]) + best[end][0]
            best[start] = min(best[start], (letters, end))
    groups, start = [], 0
    while start < len(listed):
        end = best[start][1]
        shared = os.path.commonprefix(listed[start:end])  # noqa: RUF071
        rest = ",".join(word[len(shared) :] for word in listed[start:end])
        groups.append(f"{shared}{{{rest}}}" if end - start > 1 else shared)
        start = end
    return groups


def derived() -> str:
    """The text of derived.py."""
    asked = sorted(set(re.findall(r"python\.distributions\.([a-z0-9-]+)", repr(load_catalogue(vocabulary.items())))))
    asked = [name for name in asked if not dist_info.RELEVANT.match(name)]
    asked = [name for name in asked if not any(re.fullmatch(further, name) for further in FURTHER)]
    distributions = rf"^(?:(?:{'|'.join([*asked, *FURTHER])})$|{dist_info.RELEVANT.pattern.lstrip('^')})"
    asked_variables = {*re.findall(r"env\.([A-Za-z_]\w+)", repr(load_catalogue(vocabulary.items()))), *VARIABLES_OF_PROBES}
    listing = _filled(words())
    return (
        '"""Tables that docs/env_script.py takes from the probes and checks; not to be changed by hand."""\n\n'
        "from __future__ import annotations\n\nimport re\n\n"
        f"LIBRARIES = re.compile({_wrapped(libraries._INTERESTING.pattern)})\n"
        f"KERNEL_LOG = re.compile({_wrapped(kernel_log._RELEVANT.pattern)}, re.IGNORECASE)\n"
        f"DISTRIBUTIONS = re.compile({_wrapped(distributions)})\n"
        f'FRAMEWORKS = """{" ".join(frameworks.FRAMEWORKS)}""".split()\n'
        f"OLLAMA_LOG = {_ollama_log.PATTERN!r}\n"
        f"OPTIONS = {{'@show': ({_ollama_service.SHOW[-1]!r},), '@log': (*{ollama.JOURNAL[2:-1]!r}, f'--grep={{OLLAMA_LOG}}')}}\n"
        f'VARIABLES = """\n{_filled(name for name in environment.RELEVANT if name in asked_variables)}\n"""\n'
        f'VARIABLE_PREFIXES = """\n{_filled(environment.PREFIXES)}\n"""\n'
        f'LISTED_WORDS = """\n{listing}\n"""\n'
    )


def _wrapped(pattern: str) -> str:
    parts = textwrap.wrap(pattern, 132, break_on_hyphens=False, drop_whitespace=False)
    return "\n" + "\n".join(f'    r"{part}"' if '"' not in part else f"    r'{part}'" for part in parts) + "\n"


def _filled(names: Iterable[str]) -> str:
    return textwrap.fill(" ".join(grouped(names)), 138, break_long_words=False, break_on_hyphens=False)


# the script


def script() -> str:
    """The text of gpudoctor-env.py."""
    imports: set[str] = set()
    bodies: list[str] = []
    owners: dict[str, str] = {}
    for name in MODULES:
        source = DERIVED_TEXT if name == "derived" and DERIVED_TEXT else (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        tree = ast.parse(source)
        for node in tree.body:
            for defined in _defined(node):
                if owners.setdefault(defined, name) != name:
                    raise SystemExit(f"{defined} is defined in {owners[defined]}.py and in {name}.py: give one of them another name")
        bodies.append(_body(name, source, tree, imports))
    return "\n".join([HEAD, "\n".join(sorted(imports)), *bodies, 'if __name__ == "__main__":\n    main()\n'])


DERIVED_TEXT = ""


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _body(name: str, source: str, tree: ast.Module, imports: set[str]) -> str:
    """A module without its imports, annotations and notes; the first clause of its documentation becomes a comment."""
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not re.match("from (__future__|typing|gpudoctor)", ast.unparse(node)):
            imports.add(ast.unparse(node))
    lines = _plain(source, tree).splitlines()
    for node in ast.walk(tree):
        if (isinstance(node, (ast.Import, ast.ImportFrom)) and node in tree.body) or (
            isinstance(node, ast.ImportFrom) and str(node.module).startswith("gpudoctor")
        ):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    if name == "inspecting":
        payload = (ROOT / "gpudoctor" / "target" / "payloads" / "inspect_framework.py").read_text(encoding="utf-8")
        imports.discard("from importlib import resources")
        assert "'''" not in payload
        rest = f"INSPECT = r'''{compact(payload)}'''"
    else:
        rest = compact("\n".join(lines))
    title = re.split(r"[.:;,]\s", f"{ast.get_docstring(tree)}\n")[0]
    return f"\n# {title}\n\n{rest}\n"


def compact(source: str) -> str:
    """A program on fewer lines, indented by tabs, without notes: comments, documentation and empty lines; nothing else of it changes.

    A bracket is closed on the line where it opens as far as lines of WIDTH letters allow, and so is a block of one statement.
    """
    notes = {
        (node.lineno, node.col_offset) for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    }  # fmt: skip
    lines: list[tuple[int, str]] = []
    """Depth and text of each logical line."""
    depth, text, begins, before = 0, "", False, None
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.INDENT:
            depth += 1
        elif token.type == tokenize.DEDENT:
            depth -= 1
        elif token.type == tokenize.NEWLINE:
            lines += [(depth, text)] if text else []
            text, before = "", None
        elif token.type == tokenize.NL:
            begins = bool(text)
        elif token.type not in (tokenize.COMMENT, tokenize.ENDMARKER) and (token.start not in notes or token.type != tokenize.STRING):
            last = text.rpartition("\n")[2]
            if begins and len(last) + len(token.line.strip()) + 4 * depth > WIDTH and last:
                text += "\n"
            elif before is not None and _apart(before, token):
                text += " "
            text += token.string
            begins, before = False, token
    return "\n".join(_on_one_line(lines))


def _apart(before: tokenize.TokenInfo, token: tokenize.TokenInfo) -> bool:
    """Whether a space stands between two tokens: where one has to, after commas and where the source has one between words."""
    words = (tokenize.NAME, tokenize.NUMBER, tokenize.STRING)
    if before.type in words and token.type in words:
        return True
    if before.end[0] != token.start[0]:
        return before.string == ","
    return before.end != token.start and (before.string == "," or not (CLOSE.fullmatch(before.string) or CLOSE.fullmatch(token.string)))


def _on_one_line(lines: list[tuple[int, str]]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        depth, text = lines[at]
        body = [each for each in lines[at + 1 : at + 3] if each[0] > depth]
        short = len(body) == 1 or (len(body) == 2 and lines[at + 2][0] <= depth)
        if short and text.endswith(":") and not BLOCK.match(body[0][1]) and len(text) + len(body[0][1]) + 4 * depth < WIDTH:
            text, at = f"{text} {body[0][1]}", at + 1
        yield "\t" * depth + text
        at += 1


def _plain(source: str, tree: ast.Module) -> str:
    """The source without annotations, which Python 3.8 cannot read all of; on the same lines."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    raw, cut = source.encode(), []

    def at(line: int | None, column: int | None) -> int:
        return starts[(line or 1) - 1] + (column or 0)

    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is not None:
            cut.append((at(node.lineno, node.col_offset) + len(node.arg), at(node.annotation.end_lineno, node.annotation.end_col_offset)))
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            end = at(node.returns.end_lineno, node.returns.end_col_offset)
            cut.append((raw.rindex(b"->", 0, at(node.returns.lineno, node.returns.col_offset)) - 1, end))
        elif isinstance(node, ast.AnnAssign):
            cut.append(
                (at(node.target.end_lineno, node.target.end_col_offset), at(node.annotation.end_lineno, node.annotation.end_col_offset))
            )
    for start, end in sorted(cut, reverse=True):
        raw = raw[:start] + raw[end:]
    return raw.decode()


def main() -> None:
    write = "--write" in sys.argv[1:]
    global DERIVED_TEXT
    DERIVED_TEXT = derived()
    wanted = {DERIVED: DERIVED_TEXT, SCRIPT: script()}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if write:
            path.write_text(wanted[path], encoding="utf-8")
    names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
    if stale and not write:
        raise SystemExit(f"{names}: not as the code makes them; run python docs/env_script.py --write")
    print(f"{'wrote ' + names if stale else 'nothing to write'}; {SCRIPT.name}: {len(wanted[SCRIPT].encode())} bytes")  # noqa: T201


if __name__ == "__main__":
    main()
