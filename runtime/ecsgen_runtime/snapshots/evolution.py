"""A snapshot of one schema as a world of another would have saved it, manager by manager."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .documents import ATTRIBUTE, WORLD, Document, Saved, state_key
from .evolved_fields import FieldMaker, NewIds, cold_columns
from .evolved_links import plan_chunks, plan_groups
from .evolved_rows import RowPlan, plan_rows
from .facts import Columns, Facts, FieldFacts
from .old_snapshots import Names, OldComponent, Renames, match
from .policies import policies_of, policies_of_field
from .strategy import Saving
from .tables import Snapshot

# --- One component in its new manager: what policies are given, its tensors and
# numbers.


# --- What a policy is given to say what becomes of it: the rows of before, and where
# they go.


@dataclass(frozen=True)
class Evolving:
    """A policy of a component of an old schema, and what is to become of it."""

    facts: Facts
    old: OldComponent
    doc: Document
    """What the new schema says of the component."""
    plan: RowPlan
    owners: NDArray[np.uint64]
    """In new rows, in the new handles."""

    @property
    def had(self) -> bool:
        """Whether the policy applied before."""
        return not self.old.is_chunked and self.facts.applies(self.old.doc)

    @property
    def stays(self) -> bool:
        """Whether all that it had stays as it is."""
        return self.had and self.plan.stays

    def number(self, name: str) -> int:
        """Return one of the policy's numbers as it was."""
        found: int = self.old.numbers.get(name, self.facts.numbers[name].at_first)
        return found


@dataclass(frozen=True)
class EvolvingField:
    """A policy of a field, and the field's cells in a new schema."""

    facts: FieldFacts
    maker: FieldMaker
    component: str
    name: str
    plan: RowPlan
    columns: Columns

    @property
    def had(self) -> bool:
        """Whether the policy applied before."""
        former = self.maker.names.former(self.component, self.name)
        return former is not None and bool(self._old.fields[former].get(self.facts.key))

    @property
    def is_untouched(self) -> bool:
        """Whether every cell stays as it is."""
        return self.maker.is_untouched(self.component, self.name)

    @property
    def cells(self) -> NDArray[Any]:
        """The cells of the instances, in the order of the new rows."""
        cells = self.columns[f"{self._doc['module']}.{self.name}"]
        return cells if self.plan.at is None else cells[self.plan.at]

    @property
    def type(self) -> str:
        """The new type of the field."""
        text: str = self._doc["fields"][self.name]["type"]
        return text

    def refuse(self, why: str, row: int) -> NoReturn:
        """Raise SnapshotError that names an old row."""
        self._old.saved.refuse(why, f"{self._old.module}.{self.name}", row)

    @property
    def _doc(self) -> Document:
        found: Document = self.maker.names.schema["components"][self.component]
        return found

    @property
    def _old(self) -> OldComponent:
        return self.maker.names.old(self.component)


# --- The tensors and numbers of one component in its new manager ----------------------


Numbers = dict[str, Any]


def structure(
    saving: Saving,
    old: OldComponent,
    doc: Document,
    plan: RowPlan,
    owners: NDArray[np.uint64],
) -> tuple[Columns, Numbers, NewIds | None]:
    """Return what policies have of the rows, and what old ids are now.

    `owners` in new rows, in the new handles.
    """
    version = 0 if old.is_chunked else old.numbers["version"]
    numbers: Numbers = {"n": plan.n, "version": version} | _notes(old)
    columns: Columns = {"entity": owners} if doc["owner"] == "entity" else {}
    new_ids = None
    for facts in policies_of(doc, saving.POLICIES):
        if facts.evolve is not None:
            made = facts.evolve(Evolving(facts, old, doc, plan, owners))
            columns |= made.columns
            numbers |= made.numbers
            new_ids = made.new_ids or new_ids
    if _keeps_generator(old, doc):
        columns["_rng"] = old.column("_rng")
    module = doc["module"]
    tensors = {f"{module}.{name}": column for name, column in columns.items()}
    return tensors, numbers, new_ids


def _notes(old: OldComponent) -> Numbers:
    """Return the seed, the calls of kernels, which are known by their names, and the sizes of a
    space."""
    kept = ("seed", "calls", "wrap")
    return {key: old.numbers[key] for key in kept if key in old.numbers}


def _keeps_generator(old: OldComponent, doc: Document) -> bool:
    collects = doc["destroy"] == "gc" and doc["owner"] == "entity"
    return (
        collects
        and not old.is_chunked
        and old.doc["destroy"] == "gc"
        and old.has("_rng")
    )


