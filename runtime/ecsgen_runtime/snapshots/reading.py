"""Snapshots are read: from a path, from bytes or from a file, or mapped.

Of files that anybody may have written: the header is checked before anything is allocated, memory
stays in proportion to the file, and so does time.
"""

from __future__ import annotations

import os
import stat
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import FileIO
from itertools import pairwise
from mmap import ACCESS_COPY, mmap
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..tables.buffers import PAGE, unfilled
from .documents import refuse
from .header import LENGTH_BYTES, Header, header_size, hex_digits, is_pad, parsed_header

NAMELESS: Final = "<bytes>"


class SnapshotFile:
    """A file that was read or mapped, and whose header is right.

    Arrays are views of its bytes; writing to them never changes the file on the disk.
    """

    def __init__(self, name: str, pieces: Iterable[tuple[int, memoryview]], header: Header) -> None:
        """`pieces`: the file's bytes and their offsets, one piece behind the other; the header may
        be left out."""
        self.name = name
        """The file's name, or `<bytes>`: every message begins with it."""
        self.metadata: Mapping[str, str] = header.metadata
        """`fingerprint`, `schema` and `state` among them."""
        self._starts, self._pieces = zip(*pieces, strict=True)
        self._header = header
        entries = header.entries
        self.arrays: dict[str, NDArray[Any]] = {
            tensor: self._array(tensor) for tensor in entries if not is_pad(tensor)
        }
        """Arrays by tensor, without padding; native, aligned, read-only if made of bytes."""
        self._spans = sorted(self._span(t) for t, a in self.arrays.items() if a.nbytes)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole file."""
        return self._header.file_bytes

    def offset(self, tensor: str) -> int:
        """Return a tensor's first byte in the file."""
        return self._span(tensor)[0]

    def part(
        self, offsets: Mapping[str, int], size: int, align: int = PAGE
    ) -> NDArray[np.uint8] | None:
        """Return the bytes of a part, not copied, as an array with a base of its own; O(k).

        `offsets` say where its k tensors lie in it, as when it was written. None if they do not
        lie so, each at its place in a part that begins aligned and ends within the file, with
        nothing of other tensors in it; or if all are empty, or the bytes are the caller's.
        """
        filled = [tensor for tensor in offsets if self.arrays[tensor].nbytes]
        starts = {self.offset(tensor) - offsets[tensor] for tensor in filled}
        if len(starts) != 1:
            return None
        start = starts.pop()
        end = start + size
        if start % align or start < self._header.nbytes:
            return None
        first, last = (bisect_left(self._spans, (offset,)) for offset in (start, end))
        before = self._spans[first - 1][1] if first else 0
        if before > start or last - first > len(filled):
            return None
        data = self._bytes(start, end)
        if len(data) < size or data.readonly:
            return None
        # two arrays: numpy makes the first one the base of all views, and no other's
        return np.frombuffer(data, np.uint8)[:]

    def verify(self) -> None:
        """Refuse a file in which a checksum is wrong, or padding is not zero; O(bytes)."""
        checksums = self._header.checksums
        for tensor in self._header.entries:
            data = self._bytes(*self._span(tensor))
            if is_pad(tensor):
                if np.frombuffer(data, np.uint8).any():
                    refuse(self.name, "padding is not zero", tensor)
            elif len(data) and hex_digits(zlib.crc32(data)) != checksums[tensor]:
                why = "damaged: its checksum is that of other bytes"
                refuse(self.name, why, tensor)

    def _array(self, tensor: str) -> NDArray[Any]:
        entry = self._header.entries[tensor]
        dtype = entry.dtype.newbyteorder("=")
        if entry.start == entry.end:
            return np.empty(entry.shape, dtype)
        count = (entry.end - entry.start) // dtype.itemsize
        data = self._bytes(*self._span(tensor))
        flat = np.frombuffer(data, entry.dtype, count)
        flat = flat.astype(dtype, copy=not flat.flags.aligned)
        return flat.reshape(entry.shape)

    def _bytes(self, start: int, end: int) -> memoryview:
        """Return the bytes from one place in the file up to another, not copied: as far as they
        lie in one piece, as those of every tensor do. O(log pieces)."""
        number = bisect_right(self._starts, start) - 1
        piece: memoryview = self._pieces[number]
        return piece[start - self._starts[number] : end - self._starts[number]]

    def _span(self, tensor: str) -> tuple[int, int]:
        """Return a tensor's first byte in the file, and the first one behind it."""
        entry = self._header.entries[tensor]
        return self._header.nbytes + entry.start, self._header.nbytes + entry.end


