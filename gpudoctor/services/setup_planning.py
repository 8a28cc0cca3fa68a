"""The services of `setup` that change nothing: examine, choose, plan, recommend."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from gpudoctor.capture.open_host import open_host
from gpudoctor.diagnosis.advice.recipe_choice import choose
from gpudoctor.diagnosis.advice.recommendation import recommend
from gpudoctor.facts import vocabulary
from gpudoctor.facts.collect import Gathered, gather
from gpudoctor.knowledge.recipes import load_book
from gpudoctor.knowledge.stack_names import every_name, named, setup_of, suggestion
from gpudoctor.model.check import RECIPES
from gpudoctor.model.facts import Absent, Fact, Facts, Known
from gpudoctor.model.plan import Plan, Recommendation, Refusal
from gpudoctor.model.recipe import Address, Recipe, RecipeBook
from gpudoctor.model.report import Report
from gpudoctor.services import checking
from gpudoctor.setup.export_lock import NOT_LOCKED, LockPlatform, locked
from gpudoctor.setup.fresh_machine import ENV, fresh, owned_by_root
from gpudoctor.setup.mirrors import MirrorError, apply_mirrors, given_mirrors, mirror_notes, unauthenticated
from gpudoctor.setup.packages.pip_command import alone, surroundings
from gpudoctor.setup.planner import plan as make_plan
from gpudoctor.setup.preflight import Preflight, preflight
from gpudoctor.setup.steps._step import Look
from gpudoctor.setup.steps.venv import python_in
from gpudoctor.system.host import Host
from gpudoctor.system.http import HttpClient
from gpudoctor.system.local_host import LocalHost

if TYPE_CHECKING:
    from gpudoctor.setup.verify_online import OnlineRow

Progress = Callable[[str], None]


class SetupRequest(Struct, frozen=True, kw_only=True):
    """The options of `setup`. `name` is the name of a recipe (model.check.RECIPES)."""

    name: str
    capture: str | None = None
    torch: str | None = None
    python_version: str | None = None
    purpose: str | None = None
    folder: str | None = None
    """The folder with files that only the person can download."""
    env: str | None = None
    bundle: str | None = None
    bundle_sha256: str = ""
    """The checksum of the bundle's manifest, which --make-bundle printed."""
    mirrors: tuple[str, ...] = ()
    """NAME=URL, as on the command line."""
    mirror_config: Mapping[str, Any] = field(default_factory=dict)
    """The table [mirrors] of configuration files."""
    allow_removal: bool = False
    fresh: bool = False
    """Plans for a new machine with the same system and hardware, on which nothing is installed: for exports."""
    locked: bool = False
    """uv resolves the packages of an export and pins each with its checksum. This opens sockets."""
    budget: float = 60.0

    def __post_init__(self) -> None:
        """Resolves aliases: `nvidia`, `torch-cuda` and `cuda` are one recipe. tensorflow-directml is the recipe directml with a purpose."""
        if named(self.name) == "tensorflow-directml" and self.purpose is None:
            force_setattr(self, "purpose", "tensorflow")
        force_setattr(self, "name", setup_of(self.name, RECIPES))


class RecommendRequest(Struct, frozen=True, kw_only=True):
    """The options of `setup` without a stack."""

    capture: str | None = None
    """A recorded machine instead of this one."""
    purpose: str | None = None
    """The value of --for: training, inference and others."""


class Recommended(Struct, frozen=True):
    """The recommendation, and the machine in one line."""

    choice: Recommendation
    machine: str


class VerifyRequest(Struct, frozen=True, kw_only=True):
    """Mirrors that are used instead of the recipes' own addresses: the table [mirrors] of configuration files."""

    mirrors: Mapping[str, Any] = field(default_factory=dict)


class Planned(Struct, frozen=True):
    """A plan and what it was made from. `report` is the check before it."""

    plan: Plan
    report: Report
    look: Look
    unauthenticated: tuple[str, ...] = ()
    """Mirrors without authentication, each in a sentence; the person is asked about them."""


@cache
def book() -> RecipeBook:
    """All recipes and addresses, read once in a process. Raises knowledge.structure.DataError."""
    return load_book(vocabulary.items())


def verify_recipes(request: VerifyRequest) -> list[OnlineRow]:
    """Asks whether every address, key and version of the recipes still exists. Raises services.checking.BAD_INPUT."""
    from gpudoctor.setup.verify_online import verify_online

    recipes = book()
    try:
        recipes = replace(recipes, addresses=apply_mirrors(recipes.addresses, {}, request.mirrors))
    except MirrorError as error:
        raise checking.RequestError(str(error)) from error
    return list(verify_online(recipes, HttpClient(online=True)))


def plan_setup(request: SetupRequest, progress: Progress | None = None) -> Planned:
    """Examines the machine and plans; changes nothing. Raises services.checking.BAD_INPUT."""
    recipes = book()
    if request.name not in RECIPES:
        near = suggestion(request.name, (*RECIPES, *every_name()))
        raise checking.RequestError(f"there is no stack '{request.name}' to set up{near}; known: {', '.join(sorted(RECIPES))}")
    host, env = _open(request)
    gathered = gather(host, progress, _request_facts(request, host, env))
    planned = plan_from(request, recipes, gathered, host, env)
    return _with_checksums(request, planned, progress) if request.fresh else planned


