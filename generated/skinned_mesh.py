"""SkinnedMesh: lookup sparse, instances one, destroy callback, release.

A mesh deformed by a skeleton, with the external resources that it draws with.

One buffer of 31 bytes per row, column after column:

    column          type    bytes/row  offset (64 rows)  tags
    --------------  ------  ---------  ----------------  ----
    entity          u64             8                 0  hot
    vertex_buffers  u32[2]          8               512  hot
    index_buffer    u32             4              1024  hot
    shader          u32             4              1280  hot
    material        u32             4              1536  hot
    bone_count      u16             2              1792  hot
    visible         bool            1              1920  hot
    resource        object     beside                    hot
    31 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import index
from struct import Struct
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._runtime.callbacks import Callbacks, Subscription
from ._runtime.columns.buffers import (
    Column,
    allocate,
    cells,
    copied_if_view,
    copy_rows,
    cut,
    flat_cells,
    grown_capacity,
    is_same_view,
    items,
    load_rows,
    put_cells,
    saved_rows,
    warn_if_viewed,
    whole_rows,
    word,
)
from ._runtime.convert.numbers import BoolField, IntField
from ._runtime.convert.objects import ObjectField
from ._runtime.entities.arrays import as_entities
from ._runtime.entities.handles import (
    NIL,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ._runtime.entities.layout import INDEX_MASK
from ._runtime.entities.manager import EntityManager
from ._runtime.errors import StaleViewWarning
from ._runtime.groups.group import (
    GroupMember,
    having_all,
    joined_at,
    locked_in_group,
    sorted_by_group,
    unshared,
)
from ._runtime.maps.sparse import (
    grown_map,
    indices,
    predecessors,
    sparse_lookup,
    sparse_map,
)
from ._runtime.placement.partition import exchange, fill_parts
from ._runtime.placement.rows import (
    Remap,
    distinct,
    duplicate_instance,
    first_missing,
    first_present,
    first_repeated,
    has_row,
    integers,
    is_integer,
    missing,
    permutation,
    row_in_use,
    rows_in_use,
)
from ._runtime.placement.sorting import key_values, sort_key, sort_order

MANAGER: Final = "SkinnedMeshManager"
ROW_BYTES: Final = 31
COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("vertex_buffers", np.dtype(np.uint32), (2,), 8, ("hot",), 8),
    Column("index_buffer", np.dtype(np.uint32), (), 4, ("hot",), 16),
    Column("shader", np.dtype(np.uint32), (), 4, ("hot",), 20),
    Column("material", np.dtype(np.uint32), (), 4, ("hot",), 24),
    Column("bone_count", np.dtype(np.uint16), (), 2, ("hot",), 28),
    Column("visible", np.dtype(np.bool_), (), 1, ("hot",), 30),
)
_VERTEX_BUFFERS: Final = IntField("SkinnedMesh.vertex_buffers", "u32", (2,))
_INDEX_BUFFER: Final = IntField("SkinnedMesh.index_buffer", "u32")
_SHADER: Final = IntField("SkinnedMesh.shader", "u32")
_MATERIAL: Final = IntField("SkinnedMesh.material", "u32")
_BONE_COUNT: Final = IntField("SkinnedMesh.bone_count", "u16")
_VISIBLE: Final = BoolField("SkinnedMesh.visible")
_RESOURCE: Final = ObjectField("SkinnedMesh.resource")
VERTEX_BUFFERS_STRUCT: Final = Struct("=2I")
VERTEX_BUFFERS_DEFAULT: Final = (0, 0)
VERTEX_BUFFERS_WORD: Final = word(_VERTEX_BUFFERS, VERTEX_BUFFERS_DEFAULT)
INDEX_BUFFER_DEFAULT: Final = 0
SHADER_DEFAULT: Final = 0
MATERIAL_DEFAULT: Final = 0
BONE_COUNT_DEFAULT: Final = 1
VISIBLE_DEFAULT: Final = True
SORT_KEYS: Final = ("index_buffer", "shader", "material", "bone_count", "visible")


class SkinnedMesh(NamedTuple):
    """One row of a SkinnedMeshManager, copied out."""

    vertex_buffers: tuple[int, int]
    """Handles of the double-buffered skinned vertices."""

    index_buffer: int
    """Handle of the index buffer."""

    shader: int
    """Handle of the shader."""

    material: int
    """Handle of the material."""

    bone_count: int
    """Bones in the palette."""

    visible: bool
    """Whether the renderer draws it."""

    resource: Any
    """The external resource, released with the instance."""


class SkinnedMeshFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; what is left out takes its default."""

    vertex_buffers: ArrayLike
    index_buffer: ArrayLike
    shader: ArrayLike
    material: ArrayLike
    bone_count: ArrayLike
    visible: ArrayLike
    resource: object


class SkinnedMeshHotColumns(NamedTuple):
    """The columns tagged `hot`: all that are not cold."""

    vertex_buffers: NDArray[np.uint32]
    index_buffer: NDArray[np.uint32]
    shader: NDArray[np.uint32]
    material: NDArray[np.uint32]
    bone_count: NDArray[np.uint16]
    visible: NDArray[np.bool_]
    resource: NDArray[np.object_]


