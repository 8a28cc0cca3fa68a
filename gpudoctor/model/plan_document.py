"""The JSON document of a plan (gpudoctor.plan/1), published as data/plan.schema.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from gpudoctor.model.plan import DONE, IMPOSSIBLE, RESTARTS, SCHEMA, TODO
from gpudoctor.model.recipe import KINDS
from gpudoctor.model.report_document import Layer, Moment, ToolDocument
from gpudoctor.model.typed_json import Limits, OneOf, shaped

Mode = Annotated[str, Limits(pattern="^[0-7]{4}$")]


class SystemDocument(TypedDict):
    """The operating system that the plan is for."""

    id: str
    version: str


class RefusalDocument(TypedDict):
    """Why nothing is done, and what to do instead."""

    title: str
    advice: str


class CommandDocument(TypedDict):
    """What a person would type; no shell reads it."""

    act: Annotated[str, Limits(const="command")]
    argv: Annotated[Sequence[str], Limits(minItems=1)]
    root: bool
    env: Mapping[str, str]


class WrittenDocument(TypedDict):
    """A file that gets this content."""

    act: Annotated[str, Limits(const="file")]
    path: str
    mode: Mode
    root: bool
    content: str


class _Pins(TypedDict, total=False):
    sha256: Annotated[str, Limits(pattern="^[0-9A-Fa-f]{64}$")]
    fingerprint: Annotated[str, Limits(pattern="^[0-9A-Fa-f ]{40,80}$")]
    """Of an OpenPGP key."""


@shaped(OneOf("sha256", "fingerprint"))
class FetchedDocument(_Pins):
    """A file whose content is downloaded and compared with a hash, or with the fingerprint of a key."""

    act: Annotated[str, Limits(const="file")]
    path: str
    mode: Mode
    root: bool
    fetched_from: str


class WordDocument(TypedDict):
    """What only a person can do, or must know."""

    act: Annotated[str, Limits(const="word")]
    text: str


ActDocument = CommandDocument | WrittenDocument | FetchedDocument | WordDocument


class StepDocument(TypedDict):
    """One step with every value settled."""

    number: Annotated[int, Limits(minimum=1)]
    kind: Annotated[str, Limits(enum=KINDS)]
    title: str
    why: str
    layer: Layer
    recipe: str
    """The id of the recipe that the step comes from."""
    state: Annotated[str, Limits(enum=(TODO, DONE, IMPOSSIBLE))]
    note: str
    """Why the step is done already, or impossible."""
    changes: Sequence[str]
    root: bool
    restart: Annotated[str, Limits(enum=RESTARTS)]
    """What must happen before the next step."""
    settings: Mapping[str, Any]
    """All that the kind of the step needs to apply, verify and undo it."""
    acts: Sequence[ActDocument]


class PlanDocument(TypedDict):
    """A plan of gpudoctor setup.

    What would be done on a machine, before anything is. A change that breaks a reader gets a new number in `schema`.
    """

    schema: Annotated[str, Limits(const=SCHEMA)]
    tool: ToolDocument
    created: Moment
    """UTC."""
    name: str
    recipe: str
    title: str
    stack: str
    compute: str
    machine: str
    """The machine that the plan is for, in one line."""
    os: SystemDocument
    disk_gb: Annotated[float, Limits(minimum=0)] | None
    archived: str
    """Why the stack is archived; empty where it is not."""
    refusals: Sequence[RefusalDocument]
    """Where it is not empty, nothing is done."""
    warnings: Sequence[str]
    remarks: Sequence[str]
    sources: Sequence[str]
    mends: Sequence[str]
    """Keys of the findings of the earlier check that the plan is expected to remove."""
    env: str
    """Folder of the target environment; empty where the recipe needs none."""
    variables: Mapping[str, str]
    """What the steps set in the environment."""
    steps: Sequence[StepDocument]
