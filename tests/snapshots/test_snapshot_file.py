"""Files of snapshots: their parts and places, and that there is a whole one or none."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base import files
from ecsgen_runtime.base.errors import SnapshotError
from ecsgen_runtime.base.files import replace_file, try_lock
from ecsgen_runtime.snapshots import header as headers
from ecsgen_runtime.snapshots.reading import SnapshotFile, read_snapshot
from ecsgen_runtime.snapshots.writing import FilePlan, Tensor, TensorGroup, single
from numpy.typing import NDArray
from safetensors.numpy import load as load_safetensors
from safetensors.numpy import load_file

from tests.kill_during_save import kill_many

Arrays = dict[str, NDArray[Any]]
PAGE = 4096
SCHEMA = '{"version":0}'
METADATA = {
    "fingerprint": sha256(SCHEMA.encode()).hexdigest(),
    "schema": SCHEMA,
    "state": '{"x":"\\u00fc\\ud800"}',
}


def town(n: int = 70) -> tuple[Arrays, list[TensorGroup]]:
    """A manager of n rows, as its buffer has it, and two tensors that lie alone."""
    rng = np.random.default_rng(n)
    columns: Arrays = {
        "body.entity": rng.integers(1, 2**63, n, np.uint64),
        "body.place": rng.random((n, 3), np.float32),
        "body.flag": rng.integers(0, 2, n).astype(np.bool_),
        "body.matrix": rng.random((n, 2, 2)),
    }
    capacity = -(-n // 64) * 64
    tensors, at = [], 0
    for name, column in columns.items():
        tensors.append(Tensor(name, column, at))
        at += capacity * (column[:1].nbytes or 0)
    alone: Arrays = {
        "entities.handles": np.arange(1, 10, dtype=np.uint64),
        "entities.free": np.empty(0, np.uint32),
    }
    parts = [TensorGroup(tuple(tensors), -(-at // PAGE) * PAGE)]
    parts += [single(name, array) for name, array in alone.items()]
    return columns | alone, parts


def plan(parts: list[TensorGroup]) -> FilePlan:
    return FilePlan("town.snap", METADATA, parts)


def blob(n: int = 70) -> bytes:
    return plan(town(n)[1]).to_bytes()


def read(data: Any) -> SnapshotFile:
    snapshot = read_snapshot(data)
    snapshot.verify()
    return snapshot


def assert_same(arrays: Mapping[str, NDArray[Any]], wanted: Arrays) -> None:
    assert arrays.keys() == wanted.keys()
    for name, array in wanted.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].dtype.isnative
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes(), name


def document(data: bytes) -> dict[str, Any]:
    size = 8 + int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8:size])
    return header


def mended(text: bytes, rest: bytes, length: int | None = None) -> bytes:
    """A file of this header, padded, whose own checksum is right."""
    size = -(-(8 + len(text)) // PAGE) * PAGE
    head = (size - 8 if length is None else length).to_bytes(8, "little") + text.ljust(size - 8)
    zeroed = head[:47] + b"0" * 8 + head[55:]
    return head[:47] + f"{zlib.crc32(zeroed):08x}".encode() + head[55:] + rest


def rewritten(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """A file with another header, whose own checksum is right."""
    header = document(data)
    change(header)
    size = 8 + int.from_bytes(data[:8], "little")
    return mended(json.dumps(header, separators=(",", ":")).encode(), data[size:])


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000])
def test_arrays_come_back_and_any_reader_of_safetensors_finds_them(n: int, tmp_path: Path) -> None:
    arrays, parts = town(n)
    data = plan(parts).to_bytes()
    snapshot = read(data)
    assert_same(snapshot.arrays, arrays)
    assert {key: snapshot.metadata[key] for key in METADATA} == METADATA
    path = tmp_path / "town.snap"
    path.write_bytes(data)
    assert_same(read(path).arrays, arrays)
    others = {k: v for k, v in load_file(path).items() if not k.startswith("_pad.")}
    assert_same(others, arrays)


@pytest.mark.parametrize("n", [0, 70, 200_000])
def test_all_ways_to_write_make_the_same_bytes(n: int) -> None:
    parts = town(n)[1]
    data = plan(parts).to_bytes()
    file = io.BytesIO()
    pieces: list[bytes] = []
    plan(parts).write_into(file)
    plan(parts).write_to(pieces.append)
    assert file.getvalue() == b"".join(pieces) == data
    assert all(type(piece) is bytes for piece in pieces)


@pytest.mark.parametrize("number", [int, np.int64])
def test_writers_may_write_less_than_they_are_given(number: Any) -> None:
    written = bytearray()

    def write(data: bytes) -> Any:
        written.extend(data[:1000])
        return number(min(1000, len(data)))

    plan(town()[1]).write_to(write)
    assert bytes(written) == blob()


@pytest.mark.parametrize("count", [0, -1])
def test_writers_that_write_nothing_are_no_endless_loop_and_no_success(count: int) -> None:
    with pytest.raises(OSError, match=f"{count} of 4096 bytes were written"):
        plan(town()[1]).write_to(lambda data: count)


def test_what_a_writer_raises_passes_through_and_no_thread_stays() -> None:
    class FullDisk(io.BytesIO):
        def write(self, data: Any, /) -> int:
            raise OSError("No space left on device")

    before = threading.active_count()
    with pytest.raises(OSError, match="No space left"):
        plan(town(200_000)[1]).write_into(FullDisk())
    assert threading.active_count() == before


def test_files_are_written_though_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    file = io.BytesIO()
    plan(town(200_000)[1]).write_into(file)
    assert file.getvalue() == blob(200_000)


def test_every_type_has_its_name() -> None:
    kinds = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
    arrays: Arrays = {kind: np.array([[1, 0]], kind) for kind in kinds}
    arrays[">f8"] = np.array([1.5, -2], ">f8")
    arrays["every other"] = np.arange(10, dtype=np.int32)[::2]
    arrays["text"] = np.array([b"ab", b""], "S3")
    data = plan([single(name, array) for name, array in arrays.items()]).to_bytes()
    arrays[">f8"] = arrays[">f8"].astype(np.float64)
    arrays["text"] = np.array([[97, 98, 0], [0, 0, 0]], np.uint8)
    assert_same(read(data).arrays, arrays)
    assert_same(
        {k: v for k, v in load_safetensors(data).items() if not k.startswith("_pad.")}, arrays
    )
    names = [entry["dtype"] for name, entry in document(data).items() if name in kinds]
    assert names == ["BOOL", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "F32", "F64"]


def test_the_header_is_as_the_format_says() -> None:
    data = blob()
    size = 8 + int.from_bytes(data[:8], "little")
    assert size % PAGE == 0
    assert data[8:47] == b'{"__metadata__":{"ecsgen":"1","crc32":"'
    crc = zlib.crc32(data[:47] + b"0" * 8 + data[55:size])
    assert data[47:55] == f"{crc:08x}".encode()
    header = document(data)
    tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
    checksums = json.loads(header["__metadata__"]["checksums"])
    assert checksums.keys() == {n for n in tensors if n[0] != "_" and n != "entities.free"}
    for name, crc in checksums.items():
        start, end = tensors[name]["data_offsets"]
        assert crc == f"{zlib.crc32(data[size + start : size + end]):08x}"
    pads = [name for name in tensors if name.startswith("_pad.")]
    assert pads == [f"_pad.{k}" for k in range(len(pads))]
    ends = [0, *(end for _, end in (t["data_offsets"] for t in tensors.values()))]
    assert [start for start, _ in (t["data_offsets"] for t in tensors.values())] == ends[:-1]
    assert size + ends[-1] == len(data)


OFFSETS = {"body.entity": 0, "body.place": 128 * 8, "body.flag": 128 * 20, "body.matrix": 128 * 21}


def test_columns_lie_as_in_a_buffer_on_whole_pages() -> None:
    snapshot = read(blob(70))
    start = snapshot.offset("body.entity")
    assert start % PAGE == 0
    assert {name: snapshot.offset(name) - start for name in OFFSETS} == OFFSETS
    assert snapshot.offset("entities.handles") == start + 2 * PAGE
    assert snapshot.offset("entities.handles") % 64 == 0


def test_a_header_that_is_too_long_is_refused_before_anything_is_written() -> None:
    long = METADATA | {"state": " " * headers.MAX_HEADER}
    with pytest.raises(SnapshotError, match=r"^town\.snap: its header would be longer"):
        FilePlan("town.snap", long, [])


def test_mapped_parts_are_the_files_own_pages_copied_on_write(tmp_path: Path) -> None:
    path = tmp_path / "town.snap"
    path.write_bytes(blob())
    snapshot = read_snapshot(path, map_pages=True)
    snapshot.verify()
    assert_same(snapshot.arrays, town()[0])
    buffer = snapshot.part(OFFSETS, 2 * PAGE)
    assert buffer is not None
    assert buffer[: 70 * 8].tobytes() == town()[0]["body.entity"].tobytes()
    buffer[:] = 7
    assert path.read_bytes() == blob()
    assert buffer.base is not None
    assert type(buffer.base) is np.ndarray
    handles = snapshot.part({"entities.handles": 0}, 72, 64)
    assert handles is not None
    assert handles.base is not buffer.base
    path.unlink()
    assert handles.view(np.uint64).tolist() == list(range(1, 10))


def test_parts_that_lie_otherwise_are_none(tmp_path: Path) -> None:
    path = tmp_path / "town.snap"
    path.write_bytes(blob())
    snapshot = read_snapshot(path, map_pages=True)
    assert snapshot.part(OFFSETS | {"body.flag": 128 * 20 - 1}, 2 * PAGE) is None
    assert snapshot.part(OFFSETS, 3 * PAGE) is None  # behind it lies another tensor, or nothing
    assert snapshot.part({"body.entity": 0}, PAGE) is None  # others lie in it
    assert snapshot.part({"body.place": 0}, PAGE) is None  # not on a page
    assert snapshot.part({"entities.free": 0}, 0) is None
    assert snapshot.part({"body.place": 128 * 8 + PAGE}, 2 * PAGE) is None  # within the header


def test_bytes_of_all_kinds_and_files_are_read() -> None:
    data = blob()
    for source in (data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        assert_same(read(source).arrays, town()[0])
    file = io.BytesIO(b"before" + data)
    file.seek(6)
    assert_same(read(file).arrays, town()[0])
    assert read(data).name == "<bytes>"
    for wrong in (3, None, "no such file".encode, io.StringIO("text")):
        with pytest.raises(TypeError):
            read_snapshot(wrong)


def test_names_are_those_of_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "town.snap"
    path.write_bytes(blob())
    assert read(path).name == read(str(path)).name == "town.snap"
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "village.snap")


def test_what_is_no_regular_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe, Path("/dev/zero")):
        with pytest.raises(SnapshotError, match=f"^{path.name}: is no regular file$"):
            read(path)


def test_tensors_may_lie_in_any_order_and_place() -> None:
    arrays: Arrays = {"b": np.arange(3, dtype=np.uint8), "a": np.arange(5.0)}
    parts = [
        TensorGroup((Tensor(name, array, 1),), array.nbytes + 1, 1)
        for name, array in arrays.items()
    ]
    data = plan(parts).to_bytes()
    snapshot = read(data)
    assert snapshot.offset("a") % 8
    assert_same(snapshot.arrays, arrays)
    assert all(array.flags.aligned for array in snapshot.arrays.values())
    assert_same(
        read(rewritten(data, lambda header: header.update(a=header.pop("a")))).arrays, arrays
    )


def test_any_truncation_and_any_appended_byte_is_refused(tmp_path: Path) -> None:
    data = blob(3)
    path = tmp_path / "town.snap"
    for end in (0, 7, 8, 9, 47, 55, PAGE - 1, PAGE, PAGE + 1, len(data) - 1):
        path.write_bytes(data[:end])
        for source in (data[:end], path):
            with pytest.raises(SnapshotError):
                read_snapshot(source)
    path.write_bytes(data + b"\0")
    for source in (data + b"\0", path):
        with pytest.raises(SnapshotError, match=r": \d+ bytes, its header says \d+$"):
            read_snapshot(source)


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.soak)])
def test_any_flipped_bit_is_refused(step: int) -> None:
    data = bytearray(blob(3))
    for byte in range(0, len(data), step):
        if byte > 4 * PAGE and byte % 7:
            continue
        data[byte] ^= 1 << byte % 8
        with pytest.raises(SnapshotError, match=r"^<bytes>: "):
            read(data)
        data[byte] ^= 1 << byte % 8
    read(data)


def test_unverified_the_header_is_checked_all_the_same() -> None:
    data = bytearray(blob(3))
    data[-1] ^= 1
    read_snapshot(data)
    data[200] ^= 1
    with pytest.raises(SnapshotError, match="header is damaged"):
        read_snapshot(data)


def test_damage_names_its_tensor() -> None:
    data = bytearray(blob(3))
    snapshot = read_snapshot(bytes(data))
    data[snapshot.offset("body.place")] ^= 1
    with pytest.raises(SnapshotError, match=r"^<bytes>: body\.place: damaged"):
        read(data)
    data[snapshot.offset("body.place")] ^= 1
    data[snapshot.offset("body.place") + 36] = 1
    with pytest.raises(SnapshotError, match=r"^<bytes>: _pad\.1: padding is not zero$"):
        read(data)


def test_other_formats_and_other_files_are_told_apart() -> None:
    data = blob()
    newer = data.replace(b'"ecsgen":"1"', b'"ecsgen":"2"')
    with pytest.raises(SnapshotError, match="has format 2, and this package reads format 1"):
        read(newer)
    other = mended(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"\0")
    with pytest.raises(SnapshotError, match="is no snapshot"):
        read(other)
    with pytest.raises(SnapshotError, match="is no snapshot"):
        read(b"PK" * 5000)


def changed(of: str, changes: Mapping[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Return a change of an entry of the header; None takes something away."""

    def change(document: dict[str, Any]) -> None:
        for name, value in changes.items():
            document[of][name] = value
            if value is None:
                del document[of][name]

    return change


