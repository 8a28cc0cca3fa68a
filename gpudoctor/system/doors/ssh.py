"""A machine by the user's own ssh: one connection for everything, no questions to the person, and nothing is installed there."""

from __future__ import annotations

import os
import re
import sys

from gpudoctor.model.door import Door
from gpudoctor.system.host import DoorError
from gpudoctor.system.local_host import find_program
from gpudoctor.system.scratch_folder import ScratchFolder

SECONDS_TO_CONNECT = 10
_LONGEST_SOCKET = 80
"""The most letters of the path of the socket: ssh adds a random ending, and the system limits it to 104."""


class SshWay:
    """How a machine is reached. `destination`: as ssh takes it, a name of its configuration or USER@HOST."""

    def __init__(self, destination: str) -> None:
        self.option = f"--host {destination}"
        if destination.startswith("-") or not re.fullmatch(r"[^\s\x00-\x1f;|&$`\"'<>()\\]+", destination):
            raise DoorError(f"{self.option}: expected a name that ssh knows, or USER@HOST; ports and keys belong into ~/.ssh/config")
        if find_program("ssh", os.environ.get("PATH", os.defpath)) is None:
            raise DoorError(
                f"{self.option}: there is no program ssh on this machine; install the OpenSSH client, or run gpudoctor check there"
            )
        self.door = Door("host", destination, f"host {destination}")
        self._destination = destination
        self._folder: ScratchFolder | None = None
        if sys.platform != "win32":  # the ssh of Windows cannot share a connection
            self._folder = ScratchFolder("gpudoctor-ssh-")

    def argv(self, *, first: bool) -> list[str]:
        options = [
            "BatchMode=yes", f"ConnectTimeout={SECONDS_TO_CONNECT}", "ServerAliveInterval=5", "ServerAliveCountMax=3", "ForwardAgent=no",
            "ForwardX11=no", "ClearAllForwardings=yes", "RequestTTY=no", "PermitLocalCommand=no", "LogLevel=ERROR",
        ]  # fmt: skip
        socket = os.path.join(self._folder.path, "s") if self._folder is not None else ""
        if socket and len(socket) <= _LONGEST_SOCKET:
            options += [f"ControlMaster={'yes' if first else 'no'}", f"ControlPath={socket}", "ControlPersist=no"]
        else:
            options += ["ControlMaster=no", "ControlPath=none"]
        return ["ssh", *(word for option in options for word in ("-o", option)), "--", self._destination, "exec sh"]

    def why_not(self, said: str) -> str:
        return f"{self.option}: {explained(said, self._destination)}"

    def close(self) -> None:
        if self._folder is not None:
            self._folder.remove()
            self._folder = None


def explained(said: str, destination: str) -> str:
    """A sentence about what ssh printed, with the next step."""
    low = said.lower()
    if "host key verification failed" in low or "remote host identification has changed" in low:
        return f"its key is not known, or has changed since; connect once by hand and compare it: ssh {destination}"
    if "permission denied" in low:
        return f"it asks for a password or refuses the key; give ssh a key that it accepts without asking: ssh-copy-id {destination}"
    if "could not resolve" in low:
        return f"no machine has this name; see that ssh {destination} connects"
    if "connection refused" in low:
        return f"no ssh server answers there; start it on that machine, or name its port in ~/.ssh/config, then: ssh {destination} true"
    if "timed out" in low or "does not answer" in low or "no route to host" in low or "unreachable" in low:
        return f"it does not answer in time; see that it runs and that ssh {destination} true ends"
    if "not found" in low and "sh" in low:
        return f"no POSIX shell answers there ({said}); log in by hand and run gpudoctor there"
    return (
        f"ssh failed: {said}; see what this says: ssh {destination} true"
        if said
        else f"ssh failed; see what this says: ssh {destination} true"
    )