class SkinnedMeshData:
    """The columns of a SkinnedMeshManager: views of the rows in use.

    A view is good until rows are added or removed. Assigning to a column writes its
    rows, after the same checks as everywhere: `data.x = 2.0`, `data.x *= 0.5`.
    """

    __slots__ = (
        "_allocated",
        "_bone_count_cells",
        "_bone_count_column",
        "_buffer",
        "_entity_cells",
        "_entity_column",
        "_index_buffer_cells",
        "_index_buffer_column",
        "_material_cells",
        "_material_column",
        "_n",
        "_n_grouped",
        "_resource_column",
        "_shader_cells",
        "_shader_column",
        "_vertex_buffers_cells",
        "_vertex_buffers_column",
        "_vertex_buffers_items",
        "_vertex_buffers_words",
        "_visible_cells",
        "_visible_column",
    )
    _n: int
    _allocated: int
    _buffer: NDArray[np.uint8]
    _n_grouped: int
    _entity_column: NDArray[np.uint64]
    _entity_cells: memoryview[Entity]
    _vertex_buffers_column: NDArray[np.uint32]
    _vertex_buffers_items: NDArray[Any]
    _vertex_buffers_words: memoryview[int]
    _vertex_buffers_cells: memoryview[int]
    _index_buffer_column: NDArray[np.uint32]
    _index_buffer_cells: memoryview[int]
    _shader_column: NDArray[np.uint32]
    _shader_cells: memoryview[int]
    _material_column: NDArray[np.uint32]
    _material_cells: memoryview[int]
    _bone_count_column: NDArray[np.uint16]
    _bone_count_cells: memoryview[int]
    _visible_column: NDArray[np.bool_]
    _visible_cells: memoryview[bool]
    _resource_column: NDArray[np.object_]

    def __init__(self, capacity: int) -> None:
        self._n = 0
        self._n_grouped = 0
        self._place(allocate(ROW_BYTES, capacity), capacity)
        self._resource_column = np.full(capacity, None, np.object_)

    @property
    def n(self) -> int:
        """Rows in use, those of the group `actors` first."""
        return self._n

    @property
    def allocated(self) -> int:
        """Rows that fit into the buffer."""
        return self._allocated

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """The one buffer that all columns but the objects are cut from."""
        return self._buffer

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (n,); read-only."""
        column = self._entity_column[: self._n]
        column.flags.writeable = False
        return column

    @property
    def vertex_buffers(self) -> NDArray[np.uint32]:
        """Handles of the double-buffered skinned vertices. Shape (n, 2)."""
        return self._vertex_buffers_column[: self._n]

    @vertex_buffers.setter
    def vertex_buffers(self, values: ArrayLike) -> None:
        if not is_same_view(self.vertex_buffers, values):
            self._vertex_buffers_column[: self._n] = _VERTEX_BUFFERS.many(
                values, self._n
            )

    @property
    def index_buffer(self) -> NDArray[np.uint32]:
        """Handle of the index buffer. Shape (n,)."""
        return self._index_buffer_column[: self._n]

    @index_buffer.setter
    def index_buffer(self, values: ArrayLike) -> None:
        if not is_same_view(self.index_buffer, values):
            self._index_buffer_column[: self._n] = _INDEX_BUFFER.many(values, self._n)

    @property
    def shader(self) -> NDArray[np.uint32]:
        """Handle of the shader. Shape (n,)."""
        return self._shader_column[: self._n]

    @shader.setter
    def shader(self, values: ArrayLike) -> None:
        if not is_same_view(self.shader, values):
            self._shader_column[: self._n] = _SHADER.many(values, self._n)

    @property
    def material(self) -> NDArray[np.uint32]:
        """Handle of the material. Shape (n,)."""
        return self._material_column[: self._n]

    @material.setter
    def material(self, values: ArrayLike) -> None:
        if not is_same_view(self.material, values):
            self._material_column[: self._n] = _MATERIAL.many(values, self._n)

    @property
    def bone_count(self) -> NDArray[np.uint16]:
        """Bones in the palette. Shape (n,)."""
        return self._bone_count_column[: self._n]

    @bone_count.setter
    def bone_count(self, values: ArrayLike) -> None:
        if not is_same_view(self.bone_count, values):
            self._bone_count_column[: self._n] = _BONE_COUNT.many(values, self._n)

    @property
    def visible(self) -> NDArray[np.bool_]:
        """Whether the renderer draws it. Shape (n,)."""
        return self._visible_column[: self._n]

    @visible.setter
    def visible(self, values: ArrayLike) -> None:
        if not is_same_view(self.visible, values):
            self._visible_column[: self._n] = _VISIBLE.many(values, self._n)

    @property
    def resource(self) -> NDArray[np.object_]:
        """The external resource, released with the instance. Shape (n,)."""
        return self._resource_column[: self._n]

    @resource.setter
    def resource(self, values: object) -> None:
        if not is_same_view(self.resource, values):
            self._resource_column[: self._n] = _RESOURCE.many(values, self._n)

    def tagged(self, tag: Literal["hot"], /) -> SkinnedMeshHotColumns:
        """Return the columns that bear a tag; ValueError if none does."""
        if tag == "hot":
            return SkinnedMeshHotColumns(
                self.vertex_buffers,
                self.index_buffer,
                self.shader,
                self.material,
                self.bone_count,
                self.visible,
                self.resource,
            )
        raise ValueError(f"SkinnedMesh has no tag {tag!r}; it has hot")

    def _place(self, buffer: NDArray[np.uint8], capacity: int) -> None:
        """Cut the columns out of a buffer; O(1)."""
        self._buffer = buffer
        self._allocated = capacity
        self._entity_column = cut(buffer, COLUMNS[0], capacity)
        self._entity_cells = cells(self._entity_column)
        self._vertex_buffers_column = cut(buffer, COLUMNS[1], capacity)
        self._vertex_buffers_items = items(self._vertex_buffers_column)
        self._vertex_buffers_words = cells(self._vertex_buffers_items)
        self._vertex_buffers_cells = flat_cells(self._vertex_buffers_column)
        self._index_buffer_column = cut(buffer, COLUMNS[2], capacity)
        self._index_buffer_cells = cells(self._index_buffer_column)
        self._shader_column = cut(buffer, COLUMNS[3], capacity)
        self._shader_cells = cells(self._shader_column)
        self._material_column = cut(buffer, COLUMNS[4], capacity)
        self._material_cells = cells(self._material_column)
        self._bone_count_column = cut(buffer, COLUMNS[5], capacity)
        self._bone_count_cells = cells(self._bone_count_column)
        self._visible_column = cut(buffer, COLUMNS[6], capacity)
        self._visible_cells = cells(self._visible_column)

    def _allocate(self, capacity: int, borrowed: tuple[object, ...] = ()) -> None:
        """Move the rows into a new buffer; O(n). `borrowed`: the caller's arguments."""
        buffer = allocate(ROW_BYTES, capacity)
        old, held, rows = self._buffer, self._allocated, self._n
        old_resource = self._resource_column
        self._resource_column = np.full(capacity, None, np.object_)
        self._resource_column[: self._n] = old_resource[: self._n]
        self._place(buffer, capacity)
        copy_rows(COLUMNS, old, held, buffer, capacity, rows)
        try:
            warn_if_viewed(old, MANAGER, borrowed)
        except StaleViewWarning:  # made an error by a filter
            self._place(old, held)
            self._resource_column = old_resource
            raise

    def _save(self) -> dict[str, NDArray[Any]]:
        """Return the rows in use, by column."""
        rows = saved_rows(COLUMNS, self._buffer, self._allocated, self._n)
        rows["resource"] = self.resource
        return rows

    def _load(self, rows: dict[str, NDArray[Any]]) -> None:
        """Fill the rows in use from what `_save` returned."""
        self.resource[:] = rows["resource"]
        load_rows(COLUMNS, self._buffer, self._allocated, rows)

    def _move_row(self, src: int, dst: int) -> None:
        """Copy one row over another, column by column."""
        self._entity_cells[dst] = self._entity_cells[src]
        self._vertex_buffers_words[dst] = self._vertex_buffers_words[src]
        self._index_buffer_cells[dst] = self._index_buffer_cells[src]
        self._shader_cells[dst] = self._shader_cells[src]
        self._material_cells[dst] = self._material_cells[src]
        self._bone_count_cells[dst] = self._bone_count_cells[src]
        self._visible_cells[dst] = self._visible_cells[src]
        self._resource_column[dst] = self._resource_column[src]

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._vertex_buffers_items[dst] = self._vertex_buffers_items[src]
        self._index_buffer_column[dst] = self._index_buffer_column[src]
        self._shader_column[dst] = self._shader_column[src]
        self._material_column[dst] = self._material_column[src]
        self._bone_count_column[dst] = self._bone_count_column[src]
        self._visible_column[dst] = self._visible_column[src]
        self._resource_column[dst] = self._resource_column[src]


