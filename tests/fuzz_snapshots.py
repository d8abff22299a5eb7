"""Breaks snapshots at random: what loads must be a world like any other, all else is refused.

Files are mended after they are broken, so that checksums do not hide what lies behind them:
`python -m tests.fuzz_snapshots 100000` tries that many, `--start` a seed with which it failed.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import zlib
from ast import literal_eval
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import islice
from typing import Any, Final

import numpy as np
from ecsgen_runtime.snapshots.content_checks import check_content, checked_documents
from ecsgen_runtime.snapshots.reading import read_snapshot
from ecsgen_runtime.snapshots.snapshot_format import SnapshotFormat

import generated


class CodecError(Exception):
    """Of bytes that are none of the codec's."""


def _from_bytes(data: bytes) -> Any:
    try:
        value = literal_eval(data.decode())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CodecError from error
    if repr(value).encode() != data:
        raise CodecError("spelled otherwise")
    return value


CODECS: Final = {"*": (lambda value: repr(value).encode(), _from_bytes)}
NIL: Final = 0xFFFF_FFFF
PAGE: Final = 4096
_ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, -1, 0, 1, 2, 3, 63, 64, 65, 0.5, -0.0, 1e308, "", "entity", "0", "NaN"),
    *(
        *(NIL, NIL - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, [], {}, [0]),
        "x" * 99,
    ),
)


@cache
def town(seed: int) -> bytes:
    """The file of a world in which all components have rows, and some entities have died."""
    choose, rng = random.Random(seed), np.random.default_rng(seed)
    world = generated.World()
    world.entities.create_many(24)
    for _ in range(3):
        for name in world.MANAGERS:
            _populate(getattr(world, name), world, choose, rng)
        _populate_chunks(world)
        world.destroy_many(rng.permutation(world.entities.live())[:5])
        world.entities.create_many(3)
        world.gc()
    world.destroy_later(world.entities.live()[:2])
    world.note = {"day": seed}  # type: ignore[attr-defined]  # a user's own
    data: bytes = world.to_bytes(codecs=CODECS)
    return data


def _populate(manager: Any, world: Any, choose: random.Random, rng: Any) -> None:
    fields: dict[str, Any] = {}
    if hasattr(manager, "find_file"):
        fields["file"] = [f"é{choose.random():.9f}" for _ in range(6)]
    if hasattr(manager, "lookup"):
        chosen = rng.permutation(world.entities.live())[:9]
        if not hasattr(manager, "first"):
            chosen = chosen[~manager.has_many(chosen)]
        manager.create_many(chosen, **fields)
        if hasattr(manager, "first"):
            manager.create_many(chosen[:5], **fields)
    else:
        manager.create_many(6, **({"file": fields["file"]} if fields else {}))
    _change(manager, choose)
    rows = manager.data._used_rows()
    manager.destroy_many(rows[rng.random(len(rows)) < 0.3])


def _populate_chunks(world: Any) -> None:
    archetypes = world.archetypes
    archetypes.create([generated.Health, generated.Armor], n=3)
    archetypes.create([generated.Weapon], n=2, weapon={"model": ("sword", 3), "name": "ü"})
    (entity,) = archetypes.create([generated.Burning], n=1).tolist()
    archetypes.add(entity, generated.Health)


def exercise(world: Any, seed: int) -> None:
    """Call what goes along links and slots, then change all: nothing may raise or run astray."""
    choose, rng = random.Random(seed), np.random.default_rng(seed)
    for name in world.MANAGERS:
        _look(getattr(world, name))
    for name in world.MANAGERS:
        manager = getattr(world, name)
        _change(manager, choose)
        rows = manager.data._used_rows()
        _allowed(manager.destroy_many, rows[rng.random(len(rows)) < 0.3])
    _allowed(world.destroy_many, rng.permutation(world.entities.live())[:4])
    _allowed(_populate_chunks, world)
    for name in world.MANAGERS:
        _allowed(_populate, getattr(world, name), world, choose, rng)
    for group in world.GROUPS:
        getattr(world, group).reorder(np.arange(getattr(world, group).n)[::-1])
    _allowed(world.flush)
    _allowed(world.collect)
    for name in world.MANAGERS:
        _look(getattr(world, name))


def _allowed(call: Callable[..., object], *args: Any) -> None:
    """Call what may raise if indices, generations or ids are worn out, as cells may say."""
    with suppress(generated.CapacityError):
        call(*args)


