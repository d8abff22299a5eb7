"""Saving and loading worlds that are one of several: each with its visitors, and all."""

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

from ..base.atomic_files import replace_file
from ..base.errors import SnapshotError
from ..base.handles import EntityArray, RowArray
from ..managers.policies.ids import EXHAUSTED_GENERATION
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
from ..snapshots.row_checks import CheckedRows, check_direct_ids, check_slots
from ..snapshots.rule_types import Columns
from ..snapshots.saving import WorldLoader
from ..snapshots.schema_matching import OldComponent
from ..snapshots.serialisation import object_columns, own_attributes
from ..snapshots.snapshot_format import SnapshotFormat
from ..values.array_coercion import all_distinct_below, parse_non_negative
from .arrivals import absorb
from .lockstep import LockStep, require_agreement
from .sharded_entities import ID_FOREIGN_FLAG, ID_LAST, ID_SHARD_BITS
from .sharded_managers import IDS
from .sharded_managers import SLOTS as ID_SLOTS

# --- What is saved of a shard besides: its number and its visitors --------------------

VISITORS: Final = "entities.visitors"
SLOTS: Final = "entities.slots"
IDLE: Final = "entities.idle"


class ShardedWorldLoader(WorldLoader):
    """Takes what a snapshot says into a new world, visitors included."""

    EXTRAS: ClassVar[Sequence[str]] = (*WorldLoader.EXTRAS, IDS, ID_SLOTS)

    def _load_entities(self, entities: Any) -> None:
        super()._load_entities(entities)
        arrays = self.saved.arrays
        entities._begin(self.saved.state["entities"]["shard"])
        slots = arrays[SLOTS].astype(np.intp)
        entities._restore_foreign(arrays[VISITORS], slots, arrays[IDLE].astype(np.intp))


# --- Verified content of a shard: what every world's must be, and what visitors are ---


def check_shard_slots(rows: CheckedRows) -> None:
    """Refuse slots that are not each a row's, free or worn out; O(slots)."""
    generations = rows.column("id_generation")
    worn = generations >> ID_SHARD_BITS == ID_LAST
    name = f"{rows.module}.id_generation"
    seen = {name: np.where(worn, np.uint32(EXHAUSTED_GENERATION), generations)}
    saved = replace(rows.saved, arrays={**rows.saved.arrays, **seen})
    check_slots(replace(rows, saved=saved))
    _check_aliases(rows, rows.column("id_slot")[: rows.n])


def check_shard_direct_ids(rows: CheckedRows) -> None:
    """Refuse generations of 0 where an instance is, or was the last one; O(n)."""
    check_direct_ids(rows)
    _check_aliases(rows, rows.column("entity")[: rows.n].nonzero()[0])


def _check_aliases(rows: CheckedRows, used: NDArray[Any]) -> None:
    """Refuse ids given elsewhere that are not those of the slots in use that say so, and perhaps
    of others that say so: whose row has left, and may have come back into another one.
    """
    arrays, generations = rows.saved.arrays, rows.column("id_generation")
    away = generations & ID_FOREIGN_FLAG == ID_FOREIGN_FLAG
    wanted = used[away[used]]
    ids = arrays.get(f"{rows.module}.{IDS}", np.zeros(0, np.uint64))
    slots = arrays.get(f"{rows.module}.{ID_SLOTS}", np.zeros(0, np.uint32))
    known = np.zeros(len(away), np.bool_)
    known[slots[slots < len(away)]] = True
    all_distinct = np.count_nonzero(known) == len(slots)
    if not all_distinct or not known[wanted].all() or (known > away).any():
        rows.refuse("not the slots with ids of elsewhere", ID_SLOTS)
    if len(ids) != len(slots):
        rows.refuse("as many ids as slots are wanted", IDS)
    if len(np.unique(ids)) < len(ids) or (len(ids) and not int(ids.min())):
        rows.refuse("an id is there twice, or none", IDS)


