"""Who may write a file or a folder that one process writes at a time."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from errno import EWOULDBLOCK
from io import FileIO
from typing import Final
from weakref import WeakSet

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_IS_POSIX: Final = os.name == "posix"
_LOCKED_BYTE: Final = 2**30
"""Windows lets nobody else read what is locked: this is far behind all that is written."""


class FileLock:
    """The right to write something, until `close`, or until nobody has this any more.

    It is the system's lock on a small file that is there meanwhile and says which process holds it.
    However that process ends, the lock ends with it, and the next one takes the file over.
    """

    _file: FileIO | None = None
    _is_held = False

    def __init__(self, target: str, path: str) -> None:
        """Take the lock for writing `target`, which is the file `path`.

        BlockingIOError, if somebody has it, names the process and the target.
        """
        self._path = path
        try:
            while not self._is_held:
                self._file = file = FileIO(path, "a+")
                is_free = _try_lock(file.fileno())
                if not is_still(path, file.fileno()):  # who had it took it away
                    file.close()
                    continue
                if not is_free:
                    file.seek(0)
                    holder = file.read(20).decode("ascii", "replace") or "unknown"
                    problem = f"process {holder} writes this, one does at a time"
                    raise BlockingIOError(EWOULDBLOCK, problem, target)
                self._is_held = True
            with suppress(OSError):  # on a full disk nobody learns the number
                file.truncate(0)
                file.write(str(os.getpid()).encode())
            _LOCKS.add(self)
        except BaseException:
            self.close()
            raise

    @property
    def is_lost(self) -> bool:
        """Whether it is closed, or this is a forked process: the lock stays with its parent."""
        return self._file is None or self._file.closed

    def close(self) -> None:
        """Let others have it."""
        if self._file is None or self._file.closed:
            return
        is_held, self._is_held = self._is_held, False
        with suppress(OSError):
            if is_held and _IS_POSIX:
                os.unlink(self._path)  # while nobody else can have it
        self._file.close()
        with suppress(OSError):
            if is_held and not _IS_POSIX:
                os.unlink(self._path)  # which nobody has open

    def __del__(self) -> None:
        self.close()

    def _leave_to_parent(self) -> None:
        if self._file is not None:
            self._file.close()


_LOCKS: Final[WeakSet[FileLock]] = WeakSet()


def is_still(path: str, handle: int) -> bool:
    """Return whether an open file has this path, and nobody has removed it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


if sys.platform == "win32":

    def _try_lock(handle: int) -> bool:
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _try_lock(handle: int) -> bool:
        """Lock a file until it is closed; return whether nobody else has. Some network drives
        have no locks: there, nobody is kept away."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def _leave_all_to_parent() -> None:
        for lock in [*_LOCKS]:
            lock._leave_to_parent()

    # A lock would last as long as any forked process: workers outlive a parent that is killed.
    os.register_at_fork(after_in_child=_leave_all_to_parent)