class SkinnedMeshGroupedData:
    """The columns of the rows in the group `actors`: views, assigned to like those of
    `data`."""

    __slots__ = ("_data",)

    def __init__(self, data: SkinnedMeshData) -> None:
        self._data = data

    @property
    def n(self) -> int:
        """Rows in the group."""
        return self._data._n_grouped

    @property
    def entity(self) -> EntityArray:
        """The owner of each row in the group, shape (n,); read-only."""
        return self._data.entity[: self._data._n_grouped]

    @property
    def vertex_buffers(self) -> NDArray[np.uint32]:
        """Handles of the double-buffered skinned vertices. Shape (n, 2)."""
        data = self._data
        return data._vertex_buffers_column[: data._n_grouped]

    @vertex_buffers.setter
    def vertex_buffers(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.vertex_buffers, values):
            checked = _VERTEX_BUFFERS.many(values, data._n_grouped)
            data._vertex_buffers_column[: data._n_grouped] = checked

    @property
    def index_buffer(self) -> NDArray[np.uint32]:
        """Handle of the index buffer. Shape (n,)."""
        data = self._data
        return data._index_buffer_column[: data._n_grouped]

    @index_buffer.setter
    def index_buffer(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.index_buffer, values):
            checked = _INDEX_BUFFER.many(values, data._n_grouped)
            data._index_buffer_column[: data._n_grouped] = checked

    @property
    def shader(self) -> NDArray[np.uint32]:
        """Handle of the shader. Shape (n,)."""
        data = self._data
        return data._shader_column[: data._n_grouped]

    @shader.setter
    def shader(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.shader, values):
            checked = _SHADER.many(values, data._n_grouped)
            data._shader_column[: data._n_grouped] = checked

    @property
    def material(self) -> NDArray[np.uint32]:
        """Handle of the material. Shape (n,)."""
        data = self._data
        return data._material_column[: data._n_grouped]

    @material.setter
    def material(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.material, values):
            checked = _MATERIAL.many(values, data._n_grouped)
            data._material_column[: data._n_grouped] = checked

    @property
    def bone_count(self) -> NDArray[np.uint16]:
        """Bones in the palette. Shape (n,)."""
        data = self._data
        return data._bone_count_column[: data._n_grouped]

    @bone_count.setter
    def bone_count(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.bone_count, values):
            checked = _BONE_COUNT.many(values, data._n_grouped)
            data._bone_count_column[: data._n_grouped] = checked

    @property
    def visible(self) -> NDArray[np.bool_]:
        """Whether the renderer draws it. Shape (n,)."""
        data = self._data
        return data._visible_column[: data._n_grouped]

    @visible.setter
    def visible(self, values: ArrayLike) -> None:
        data = self._data
        if not is_same_view(self.visible, values):
            checked = _VISIBLE.many(values, data._n_grouped)
            data._visible_column[: data._n_grouped] = checked

    @property
    def resource(self) -> NDArray[np.object_]:
        """The external resource, released with the instance. Shape (n,)."""
        data = self._data
        return data._resource_column[: data._n_grouped]

    @resource.setter
    def resource(self, values: object) -> None:
        data = self._data
        if not is_same_view(self.resource, values):
            checked = _RESOURCE.many(values, data._n_grouped)
            data._resource_column[: data._n_grouped] = checked


