"""A plan as a bash script that a person reviews and runs: the acts of its steps, in order, and again after each stop.

Exit status of the script: 0 done; 1 something failed or the plan was refused; 3 a person must do something, then run it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from gpudoctor.model.plan import DONE, Command, FileChange, Plan, PlannedStep, Word
from gpudoctor.reporters.plan import plan_acts as acts
from gpudoctor.reporters.plan import plan_base as base
from gpudoctor.reporters.shared.shell_text import broken, comment, flat, heredoc, said, typed, word, words

_HELPERS = {
    "SUDO": """\
SUDO=
if [ "$(id -u)" -ne 0 ]; then
  SUDO=sudo
  command -v sudo >/dev/null || { printf '%s\\n' 'This needs root rights: run it as root, or install sudo.' >&2; exit 1; }
fi""",
    "work": """\
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT""",
    "die": """\
die() {
  printf '%s\\n' "$1" >&2
  exit 1
}""",
    "again": """\
# again TEXT: a person must do this first; then this script goes on where it stopped.
again() {
  printf '%s\\n' "$1" 'Then run this script again.' >&2
  exit 3
}""",
    "need": """\
# need COMMAND… -- PACKAGE…: installs what is missing of the packages.
need() {
  local install=() missing=() package
  while [ "$1" != -- ]; do
    install+=("$1")
    shift
  done
  shift
  for package in "$@"; do
    if command -v dpkg >/dev/null; then
      dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
    else
      missing+=("$package")
    fi
  done
  if [ "${#missing[@]}" -ne 0 ]; then
    if [ "${install[0]}" = apt-get ]; then $SUDO apt-get update; fi
    $SUDO env DEBIAN_FRONTEND=noninteractive "${install[@]}" "${missing[@]}"
  fi
}""",
    "has_source": """\
# has_source ADDRESS SUITE FILE: whether a file of apt other than FILE has this repository already; apt takes none twice.
has_source() {
  local file
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    if [ -f "$file" ] && [ "$file" != "$3" ]; then
      if grep -v '^[[:space:]]*#' -- "$file" | grep -qF -e "${1%/}" && grep -qwF -e "$2" -- "$file"; then return 0; fi
    fi
  done
  return 1
}""",
    "join_groups": """\
# join_groups GROUPS: the person who runs this joins them; root may open every device already.
join_groups() {
  local user=${SUDO_USER:-$(id -un)} group
  if [ "$user" = root ]; then return; fi
  for group in ${1//,/ }; do
    getent group "$group" >/dev/null || $SUDO groupadd --system "$group"
  done
  $SUDO usermod -aG "$1" "$user"
}""",
    "install_file": """\
# install_file root|user MODE NEW PATH: NEW becomes PATH, unless PATH is that already.
install_file() {
  local sudo=
  if [ "$1" = root ]; then sudo=$SUDO; fi
  if $sudo cmp -s -- "$3" "$4"; then
    $sudo chmod -- "$2" "$4"
  else
    $sudo mkdir -p -- "$(dirname -- "$4")"
    $sudo install -T -m "$2" -- "$3" "$4"
  fi
}""",
    "write_file": """\
# write_file root|user MODE PATH: standard input becomes PATH.
write_file() {
  cat >"$work/new"
  install_file "$1" "$2" "$work/new" "$3"
}""",
    "fetch": """\
# fetch URL FILE
fetch() {
  if command -v curl >/dev/null; then
    curl -fsSL --retry 3 -o "$2" -- "$1"
  else
    wget -q -O "$2" -- "$1"
  fi
}""",
    "fetch_key": """\
# fetch_key URL FINGERPRINT MODE PATH: of the keys in the file the one with this fingerprint alone is installed.
fetch_key() {
  local found armour=--no-armor gpg=(gpg --homedir "$work/gnupg" --batch --quiet --yes)
  command -v gpg >/dev/null || die 'gpg is missing: install GnuPG, then run this script again.'
  if [ "${4%.asc}" != "$4" ]; then armour=--armor; fi
  fetch "$1" "$work/keys"
  rm -rf -- "$work/gnupg" "$work/new"
  mkdir -- "$work/gnupg"
  chmod 700 "$work/gnupg"
  "${gpg[@]}" --import "$work/keys" || die "What $1 gave is no key: nothing was installed."
  "${gpg[@]}" "$armour" --output "$work/new" --export "$2"
  found=$("${gpg[@]}" --show-keys --with-colons "$work/new" |
    awk -F: '$1 == "pub" { primary = 1 } $1 == "fpr" && primary { print $10; primary = 0 }') || true
  [ "$found" = "$2" ] || die "The file from $1 has no key with the fingerprint $2: nothing was installed."
  install_file root "$3" "$work/new" "$4"
}""",
    "fetch_file": """\
# fetch_file root|user MODE URL SHA256 PATH: kept only where the checksum is this one.
fetch_file() {
  local sudo=
  if [ "$1" = root ]; then sudo=$SUDO; fi
  if $sudo test -f "$5" && $sudo cat -- "$5" | sha256sum | grep -q -e "^$4 "; then return; fi
  fetch "$3" "$work/download"
  printf '%s  %s\\n' "$4" "$work/download" | sha256sum -c --quiet - || die "The checksum of $3 is another one: nothing was installed."
  install_file "$1" "$2" "$work/download" "$5"
}""",
    "new_login": """\
# new_login TEXT: stops unless this session already has all groups that the account has.
new_login() {
  local group
  for group in $(id -nG "$(id -un)"); do
    case " $(id -nG) " in
      *" $group "*) ;;
      *) again "$1" ;;
    esac
  done
}""",
    "state": """\
