"""The partners of the torch that a resolver was asked for: Python versions, torchvision and torchaudio, the index of its build."""

from __future__ import annotations

from collections.abc import Iterable

from gpudoctor.facts.derive._derivation import Derivation
from gpudoctor.facts.derive._indexes import of_local
from gpudoctor.facts.derive._tables import table
from gpudoctor.facts.derive.python_mix import PARTNERS, torch_row
from gpudoctor.model.facts import Absent, Fact, Facts, FactSpec, Known, Unknown


def derive(facts: Facts) -> Iterable[tuple[str, Fact]]:
    asked = _asked(facts)
    names = [spec.name for spec in SPECS]
    if not asked:
        yield from ((name, Unknown("no resolver spoke of it")) for name in names)
        return
    base, _, local = asked.partition("+")
    row = torch_row(base) or torch_row(f"{base}.0")
    yield "pairs.torch", Known(base, "text")
    index = of_local(local)
    yield "pairs.index", Known(index, "text") if index else Absent("text")
    if row is None:
        yield from ((name, Unknown("not in the table")) for name in ("pairs.python", "pairs.partners", "pairs.python_ok"))
        return
    first, last = row["python"]
    yield "pairs.python", Known(f"{first} to {last}", "python-partners")
    partners = [f"{package} {row[key][-1]}" for package, key in (("torchvision", "vision"), ("torchaudio", "audio")) if row.get(key)]
    yield "pairs.partners", Known(" and ".join(partners), "python-partners") if partners else Absent("python-partners")
    mine = facts.value("python.version")
    if not isinstance(mine, str) or not mine:
        yield "pairs.python_ok", Unknown("not in the text")
    else:
        numbers = tuple(int(part) for part in mine.split(".")[:2])
        yield "pairs.python_ok", Known(tuple(map(int, first.split("."))) <= numbers <= tuple(map(int, last.split("."))), "python-partners")


def _asked(facts: Facts) -> str:
    """The torch that a resolver was asked for, or the one that belongs to the torchvision or torchaudio that it was asked for; else ''."""
    asked = facts.get("text.torch_asked")
    if isinstance(asked, Known):
        return str(asked.value)
    package, _, version = str(facts.value("text.partner_asked") or "").partition(" ")
    base, plus, local = version.partition("+")
    rows = table("python-partners")["torch"] if base else ()
    torch = next((str(row["version"]) for row in reversed(rows) if base in (row.get(PARTNERS[package]) or ())), "")
    return f"{torch}{plus}{local}" if torch else ""


SPECS = (
    FactSpec("pairs.torch", "dotted", "the torch release that a resolver was asked for, or has beside what wants another"),
    FactSpec("pairs.index", "text", "the index of the build that its version names (+cu121); absent where it names none"),
    FactSpec("pairs.python", "text", "the Python versions that it has wheels for"),
    FactSpec("pairs.python_ok", "bool", "that torch has wheels for this Python"),
    FactSpec("pairs.partners", "text", "the torchvision and torchaudio that go with it"),
)  # fmt: skip
DERIVATION = Derivation("pairs", provides=SPECS, derive=derive)
