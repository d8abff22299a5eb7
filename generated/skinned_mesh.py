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

from collections.abc import Iterator
from operator import index
from struct import Struct
from typing import Any, ClassVar, Final, Unpack

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple, TypedDict
from ecsgen_runtime.base.handles import (
    NIL,
    Columns,
    Entity,
    EntityArray,
    Instance,
    RowArray,
)
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Callback, Release
from ecsgen_runtime.managers.policies.instances import MappedOne
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import ArrayField, EntityProxy, RowField
from ecsgen_runtime.tables.buffers import (
    Column,
    cell_view,
    is_same_view,
    pack_cell,
    put_cells,
)
from ecsgen_runtime.tables.columns import HotColumns, LeadingRows
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import BoolField, IntField, ObjectField
from ecsgen_runtime.values.interchange import TableLike
from ecsgen_runtime.world.groups import GroupMember, GroupMemberRows
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("vertex_buffers", np.dtype(np.uint32), (2,), 8, ("hot",), 8),
    Column("index_buffer", np.dtype(np.uint32), (), 4, ("hot",), 16),
    Column("shader", np.dtype(np.uint32), (), 4, ("hot",), 20),
    Column("material", np.dtype(np.uint32), (), 4, ("hot",), 24),
    Column("bone_count", np.dtype(np.uint16), (), 2, ("hot",), 28),
    Column("visible", np.dtype(np.bool_), (), 1, ("hot",), 30),
)
_VERTEX_BUFFERS_FIELD: Final = IntField("SkinnedMesh.vertex_buffers", "u32", (2,))
_INDEX_BUFFER_FIELD: Final = IntField("SkinnedMesh.index_buffer", "u32")
_SHADER_FIELD: Final = IntField("SkinnedMesh.shader", "u32")
_MATERIAL_FIELD: Final = IntField("SkinnedMesh.material", "u32")
_BONE_COUNT_FIELD: Final = IntField("SkinnedMesh.bone_count", "u16")
_VISIBLE_FIELD: Final = BoolField("SkinnedMesh.visible")
_RESOURCE_FIELD: Final = ObjectField("SkinnedMesh.resource")
_VERTEX_BUFFERS_STRUCT: Final = Struct("=2I")
_VERTEX_BUFFERS_DEFAULT: Final = (0, 0)
_VERTEX_BUFFERS_WORD: Final = pack_cell(_VERTEX_BUFFERS_FIELD, _VERTEX_BUFFERS_DEFAULT)
_INDEX_BUFFER_DEFAULT: Final = 0
_SHADER_DEFAULT: Final = 0
_MATERIAL_DEFAULT: Final = 0
_BONE_COUNT_DEFAULT: Final = 1
_VISIBLE_DEFAULT: Final = True
_FIELDS: Final = component_fields(
    (
        _VERTEX_BUFFERS_FIELD,
        "u32[2]",
        _VERTEX_BUFFERS_DEFAULT,
        ("hot",),
        "",
        "Handles of the double-buffered skinned vertices.",
    ),
    (
        _INDEX_BUFFER_FIELD,
        "u32",
        _INDEX_BUFFER_DEFAULT,
        ("hot",),
        "",
        "Handle of the index buffer.",
    ),
    (_SHADER_FIELD, "u32", _SHADER_DEFAULT, ("hot",), "", "Handle of the shader."),
    (
        _MATERIAL_FIELD,
        "u32",
        _MATERIAL_DEFAULT,
        ("hot",),
        "",
        "Handle of the material.",
    ),
    (
        _BONE_COUNT_FIELD,
        "u16",
        _BONE_COUNT_DEFAULT,
        ("hot",),
        "",
        "Bones in the palette.",
    ),
    (
        _VISIBLE_FIELD,
        "bool",
        _VISIBLE_DEFAULT,
        ("hot",),
        "",
        "Whether the renderer draws it.",
    ),
    (
        _RESOURCE_FIELD,
        "object",
        None,
        ("hot",),
        "",
        "The external resource, released with the instance.",
    ),
)


