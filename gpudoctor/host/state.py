"""Where gpudoctor keeps what it must remember: the journal of `setup`, the history of `check`."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """The platform's place for state: XDG_STATE_HOME, else ~/.local/state; root has /var/lib, so that no home is touched."""
    chosen = os.environ.get("XDG_STATE_HOME")
    if chosen and os.path.isabs(chosen):
        return Path(chosen) / "gpudoctor"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")) / "gpudoctor"
    if os.geteuid() == 0:
        return Path("/var/lib/gpudoctor")
    return Path(os.path.expanduser("~")) / ".local" / "state" / "gpudoctor"
