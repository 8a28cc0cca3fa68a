"""Rules for the commands of an advice: mistakes that would harm a person who pastes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpudoctor.model.check import Step

_RULES: tuple[tuple[str, str], ...] = (
    (r"\b(?P<name>[A-Z_]+)=\S+ .*\$\{?(?P=name)\b(?!.*;)", "uses a variable in the same command that sets it: the shell expands it before"),
    (r"\bmodprobe \S+ *\|\| *modprobe\b", "modprobe succeeds without hardware, so the second module is never tried"),
    (
        r"\b(?:purge|remove|erase|autoremove|rm|-R\w*)\b.*[\"' ](?:\^|\.\*|\*)?(?:lib)?nvidia(?:-?\*|\.\*|-\.\*)",
        "removes nvidia-container-toolkit as well: name the driver's packages",
    ),
    (r"\b(?:purge|remove|erase)\b.*\*nvidia\*", "removes nvidia-container-toolkit as well: name the driver's packages"),
    (r"\binstall\b.*(?:--upgrade|-U)\b.*\btriton\b(?!-)", "replaces the triton that torch pins"),
    (r"--extra-index-url\b.*\btorch|\btorch\b.*--extra-index-url", "lets another index's torch win: use --index-url"),
    (r"\b(?:curl|wget)\b.*\|\s*(?:sudo\s+)?(?:ba|z)?sh\b", "runs a script from the network unread"),
    (r"^(?!sudo )(?:.*[;|&] *)?lspci\b.* -\w*vv", "lspci -vv shows no link without root: use sudo"),
    (r"download\.pytorch\.org/whl/(?:cu|rocm)\d", "names an index that a table knows: {index.cuda} or {index.rocm}"),
    (
        r"\bpip3? install\b(?:[^\"'|;&]|\"[^\"]*\"|'[^']*')*?\s[\w.\[\]-]+(?:>=?|<=?)\d",
        "an unquoted < or > redirects: quote the requirement",
    ),
    (r"\bchmod\b.*\b(?:666|777|a\+rw)\b.*/dev/", "opens a device to every user"),
    (r"^export \w+ *$|^export \w+=.* \w+=.*\$\w+", "sets and uses variables in one export"),
    (r"\bcurl\b.*\bhttp://|\bwget\b.*\bhttp://", "fetches without encryption"),
    (r"\brm -rf? +(?:/|~|\$HOME)(?:\s|$)", "removes a whole home or system"),
    (r"\bpip3?\b.*\s--trusted-host\b", "turns off the verification of the index"),
)
_COMPILED = tuple((re.compile(pattern), message) for pattern, message in _RULES)
_WEAKENS = re.compile(
    r"\biommu=off\b|\b(?:intel|amd)_iommu=off\b|\bpcie_acs_override\b|\bmitigations=off\b|\b--privileged\b"
    r"|\bsetenforce 0\b|--security-opt[ =]\S*unconfined"
)


def wrong_commands(steps: Sequence[Step], said: str) -> Iterator[str]:
    """The mistakes in the steps of one advice. `said` is its whole text."""
    runs = [step.run for step in steps]
    for step in steps:
        for pattern, message in _COMPILED:
            if pattern.search(step.run):
                yield f"'{step.run}': {message}"
        if _WEAKENS.search(step.run) and not re.search(r"secur|isolat|protect|trust", said, re.IGNORECASE):
            yield f"'{step.run}': weakens the system's protection; the advice must say what is lost and for whom"
        if re.search(r"\bupdate-grub\b", step.run) and step.when is None:
            yield f"'{step.run}': update-grub exists on Debian and Ubuntu only: give it a `when`"
    if any("/etc/udev/rules.d" in run for run in runs) and not any("udevadm control --reload" in run for run in runs):
        yield "writes a udev rule and never reloads the rules: add 'sudo udevadm control --reload && sudo udevadm trigger'"
    uninstalls = any(re.search(r"\bpip3? uninstall\b", run) for run in runs)
    if uninstalls and not any(re.search(r"\binstall\b", run.replace("uninstall", "")) for run in runs):
        if not re.search(
            r"\b(?:only|alone|no replacement|not needed|nothing else|leftover|superfluous|duplicate|remove"
            r"|uninstall)",
            said,
            re.IGNORECASE,
        ):
            yield "uninstalls a package and installs nothing instead: add the step, or say why none is needed"
