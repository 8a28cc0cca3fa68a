from msgspec.structs import replace

from gpudoctor.diagnosis.diagnose import diagnose, in_reading_order
from gpudoctor.diagnosis.ladders import demote_unused, first_broken, ladder, used_stacks
from gpudoctor.knowledge.structure import check_from, stack_from
from gpudoctor.model.check import Stack
from gpudoctor.model.condition import ALWAYS
from gpudoctor.model.facts import Absent, Facts, Known, Unknown
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


def test_a_fault_of_a_device_concerns_the_stacks_that_support_its_maker():
    check = make("stopped", for_each="gpus", stacks=["torch-cuda", "torch-xpu", "opencl"], problem={"fact": "gpu.stopped", "is": True})
    makers = {"torch-cuda": ("nvidia",), "torch-xpu": ("intel",)}

    def stacks(vendor):
        known = facts(gpus=[{"name": "a card", "stopped": True, **({"vendor": vendor} if vendor else {})}])
        return diagnose([check], known, makers=makers)[0][0].stacks

    assert stacks("intel") == ("torch-xpu", "opencl") and stacks("nvidia") == ("torch-cuda", "opencl")
    assert stacks(None) == ("torch-cuda", "torch-xpu", "opencl")


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


def test_a_value_that_no_command_takes_is_named():
    check = make("a", advice={"do": "Install it.", "steps": ["pip install {said.name}", "pip check"]})

    def advice(value):
        return diagnose([check], facts(**({"said.name": value} if value else {})))[0][0].advice

    assert advice("torch").text == advice(None).text == "Install it."
    assert advice("-mtune").text == ("Install it. The command with the value '-mtune' is left out: a program would read it as an option.")
    assert advice("-mtune").commands == ("pip check",)
    assert advice("a; b").text.endswith("'a; b' is left out: it is no single plain word.")
    hidden = make("a", advice={"do": "Do.", "steps": [{"run": "x {said.name}", "when": {"fact": "os.id", "is": "arch"}}]})
    assert diagnose([hidden], facts(**{"said.name": "-x"}))[0][0].advice.text == "Do.", "its condition does not hold"


FAILED = {"framework": "torch", "message": "[WinError 127] The specified procedure could not be found."}


def failing(**given):
    return check_from(
        {"id": "general", "title": "general", "severity": "error", "layer": "framework", "stacks": ["torch-xpu"], "explanation": "why",
         "for_each": "failures", "at_most": "likely", "problem": {"fact": "failure.framework", "present": True}, "advice": {"do": "do"},
         **given}, "x/general.toml", "x", {"failures": "failure"},
    )  # fmt: skip


def named(check, quote, exact=None, failures=(FAILED,)):
    exact = exact or make("exact", **SAID)
    hits = {"exact": [Hit(line=3, quote=quote, strength=20, role=FAILURE)]}
    found = diagnose([check, exact], facts(failures=list(failures)), hits=hits)[0]
    return sorted(finding.id for finding in found)


def test_a_general_check_of_failures_leaves_the_word_to_the_one_that_names_the_message():
    line = f"OSError: {FAILED['message']}"
    assert named(failing(), line) == ["exact"]
    assert named(failing(), "RuntimeError: of something else") == ["exact", "general"]
    assert named(failing(), "") == named(failing(), "OSError") == ["exact", "general"], "too short to be known again"
    assert named(failing(at_most="certain"), line) == ["exact", "general"], "it names a cause itself"
    assert named(failing(), line, make("exact", severity="info", **SAID)) == ["exact", "general"], "a hint names no cause"
    other = {"framework": "jax", "message": "libtpu is not built for this machine"}
    assert named(failing(), line, failures=(FAILED, other)) == ["exact", "general"], "one of its failures nobody else names"


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


def found_of(check, known=None, hits=None):
    (finding,) = diagnose([check], known or facts(), hits=hits)[0]
    return finding


