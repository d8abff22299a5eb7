"""Tables of arrays by which a user's `migrate(old)` reads and changes a snapshot."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.handles import EntityArray
from ..tables.buffers import read_only
from .cell_types import TEXTS, TIMES, as_times, bits, cell_type
from .documents import Document, SnapshotContent, json_text, plain_component, state_key
from .entity_table import EntityTable
from .field_migration import tensors_of
from .row_checks import check_cells
from .row_migration import chained, kept_plan
from .saved_component import SavedComponent

if TYPE_CHECKING:
    from .snapshot_format import SnapshotFormat


_HALF: Final = np.dtype(np.float16)
_TIMES: Final = {
    np.dtype(f"{letter}8[{unit}]"): f"{base}[{unit}]"
    for base, letter in TIMES.items()
    for unit in ("s", "ms", "us", "ns")
}
"""Field types by types of numpy."""


def given_array(name: str, values: ArrayLike, rows: int) -> NDArray[Any]:
    """Return a copy of values, one for each row, in the machine's byte order.

    Raises:
        TypeError: no field holds what they are.
        ValueError: their number is not that of the rows.
    """
    array = np.array(values)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.ndim == 0 or len(array) != rows:
        actual = "one value" if array.ndim == 0 else f"{len(array)} values"
        raise ValueError(f"{name}: {actual} for {rows} rows")
    if array.dtype == _HALF:
        array = array.astype(np.float32)
    if rows == 0 and not isinstance(values, np.ndarray):
        return array  # numpy takes an empty list for floats, and it holds nothing
    kind, size = array.dtype.kind, array.dtype.itemsize
    is_known = kind in "biuSU" or (kind == "f" and size <= 8) or array.dtype in _TIMES
    if kind == "O":
        is_known = all(isinstance(value, bytes | None) for value in array.flat)
    if not is_known or (kind in "SUOMm" and array.ndim > 1) or 0 in array.shape[1:]:
        raise TypeError(f"{name}: no field holds {array.dtype} of shape {array.shape}")
    return array


def given_cells(array: NDArray[Any]) -> tuple[str, NDArray[Any]]:
    """Return a field type for an array, and its cells as a snapshot has them.

    Raises UnicodeEncodeError for text that has no UTF-8.
    """
    kind = array.dtype.kind
    if kind == "O":
        return "object", array
    if kind in "Mm":
        return _TIMES[array.dtype], array.view(np.int64)
    if kind == "U":
        texts = [text.encode() for text in array.tolist()]
        size = max(map(len, texts), default=0)
        array = np.array(texts, f"S{max(size, 1)}")
    if kind in "SU":
        name = "bytes" if kind == "S" else "str"
        size = max(array.dtype.itemsize, 1)
        cells = np.frombuffer(array.astype(f"S{size}").tobytes(), np.uint8)
        return f"{name}[{size}]", cells.reshape(len(array), size)
    scalar = "bool" if kind == "b" else f"{kind}{8 * array.dtype.itemsize}"
    shape = ",".join(map(str, array.shape[1:]))
    return scalar + (f"[{shape}]" if shape else ""), array


def given_field(text: str, key: str) -> Document:
    """Return the document of a field of which only the type is known; its default is what
    such a field has without one.

    `key`: where its cells are.
    """
    kind = cell_type(text, {})
    defaults: Document = {"object": None, "str": "", "bytes": [], "bool": False}
    defaults |= dict.fromkeys(TIMES, "NaT")
    default: Any = defaults.get(kind.base, 0)
    if kind.shape:
        default = np.full(kind.shape, default).tolist()
    plain = {"cold": False, "split": False, "unit": "", "given": True}
    return {"type": text, "default": default, "key": key, **plain}


def created_owners(entities: EntityTable, component: str, entity: ArrayLike) -> EntityArray:
    """Return entities of a snapshot as an array; raises TypeError and ValueError."""
    array = np.array(entity)
    if array.ndim != 1:
        raise ValueError(f"{component}: entities have the shape {array.shape}")
    if len(array) and array.dtype.kind not in "iu":
        raise TypeError(f"{component}: entities are integers, not {array.dtype}")
    owners = array.astype(np.uint64)
    created = entities.created(owners)
    if not created.all():
        first = entities.saved.shown(owners[int((~created).argmax())])
        raise ValueError(f"{component}: the entity {first} was never created")
    return owners


def new_component(
    saved: SnapshotContent, component: str, module: str, owners: EntityArray | None, count: int
) -> SavedComponent:
    """Return a new component of a snapshot, in which nothing but rows is kept; an entity's rows are
    in the order given."""
    columns: dict[str, NDArray[Any]] = {}
    if owners is not None:
        nexts, previous = chained(owners, np.arange(count), count)
        columns = {"entity": owners, "next": nexts, "previous": previous}
    owner = "none" if owners is None else "entity"
    doc = plain_component(module, "hash", "manual", owner=owner, instances="many", fields={})
    arrays = {f"{module}.{name}": column for name, column in columns.items()}
    with_component = replace(
        saved,
        state={**saved.state, state_key(module): {"n": count, "version": 0}},
        arrays={**saved.arrays, **arrays},
    )
    return SavedComponent(with_component, component, doc)


# It may change them before they are matched with the schemas of now. What it leaves
# alone is not even looked at.


class SnapshotTable:
    """The rows of one component: an array for each field.

    `t["x"]` is a copy that may be changed in place; `t["x"] = array` sets a field, which need not
    have been there, and `del t["x"]` and `t.pop("x")` take one away. Text is of dtype `S`, UTF-8;
    times are numpy's, objects the bytes of their codec, or None. Rows can't be added or removed.
    """

    __slots__ = ("_given", "_gone", "_old", "_seen")

    def __init__(self, old: SavedComponent) -> None:
        self._old = old
        self._seen: dict[str, NDArray[Any]] = {}
        self._given: dict[str, NDArray[Any]] = {}
        self._gone: set[str] = set()

    def __repr__(self) -> str:
        return f"<{self._old.name}: {self.rows} rows of {', '.join(self)}>"

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._old.count

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (rows,); read-only. Empty if rows have no owners."""
        owners, used = self._old.owners, self._old.used
        return read_only(owners[:] if used is None else owners[used])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the fields."""
        before = (name for name in self._old.fields if name not in self._gone)
        return iter(dict.fromkeys([*before, *self._given]))

    def __getitem__(self, field: str) -> NDArray[Any]:
        """Return the cells of a field, shape (rows, *shape); KeyError if there is none."""
        self._require(field)
        if field in self._given:
            return self._given[field]
        if field not in self._seen:
            kind, cells = self._old.type_of(field), self._cells(field).copy()
            is_text = kind.base in TEXTS
            shown = cells.view(f"S{kind.size}")[:, 0] if is_text else as_times(cells, kind)
            self._seen[field] = shown
        return self._seen[field]

    def __setitem__(self, field: str, values: ArrayLike) -> None:
        """Set the values of a field, old or new; they are copied.

        Raises:
            ValueError: not as many as there are rows, or no name of a field.
            TypeError: no field holds such values.
        """
        if values is self._seen.get(field) or values is self._given.get(field):
            return  # it was changed in place
        if not isinstance(field, str) or not field.isidentifier():
            raise ValueError(f"{self._old.name}: {field!r} is no name of a field")
        if field == "entity":
            raise ValueError(f"{self._old.name}: owners are what they are")
        name = f"{self._old.name}.{field}"
        self._given[field] = given_array(name, values, self.rows)
        self._seen.pop(field, None)

    def __delitem__(self, field: str) -> None:
        """Remove a field, which is dropped then. KeyError if there is none."""
        self._require(field)
        self._given.pop(field, None)
        self._seen.pop(field, None)
        self._gone.add(field)

    def pop(self, field: str) -> NDArray[Any]:
        """Remove a field and return its cells; KeyError if there is none."""
        cells = self[field]
        del self[field]
        return cells

    def _require(self, field: str) -> None:
        if field not in self:
            field_names = ", ".join(self) or "none"
            raise KeyError(f"{self._old.name} has no field {field!r}; it has {field_names}")

    def _put_into(self, arrays: dict[str, NDArray[Any]]) -> Document:
        """Write changed cells to tensors; return the document of the component."""
        before = self._old.fields
        fields: Document = {name: before[name] for name in self if name in before}
        for name, cells in self._changed():
            plain = {"cold": False, "split": False, "unique": False}
            fields[name] = {**before[name], **plain, "key": self._key(name)}
            self._put(arrays, name, before[name]["type"], cells)
        for name, cells in self._given.items():
            text, stored = given_cells(cells)
            fields[name] = given_field(text, self._key(name))
            self._put(arrays, name, text, stored)
        return {**self._old.doc, "fields": fields}

    def _changed(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the cells of fields that were changed in place, as a snapshot has them."""
        for name, shown in self._seen.items():
            kind, cells = self._old.type_of(name), shown
            if kind.base in TEXTS:
                cells = shown[:, None].view(np.uint8)
            if kind.base in TIMES:
                cells = shown.view(np.int64)
            if kind.base == "object":
                given_array(f"{self._old.name}.{name}", shown, self.rows)
            elif np.array_equal(bits(cells), bits(self._cells(name))):
                continue
            yield name, cells

    def _cells(self, field: str) -> NDArray[Any]:
        """Return the cells of a field that were saved, without holes."""
        cells = self._old.cells(field)
        return cells if self._old.used is None else cells[self._old.used]

    def _put(
        self, arrays: dict[str, NDArray[Any]], name: str, text: str, cells: NDArray[Any]
    ) -> None:
        """Write the cells of a field to its tensors, with holes where the rows have holes."""
        old = self._old
        kind = cell_type(text, old.saved.schema["enums"])
        if kind.base != "object":
            tensor = f"{old.module}.{name}"
            checked = replace(old.saved, arrays={tensor: cells})
            check_cells(checked, tensor, kind, None)
        if old.used is not None:
            cells = kept_plan(old.n, old.used).put(cells)
        arrays |= tensors_of(self._key(name), kind, cells, {"split": False})

    def _key(self, field: str) -> str:
        """Return the tensor of a field's new cells, a name that no tensor of a file has."""
        return f"{self._old.module}:{field}"


