"""Saving and loading a world that is one of several: its number and its visitors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ..given_arrays import all_different
from ..handles import NIL, EntityArray, RowArray
from ..policies.ids import WORN_OUT
from ..snapshots.checked_links import check_direct_ids, check_slots
from ..snapshots.checked_rows import CheckedRows, KnownEntities, refuse_wrong
from ..snapshots.checked_tensors import check_state, check_tensors
from ..snapshots.contents import parts_of, state_of
from ..snapshots.documents import Codecs, Document, Saved, refuse
from ..snapshots.evolution import Evolving
from ..snapshots.evolved_fields import Numbers, had_ids, id_columns
from ..snapshots.evolved_rows import Handles, RowPlan
from ..snapshots.facts import Columns, Evolved, Facts
from ..snapshots.old_snapshots import OldComponent
from ..snapshots.policies import DIRECT_IDS, POLICIES, SLOT_IDS
from ..snapshots.schema_documents import check_schema
from ..snapshots.strategy import Loading, Saving
from ..snapshots.writing import Part, single
from .ids import IDS
from .ids import SLOTS as ID_SLOTS
from .sharded_entities import ID_LAST, ID_SHARD_BITS, ID_VISITOR

# --- What is saved of a shard beside what every world saves: its number and its
# visitors.


VISITORS: Final = "entities.visitors"
SLOTS: Final = "entities.slots"
IDLE: Final = "entities.idle"


def shard_parts(world: Any, codecs: Codecs) -> Iterator[Part]:
    """Return all tensors of a world, in places from which they can be mapped; views mostly."""
    yield from parts_of(world, codecs)
    state = world.entities.__getstate__()
    yield single(VISITORS, state["visitors"])
    yield single(SLOTS, state["slots"].astype(np.uint32))
    yield single(IDLE, state["idle"].astype(np.uint32))


def shard_state(world: Any, attributes: Document) -> Document:
    """Return the numbers of a world, and those of its attributes that are JSON."""
    state = state_of(world, attributes)
    entities = world.entities
    n_retired = entities._n_retired - entities._revived
    return state | {"entities": {"n_retired": n_retired, "shard": entities.shard}}


# --- A shard is made of a snapshot of its own schema ----------------------------------


class ShardedLoading(Loading):
    """Takes what a snapshot says into a new world, visitors included."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._extras = (*self._extras, IDS, ID_SLOTS)

    def _load_entities(self, entities: Any) -> None:
        super()._load_entities(entities)
        arrays = self._saved.arrays
        entities._begin(self._saved.state["entities"]["shard"])
        slots = arrays[SLOTS].astype(np.intp)
        entities._welcome(arrays[VISITORS], slots, arrays[IDLE].astype(np.intp))


# --- Verified content of a shard: what every world's must be, and what visitors are ---


_TENSORS: Final = {VISITORS: np.uint64, SLOTS: np.uint32, IDLE: np.uint32}
_OF_IDS: Final = {IDS: np.uint64, ID_SLOTS: np.uint32}


def check_shard_schema(schema: Any, file: str) -> None:
    """Refuse a document that is not the `schema` of some world; O(its size)."""
    entity = schema.get("entity") if type(schema) is dict else None
    if type(entity) is dict and "shard_bits" in entity:
        bits = entity["shard_bits"]
        if type(bits) is not int or not 1 <= bits <= 32:
            refuse(file, f"schema.entity.shard_bits: {bits!r}, wanted 1 to 32")
        entity = {key: entity[key] for key in entity if key != "shard_bits"}
        schema = {**schema, "entity": entity}
    check_schema(schema, file)


def check_shard_state(saved: Saved) -> None:
    """Refuse a state that has not exactly what the schema asks for; O(its size)."""
    entities = saved.state.get("entities") if type(saved.state) is dict else None
    if not _is_sharded(saved) or type(entities) is not dict:
        check_state(saved)
        return
    shard = entities.get("shard")
    last = (1 << saved.schema["entity"]["shard_bits"]) - 1
    if type(shard) is not int or not 0 <= shard <= last:
        saved.refuse(f"state.entities.shard: {shard!r}, wanted 0 to {last}")
    others = {key: entities[key] for key in entities if key != "shard"}
    check_state(_with(saved, {"entities": others}))