class ShardTable(EntityTable):
    """Who was created here, who came, and who lives, by what a snapshot says."""

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
        found = super().indices(es)
        if len(self._foreign_slots) == 0:
            return found
        last = len(self._foreign_slots) - 1
        place = np.minimum(self._foreign_slots.searchsorted(es), last)
        return np.where(self._foreign_slots[place] == es, self._slots[place], found)

    def created(self, es: EntityArray) -> NDArray[np.bool_]:
        """Return which entities were ever given out here, or came."""
        own = self._shards(es) == self._shard_bits
        own &= ~np.isin((es & self._mask).view(np.intp), self._slots)
        found: NDArray[np.bool_] = super().created(es) & own
        return found | np.isin(es, self._foreign_slots)

    def check(self) -> None:
        """Refuse cells, slots or queues that cannot be; O(indices)."""
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
            saved.refuse("slots that there are not, or twice", SLOTS)
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
        """Return a snapshot whose handles have no shard, and slots of visitors are retired."""
        saved, slots = self.saved, self._slots
        generations = self.cells >> self._shift
        wrong = (generations > 0) & (self._shards(self.cells) != self._shard_bits)
        wrong[slots] = False
        if wrong.any():
            where = int(wrong.argmax())
            saved.refuse("a handle of another shard", "entities.handles", where)
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


# --- A shard as one of another schema would have saved it: handles and ids stay -------


class ShardedHandleRewriter(HandleRewriter):
    """The handles of an old shard's entities stay, for other shards know them."""

    def __init__(self, entities: EntityTable, schema: Document) -> None:
        saved = entities.saved
        old, new = saved.schema["entity"], schema["entity"]
        if any(old[name] != new.get(name) for name in ShardedSnapshotFormat.ENTITY_BITS):
            before, now = ([*bits.values()] for bits in (old, new))
            saved.refuse(
                f"handles of {before} bits cannot become those of {now}, for other shards have "
                "them, too; keep the bits of before"
            )
        super().__init__(entities, schema)

    def tensors(self) -> tuple[Columns, Document]:
        """Return the tensors of all entities, visitors included, and their numbers."""
        found, numbers = super().tensors()
        saved = self.entities.saved
        own = {name: saved.arrays[name] for name in (VISITORS, SLOTS, IDLE)}
        shard = saved.state["entities"]["shard"]
        return {**found, **own}, {**numbers, "shard": shard}


def shard_id_columns(it: PolicyMigration) -> MigratedState:
    """Return the columns of ids and their numbers. Ids stay, for other shards know them."""
    old = it.old
    shard = np.uint32(old.saved.state["entities"]["shard"])

    def following(generations: Generations) -> tuple[NDArray[np.bool_], Generations]:
        last = generations >> np.uint32(ID_SHARD_BITS)
        more = (last + np.uint32(1) << np.uint32(ID_SHARD_BITS)) | shard
        return last != ID_LAST, more

    made = id_columns(it, following)
    if old.is_new or not had_ids(old):
        return made
    if not it.had:
        why = "'lookup: direct' gives other ids, and other shards know those of before"
        why += f"; 'lookup: {old.doc['lookup']}' keeps them"
        old.saved.refuse(why, f"{old.module}.id_generation")
    columns = made.columns
    return MigratedState(columns | _foreign_ids(old, columns["id_generation"]), made.numbers)


def _foreign_ids(old: OldComponent, generations: NDArray[np.uint32]) -> Columns:
    """Return the ids given elsewhere that are still in a slot."""
    ids, slots = old.column(IDS), old.column(ID_SLOTS)
    held = generations[slots] & ID_FOREIGN_FLAG == ID_FOREIGN_FLAG
    return {IDS: ids[held], ID_SLOTS: slots[held]} if held.any() else {}


_OF_IDS: Final = {IDS: "u8", ID_SLOTS: "u4"}
_IDS: Final = {
    facts.check: replace(facts, rare_columns=_OF_IDS, check=check, migrate=shard_id_columns)
    for facts, check in ((SLOT_IDS, check_shard_slots), (DIRECT_IDS, check_shard_direct_ids))
}
"""What shards know of ids, by how other worlds check them."""


