"""Snapshots are written: tensors where they can be mapped from, and their checksums in front.

The same content makes the same bytes, in the order given. Checksums stand before what they are of,
so whoever can go back in a file writes the header last, and two threads take them meanwhile;
otherwise there are two passes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import index
from threading import Thread
from typing import IO, Any, Final, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from ..tables.buffers import CACHE_LINE, PAGE
from .documents import refuse
from .header import LENGTH_BYTES, MAX_HEADER, PAD, Checksums, TensorEntry, header_bytes, hex_digits

_BLOCK: Final = 1 << 19
_MANY_BYTES: Final = 1 << 20
"""Number of bytes from which a second thread is worth its start."""
_ZEROS: Final = memoryview(bytes(_BLOCK))
_BYTE: Final = np.dtype(np.uint8)


@dataclass(frozen=True, slots=True)
class Tensor:
    """An array that is written, shape (n, ...), and its first byte in its part.

    Text and bytes (dtype `S<N>`) get another dimension, of N bytes.
    """

    name: str
    array: NDArray[Any]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class TensorGroup:
    """Tensors that lie together, by ascending offset, and how many bytes from the first one on are
    theirs. What is between and behind them is padding."""

    tensors: tuple[Tensor, ...]
    size: int
    align: int = PAGE
    """Offset of the part's first byte in the file."""


def single(name: str, array: NDArray[Any]) -> TensorGroup:
    """Return the part of a tensor that lies alone, on a cache line."""
    return TensorGroup((Tensor(name, array),), array.nbytes, CACHE_LINE)


class FilePlan:
    """Where everything is going to lie in a file.

    `metadata` are `fingerprint`, `schema` and `state`; `file` is what errors begin with. The
    arrays are not copied, unless they are not contiguous or not little-endian, and must stay as
    they are until the file is written. Raises SnapshotError if the header is too long.
    """

    def __init__(
        self, file: str, metadata: Mapping[str, str], parts: Iterable[TensorGroup]
    ) -> None:
        self._metadata = metadata
        self.arrays: dict[str, NDArray[Any]] = {}
        """Checksums by tensor, without padding, as they are written."""
        self._entries: dict[str, TensorEntry] = {}
        self._bytes: dict[str, memoryview] = {}
        self._n_pads = 0
        self._end = 0
        for part in parts:
            self._add(part)
        names = [name for name, data in self._bytes.items() if len(data)]
        self._blank = dict.fromkeys(names, hex_digits(0))
        self.header_size = len(self._header(self._blank))
        if self.header_size > LENGTH_BYTES + MAX_HEADER:
            refuse(file, f"its header would be longer than {MAX_HEADER} bytes")

    def to_bytes(self) -> bytes:
        """Return the whole file; the checksums take a pass of their own."""
        pieces = (block for name in self._entries for block in self._blocks(name))
        return b"".join((self._header(self._checksums()), *pieces))

    def write_to(self, write: Callable[[bytes], object]) -> None:
        """Write the whole file in order, in two passes.

        What is given to `write` are copies, for it may keep them. It may write less than that, and
        return how much; None means all.
        """
        _write_all(write, self._header(self._checksums()))
        for name in self._entries:
            for block in self._blocks(name):
                _write_all(write, bytes(block))

    def write_into(self, file: IO[bytes]) -> None:
        """Write the whole file from its beginning; another thread takes checksums meanwhile.

        `file` can be gone back in, and buffers nothing.
        """
        file.seek(self.header_size)
        sums = _SharedSums({name: self._bytes[name] for name in self._blank})
        with sums.taken_meanwhile(self._end):
            for name in self._entries:
                is_claimed, crc = sums.claim(name), 0
                for block in self._blocks(name):
                    if is_claimed:
                        crc = zlib.crc32(block, crc)
                    _write_all(file.write, block)
                if is_claimed:
                    sums.found[name] = hex_digits(crc)
        header = self._header({name: sums.found[name] for name in self._blank})
        file.seek(0)
        _write_all(file.write, header)

    def _add(self, part: TensorGroup) -> None:
        start = self._end
        if part.size:
            start = -(-self._end // part.align) * part.align
        for tensor in part.tensors:
            if tensor.array.size:
                self._pad(start + tensor.offset)
            self._place(tensor.name, tensor.array)
        self._pad(start + part.size)

    def _place(self, name: str, array: NDArray[Any]) -> None:
        if array.dtype.kind == "S":
            array = array[..., None].view(np.uint8)
        if array.dtype.kind in "mM":
            array = array.view(np.int64)
        stored, shape = array.dtype.newbyteorder("<"), array.shape
        flat = np.ascontiguousarray(array, stored).reshape(-1).view(np.uint8)
        start, self._end = self._end, self._end + flat.nbytes
        self._entries[name] = TensorEntry(stored, shape, start, self._end)
        self.arrays[name] = flat.view(stored).reshape(shape)
        self._bytes[name] = flat.data

    def _pad(self, offset: int) -> None:
        count = offset - self._end
        if count:
            name = f"{PAD}{self._n_pads}"
            self._n_pads += 1
            self._entries[name] = TensorEntry(_BYTE, (count,), self._end, offset)
            self._end = offset

    def _header(self, checksums: Checksums) -> bytes:
        return header_bytes(self._metadata, self._entries, checksums)

    def _checksums(self) -> dict[str, str]:
        return {name: hex_digits(zlib.crc32(self._bytes[name])) for name in self._blank}

    def _blocks(self, name: str) -> Iterator[bytes | memoryview]:
        entry = self._entries[name]
        size = entry.end - entry.start
        for start in range(0, size, _BLOCK):
            count = min(_BLOCK, size - start)
            if name in self._bytes:
                yield self._bytes[name][start : start + count]
            else:
                yield _ZEROS[:count]


class _SharedSums:
    """Checksums of tensors, each taken by whoever claims it first: the thread that writes, from
    the first on, while a block is in its cache, or a second one, from the last on."""

    def __init__(self, tensors: Mapping[str, memoryview]) -> None:
        self._unclaimed = dict(tensors)
        self.found: dict[str, str] = {}

    def claim(self, name: str) -> bool:
        """Return True if the caller has to take a tensor's checksum."""
        return self._unclaimed.pop(name, None) is not None

    @contextmanager
    def taken_meanwhile(self, nbytes: int) -> Iterator[None]:
        """Run a second thread that takes checksums inside the block, if there are many bytes."""
        thread = Thread(target=self._take_rest)
        with suppress(RuntimeError):  # the interpreter is about to end: no more threads
            if nbytes >= _MANY_BYTES:
                thread.start()
        try:
            yield
        finally:
            self._unclaimed.clear()
            if thread.ident is not None:
                thread.join()

    def _take_rest(self) -> None:
        with suppress(KeyError):  # nothing is left
            while True:
                name, data = self._unclaimed.popitem()
                self.found[name] = hex_digits(zlib.crc32(data))


def _write_all(write: Callable[[Any], object], data: bytes | memoryview) -> None:
    """Call `write` until it has taken all: it returns how much that was, or no number for all.

    Raises OSError if it takes nothing.
    """
    while len(data):
        written = write(data)
        if isinstance(written, bool) or not isinstance(written, SupportsIndex):
            return
        count = index(written)
        if count <= 0:
            raise OSError(f"{count} of {len(data)} bytes were written")
        data = data[count:]
