"""The exceptions that the standard library raises for damaged archives, for all modules that open one."""

import lzma
import struct
import tarfile
import zipfile
import zlib

DAMAGE: tuple[type[Exception], ...] = (
    OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, struct.error, ValueError, OverflowError,
    IndexError, KeyError, TypeError, AssertionError, NotImplementedError, RuntimeError, RecursionError, MemoryError,
)  # fmt: skip
"""To be caught around calls that read an archive, and nowhere else.

Beside the errors that the modules document, damaged bytes give a TypeError (a gzip header that ends too early, in a stream), an IndexError
(`ZipInfo.is_dir` of a member whose name became empty), a struct.error (an extra field that is cut off), a NotImplementedError (a method of
compression that Python lacks) and a RuntimeError (a member that claims to be encrypted).
"""


def reason(error: BaseException) -> str:
    """The first line of an error's message, at most 200 letters; the name of its type where it has none."""
    said = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    return (said.strip().splitlines() or [type(error).__name__])[0][:200]
