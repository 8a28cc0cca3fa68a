"""No expression that meets somebody else's text takes more than linear time for it: each is measured on texts made to hurt it.

Expressions of checks are measured by `gpudoctor lint checks`, a step of .ci/run.
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudoctor.knowledge.slow_patterns import Cost, Use, is_too_slow, slow_pattern, worst
from gpudoctor.model.deadline import Deadline
from gpudoctor.model.lazy_pattern import LazyPattern
from gpudoctor.model.signature import Numbered, Signature
from gpudoctor.rules.signatures import LONGEST_WINDOW, SearchedText

pytestmark = pytest.mark.early

ROOT = Path(__file__).resolve().parents[2] / "gpudoctor"
OF_CLUSTERS = ("ClusterShell", "cloudpickle", "ray")
"""Packages that an engine of `fleet run` imports from the environment of a cluster; these modules hold no expression."""
PLACES = ("facts", "rules", "capture", "privacy", "system", "model")
SHORT = {
    "roles": 2_000, "line_shapes": 2_000, "document": 2_000, "polarity": 1_200, "settled": 800, "elsewhere": 400, "counted": 600,
    "went_on": 600, "on_purpose": 600, "ended": 600,
}  # fmt: skip
"""Letters of a line that these modules look at; the others 8,000."""
SUSPECT = 0.02


class Module:
    """What one file says of expressions. `used`: by the name of an expression, which of its methods are called; `calls`: all calls of
    methods."""

    def __init__(self, path: Path) -> None:
        self.used: dict[str, set[str]] = {}
        self.calls: list[tuple[ast.Call, ast.Attribute]] = []
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Attribute)):
                name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                self.used.setdefault(name, set()).add(node.attr)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                self.calls.append((node, node.func))


def expressions() -> Iterator[tuple[str, str, int, set[str], int]]:
    """Where it stands, the expression, its flags, the methods that are called, and the length of what it meets."""
    modules = {path: Module(path) for path in ROOT.rglob("*.py")}
    everywhere: dict[str, set[str]] = {}
    for each in modules.values():
        for name, methods in each.used.items():
            everywhere.setdefault(name, set()).update(methods)
    for place in PLACES:
        for path in sorted((ROOT / place).rglob("*.py")):
            name = ".".join(("gpudoctor", *path.relative_to(ROOT).with_suffix("").parts))
            try:
                module = importlib.import_module(name.removesuffix(".__init__"))
            except ModuleNotFoundError as missing:
                assert missing.name in OF_CLUSTERS and "import re\n" not in path.read_text("utf-8"), path
                continue
            used, length = modules[path].used, SHORT.get(path.stem, 8_000)
            for name, value in vars(module).items():
                if isinstance(value, (re.Pattern, LazyPattern)) and isinstance(value.pattern, str):
                    methods = (used if name[0] == "_" else everywhere).get(name, set())
                    yield f"{path.stem}.{name}", value.pattern, value.flags & ~re.UNICODE, methods, length
            for node, method in modules[path].calls:
                if not node.args:
                    continue
                whose, first = method.value, node.args[0]
                inline = isinstance(whose, ast.Name) and whose.id == "re" and method.attr not in ("compile", "escape")
                if inline and isinstance(first, ast.Constant):
                    multiline = re.MULTILINE if "MULTILINE" in ast.unparse(node) or "re.M" in ast.unparse(node) else 0
                    yield f"{path.stem}:{node.lineno}", str(first.value), multiline, {method.attr}, length


def use_of(methods: set[str]) -> Use:
    if methods and methods <= {"match", "fullmatch", "pattern"}:
        return re.Pattern.match if "match" in methods else re.Pattern.fullmatch
    if methods == {"search"}:
        return re.Pattern.search
    return lambda expression, text: deque(expression.finditer(text), maxlen=0)


@pytest.mark.timeout(300)
def test_expressions_of_ours_take_linear_time() -> None:
    slow, seen = [], set()
    for where, pattern, flags, methods, length in expressions():
        seen.add(where)
        use = use_of(methods)
        cost = worst(pattern, flags, length, SUSPECT, use)
        if cost.attack and cost.seconds >= SUSPECT and is_too_slow(pattern, flags, length, cost.attack, use):
            slow.append(f"{where}: {cost.seconds:.3f} s for {length} letters of {cost.attack}")
    assert not slow, "\n".join(slow)
    assert len(seen) > 300, "the folders of the expressions were not found"


@pytest.mark.parametrize(
    "pattern",
    [
        r"cuda\.is_available(?:\(\))?[^\w\n]{0,10}(?:[\w']+[^\w\n]{1,3}){0,5}[^\w\n]{0,10}(?:False|0)\b",
        r"(?P<library>\w+\.so): cannot open",
        r"version \d+\.\d+[\d.]* of",
        r"needs .*but.*is.*found",
    ],
)
def test_what_is_slow_is_found(pattern: str) -> None:
    assert "takes too long" in (slow_pattern(pattern) or "")


def test_what_grows_exponentially_is_found_before_it_hangs() -> None:
    began = time.thread_time()
    cost = worst(r"(?:a|aa|aaa)+$", 0, LONGEST_WINDOW, SUSPECT)
    assert isinstance(cost, Cost) and cost.seconds >= SUSPECT
    assert time.thread_time() - began < 20


def _signature(pattern: str) -> Signature:
    return Signature(text=(("a needle of many",),), pattern=pattern)


def test_after_the_deadline_nothing_is_found_and_that_is_known() -> None:
    deadline = Deadline(0.0)
    text = SearchedText([Numbered(1, "a needle of many")], deadline=deadline)
    assert not list(text.hits(_signature("needle"))) and deadline.passed
    fresh = Deadline(60.0)
    assert list(SearchedText([Numbered(1, "a needle of many")], deadline=fresh).hits(_signature("needle"))) and not fresh.passed


def test_a_deadline_begins_when_it_is_asked_first() -> None:
    deadline = Deadline(0.05)
    until = time.thread_time() + 0.1
    while time.thread_time() < until:
        pass
    assert not deadline.over()
    while not deadline.over():
        pass
    assert deadline.passed