state=${XDG_STATE_HOME:-$HOME/.local/state}/gpudoctor/script-@DIGEST@
mkdir -p -- "$state\"""",
    "new_boot": """\
# new_boot STEP TEXT: stops once; it goes on when the kernel was started since.
new_boot() {
  local now
  now=$(cat /proc/sys/kernel/random/boot_id)
  if [ ! -e "$state/$1" ]; then
    printf '%s\\n' "$now" >"$state/$1"
    again "$2"
  elif [ "$(cat -- "$state/$1")" = "$now" ]; then
    again "$2"
  fi
}""",
    "shown": """\
# shown STEP TEXT: stops once. Nothing here can tell whether it was done, so the second time it is taken for done.
shown() {
  if [ ! -e "$state/$1" ]; then
    : >"$state/$1"
    again "$2"
  fi
}""",
}
_NEEDS = {
    "install_file": ("SUDO",),
    "need": ("SUDO",),
    "join_groups": ("SUDO",),
    "write_file": ("work", "install_file"),
    "fetch_key": ("work", "die", "fetch", "install_file"),
    "fetch_file": ("work", "die", "fetch", "install_file"),
    "new_login": ("again",),
    "new_boot": ("again", "state"),
    "shown": ("again", "state"),
}


def render(plan: Plan, *, version: str, date: str) -> str:
    """The whole script. `version` of gpudoctor and `date` (YYYY-MM-DD) stand in its head.

    Raises shell_text.Unwritable where an act cannot be written, or would download a file without a checksum or fingerprint.
    """
    head = list(_head(plan, version, date))
    obstacles = acts.obstacles(plan)
    if obstacles:
        printed = "\n".join(f"{said(text)} >&2" for text in obstacles)
        return "\n".join([*head, "", "set -euo pipefail", "", "# Nothing is done, for the reason that is printed.", printed, "exit 1", ""])
    needed: set[str] = set()
    body = [*_base(plan, needed), *(part for step in plan.steps for part in ("", *_step(plan, step, needed)))]
    body += [*_verified(plan, needed), "", *_end(plan)]
    return "\n".join([*head, "", "set -euo pipefail", *_helpers(plan, needed), *body, ""])


def _head(plan: Plan, version: str, date: str) -> Iterator[str]:
    yield "#!/usr/bin/env bash"
    yield comment(plan.title, f"gpudoctor setup {_name(plan)}")
    yield comment(plan.machine, "for this machine")
    yield comment(f"by gpudoctor {version} on {date} from the recipe {plan.recipe}; read it before you run it", "generated")
    yield from (comment(text, word) for word, text in acts.to_be_told(plan))
    yield "# Texts and paths are meant literally, which is why they are in single quotes."
    yield "# shellcheck disable=SC2016,SC1003,SC1112"


def _base(plan: Plan, needed: set[str]) -> Iterator[str]:
    wanted = base.base(plan, lambda step: step.state != DONE and not acts.is_person(step), lambda command: command)
    if wanted.packages:
        needed.add("need")
        yield from ("", "# What a minimal system lacks.", broken(["need", *wanted.install, "--", *wanted.packages]))
    if wanted.uv:
        needed.add("SUDO")
        yield from ("", "# uv fetches a Python that this system does not have.", "if ! command -v uv >/dev/null; then")
        yield from (f"  {' '.join(words(command, sudo='$SUDO'))}" for command in base.uv_steps())
        yield "fi"


