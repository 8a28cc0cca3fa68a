"""The first screen of `setup`: what would be done, in which order, why, what it changes, and how to continue."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.model.plan import DONE, IMPOSSIBLE, TODO, Act, Command, FileChange, Plan, PlannedStep, Word
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.layout import Line, Span, Terminal, hanging, joined, wrapped
from gpudoctor.reporters.shared.shell_text import Unwritable, typed

LABEL = 8
"""The width in columns of labels such as 'why' and 'changes'."""
_RESTARTS = {"login": "then log in again", "reboot": "then reboot", "wsl": "then restart WSL"}
_NEEDED = {"login": "a new login", "reboot": "a reboot", "wsl": "a restart of WSL"}


def render(plan: Plan, terminal: Terminal | None = None, *, verbose: bool = False, command: str = "", asks: bool = False) -> str:
    """The whole screen. `verbose`: with every command and file. `command`: the command line that would apply the plan. `asks`: a
    question whether to apply it follows, so that no command needs to be shown."""
    terminal = terminal or Terminal()
    width = min(max(terminal.width, 40), 100)
    parts = [list(_head(plan, width)), list(_first(plan, width)), *_steps(plan, width, verbose), list(_after(plan, width, verbose))]
    if not asks or plan.refusals or not plan.todo:
        parts.append(list(_tail(plan, width, command or f"gpudoctor setup {plan.name}", verbose)))
    lines = [line for part in parts if part for line in (*part, ())]
    return terminal.draw(lines[:-1])


def _head(plan: Plan, width: int) -> Iterator[Line]:
    yield from hanging((), plan.title or plan.name, width, style="bold")
    yield from hanging((Span("for  ", "dim"),), plan.machine, width)
    if plan.env:
        yield from hanging((Span("into ", "dim"),), plan.env, width)
    yield from ((Span(text),) for text in joined(_sums(plan), width))


def _sums(plan: Plan) -> Iterator[str]:
    """The totals of a plan: its steps, those as root and by hand, restarts and disk space."""
    if plan.refusals or not plan.steps:
        return
    todo = plan.todo
    done = sum(step.state == DONE for step in plan.steps)
    if not todo:
        yield "nothing to do: every step is already done" if done == len(plan.steps) else "nothing can be done"
        return
    yield f"{len(todo)} step{'s' * (len(todo) != 1)} to do" + (f", {done} already done" if done else "")
    roots = sum(step.root for step in todo)
    yield f"{roots} of them as root" if roots else "no root"
    by_hand = sum(step.kind == "person" for step in todo)
    if by_hand:
        yield f"{by_hand} of them manual"
    restarts = list(dict.fromkeys(_NEEDED[step.restart] for step in todo if step.restart in _NEEDED))
    yield " and ".join(restarts) if restarts else "no restart"
    if plan.disk_gb:
        yield f"about {plan.disk_gb:.1f} GB of disk".replace(".0 GB", " GB")


def _first(plan: Plan, width: int) -> Iterator[Line]:
    """The lines to read before the steps."""
    for refusal in plan.refusals:
        yield from hanging((Span("Refused: ", "bad"),), refusal.title, width, style="bold")
        yield from hanging((Span("   do    ", "good"),), refusal.advice, width)
    if plan.archived:
        yield from hanging((Span("Archived: ", "warn"),), plan.archived, width)
    for text in plan.warnings:
        yield from hanging((Span("Warning: ", "warn"),), text, width)


def _steps(plan: Plan, width: int, verbose: bool) -> Iterator[list[Line]]:
    if not plan.steps:
        return
    number = len(str(plan.steps[-1].number))
    queue = list(plan.steps)
    lines: list[Line] = []
    if plan.refusals:
        lines.append((Span("The plan without this problem:", "dim"),))
    while queue:
        step = queue.pop(0)
        if step.state != DONE:
            yield [*lines, *_step(step, number, width, verbose)]
            lines = []
            continue
        group = [step]
        while not verbose and queue and queue[0].state == DONE:
            group.append(queue.pop(0))
        yield [*lines, *_done(group, number, width)]
        lines = []


def _done(group: list[PlannedStep], number: int, width: int) -> list[Line]:
    label = f"{group[0].number}" if len(group) == 1 else f"{group[0].number}-{group[-1].number}"
    first = (Span(f"{label:<{number}}  ", "dim"), Span("done    ", "good"))
    return hanging(first, "; ".join(f"{step.title} ({step.note})" if step.note else step.title for step in group), width, style="dim")


def _step(step: PlannedStep, number: int, width: int, verbose: bool) -> Iterator[Line]:
    margin = Span(" " * (number + 2))
    cannot = step.state == IMPOSSIBLE
    head = (Span(f"{step.number:<{number}}  ", "bad" if cannot else "good"), *((Span("cannot  ", "bad"),) if cannot else ()))
    yield from hanging(head, step.title, width, style="bold", last="" if cannot else marks(step))
    if cannot:
        yield from hanging((margin, _label("reason")), step.note, width)
        return
    if step.why:
        yield from hanging((margin, _label("why")), step.why, width)
    if step.note:
        yield from hanging((margin, _label("note")), step.note, width)
    texts = [act.text for act in step.acts if isinstance(act, Word)]
    if step.changes and not set(step.changes) <= set(texts):
        yield from hanging((margin, _label("changes")), "; ".join(step.changes), width)
    if not verbose and texts:
        label = Span(f"{'do':<{LABEL}}", "good" if step.kind == "person" else "dim")
        for text in texts:
            if text.startswith("$ "):
                yield margin, label, Span(visible(text), "command")  # one line: to be copied
            else:
                yield from hanging((margin, label), text, width)
            label = _label("")
        return
    if not verbose:
        text = main_act(step)
        if text:
            yield margin, _label("by"), Span(_cut(text, max(width - number - 2 - LABEL, 20)), "dim")
        return
    label = _label("by")
    for act in step.acts:
        for line in _act(act):
            yield margin, label, line
            label = _label("")


def _label(text: str) -> Span:
    return Span(f"{text:<{LABEL}}", "dim")


def marks(step: PlannedStep) -> str:
    """The marks of a step, such as 'root · then reboot'."""
    who = "by you" if step.kind == "person" else "root" if step.root else ""
    return " · ".join(part for part in (who, _RESTARTS.get(step.restart, "")) if part)


def _typed(command: Command) -> str:
    try:
        return typed(command)
    except Unwritable as error:
        return f"({error})"


def main_act(step: PlannedStep) -> str:
    """The most informative act of a step, on one line and shortened: a command, else a file."""
    commands = [act for act in step.acts if isinstance(act, Command)]
    telling = [act for act in commands if act.argv[:2] != ("apt-get", "update") and act.argv[:1] not in (("mkdir",), ("chmod",))]
    files = [act for act in step.acts if isinstance(act, FileChange)]
    if telling or (commands and not files):
        return _short((telling or commands)[0])
    return next(_act(files[0])).text if files else ""


def _short(command: Command) -> str:
    """The command without variables, folders of programs, and options that only make it quiet; -v shows it in full."""
    words: list[str] = []
    rest = list(command.argv)
    while rest:
        text = rest.pop(0)
        if text == "-o" and rest and words[:1] == ["apt-get"]:
            rest.pop(0)
        elif text not in ("-y", "-q", "-qq", "--no-install-recommends", "--disable-pip-version-check", "--no-input"):
            words.append(text if words else text.rsplit("/", 1)[-1])
    return _typed(Command(argv=tuple(words), root=command.root))


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"


def _act(act: Act) -> Iterator[Span]:
    """The exact act; commands can be copied."""
    if isinstance(act, Command):
        yield Span(f"$ {_typed(act)}", "command")
    elif isinstance(act, FileChange):
        who = " as root" if act.root else ""
        if act.fetched_from:
            yield Span(f"fetch {visible(act.fetched_from)}")
            pin = f"key {act.fingerprint}" if act.fingerprint else f"SHA-256 {act.sha256}" if act.sha256 else "not verified"
            yield Span(f"only with {visible(pin)}")
            yield Span(f"to {visible(act.path)} ({act.mode:04o}){who}")
        else:
            yield Span(f"write {visible(act.path)} ({act.mode:04o}){who}")
            yield from (Span(f"| {visible(line)}", "dim") for line in act.content.splitlines())
    else:
        yield from (Span(text) for text in wrapped(act.text, 80))


def _after(plan: Plan, width: int, verbose: bool) -> Iterator[Line]:
    for text in plan.remarks:
        yield from hanging((Span("Note: ", "dim"),), text, width)
    if verbose:
        for name, texts in (("Fixes: ", plan.mends), ("Sources: ", plan.sources)):
            if texts:
                yield from hanging((Span(name, "dim"),), "  ".join(texts), width, style="dim")


def _tail(plan: Plan, width: int, command: str, verbose: bool) -> Iterator[Line]:
    shown = " ".join(visible(command).split())
    if plan.refusals or any(step.state == IMPOSSIBLE for step in plan.steps):
        yield (Span("Nothing is changed until this is fixed.", "bad"),)
        return
    if not any(step.state == TODO for step in plan.steps):
        check = f"gpudoctor check --stack {visible(plan.stack)}" if plan.stack else "gpudoctor check"
        yield Span("Next: "), Span(check, "command")
        return
    yield from _next("To apply it, after one question:", shown, width)
    yield from _next("To undo it later:", "gpudoctor setup --undo", width)
    if not verbose:
        yield from _next("For each command and file:", f"{shown} --plan -v", width)


def _next(lead: str, command: str, width: int) -> Iterator[Line]:
    if 34 + len(command) <= width:
        yield Span(f"{lead:<34}"), Span(command, "command")
    else:
        yield (Span(lead),)
        yield (Span(f"  {command}", "command"),)
