"""Reading of regular files, up to a size."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 4 << 20
"""The largest size of a schema file."""

# Opening a named pipe would wait for a writer; Windows would translate line ends.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class NotRegularFileError(OSError):
    """A folder, a pipe, a socket or a device."""


class TooLargeError(OSError):
    """More bytes than are allowed."""


def read_regular_file(path: str | Path, limit: int) -> bytes:
    """Return the bytes of a file, at most `limit`; no more than one beyond that is read.

    Raises `NotRegularFileError`, `TooLargeError`, or another `OSError` of the system.
    """
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFileError("it is not a regular file")
    size = status.st_size
    if size > limit:
        raise TooLargeError(f"it has more than {limit} bytes")
    with open(os.open(path, _FLAGS), "rb") as file:
        content = file.read(size + 1)
        # A file may grow meanwhile, and some files of the system report a size of 0.
        if len(content) > size:
            content += file.read(limit - size)
    if len(content) > limit:
        raise TooLargeError(f"it has more than {limit} bytes")
    return content
