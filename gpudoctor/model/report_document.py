"""The JSON document of a report (gpudoctor.report/1): what is written, read back and published as data/report.schema.json.

An unknown fact is absent from `facts`; a known absence is null or an empty list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict

from gpudoctor.model.check import CONFIDENCES, LAYERS, SEVERITIES
from gpudoctor.model.measurement import Measurement
from gpudoctor.model.report import ORIGINS, SCHEMA, STATUSES, VERDICTS
from gpudoctor.model.typed_json import Limits, Never, shaped

Count = Annotated[int, Limits(minimum=0)]
Layer = Annotated[str, Limits(enum=LAYERS)]
Moment = Annotated[str, Limits(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]


class ToolDocument(TypedDict):
    """The program that wrote the document."""

    name: Annotated[str, Limits(const="gpudoctor")]
    version: str


@shaped(open=True)
class CatalogueDocument(TypedDict):
    """The checks that judged the machine."""

    version: str
    """The number of files and a hash of their content."""


@shaped(open=True)
class KernelFacts(TypedDict, total=False):
    """The running kernel."""

    release: str | None
    """As `uname -r` prints it."""


@shaped(open=True)
class OsFacts(TypedDict, total=False):
    """The operating system."""

    id: str | None
    """ID of /etc/os-release, or windows, or macos."""
    version: str | None


@shaped(open=True)
class PlatformFacts(TypedDict, total=False):
    """What kind of system it is."""

    kind: Annotated[str, Limits(enum=("linux", "wsl2", "wsl1", "windows", "macos", "container"))] | None


@shaped(open=True)
class GpuFacts(TypedDict, total=False):
    """One GPU."""

    vendor: str | None
    pci_id: str | None
    """Vendor and device in hexadecimal digits: 8086:56a0."""
    name: str | None
    driver: str | None
    """The kernel driver that is bound to it."""
    node: str | None
    """The device file through which programs reach it."""
    access: bool | None
    """Whether the user may open that file."""


@shaped(open=True)
class OpenclPlatform(TypedDict):
    """One platform that the OpenCL loader lists."""


@shaped(open=True)
class OpenclFacts(TypedDict, total=False):
    """OpenCL on the machine."""

    platforms: Sequence[OpenclPlatform] | None


@shaped(open=True)
class DistributionFacts(TypedDict):
    """An installed distribution of which more than the version is known."""

    version: str


class _ErrorDetails(TypedDict, total=False):
    name: str | None
    """The class of the exception, or the name of the signal."""
    message: str | None


@shaped(open=True)
class ImportErrorFacts(_ErrorDetails):
    """How the import of a framework failed."""

    kind: Annotated[str, Limits(enum=("exception", "signal", "timeout"))]


class _FrameworkDeviceDetails(TypedDict, total=False):
    name: str | None


@shaped(open=True)
class FrameworkDevice(_FrameworkDeviceDetails):
    """A device that a framework lists."""

    id: str | int


class _LibraryDetails(TypedDict, total=False):
    path: str | None
    origin: Annotated[str, Limits(enum=("wheel", "conda", "oneapi", "toolkit", "system", "wsl", "stub"))]
    """Who installed the file."""


@shaped(open=True)
class LoadedLibrary(_LibraryDetails):
    """A shared library that was loaded with a framework."""

    soname: str


@shaped(open=True)
class FrameworkFacts(TypedDict, total=False):
    """What a framework said when it was imported in a process of its own."""

    imported: bool | None
    version: str | None
    build: str | None
    """The backend that the package was built for: cpu, cu128, rocm6.3, xpu."""
    error: ImportErrorFacts | None
    devices: Sequence[FrameworkDevice]
    libraries: Sequence[LoadedLibrary]


@shaped(open=True)
class PythonFacts(TypedDict, total=False):
    """The Python environment that was examined."""

    executable: str | None
    version: str | None
    kind: str | None
    """venv, conda or system."""
    distributions: Mapping[str, str | DistributionFacts | Sequence[str | DistributionFacts] | None] | None
    """By name: a version, a table with the version, or a list where the distribution is installed twice."""
    frameworks: Mapping[str, FrameworkFacts | None] | None
    """By name, as it is imported."""


@shaped(open=True)
class FactsDocument(TypedDict, total=False):
    """The facts as a tree of their dotted names. These names are fixed; `gpudoctor list facts` names the others."""

    kernel: KernelFacts
    os: OsFacts
    platform: PlatformFacts
    gpus: Sequence[GpuFacts] | None
    opencl: OpenclFacts
    python: PythonFacts


class RungDocument(TypedDict):
    """One layer of a stack."""

    layer: Layer
    status: Annotated[str, Limits(enum=STATUSES)]
    detail: str


class _StackDetails(TypedDict, total=False):
    used: bool
    """Whether the target environment holds a framework of the stack."""


class StackDocument(_StackDetails):
    """The verdict on one stack, with its layers from the device upwards."""

    stack: str
    title: str
    verdict: Annotated[str, Limits(enum=VERDICTS)]
    layers: Sequence[RungDocument]


class _AdviceDetails(TypedDict, total=False):
    otherwise: Sequence[str]
    """Other ways, where the first does not suit."""


class AdviceDocument(_AdviceDetails):
    """What to do."""

    text: str
    commands: Sequence[str]
    env: Mapping[str, str]
    """Variables to set."""
    recipe: str | None
    """The recipe of `gpudoctor setup` that does it."""
    needs_reboot: bool


class _FindingDetails(TypedDict, total=False):
    ask: str | None
    """The question that decides a finding that is only possible."""
    look: str | None
    """The command that answers the question."""


@shaped(Never(severity="error", confidence="possible"))
class FindingDocument(_FindingDetails):
    """One cause. An error is at least likely."""

    id: Annotated[str, Limits(pattern="^[a-z0-9][a-z0-9-]*$")]
    """The id of the check."""
    key: str
    """The id and a hash of the subjects: the same in every run."""
    subjects: Sequence[str]
    """Addresses, packages or files that the finding is about."""
    severity: Annotated[str, Limits(enum=SEVERITIES)]
    layer: Layer
    stacks: Sequence[str]
    title: Annotated[str, Limits(minLength=1)]
    explanation: str
    confidence: Annotated[str, Limits(enum=CONFIDENCES)]
    evidence: Sequence[str]
    """What was seen, quoted."""
    advice: AdviceDocument
    sources: Sequence[str]
    caused_by: str | None
    """The key of the finding that this one follows from."""


@shaped(open=True)
class SummaryDocument(TypedDict):
    """Findings that are at least likely, by severity."""

    errors: Count
    warnings: Count
    infos: Count
    unknown: Count
    """The number of layers that could not be read."""
    first_broken: Annotated[str, Limits(pattern=f"^[a-z0-9-]+/({'|'.join(LAYERS)})$")] | None
    """stack/layer; null where nothing is broken."""


class _ReportDetails(TypedDict, total=False):
    catalogue: CatalogueDocument
    unknown: Mapping[str, str]
    """Facts that could not be determined, by dotted name, with the reason: what `facts` leaves out."""
    not_looked_at: Sequence[str]
    """What could not be examined, with the reason."""
    incomplete: Sequence[str]
    """What there was no time for."""
    undetermined: Sequence[str]
    """Demands of a policy that could not be judged."""
    ignored: Mapping[str, str]
    """Checks that were left out, with the reason."""


class ReportDocument(_ReportDetails):
    """A report of gpudoctor.

    An unknown fact is absent, a known absence is null or an empty list. A change that breaks a reader gets a new number in `schema`.
    """

    schema: Annotated[str, Limits(const=SCHEMA)]
    tool: ToolDocument
    created: Moment
    """UTC."""
    origin: Annotated[str, Limits(enum=ORIGINS)]
    """Whether this machine was examined, a recorded one, or a text."""
    facts: FactsDocument
    stacks: Sequence[StackDocument]
    findings: Sequence[FindingDocument]
    """In the order in which a person should read them."""
    measurements: Sequence[Measurement]
    summary: SummaryDocument
    redactions: Mapping[str, Count]
    """How often something was replaced, by its kind."""