def _with_checksums(request: SetupRequest, planned: Planned, progress: Progress | None) -> Planned:
    """Replaces the packages of an export by a locked list with checksums; without --online, a remark says that there are none."""
    plan, facts = planned.plan, planned.look.facts
    if not any(step.kind == "pip" and step.acts for step in plan.steps):
        return planned
    if not request.locked:
        return replace(planned, plan=replace(plan, remarks=(*plan.remarks, NOT_LOCKED)))
    if progress:
        progress("the packages on the index")
    system = "macos" if planned.look.host.platform == "macos" else "linux"
    target = LockPlatform(system, str(facts.value("platform.machine") or "x86_64"))
    return replace(planned, plan=locked(plan, target, _uv_compile))


def _uv_compile(words: Sequence[str], text: str) -> tuple[int | None, str, str]:
    """Runs `uv pip compile` (of the uv beside gpudoctor, else the one on the PATH). Returns the exit status (None where uv is missing),
    standard output and standard error."""
    host, own = LocalHost(budget=900.0), f"{sys.prefix}/bin/uv"
    uv = own if os.access(own, os.X_OK) else "uv"
    argv = alone([uv, "pip", "compile", "--python", sys.executable, "--no-python-downloads", *words], host)
    with tempfile.TemporaryDirectory(prefix="gpudoctor-lock-") as folder:
        ran = host.run_child(argv, timeout=600.0, limit=20_000_000, env=surroundings(folder, host), stdin_text=text)
    return None if ran.missing or ran.rc == 127 else 1 if ran.rc is None else ran.rc, ran.stdout, ran.stderr


def plan_from(request: SetupRequest, recipes: RecipeBook, gathered: Gathered, host: Host, env: str) -> Planned:
    """The plan from given facts, with a check of the present state. Only the kinds of steps read from the host."""
    report = _checked(gathered, request.capture, host.origin)
    plan, look = draw(request, recipes, gathered.facts, host, env, _machine_line(report))
    open_ones = unauthenticated(recipes.addresses, look.addresses)
    cautions = [*_foreign(plan, look), *(() if request.fresh else _cautions(plan, report, look))]
    warnings = (*mirror_notes(recipes.addresses, look.addresses), *open_ones, *plan.warnings, *cautions)
    return Planned(replace(plan, mends=_mends(plan, report), warnings=warnings), report, look, open_ones)


def draw(request: SetupRequest, recipes: RecipeBook, facts: Facts, host: Host, env: str, machine: str) -> tuple[Plan, Look]:
    """The plan alone, and the state that it was made from."""
    addresses = _addresses(recipes, request)
    options = {
        "torch": request.torch, "python_version": request.python_version, "purpose": request.purpose, "folder": request.folder,
        "env_named": request.env is not None,
        "bundle": _bundle(request, facts), "allow_removal": request.allow_removal, "user": facts.value("setup.user"),
        "insecure": sorted(name for name, address in addresses.items() if address != recipes.addresses[name]),
    }  # fmt: skip
    look = Look(facts=facts, host=host, addresses=addresses, env=env, options=options)

    def chooser(name: str) -> tuple[Recipe | None, tuple[str, ...]]:
        choice = choose(recipes, name, facts)
        return choice.recipe, choice.others

    recipe, others = chooser(request.name)
    if recipe is not None and request.fresh:
        # The system's Python needs no further program, so that uv is tried second.
        tried = [
            (owned_by_root(make_plan(recipe, state, chooser, machine)), state) for state in (fresh(look, uv=False), fresh(look, uv=True))
        ]
        return next((pair for pair in tried if not pair[0].refusals), tried[0])
    if recipe is not None:
        return make_plan(recipe, look, chooser, machine), look
    advice = "; ".join(others) or "gpudoctor list recipes shows what there is"
    refusal = Refusal(title=f"no recipe '{request.name}' serves this machine", advice=advice)
    return Plan(
        name=request.name, recipe="", title=request.name, stack="", compute="", machine=machine, env="", steps=(), refusals=(refusal,)
    ), look  # fmt: skip


def _open(request: SetupRequest) -> tuple[Host, str]:
    """The machine, and the folder of the environment, which is examined where it exists."""
    wanted = os.path.abspath(os.path.expanduser(request.env)) if request.env and not request.capture else request.env
    target = wanted if wanted and not request.capture and os.path.isdir(wanted) else None
    host = open_host(request.capture, request.budget, False, target)
    if wanted:
        return host, wanted
    if request.fresh:
        return host, ENV
    default = f"{_home(host)}/gpudoctor/{request.name}"
    if not request.capture and os.path.isdir(default) and not host.distrust(python_in(default, host)):
        host = open_host(None, request.budget, False, default)
    return host, default


def _home(host: Host) -> str:
    if host.origin == "live":
        return os.path.expanduser("~").replace("\\", "/")
    return host.env("HOME") or (host.env("USERPROFILE") or "").replace("\\", "/") or "/home/user"