def test_a_finding_carries_all_that_its_check_says_filled_in():
    check = make(
        "a", title="{os.id} is old", explanation="It is {os.id}.", ask="How old is {os.id}?", look="cat /etc/{os.id}",
        advice={"do": "Leave {os.id}.", "steps": ["dnf up"], "env": {"A": "{os.id}", "B": "{never}"}, "recipe": "cpu", "needs_reboot": True,
                "otherwise": ["Stay on {os.id}."]},
    )  # fmt: skip
    finding = found_of(check, facts(**{"os.id": "fedora"}))
    assert (finding.title, finding.explanation, finding.ask, finding.look) == (
        "fedora is old", "It is fedora.", "How old is fedora?", "cat /etc/fedora",
    )  # fmt: skip
    assert (finding.severity, finding.layer, finding.stacks, finding.subjects) == ("error", "framework", ("torch-xpu",), ("framework",))
    advice = finding.advice
    assert (advice.text, advice.commands, dict(advice.env)) == ("Leave fedora.", ("dnf up",), {"A": "fedora"})
    assert (advice.recipe, advice.needs_reboot, advice.otherwise, advice.windows) == ("cpu", True, ("Stay on fedora.",), False)
    assert found_of(check, facts(**{"platform.kind": "windows"})).advice.windows


def test_evidence_is_what_the_text_says_and_then_the_facts_with_their_source():
    check = make(
        "a", signature=SAID["signature"], applies={"fact": "os.id", "is": "fedora"},
        problem={"all": [{"fact": "bad", "is": True}, {"fact": "gone", "absent": True}, {"fact": "empty", "is": ""}]},
    )  # fmt: skip
    known = Facts({"bad": Known(True, "lspci"), "gone": Absent(), "empty": Known(""), "os.id": Known("fedora")})
    said = [Hit(line=line, quote=f"device is lost {line}", strength=20, source="log") for line in (1, 2, 3, 4)]
    finding = found_of(check, known, {"a": said})
    assert finding.evidence == (
        f"{said[0].place}: device is lost 1", f"{said[1].place}: device is lost 2", f"{said[2].place}: device is lost 3",
        "bad: yes (lspci)", "os.id: fedora",
    )  # fmt: skip
    assert (finding.said_at, finding.strength, finding.confirmed) == ((1, 2, 3, 4), 20, 5)


def test_what_a_machine_said_has_no_line():
    assert found_of(make("a", **SAID), hits={"a": [hit(line=0), hit(line=1), hit(line=2)]}).said_at == (1, 2)


def test_one_finding_of_several_items_names_all_of_them_once():
    check = make(
        "closed", for_each="gpus", problem={"fact": "gpu.access", "is": False}, stacks=["torch-xpu", "opencl"],
        advice={"do": "do", "steps": ["chmod {gpu.node}", "reboot"]}, subject="",
    )  # fmt: skip
    gpus = [{"address": str(number), "name": name, "access": False, "node": f"/dev/{number}", "stacks": [stack]}
            for number, name, stack in ((1, "A770", "opencl"), (2, "A770", "torch-xpu"), (3, "B580", "opencl"))]  # fmt: skip
    finding = found_of(check, facts(gpus=gpus))
    assert (finding.title, finding.subjects, finding.stacks) == ("closed A770 (and 2 more)", ("1", "2", "3"), ("opencl", "torch-xpu"))
    assert finding.advice.commands == ("chmod /dev/1", "reboot", "chmod /dev/2", "chmod /dev/3")
    assert finding.evidence == ("gpu.access: no",)
    assert found_of(check, facts(gpus=gpus[:2])).title == "closed A770", "all are called alike"
    twice = [gpus[0], {**gpus[2], "address": "1"}]
    assert found_of(check, facts(gpus=twice)).title == "closed A770 (and 1 more)", "one subject with two troubles"
    assert found_of(check, facts(gpus=gpus[:1])).key == found_of(check, facts(gpus=[{**gpus[0], "name": "x"}])).key
    assert found_of(check, facts(gpus=gpus[:1])).key != found_of(check, facts(gpus=gpus[1:2])).key


def test_an_item_is_named_by_the_first_of_its_names_that_it_has():
    check = make("closed", for_each="gpus", problem={"fact": "gpu.access", "is": False})
    items = [{"address": "", "id": "i", "name": "n"}, {"name": "n", "file": "f"}, {"file": "f", "path": "p"}, {"path": "p"}, {}, "odd"]
    gpus = [{**item, "access": False} if isinstance(item, dict) else item for item in items]
    assert found_of(check, facts(gpus=gpus)).subjects == ("i", "n", "f", "p", "?")
    assert found_of(make("a", subject="{os.id}"), facts(**{"os.id": "arch"})).subjects == ("arch",)


