"""The header of a snapshot: which tensors lie where, and what is said of them all.

A file is one of safetensors (github.com/huggingface/safetensors): `u64` N, N bytes of JSON padded
with spaces, then the tensors without holes. Nothing here knows what the tensors mean.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import prod
from typing import Any, Final

import numpy as np

from ..base.errors import short_repr
from ..tables.buffers import PAGE, round_up_pages
from .documents import json_text, parsed_json, refuse

FORMAT: Final = 1
MAX_HEADER: Final = 16 * 1024 * 1024
LENGTH_BYTES: Final = 8
PAD: Final = "_pad."

DTYPES: Final[Mapping[str, np.dtype[Any]]] = {
    "BOOL": np.dtype(np.bool_),
    **{f"I{8 * size}": np.dtype(f"<i{size}") for size in (1, 2, 4, 8)},
    **{f"U{8 * size}": np.dtype(f"<u{size}") for size in (1, 2, 4, 8)},
    **{f"F{8 * size}": np.dtype(f"<f{size}") for size in (4, 8)},
}
NAMES: Final = {dtype: name for name, dtype in DTYPES.items()}

_BEGINNING: Final = b'{"__metadata__":{"ecsgen":"%d","crc32":"' % FORMAT
_ANY_FORMAT: Final = re.compile(rb'{"__metadata__":{"ecsgen":"([1-9][0-9]{0,8})"')
_CRC_AT: Final = LENGTH_BYTES + len(_BEGINNING)
_CRC_END: Final = _CRC_AT + 8
_CRC: Final = re.compile("[0-9a-f]{8}")
_PAD_NAME: Final = re.compile(r"_pad\.(0|[1-9][0-9]*)")
_TEXTS: Final = ("fingerprint", "schema", "state", "checksums")
_MAX_DIMENSIONS: Final = 32
_MAX_BYTES: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """A tensor's type, shape and place, in bytes from the end of the header."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    end: int


Entries = Mapping[str, TensorEntry]
Checksums = Mapping[str, str]
"""CRC-32 of the bytes of each tensor, but of empty ones and padding, as eight hex digits."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file, parsed."""

    nbytes: int
    """Size of the header, its length included: where the tensors begin."""
    metadata: Mapping[str, str]
    entries: Entries
    checksums: Checksums

    @property
    def file_bytes(self) -> int:
        """Size of the file: nothing is behind the last tensor."""
        return self.nbytes + max((e.end for e in self.entries.values()), default=0)


def is_pad(name: str) -> bool:
    """Return True if a tensor is only padding between others."""
    return name.startswith(PAD)


def hex_digits(crc: int) -> str:
    """Return a CRC-32 as eight hex digits."""
    return f"{crc:08x}"


def header_bytes(metadata: Mapping[str, str], entries: Entries, checksums: Checksums) -> bytes:
    """Return the header: the length, the JSON with its own checksum, and spaces up to a page."""
    file_metadata = {
        "ecsgen": str(FORMAT),
        "crc32": hex_digits(0),
        **metadata,
        "checksums": json_text(dict(checksums)),
    }
    tensors = {
        name: {
            "dtype": NAMES[entry.dtype],
            "shape": entry.shape,
            "data_offsets": (entry.start, entry.end),
        }
        for name, entry in entries.items()
    }
    text = json_text({"__metadata__": file_metadata, **tensors}).encode("ascii")
    size = round_up_pages(LENGTH_BYTES + len(text))
    length = (size - LENGTH_BYTES).to_bytes(LENGTH_BYTES, "little")
    header = bytearray((length + text).ljust(size))
    header[_CRC_AT:_CRC_END] = hex_digits(zlib.crc32(header)).encode("ascii")
    return bytes(header)


def header_size(beginning: bytes, file: str) -> int:
    """Return how long the header is, from the first 8 bytes of a file."""
    if len(beginning) < LENGTH_BYTES:
        refuse(file, f"{len(beginning)} bytes are too few for a snapshot")
    size = LENGTH_BYTES + int.from_bytes(beginning[:LENGTH_BYTES], "little")
    if size % PAGE or not PAGE <= size <= LENGTH_BYTES + MAX_HEADER:
        refuse(file, "is no snapshot: no header has the length that it says")
    return size


