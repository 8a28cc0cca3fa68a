"""What the standard library raises for the bytes of a damaged archive: one list, for everything here that opens one."""

import lzma
import struct
import tarfile
import zipfile
import zlib

DAMAGE: tuple[type[Exception], ...] = (
    OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, struct.error, ValueError, OverflowError,
    IndexError, KeyError, TypeError, AssertionError, NotImplementedError, RuntimeError, RecursionError, MemoryError,
)  # fmt: skip
"""Catch it around the calls that read an archive, and nothing else.

Beside the errors that the modules document, damaged bytes give a TypeError (a gzip header that ends too early, in a stream), an IndexError
(`ZipInfo.is_dir` of a member whose name became empty), a struct.error (an extra field that is cut off), a NotImplementedError (a method of
compression that nobody has) and a RuntimeError (a member that claims to be encrypted).
"""


def reason(error: BaseException) -> str:
    """The first line of what an error says, at most 200 letters, or the name of its type where it says nothing."""
    said = error.strerror or str(error) if isinstance(error, OSError) else str(error)
    return (said.strip().splitlines() or [type(error).__name__])[0][:200]