def outcome(check, known, said=()):
    return {trace.outcome for trace in diagnose([check], Facts(known), hits={"a": list(said)} if said else None)[1]}


YES, NO = Known(True), Known(False)


def test_the_outcome_of_a_check_of_facts():
    check = make("a", applies={"fact": "here", "is": True}, suspect={"fact": "odd", "is": True})
    assert outcome(check, {"here": NO, "bad": YES}) == {"not-applicable"}
    assert outcome(check, {"bad": YES}) == {"undetermined"}
    assert outcome(check, {"here": YES, "bad": YES}) == {"problem"}
    assert outcome(check, {"here": YES, "bad": NO, "odd": YES}) == {"problem"}
    assert outcome(check, {"here": YES, "bad": NO, "odd": NO}) == {"ok"}
    assert outcome(check, {"here": YES, "odd": NO}) == {"undetermined"}


def test_the_outcome_of_a_check_with_a_message():
    given = {"signature": SAID["signature"], "applies": {"fact": "here", "is": True}, "suspect": {"fact": "odd", "is": True}}
    quiet, eager = make("a", **given), make("a", proactive=True, **given)
    sure = {"here": YES, "bad": YES}
    assert (outcome(quiet, sure), outcome(eager, sure)) == ({"undetermined"}, {"problem"}), "without the message"
    assert outcome(quiet, {"here": YES, "bad": NO}) == {"ok"}
    assert outcome(quiet, {}, [hit()]) == {"problem"}, "the message alone"
    assert outcome(quiet, {"here": NO, "bad": YES}, [hit()]) == {"not-applicable"}
    assert outcome(quiet, {"here": YES, "bad": NO}, [hit()]) == {"ok"}
    assert outcome(quiet, {"here": YES, "bad": NO, "odd": YES}, [hit()]) == {"problem"}


def test_what_a_message_captured_is_a_fact_and_its_trace_quotes_it():
    check = make("a", title="{said.code}", **SAID)
    said = Hit(line=3, quote="device is lost: 77", strength=20, captures={"code": "77"})
    found, (trace,) = diagnose([check], facts(), hits={"a": [said]})
    assert found[0].title == "77"
    assert (trace.said.truth, trace.said.seen, trace.said.source) == ("true", "device is lost: 77", said.place)
    silent = diagnose([check], facts())[1][0].said
    assert (silent.truth, silent.text, silent.seen) == ("unknown", "a text shows its message", "not in the text")


def test_a_message_counts_where_the_text_names_no_card_and_each_card_where_it_does():
    check = make("a", for_each="gpus", signature=SAID["signature"], problem={"fact": "gpu.bad", "is": True})
    assert found_of(check, Facts({}), {"a": [hit()]}).subjects == ("framework",)
    gpus = [{"name": "x", "bad": True}, {"name": "y", "bad": False}]
    assert found_of(check, facts(gpus=gpus), {"a": [hit()]}).subjects == ("x",)
    assert diagnose([check], facts(gpus=[]))[1] == []


def test_the_trace_of_a_collection_that_is_not_known_says_so():
    check = make("closed", for_each="gpus", problem={"fact": "gpu.access", "is": False})
    (trace,) = diagnose([check], Facts({"gpus": Unknown("timeout")}))[1]
    assert (trace.check, trace.subject, trace.problem) == ("closed", "gpus", None)
    assert (trace.applies.truth, trace.applies.text, trace.applies.seen) == ("unknown", "gpus is known", "unknown: timeout")


def test_a_fact_beside_prose_makes_likely_what_alone_is_possible():
    prose = make("a", signature=SAID["signature"])
    assert (confidence(prose, "prose"), confidence(prose, "prose", Facts({"bad": Unknown()}))) == ("likely", "possible")
    common = Hit(line=1, quote="out of memory", strength=9, role=FAILURE, distinct=False)
    assert found_of(prose, Facts({"bad": Unknown()}), {"a": [common]}).confidence == "possible"
    assert found_of(prose, Facts({"bad": Unknown()}), {"a": [common, hit(line=2)]}).confidence == "likely"


