"""Saving and loading worlds with shards: one with its foreign entities, and all of a run."""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ..base.errors import SnapshotError
from ..base.files import replace_file
from ..base.handles import EntityArray, RowArray
from ..managers.policies.ids import EXHAUSTED_GENERATION
from ..snapshots.attributes import own_attributes
from ..snapshots.cell_types import Columns
from ..snapshots.documents import Document, SnapshotContent
from ..snapshots.entity_table import EntityTable, HandleRewriter
from ..snapshots.field_migration import Generations, had_ids
from ..snapshots.policy_rules import (
    DIRECT_IDS,
    POLICIES,
    SLOT_IDS,
    MigratedState,
    PolicyMigration,
    PolicySnapshotRules,
    id_columns,
)
from ..snapshots.row_checks import check_direct_ids, check_slots
from ..snapshots.saved_component import SavedComponent
from ..snapshots.saving import WorldLoader
from ..snapshots.serialisation import object_columns
from ..snapshots.snapshot_format import SnapshotFormat
from ..values.array_coercion import all_distinct_below, parse_non_negative
from ..world.settings import SettingsWorld
from .arrivals import absorb
from .lockstep import LockStep, require_agreement
from .shard_base import ShardBase
from .sharded_entities import ID_FOREIGN_FLAG, ID_LAST, ID_SHARD_BITS
from .sharded_managers import IDS
from .sharded_managers import SLOTS as ID_SLOTS

VISITORS: Final = "entities.visitors"
SLOTS: Final = "entities.slots"
IDLE: Final = "entities.idle"


class ShardedWorldLoader(WorldLoader):
    """Loads a snapshot into a new world, foreign entities included."""

    EXTRAS: ClassVar[Sequence[str]] = (*WorldLoader.EXTRAS, IDS, ID_SLOTS)

    def _load_entities(self, entities: Any) -> None:
        super()._load_entities(entities)
        arrays = self.saved.arrays
        entities.begin(self.saved.state["entities"]["shard"])
        slots = arrays[SLOTS].astype(np.intp)
        entities.restore_foreign(arrays[VISITORS], slots, arrays[IDLE].astype(np.intp))


def check_shard_slots(rows: SavedComponent) -> None:
    """Refuse slots that do not each belong to a row, are free or exhausted; O(slots)."""
    generations = rows.column("id_generation")
    is_exhausted = generations >> ID_SHARD_BITS == ID_LAST
    name = f"{rows.module}.id_generation"
    columns = {name: np.where(is_exhausted, np.uint32(EXHAUSTED_GENERATION), generations)}
    saved = replace(rows.saved, arrays={**rows.saved.arrays, **columns})
    check_slots(SavedComponent(saved, rows.name, rows.doc))
    _check_foreign_ids(rows, rows.column("id_slot")[: rows.n])


def check_shard_direct_ids(rows: SavedComponent) -> None:
    """Refuse generations of 0 where an instance is, or was the last one; O(n)."""
    check_direct_ids(rows)
    _check_foreign_ids(rows, rows.column("entity")[: rows.n].nonzero()[0])


def _check_foreign_ids(rows: SavedComponent, used: NDArray[Any]) -> None:
    """Refuse foreign ids other than those of the used slots with ID_FOREIGN_FLAG, and perhaps of
    other such slots, whose row has left and may be in another slot now."""
    arrays, generations = rows.saved.arrays, rows.column("id_generation")
    is_foreign = generations & ID_FOREIGN_FLAG == ID_FOREIGN_FLAG
    wanted = used[is_foreign[used]]
    ids = arrays.get(f"{rows.module}.{IDS}", np.zeros(0, np.uint64))
    slots = arrays.get(f"{rows.module}.{ID_SLOTS}", np.zeros(0, np.uint32))
    has_id = np.zeros(len(is_foreign), np.bool_)
    has_id[slots[slots < len(is_foreign)]] = True
    all_distinct = np.count_nonzero(has_id) == len(slots)
    if not all_distinct or not has_id[wanted].all() or (has_id > is_foreign).any():
        rows.refuse("not the slots with foreign ids", ID_SLOTS)
    if len(ids) != len(slots):
        rows.refuse("as many ids as slots are wanted", IDS)
    if len(np.unique(ids)) < len(ids) or (len(ids) and not int(ids.min())):
        rows.refuse("an id is there twice, or is 0", IDS)