def _request_facts(request: SetupRequest, host: Host, env: str) -> dict[str, Fact]:
    """The request as facts (facts/derive/setup.py lists them)."""
    found: dict[str, Fact] = {"setup.name": Known(request.name, "command line"), "setup.env": Known(env, "--env")}
    for name, value in (("torch", request.torch), ("python_version", request.python_version), ("folder", request.folder)):
        found[f"setup.{name}"] = Known(value, "command line") if value else Absent("command line")
    found["setup.purpose"] = Known(request.purpose or "training", "--for")
    user = host.env("SUDO_USER") or host.env("USER") or host.env("LOGNAME")
    if user:  # else the probe's user counts, which `id` names
        found["setup.user"] = Known(user, "environment")
    return found


def _addresses(recipes: RecipeBook, request: SetupRequest) -> Mapping[str, Address]:
    try:
        return apply_mirrors(recipes.addresses, given_mirrors(request.mirrors), request.mirror_config)
    except MirrorError as error:
        raise checking.RequestError(str(error)) from error


def _bundle(request: SetupRequest, facts: Facts) -> str | None:
    """The offline bundle, after every file was compared with its manifest, and the bundle's system with this machine."""
    if request.bundle is None:
        return None
    from gpudoctor.setup.offline.bundle import BundleError, misfits, pinned

    try:
        bundle = pinned(request.bundle, request.bundle_sha256)
    except BundleError as error:
        raise checking.RequestError(f"{error}; {error.advice}") from error
    wrong = misfits(bundle, facts, request.name, request.python_version or "")
    if wrong:
        raise checking.RequestError(
            f"{bundle.folder} does not serve here: {'; '.join(wrong)}; make one for this machine with --make-bundle"
        )
    return bundle.folder


_MAKERS = {"torch-cuda": ("nvidia", "NVIDIA"), "torch-rocm": ("amd", "AMD"), "torch-xpu": ("intel", "Intel"), "ipex": ("intel", "Intel")}


def _foreign(plan: Plan, look: Look) -> Iterator[str]:
    """A warning where the stack belongs to one vendor and the machine has GPUs of others only."""
    vendors = [str(vendor) for vendor in look.facts.value("setup.gpu_vendors") or ()]
    maker, title = _MAKERS.get(plan.stack, ("", ""))
    if maker and vendors and maker not in vendors and not plan.refusals:
        yield f"this machine has no {title} GPU, so nothing will compute on it; gpudoctor setup recommends a stack for the GPU that it has"


def _cautions(plan: Plan, report: Report, look: Look) -> Iterator[str]:
    """Warnings about the present state, before something is changed."""
    present = next((result for result in report.stacks if result.stack == plan.stack), None)
    target = look.facts.value("python.prefix")
    if present is not None and present.verdict == "ok" and plan.todo:
        where = f" in {target}" if target and present.used else ""
        same = target is not None and plan.env == target
        yield f"{present.title} works already{where}; " + (
            "this changes that environment, and gpudoctor setup --undo puts it back" if same else "nothing of it is changed"
        )
    if look.host.origin == "live" and look.facts.value("user.is_root") and look.host.env("SUDO_USER") and plan.env:
        yield f"this runs as root, so {plan.env} will belong to root; run gpudoctor as yourself, it asks sudo where a step needs it"


def _mends(plan: Plan, report: Report) -> tuple[str, ...]:
    """Keys of the errors that the plan is expected to remove: of its stack, on a layer that one of its steps changes."""
    layers = {step.layer for step in plan.todo}
    return tuple(
        finding.key for finding in report.findings
        if finding.severity == "error" and plan.stack in finding.stacks and finding.layer in layers
    )  # fmt: skip


def look_ahead(planned: Planned, request: SetupRequest, progress: Progress | None = None) -> Preflight:
    """Checks before the first act: disk space, rights, Python, and whether addresses and versions still exist. Opens sockets unless a
    bundle is used."""
    if progress:
        progress("asking whether everything is still where it was")
    return preflight(planned.plan, planned.look, None if request.bundle else HttpClient(online=True))


def recommend_stack(request: RecommendRequest, progress: Progress | None = None) -> Recommended:
    """Which stack to set up on the machine. Raises services.checking.BAD_INPUT."""
    recipes = book()
    host = open_host(request.capture, 60.0, False, None)
    gathered = gather(host, progress, {"setup.name": Known("any", "command line"), **_request_facts(SetupRequest(name="any"), host, "")})
    report = _checked(gathered, request.capture, host.origin)
    return Recommended(recommend(gathered.facts, report.stacks, request.purpose, recipes.names()), _machine_line(report))


def _checked(gathered: Gathered, capture: str | None, origin: str) -> Report:
    """The report of the present state. Only the checks are built whose facts are known."""
    knowledge = checking.catalogue(wanted=checking.speaking_by_facts(gathered.facts))
    return checking.report_from_facts(gathered, knowledge, checking.CheckRequest(capture=capture), origin)


def _machine_line(report: Report) -> str:
    return " · ".join(report.headline[key] for key in ("machine", "os", "platform", "kernel") if report.headline.get(key))
