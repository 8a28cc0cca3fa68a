"""The console script: Ctrl-C is answered from the first moment on, before anything else is imported."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import atexit
import gc
import os

SELDOM = (100_000, 50, 50)
"""Thresholds of the garbage collector. A command builds objects that live to its end; searching these for cycles would take a tenth of
its time."""


def _interrupted(number: int, frame: object) -> None:
    """While modules load there is nothing to tidy up, and a traceback of an import would help nobody."""
    os.write(2, b"gpudoctor: interrupted\n")
    os._exit(130)


def _command_has_ended() -> None:
    """The interpreter ends now and answers no signal any more: Ctrl-C would only change the exit status of a command that is done."""
    _signal.signal(_signal.SIGINT, _signal.SIG_IGN)


def main() -> None:
    atexit.register(_command_has_ended)  # the first to be registered is the last to be called, after all threads have ended
    _signal.signal(_signal.SIGINT, _interrupted)  # the module `signal` is Python, and would have to be imported first
    gc.set_threshold(*SELDOM)
    from gpudoctor.cli import main as command_line

    try:
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        command_line()
    except KeyboardInterrupt:  # between the handler above and the first line of the command
        _interrupted(_signal.SIGINT, None)
    finally:
        _signal.signal(_signal.SIGINT, _interrupted)
        gc.freeze()  # the end of the interpreter searches for cycles again, several times


if __name__ == "__main__":
    main()
