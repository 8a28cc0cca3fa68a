"""A plan as an Ansible playbook (ansible-core 2.16 or newer) that uses modules of ansible.builtin only.

Where a module or the output of a program shows whether something changed, the playbook reports it; other commands always count as a change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from gpudoctor.model.plan import DONE, Command, FileChange, Plan, PlannedStep, Word
from gpudoctor.reporters.plan import plan_acts as acts
from gpudoctor.reporters.plan import plan_base as base
from gpudoctor.reporters.shared.escape import visible
from gpudoctor.reporters.shared.shell_text import Unwritable, comment, typed

Task = dict[str, Any]
_FOLLOW_UPS = frozenset({"file", "edit", "udev.rule", "modprobe", "apt.repository"})
"""Kinds whose commands are needed only where one of their files changed."""
_PRIMARY = "'(?m)^pub:[^\\n]*\\n(?:(?!fpr:|pub:)[^\\n]*\\n)*fpr:::::::::([0-9A-F]+):'"


class JinjaText(Struct, frozen=True):
    """A Jinja expression of ours; every other text is data and is never evaluated as a template."""

    text: str


_HOSTS = JinjaText("{{ target | default('localhost') }}")


class _Play(Struct):
    tasks: list[tuple[list[str], list[Task]]] = field(default_factory=list)
    """Pairs of comments and the tasks below them."""
    since: list[str] = field(default_factory=list)
    """Results that were registered since the last restart."""
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"act_{self.count}"


def render(plan: Plan, *, version: str, date: str) -> str:
    """The whole playbook. `version` of gpudoctor and `date` (YYYY-MM-DD) stand in its head. Raises shell_text.Unwritable."""
    play = _Play()
    obstacles = acts.obstacles(plan)
    if obstacles:
        play.tasks.append((["# Nothing is done, for this reason."], [_fail("This plan was refused", " ".join(obstacles))]))
    else:
        play.tasks += _base(plan)
        for step in plan.steps:
            play.tasks.append((list(_said(step)), list(_step(plan, step, play))))
        play.tasks += _verified(plan)
    lines = [
        *_head(plan, version, date),
        "---",
        f"- name: {scalar(_label(f'Set up {plan.name}: {plan.title}'))}",
        f"  hosts: {scalar(_HOSTS)}",
        "  gather_facts: false",
        "  tasks:",
    ]
    for comments, tasks in play.tasks:
        lines += ["", *(f"    {text}" for text in comments)]
        for task in tasks:
            lines += _item(task, 4)
    if not any(tasks for _, tasks in play.tasks):
        lines += _item({"name": "Nothing is left to do", "ansible.builtin.meta": "noop"}, 4)
    return "\n".join([*lines, ""])


def _head(plan: Plan, version: str, date: str) -> Iterator[str]:
    yield "# yamllint disable rule:line-length"
    yield comment(plan.title, f"gpudoctor setup {plan.name or '?'}")
    yield comment(plan.machine, "planned for")
    yield comment(f"by gpudoctor {version} on {date} from the recipe {plan.recipe}; read it before you run it", "generated")
    yield "# here:    ansible-playbook -i localhost, -c local FILE"
    yield "# others:  ansible-playbook -i HOSTS -e target=GROUP FILE    (machines like the one it was planned for)"
    yield from (comment(text, word) for word, text in acts.to_be_told(plan))


def _base(plan: Plan) -> Iterator[tuple[list[str], list[Task]]]:
    wanted = base.base(plan, lambda step: step.state != DONE and not acts.is_person(step), lambda command: command)
    if wanted.packages and wanted.install[0] == "apt-get":
        installed = _apt(acts.Apt("install", wanted.packages, False))
        yield ["# What a minimal system lacks."], [{"name": "What the steps need", **installed, "become": True}]
    elif wanted.packages:
        module = {"dnf": "ansible.builtin.dnf", "pacman": "ansible.builtin.package"}[wanted.install[0]]
        yield ["# What a minimal system lacks."], [{"name": "What the steps need", module: {"name": list(wanted.packages)}, "become": True}]
    if wanted.uv:
        made = (f"{base.UV_FOLDER}/bin/python", f"{base.UV_FOLDER}/bin/uv", "/usr/local/bin/uv")
        tasks = [{"name": f"Install uv ({at})", "ansible.builtin.command": {"argv": list(command.argv), "creates": path}, "become": True}
                 for at, (command, path) in enumerate(zip(base.uv_steps(), made, strict=True), 1)]  # fmt: skip
        yield ["# uv fetches a Python that this system does not have."], tasks


def _verified(plan: Plan) -> Iterator[tuple[list[str], list[Task]]]:
    checked = base.verification(plan)
    if checked:
        tasks = []
        for name, command in (("What was installed works", checked.build), ("It computes on a device", checked.device)):
            task: Task = {"name": name, "ansible.builtin.command": {"argv": list(command.argv), "expand_argument_vars": False}}
            tasks.append({**task, **({"environment": dict(command.env)} if command.env else {}), "changed_when": False})
        yield ["# Verification"], tasks


def _groups(step: PlannedStep, joined: str, play: _Play) -> Iterator[Task]:
    """The tasks that add the connecting user to groups; root can open every device already."""
    label, result = _label(f"{step.number}. {step.title}"), play.name()
    play.since.append(result)
    user, asked = JinjaText("{{ ansible_facts.user_id }}"), ["!all", "!min", "user"]
    yield {"name": f"{label}: who that is", "ansible.builtin.setup": {"gather_subset": asked}}
    yield {
        "name": label, "ansible.builtin.user": {"name": user, "groups": joined.split(","), "append": True},
        "when": JinjaText("ansible_facts.user_id != 'root'"), "become": True, "register": result,
    }  # fmt: skip


def _unless_there(tasks: list[Task], url: str, own: str, label: str, result: str) -> Iterator[Task]:
    """The tasks of a repository, skipped where another file has the same one: apt refuses it twice."""
    places = ["/etc/apt/sources.list", "/etc/apt/sources.list.d"]
    looked = ["grep", "-rqsF", f"--exclude={own.rsplit('/', 1)[-1]}", "-e", url.rstrip("/"), *places]
    yield {
        "name": f"{label}: is it there already?", "ansible.builtin.command": {"argv": looked, "expand_argument_vars": False},
        "register": result, "changed_when": False, "failed_when": False,
    }  # fmt: skip
    for task in tasks:
        more = f" and ({task['when'].text})" if "when" in task else ""
        yield {**task, "when": JinjaText(f"{result}.rc != 0{more}")}


def _said(step: PlannedStep) -> Iterator[str]:
    yield comment(f"{step.number}. {step.title}")
    if step.state == DONE:
        yield comment(step.note or "it is so on the planned machine", "done already")
    else:
        yield comment(step.why, "why")
        yield from (comment(text, "changes") for text in step.changes)
        if step.kind == "edit":
            yield "# note: the whole file as it was on the planned machine, with the change in it; look at it before it goes to others"


def _label(text: str) -> str:
    """The name of a task. Ansible evaluates names as templates, so braces are separated."""
    return re.sub(r"([{}%#])(?=[{}%#])", r"\1 ", " ".join(visible(text).split())) or "-"


def _step(plan: Plan, step: PlannedStep, play: _Play) -> Iterator[Task]:
    if step.state == DONE:
        return
    if acts.is_person(step):
        yield from _person(step, play)
        return
    joined, (url, _, path) = acts.groups_of(step), acts.own_repository(step)
    tasks = list(_groups(step, joined, play) if joined else _acts(plan, step, play))
    if url and re.fullmatch(r"[\w./+-]+", path):
        tasks = list(_unless_there(tasks, url, path, _label(f"{step.number}. {step.title}"), f"{play.name()}_there"))
    yield from tasks
    yield from _restart(step, play)


def _acts(plan: Plan, step: PlannedStep, play: _Play) -> Iterator[Task]:
    changed: list[str] = []
    for at, act in enumerate(step.acts, 1):
        label = _label(f"{step.number}. {step.title}" + (f" ({at})" if len(step.acts) > 1 else ""))
        if isinstance(act, Word):
            if not acts.restart_of(step):
                yield _confirmation(label, act.text, f"{step.number}-{at}")
            continue
        result = play.name()
        play.since.append(result)
        if isinstance(act, FileChange):
            changed.append(result)
            yield from _file(act, label, result)
        else:
            task = {"name": label, **_command(plan, step, act, result), "register": result}
            if changed and step.kind in _FOLLOW_UPS:
                task["when"] = JinjaText(_any_changed(changed))
            yield _rooted(task, act.root)


def _rooted(task: Task, root: bool) -> Task:
    return {**task, "become": True} if root else task


def _any_changed(results: list[str]) -> str:
    return " or ".join(f"{name} is changed" for name in results)


def _command(plan: Plan, step: PlannedStep, command: Command, result: str) -> Task:
    """The task for a command: a module for known programs, `command` for others."""
    known = acts.apt(command)
    if known:
        return _apt(known)
    argv = list(command.argv)
    name = argv[0].rsplit("/", 1)[-1] if argv else ""
    if not name:
        raise Unwritable("a command without a name")
    if name == "usermod" and len(argv) == 4 and argv[1] in ("-aG", "-a -G"):
        return {"ansible.builtin.user": {"name": argv[3], "groups": argv[2].split(","), "append": True}}
    if name == "mkdir" and len(argv) == 3 and argv[1] == "-p" and _literal_path(argv[2]):
        return {"ansible.builtin.file": {"path": argv[2], "state": "directory", "mode": "u+rwx"}}
    if any("\0" in text for text in argv):
        raise Unwritable("an argument holds a NUL character, which no command line can")
    bad = [variable for variable in command.env if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable)]
    if bad:
        raise Unwritable(f"{visible(bad[0])!r} is no name of a variable")
    task: Task = {"ansible.builtin.command": {"argv": argv, "expand_argument_vars": False}}
    python = acts.venv_python(plan, step)
    if python and _literal_path(python):
        task["ansible.builtin.command"]["creates"] = python
    if command.env:
        task["environment"] = dict(command.env)
    truth = _tells(argv, name, result)
    if truth or "creates" not in task["ansible.builtin.command"]:
        task["changed_when"] = JinjaText(truth) if truth else True
    return task


def _tells(argv: list[str], name: str, result: str) -> str:
    """The condition by which the output of a program shows a change; empty where it does not."""
    out, err = (f"({result}.{stream} | default(''))" for stream in ("stdout", "stderr"))
    if name == "apt-mark" and "hold" in argv[1:2]:
        return f"'set on hold.' in {out}"
    if name == "uv" and "pip" in argv[:3]:
        return f"'Installed ' in {err} or 'Uninstalled ' in {err}"
    if "pip" in argv[:4]:
        return f"'Successfully ' in {out}"
    return ""


def _apt(known: acts.Apt) -> Task:
    options: Task = {"lock_timeout": 600}
    if known.action == "update":
        return {"ansible.builtin.apt": {**options, "update_cache": True}}
    options["name"] = list(known.packages)
    if known.action == "install":
        options |= {"install_recommends": known.recommends, "update_cache": True, "cache_valid_time": 3600, "dpkg_options": "force-confold"}
        return {"ansible.builtin.apt": options}
    return {"ansible.builtin.apt": {**options, "state": "absent", **({"purge": True} if known.action == "purge" else {})}}


def _literal_path(path: str) -> bool:
    """The path with escaped variables and ~, which Ansible would replace in paths."""
    return "$" not in path and not path.startswith("~")


def _file(change: FileChange, label: str, result: str) -> Iterator[Task]:
    acts.pinned(change)
    if not _literal_path(change.path):
        raise Unwritable(f"Ansible would replace a part of the path {visible(change.path)!r}")
    folder = change.path.rsplit("/", 1)[0]
    if folder:
        # The permissions of an existing folder are kept.
        made = {"path": folder, "state": "directory", "mode": "u+rwx"}
        yield _rooted({"name": f"{label}: its folder", "ansible.builtin.file": made}, change.root)
    mode = f"{change.mode:04o}"
    if acts.fingerprint(change):
        yield from _key(change, label, result, mode)
        return
    if change.fetched_from:
        wanted = {"url": change.fetched_from, "dest": change.path, "checksum": f"sha256:{acts.checksum(change)}", "mode": mode}
        task: Task = {"name": label, "ansible.builtin.get_url": wanted, "register": result}
    else:
        task = {"name": label, "ansible.builtin.copy": {"content": change.content, "dest": change.path, "mode": mode}, "register": result}
    yield _rooted(task, change.root)


def _key(change: FileChange, label: str, result: str, mode: str) -> Iterator[Task]:
    """The tasks for a key: it is downloaded to a folder of its own, compared, and only then copied to where apt reads it."""
    place, shown = f"{result}_place", f"{result}_shown"
    fetched, alone = (JinjaText("{{ " + place + ".path }}/" + name) for name in ("fetched", "alone"))
    home = JinjaText("{{ " + place + ".path }}")
    gpg = ["gpg", "--homedir", home, "--batch", "--quiet", "--yes"]
    digits = acts.fingerprint(change)
    armour = "--armor" if change.path.endswith(".asc") else "--no-armor"
    quiet: Task = {"changed_when": False}

    def ran(*arguments: Any) -> Task:
        return {"ansible.builtin.command": {"argv": [*gpg, *arguments]}, **quiet}

    yield {"name": f"{label}: a place to look at it", "ansible.builtin.tempfile": {"state": "directory"}, "register": place, **quiet}
    yield {"name": f"{label}: fetch", "ansible.builtin.get_url": {"url": change.fetched_from, "dest": fetched, "mode": "0600"}, **quiet}
    yield {"name": f"{label}: read", **ran("--import", fetched)}
    yield {"name": f"{label}: of its keys this one alone", **ran(armour, "--output", alone, "--export", digits)}
    yield {"name": f"{label}: its fingerprint", **ran("--show-keys", "--with-colons", alone), "register": shown, "failed_when": False}
    that = JinjaText(f"{shown}.stdout | regex_findall({_PRIMARY}) == ['{digits}']")
    asserted = {"that": [that], "fail_msg": f"What was fetched has no key with the fingerprint {digits}: nothing was installed."}
    yield {"name": f"{label}: compared", "ansible.builtin.assert": asserted}
    copied = {"src": alone, "dest": change.path, "mode": mode, "remote_src": True}
    yield _rooted({"name": label, "ansible.builtin.copy": copied, "register": result}, change.root)
    yield {"name": f"{label}: tidied", "ansible.builtin.file": {"path": home, "state": "absent"}, **quiet}


def _fail(name: str, text: str) -> Task:
    return {"name": name, "ansible.builtin.fail": {"msg": " ".join(visible(text).split())}}


def _person(step: PlannedStep, play: _Play) -> Iterator[Task]:
    label = _label(f"{step.number}. {step.title}")
    text = " ".join([step.title, *acts.words_of(step), *(f"$ {typed(command)}" for command in acts.commands_of(step))])
    path = acts.ready_path(step)
    if path and _literal_path(path):
        result = play.name()
        yield {"name": f"{label}: is it done?", "ansible.builtin.stat": {"path": path}, "register": result}
        yield {**_fail(label, f"{text} Then run this playbook again."), "when": JinjaText(f"not {result}.stat.exists")}
        return
    yield _confirmation(label, text, str(step.number))


def _confirmation(label: str, text: str, number: str) -> Task:
    """A pause until the person confirms the step, since nothing on the machine shows whether it was done."""
    message = f"{text} Then run this playbook again, with -e by_hand={number} (several: -e by_hand=1,2)."
    return {**_fail(label, message), "when": JinjaText(f"'{number}' not in (by_hand | default('') | string).split(',')")}


def _restart(step: PlannedStep, play: _Play) -> Iterator[Task]:
    what = acts.restart_of(step)
    if not what:
        return
    text = acts.RESTARTS[what]
    label = _label(f"{step.number}. {step.title}")
    changed, play.since = play.since, []
    if what == "login":
        yield {"name": f"{label}: a new login", "ansible.builtin.meta": "reset_connection"}
        yield {"name": f"{label}: a new login where you work", "ansible.builtin.debug": {"msg": text}}
        return
    if not changed:
        yield {"name": label, "ansible.builtin.debug": {"msg": text}}
        return
    local, moved = "ansible_connection | default('ssh') == 'local'", _any_changed(changed)
    if what == "reboot":
        remote = JinjaText(f"({moved}) and not ({local})")
        yield {"name": f"{label}: reboot", "ansible.builtin.reboot": {}, "when": remote, "become": True}
        moved = f"({moved}) and {local}"
    yield {**_fail(f"{label}: by you", f"{text} Then run this playbook again."), "when": JinjaText(moved)}


def scalar(value: Any) -> str:
    """A double-quoted YAML scalar, which every parser reads alike. Data that Jinja might evaluate is marked as unsafe."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, JinjaText):
        return _quoted(value.text)
    text = str(value)
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise Unwritable(f"a text is not Unicode: {visible(text)[:60]!r}")
    return ("!unsafe " if "{" in text or text.startswith("#jinja2") else "") + _quoted(text)


def _quoted(text: str) -> str:
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    if char.isprintable():
        return char
    point = ord(char)
    named = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char)
    return named or (f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}")


def _item(task: Task, indent: int) -> list[str]:
    lines = _mapping(task, indent + 2)
    when = task.get("when")
    if isinstance(when, JinjaText) and when.text.endswith(" is changed"):
        lines[0] += "  # noqa: no-handler"  # a handler would run behind the steps that need it
    return [" " * indent + "- " + lines[0].lstrip(), *lines[1:]]


def _mapping(value: Mapping[str, Any], indent: int) -> list[str]:
    lines: list[str] = []
    margin = " " * indent
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            lines += [f"{margin}{key}:", *_mapping(inner, indent + 2)] if inner else [f"{margin}{key}: {{}}"]
        elif isinstance(inner, (list, tuple)):
            lines += [f"{margin}{key}:", *(f"{margin}  - {scalar(one)}" for one in inner)]
        else:
            lines.append(f"{margin}{key}: {scalar(inner)}")
    return lines