def read_snapshot(source: Any, /, *, map_pages: bool = False) -> SnapshotFile:
    """Return a snapshot from a path, from bytes, or from a binary file, which is read to its end.

    With `map_pages`, of a path alone, its pages are mapped, and copied when they are written to.
    Nothing but the header is checked; that is what `verify` is for. O(bytes), mapped O(header).

    Raises:
        SnapshotError: the header is wrong, or the path is that of no regular file.
        ValueError: something else than a path is to be mapped.
        OSError: as for every file.
    """
    if isinstance(source, str | os.PathLike):
        return _read_path(os.fsdecode(source), map_pages)
    if map_pages:
        raise ValueError(f"only a path can be mapped, not {type(source).__name__}")
    if hasattr(source, "read"):
        source = source.read()
    content = memoryview(source).cast("B").toreadonly()
    header = _header(lambda start, end: content[start:end], len(content), NAMELESS)
    return SnapshotFile(NAMELESS, [(0, content)], header)


def _read_path(path: str, map_pages: bool) -> SnapshotFile:
    name = os.path.basename(path) or path
    _check_regular(os.stat(path), name)
    with FileIO(path, opener=_opened) as file:
        status = os.fstat(file.fileno())
        _check_regular(status, name)
        nbytes = status.st_size
        header = _header(lambda start, end: file.read(end - start), nbytes, name)
        if map_pages:
            pages = memoryview(mmap(file.fileno(), nbytes, access=ACCESS_COPY))
            return SnapshotFile(name, [(0, pages)], header)
        return SnapshotFile(name, _read_pieces(file, header, nbytes, name), header)


def _read_pieces(
    file: FileIO, header: Header, nbytes: int, name: str
) -> Iterator[tuple[int, memoryview]]:
    """Yield the rest of a file in pieces, each in memory of its own, and their offsets."""
    starts = [*_piece_starts(header), nbytes]
    for start, end in pairwise(starts):
        piece = left = unfilled(end - start).data
        while len(left):
            count = file.readinto(left)
            if not count:
                refuse(name, f"{len(left)} bytes went while it was read")
            left = left[count:]
        yield start, piece


def _piece_starts(header: Header) -> Iterator[int]:
    """Yield the offsets of pieces: on a page, before tensors of another prefix.

    So what lies together stays together, and whoever takes a part keeps nothing else.
    """
    yield header.nbytes
    previous = ""
    for tensor, entry in sorted(header.entries.items(), key=lambda item: item[1].start):
        prefix = tensor.rpartition(".")[0]
        if is_pad(tensor) or entry.start == entry.end or prefix == previous:
            continue
        offset = header.nbytes + entry.start
        if previous and offset % PAGE == 0:
            yield offset
        previous = prefix


def _opened(path: str, flags: int) -> int:
    # not waiting for a file that has replaced it at the path meanwhile
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_regular(status: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        refuse(name, "is no regular file")


def _header(read: Callable[[int, int], bytes | memoryview], nbytes: int, name: str) -> Header:
    """Return the header of a file of so many bytes; `read` reads on, from one place to another."""
    beginning = bytes(read(0, LENGTH_BYTES))
    size = header_size(beginning, name)
    if size > nbytes:
        refuse(name, f"{nbytes} bytes, its header alone has {size}")
    header = parsed_header(beginning + read(LENGTH_BYTES, size), name)
    if header.file_bytes != nbytes:
        refuse(name, f"{nbytes} bytes, its header says {header.file_bytes}")
    return header
