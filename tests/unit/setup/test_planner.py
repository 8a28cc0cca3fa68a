"""From recipe and facts to a plan: what is left out, filled in, inlined, refused."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnosis.advice.recipe_choice import choose
from gpudoctor.knowledge.recipes import recipe_from
from gpudoctor.knowledge.structure import DataError
from gpudoctor.model.facts import Absent, Facts, Known, Unknown
from gpudoctor.model.plan import DONE, IMPOSSIBLE, TODO, Plan
from gpudoctor.model.recipe import Recipe, RecipeBook
from gpudoctor.setup.planner import plan, settled
from gpudoctor.setup.steps._step import Look, PlanError
from gpudoctor.setup.wsl_safety import forbidden
from gpudoctor.system.null_host import NoHost

ITEMS = {"gpus": "gpu"}
SOURCE = [{"ref": "https://example.org", "read": "2026-11-20", "says": "so"}]
ALWAYS: dict[str, Any] = {"all": []}


def recipe(name: str, *steps: dict[str, Any], **more: Any) -> Recipe:
    table = {"id": more.pop("id", name), "name": name, "title": f"the {name}", "platform": "any", "applies": ALWAYS, "source": SOURCE}
    return recipe_from({**table, "step": list(steps), **more}, f"{name}/x.toml", ITEMS)


def person(title: str, **more: Any) -> dict[str, Any]:
    return {"do": "person", "title": title, "why": "w", "layer": "framework", "text": title, **more}


def planned(book: list[Recipe], name: str, **facts: Any) -> Plan:
    known = Facts({key.replace("__", "."): value if isinstance(value, (Absent, Unknown)) else Known(value) for key, value in facts.items()})
    all_of_them = RecipeBook(recipes=tuple(book))
    look = Look(facts=known, host=NoHost(), addresses={}, env="/env", options={})

    def chooser(wanted: str) -> tuple[Recipe | None, tuple[str, ...]]:
        choice = choose(all_of_them, wanted, known)
        return choice.recipe, choice.others

    chosen, _ = chooser(name)
    assert chosen is not None
    return plan(chosen, look, chooser, "a machine")


def titles(made: Plan) -> list[str]:
    return [step.title for step in made.steps]


def test_a_step_is_left_out_unless_its_condition_is_true():
    steps = [
        person("yes", when={"fact": "os.id", "is": "debian"}),
        person("no", when={"fact": "os.id", "is": "arch"}),
        person("unknown", when={"fact": "os.version", "is": "12"}),
    ]
    assert titles(planned([recipe("cpu", *steps)], "cpu", os__id="debian")) == ["yes"]


def test_what_is_so_already_is_done_and_not_planned():
    made = planned([recipe("cpu", person("a", done={"fact": "os.id", "is": "debian"}), person("b"))], "cpu", os__id="debian")
    assert [step.state for step in made.steps] == [DONE, TODO]
    assert [step.title for step in made.todo] == ["b"]


def test_another_recipe_stands_in_its_place_once():
    first = recipe("opencl", {"do": "recipe", "name": "intel-driver"}, {"do": "recipe", "name": "intel-driver"}, person("last"))
    assert titles(planned([first, recipe("intel-driver", person("driver"))], "opencl")) == ["driver", "last"]


def test_a_recipe_that_includes_itself_is_a_mistake_and_no_endless_loop():
    loop = [recipe("opencl", {"do": "recipe", "name": "cpu"}), recipe("cpu", {"do": "recipe", "name": "opencl"})]
    with pytest.raises(PlanError, match="includes itself"):
        planned(loop, "opencl")


def test_an_include_that_nothing_serves_refuses_the_plan_with_the_reason():
    driver = recipe("intel-driver", person("x"), applies={"fact": "os.id", "is": "debian"})
    made = planned([recipe("opencl", {"do": "recipe", "name": "intel-driver"}), driver], "opencl", os__id="haiku")
    assert "intel-driver" in made.refusals[0].title
    assert "os.id" in made.refusals[0].advice and "haiku" in made.refusals[0].advice


def test_a_setting_with_an_unknown_fact_is_impossible_and_never_the_word_unknown():
    made = planned([recipe("cpu", person("go", text="install {os.version}"))], "cpu", os__version=Unknown("not probed"))
    assert made.steps[0].state == IMPOSSIBLE
    assert "os.version is not known" in made.refusals[0].title
    assert "unknown" not in str(made.steps[0].settings)


def test_lists_of_facts_are_spliced_into_lists_and_conditions_stay_as_they_are():
    facts = Facts({"a.names": Known(["x", "y"]), "b.name": Known("z")})
    given = {"packages": ["{a.names}", "p-{b.name}"], "ready": {"fact": "b.name", "is": "{b.name}"}, "n": 3}
    assert settled(given, facts) == {"packages": ["x", "y", "p-z"], "ready": {"fact": "b.name", "is": "{b.name}"}, "n": 3}


def test_a_value_of_a_fact_is_never_read_as_a_template():
    assert settled(["{b.name}"], Facts({"b.name": Known("{a.secret}"), "a.secret": Known("s")})) == ["{a.secret}"]


def test_gates_refuse_or_warn_only_where_they_are_false():
    gates = [
        {"holds": {"fact": "platform.machine", "is": "x86_64"}, "title": "no wheels for {platform.machine}", "advice": "another machine"},
        {"holds": {"fact": "os.version", "is": "12"}, "title": "never", "advice": "x"},
        {"holds": {"fact": "os.id", "is": "debian"}, "level": "warn", "title": "untried on {os.id}", "advice": "tell us"},
    ]
    made = planned([recipe("cpu", gate=gates)], "cpu", platform__machine="riscv64", os__id="arch")
    assert [refusal.title for refusal in made.refusals] == ["no wheels for riscv64"]
    assert made.warnings == ("untried on arch; tell us",)


def test_the_lowest_rank_that_applies_is_taken_and_a_certain_one_before_a_perhaps():
    book = [
        recipe("cpu", person("old"), id="cpu-old", rank=1, applies={"fact": "os.version", "is": "10"}),
        recipe("cpu", person("perhaps"), id="cpu-perhaps", rank=2, applies={"fact": "os.like", "is": "10"}),
        recipe("cpu", person("second"), id="cpu-second", rank=5),
        recipe("cpu", person("first"), id="cpu-first", rank=3),
    ]
    assert planned(book, "cpu", os__version="12").recipe == "cpu-first"
    assert planned(book[:2], "cpu", os__version="12").recipe == "cpu-perhaps"


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("apt.install", {"packages": ["libze1", "linux-image-6.8.0-40-generic"]}),
        ("apt.install", {"packages": ["nvidia-driver-580-open=580.1"]}),
        ("apt.install", {"packages": ["clinfo|amdgpu-dkms"]}),
        ("dnf.install", {"packages": ["akmod-nvidia"]}),
        ("edit", {"path": "/etc/default/grub", "after": ["grub"]}),
        ("modprobe", {"name": "x", "options": ["options i915 enable_guc=3"]}),
    ],
)
def test_wsl_gets_no_kernel_or_display_driver(kind: str, settings: dict[str, Any]):
    assert forbidden(kind, settings)


@pytest.mark.parametrize("name", ["libze1", "intel-opencl-icd", "nvidia-cuda-toolkit", "linux-tools-common", "nvidia-opencl-dev"])
def test_what_wsl_may_have_is_not_refused(name: str):
    assert not forbidden("apt.install", {"packages": [name]})


def test_a_step_forbidden_in_wsl_refuses_the_whole_plan():
    step = {"do": "apt.install", "title": "a kernel", "why": "w", "layer": "kernel-driver", "packages": ["linux-generic-hwe-22.04"]}
    made = planned([recipe("intel-driver", step)], "intel-driver", platform__kind="wsl2")
    assert made.refusals and "kernel" in made.refusals[0].title


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"step": [{"do": "apt.instal", "title": "t", "why": "w", "layer": "framework"}]}, r"step\[0\].do: 'apt.instal'.*did you mean"),
        ({"step": [{"do": "person", "why": "w", "layer": "framework"}]}, r"step\[0\].title: expected a text"),
        ({"name": "cudaa"}, "name: 'cudaa'.*did you mean 'cuda'"),
        ({"applies": {"fact": "os.id"}}, "applies"),
        ({"stepp": []}, "stepp: unknown key.*did you mean 'step'"),
        ({"gate": [{"holds": {"all": []}, "title": "t"}]}, r"gate\[0\].advice: is missing"),
    ],
)
def test_a_mistake_in_a_recipe_is_told_with_file_and_key(change: dict[str, Any], said: str):
    table = {"id": "cpu", "name": "cpu", "title": "t", "platform": "p", "applies": ALWAYS, "step": [], "source": SOURCE}
    with pytest.raises(DataError, match=rf"cpu/x\.toml: {said}"):
        recipe_from({**table, **change}, "cpu/x.toml", ITEMS)
