"""One build at a time per output folder."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

if sys.platform != "win32":
    import fcntl


@contextlib.contextmanager
def exclusive(output: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the folder that an output folder is in; `on_wait` is called if another build does.

    The system lets go when the process ends, however it ends, and no file is left behind. Where
    folders can't be locked (Windows, some network drives), builds are not kept apart.
    """
    folder = output.parent
    while not folder.is_dir():
        folder = folder.parent
    with contextlib.ExitStack() as held:
        if sys.platform != "win32":
            with contextlib.suppress(OSError):
                handle = os.open(folder, os.O_RDONLY)
                held.callback(os.close, handle)
                _lock(handle, on_wait)
        yield


if sys.platform != "win32":

    def _lock(handle: int, on_wait: Callable[[], None]) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(handle, fcntl.LOCK_EX)