class ShardTable(EntityTable):
    """The entities of a snapshot: created here, foreign, and alive."""

    UNKNOWN: ClassVar[str] = "was never here"

    def __init__(self, saved: SnapshotContent) -> None:
        super().__init__(saved)
        if len(saved.arrays[VISITORS]) != len(saved.arrays[SLOTS]):
            saved.refuse("as many slots as visitors are wanted", SLOTS)
        order = saved.arrays[VISITORS].argsort()
        self._foreign_slots: EntityArray = saved.arrays[VISITORS][order]
        self._slots = saved.arrays[SLOTS].astype(np.intp)[order]
        self._low = np.uint64(saved.schema["entity"]["index_bits"])
        self._shard_bits = np.uint64(saved.state["entities"]["shard"])

    def indices(self, es: EntityArray) -> RowArray:
        """Return the slot of each entity."""
        indices = super().indices(es)
        if len(self._foreign_slots) == 0:
            return indices
        last = len(self._foreign_slots) - 1
        positions = np.minimum(self._foreign_slots.searchsorted(es), last)
        return np.where(self._foreign_slots[positions] == es, self._slots[positions], indices)

    def created(self, es: EntityArray) -> NDArray[np.bool_]:
        """Return a mask of entities that were ever created here, or are foreign ones that came."""
        is_own = self._shards(es) == self._shard_bits
        is_own &= ~np.isin((es & self._mask).view(np.intp), self._slots)
        created_here: NDArray[np.bool_] = super().created(es) & is_own
        return created_here | np.isin(es, self._foreign_slots)

    def check(self) -> None:
        """Refuse cells, slots or queues that are inconsistent; O(indices)."""
        self._check_visitors()
        EntityTable(self._as_of_one_world()).check()

    def _shards(self, es: EntityArray) -> EntityArray:
        return (es & ((np.uint64(1) << self._shift) - np.uint64(1))) >> self._low

    def _check_visitors(self) -> None:
        saved, arrays, count = self.saved, self.saved.arrays, len(self.cells)
        visitors: EntityArray = arrays[VISITORS]
        visited, idle = arrays[SLOTS].astype(np.intp), arrays[IDLE].astype(np.intp)
        slots = np.concatenate((visited, idle))
        if int(slots.max(initial=-1)) >= count or not all_distinct_below(slots, count):
            saved.refuse("slots that do not exist, or twice", SLOTS)
        if len(np.unique(visitors)) < len(visitors):
            saved.refuse("a visitor is there twice", VISITORS)
        if (visitors >> self._shift == 0).any():
            saved.refuse("no handle", VISITORS, int(visitors.argmin()))
        cells = self.cells[visited]
        if ((cells != visitors) & (cells != (visited ^ 1).view(np.uint64))).any():
            saved.refuse("the slot has another entity", VISITORS)
        if (self.cells[idle] != (idle ^ 1).view(np.uint64)).any():
            saved.refuse("the slot has an entity", IDLE)

    def _as_of_one_world(self) -> SnapshotContent:
        """Return a snapshot whose handles have no shard, and whose foreign slots are retired."""
        saved, slots = self.saved, self._slots
        generations = self.cells >> self._shift
        wrong = (generations > 0) & (self._shards(self.cells) != self._shard_bits)
        wrong[slots] = False
        if wrong.any():
            index = int(wrong.argmax())
            saved.refuse("a handle of another shard", "entities.handles", index)
        plain = generations << self._low | self.cells & self._mask
        plain[slots] = (slots ^ 1).view(np.uint64)
        alive = int(np.count_nonzero(self.cells[slots] == self._foreign_slots))
        retired = {"n_retired": saved.state["entities"]["n_retired"] + alive}
        return replace(
            saved,
            schema={"entity": {**saved.schema["entity"], "shard_bits": 0}},
            state={"entities": retired},
            arrays={**saved.arrays, "entities.handles": plain},
        )


class ShardedHandleRewriter(HandleRewriter):
    """Keeps the handles of an old shard's entities, for other shards have them."""

    def __init__(self, entities: EntityTable, schema: Document) -> None:
        saved = entities.saved
        old, new = saved.schema["entity"], schema["entity"]
        if any(old[name] != new.get(name) for name in ShardedSnapshotFormat.ENTITY_BITS):
            old_bits, new_bits = ([*bits.values()] for bits in (old, new))
            saved.refuse(
                f"handles of {old_bits} bits cannot become those of {new_bits}, for other shards "
                "have them, too; keep the bits of before"
            )
        super().__init__(entities, schema)

    def tensors(self) -> tuple[Columns, Document]:
        """Return the tensors of all entities, foreign ones included, and their numbers."""
        tensors, numbers = super().tensors()
        saved = self.entities.saved
        foreign = {name: saved.arrays[name] for name in (VISITORS, SLOTS, IDLE)}
        shard = saved.state["entities"]["shard"]
        return {**tensors, **foreign}, {**numbers, "shard": shard}