def check_shard_tensors(saved: Saved) -> None:
    """Refuse tensors that are lacking, that nobody asks for, or of another type or shape."""
    if not _is_sharded(saved):
        check_tensors(saved)
        return
    for name, dtype in _TENSORS.items():
        if name not in saved.arrays:
            saved.refuse("there is no such tensor", name)
        _check_flat(saved, name, dtype)
    own = {*_TENSORS}
    for component in saved.schema["components"].values():
        names = {f"{component['module']}.{name}": _OF_IDS[name] for name in _OF_IDS}
        found = names.keys() & saved.arrays.keys()
        if found and (not component["ids"] or len(found) < len(names)):
            saved.refuse("the schema has no such tensor", min(found))
        for name in found:
            _check_flat(saved, name, names[name])
        own |= found
    arrays = {name: saved.arrays[name] for name in saved.arrays if name not in own}
    check_tensors(Saved(saved.name, saved.schema, saved.state, arrays))


def check_shard_slots(rows: CheckedRows) -> None:
    """Refuse slots that are not each a row's, free or worn out; O(slots)."""
    generations = rows.column("id_generation")
    worn = generations >> ID_SHARD_BITS == ID_LAST
    name = f"{rows.module}.id_generation"
    seen = {name: np.where(worn, np.uint32(WORN_OUT), generations)}
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
    away = generations & ID_VISITOR == ID_VISITOR
    wanted = used[away[used]]
    ids = arrays.get(f"{rows.module}.{IDS}", np.zeros(0, np.uint64))
    slots = arrays.get(f"{rows.module}.{ID_SLOTS}", np.zeros(0, np.uint32))
    known = np.zeros(len(away), np.bool_)
    known[slots[slots < len(away)]] = True
    are_distinct = np.count_nonzero(known) == len(slots)
    if not are_distinct or not known[wanted].all() or (known > away).any():
        rows.refuse("not the slots with ids of elsewhere", ID_SLOTS)
    if len(ids) != len(slots):
        rows.refuse("as many ids as slots are wanted", IDS)
    if len(np.unique(ids)) < len(ids) or (len(ids) and not int(ids.min())):
        rows.refuse("an id is there twice, or none", IDS)


class KnownVisitors(KnownEntities):
    """Who was created here, who came, and who lives, by what a snapshot says."""

    def __init__(self, saved: Saved) -> None:
        arrays = saved.arrays
        self._real: EntityArray = arrays["entities.handles"]
        self._visitors: EntityArray = arrays[VISITORS]
        self._slots: NDArray[np.intp] = arrays[SLOTS].astype(np.intp)
        self._idle: NDArray[np.intp] = arrays[IDLE].astype(np.intp)
        self._home = np.uint64(saved.state["entities"]["shard"])
        bits = saved.schema["entity"]
        index_bits = bits["index_bits"]
        self._low = np.uint64(index_bits)
        self._shift = np.uint64(index_bits + bits["shard_bits"])
        self._index = np.uint64((1 << index_bits) - 1)
        self._check_visitors(saved)
        order = self._visitors.argsort()
        self._ordered, self._places = self._visitors[order], self._slots[order]
        super().__init__(self._as_of_one_world(saved))
        self._saved = saved

    def _check_visitors(self, saved: Saved) -> None:
        count, slots = len(self._real), np.concatenate((self._slots, self._idle))
        if len(self._visitors) != len(self._slots):
            saved.refuse("as many slots as visitors are wanted", SLOTS)
        if len(slots) and (
            int(slots.max()) >= count or not all_different(slots, count)
        ):
            saved.refuse("slots that there are not, or twice", SLOTS)
        if len(np.unique(self._visitors)) < len(self._visitors):
            saved.refuse("a visitor is there twice", VISITORS)
        if (self._visitors >> self._shift == 0).any():
            saved.refuse("no handle", VISITORS, int(self._visitors.argmin()))
        cells = self._real[self._slots]
        empty = (self._slots ^ 1).view(np.uint64)
        if ((cells != self._visitors) & (cells != empty)).any():
            saved.refuse("the slot has another entity", VISITORS)
        if (self._real[self._idle] != (self._idle ^ 1).view(np.uint64)).any():
            saved.refuse("the slot has an entity", IDLE)

    def _as_of_one_world(self, saved: Saved) -> Saved:
        """Return a snapshot whose handles have no shard, and slots of visitors are retired."""
        shift, real = self._shift, self._real
        generations, shards = (
            real >> shift,
            (real & ((np.uint64(1) << shift) - np.uint64(1))) >> self._low,
        )
        plain = generations << self._low | real & self._index
        alive = int(np.count_nonzero(self._real[self._slots] == self._visitors))
        plain[self._slots] = (self._slots ^ 1).view(np.uint64)
        wrong = (generations > 0) & (shards != self._home)
        wrong[self._slots] = False
        if wrong.any():
            saved.refuse(
                "a handle of another shard", "entities.handles", int(wrong.argmax())
            )
        n_retired = saved.state["entities"]["n_retired"] + alive
        changed = _with(saved, {"entities": {"n_retired": n_retired}})
        arrays = {**saved.arrays, "entities.handles": plain}
        return Saved(saved.name, changed.schema, changed.state, arrays)

    def indices(self, owners: EntityArray) -> NDArray[np.intp]:
        """Return the slot of each entity."""
        slots = (owners & self._index).view(np.intp)
        if len(self._ordered):
            place = np.minimum(
                self._ordered.searchsorted(owners), len(self._ordered) - 1
            )
            slots = np.where(self._ordered[place] == owners, self._places[place], slots)
        return slots

    def check_owners(self, tensor: str, owners: EntityArray, living: bool) -> None:
        """Refuse owners that were never here, or with `living` those that are dead; O(n)."""
        shift = self._shift
        mask = (np.uint64(1) << shift) - np.uint64(1)

        def wrong(block: slice) -> NDArray[np.bool_]:
            es = owners[block]
            if not len(self._real):
                return np.ones(len(es), np.bool_)
            slots = self.indices(es)
            cells = self._real.take(slots, mode="clip")
            bad: NDArray[np.bool_] = (cells != es) | (slots >= len(self._real))
            if living or not bad.any():
                return bad
            known = np.isin(es, self._ordered)
            own = (es & mask) >> self._low == self._home
            plain = es >> shift << self._low | es & self._index
            created = own & self._were_created(
                plain, self._handles.take((es & self._index).view(np.intp), mode="clip")
            )
            index = (es & self._index).view(np.intp)
            created &= (index < len(self._real)) & ~np.isin(index, self._places)
            lost: NDArray[np.bool_] = bad & ~known & ~created
            return lost

        def why(row: int) -> str:
            what = "is not alive" if living else "was never here"
            return f"entity {int(owners[row]):#x} {what}"

        refuse_wrong(self._saved, tensor, len(owners), wrong, why)


