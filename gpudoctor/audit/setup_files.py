"""setup.cfg and setup.py: install_requires and extras_require, read, never run."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator

from gpudoctor.audit.entries import requirement
from gpudoctor.model.audit import FormatError, Manifest

DEEPEST = 100
"""Open brackets in a setup.py: Python's own parser is not to be driven further."""
LARGEST = 1 << 20


def setup_cfg(text: str, file: str) -> Manifest:
    found = Manifest(file=file, kind="setup.cfg")
    reader = configparser.RawConfigParser()
    try:
        reader.read_string(text)
    except configparser.Error as error:
        raise FormatError(f"{file}: {' '.join(str(error).split())[:200]}; expected an INI file") from None
    rows = text.splitlines()
    if reader.has_option("options", "python_requires"):
        found.python = reader.get("options", "python_requires").strip()
    values = [reader.get("options", "install_requires")] if reader.has_option("options", "install_requires") else []
    if reader.has_section("options.extras_require"):
        values += [value for _, value in reader.items("options.extras_require")]
    last = 0
    for value in values:
        for each in filter(None, (line.partition(" #")[0].strip() for line in value.splitlines())):
            line = next((number for number in range(last, len(rows)) if each in rows[number]), None)
            last, line = (last, None) if line is None else (line, line + 1)
            if each.startswith("file:"):
                found.notes.append(f"{file}:{line}: {each[:80]} was not followed; give that file too")
                continue
            found.wanted.append(requirement(each, file, line))
    return found


def setup_py(text: str, file: str) -> Manifest:
    """Reads only literal strings in lists and dictionaries, also through module-level names. Raises FormatError."""
    found = Manifest(file=file, kind="setup.py")
    if len(text) > LARGEST or _depth(text) > DEEPEST:
        raise FormatError(f"{file}: too large or nested too deeply to be read")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f"{file}:{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else file
        raise FormatError(f"{where}: this is no Python that can be read ({type(error).__name__})") from None
    names = {
        target.id: node.value
        for node in tree.body if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        called = call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if called != "setup":
            continue
        for keyword in call.keywords:
            if keyword.arg == "python_requires" and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                found.python = keyword.value.value
            if keyword.arg in ("install_requires", "extras_require"):
                for text_of_one, line in _strings(keyword.value, names, found, 0):
                    found.wanted.append(requirement(text_of_one, file, line))
    return found


def _strings(node: ast.expr, names: dict[str, ast.expr], found: Manifest, depth: int) -> Iterator[tuple[str, int]]:
    if depth > 8:
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value, node.lineno
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for each in node.elts[:5000]:
            yield from _strings(each, names, found, depth + 1)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _strings(value, names, found, depth + 1)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _strings(node.left, names, found, depth + 1)
        yield from _strings(node.right, names, found, depth + 1)
    elif isinstance(node, ast.Name) and node.id in names:
        yield from _strings(names[node.id], names, found, depth + 2)
    else:
        found.notes.append(f"{found.file}:{node.lineno}: requirements that are computed there were not read")


def _depth(text: str) -> int:
    deepest = depth = 0
    for bracket in re.findall(r"[][(){}]", text):
        depth += 1 if bracket in "([{" else -1
        deepest = max(deepest, depth)
    # runs of unary operators nest as well, without a bracket
    return max([deepest, *(len(run) for run in re.findall(r"[-+~]{50,}|(?:not\s){50,}", text))])
