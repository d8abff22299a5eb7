"""A snapshot of one schema as a world of another would have saved it, manager by manager."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final

from .cell_types import Columns
from .documents import (
    ARRAYS,
    ATTRIBUTE,
    ATTRIBUTES,
    GENERATORS,
    SETTINGS,
    WORLD,
    Document,
    SnapshotContent,
    state_key,
    with_settings,
)
from .field_migration import FieldMigration, IdRemap, cold_columns
from .migration_view import Snapshot
from .policy_rules import PolicyMigration, evolve_unique, policies_of
from .row_migration import RowPlan, plan_chunks, plan_groups, plan_rows
from .saved_component import SavedComponent
from .schema_matching import Renames, SchemaMatch, match_schemas

if TYPE_CHECKING:
    from .snapshot_format import SnapshotFormat


# Names are matched first, then it is found out which rows there are and where; links and ids
# follow, fields come last. Columns in which nothing changes are the same arrays.

_NOTES: Final = ("seed", "calls", "wrap", "shape")
"""The seed, the calls of kernels, which are known by their names, sizes of a space or grid."""


def migrate_saved(
    saved: SnapshotContent,
    saving: SnapshotFormat,
    schema: Document,
    renames: Renames,
    drop: Collection[str] = (),
    migrate: Callable[[Snapshot], object] | None = None,
) -> SnapshotContent:
    """Return a snapshot as a world of `schema` saves it; O(n), n log n for links and ids.

    `migrate` is called first, and may change what there was; what it raises passes through. `drop`
    names what may be lost: `body.mood`, `old_thing`, `Mode.sleep`, `sprite.entity`.

    Raises SnapshotError for what would be lost or does not fit, and says where.
    """
    if migrate is not None:
        old = Snapshot(saved, saving)
        migrate(old)
        saved = old.result()
    if SETTINGS in saved.schema["components"]:  # what they lose is told, even if none are left
        schema = with_settings(schema, even_none=True)
    return _Migration(match_schemas(saved, schema, renames, drop), saving).result()


class _Migration:
    def __init__(self, names: SchemaMatch, saving: SnapshotFormat) -> None:
        self._names = names
        self._snapshot_format = saving
        self._docs: Document = names.schema["components"]
        self._handles = saving.HANDLES(saving.ENTITIES(names.saved), names.schema)
        self._arrays, numbers = self._handles.tensors()
        self._state: Document = {"entities": numbers}

    def result(self) -> SnapshotContent:
        names, handles = self._names, self._handles
        plans = {name: plan_rows(names.old(name), doc, handles) for name, doc in self._docs.items()}
        groups = plan_groups(names, handles, plans)
        chunked = [n for n, doc in self._docs.items() if doc["in"] == "archetypes"]
        if chunked:
            tables, owners = plan_chunks(names, handles, plans, chunked)
            old_archetypes = names.saved.state.get("archetypes", {"version": 0})
            archetypes = {"version": old_archetypes["version"], "tables": tables}
            self._state["archetypes"] = archetypes
            self._arrays["archetypes.entity"] = handles.rewritten(owners)
        new_ids = {}
        for name, doc in self._docs.items():
            if doc["in"] == "managers":
                remap = self._structure(names.old(name), doc, plans[name])
                if remap is not None:
                    new_ids[name] = remap
        for name in self._docs:
            self._fields(name, plans[name], new_ids)
        self._state["groups"] = groups
        old, keys = names.saved.state, (WORLD, ATTRIBUTES, ARRAYS, GENERATORS)
        self._state |= {key: old[key] for key in keys if key in old}
        self._arrays |= {
            name: array for name, array in names.saved.arrays.items() if name.startswith(ATTRIBUTE)
        }
        return SnapshotContent(names.saved.name, names.schema, self._state, self._arrays)

    def _structure(self, old: SavedComponent, doc: Document, plan: RowPlan) -> IdRemap | None:
        """Migrate owners, links and ids of a manager; return an IdRemap if ids have changed."""
        owners, columns = old.owners, {}
        if doc["owner"] == "entity":
            owners = self._handles.rewritten(plan.moved(owners))
            columns["entity"] = owners
        numbers = {"n": plan.n, "version": old.numbers["version"]}
        numbers |= {key: old.numbers[key] for key in _NOTES if key in old.numbers}
        new_ids = None
        for rules in policies_of(doc, self._snapshot_format.POLICIES):
            if rules.migrate is not None:
                migrated = rules.migrate(PolicyMigration(rules, old, doc, plan, owners))
                columns |= migrated.columns
                numbers |= migrated.numbers
                new_ids = migrated.new_ids or new_ids
        collected_before = not old.is_chunked and old.doc["destroy"] == "gc"
        collects = doc["destroy"] == "gc" and doc["owner"] == "entity"
        if collects and collected_before and len(old.column("_rng")):
            columns["_rng"] = old.column("_rng")
        module = doc["module"]
        self._arrays |= {f"{module}.{name}": array for name, array in columns.items()}
        self._state[state_key(module)] = numbers
        return new_ids

    def _fields(self, component: str, plan: RowPlan, new_ids: Mapping[str, IdRemap]) -> None:
        """Migrate the columns of all fields, or refuse cells that do not fit."""
        doc, names = self._docs[component], self._names
        fields = [
            FieldMigration(names, self._handles, new_ids, component, name, plan)
            for name in doc["fields"]
        ]
        apart: list[FieldMigration] = []
        if doc["in"] == "managers" and doc["cold"] == "indirect":
            apart = [field for field in fields if field.doc["cold"]]
        columns: Columns = {}
        for field in fields:
            if field not in apart:
                columns |= field.tensors()
        if apart:
            old, module = names.old(component), doc["module"]
            cold, numbers = cold_columns(apart, old, module, plan)
            columns |= cold
            self._state[state_key(module)] |= numbers
        for field in fields:
            if field.doc.get("unique"):
                evolve_unique(field, columns)
        self._arrays |= columns