def _look(manager: Any) -> None:
    n, rows = manager.data.n, manager.data._used_rows()
    assert len(rows) == len(manager)
    for row in rows.tolist():
        manager.row(row)
    if hasattr(manager, "lookup"):
        rows_found = manager.lookup_many(manager.data.entity[rows])
        if not hasattr(manager, "first"):
            assert (rows_found == rows).all()
    if hasattr(manager, "first"):
        owners = set(manager.data.entity.tolist())
        lists = [list(islice(manager.instances(owner), n + 1)) for owner in owners]
        assert sorted(row for rows_of_list in lists for row in rows_of_list) == rows.tolist()
    if hasattr(manager, "resolve"):
        assert (manager.resolve_many(manager.id_of_many(rows)) == rows).all()
    if hasattr(manager, "levels"):
        assert sum(map(len, manager.levels())) == n
        assert sum(len(manager.children(row)) for row in rows) + len(manager.roots()) == n
    if hasattr(manager, "by_age"):
        assert sorted(manager.by_age()) == rows.tolist()


def _change(manager: Any, choose: random.Random) -> None:
    n = manager.data.n
    for _ in range(min(n, 6)):
        child, other = choose.randrange(n), choose.randrange(n)
        if hasattr(manager, "set_parent"):
            with suppress(generated.HierarchyError):
                manager.set_parent(child, choose.choice([other, NIL]))
        if hasattr(manager, "activate"):
            choose.choice([manager.activate, manager.deactivate])(child)
        if hasattr(manager, "set_nickname"):
            manager.set_nickname(child, "ü")


@dataclass
class Parts:
    """A file, taken apart."""

    said: dict[str, Any]
    """The header, with its documents as objects."""
    data: bytearray


def taken_apart(data: bytes) -> Parts:
    size = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:size])
    for name in ("schema", "state", "checksums"):
        header["__metadata__"][name] = json.loads(header["__metadata__"][name])
    return Parts(header, bytearray(data[size:]))