class Snapshot:
    """All components of a snapshot of older schemas, by name.

    `old["Body"]` is a table; `del old["Body"]` takes one away, `old.add` adds one.
    """

    __slots__ = ("_saved", "_schema", "_snapshot_format", "_tables")

    def __init__(self, saved: SnapshotContent, saving: SnapshotFormat) -> None:
        self._saved = saved
        self._snapshot_format = saving
        self._schema = deepcopy(saved.schema)
        self._tables: dict[str, SnapshotTable] = {}

    def __repr__(self) -> str:
        return f"<{self._saved.name}: version {self.version} of {', '.join(self)}>"

    @property
    def version(self) -> int:
        """The `version` that the world's schema had."""
        return int(self._schema["version"])

    @property
    def fingerprint(self) -> str:
        """The `World.FINGERPRINT` of the package that saved it."""
        return hashlib.sha256(json_text(self._schema).encode()).hexdigest()

    @property
    def schema(self) -> Document:
        """The schemas that it was saved with, as in the file; a copy."""
        return deepcopy(self._schema)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the components."""
        return iter(self._saved.schema["components"])

    def __getitem__(self, component: str) -> SnapshotTable:
        """Return the table of a component; KeyError if there is none."""
        if component not in self:
            component_names = ", ".join(self) or "none"
            raise KeyError(f"there is no component {component!r}; there are {component_names}")
        if component not in self._tables:
            doc = self._saved.schema["components"][component]
            old = SavedComponent(self._saved, component, doc)
            self._tables[component] = SnapshotTable(old)
        return self._tables[component]

    def __delitem__(self, component: str) -> None:
        """Remove a component with all its rows; KeyError if there is none."""
        _ = self[component]
        components = dict(self._saved.schema["components"])
        del components[component], self._tables[component]
        self._saved = _with_components(self._saved, components)

    def add(
        self, component: str, entity: ArrayLike | None, /, **fields: ArrayLike
    ) -> SnapshotTable:
        """Add a component with a row for each entity, or with `entity=None` rows without owners.

        Handles are those of the snapshot. Rows of the dead, and several of one entity, are as
        everywhere else: the new schemas say whether there may be any.

        Raises:
            ValueError: there is one already, an entity was never created, or a field has not as
                many values as there are rows.
            TypeError: no field holds such values, or entities are no integers.
        """
        if component in self:
            raise ValueError(f"there is a component {component!r} already")
        if not isinstance(component, str) or not component.isidentifier():
            raise ValueError(f"{component!r} is no name of a component")
        module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", component).lower()
        docs = self._saved.schema["components"].values()
        if module in {doc["module"] for doc in docs}:
            module = component  # no other's tensors begin with it
        if entity is None:
            if not fields:
                raise ValueError(f"{component}: no field says how many rows there are")
            owners, count = None, len(np.atleast_1d(next(iter(fields.values()))))
        else:
            entities = self._snapshot_format.ENTITIES(self._saved)
            owners = created_owners(entities, component, entity)
            count = len(owners)
        old = new_component(self._saved, component, module, owners, count)
        table = SnapshotTable(old)
        for name, values in fields.items():
            table[name] = values
        self._saved = _with_components(
            old.saved, {**self._saved.schema["components"], component: old.doc}
        )
        self._tables[component] = table
        return table

    def result(self) -> SnapshotContent:
        """Return what is loaded: the saved arrays, with those that the migration has written."""
        components = dict(self._saved.schema["components"])
        arrays = dict(self._saved.arrays)
        for name, table in self._tables.items():
            components[name] = table._put_into(arrays)
        saved = _with_components(self._saved, components)
        return replace(saved, arrays=arrays)


def _with_components(saved: SnapshotContent, components: Document) -> SnapshotContent:
    return replace(saved, schema={**saved.schema, "components": components})