def _is_sharded(saved: Saved) -> bool:
    return "shard_bits" in saved.schema["entity"]


def _with(saved: Saved, state: Document) -> Saved:
    return Saved(saved.name, saved.schema, {**saved.state, **state}, saved.arrays)


def _check_flat(saved: Saved, name: str, dtype: type[Any]) -> None:
    array = saved.arrays[name]
    if array.dtype != np.dtype(dtype) or array.ndim != 1:
        saved.refuse(f"wanted flat {np.dtype(dtype)}", name)


# --- A shard of one schema as one of another would have saved it: who is known
# elsewhere stays so.


_BITS: Final = ("index_bits", "generation_bits", "shard_bits")
_ONE: Final = 1 << ID_SHARD_BITS


class ShardedHandles(Handles):
    """The entities of an old shard; their handles stay, for other shards know them."""

    def __init__(self, saved: Saved, schema: Document) -> None:
        old, new = saved.schema["entity"], schema["entity"]
        if any(old.get(name) != new.get(name) for name in _BITS):
            saved.refuse(
                f"handles of {[old.get(name, 0) for name in _BITS]} bits cannot become those of "
                f"{[new.get(name, 0) for name in _BITS]}, for other shards have them, too; "
                "keep the bits of before"
            )
        super().__init__(saved, schema)
        order = saved.arrays[VISITORS].argsort()
        self._visitors: EntityArray = saved.arrays[VISITORS][order]
        self._slots = saved.arrays[SLOTS].astype(np.intp)[order]
        self._shift = np.uint64(self.old.of_index + new["shard_bits"])
        self._home = np.uint64(saved.state["entities"]["shard"])

    def indices(self, handles: EntityArray) -> RowArray:
        """Return the slot of each old handle."""
        found = super().indices(handles)
        if len(self._visitors) == 0:
            return found
        last = len(self._visitors) - 1
        place = np.minimum(self._visitors.searchsorted(handles), last)
        return np.where(self._visitors[place] == handles, self._slots[place], found)

    def created(self, handles: EntityArray) -> NDArray[np.bool_]:
        """Return which were ever given out here, or came."""
        found: NDArray[np.bool_] = np.isin(handles, self._visitors)
        index = super().indices(handles)
        below = (np.uint64(1) << self._shift) - np.uint64(1)
        own = (handles & below) >> np.uint64(self.old.of_index) == self._home
        own &= (index < len(self.cells)) & ~np.isin(index, self._slots)
        if len(self.cells):
            now = self.cells.take(index, mode="clip")
            given, last = handles >> self._shift, now >> self._shift
            own &= (given != 0) & ((last == 0) | (given < last) | (now == handles))
        found |= own
        return found

    def tensors(self) -> tuple[Columns, Document]:
        """Return the tensors of all entities, visitors included, and their numbers."""
        found, numbers = super().tensors()
        own = {name: self._saved.arrays[name] for name in (VISITORS, SLOTS, IDLE)}
        return {**found, **own}, {**numbers, "shard": int(self._home)}


