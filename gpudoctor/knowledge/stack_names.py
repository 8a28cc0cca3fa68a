"""The names of stacks in `check --stack`, `setup`, `audit --backend` and `validate --device`, from the tables [names] of our stacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec.json import decode

from gpudoctor.knowledge import paths
from gpudoctor.knowledge.loader import compiled_before, read_toml
from gpudoctor.knowledge.structure import stack_names_from
from gpudoctor.model.stack_names import StackNames

NEAR = 0.75


@lru_cache(maxsize=1)
def all_names() -> Mapping[str, StackNames]:
    """By stack, in the order of the ids. Raises structure.DataError for a file of ours that cannot be used."""
    compiled = compiled_before()
    if compiled is not None:
        tables = [(decode(entry["table"]), entry["file"]) for entry in compiled.stacks]
    else:  # a checkout whose catalogue is still to be made
        folder = paths.checkout_checks()
        assert folder is not None
        tables = [(read_toml(path), str(path)) for path in sorted(folder.glob("stacks/*/stack.toml"))]
    return {table["stack"]: stack_names_from(table, file) for table, file in tables}


def named(word: str) -> str | None:
    """The stack that a name or alias stands for, in upper or lower case; None where there is none."""
    plain = word.strip().lower()
    known = all_names()
    return plain if plain in known else next((stack for stack, names in known.items() if plain in names.aliases), None)


def stack_of(word: str) -> str:
    """The id of the stack; an unknown word is returned as it is."""
    return named(word) or word


def setup_of(word: str, known: Iterable[str]) -> str:
    """The name of the recipe; names that `setup` knows itself are returned as they are."""
    stack = named(word)
    if word in known or stack is None:
        return word
    names = all_names()[stack]
    return names.recipe or names.set_up_instead or word


def backend_of(word: str, known: Iterable[str]) -> str:
    """The backend of `audit`; a framework that runs on several backends is returned as it is."""
    stack = named(word)
    return word if word in known or stack is None else all_names()[stack].backend or word


def device_of(word: str, known: Iterable[str]) -> str:
    """The kind of device of `validate`; an unknown word is returned as it is."""
    stack = named(word)
    return word if word in known or stack is None else all_names()[stack].device or word


def suggestion(word: str, choices: Iterable[str]) -> str:
    """' (did you mean …?)' where all similar names are of one kin: 'gpu' is as similar to ipu as to cpu, and neither may be meant."""
    import difflib

    near = difflib.get_close_matches(word.lower(), list(choices), n=3, cutoff=NEAR)
    kin = {all_names()[stack].kin if (stack := named(name)) else name for name in near}
    return f" (did you mean '{near[0]}'?)" if len(kin) == 1 and len(word) > 3 else ""


def every_name() -> list[str]:
    """The ids of all stacks and their aliases."""
    return [name for stack, names in all_names().items() for name in (stack, *names.aliases)]


def stack_that_measured(framework: str, backend: str) -> str | None:
    """The stack whose upper layers a measurement decides; None where there is none."""
    known = all_names().items()
    exact = next((stack for stack, names in known if f"{framework} {backend}" in names.measured_as), None)
    return exact or next((stack for stack, names in known if framework in names.measured_as), None)


def stacks_on(framework: str) -> list[str]:
    """The stacks that use a framework: a failed import of torch_directml breaks no other stack."""
    return [stack for stack, names in all_names().items() if framework in names.frameworks]
