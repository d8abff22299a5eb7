"""Reading files that anybody may have put there: plain ones, and none of any size."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 4 << 20
"""The most that a schema file may have."""

MAX_OUTPUT_BYTES: Final = 1 << 30
"""More than any generated file has; what is larger need not be read to know that it is none."""

# Opening a named pipe would wait until somebody writes to it; Windows reads text otherwise.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotPlainError(OSError):
    """A folder, a pipe, a socket or a device."""


class TooLargeError(OSError):
    """More bytes than are allowed."""


def read_plain(path: str | Path, limit: int) -> bytes:
    """Return a file's bytes, of which `limit` are allowed; no more than one beyond that is read.

    Raises `NotPlainError`, `TooLargeError`, or another `OSError` if the system refuses.
    """
    size = _size(os.stat(path))
    if size > limit:
        raise TooLargeError(f"it has more than {limit} bytes")
    with open(os.open(path, _FLAGS), "rb") as file:
        content = file.read(size + 1)
        # A file may grow meanwhile, and some of the system's say that they are empty.
        if len(content) > size:
            content += file.read(limit - size)
    if len(content) > limit:
        raise TooLargeError(f"it has more than {limit} bytes")
    return content


def _size(found: os.stat_result) -> int:
    if not stat.S_ISREG(found.st_mode):
        raise NotPlainError("it is not a plain file")
    return found.st_size