class SkinnedMesh(NamedTuple):
    """One row of a SkinnedMeshManager, copied out."""

    vertex_buffers: tuple[int, int] = _VERTEX_BUFFERS_DEFAULT
    """Handles of the double-buffered skinned vertices."""

    index_buffer: int = _INDEX_BUFFER_DEFAULT
    """Handle of the index buffer."""

    shader: int = _SHADER_DEFAULT
    """Handle of the shader."""

    material: int = _MATERIAL_DEFAULT
    """Handle of the material."""

    bone_count: int = _BONE_COUNT_DEFAULT
    """Bones in the palette."""

    visible: bool = _VISIBLE_DEFAULT
    """Whether the renderer draws it."""

    resource: Any = None
    """The external resource, released with the instance."""


class SkinnedMeshFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    vertex_buffers: ArrayLike
    index_buffer: ArrayLike
    shader: ArrayLike
    material: ArrayLike
    bone_count: ArrayLike
    visible: ArrayLike
    resource: object


class SkinnedMeshGroupedData(LeadingRows):
    """The columns of the rows in the group `actors`: views, assigned to like those of
    `data`."""

    __slots__ = ("_data",)
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

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
            checked = _VERTEX_BUFFERS_FIELD.to_column(values, data._n_grouped)
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
            checked = _INDEX_BUFFER_FIELD.to_column(values, data._n_grouped)
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
            checked = _SHADER_FIELD.to_column(values, data._n_grouped)
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
            checked = _MATERIAL_FIELD.to_column(values, data._n_grouped)
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
            checked = _BONE_COUNT_FIELD.to_column(values, data._n_grouped)
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
            checked = _VISIBLE_FIELD.to_column(values, data._n_grouped)
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
            checked = _RESOURCE_FIELD.to_column(values, data._n_grouped)
            # what ends may run code
            _left = data._resource_column[: data._n_grouped].copy()
            data._resource_column[: data._n_grouped] = checked