def shard_id_columns(it: Evolving) -> Evolved:
    """Return the columns of ids and their numbers. Ids stay, for other shards know them."""
    old, plan = it.old, it.plan
    shard = old.saved.state["entities"]["shard"]
    if not had_ids(old):
        made = id_columns(it)
        columns, numbers = made.columns, dict(made.numbers)
        generations = columns["id_generation"]
        first = np.uint32(_ONE | shard)
        columns["id_generation"] = np.where(generations, first, np.uint32(0))
        if "first_generation" in numbers:
            numbers["first_generation"] = int(first)
        return Evolved(columns, numbers)
    if not it.had:
        why = "'lookup: direct' gives other ids, and other shards know those of before"
        why += f"; 'lookup: {old.doc['lookup']}' keeps them"
        old.saved.refuse(why, f"{old.module}.id_generation")
    made = id_columns(it)
    columns, numbers = made.columns, dict(made.numbers)
    if it.doc["lookup"] != "direct" and not plan.stays:
        columns, numbers = _freed(old, plan, columns, numbers, shard)
    return Evolved(columns | _aliases(old, columns["id_generation"]), numbers)


def _freed(
    old: OldComponent, plan: RowPlan, columns: Columns, numbers: Numbers, shard: int
) -> tuple[Columns, Numbers]:
    """Return slots, those of rows that went with the next generation of this shard."""
    slots, generations = old.column("id_slot"), old.column("id_generation").copy()
    used = plan.take(slots[: old.n])
    gone = slots[: old.n][~np.isin(slots[: old.n], used)]
    fresh = gone[generations[gone] >> ID_SHARD_BITS != ID_LAST]
    generations[fresh] = (generations[fresh] >> ID_SHARD_BITS) + 1 << ID_SHARD_BITS
    generations[fresh] |= np.uint32(shard)
    rows = np.full(len(columns["id_row"]), NIL, np.uint32)
    rows[used] = np.arange(plan.n)
    whole = np.concatenate((used, fresh, slots[old.n :]))
    found = {"id_slot": whole, "id_row": rows, "id_generation": generations}
    return found, {**numbers, "slots": len(whole)}


def _aliases(old: OldComponent, generations: NDArray[np.uint32]) -> Columns:
    """Return the ids given elsewhere that are still in a slot."""
    if not old.has(IDS):
        return {}
    ids, slots = old.column(IDS), old.column(ID_SLOTS)
    held = generations[slots] & ID_VISITOR == ID_VISITOR
    return {IDS: ids[held], ID_SLOTS: slots[held]} if held.any() else {}


# --- How a world that is one of several is saved and loaded: with its number and its
# visitors.


_IDS: Final = {
    facts.check: replace(facts, check=check, evolve=shard_id_columns)
    for facts, check in (
        (SLOT_IDS, check_shard_slots),
        (DIRECT_IDS, check_shard_direct_ids),
    )
}
"""What shards know of ids, by how other worlds check them."""


class ShardedSaving(Saving):
    """How a shard is saved and loaded."""

    KNOWN_ENTITIES: ClassVar[type[KnownEntities]] = KnownVisitors
    HANDLES: ClassVar[type[Handles]] = ShardedHandles
    LOADING: ClassVar[type[Loading]] = ShardedLoading
    POLICIES: ClassVar[tuple[Facts, ...]] = tuple(
        _IDS.get(facts.check, facts) for facts in POLICIES
    )

    def parts_of(self, world: Any, codecs: Codecs) -> Iterator[Part]:
        return shard_parts(world, codecs)

    def state_of(self, world: Any, attributes: Document) -> Document:
        return shard_state(world, attributes)

    def check_schema(self, schema: Any, file: str) -> None:
        check_shard_schema(schema, file)

    def check_state(self, saved: Saved) -> None:
        check_shard_state(saved)

    def check_tensors(self, saved: Saved) -> None:
        check_shard_tensors(saved)