def _verified(plan: Plan, needed: set[str]) -> Iterator[str]:
    checked = base.verification(plan)
    if not checked:
        return
    needed.add("die")
    yield from ("", "# Verification", said("== Verification: what was installed, then a computation on the device"))
    yield f"{broken(words(checked.build))} \\\n  || die 'What was installed does not work; the reason stands above.'"
    unseen = f"Installed, not verified: no device could be used. gpudoctor check --stack {plan.stack} says why."
    yield f"{broken(words(checked.device))} \\\n  || die {flat(unseen)}"


def _name(plan: Plan) -> str:
    return plan.name or "?"


def _helpers(plan: Plan, needed: set[str]) -> Iterator[str]:
    wanted: set[str] = set()
    queue = list(needed)
    while queue:
        name = queue.pop()
        if name not in wanted:
            wanted.add(name)
            queue += _NEEDS.get(name, ())
    digest = hashlib.sha256(repr((plan.recipe, plan.env, plan.steps)).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    for name, text in _HELPERS.items():
        if name in wanted:
            yield ""
            yield text.replace("@DIGEST@", digest)


def _step(plan: Plan, step: PlannedStep, needed: set[str]) -> Iterator[str]:
    yield comment(f"{step.number}. {step.title}")
    if step.state == DONE:
        yield comment(step.note or "it is so on this machine", "done already")
        return
    yield comment(step.why, "why")
    yield from (comment(text, "changes") for text in step.changes)
    yield said(f"== {step.number}/{plan.steps[-1].number} {step.title}")
    if acts.is_person(step):
        yield from _person(step, needed)
        return
    lines = [line for at, act in enumerate(step.acts, 1) for line in _act(act, at, step, needed)]
    joined, (url, suite, path) = acts.groups_of(step), acts.own_repository(step)
    python = acts.venv_python(plan, step)
    if joined:
        needed.add("join_groups")
        yield f"join_groups {word(joined)}"
    elif url:
        needed.add("has_source")
        yield f"if ! has_source {word(url)} {word(suite)} {word(path)}; then"
        yield from lines  # not indented, since the lines of a heredoc may be among them
        yield "fi"
    elif python and lines:
        yield f"if [ ! -x {word(python)} ]; then"
        yield from (f"  {line}" for line in lines)
        yield "fi"
    else:
        yield from lines
    yield from _restart(step, needed)


def _act(act: Command | FileChange | Word, at: int, step: PlannedStep, needed: set[str]) -> Iterator[str]:
    if isinstance(act, Word):
        if not acts.restart_of(step):
            needed.add("shown")
            yield f"shown {step.number}-{at} {flat(_sentence(act.text))}"
    elif isinstance(act, Command):
        if act.root:
            needed.add("SUDO")
        yield broken(words(act, sudo="$SUDO"))
    else:
        yield _file(act, needed)


def _file(change: FileChange, needed: set[str]) -> str:
    acts.pinned(change)
    who, mode = "root" if change.root else "user", f"{change.mode:04o}"
    if acts.fingerprint(change):
        needed.add("fetch_key")
        return broken(["fetch_key", word(change.fetched_from), acts.fingerprint(change), mode, word(change.path)], width=60)
    if change.fetched_from:
        needed.add("fetch_file")
        return broken(["fetch_file", who, mode, word(change.fetched_from), acts.checksum(change), word(change.path)], width=60)
    needed.add("write_file")
    return heredoc(f"write_file {who} {mode} {word(change.path)}", change.content)


def _person(step: PlannedStep, needed: set[str]) -> Iterator[str]:
    parts = [step.title, *acts.words_of(step), *(f"$ {typed(command)}" for command in acts.commands_of(step))]
    text = " ".join(_sentence(part) for part in parts)
    path = acts.ready_path(step)
    if path:
        needed.add("again")
        yield f"[ -e {word(path)} ] || again {flat(text)}"
    else:
        needed.add("shown")
        yield f"shown {step.number} {flat(text)}"


def _restart(step: PlannedStep, needed: set[str]) -> Iterator[str]:
    what = acts.restart_of(step)
    text = acts.RESTARTS.get(what, "")  # the step's own text is about a run of gpudoctor
    if what == "login":
        needed.add("new_login")
        yield f"new_login {flat(text)}"
    elif what:
        needed.add("new_boot")
        yield f"new_boot {step.number} {flat(text)}"


def _sentence(text: str) -> str:
    flattened = " ".join(text.split())
    return flattened if flattened.endswith((".", "!", "?", ":")) or flattened.startswith("$ ") else f"{flattened}."


def _end(plan: Plan) -> Iterator[str]:
    if plan.env:
        yield said("Done. The environment: " + "; ".join(f". {flat(path)}" for path in acts.activation(plan)))
    else:
        yield said("Done.")
    if plan.stack:
        yield said(f"Next: gpudoctor check --stack {plan.stack}")