def test_a_check_is_silenced_only_where_each_of_its_lines_says_something_more_specific():
    checks = [make(name, **SAID) for name in ("general", "exact", "other")]
    lines = {"general": [hit(1, strength=5), hit(2, strength=5)], "exact": [hit(1, strength=9)], "other": [hit(2, strength=8)]}
    traces = {trace.check: trace.silenced_by for trace in diagnose(checks, facts(), hits=lines)[1]}
    assert traces == {"general": "exact", "exact": None, "other": None}
    lines["general"].append(hit(3, strength=5))
    assert {trace.silenced_by for trace in diagnose(checks, facts(), hits=lines)[1]} == {None}


def test_what_facts_confirm_is_more_specific_than_a_longer_message():
    checks = [make("sure", signature=SAID["signature"]), make("long", **SAID)]
    found = diagnose(checks, facts(), hits={"sure": [hit(strength=5)], "long": [hit(strength=50)]})[0]
    assert [finding.id for finding in found] == ["sure"]


def test_a_fallback_neither_silences_by_a_line_nor_is_silenced_by_one_of_another_stack():
    checks = [make("last", fallback=True, **SAID), make("exact", stacks=["opencl"], **SAID)]
    found = diagnose(checks, facts(), hits={"last": [hit(strength=50)], "exact": [hit(strength=5)]})[0]
    assert {finding.id for finding in found} == {"last", "exact"}


def test_the_order_of_reading():
    def ranked(*changes):
        base = found_of(make("base"))
        return [each.id for each in in_reading_order([replace(base, **change) for change in changes], frozenset({"torch-xpu"}))]

    low, high = {"layer": "kernel-driver"}, {"layer": "visible"}
    assert ranked({"id": "a", "confidence": "possible", **low}, {"id": "b", **high}) == ["b", "a"]
    assert ranked({"id": "a", "severity": "info"}, {"id": "b", "severity": "warning"}) == ["b", "a"]
    assert ranked({"id": "a", **low}, {"id": "b", "severity": "warning", "said_at": (1,)}) == ["b", "a"], "what the text shows"
    assert ranked({"id": "a", "stacks": ("opencl",), **low}, {"id": "b", **high}) == ["b", "a"], "the stack in use"
    assert ranked({"id": "a", "confidence": "likely", **low}, {"id": "b", **high}) == ["b", "a"]
    assert ranked({"id": "a", **high}, {"id": "b", **low}) == ["b", "a"]
    assert ranked({"id": "a", "severity": "info", **high}, {"id": "b", "severity": "info", **low}) == ["a", "b"], "hints by their id"
    assert ranked({"id": "a", "strength": 5}, {"id": "b", "strength": 6}) == ["b", "a"]
    assert ranked({"id": "a", "confirmed": 1}, {"id": "b", "confirmed": 2}) == ["b", "a"]
    assert ranked({"id": "b"}, {"id": "a"}) == ["a", "b"]


def test_what_is_only_a_hint_follows_from_nothing_and_a_cause_is_below():
    checks = [make("kernel", layer="kernel-driver"), make("hint", layer="visible", severity="info"), make("wheel")]
    found = {finding.id: finding.caused_by for finding in diagnose(checks, facts())[0]}
    assert found == {"kernel": None, "hint": None, "wheel": None}
    above = [make("slow", layer="performance"), make("unseen", layer="visible")]
    linked = {finding.id: finding.caused_by for finding in diagnose(above, facts())[0]}
    assert linked["unseen"] is None and linked["slow"].startswith("unseen-")


def test_a_finding_of_several_items_is_confirmed_as_often_as_the_best_of_them():
    condition = {"any": [{"fact": "gpu.a", "is": 1}, {"fact": "gpu.b", "is": 1}]}
    check = make("a", for_each="gpus", problem=condition)
    once, twice = {"name": "x", "a": 1, "b": 0}, {"name": "x", "a": 1, "b": 1}
    alone = [found_of(check, facts(gpus=[gpu])).confirmed for gpu in (once, twice)]
    assert alone[0] < alone[1] == found_of(check, facts(gpus=[once, twice])).confirmed
    assert found_of(make("a")).strength == 0, "no message"