class SkinnedMeshData(GroupMemberRows, HotColumns):
    """The columns of a SkinnedMeshManager: views of the rows in use."""

    __slots__ = (
        "_bone_count_cells",
        "_bone_count_column",
        "_entity_cells",
        "_entity_column",
        "_index_buffer_cells",
        "_index_buffer_column",
        "_material_cells",
        "_material_column",
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
    MANAGER: ClassVar = "SkinnedMeshManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos
    OBJECTS: ClassVar = ("_resource_column",)
    _resource_column: NDArray[np.object_]

    @property
    def vertex_buffers(self) -> NDArray[np.uint32]:
        """Handles of the double-buffered skinned vertices. Shape (n, 2)."""
        return self._vertex_buffers_column[: self._n]

    @vertex_buffers.setter
    def vertex_buffers(self, values: ArrayLike) -> None:
        if not is_same_view(self.vertex_buffers, values):
            self._vertex_buffers_column[: self._n] = _VERTEX_BUFFERS_FIELD.to_column(
                values, self._n
            )

    @property
    def index_buffer(self) -> NDArray[np.uint32]:
        """Handle of the index buffer. Shape (n,)."""
        return self._index_buffer_column[: self._n]

    @index_buffer.setter
    def index_buffer(self, values: ArrayLike) -> None:
        if not is_same_view(self.index_buffer, values):
            self._index_buffer_column[: self._n] = _INDEX_BUFFER_FIELD.to_column(
                values, self._n
            )

    @property
    def shader(self) -> NDArray[np.uint32]:
        """Handle of the shader. Shape (n,)."""
        return self._shader_column[: self._n]

    @shader.setter
    def shader(self, values: ArrayLike) -> None:
        if not is_same_view(self.shader, values):
            self._shader_column[: self._n] = _SHADER_FIELD.to_column(values, self._n)

    @property
    def material(self) -> NDArray[np.uint32]:
        """Handle of the material. Shape (n,)."""
        return self._material_column[: self._n]

    @material.setter
    def material(self, values: ArrayLike) -> None:
        if not is_same_view(self.material, values):
            self._material_column[: self._n] = _MATERIAL_FIELD.to_column(
                values, self._n
            )

    @property
    def bone_count(self) -> NDArray[np.uint16]:
        """Bones in the palette. Shape (n,)."""
        return self._bone_count_column[: self._n]

    @bone_count.setter
    def bone_count(self, values: ArrayLike) -> None:
        if not is_same_view(self.bone_count, values):
            self._bone_count_column[: self._n] = _BONE_COUNT_FIELD.to_column(
                values, self._n
            )

    @property
    def visible(self) -> NDArray[np.bool_]:
        """Whether the renderer draws it. Shape (n,)."""
        return self._visible_column[: self._n]

    @visible.setter
    def visible(self, values: ArrayLike) -> None:
        if not is_same_view(self.visible, values):
            self._visible_column[: self._n] = _VISIBLE_FIELD.to_column(values, self._n)

    @property
    def resource(self) -> NDArray[np.object_]:
        """The external resource, released with the instance. Shape (n,)."""
        return self._resource_column[: self._n]

    @resource.setter
    def resource(self, values: object) -> None:
        if not is_same_view(self.resource, values):
            checked = _RESOURCE_FIELD.to_column(values, self._n)
            # what ends may run code
            _left = self._resource_column[: self._n].copy()
            self._resource_column[: self._n] = checked

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._vertex_buffers_column: NDArray[np.uint32] = self._column_view(1)
        self._vertex_buffers_items: NDArray[Any] = self._item_view(1)
        self._vertex_buffers_words: memoryview[int] = cell_view(
            self._vertex_buffers_items
        )
        self._vertex_buffers_cells: memoryview[int] = cell_view(
            self._vertex_buffers_column
        )
        self._index_buffer_column: NDArray[np.uint32] = self._column_view(2)
        self._index_buffer_cells: memoryview[int] = cell_view(self._index_buffer_column)
        self._shader_column: NDArray[np.uint32] = self._column_view(3)
        self._shader_cells: memoryview[int] = cell_view(self._shader_column)
        self._material_column: NDArray[np.uint32] = self._column_view(4)
        self._material_cells: memoryview[int] = cell_view(self._material_column)
        self._bone_count_column: NDArray[np.uint16] = self._column_view(5)
        self._bone_count_cells: memoryview[int] = cell_view(self._bone_count_column)
        self._visible_column: NDArray[np.bool_] = self._column_view(6)
        self._visible_cells: memoryview[bool] = cell_view(self._visible_column)

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


class SkinnedMeshManager(GroupMember, Sparse, MappedOne, Callback, Release):
    """Manager of every SkinnedMesh: lookup sparse, instances one, destroy callback, release.

    A mesh deformed by a skeleton, with the external resources that it draws with.
    """

    __slots__ = ("_entities", "_other_members", "_released", "_sparse", "_sparse_cells")
    GROUP: ClassVar = "actors"
    _HOLDS_OBJECTS: ClassVar = True
    PARTS: ClassVar = ManagerParts(
        row=SkinnedMesh,
        accessors=("grouped",),
        create=("grouped", "sparse", "one"),
        destroy_row=("grouped", "sparse", "objects", "release"),
        guarded=("resource", "set_resource"),
    )
    ROWS: ClassVar = SkinnedMeshData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = (
        "index_buffer",
        "shader",
        "material",
        "bone_count",
        "visible",
    )
    data: SkinnedMeshData

    def vertex_buffers(self, row: int, /) -> tuple[int, int]:
        """Handles of the double-buffered skinned vertices."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return _VERTEX_BUFFERS_STRUCT.unpack_from(data._vertex_buffers_cells, 8 * row)

    def set_vertex_buffers(self, row: int, value: ArrayLike, /) -> None:
        """Set `vertex_buffers` of a row: 2 values."""
        _value = _VERTEX_BUFFERS_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _at = 2 * row
        data._vertex_buffers_cells[_at] = _value[0]
        data._vertex_buffers_cells[_at + 1] = _value[1]

    def index_buffer(self, row: int, /) -> int:
        """Handle of the index buffer."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._index_buffer_cells[row]

    def set_index_buffer(self, row: int, value: int, /) -> None:
        """Set `index_buffer` of a row."""
        _value = _INDEX_BUFFER_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._index_buffer_cells[row] = _value

    def shader(self, row: int, /) -> int:
        """Handle of the shader."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._shader_cells[row]

    def set_shader(self, row: int, value: int, /) -> None:
        """Set `shader` of a row."""
        _value = _SHADER_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._shader_cells[row] = _value

    def material(self, row: int, /) -> int:
        """Handle of the material."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._material_cells[row]

    def set_material(self, row: int, value: int, /) -> None:
        """Set `material` of a row."""
        _value = _MATERIAL_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._material_cells[row] = _value

    def bone_count(self, row: int, /) -> int:
        """Bones in the palette."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._bone_count_cells[row]

    def set_bone_count(self, row: int, value: int, /) -> None:
        """Set `bone_count` of a row."""
        _value = _BONE_COUNT_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._bone_count_cells[row] = _value

    def visible(self, row: int, /) -> bool:
        """Whether the renderer draws it."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._visible_cells[row]

    def set_visible(self, row: int, value: bool, /) -> None:
        """Set `visible` of a row."""
        _value = _VISIBLE_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._visible_cells[row] = _value

    def resource(self, row: int, /) -> Any:
        """The external resource, released with the instance."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._resource_column[row]

    def set_resource(self, row: int, value: Any, /) -> None:
        """Set `resource` of a row."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        _left_resource = data._resource_column[row]
        data._resource_column[row] = value

    def row(self, row: int, /) -> SkinnedMesh:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return SkinnedMesh(
            _VERTEX_BUFFERS_STRUCT.unpack_from(data._vertex_buffers_cells, 8 * row),
            data._index_buffer_cells[row],
            data._shader_cells[row],
            data._material_cells[row],
            data._bone_count_cells[row],
            data._visible_cells[row],
            data._resource_column[row],
        )

    def __getitem__(self, entity: Entity, /) -> SkinnedMeshRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(SkinnedMeshRef, entity)

    def rows(self) -> Iterator[SkinnedMeshRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(SkinnedMeshRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        vertex_buffers: ArrayLike = _VERTEX_BUFFERS_DEFAULT,
        index_buffer: int = _INDEX_BUFFER_DEFAULT,
        shader: int = _SHADER_DEFAULT,
        material: int = _MATERIAL_DEFAULT,
        bone_count: int = _BONE_COUNT_DEFAULT,
        visible: bool = _VISIBLE_DEFAULT,
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
            _vertex_buffers_ = _VERTEX_BUFFERS_DEFAULT
            if vertex_buffers is not _VERTEX_BUFFERS_DEFAULT:
                _vertex_buffers_ = _VERTEX_BUFFERS_FIELD.to_cell(vertex_buffers)
            _index_buffer_ = _INDEX_BUFFER_DEFAULT
            if index_buffer is not _INDEX_BUFFER_DEFAULT:
                _index_buffer_ = _INDEX_BUFFER_FIELD.to_cell(index_buffer)
            _shader_ = _SHADER_DEFAULT
            if shader is not _SHADER_DEFAULT:
                _shader_ = _SHADER_FIELD.to_cell(shader)
            _material_ = _MATERIAL_DEFAULT
            if material is not _MATERIAL_DEFAULT:
                _material_ = _MATERIAL_FIELD.to_cell(material)
            _bone_count_ = _BONE_COUNT_DEFAULT
            if bone_count is not _BONE_COUNT_DEFAULT:
                _bone_count_ = _BONE_COUNT_FIELD.to_cell(bone_count)
            _visible_ = _VISIBLE_DEFAULT
            if visible is not _VISIBLE_DEFAULT:
                _visible_ = _VISIBLE_FIELD.to_cell(visible)
        except Exception:
            self._entities.require(entity)  # a dead entity is the first error
            raise
        _slot = entity & INDEX_MASK
        try:
            _is_alive = self._entities._cells[_slot] == entity
        except IndexError:
            _is_alive = False
        if not _is_alive:
            self._entities.require(entity)  # raises StaleEntityError
        if self._locks:
            self._raise_if_locked()
        data = self.data
        _map = None
        try:
            _found = self._sparse_cells[_slot]
        except IndexError:
            _found, _map = NIL, grow_map(self._sparse, _slot)
        if _found != NIL and data._entity_cells[_found] == entity:
            raise self._duplicate(entity)
        if data._n == data._allocated:
            data._grow(data._n + 1, (vertex_buffers,))
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(
                *_evicted,
                entity,
                vertex_buffers=vertex_buffers,
                index_buffer=index_buffer,
                shader=shader,
                material=material,
                bone_count=bone_count,
                visible=visible,
                resource=resource,
            )
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            if _vertex_buffers_ is _VERTEX_BUFFERS_DEFAULT:
                data._vertex_buffers_words[row] = _VERTEX_BUFFERS_WORD
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
            data._version += 1
            if self._other_members:
                row = self._join_group(row, entity)
        except BaseException:
            self._mark_broken()
            raise
        return row

    def create_many(
        self,
        entities: ArrayLike,
        table: TableLike | None = None,
        /,
        **columns: Unpack[SkinnedMeshFields],
    ) -> RowArray:
        """Give each of k entities an instance and return the rows, shape (k,); O(k).

        Each column broadcasts to (k, *shape) of its field. A table, of Arrow or a
        mapping, has columns as well: keywords win, `entity` is ignored. The errors are
        those of `create`; whatever raises changes nothing.
        """
        return self._create_many(entities, columns, table)

    def _append_many(self, entities: EntityArray, columns: Columns) -> RowArray:
        """Add rows of checked columns, for which there is room."""
        data = self.data
        count = len(entities)
        n = data._n
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
        joining = self._plan_join(entities, rows)
        slots = self._entities.slots(entities)
        try:
            data._entity_column[span] = entities
            put_cells(data._vertex_buffers_column, span, columns["vertex_buffers"])
            data._index_buffer_column[span] = columns["index_buffer"]
            data._shader_column[span] = columns["shader"]
            data._material_column[span] = columns["material"]
            data._bone_count_column[span] = columns["bone_count"]
            data._visible_column[span] = columns["visible"]
            data._resource_column[span] = columns["resource"]
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            data._version += 1
            if joining is not None:
                rows = self._join_group_many(joining)
        except BaseException:
            self._mark_broken()
            raise
        return rows

    ensure = make_ensure(create)

    def _destroy_row(self, row: Instance, notified: bool = False) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        if not notified and self._released.entries:
            return self._destroy_notified(row)
        _left = data._resource_column[row]
        try:
            self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
            if row < data._n_grouped:
                for member in self._other_members:
                    member._leave_group(row)
                last = Instance(data._n_grouped - 1)
                if row != last:
                    self._move(last, row)
                data._n_grouped = row = last  # the hole is behind the group now
            last = Instance(data._n - 1)
            if row != last:
                self._move(last, row)
            data._n = last
            data._resource_column[data._n] = None
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def _move(self, src: Instance, dst: Instance) -> None:
        """Move one row, and update what refers to its index."""
        data = self.data
        data._entity_cells[dst] = data._entity_cells[src]
        data._vertex_buffers_words[dst] = data._vertex_buffers_words[src]
        data._index_buffer_cells[dst] = data._index_buffer_cells[src]
        data._shader_cells[dst] = data._shader_cells[src]
        data._material_cells[dst] = data._material_cells[src]
        data._bone_count_cells[dst] = data._bone_count_cells[src]
        data._visible_cells[dst] = data._visible_cells[src]
        data._resource_column[dst] = data._resource_column[src]
        self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst

    def _swap_via_spare(
        self, first: Instance, second: Instance, spare: Instance
    ) -> None:
        """Swap two rows through a third one, which is not in use."""
        data = self.data
        self._move(first, spare)
        self._move(second, first)
        self._move(spare, second)
        data._resource_column[spare] = None


class SkinnedMeshRef(EntityProxy):
    """A row of a SkinnedMeshManager, which follows its entity."""

    __slots__ = ()

    vertex_buffers = ArrayField.of(np.uint32, SkinnedMeshManager.set_vertex_buffers)
    index_buffer = RowField.cell(
        SkinnedMeshManager.index_buffer,
        SkinnedMeshManager.set_index_buffer,
        _INDEX_BUFFER_FIELD,
    )
    shader = RowField.cell(
        SkinnedMeshManager.shader, SkinnedMeshManager.set_shader, _SHADER_FIELD
    )
    material = RowField.cell(
        SkinnedMeshManager.material, SkinnedMeshManager.set_material, _MATERIAL_FIELD
    )
    bone_count = RowField.cell(
        SkinnedMeshManager.bone_count,
        SkinnedMeshManager.set_bone_count,
        _BONE_COUNT_FIELD,
    )
    visible = RowField.cell(
        SkinnedMeshManager.visible, SkinnedMeshManager.set_visible, _VISIBLE_FIELD
    )
    resource = RowField.of(SkinnedMeshManager.resource, SkinnedMeshManager.set_resource)