def shard_id_columns(migration: PolicyMigration) -> MigratedState:
    """Return the columns of ids and their numbers. Ids stay, for other shards know them."""
    old = migration.old
    shard = np.uint32(old.saved.state["entities"]["shard"])

    def next_generations(generations: Generations) -> tuple[NDArray[np.bool_], Generations]:
        last = generations >> np.uint32(ID_SHARD_BITS)
        next_values = (last + np.uint32(1) << np.uint32(ID_SHARD_BITS)) | shard
        return last != ID_LAST, next_values

    migrated = id_columns(migration, next_generations)
    if old.is_new or not had_ids(old):
        return migrated
    if not migration.had:
        reason = "'lookup: direct' gives other ids, and other shards know those of before"
        reason += f"; 'lookup: {old.doc['lookup']}' keeps them"
        old.saved.refuse(reason, f"{old.module}.id_generation")
    columns = migrated.columns
    return MigratedState(columns | _foreign_ids(old, columns["id_generation"]), migrated.numbers)


def _foreign_ids(old: SavedComponent, generations: NDArray[np.uint32]) -> Columns:
    """Return the foreign ids that are still in a slot."""
    ids, slots = old.column(IDS), old.column(ID_SLOTS)
    is_held = generations[slots] & ID_FOREIGN_FLAG == ID_FOREIGN_FLAG
    return {IDS: ids[is_held], ID_SLOTS: slots[is_held]} if is_held.any() else {}


_OF_IDS: Final = {IDS: "u8", ID_SLOTS: "u4"}
_IDS: Final = {
    rules.check: replace(rules, all_or_no_columns=_OF_IDS, check=check, migrate=shard_id_columns)
    for rules, check in ((SLOT_IDS, check_shard_slots), (DIRECT_IDS, check_shard_direct_ids))
}
"""Rules of ids in shards, by the check of other worlds."""


class ShardedSnapshotFormat(SnapshotFormat):
    """Saves and loads a shard: with its number and its foreign entities."""

    ENTITIES: ClassVar[type[EntityTable]] = ShardTable
    HANDLES: ClassVar[type[HandleRewriter]] = ShardedHandleRewriter
    LOADING: ClassVar[type[WorldLoader]] = ShardedWorldLoader
    POLICIES: ClassVar[tuple[PolicySnapshotRules, ...]] = tuple(
        _IDS.get(rules.check, rules) for rules in POLICIES
    )
    ENTITY_BITS: ClassVar[Sequence[str]] = (*SnapshotFormat.ENTITY_BITS, "shard_bits")
    ENTITY_NUMBERS: ClassVar[Sequence[str]] = (*SnapshotFormat.ENTITY_NUMBERS, "shard")
    ENTITY_TENSORS: ClassVar[Mapping[str, str]] = {
        **SnapshotFormat.ENTITY_TENSORS,
        "visitors": "u8",
        "slots": "u4",
        "idle": "u4",
    }


# A file for each shard, then a marker that the tick is complete:
# `12.complete.json`.

_MARKER: Final = re.compile(r"(\d+)\.complete\.json")


def save_shard(shards: Any, folder: str | os.PathLike[str], tick: int, verify: bool) -> int:
    """Save this rank's world, then, on rank 0, the marker; return the tick.

    No file is replaced but the marker: an earlier save of the same tick stays complete until this
    one is. Nothing is written unless all ranks have the same folder and tick.
    """
    step: LockStep = shards._step
    answers = step.gather(
        "save", lambda: [parse_non_negative("tick", tick), os.path.abspath(folder)]
    )
    ticks: list[int] = [answer_tick for answer_tick, _ in answers]
    number = require_agreement(ticks, "have given save other ticks: {} and {}")
    _agree_on_folder("save", [answer_tick for _, answer_tick in answers])

    def save_world() -> str:
        os.makedirs(folder, exist_ok=True)
        world = shards.world
        name = _unused_name(folder, number, world.entities.shard)
        path = os.path.join(folder, name)
        world.save(path, codecs=codecs_of(world), verify=verify)
        return name

    files = step.gather("save", save_world)

    def write_marker() -> bool:
        if shards.rank == 0:
            _mark(folder, number, files, shards._next)
        return True

    step.gather("save", write_marker)
    return number


