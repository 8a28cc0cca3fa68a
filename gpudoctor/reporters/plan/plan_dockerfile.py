"""A plan as a Dockerfile: steps of an image become RUN and ENV, steps of the host become comments.

An image starts from the bare distribution, so that steps which are already done on the planned machine are carried out too, where their
acts are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from gpudoctor.model.plan import DONE, Command, FileChange, Plan, PlannedStep, Word
from gpudoctor.reporters.plan import plan_acts as acts
from gpudoctor.reporters.plan import plan_base as base
from gpudoctor.reporters.shared.shell_text import Unwritable, broken, clean, comment, delimiter, flat, heredoc, typed, word, words

_HOST_LAYERS = frozenset({"device", "firmware", "kernel-driver", "device-node"})
_HOST_KINDS = frozenset({"group", "modprobe", "udev.rule", "reboot"})
_IMAGES = {"ubuntu": "ubuntu:{}", "debian": "debian:{}", "fedora": "fedora:{}", "rocky": "rockylinux:{}", "arch": "archlinux:base"}
_DEFAULT = "ubuntu:24.04"
_RUNS = {
    "nvidia": ("the NVIDIA container toolkit must be on the host", "--gpus all"),
    "amd": (
        "the kernel driver is the host's",
        '--device /dev/kfd --device /dev/dri --group-add video --group-add "$(getent group render | cut -d: -f3)" --ipc=host',
    ),
    "dri": ("the kernel driver is the host's", '--device /dev/dri --group-add "$(getent group render | cut -d: -f3)"'),
    "ipu": (
        "gc-docker of the SDK finds the devices itself; by hand, for each IPU N",
        "--device /dev/ipuN --device /dev/ipuN_ex --device /dev/ipuN_mailbox --device /dev/ipuN_mem",
    ),
    "wsl": ("inside WSL2", "--device /dev/dxg --volume /usr/lib/wsl:/usr/lib/wsl:ro --env LD_LIBRARY_PATH=/usr/lib/wsl/lib"),
}
_APT = "rm -rf /var/lib/apt/lists/*"


def render(plan: Plan, *, version: str, date: str) -> str:
    """The whole Dockerfile. `version` of gpudoctor and `date` (YYYY-MM-DD) stand in its head. Raises shell_text.Unwritable."""
    obstacles = acts.obstacles(plan)
    if obstacles:
        body = [
            *(comment(text, "refused") for text in obstacles),
            "RUN echo 'This plan was refused; the reason stands above this line.' >&2 && exit 1",
        ]
    else:
        body = [
            *_base(plan),
            *(part for step in plan.steps for part in ("", *_step(plan, step))),
            "",
            *_environment(plan),
            *_sourced(plan),
            *_verified(plan),
            *_flags(plan),
        ]
    return "\n".join([*_head(plan, version, date), *body, ""])


def _head(plan: Plan, version: str, date: str) -> Iterator[str]:
    yield "# syntax=docker/dockerfile:1"
    yield comment(plan.title, f"gpudoctor setup {plan.name or '?'}")
    yield comment(plan.machine, "planned for")
    yield comment(f"by gpudoctor {version} on {date} from the recipe {plan.recipe}; read it before you build it", "generated")
    yield from (comment(text, word) for word, text in acts.to_be_told(plan))
    yield "# One RUN is one act of the plan, and texts and paths are meant literally, which is why they are in single quotes."
    yield "# hadolint global ignore=DL3059,SC2016,SC1003,SC1112,SC3003,SC3040"
    if _is_wsl(plan):
        yield "# note: planned for WSL; the image is that of the same distribution, and it reaches the card through the Windows driver."
    image = _image(plan)
    if not image:
        image = _DEFAULT
        system = f"{plan.os_id or 'this system'} {plan.os_version}"
        yield comment(f"no image is known for {system}, so this is {image}: adapt what follows", "note")
    yield f"FROM {image}"
    yield 'SHELL ["/bin/bash", "-euo", "pipefail", "-c"]'


def _image(plan: Plan) -> str:
    pattern = _IMAGES.get(plan.os_id, "")
    if "{}" in pattern and not re.fullmatch(r"[a-z0-9][a-z0-9.]{0,20}", plan.os_version):
        return ""
    return pattern.format(plan.os_version)


def _is_wsl(plan: Plan) -> bool:
    return "wsl" in f"{plan.machine} {plan.recipe}".lower() or any(acts.restart_of(step) == "wsl" for step in plan.steps)


def _base(plan: Plan) -> Iterator[str]:
    """Packages that every installed machine has and a bare image lacks."""
    wanted = base.base(plan, lambda step: not _of_the_host(step), lambda command: _inside(plan, command))
    if wanted.packages:
        yield ""
        yield "# A bare image lacks these. No versions are pinned: the distribution keeps one of each."
        line = [*wanted.install, *wanted.packages]
        if line[0] == "apt-get":
            yield _apt_run([line], "DL3008")
        else:
            yield _run([line], "DL3041,DL3033,DL3040" if line[0] == "dnf" else "")
    if wanted.uv:
        yield ""
        yield "# uv fetches a Python that this distribution does not have."
        yield _run([words(command) for command in base.uv_steps()], "DL3042")


def _inside(plan: Plan, command: Command) -> Command:
    """The command for an image, where interpreters and uv are in no home folder; the environment itself is unchanged."""
    argv = list(command.argv)
    if argv and argv[0].rsplit("/", 1)[-1] == "uv":
        argv[0] = "uv"
    for at, text in enumerate(argv):
        if re.fullmatch(r"/.*/python3(\.\d+)?", text) and not text.startswith((f"{plan.env}/", "/usr/bin/")):
            argv[at] = text.rsplit("/", 1)[-1]
    return Command(argv=tuple(argv), env=command.env)


def _of_the_host(step: PlannedStep) -> bool:
    return step.layer in _HOST_LAYERS or step.kind in _HOST_KINDS or bool(acts.restart_of(step))


def _step(plan: Plan, step: PlannedStep) -> Iterator[str]:
    step = _with_packages(step)
    place = "on the host: " if _of_the_host(step) else "by hand: " if acts.is_person(step) else ""
    yield comment(f"{place}{step.number}. {step.title}")
    if place or (step.state == DONE and not step.acts):
        if step.state == DONE:
            yield comment(f"{step.note or 'so it is'} (on the planned machine)", "done already")
            if not place:
                yield "# note: what makes it so is not known here; where the image needs it, install it before the next step."
            return
        what = acts.restart_of(step)
        if not what:
            yield from map(_word, acts.words_of(step))
        yield from (comment(f"$ {text}") for text in _by_hand(step))
        yield from (comment(act.path, "file") for act in step.acts if isinstance(act, FileChange))
        if what:
            yield comment(acts.RESTARTS[what], "then")
        path = acts.ready_path(step)
        if path and acts.is_person(step):
            yield comment(f"what you got must be in the image before the next step, so that {path} is there; add for instance: COPY sdk/ …")
        return
    yield comment(step.why, "why")
    for act in step.acts:
        if isinstance(act, Word):
            yield _word(act.text)
        elif isinstance(act, FileChange):
            yield _file(act)
        else:
            yield from _command(plan, act)


def _word(text: str) -> str:
    """A sentence, or a command as a person types it."""
    return comment(text) if text.startswith("$ ") else comment(text, "text")


def _by_hand(step: PlannedStep) -> list[str]:
    """The commands of a manual step, as a person types them."""
    joined = acts.groups_of(step)
    return [f'sudo usermod -aG {joined} "$USER"'] if joined else [typed(command) for command in acts.commands_of(step)]


def _with_packages(step: PlannedStep) -> PlannedStep:
    """The step with the packages that the planned machine already has, since the image needs them too."""
    names = step.settings.get("packages")
    if step.state != DONE or step.acts or step.kind != "apt.install" or not isinstance(names, (list, tuple)):
        return step
    if not names or not all(isinstance(name, str) and re.fullmatch(r"[a-z0-9][a-z0-9+.-]*(=[\w.+:~-]+)?", name) for name in names):
        return step
    options = () if step.settings.get("recommends") else ("--no-install-recommends",)
    return replace(step, acts=(Command(argv=("apt-get", "install", "-y", *options, *names), root=True),))


def _command(plan: Plan, command: Command) -> Iterator[str]:
    known = acts.apt(command)
    program = _inside(plan, command)
    line = words(program)
    if known and known.action == "update":
        return  # each step that installs fetches the lists, and none keeps them in the image
    if program.argv[0].rsplit("/", 1)[-1] == "apt-get" and "install" in program.argv:
        yield "# No versions are pinned beyond those of the plan, and recommended packages are left out where the plan says so."
        yield _apt_run([line], "DL3008" if "--no-install-recommends" in program.argv else "DL3008,DL3015")
    elif program.argv[0].rsplit("/", 1)[-1] in ("dnf", "yum"):
        yield "# No versions are pinned beyond those of the plan: the repository keeps one of each."
        yield _run([line, [program.argv[0], "clean", "all"]], "DL3041,DL3033,DL3040")
    elif "pip" in program.argv[:4]:
        yield "# Versions are as strict as the plan has them."
        yield _run([line], "DL3013,DL3042")
    else:
        yield _run([line])


def _apt_run(lines: list[list[str]], ignore: str) -> str:
    return _run([["apt-get", "update"], *lines, _APT.split(" ")], ignore)


def _run(lines: list[list[str]], ignore: str = "") -> str:
    """One RUN instruction. Characters that Docker itself would interpret (line feeds, <<, a backslash at the end) are put into a
    heredoc."""
    simple = all(re.fullmatch(r"[ -~]*", text) and "<<" not in text and "\\" not in text for line in lines for text in line)
    head = f"# hadolint ignore={ignore}\n" if ignore else ""
    if simple:
        return head + "RUN " + " \\\n  && ".join(broken(line, indent="    ") for line in lines)
    return head + _script("\n".join(broken(line) for line in lines))


def _script(body: str) -> str:
    """A heredoc and a blank line, which hadolint expects after each."""
    end = delimiter(body, "END_OF_RUN")
    return f"RUN <<'{end}'\nset -euo pipefail\n{body}\n{end}\n"


def _file(change: FileChange) -> str:
    acts.pinned(change)
    path, folder, mode = word(change.path), word(change.path.rsplit("/", 1)[0] or "/"), f"{change.mode:04o}"
    if not change.fetched_from:
        if clean(change.content) and re.fullmatch(r"/[A-Za-z0-9_./+-]*", change.path):
            end = delimiter(change.content)
            return f"COPY --chmod={mode} <<'{end}' {change.path}\n{change.content}{end}\n"
        written = heredoc(f"dd status=none of={path}", change.content)
        return _script("\n".join([f"mkdir -p -- {folder}", written, f"chmod -- {mode} {path}"]))
    lines = ["work=$(mktemp -d)", f'curl -fsSL --retry 3 -o "$work/file" -- {word(change.fetched_from)}', f"mkdir -p -- {folder}"]
    key = acts.fingerprint(change)
    if key:
        armour = "--armor" if change.path.endswith(".asc") else "--no-armor"
        lines += [
            'gpg=(gpg --homedir "$work" --batch --quiet --yes)',
            '"${gpg[@]}" --import "$work/file"',
            f'"${{gpg[@]}}" {armour} --output "$work/key" --export {key}',
            'found=$("${gpg[@]}" --show-keys --with-colons "$work/key" |',
            """  awk -F: '$1 == "pub" { primary = 1 } $1 == "fpr" && primary { print $10; primary = 0 }') || true""",
            f'[ "$found" = {key} ] || {{',
            f'  echo "The file has no key with the fingerprint {key}." >&2',
            "  exit 1",
            "}",
            'mv -- "$work/key" "$work/file"',
        ]
    else:
        lines.append(f"printf '%s  %s\\n' {acts.checksum(change)} \"$work/file\" | sha256sum -c --quiet -")
    lines += [f'install -T -m {mode} -- "$work/file" {path}', 'rm -rf -- "$work"']
    return _script("\n".join(lines))


def _environment(plan: Plan) -> Iterator[str]:
    wanted = dict(plan.variables)
    if plan.env:
        wanted["VIRTUAL_ENV"] = plan.env
    for name, value in wanted.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise Unwritable(f"{name!r} is no name of a variable")
        if value.isprintable() and not value.endswith("\\"):
            yield f"ENV {name}={_quoted(value)}"
        else:
            yield comment(f"{name} cannot be set by ENV: its value has characters that a Dockerfile does not hold", "note")
    if plan.env.isprintable() and plan.env:
        path = _quoted(plan.env + "/bin")[:-1] + ':$PATH"'
        yield f"ENV PATH={path}"


def _quoted(value: str) -> str:
    """A value for ENV in which nothing is replaced."""
    return '"' + re.sub(r'(["\\$])', r"\\\1", value) + '"'


def _sourced(plan: Plan) -> Iterator[str]:
    own = [path for path in acts.activation(plan) if path.endswith(acts.ENV_FILE)]
    if own:
        yield comment(f". {flat(own[0])}    (scripts that it sources are not in ENV)", "in each shell")


def _verified(plan: Plan) -> Iterator[str]:
    checked = base.verification(plan)
    if checked:
        yield ""
        yield "# A build has no device: this proves that what was installed is whole, and the right build."
        yield _run([words(checked.build)])


def _flags(plan: Plan) -> Iterator[str]:
    family = _family(plan)
    flags = f"{_RUNS[family][1]} " if family else ""
    checked = base.verification(plan)
    if not family and not checked:
        return
    yield ""
    if checked:
        yield comment(f"docker run --rm {flags}IMAGE {typed(checked.device)}", "to try the device")
    if family:
        yield comment(f"docker run --rm -it {flags}IMAGE    # {_RUNS[family][0]}", "to run it")


def _family(plan: Plan) -> str:
    names = f"{plan.name} {plan.stack} {plan.compute} {plan.machine}".lower()
    if re.search(r"cuda|nvidia|geforce|tensorrt", names):
        return "nvidia"
    if "poplar" in names or "poptorch" in names or re.search(r"\bipu\b", names):
        return "ipu"
    if _is_wsl(plan):
        return "wsl"
    if "rocm" in names:
        return "amd"
    if re.search(r"cpu\b", f"{plan.stack} {plan.compute}"):
        return ""
    return "dri" if re.search(r"xpu|ipex|intel|opencl|openvino|onnxruntime|directml|arc|radeon", names) else ""
