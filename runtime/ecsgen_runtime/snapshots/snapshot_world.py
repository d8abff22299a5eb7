"""Worlds as files that outlive the code: saved, and loaded by whatever the schemas are by then.

What that needs is imported when it is first used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

from .saved_world import SavedWorld

if TYPE_CHECKING:
    from ..base.provenance import Provenance
    from .documents import Codec
    from .migration_view import Snapshot


class _Writable(Protocol):
    def write(self, data: bytes, /) -> object: ...


class _Readable(Protocol):
    def read(self) -> bytes: ...


_Path: TypeAlias = str | os.PathLike[str]


class SnapshotWorld(SavedWorld):
    """A world that can be saved."""

    __slots__ = ()

    def save(
        self,
        target: _Path | _Writable,
        /,
        *,
        codecs: Mapping[str, Codec] | None = None,
        sync: bool = True,
        verify: bool = True,
    ) -> None:
        """Write all entities, rows and attributes into a file; O(bytes).

        A path has the old file or the new one, whatever happens meanwhile; `sync=False`
        does not wait for the disk. Columns of objects go through `codecs`, by name:
        `{"effect.handle": (to_bytes, from_bytes)}`; None instead of a pair leaves one out,
        `"*"` stands for all others. Callbacks and capacities are not saved. `verify=False`
        saves cells that `load` refuses, too, which views can hold.

        Raises:
            SnapshotError: a column of objects, or an attribute that is not JSON, has no
                codec; a cell holds no value of its field, and `load` would refuse it.
            ValueError: a codec is for a column that there is not.
            StructureLockedError: a callback is running.
            OSError: as for every file.
        """
        from .saving import save

        save(self, target, codecs, sync, verify)

    def to_bytes(self, *, codecs: Mapping[str, Codec] | None = None, verify: bool = True) -> bytes:
        """Return the bytes that `save` writes; equal for equal worlds. O(bytes)."""
        from .saving import plan_of

        return plan_of(self, codecs, verify).to_bytes()

    def provenance(self) -> Provenance:
        """Return what the world came from, as JSON can hold it; O(bytes).

        Digests of the package and its schemas, versions, platform, seed, tick, and a digest
        of the world: the SHA-256 of what `save` writes, with columns of objects left out.
        `ecsgen verify` compares a file that has it with what is here.

        Raises:
            StructureLockedError: a callback is running.
        """
        from .saving import provenance_of

        return provenance_of(self, self._schema().__package__ or "")

    @classmethod
    def load(
        cls,
        source: _Path | _Readable | bytes | bytearray | memoryview,
        /,
        *,
        mmap: bool = False,
        verify: bool | None = None,
        codecs: Mapping[str, Codec] | None = None,
        drop: Iterable[str] = (),
        migrate: Callable[[Snapshot], object] | None = None,
    ) -> Self:
        """Make a world of a snapshot: of a path, of bytes, or of a binary file's rest.

        It goes on as the saved one would have. Rows are matched by name where the schemas
        changed since: `renamed_from` and `removed` in the schemas say what names can't,
        `drop` what else may get lost, and `migrate` is called with the old content first.

        With `mmap`, of a path, columns are the file's own pages, copied when written to:
        opening takes no time, and the file never changes. `verify` (by default unless
        mapped) checks every byte, and that the content can be true: let nothing else be
        the default for files that others wrote. Nothing in a file is ever run.

        Raises:
            SnapshotError: the file is damaged, or says what can't be, or what is not in the
                schemas any more; it says where.
            ValueError: something else than a path is to be mapped.
            OSError: as for every file.
        """
        from .saving import load

        return load(cls, source, mmap, verify, codecs, drop, migrate)
