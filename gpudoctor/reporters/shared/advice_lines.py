"""An advice as text to be copied: the sentence, and the commands with their variables in the syntax of the system's shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from gpudoctor.model.check import Advice
from gpudoctor.model.lazy_pattern import lazy

_RESTARTS = lazy(r"reboot|restart the (?:machine|computer)|boots? again|power .{0,20}off", re.IGNORECASE)
_PLAIN_IN_CMD = lazy(r"[\w.,:;/\\+-]*")
"""Characters that cmd accepts without quotes: neither spaces nor its operators & | < > ^ % ( )."""


def sentence(advice: Advice) -> str:
    """The advice in words. A command at the end of the sentence is moved to its own line, and a reboot is mentioned once."""
    text = advice.text
    for command in advice.commands:
        head = text.rstrip(".").removesuffix("`").removesuffix(command).removesuffix("`")
        if head.endswith(": "):
            text = f"{head[:-2]}."
            break
    if not advice.needs_reboot or _RESTARTS.search(text):
        return text
    if not text:
        return "Reboot."
    return f"{text} Then reboot." if text.endswith((".", "!", "?")) else f"{text} (then reboot)"


_LOOKS = lazy(
    r"(?:sudo )?(?:\w+=\S+ )*(?:lspci|lsmod|ls|cat|grep|dmesg|journalctl|modinfo|uname|id|groups|df|free|env(?=$| \|)|echo|printenv"
    r"|clinfo|vulkaninfo|sycl-ls|rocminfo|rocm_agent_enumerator|gc-info|gc-monitor|xpu-smi discovery"
    r"|ldconfig -p|dpkg -[lLS]|nvcc --version|mokutil --sb-state"
    r"|nvidia-smi(?= -q| -L|$)|(?:\S*python3? -m )?pip (?:list|show|freeze|check)|uv pip (?:list|show|freeze|check)"
    r"|\S*python3? -c .*print|gpudoctor (?:check|show))(?![\w-])"
)
_ACTS = lazy(r" && |\| ?(?:sudo|tee|sh|bash)\b|(?<![0-9&])> ?(?!/dev/null)")
"""Parts of a command that change something: a second command, or a file that is written."""


def only_looks(command: str) -> bool:
    """Whether the command only shows something, so that the remedy is still to be applied."""
    return _LOOKS.match(command) is not None and not _ACTS.search(command)


def first_sentence(text: str) -> str:
    """The first sentence of a text."""
    found = re.match(r".*?[\w)'\"][.!](?= [A-Z'])", text)
    return found[0] if found else text


def command_lines(advice: Advice) -> list[str]:
    """The commands of an advice, then the variables that no command sets."""
    return [*advice.commands, *(line for line in assignments(advice.env, windows=advice.windows) if line not in advice.commands)]


def assignments(env: Mapping[str, str], *, windows: bool = False) -> list[str]:
    """The variables in the syntax of sh; on Windows in that of cmd, which quotes the whole assignment and not the value."""
    if windows:
        return [f"set {name}={value}" if _PLAIN_IN_CMD.fullmatch(value) else f'set "{name}={value}"' for name, value in env.items()]
    return [f"export {name}={shlex.quote(value)}" for name, value in env.items()]
