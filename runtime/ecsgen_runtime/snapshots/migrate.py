"""A snapshot of one schema as a world of another would have saved it.

Names are matched first, then it is found out which rows there are and where; links and ids follow,
fields come last. Columns in which nothing changes are the same arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from .codecs import ATTRIBUTE
from .documents import WORLD, Document, Saved, state_key
from .evolution.chunks import plan_chunks
from .evolution.fields import FieldMaker
from .evolution.groups import plan_groups
from .evolution.ids import NewIds
from .evolution.managers import check_fields, fields, structure
from .evolution.names import Names, Renames, match
from .evolution.rows import RowPlan, plan_rows
from .strategy import Saving
from .tables import Snapshot


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
