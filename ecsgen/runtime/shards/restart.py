"""Saving all shards, and going on with the same number of ranks, with fewer or with more.

A file for each shard, then one that says that all of a tick are there: `12.complete.json`.
"""

from __future__ import annotations

import json
import os
import pickle
import re
from typing import Any, Final

import numpy as np

from ..errors import SnapshotError
from .arriving import absorb
from .lockstep import LockStep

_MARKER: Final = re.compile(r"(\d+)\.complete\.json")


def save_shard(shards: Any, folder: str, tick: int) -> None:
    """Save this rank's world, then, on rank 0, the marker."""
    from ..snapshots.atomic import replacing

    world = shards.world
    name = f"{tick}.{world.entities.shard}.shard"

    def saved() -> str:
        os.makedirs(folder, exist_ok=True)
        world.save(os.path.join(folder, name), codecs=codecs_of(world))
        return name

    files = shards._step.gather(saved)

    def marked() -> bool:
        if shards.rank == 0:
            said = {"tick": tick, "files": files, "next_shard": shards._next}
            with replacing(os.path.join(folder, f"{tick}.complete.json")) as file:
                file.write(json.dumps(said).encode())
        return True

    shards._step.gather(marked)


def codecs_of(world: Any) -> dict[str, Any]:
    """Return how objects are saved: as pickles, where they travel as such, or not at all."""
    from ..snapshots.contents import object_columns

    stays = type(world)._STAYS
    pair = (pickle.dumps, pickle.loads)
    columns = object_columns(world)
    return {
        column: None if column.partition(".")[0] in stays else pair
        for column in columns
    }


def begun_again(kind: Any, folder: str, transport: Any) -> tuple[Any, int, int]:
    """Return this rank's world, the tick, and the first number that no shard ever had."""
    step = LockStep(transport)
    rank, size = step.rank, step.size

    def newest() -> Any:
        return _newest(folder) if rank == 0 else None

    found = step.gather(newest)[0]
    files, following = found["files"], found["next_shard"]
    if rank < len(files):
        world = _loaded(kind, folder, files[rank])
    else:
        world = kind(following + rank - len(files))
    for name in files[size + rank :: size] if rank < size else []:
        _take_over(world, _loaded(kind, folder, name))
    return world, found["tick"], following + max(0, size - len(files))


def _newest(folder: str) -> Any:
    """Return what the marker of the newest complete snapshot says."""
    found = [it for name in os.listdir(folder) if (it := _MARKER.fullmatch(name))]
    if not found:
        raise FileNotFoundError(f"{folder}: no complete snapshot")
    name = max(found, key=lambda it: int(it[1]))[0]
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            said = json.load(file)
        if not all(type(each) is str for each in said["files"]):
            raise ValueError("files are names")
        return {key: said[key] for key in ("tick", "files", "next_shard")}
    except (ValueError, KeyError, TypeError) as error:
        raise SnapshotError(f"{name}: {error}") from None


def _loaded(kind: Any, folder: str, name: str) -> Any:
    empty = kind()
    return kind.load(
        os.path.join(folder, os.path.basename(name)), codecs=codecs_of(empty)
    )


def _take_over(world: Any, other: Any) -> None:
    """Let a world have all that another one has."""
    ids = {
        name: np.array(list(getattr(other, name)), np.uint64)
        for name in other.MANAGERS
        if not hasattr(getattr(other, name), "lookup")
    }
    absorb(world, other.extract(other.entities.live(), **ids))
