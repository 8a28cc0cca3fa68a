"""Views of a fleet for tests of its formats: one with something of everything, and one whose words attack every format."""

from __future__ import annotations

from fleet_rows import RUN, finding, measured, row, rows, verdict, view

from gpudoctor.model.fleet_row import RowFinding
from gpudoctor.model.fleet_view import FleetView

ATTACK = 'x\x1b[31m"\'`$(touch /tmp/owned)`;\nrow{a="b"} 1 </td><script>window.canary=1</script>\u202e & | % \\'


def broken(title: str = "No driver is loaded", identity: str = "no-driver", do: str = "sudo apt install nvidia-driver") -> RowFinding:
    return RowFinding(id=identity, key=identity, severity="error", confidence="certain", layer="kernel-driver", title=title, do=do)


def full() -> FleetView:
    """Twelve good hosts; an odd one; a broken one, one that failed DCGM, a silent one, one without an answer; a slow card; a drift."""

    def speeds(slow: bool) -> list[object]:
        return [measured(70.0 if slow else 100.0 + number, number, samples=(70.0, 70.1) if slow else ()) for number in range(2)]

    now = [row(f"gpu{number:02}", measurements=speeds(number == 3)) for number in range(12)]
    now += [row("gpu12", values={"nvidia.driver.version": "535.1"}, findings=(finding("driver-old", "warning"),))]
    now += [row("gpu13", findings=(broken(),)), row("gpu14", verdicts=(verdict("Memory", "fail", "DBE on GPU 3"),))]
    now += [row("gpu15", failed="ssh: connection refused")]
    before = [row(each.host, run="run-1", values={"nvidia.driver.version": "525.0"}) for each in now[:4]]
    earlier = [[row(each.host, run="run-1", measurements=each.measurements) for each in now[:12]]]
    return view(now, expected=[*(each.host for each in now), "gpu16"], earlier=earlier, since=("2026-11-17 00:00 UTC", before))


def hostile() -> FleetView:
    """ATTACK wherever a host can write a text."""
    bad = RowFinding(id="bad", key="bad", severity="error", confidence="certain", layer=ATTACK, title=ATTACK, subjects=(ATTACK,), do=ATTACK)
    slow = [row(f"h{number:02}", measurements=[measured(100.0 + number / 10, 0, ATTACK)]) for number in range(12)]
    slow += [row("h12", measurements=[measured(50.0, 0, ATTACK)])]
    now = [
        *slow, row("hostile-a", findings=(bad,), values={ATTACK: ATTACK, "kernel.release": ATTACK}, labels={"role": ATTACK}, tool=f"gpudoctor {ATTACK}"),
        row("hostile-b", verdicts=(verdict(ATTACK, "fail", ATTACK),)), row("hostile-c", failed=ATTACK),
    ]  # fmt: skip
    return view(now, refused={ATTACK: ATTACK}, since=("run x", [row("hostile-b", run="x", values={"kernel.release": ATTACK})]))


def good() -> FleetView:
    return view(rows(3))


__all__ = ["ATTACK", "RUN", "broken", "full", "good", "hostile"]
