import time

from gpudoctor.facts import vocabulary
from gpudoctor.facts.collect import gather
from gpudoctor.facts.probes._probe import Probe
from gpudoctor.model.facts import Absent, FactSpec, Known, Unknown


class FakeHost:
    origin, platform, complete = "live", "linux", True

    def __init__(self, quick=False, left=1.0):
        self.quick, self.until = quick, time.monotonic() + left

    def remaining(self):
        return max(0.0, self.until - time.monotonic())


def probe(name, collect, **given):
    return Probe(name, (FactSpec(f"{name}.fact", "text", name),), collect, **given)


def run(monkeypatch, probes, host):
    monkeypatch.setattr(vocabulary, "all_probes", lambda: iter(probes))
    monkeypatch.setattr(vocabulary, "all_derivations", lambda: iter(()))
    return gather(host)


def gives(name, value):
    def collect(host, facts):
        yield f"{name}.fact", value

    return collect


def test_a_probe_that_crashes_leaves_a_gap_and_the_rest_goes_on(monkeypatch):
    def crash(host, facts):
        yield "a.fact", Known("half")
        raise KeyError("no")

    gathered = run(monkeypatch, [probe("a", crash), probe("b", gives("b", Absent()))], FakeHost())
    assert gathered.facts.get("a.fact") == Known("half")
    assert gathered.facts.get("b.fact") == Absent()
    assert gathered.incidents == ["a: KeyError: 'no'"]


def test_a_slow_probe_that_outlives_the_budget_is_unknown_and_is_named(monkeypatch):
    def hang(host, facts):
        time.sleep(20)
        yield "slow.fact", Known("late")

    began = time.monotonic()
    gathered = run(monkeypatch, [probe("slow", hang, slow=True), probe("b", gives("b", Known(1)))], FakeHost(left=0.2))
    assert time.monotonic() - began < 2.2
    assert gathered.facts.get("slow.fact") == Unknown("out of time")
    assert gathered.facts.get("b.fact") == Known(1)
    assert gathered.incidents == ["slow: out of time"]


def test_quick_leaves_slow_probes_out(monkeypatch):
    gathered = run(monkeypatch, [probe("slow", gives("slow", Known(1)), slow=True)], FakeHost(quick=True))
    assert gathered.facts.get("slow.fact") == Unknown("not inspected")


def test_a_slow_probe_sees_what_was_known_when_it_started(monkeypatch):
    def reads(host, facts):
        yield "slow.fact", facts.get("a.fact")

    gathered = run(monkeypatch, [probe("a", gives("a", Known("x"))), probe("slow", reads, slow=True)], FakeHost())
    assert gathered.facts.get("slow.fact") == Known("x")


def test_the_real_vocabulary_is_consistent():
    names = [spec.name for each in vocabulary.all_probes() for spec in each.provides]
    assert len(names) == len(set(names)), sorted(name for name in set(names) if names.count(name) > 1)
    for spec in vocabulary.specs().values():
        assert spec.kind in ("bool", "int", "float", "text", "list", "version", "dotted", "records", "map"), spec
        assert (spec.kind == "records") == bool(spec.item), spec
        assert spec.meaning
