"""One build at a time per output folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: builds there are not kept apart
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def exclusive(output: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the folder that an output folder is in; `on_wait` is called if another build does.

    The system lets go when the process ends, however it ends, and no file is left behind.
    """
    folder = output.parent
    while not folder.is_dir():
        folder = folder.parent
    handle = _open(folder)
    try:
        if handle is not None:
            _lock(handle, on_wait)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _open(folder: Path) -> int | None:
    """None where folders can't be opened or locked: then builds are not kept apart."""
    if fcntl is None:
        return None
    try:
        return os.open(folder, os.O_RDONLY)
    except OSError:
        return None


def _lock(handle: int, on_wait: Callable[[], None]) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        on_wait()
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        pass
