"""Saving all shards, and going on with the same number of ranks, with fewer or with more.

A file for each shard, then one that says that all of a tick are there: `12.complete.json`.
"""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ..errors import SnapshotError
from .arriving import absorb
from .lockstep import LockStep, agreed
from .totals import whole_number

_MARKER: Final = re.compile(r"(\d+)\.complete\.json")


def save_shard(
    shards: Any, folder: str | os.PathLike[str], tick: int, verify: bool
) -> int:
    """Save this rank's world, then, on rank 0, the marker; return the tick.

    No file is replaced but the marker: if the same tick was saved before, that one is whole until
    this one is. Nothing is written before all ranks mean the same folder and tick.
    """
    step: LockStep = shards._step
    told = step.gather(
        "save", lambda: [whole_number("tick", tick), os.path.abspath(folder)]
    )
    ticks: list[int] = [its for its, _ in told]
    number = agreed(ticks, "have given save other ticks: {} and {}")
    _agree_on_folder("save", [its for _, its in told])

    def saved() -> str:
        os.makedirs(folder, exist_ok=True)
        world = shards.world
        name = _unused_name(folder, number, world.entities.shard)
        path = os.path.join(folder, name)
        world.save(path, codecs=codecs_of(world), verify=verify)
        return name

    files = step.gather("save", saved)

    def marked() -> bool:
        if shards.rank == 0:
            _mark(folder, number, files, shards._next)
        return True

    step.gather("save", marked)
    return number


def _agree_on_folder(call: str, folders: list[str]) -> None:
    agreed(folders, f"have given {call} other folders: {{!r}} and {{!r}}")


def _unused_name(folder: str | os.PathLike[str], tick: int, shard: int) -> str:
    name, again = f"{tick}.{shard}.shard", 0
    while os.path.lexists(os.path.join(folder, name)):
        again += 1
        name = f"{tick}.{shard}.{again}.shard"
    return name


def _mark(
    folder: str | os.PathLike[str], tick: int, files: list[str], following: int
) -> None:
    """Say that a tick is complete, and remove what earlier attempts to save it have left."""
    from ..snapshots.atomic import replacing

    said = {"tick": tick, "files": files, "next_shard": following}
    with replacing(os.path.join(folder, f"{tick}.complete.json")) as file:
        file.write(json.dumps(said).encode())
    old = re.compile(rf"{tick}\.\d+(\.\d+)?\.shard")
    for name in os.listdir(folder):
        if old.fullmatch(name) and name not in files:
            os.unlink(os.path.join(folder, name))


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


def begun_again(
    kind: Any,
    folder: str | os.PathLike[str],
    transport: Any,
    options: Mapping[str, Any],
) -> tuple[Any, int, int]:
    """Return this rank's world, the tick, and the first number that no shard ever had.

    `options`: of `World.load`.
    """
    step = LockStep(transport)
    rank, size = step.rank, step.size

    def newest() -> Any:
        path = os.path.abspath(folder)
        return path, _newest(path) if rank == 0 else None

    told = step.gather("load", newest)
    _agree_on_folder("load", [its for its, _ in told])
    _, found = told[0]
    if found is None:
        raise FileNotFoundError(f"{folder}: no complete snapshot")
    files, following = found["files"], found["next_shard"]
    worlds: list[Any] = []

    def loaded() -> bool:
        for name in files[rank::size]:
            worlds.append(_loaded(kind, folder, name, options))
        if not worlds:
            worlds.append(kind(following + rank - len(files)))
        for other in worlds[1:]:
            _take_over(worlds[0], other)
        return True

    step.gather("load", loaded)  # what one refuses all refuse
    return worlds[0], found["tick"], following + max(0, size - len(files))


def _newest(folder: str) -> Any:
    """Return what the marker of the newest complete snapshot says, None if there is none."""
    names = os.listdir(folder) if os.path.exists(folder) else []
    found = [it for name in names if (it := _MARKER.fullmatch(name))]
    if not found:
        return None
    name = max(found, key=lambda it: int(it[1]))[0]
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            said = json.load(file)
        if not all(type(each) is str for each in said["files"]):
            raise ValueError("files are names")
        return {key: said[key] for key in ("tick", "files", "next_shard")}
    except (ValueError, KeyError, TypeError, FileNotFoundError) as error:
        raise SnapshotError(f"{name}: {error}") from None


def _loaded(
    kind: Any, folder: str | os.PathLike[str], name: str, options: Mapping[str, Any]
) -> Any:
    path = os.path.join(folder, os.path.basename(name))
    if not os.path.exists(path):
        raise SnapshotError(f"{name}: there is no such file")
    return kind.load(path, codecs=codecs_of(kind()), **options)


def _take_over(world: Any, other: Any) -> None:
    """Let a world have all that another one has, but the dead, and who dies with them."""
    other.collect()
    ids = {
        name: np.array(list(getattr(other, name)), np.uint64)
        for name in other.MANAGERS
        if not hasattr(getattr(other, name), "lookup")
    }
    absorb(world, other.extract(other.entities.live(), **ids))
