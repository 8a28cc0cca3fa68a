"""Runs on a worker of Dask or Ray. It is sent there by value, so it needs nothing of gpudoctor to be imported."""

import asyncio
import os
import subprocess
import sys


def row(words: "list[str]", variables: "dict[str, str]", timeout: float, most: int) -> "tuple[int | None, bytes, bytes]":
    """Exit status (None: not in time), output and the end of the errors of `gpudoctor WORDS`, about the environment of this worker.

    A process of its own: what gpudoctor starts, and what its frameworks load, does not touch the worker.
    """
    import signal
    import tempfile

    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        argv = [sys.executable, "-m", "gpudoctor", *words, "--python", sys.executable]
        env = {**os.environ, **variables}
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=env, start_new_session=True)
        status = None
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if status is None:
                if sys.platform != "win32":
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
                process.wait()
        output.seek(0)
        size = errors.seek(0, 2)
        errors.seek(max(0, size - 2000))
        return status, output.read(most), errors.read(2000)


async def row_beside(words: "list[str]", variables: "dict[str, str]", timeout: float, most: int) -> "tuple[int | None, bytes, bytes]":
    """The same in a thread, so that a worker of Dask goes on to answer its scheduler."""
    return await asyncio.get_running_loop().run_in_executor(None, row, words, variables, timeout, most)


def host_name() -> str:
    """The first part of the name of this host."""
    import platform

    return platform.node().partition(".")[0]