class SkinnedMeshManager:
    """Owns every SkinnedMesh: lookup sparse, instances one, destroy callback, release.

    A mesh deformed by a skeleton, with the external resources that it draws with.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    LAYOUT: ClassVar[tuple[Column, ...]] = COLUMNS

    __slots__ = (
        "__weakref__",
        "_entities",
        "_holds",
        "_locks",
        "_mates",
        "_released",
        "_sparse",
        "_sparse_cells",
        "_version",
        "data",
    )
    data: SkinnedMeshData
    _mates: tuple[GroupMember, ...]
    _holds: int
    _entities: EntityManager
    _sparse: NDArray[np.uint32]
    _sparse_cells: memoryview[Instance]
    _released: Callbacks[RowArray]

    def __init__(self, entities: EntityManager) -> None:
        self._locks = 0
        self._version = 0
        self.data = SkinnedMeshData(capacity=0)
        self._entities = entities
        self._set_map(sparse_map(64))
        self._mates = ()
        self._holds = 0
        self._entities._attach(self._before_destroy, self._entities_destroyed)
        self._released = Callbacks()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the callbacks, for pickle and deepcopy."""
        data = self.data
        return {
            "version": self._version,
            "n": data._n,
            "allocated": data._allocated,
            "columns": data._save(),
            "entities": self._entities,
            "sparse": self._sparse,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._locks = 0
        self._version = state["version"]
        self.data = data = SkinnedMeshData(state["allocated"])
        data._n = state["n"]
        data._load(state["columns"])
        self._entities = state["entities"]
        self._set_map(state["sparse"].copy())
        self._mates = ()
        self._holds = 0
        self._entities._attach(self._before_destroy, self._entities_destroyed)
        self._released = Callbacks()

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self.data._n

    def __iter__(self) -> Iterator[Entity]:
        """Iterate over the owners, one per row, in row order."""
        return iter(self.data.entity.tolist())

    def __contains__(self, entity: object) -> bool:
        """Return whether an entity has an instance; O(1)."""
        return is_integer(entity) and self.lookup(Entity(index(entity))) != NIL

    @property
    def version(self) -> int:
        """How many structural changes there were; views and rows are good until the next."""
        return self._version

    @property
    def capacity(self) -> int:
        """Rows that fit before the buffer must grow."""
        return self.data._allocated

    @property
    def nbytes(self) -> int:
        """Bytes that the manager holds: the buffer and the map; O(1)."""
        total = self.data._buffer.nbytes
        total += self._sparse.nbytes
        total += self.data._resource_column.nbytes
        return total

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let structural changes raise StructureLockedError inside the `with` block."""
        self._holds += 1
        for mate in self._mates:
            mate._locks += 1
        self._locks += 1
        try:
            yield
        finally:
            self._locks -= 1
            for mate in self._mates:
                mate._locks -= 1
            self._holds -= 1

    def entity(self, row: Instance, /) -> Entity:
        """Return the owner of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._entity_cells[row]

    def vertex_buffers(self, row: Instance, /) -> tuple[int, int]:
        """Handles of the double-buffered skinned vertices."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return VERTEX_BUFFERS_STRUCT.unpack_from(data._vertex_buffers_cells, 8 * row)

    def set_vertex_buffers(self, row: Instance, value: ArrayLike, /) -> None:
        """Set `vertex_buffers` of a row: 2 values."""
        _value = _VERTEX_BUFFERS.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        _at = 2 * row
        data._vertex_buffers_cells[_at] = _value[0]
        data._vertex_buffers_cells[_at + 1] = _value[1]

    def index_buffer(self, row: Instance, /) -> int:
        """Handle of the index buffer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._index_buffer_cells[row]

    def set_index_buffer(self, row: Instance, value: int, /) -> None:
        """Set `index_buffer` of a row."""
        _value = _INDEX_BUFFER.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._index_buffer_cells[row] = _value

    def shader(self, row: Instance, /) -> int:
        """Handle of the shader."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._shader_cells[row]

    def set_shader(self, row: Instance, value: int, /) -> None:
        """Set `shader` of a row."""
        _value = _SHADER.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._shader_cells[row] = _value

    def material(self, row: Instance, /) -> int:
        """Handle of the material."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._material_cells[row]

    def set_material(self, row: Instance, value: int, /) -> None:
        """Set `material` of a row."""
        _value = _MATERIAL.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._material_cells[row] = _value

    def bone_count(self, row: Instance, /) -> int:
        """Bones in the palette."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._bone_count_cells[row]

    def set_bone_count(self, row: Instance, value: int, /) -> None:
        """Set `bone_count` of a row."""
        _value = _BONE_COUNT.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._bone_count_cells[row] = _value

    def visible(self, row: Instance, /) -> bool:
        """Whether the renderer draws it."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._visible_cells[row]

    def set_visible(self, row: Instance, value: bool, /) -> None:
        """Set `visible` of a row."""
        _value = _VISIBLE.one(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._visible_cells[row] = _value

    def resource(self, row: Instance, /) -> Any:
        """The external resource, released with the instance."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return data._resource_column[row]

    def set_resource(self, row: Instance, value: Any, /) -> None:
        """Set `resource` of a row."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        data._resource_column[row] = value

    def row(self, row: Instance, /) -> SkinnedMesh:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        return SkinnedMesh(
            VERTEX_BUFFERS_STRUCT.unpack_from(data._vertex_buffers_cells, 8 * row),
            data._index_buffer_cells[row],
            data._shader_cells[row],
            data._material_cells[row],
            data._bone_count_cells[row],
            data._visible_cells[row],
            data._resource_column[row],
        )

    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        try:
            row = self._sparse_cells[entity & INDEX_MASK]
        except IndexError:
            return NIL
        if row == NIL or self.data._entity_cells[row] != entity:
            return NIL
        return row

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        given = as_entities(entities)
        data = self.data
        owners = data._entity_column[: data._n]
        return sparse_lookup(self._sparse, owners, given, INDEX_MASK)

    def has(self, entity: Entity, /) -> bool:
        """Return whether the entity has an instance; O(1)."""
        return self.lookup(entity) != NIL

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]:
        """Return which of k entities have an instance, shape (k,); O(k)."""
        return has_row(self.lookup_many(entities))

    def require(self, entity: Entity, /) -> Instance:
        """Return the entity's row; O(1).

        Raises:
            MissingInstanceError: it has none.
        """
        row = self.lookup(entity)
        if row == NIL:
            raise missing(MANAGER, entity)
        return row

    def require_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, shape (k,); O(k).

        Raises:
            MissingInstanceError: one of them has none.
        """
        given = as_entities(entities)
        rows = self.lookup_many(given)
        first_missing(MANAGER, given, rows)
        return rows

    def create(
        self,
        entity: Entity,
        /,
        *,
        vertex_buffers: ArrayLike = VERTEX_BUFFERS_DEFAULT,
        index_buffer: int = INDEX_BUFFER_DEFAULT,
        shader: int = SHADER_DEFAULT,
        material: int = MATERIAL_DEFAULT,
        bone_count: int = BONE_COUNT_DEFAULT,
        visible: bool = VISIBLE_DEFAULT,
        resource: Any = None,
    ) -> Instance:
        """Give an entity an instance and return its row; O(1).

        Raises:
            StaleEntityError: the entity is dead.
            DuplicateInstanceError: the entity has an instance already.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the manager is locked.
        """
        entity = index(entity)  # type: ignore[assignment]  # calling Entity takes time
        try:
            _vertex_buffers_ = VERTEX_BUFFERS_DEFAULT
            if vertex_buffers is not VERTEX_BUFFERS_DEFAULT:
                _vertex_buffers_ = _VERTEX_BUFFERS.one(vertex_buffers)
            _index_buffer_ = INDEX_BUFFER_DEFAULT
            if index_buffer is not INDEX_BUFFER_DEFAULT:
                _index_buffer_ = _INDEX_BUFFER.one(index_buffer)
            _shader_ = SHADER_DEFAULT
            if shader is not SHADER_DEFAULT:
                _shader_ = _SHADER.one(shader)
            _material_ = MATERIAL_DEFAULT
            if material is not MATERIAL_DEFAULT:
                _material_ = _MATERIAL.one(material)
            _bone_count_ = BONE_COUNT_DEFAULT
            if bone_count is not BONE_COUNT_DEFAULT:
                _bone_count_ = _BONE_COUNT.one(bone_count)
            _visible_ = VISIBLE_DEFAULT
            if visible is not VISIBLE_DEFAULT:
                _visible_ = _VISIBLE.one(visible)
        except Exception:
            self._entities.require(entity)  # death is the graver error
            raise
        _slot = entity & INDEX_MASK
        try:
            _is_alive = self._entities._cells[_slot] == entity
        except IndexError:
            _is_alive = False
        if not _is_alive:
            self._entities.require(entity)  # raises StaleEntityError
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        data = self.data
        _map = None
        try:
            _found = self._sparse_cells[_slot]
        except IndexError:
            _found, _map = NIL, grown_map(self._sparse, _slot)
        if _found != NIL and data._entity_cells[_found] == entity:
            raise duplicate_instance(MANAGER, entity)
        if data._n == data._allocated:
            data._allocate(
                grown_capacity(data._allocated, data._n + 1), (vertex_buffers,)
            )
        if _map is not None:
            self._set_map(_map)
        with self._entities.dispatch:
            if _found != NIL and data._entity_cells[_found] != entity:
                # a dead entity had the same index
                self._destroy_rows(np.array([_found]))
                _found = NIL
            row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
            data._entity_cells[row] = entity
            if _vertex_buffers_ is VERTEX_BUFFERS_DEFAULT:
                data._vertex_buffers_words[row] = VERTEX_BUFFERS_WORD
            else:
                _at = 2 * row
                data._vertex_buffers_cells[_at] = _vertex_buffers_[0]
                data._vertex_buffers_cells[_at + 1] = _vertex_buffers_[1]
            data._index_buffer_cells[row] = _index_buffer_
            data._shader_cells[row] = _shader_
            data._material_cells[row] = _material_
            data._bone_count_cells[row] = _bone_count_
            data._visible_cells[row] = _visible_
            data._resource_column[row] = resource
            data._n = row + 1
            self._sparse_cells[_slot] = row
            self._version += 1
            if self._mates:
                row = self._join_group(row, entity)
            return row

    def create_many(
        self,
        entities: ArrayLike,
        /,
        *,
        vertex_buffers: ArrayLike = VERTEX_BUFFERS_DEFAULT,
        index_buffer: ArrayLike = INDEX_BUFFER_DEFAULT,
        shader: ArrayLike = SHADER_DEFAULT,
        material: ArrayLike = MATERIAL_DEFAULT,
        bone_count: ArrayLike = BONE_COUNT_DEFAULT,
        visible: ArrayLike = VISIBLE_DEFAULT,
        resource: object = None,
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. The errors are those of
        `create`; whatever raises changes nothing.
        """
        _given = as_entities(entities)
        try:
            columns = self._convert(
                len(_given),
                vertex_buffers=vertex_buffers,
                index_buffer=index_buffer,
                shader=shader,
                material=material,
                bone_count=bone_count,
                visible=visible,
                resource=resource,
            )
        except Exception:
            self._entities.require_many(entities)  # death is the graver error
            raise
        entities = self._entities._require_handles(_given, entities)
        first_repeated(MANAGER, entities)
        first_present(MANAGER, entities, self.lookup_many(entities))
        _borrowed = (
            entities,
            vertex_buffers,
            index_buffer,
            shader,
            material,
            bone_count,
            visible,
        )
        self._make_room(entities, columns, _borrowed)
        if self._mates:
            entities, columns = unshared(entities, columns)
        return self._append_many(copied_if_view(entities, self.data._buffer), columns)

    def _convert(
        self,
        count: int,
        /,
        *,
        vertex_buffers: ArrayLike = VERTEX_BUFFERS_DEFAULT,
        index_buffer: ArrayLike = INDEX_BUFFER_DEFAULT,
        shader: ArrayLike = SHADER_DEFAULT,
        material: ArrayLike = MATERIAL_DEFAULT,
        bone_count: ArrayLike = BONE_COUNT_DEFAULT,
        visible: ArrayLike = VISIBLE_DEFAULT,
        resource: object = None,
    ) -> Columns:
        """Check columns for `count` new rows: the first part of a creation."""
        data = self.data
        columns: Columns = {
            "vertex_buffers": _VERTEX_BUFFERS.many(vertex_buffers, count, data._buffer),
            "index_buffer": _INDEX_BUFFER.many(index_buffer, count, data._buffer),
            "shader": _SHADER.many(shader, count, data._buffer),
            "material": _MATERIAL.many(material, count, data._buffer),
            "bone_count": _BONE_COUNT.many(bone_count, count, data._buffer),
            "visible": _VISIBLE.many(visible, count, data._buffer),
            "resource": _RESOURCE.many(resource, count, data._buffer),
        }
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        return columns

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        """Let the buffer grow if it must: the second part. `borrowed`: the caller's arguments."""
        data = self.data
        needed = data._n + len(entities)
        if needed > data._allocated:
            data._allocate(grown_capacity(data._allocated, needed), borrowed)

    def _append_many(self, entities: EntityArray, columns: Columns) -> RowArray:
        """Add rows of checked columns: the last part, which only the map can stop."""
        data = self.data
        count = len(entities)
        if count == 0:
            return np.empty(0, np.intp)
        slots = indices(entities, INDEX_MASK)
        highest = int(slots.max())
        if highest >= len(self._sparse):
            self._set_map(grown_map(self._sparse, highest))
        with self._entities.dispatch:
            owners = data._entity_column[: data._n]
            dead = predecessors(self._sparse, slots, owners, entities)
            if len(dead):
                self._destroy_rows(np.sort(self.lookup_many(dead)))
            n = data._n
            end = n + count
            span = slice(n, end)
            rows = np.arange(n, end)
            data._entity_column[span] = entities
            put_cells(
                data._vertex_buffers_column,
                data._vertex_buffers_items,
                span,
                columns["vertex_buffers"],
            )
            data._index_buffer_column[span] = columns["index_buffer"]
            data._shader_column[span] = columns["shader"]
            data._material_column[span] = columns["material"]
            data._bone_count_column[span] = columns["bone_count"]
            data._visible_column[span] = columns["visible"]
            data._resource_column[span] = columns["resource"]
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            self._version += 1
            if self._mates:
                rows = self._join_group_many(rows, entities)
            return rows

    def ensure(
        self,
        entity: Entity,
        /,
        *,
        vertex_buffers: ArrayLike = VERTEX_BUFFERS_DEFAULT,
        index_buffer: int = INDEX_BUFFER_DEFAULT,
        shader: int = SHADER_DEFAULT,
        material: int = MATERIAL_DEFAULT,
        bone_count: int = BONE_COUNT_DEFAULT,
        visible: bool = VISIBLE_DEFAULT,
        resource: Any = None,
    ) -> Instance:
        """Return the entity's instance, or create one of these values; O(1).

        Raises:
            StaleEntityError: the entity is dead.
        """
        entity = self._entities.require(entity)
        row = self.lookup(entity)
        if row != NIL:
            return row
        return self.create(
            entity,
            vertex_buffers=vertex_buffers,
            index_buffer=index_buffer,
            shader=shader,
            material=material,
            bone_count=bone_count,
            visible=visible,
            resource=resource,
        )

    def destroy(self, row: Instance, /) -> None:
        """Remove one instance; O(1). The group's last row and the last of all move up.

        Raises:
            StaleInstanceError: the row is not in use.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = Instance(row_in_use(row, data, MANAGER))
        self._destroy_row(row)

    def destroy_many(self, rows: ArrayLike, /) -> None:
        """Remove k instances, given as distinct rows or as a mask of length n; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        given = rows_in_use(rows, self.data, MANAGER)
        self._destroy_rows(distinct(given, self.data._n, MANAGER))

    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        if type(entity) is not int:
            entity = Entity(index(entity))
        try:
            row = self._sparse_cells[entity & INDEX_MASK]
        except IndexError:
            return 0
        if row == NIL or self.data._entity_cells[row] != entity:
            return 0
        return self._destroy_row(row)

    def remove_many(self, entities: ArrayLike, /) -> int:
        """Remove the instances of k entities and return how many went; O(k)."""
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        rows = self.lookup_many(entities)
        gone = np.unique(rows[rows != NIL])
        return self._destroy_rows(gone)

    def clear(self) -> None:
        """Remove every instance; the capacity stays. O(n)."""
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        self._destroy_rows(np.arange(self.data._n))

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        with self._entities.dispatch:
            self._release(np.array([row]))
            self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
            if row < data._n_grouped:
                for mate in self._mates:
                    mate._leave_group(row)
                last = Instance(data._n_grouped - 1)
                if row != last:
                    self._move(last, row)
                data._n_grouped = row = last  # the hole is behind the group now
            last = Instance(data._n - 1)
            if row != last:
                self._move(last, row)
            data._n = last
            data._resource_column[data._n] = None
            self._version += 1
            return 1

    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(gone) == 0:
            return 0
        data = self.data
        with self._entities.dispatch:
            self._release(gone)
            self._sparse[indices(data._entity_column[gone], INDEX_MASK)] = NIL
            n, bound = data._n, data._n_grouped
            leaving = gone[: np.searchsorted(gone, bound)]
            if len(leaving):
                for mate in self._mates:
                    mate._leave_group_many(leaving)
            src, dst = fill_parts(gone, bound, n)
            self._move_many(src, dst)
            data._n_grouped = bound - len(leaving)
            data._n = n - len(gone)
            data._resource_column[data._n : n] = None
            self._version += 1
            return len(gone)

    def sort(self, key: str | ArrayLike, /) -> None:
        """Sort the rows by a scalar field, by name, or by a key; O(n log n).

        Ascending, stable, NaN last. A key array has one value per row.

        Raises:
            ValueError: no such field, or a key of another length.
            StructureLockedError: the manager is locked, or a world's group orders its rows.
        """
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        if self._mates:
            raise sorted_by_group(MANAGER, "actors")
        data = self.data
        if isinstance(key, str):
            if key not in SORT_KEYS:
                raise ValueError(f"{MANAGER} sorts by {SORT_KEYS}, not {key!r}")
            key = getattr(data, key)
        key = sort_key(key_values(key, MANAGER), data._n, MANAGER)
        self._permute(sort_order(key))

    def reorder(self, order: ArrayLike, /) -> None:
        """Let row k become what row order[k] was; O(n).

        Raises:
            ValueError: the order is not a permutation of the rows.
            StructureLockedError: the manager is locked, or a world's group orders its rows.
        """
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        if self._mates:
            raise sorted_by_group(MANAGER, "actors")
        given = integers(order, MANAGER, "the order")
        order = permutation(given, self.data._n, MANAGER)
        self._permute(order)

    def _permute(self, src: RowArray) -> None:
        """Move every row src[k] to k."""
        data = self.data
        n = data._n
        dst = np.arange(n)
        data._move_rows(src, dst)
        self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst
        self._version += 1

    def reserve(self, rows: int, /) -> None:
        """Make room for `rows` instances in all, so that creating them moves nothing; O(n)."""
        rows = index(rows)
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        data = self.data
        if rows > data._allocated:
            data._allocate(whole_rows(rows))
            self._version += 1

    def shrink_to_fit(self) -> None:
        """Give back the memory of rows not in use; O(n)."""
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))
        data = self.data
        capacity = whole_rows(data._n)
        if capacity < data._allocated:
            data._allocate(capacity)
            self._version += 1
        owners = indices(data._entity_column[: data._n], INDEX_MASK)
        size = whole_rows(int(owners.max()) + 1) if len(owners) else 64
        if size < len(self._sparse):
            self._set_map(self._sparse[:size].copy())

    def _link_group(self, mates: tuple[GroupMember, ...], n: int) -> None:
        """Be told of the group's other members, with which the first n rows are aligned."""
        self._mates = mates
        self.data._n_grouped = n

    def _join_group(self, row: Instance, entity: Entity) -> Instance:
        """Let an entity join that has a row in every mate too; return its row; O(1) per mate."""
        for mate in self._mates:
            if mate.lookup(entity) == NIL:
                return row
        for mate in self._mates:
            mate._enter_group(mate.lookup(entity))
            mate._version += 1
        return self._enter_group(row)

    def _join_group_many(self, rows: RowArray, entities: EntityArray) -> RowArray:
        """Let those of k entities join that have rows in every mate; return all rows; O(k)."""
        joining, found = having_all(entities, self._mates)
        if len(joining) == 0:
            return rows
        for mate, rows_there in zip(self._mates, found, strict=True):
            mate._enter_group_many(rows_there)
            mate._version += 1
        src, dst = self._enter_group_many(rows[joining])
        return Remap(src, dst, self.data._n)(rows)

    def _enter_group(self, row: Instance) -> Instance:
        """Bring a row to the end of the group; O(1). The caller counts the change."""
        data = self.data
        last = Instance(data._n_grouped)
        self._swap(row, last)
        data._n_grouped = last + 1
        return last

    def _enter_group_many(self, rows: RowArray) -> tuple[RowArray, RowArray]:
        """Bring k rows, in this order, to the end of the group; return (src, dst); O(k)."""
        data = self.data
        src, dst = joined_at(rows, data._n_grouped)
        self._move_many(src, dst)
        data._n_grouped += len(rows)
        return src, dst

    def _leave_group(self, row: Instance) -> None:
        """Swap a row with the group's last and end the group before it; O(1)."""
        data = self.data
        last = Instance(data._n_grouped - 1)
        self._swap(row, last)
        data._n_grouped = last
        self._version += 1

    def _leave_group_many(self, gone: RowArray) -> None:
        """Bring k ascending rows behind the group, which ends before them; O(k)."""
        data = self.data
        start = data._n_grouped - len(gone)
        src, dst = exchange(gone, start, data._n_grouped)
        self._move_many(src, dst)
        data._n_grouped = start
        self._version += 1

    def _group_key(self, key: str | ArrayLike) -> NDArray[Any]:
        """Return the key by which the group is sorted, one value per row in it."""
        data = self.data
        if isinstance(key, str):
            if key not in SORT_KEYS:
                raise ValueError(f"{MANAGER} sorts by {SORT_KEYS}, not {key!r}")
            column: NDArray[Any] = getattr(data, key)
            return column[: data._n_grouped]
        return sort_key(key_values(key, MANAGER), data._n_grouped, "actors")

    def _permute_group(self, src: RowArray) -> None:
        """Move every row src[k] of the group to k."""
        self._move_many(src, np.arange(len(src)))
        self._version += 1

    def _swap(self, one: Instance, other: Instance) -> None:
        """Let two rows change places, over the spare row behind the last one if there is one."""
        data = self.data
        spare = Instance(data._n)
        if one == other:
            return
        if spare == data._allocated:
            self._move_many(np.array([one, other]), np.array([other, one]))
            return
        self._move(one, spare)
        self._move(other, one)
        self._move(spare, other)
        data._resource_column[spare] = None

    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and tell what knows its number."""
        data = self.data
        data._move_row(src, dst)
        self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst

    def _move_many(self, src: RowArray, dst: RowArray) -> None:
        """Move rows src[k] to dst[k], and tell what knows their numbers."""
        if len(src) == 0:
            return
        data = self.data
        data._move_rows(src, dst)
        self._sparse[indices(data._entity_column[dst], INDEX_MASK)] = dst

    def _set_map(self, sparse: NDArray[np.uint32]) -> None:
        self._sparse = sparse
        self._sparse_cells = cells(sparse)

    def _before_destroy(self) -> None:
        """Refuse the destruction of entities while the manager is locked."""
        if self._locks:
            raise locked_in_group(MANAGER, (self, *self._mates))

    def _entities_destroyed(self, entities: EntityArray) -> None:
        """Remove the rows of entities that have just died."""
        self.remove_many(entities)

    def on_release(self, callback: Callable[[RowArray], object], /) -> Subscription:
        """Have `callback(rows)` called with rows about to go, still readable, on every way out.

        Inside, this manager is locked, and entities that are destroyed wait for their
        turn. Exceptions stop nothing; they are raised together, as an ExceptionGroup,
        when all is done. `cancel()` of what is returned ends it. Pickle does not save it.
        """
        return self._released.add(callback)

    def _release(self, rows: RowArray) -> None:
        self._holds += 1
        for mate in self._mates:
            mate._locks += 1
        self._locks += 1
        try:
            self._released.run(rows, self._entities.dispatch.errors)
        finally:
            self._locks -= 1
            for mate in self._mates:
                mate._locks -= 1
            self._holds -= 1