def parsed_header(data: bytes, file: str) -> Header:
    """Return the header of a file, all of it checked; O(len(data))."""
    _check_beginning(data, file)
    try:
        text = data[LENGTH_BYTES:].decode("utf-8").rstrip(" ")
    except UnicodeDecodeError:
        refuse(file, "the header is not UTF-8")
    document = parsed_json(text, "the header", file)
    if not (type(document) is dict and text.endswith("}")):
        refuse(file, "the header is no JSON object padded with spaces")
    metadata = _metadata(document.pop("__metadata__", None), file)
    entries = {name: _entry(name, entry, file) for name, entry in document.items()}
    checksums = parsed_json(metadata["checksums"], "the checksums", file)
    _check_checksums(checksums, entries, file)
    _check_places(entries, file)
    return Header(len(data), metadata, entries, checksums)


def _check_beginning(data: bytes, file: str) -> None:
    match = _ANY_FORMAT.match(data, LENGTH_BYTES)
    if match is None:
        refuse(file, "is no snapshot: the header does not begin as that of one")
    number = int(match[1])
    if number != FORMAT:
        refuse(file, f"has format {number}, and this package reads format {FORMAT}")
    written_crc = data[_CRC_AT:_CRC_END]
    zeroed = b"".join((data[:_CRC_AT], b"0" * len(written_crc), data[_CRC_END:]))
    crc = hex_digits(zlib.crc32(zeroed)).encode("ascii")
    if data[LENGTH_BYTES:_CRC_AT] != _BEGINNING or written_crc != crc:
        refuse(file, "the header is damaged: its checksum is that of another one")


def _metadata(metadata: Any, file: str) -> dict[str, str]:
    if type(metadata) is not dict:
        refuse(file, "the header has no __metadata__")
    for name, text in metadata.items():
        if type(text) is not str:
            refuse(file, f"the header's {short_repr(name)} is no string")
    for name in _TEXTS:
        if name not in metadata:
            refuse(file, f"the header has no {name}")
    schema: str = metadata["schema"]
    digest = sha256(schema.encode("utf-8", "surrogatepass")).hexdigest()
    if digest != metadata["fingerprint"]:
        refuse(file, "the header's fingerprint is not that of its schema")
    return metadata


def _entry(name: str, entry: Any, file: str) -> TensorEntry:
    if type(entry) is not dict or sorted(entry) != ["data_offsets", "dtype", "shape"]:
        refuse(file, "wanted dtype, shape and data_offsets", short_repr(name))
    dtype = DTYPES.get(entry["dtype"]) if type(entry["dtype"]) is str else None
    if dtype is None:
        refuse(file, f"no dtype {short_repr(entry['dtype'])} is known", short_repr(name))
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not _are_sizes(shape) or len(shape) > _MAX_DIMENSIONS:
        refuse(file, "its shape is none", short_repr(name))
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        refuse(file, "its data_offsets are none", short_repr(name))
    start, end = offsets
    nbytes = dtype.itemsize * prod(shape)
    if prod(size or 1 for size in shape) * dtype.itemsize > _MAX_BYTES:
        refuse(file, "its shape is beyond any memory", short_repr(name))
    if end - start != nbytes:
        refuse(file, f"{end - start} bytes, its shape has {nbytes}", short_repr(name))
    if is_pad(name) and not (_PAD_NAME.fullmatch(name) and dtype == np.uint8 and len(shape) == 1):
        refuse(file, "padding is `_pad.K`, a flat U8", short_repr(name))
    return TensorEntry(dtype, tuple(shape), start, end)


def _are_sizes(sizes: Any) -> bool:
    return type(sizes) is list and all(
        type(size) is int and 0 <= size <= _MAX_BYTES for size in sizes
    )


def _check_checksums(checksums: Any, entries: Entries, file: str) -> None:
    if type(checksums) is not dict:
        refuse(file, "the checksums are no JSON object")
    for name, digits in checksums.items():
        if type(digits) is not str or not _CRC.fullmatch(digits):
            refuse(file, "its checksum is no eight hex digits", short_repr(name))
    wanted = {n for n, e in entries.items() if e.end > e.start and not is_pad(n)}
    for name in sorted(wanted - checksums.keys())[:1]:
        refuse(file, "has no checksum", short_repr(name))
    for name in sorted(checksums.keys() - wanted)[:1]:
        why = "there is a checksum, but no such tensor that has any bytes"
        refuse(file, why, short_repr(name))


def _check_places(entries: Entries, file: str) -> None:
    """Refuse tensors that overlap, or that have anything between them."""
    at = 0
    for name, entry in sorted(entries.items(), key=lambda e: (e[1].start, e[1].end)):
        if entry.start < at:
            refuse(file, "overlaps another tensor", short_repr(name))
        if entry.start > at:
            refuse(file, "bytes of no tensor are before it", short_repr(name))
        at = entry.end