def said(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return changed("__metadata__", changes)


def tensor(**changes: Any) -> Callable[[dict[str, Any]], None]:
    return changed("body.place", changes)


def moved(document: dict[str, Any]) -> None:
    places = document["body.place"]["data_offsets"]
    places[0] += 1
    places[1] += 1


def swallowed(document: dict[str, Any]) -> None:
    document["_pad.0"]["shape"] = [1]
    document["_pad.0"]["data_offsets"][1] = document["_pad.0"]["data_offsets"][0] + 1


def unsummed(document: dict[str, Any]) -> None:
    sums = json.loads(document["__metadata__"]["checksums"])
    del sums["body.flag"]
    document["__metadata__"]["checksums"] = json.dumps(sums)


HOSTILE: list[tuple[Callable[[dict[str, Any]], object], str]] = [
    (said(schema=None), "the header has no schema"),
    (said(state=None), "the header has no state"),
    (said(fingerprint=None), "the header has no fingerprint"),
    (said(checksums=None), "the header has no checksums"),
    (said(checksums=[]), "'checksums' is no string"),
    (said(extra=3), "'extra' is no string"),
    (said(schema="{}"), "fingerprint is not that of its schema"),
    (said(checksums="[]"), "the checksums are no JSON object"),
    (said(checksums="{"), "the checksums: no JSON"),
    (said(checksums='{"body.flag": "1234567"}'), "'body.flag': its checksum is no eight hex"),
    (said(checksums='{"body.flag": "1234567A"}'), "'body.flag': its checksum is no eight hex"),
    (said(checksums='{"body.flag": 3}'), "'body.flag': its checksum is no eight hex"),
    (unsummed, "'body.flag': has no checksum"),
    (
        lambda document: document.pop("body.flag"),
        "'body.flag': there is a checksum, but no such tensor",
    ),
    (tensor(dtype="BF16"), "'body.place': no dtype 'BF16' is known"),
    (tensor(dtype=3), "'body.place': no dtype 3 is known"),
    (tensor(dtype=None), "'body.place': wanted dtype, shape and data_offsets"),
    (tensor(more=1), "'body.place': wanted dtype, shape and data_offsets"),
    (tensor(dtype="F64"), "'body.place': 840 bytes, its shape has 1680"),
    (tensor(shape=[70, 4]), "'body.place': 840 bytes, its shape has 1120"),
    (tensor(shape=[70.0, 3]), "'body.place': its shape is none"),
    (tensor(shape=[True, 210]), "'body.place': its shape is none"),
    (tensor(shape=[-70, -3]), "'body.place': its shape is none"),
    (tensor(shape=7), "'body.place': its shape is none"),
    (tensor(shape=[2**63, 2**63]), "'body.place': its shape is none"),
    (tensor(shape=[2**31] * 2), "'body.place': its shape is beyond any memory"),
    (tensor(shape=[0] + [2**31] * 2), "'body.place': its shape is beyond any memory"),
    (tensor(shape=[1] * 33), "'body.place': its shape is none"),
    (tensor(data_offsets=[1, 0]), "'body.place': its data_offsets are none"),
    (tensor(data_offsets=[0]), "'body.place': its data_offsets are none"),
    (tensor(data_offsets=[0, 2**70]), "'body.place': its data_offsets are none"),
    (tensor(data_offsets="ab"), "'body.place': its data_offsets are none"),
    (moved, "'body.place': bytes of no tensor are before it"),
    (swallowed, "'body.place': bytes of no tensor are before it"),
    (tensor(data_offsets=[0, 840]), "overlaps another tensor"),
    (
        lambda document: document.update({"_pad.01": document.pop("_pad.0")}),
        "'_pad.01': padding is `_pad.K`, a flat U8",
    ),
    (lambda d: d.update(a=[]), "'a': wanted dtype"),
    (said(schema="\ud800"), "fingerprint"),
]


@pytest.mark.parametrize(("change", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_headers_with_a_right_checksum(change: Any, message: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(rewritten(blob(), change))
    assert str(caught.value).startswith("<bytes>: ")
    assert message in str(caught.value)


TEXTS = [
    ('{"a":1,"a":2}', "'a' is there twice"),
    ("[NaN]", "NaN is no JSON"),
    ("[-Infinity]", "-Infinity is no JSON"),
    ("[1e999]", "'1e999' is beyond the range of floats"),
    ("[" * 200_000, "nested too deep"),
    ("9" * 5000, "too many digits"),
    ("{} {}", "no JSON"),
    (f"[{'[],' * 700_000}0]", "700001 lists and 2 objects are too many for 2100"),
    (f"[{'{},' * 400_000}0]", "1 lists and 400002 objects are too many for 1200"),
    (f'["\\"[\\\\", {"[]," * 700_000}0]', "700001 lists"),
]


@pytest.mark.parametrize(("text", "message"), TEXTS, ids=range(len(TEXTS)))
def test_hostile_json(text: str, message: str) -> None:
    header = f'{{"__metadata__":{{"ecsgen":"1","crc32":"00000000"}},"x":{text}}}'
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(mended(header.encode(), b""))
    assert message in str(caught.value)


def test_headers_full_of_values_are_refused_before_these_take_memory() -> None:
    for many in ("[]," * 1_300_000, "".join(f'"{n:x}":{{}},' for n in range(600_000))):
        x = f"[{many}0]" if many[0] == "[" else f'{{{many}"":0}}'
        header = f'{{"__metadata__":{{"ecsgen":"1","crc32":"00000000"}},"x":{x}}}'
        data = mended(header.encode(), b"")
        tracemalloc.start()
        with pytest.raises(SnapshotError, match=r"^<bytes>: the header: .* too many for \d+"):
            read_snapshot(data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 6 * len(data)


def test_brackets_in_strings_are_no_lists() -> None:
    data = rewritten(blob(), said(extra='[{"\\' * 400_000))
    assert read(data).metadata["extra"] == '[{"\\' * 400_000


def test_hostile_padding_and_lengths_of_the_header() -> None:
    data = blob()
    size = 8 + int.from_bytes(data[:8], "little")
    text = data[8:size].rstrip()
    with pytest.raises(SnapshotError, match="no JSON object padded with spaces"):
        read_snapshot(mended(text + b"\n", data[size:]))
    with pytest.raises(SnapshotError, match="not UTF-8"):
        read_snapshot(mended(text + b"\xff", data[size:]))
    for length in (0, 1, PAGE, 2**63, 2**64 - 8, headers.MAX_HEADER + PAGE - 8):
        with pytest.raises(SnapshotError, match="no header has the length"):
            read_snapshot(mended(text, data[size:], length))
    with pytest.raises(SnapshotError, match="its header alone has 16777216"):
        read_snapshot(mended(text, data[size:], headers.MAX_HEADER - 8))


def save(path: Path | str, content: bytes, sync: bool = True) -> None:
    with replace_file(path, sync=sync) as file:
        file.write(content)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An old file, alone in its folder."""
    path = tmp_path / "town.snap"
    path.write_bytes(b"old")
    return path


@pytest.mark.parametrize("sync", [True, False])
def test_a_file_is_made_and_replaced(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "town.snap"
    for content in (b"first", b"second", b""):
        save(path, content, sync)
        assert contents(path.parent) == {"town.snap": content}
    save(str(path), b"by its name", sync)
    assert path.read_bytes() == b"by its name"


def test_the_new_file_lies_in_the_same_folder_until_it_is_whole(path: Path) -> None:
    with replace_file(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
        (new,) = set(names(path.parent)) - {"town.snap"}
        assert re.fullmatch(r"\.town\.snap\.[0-9a-f]{8}\.new", new)
    assert path.read_bytes() == b"new"


def test_whatever_raises_leaves_the_old_file_and_no_other(path: Path) -> None:
    def interrupted(error: BaseException) -> None:
        with replace_file(path) as file:
            file.write(b"half")
            raise error

    for error in (ValueError("wrong"), KeyboardInterrupt(), SystemExit(1)):
        with pytest.raises(type(error)):
            interrupted(error)
        assert contents(path.parent) == {"town.snap": b"old"}


@pytest.mark.parametrize("name", ["fsync", "replace", "chmod"])
def test_so_does_the_system_if_it_raises(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, name, fail)
    with pytest.raises(OSError, match="No space left"):
        save(path, b"new")
    assert contents(path.parent) == {"town.snap": b"old"}


def test_both_syncs_come_in_order_or_not_at_all(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    replace = os.replace

    def fsync(handle: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        done.append("folder" if is_folder else "file")

    def renamed(source: str, target: str) -> None:
        done.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", renamed)
    save(path, b"new")
    assert done == ["file", "rename", "folder"]
    done.clear()
    save(path, b"newer", sync=False)
    assert done == ["rename"]


def test_a_folder_that_cannot_be_synced_is_no_error_once_the_file_is_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", fsync)
    save(path, b"new")
    assert path.read_bytes() == b"new"


def test_modes_stay_and_new_ones_follow_the_umask(path: Path) -> None:
    for mode in (0o600, 0o444, 0o750, 0o666):
        path.chmod(mode)
        save(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == mode
    before = os.umask(0o027)
    try:
        save(path.with_name("other"), b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.with_name("other").stat().st_mode) == 0o640


def test_links_stay_and_what_they_lead_to_is_replaced(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    link = tmp_path / "link"
    link.symlink_to("far/town.snap")
    for content in (b"new", b"newer"):  # the first time, it leads nowhere
        save(link, content)
        assert link.is_symlink()
        assert (far / "town.snap").read_bytes() == content
    assert names(far) == ["town.snap"]
    assert names(tmp_path) == ["far", "link"]


def test_what_is_no_file_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        save(tmp_path, b"new")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(SnapshotError, match=r"^pipe: is no regular file$"):
        save(pipe, b"new")
    with pytest.raises(FileNotFoundError) as caught:
        save(tmp_path / "nowhere" / "town.snap", b"new")
    assert caught.value.filename == str(tmp_path / "nowhere" / "town.snap")
    assert names(tmp_path) == ["pipe"]


def test_left_overs_go_and_other_files_stay(path: Path) -> None:
    for name in (".town.snap.0123abcd.new", ".town.snap.ffffffff.new"):
        path.with_name(name).write_bytes(b"half")
    others = [".town.snap.0123ABCD.new", ".town.snap.0123abc.new", ".town.new", ".x.01234567.new"]
    for name in others:
        path.with_name(name).write_bytes(b"other")
    path.with_name(".town.snap.00000000.new").mkdir()
    path.with_name(".town.snap.11111111.new").symlink_to(path)
    save(path, b"new")
    expected = [*others, ".town.snap.00000000.new", ".town.snap.11111111.new", "town.snap"]
    assert names(path.parent) == sorted(expected)


def test_the_last_of_two_writers_wins_and_neither_takes_the_others_file(path: Path) -> None:
    with replace_file(path) as outer:
        outer.write(b"outer")
        with replace_file(path) as inner:
            inner.write(b"inner")
            assert len(names(path.parent)) == 3
        assert path.read_bytes() == b"inner"
    assert contents(path.parent) == {"town.snap": b"outer"}


def test_many_writers_at_once_leave_one_whole_file(path: Path) -> None:
    def write(number: int) -> None:
        for _ in range(30):
            save(path, bytes([number]) * 100_000, sync=False)

    with ThreadPoolExecutor(6) as pool:
        assert [*pool.map(write, range(6))] == [None] * 6
    content = path.read_bytes()
    assert len(content) == 100_000
    assert len(set(content)) == 1
    assert names(path.parent) == ["town.snap"]


def test_a_file_taken_for_a_left_over_before_its_lock_is_made_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = try_lock

    def late(handle: int) -> bool:
        for left in path.parent.glob(".town.snap.*.new"):
            if not taken:
                taken.append(left)
                left.unlink()
        return lock(handle)

    taken: list[Path] = []
    monkeypatch.setattr(files, "try_lock", late)
    save(path, b"new")
    assert taken
    assert contents(path.parent) == {"town.snap": b"new"}


def test_a_killed_writers_file_goes_with_the_next_save(path: Path) -> None:
    script = (
        "import sys, time\n"
        "from ecsgen_runtime.base.files import replace_file\n"
        "with replace_file(sys.argv[1]) as file:\n"
        "    file.write(b'half'); print(flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        save(path, b"another's")
        assert len(names(path.parent)) == 2  # its writer lives
        writer.send_signal(signal.SIGKILL)
    assert path.read_bytes() == b"another's"
    save(path, b"new")
    assert names(path.parent) == ["town.snap"]


@pytest.mark.parametrize("count", [4, pytest.param(20, marks=pytest.mark.soak)])
def test_kills_leave_the_old_file_or_the_new_one(tmp_path: Path, count: int) -> None:
    outcome = kill_many(tmp_path / "town.snap", count, seed=count)
    assert outcome.kills == count
    assert outcome.damaged == 0