def fields(maker: FieldMaker, component: str, plan: RowPlan) -> tuple[Columns, Numbers]:
    """Return the columns of all fields, cold ones among them."""
    columns = maker.columns(component, plan)
    cold, numbers = cold_columns(maker, component, plan)
    return columns | cold, numbers


def check_fields(
    maker: FieldMaker, component: str, plan: RowPlan, columns: Columns
) -> None:
    """Refuse cells that fields of the new schema cannot have."""
    for name, field in maker.names.schema["components"][component]["fields"].items():
        for facts in policies_of_field(field):
            facts.evolve(EvolvingField(facts, maker, component, name, plan, columns))


# --- A snapshot of one schema as a world of another would have saved it ---------------
#
# Names are matched first, then it is found out which rows there are and where; links
# and ids follow, fields come last. Columns in which nothing changes are the same
# arrays.


def migrate_saved(
    saved: Saved,
    saving: Saving,
    schema: Document,
    renames: Renames,
    drop: Collection[str] = (),
    migrate: Callable[[Snapshot], object] | None = None,
) -> Saved:
    """Return what a world of `schema` would have saved; O(n), n log n for links and ids.

    `migrate` is called first, and may change what there was; what it raises passes through. `drop`
    names what may be lost: `body.mood`, `old_thing`, `Mode.sleep`, `sprite.entity`.

    Raises SnapshotError for what would be lost or does not fit, and says where.
    """
    if migrate is not None:
        old = Snapshot(saved, saving)
        migrate(old)
        saved = old._result()
    return _Migration(match(saved, schema, renames, drop), saving).result()


class _Migration:
    """One snapshot on its way."""

    def __init__(self, names: Names, saving: Saving) -> None:
        self._names = names
        self._saving = saving
        self._docs: Document = names.schema["components"]
        self._handles = saving.HANDLES(names.saved, names.schema)
        self._arrays, numbers = self._handles.tensors()
        self._state: Document = {"entities": numbers}

    def result(self) -> Saved:
        """Return the new snapshot."""
        names, handles = self._names, self._handles
        plans = {
            name: plan_rows(names.old(name), doc, handles)
            for name, doc in self._docs.items()
        }
        groups = plan_groups(names, handles, plans)
        chunked = [n for n, doc in self._docs.items() if doc["in"] == "archetypes"]
        if chunked:
            self._tables(plans)
        maker = FieldMaker(names, handles, self._structures(plans))
        for name in self._docs:
            self._fields(name, plans[name], maker)
        self._state["groups"] = groups
        if WORLD in names.saved.state:
            self._state[WORLD] = names.saved.state[WORLD]
        self._state["attributes"] = names.saved.state.get("attributes", {})
        self._arrays |= {
            name: array
            for name, array in names.saved.arrays.items()
            if name.startswith(ATTRIBUTE)
        }
        return Saved(names.saved.name, names.schema, self._state, self._arrays)

    def _tables(self, plans: dict[str, RowPlan]) -> None:
        """Take the tables of components in chunks, and find out what is in them."""
        tables, owners = plan_chunks(self._names, self._handles, plans)
        before = self._names.saved.state.get("archetypes", {"version": 0})
        self._state["archetypes"] = {"version": before["version"], "tables": tables}
        self._arrays["archetypes.entity"] = self._handles.rewritten(owners)

    def _structures(self, plans: dict[str, RowPlan]) -> dict[str, NewIds]:
        """Take owners, links and ids of all managers; return what old ids are now."""
        found = {}
        for name, doc in self._docs.items():
            if doc["in"] == "archetypes":
                continue
            old, plan = self._names.old(name), plans[name]
            owners = old.owners
            if doc["owner"] == "entity":
                owners = self._handles.rewritten(plan.moved(owners))
            columns, numbers, new_ids = structure(self._saving, old, doc, plan, owners)
            self._arrays |= columns
            self._state[state_key(doc["module"])] = numbers
            if new_ids is not None:
                found[name] = new_ids
        return found

    def _fields(self, name: str, plan: RowPlan, maker: FieldMaker) -> None:
        doc = self._docs[name]
        columns, numbers = fields(maker, name, plan)
        self._arrays |= columns
        if doc["in"] == "managers":
            self._state[state_key(doc["module"])] |= numbers
        check_fields(maker, name, plan, columns)