def _agree_on_folder(call: str, folders: list[str]) -> None:
    require_agreement(folders, f"have given {call} other folders: {{!r}} and {{!r}}")


def _unused_name(folder: str | os.PathLike[str], tick: int, shard: int) -> str:
    name, attempt = f"{tick}.{shard}.shard", 0
    while os.path.lexists(os.path.join(folder, name)):
        attempt += 1
        name = f"{tick}.{shard}.{attempt}.shard"
    return name


def _mark(folder: str | os.PathLike[str], tick: int, files: list[str], next_shard: int) -> None:
    """Write the marker of a complete tick, and remove files of earlier attempts to save it."""
    marker = {"tick": tick, "files": files, "next_shard": next_shard}
    with replace_file(os.path.join(folder, f"{tick}.complete.json")) as file:
        file.write(json.dumps(marker).encode())
    old = re.compile(rf"{tick}\.\d+(\.\d+)?\.shard")
    for name in os.listdir(folder):
        if old.fullmatch(name) and name not in files:
            os.unlink(os.path.join(folder, name))


def codecs_of(world: ShardBase) -> dict[str, Any]:
    """Return codecs by column: pickles for objects that travel, None for others."""
    stays = type(world).STAYS
    pair = (pickle.dumps, pickle.loads)
    return {
        column: None if column.partition(".")[0] in stays else pair
        for column in object_columns(world)
    }


def resume(
    kind: Any, folder: str | os.PathLike[str], transport: Any, options: Mapping[str, Any]
) -> tuple[Any, int, int]:
    """Return this rank's world, the tick, and the first number that no shard ever had; `options`:
    of `World.load`."""
    step = LockStep(transport)
    rank, size = step.rank, step.size

    def newest() -> Any:
        path = os.path.abspath(folder)
        return path, _newest(path) if rank == 0 else None

    answers = step.gather("load", newest)
    _agree_on_folder("load", [its for its, _ in answers])
    _, marker = answers[0]
    if marker is None:
        raise FileNotFoundError(f"{folder}: no complete snapshot")
    files, next_shard = marker["files"], marker["next_shard"]
    worlds: list[Any] = []

    def load_worlds() -> bool:
        for name in files[rank::size]:
            worlds.append(_loaded(kind, folder, name, options))
        if not worlds:
            saved = _loaded(kind, folder, files[0], options)
            worlds.append(_new_shard_like(saved, next_shard + rank - len(files)))
        for other in worlds[1:]:
            _take_over(worlds[0], other)
        return True

    step.gather("load", load_worlds)  # an error of one rank is raised on all
    return worlds[0], marker["tick"], next_shard + max(0, size - len(files))


def _newest(folder: str) -> Any:
    """Return the marker of the newest complete snapshot, None if there is none."""
    names = os.listdir(folder) if os.path.exists(folder) else []
    matches = [match for name in names if (match := _MARKER.fullmatch(name))]
    if not matches:
        return None
    name = max(matches, key=lambda m: int(m[1]))[0]
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            marker = json.load(file)
        if not all(type(file_name) is str for file_name in marker["files"]):
            raise ValueError("files are names")
        return {key: marker[key] for key in ("tick", "files", "next_shard")}
    except (ValueError, KeyError, TypeError, FileNotFoundError) as error:
        raise SnapshotError(f"{name}: {error}") from None


def _loaded(
    kind: Any, folder: str | os.PathLike[str], name: str, options: Mapping[str, Any]
) -> Any:
    path = os.path.join(folder, os.path.basename(name))
    if not os.path.exists(path):
        raise SnapshotError(f"{name}: there is no such file")
    return kind.load(path, codecs=codecs_of(kind()), **options)


def _new_shard_like(saved: Any, number: int) -> Any:
    """Return an empty world with the time, seeds, wraps, settings and attributes of another one."""
    world = type(saved)(number)
    for manager, old in zip(world.all_managers(), saved.all_managers(), strict=True):
        manager.load_json_state(old.json_state())
    world.load_json_state(saved.json_state())
    if isinstance(world, SettingsWorld):
        world.settings.__setstate__(saved.settings.__getstate__())
    for name, value in own_attributes(saved).items():
        setattr(world, name, value)
    return world


def _take_over(world: ShardBase, other: Any) -> None:
    """Move all live entities and rows of `other` to a world; its dead rows are collected."""
    other.collect()
    ids = {
        name: np.array(list(getattr(other, name)), np.uint64)
        for name in other.MANAGERS
        if not hasattr(getattr(other, name), "lookup")
    }
    absorb(world, other.extract(other.entities.live(), **ids))