class ShardedSnapshotFormat(SnapshotFormat):
    """How a shard is saved and loaded: with its number and its visitors."""

    ENTITIES: ClassVar[type[EntityTable]] = ShardTable
    HANDLES: ClassVar[type[HandleRewriter]] = ShardedHandleRewriter
    LOADING: ClassVar[type[WorldLoader]] = ShardedWorldLoader
    POLICIES: ClassVar[tuple[PolicySnapshotRules, ...]] = tuple(
        _IDS.get(facts.check, facts) for facts in POLICIES
    )
    ENTITY_BITS: ClassVar[Sequence[str]] = (*SnapshotFormat.ENTITY_BITS, "shard_bits")
    ENTITY_NUMBERS: ClassVar[Sequence[str]] = (*SnapshotFormat.ENTITY_NUMBERS, "shard")
    ENTITY_TENSORS: ClassVar[Mapping[str, str]] = {
        **SnapshotFormat.ENTITY_TENSORS,
        "visitors": "u8",
        "slots": "u4",
        "idle": "u4",
    }


# --- Saving all shards, and going on with the same number of ranks, fewer or more ------
#
# A file for each shard, then one that says that all of a tick are there:
# `12.complete.json`.

_MARKER: Final = re.compile(r"(\d+)\.complete\.json")


def save_shard(shards: Any, folder: str | os.PathLike[str], tick: int, verify: bool) -> int:
    """Save this rank's world, then, on rank 0, the marker; return the tick.

    No file is replaced but the marker: if the same tick was saved before, that one is whole until
    this one is. Nothing is written before all ranks mean the same folder and tick.
    """
    step: LockStep = shards._step
    told = step.gather("save", lambda: [parse_non_negative("tick", tick), os.path.abspath(folder)])
    ticks: list[int] = [its for its, _ in told]
    number = require_agreement(ticks, "have given save other ticks: {} and {}")
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
    require_agreement(folders, f"have given {call} other folders: {{!r}} and {{!r}}")


def _unused_name(folder: str | os.PathLike[str], tick: int, shard: int) -> str:
    name, again = f"{tick}.{shard}.shard", 0
    while os.path.lexists(os.path.join(folder, name)):
        again += 1
        name = f"{tick}.{shard}.{again}.shard"
    return name


def _mark(folder: str | os.PathLike[str], tick: int, files: list[str], following: int) -> None:
    """Say that a tick is complete, and remove what earlier attempts to save it have left."""
    said = {"tick": tick, "files": files, "next_shard": following}
    with replace_file(os.path.join(folder, f"{tick}.complete.json")) as file:
        file.write(json.dumps(said).encode())
    old = re.compile(rf"{tick}\.\d+(\.\d+)?\.shard")
    for name in os.listdir(folder):
        if old.fullmatch(name) and name not in files:
            os.unlink(os.path.join(folder, name))


def codecs_of(world: Any) -> dict[str, Any]:
    """Return how objects are saved: as pickles, where they travel as such, or not at all."""
    stays = type(world)._STAYS
    pair = (pickle.dumps, pickle.loads)
    return {
        column: None if column.partition(".")[0] in stays else pair
        for column in object_columns(world)
    }


def resume(
    kind: Any, folder: str | os.PathLike[str], transport: Any, options: Mapping[str, Any]
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
            saved = _loaded(kind, folder, files[0], options)
            worlds.append(_new_shard_like(saved, following + rank - len(files)))
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


def _new_shard_like(saved: Any, number: int) -> Any:
    """Return an empty world with the time, seeds, wraps and attributes of another one."""
    world = type(saved)(number)
    for its, old in zip(world._all_managers(), saved._all_managers(), strict=True):
        its._load_json_state(old._json_state())
    world._load_json_state(saved._json_state())
    for name, value in own_attributes(saved).items():
        setattr(world, name, value)
    return world


def _take_over(world: Any, other: Any) -> None:
    """Let a world have all that another one has, but the dead, and who dies with them."""
    other.collect()
    ids = {
        name: np.array(list(getattr(other, name)), np.uint64)
        for name in other.MANAGERS
        if not hasattr(getattr(other, name), "lookup")
    }
    absorb(world, other.extract(other.entities.live(), **ids))