def mended(parts: Parts) -> bytes:
    """A file of these parts, with all checksums right."""
    header: dict[str, Any] = json.loads(json.dumps(parts.said))
    metadata = header.get("__metadata__")
    if type(metadata) is dict:
        _mend_checksums(header, metadata, parts.data)
        for name in ("schema", "state", "checksums"):
            if name in metadata:
                metadata[name] = json.dumps(metadata[name], separators=(",", ":"))
        if "schema" in metadata and "fingerprint" in metadata:
            metadata["fingerprint"] = sha256(metadata["schema"].encode()).hexdigest()
    text = json.dumps(header, separators=(",", ":")).encode()
    size = -(-(8 + len(text)) // PAGE) * PAGE
    head = bytearray((size - 8).to_bytes(8, "little") + text.ljust(size - 8))
    head[47:55] = b"0" * 8
    head[47:55] = f"{zlib.crc32(head):08x}".encode()
    return bytes(head + parts.data)


def _mend_checksums(header: dict[str, Any], metadata: Any, data: bytearray) -> None:
    sums = metadata.get("checksums")
    for name in sums if type(sums) is dict else ():
        try:
            start, end = header[name]["data_offsets"]
            sums[name] = f"{zlib.crc32(data[start:end]):08x}"
        except (KeyError, TypeError, ValueError):
            pass  # what is broken there is to be found


def break_bytes(choose: random.Random, data: bytes) -> bytes:
    """Flip a bit, cut something off, or add something; nothing is mended."""
    how = choose.randrange(4)
    if how < 2:
        broken = bytearray(data)
        broken[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        return bytes(broken)
    if how == 2:
        return data[: choose.randrange(len(data))]
    return data + choose.randbytes(choose.choice([1, 64, PAGE]))


def break_document(choose: random.Random, node: Any) -> None:
    """Change something somewhere in nested objects and lists."""
    for _ in range(40):
        keys = list(node) if type(node) is dict else list(range(len(node)))
        if not keys:
            return
        key = choose.choice(keys)
        if type(node[key]) in (dict, list) and node[key] and choose.random() < 0.9:
            node = node[key]
            continue
        _break_entry(choose, node, key, keys)
        return


def _break_entry(choose: random.Random, node: Any, key: Any, keys: list[Any]) -> None:
    how = choose.randrange(5)
    if how == 0:
        del node[key]
    elif how == 1:
        node[key] = json.loads(json.dumps(node[choose.choice(keys)]))
    elif how == 2 and type(node[key]) is int:
        node[key] += choose.choice([-1, 1, 64, -64])
    elif how == 3 and type(node) is dict:
        node[choose.choice(["x", "n", "body", "_map", f"{key}x"])] = node[key]
    else:
        node[key] = choose.choice(_ODD)


def break_cells(choose: random.Random, parts: Parts) -> None:
    """Change cells of a tensor: to what is odd, to what others have, or in one bit."""
    sized = [
        (name, entry)
        for name, entry in parts.said.items()
        if name != "__metadata__" and entry["data_offsets"][0] < entry["data_offsets"][1]
    ]
    _, entry = min(choose.sample(sized, 2), key=lambda tensor: tensor[0].startswith("_pad."))
    start, end = entry["data_offsets"]
    kind = {"B": "u1", "I": "i", "U": "u", "F": "u"}[entry["dtype"][0]]
    dtype = np.dtype(kind if len(kind) > 1 else f"{kind}{int(entry['dtype'][1:]) // 8}")
    cells = np.frombuffer(parts.data, dtype, (end - start) // dtype.itemsize, start)
    for _ in range(choose.choice([1, 1, 2, 4])):
        _break_cell(choose, cells)


def _break_cell(choose: random.Random, cells: Any) -> None:
    at, other = choose.randrange(len(cells)), choose.randrange(len(cells))
    bits = 8 * cells.itemsize
    value = int(cells[at])
    odd = [0, 1, NIL, len(cells), len(cells) - 1, -1, value + 1, value - 1, value ^ 1]
    odd += [int(cells[other]), value ^ 1 << choose.randrange(bits), choose.getrandbits(bits)]
    new = choose.choice(odd) % (1 << bits)
    swapped = choose.random() < 0.2
    cells[at] = cells[other] if swapped else np.array(new, f"u{cells.itemsize}").view(cells.dtype)
    if swapped:
        cells[other] = value


def broken_file(choose: random.Random) -> tuple[str, bytes]:
    """A file that was broken in some way, and in which."""
    data = town(choose.randrange(4))
    how = choose.choice(["bytes", "header", "state", "schema", *["cells"] * 5])
    if how == "bytes":
        return how, break_bytes(choose, data)
    parts = taken_apart(data)
    for _ in range(choose.choice([1, 1, 1, 2])):
        if how == "cells":
            break_cells(choose, parts)
        else:
            metadata = parts.said["__metadata__"]
            break_document(choose, parts.said if how == "header" else metadata[how])
    return how, mended(parts)


def try_one(seed: int) -> str:
    """Break a file and load it; return what came of it. Raises what should not have been."""
    how, data = broken_file(random.Random(seed))
    try:
        if how == "schema":  # of which other code makes what it can
            file = read_snapshot(data)
            file.verify()
            check_content(checked_documents(file, SnapshotFormat()), SnapshotFormat())
            return "schema: read"
        world = _loaded(data, is_mapped=seed % 4 == 0)
    except generated.SnapshotError:
        return f"{how}: refused"
    except CodecError:
        return f"{how}: codec"
    assert how != "bytes"
    _compare(data, world)
    if _is_exhausted(world):
        return f"{how}: loaded, with no version left"
    exercise(world, seed)
    again = world.to_bytes(codecs=CODECS)
    assert generated.World.load(again, codecs=CODECS).to_bytes(codecs=CODECS) == again
    return f"{how}: loaded"


def _loaded(data: bytes, is_mapped: bool) -> Any:
    if not is_mapped:
        return generated.World.load(data, codecs=CODECS)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return generated.World.load(file.name, mmap=True, verify=True, codecs=CODECS)


def _is_exhausted(world: Any) -> bool:
    """Return True if a few more changes are more than a file may count."""
    counts = [getattr(world, name).version for name in world.MANAGERS]
    return any(count > 2**62 for count in (*counts, world.archetypes.version))


def _compare(data: bytes, world: Any) -> None:
    """Check that every cell is what the file said, but for those of holes."""
    before, after = read_snapshot(data), read_snapshot(world.to_bytes(codecs=CODECS))
    for name, array in before.arrays.items():
        cells = after.arrays[name]
        holes = _holes(name, before.arrays)
        if holes is not None:
            array, cells = array[~holes], cells[~holes]
        assert array.tobytes() == cells.tobytes(), name
    state = [json.loads(file.metadata["state"]) for file in (before, after)]
    for numbers in state:
        numbers["transform"].pop("count", None)  # which may be left out
        numbers["tile"].pop("count", None)
    assert state[0] == state[1]


def _holes(name: str, arrays: Any) -> Any:
    """Which cells of a column are those of rows that are not in use, if there may be some."""
    module, _, column = name.partition(".")
    if module in ("tile", "transform") and column not in ("entity", "id_generation", "_rng"):
        return arrays[f"{module}.entity"] == 0
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--start", type=int, default=0)
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    for seed in range(options.start, options.start + options.count):
        try:
            outcomes[try_one(seed)] += 1
        except BaseException:
            print(f"seed {seed}", outcomes)
            raise
    print(outcomes)


if __name__ == "__main__":
    main()
