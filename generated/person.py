"""Person: lookup sparse, instances one, destroy gc.

Somebody who may fall ill.

One buffer of 12 bytes per row, column after column:

    column     type       bytes/row  offset (64 rows)  tags
    ---------  ---------  ---------  ----------------  ----
    entity     u64                8                 0  hot
    condition  Condition          1               512  hot
    exposed    bool               1               576  hot
    days       u16                2               640  hot
    12 bytes per row, 4096 for 64 rows
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import index
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
from ecsgen_runtime.kernels.blocks import (
    KernelBlocks,
    KernelRows,
    SelectedRows,
    WorldKernelRows,
    combine_sums,
    put_where,
    selected_blocks,
)
from ecsgen_runtime.kernels.random_streams import derive_stream_keys, draw_bernoulli
from ecsgen_runtime.kernels.seeding import Seeded
from ecsgen_runtime.managers.manager import ManagerParts
from ecsgen_runtime.managers.policies.destroy import Gc
from ecsgen_runtime.managers.policies.instances import MappedOne
from ecsgen_runtime.managers.policies.lookup_maps import Sparse, grow_map
from ecsgen_runtime.managers.policies.owners import make_ensure
from ecsgen_runtime.managers.row_proxies import EntityProxy, RowField
from ecsgen_runtime.tables.buffers import Column, cell_view, is_same_view
from ecsgen_runtime.tables.columns import HotColumns, OwnedRows
from ecsgen_runtime.values.field_tables import component_fields
from ecsgen_runtime.values.field_types import BoolField, EnumField, FloatField, IntField
from ecsgen_runtime.values.interchange import TableLike
from numpy.typing import ArrayLike, NDArray

from .entities import INDEX_MASK, EntityManager
from .enums import Condition

_COLUMNS: Final = (
    Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0),
    Column("condition", np.dtype(np.uint8), (), 1, ("hot",), 8),
    Column("exposed", np.dtype(np.bool_), (), 1, ("hot",), 9),
    Column("days", np.dtype(np.uint16), (), 2, ("hot",), 10),
)
_CONDITION_FIELD: Final = EnumField("Person.condition", Condition, "u8")
_EXPOSED_FIELD: Final = BoolField("Person.exposed")
_DAYS_FIELD: Final = IntField("Person.days", "u16")
_CONDITION_DEFAULT: Final = Condition(0)
_CONDITION_CELL: Final = _CONDITION_FIELD.to_cell(_CONDITION_DEFAULT)
_EXPOSED_DEFAULT: Final = False
_DAYS_DEFAULT: Final = 0
_FIELDS: Final = component_fields(
    (_CONDITION_FIELD, "Condition", _CONDITION_DEFAULT, ("hot",)),
    (
        _EXPOSED_FIELD,
        "bool",
        _EXPOSED_DEFAULT,
        ("hot",),
        "",
        "Whether an infectious contact was enough today.",
    ),
    (_DAYS_FIELD, "u16", _DAYS_DEFAULT, ("hot",), "", "Since the infection."),
)
_DECIDE_RECOVERY_ARGUMENT: Final = FloatField("Person.decide.recovery", "f64")
_DECIDE_LOSS_ARGUMENT: Final = FloatField("Person.decide.loss", "f64")
_1_u8: Final = np.array(1, np.uint8)
_1_u16: Final = np.array(1, np.uint16)
_2_u8: Final = np.array(2, np.uint8)
_0_u8: Final = np.array(0, np.uint8)


class Person(NamedTuple):
    """One row of a PersonManager, copied out."""

    condition: Condition = _CONDITION_DEFAULT

    exposed: bool = _EXPOSED_DEFAULT
    """Whether an infectious contact was enough today."""

    days: int = _DAYS_DEFAULT
    """Since the infection."""


class PersonFields(TypedDict, total=False):
    """Columns for many new rows at once, by field; fields left out have defaults."""

    condition: ArrayLike
    exposed: ArrayLike
    days: ArrayLike


class PersonData(OwnedRows, WorldKernelRows, KernelRows, HotColumns):
    """The columns of a PersonManager: views of the rows in use."""

    __slots__ = (
        "_condition_cells",
        "_condition_column",
        "_condition_view",
        "_days_cells",
        "_days_column",
        "_entity_cells",
        "_entity_column",
        "_exposed_cells",
        "_exposed_column",
        "_kernels",
        "_world_kernels",
    )
    MANAGER: ClassVar = "PersonManager"
    LAYOUT: ClassVar = _COLUMNS
    ENTITIES: ClassVar = EntityManager
    FIELDS: ClassVar = _FIELDS.infos

    def _decide_blocks(self) -> KernelBlocks:
        """Cut the columns of `decide` into blocks; good until they move or n changes."""
        n = self._n
        columns = (
            self._entity_column[:n],
            self._condition_column[:n],
            self._days_column[:n],
            self._exposed_column[:n],
        )
        working = (
            ("u8", (), False),
            ("u8", (), False),
            ("u8", (), False),
            ("?", (), False),
            ("?", (), False),
            ("u2", (), False),
            ("?", (), False),
            ("?", (), False),
            ("?", (), False),
            ("?", (), False),
            ("?", (), False),
        )
        blocks = KernelBlocks(n, columns, working, self._kernels.get("decide"))
        self._kernels["decide"] = blocks
        return blocks

    def _ill_blocks(self) -> KernelBlocks:
        """Cut the columns of `ill` into blocks; good until they move or n changes."""
        n = self._n
        columns = (self._condition_column[:n],)
        working = (("?", (), False),)
        blocks = KernelBlocks(n, columns, working, self._kernels.get("ill"))
        self._kernels["ill"] = blocks
        return blocks

    def _immune_blocks(self) -> KernelBlocks:
        """Cut the columns of `immune` into blocks; good until they move or n changes."""
        n = self._n
        columns = (self._condition_column[:n],)
        working = (("?", (), False),)
        blocks = KernelBlocks(n, columns, working, self._kernels.get("immune"))
        self._kernels["immune"] = blocks
        return blocks

    @property
    def condition(self) -> NDArray[np.uint8]:
        """The condition of each row. Shape (n,)."""
        return self._condition_view[: self._n]

    @condition.setter
    def condition(self, values: ArrayLike) -> None:
        if not is_same_view(self.condition, values):
            self._condition_column[: self._n] = _CONDITION_FIELD.to_column(
                values, self._n
            )

    @property
    def exposed(self) -> NDArray[np.bool_]:
        """Whether an infectious contact was enough today. Shape (n,)."""
        return self._exposed_column[: self._n]

    @exposed.setter
    def exposed(self, values: ArrayLike) -> None:
        if not is_same_view(self.exposed, values):
            self._exposed_column[: self._n] = _EXPOSED_FIELD.to_column(values, self._n)

    @property
    def days(self) -> NDArray[np.uint16]:
        """Since the infection. Shape (n,)."""
        return self._days_column[: self._n]

    @days.setter
    def days(self, values: ArrayLike) -> None:
        if not is_same_view(self.days, values):
            self._days_column[: self._n] = _DAYS_FIELD.to_column(values, self._n)

    def _bind_columns(self) -> None:
        """Cut the columns out of the buffer; O(1)."""
        self._entity_column = self._column_view(0)
        self._entity_cells = cell_view(self._entity_column)
        self._condition_column: NDArray[np.uint8] = self._column_view(1)
        self._condition_cells: memoryview[int] = cell_view(self._condition_column)
        self._condition_view: NDArray[np.uint8] = _CONDITION_FIELD.comparable(
            self._condition_column
        )
        self._exposed_column: NDArray[np.bool_] = self._column_view(2)
        self._exposed_cells: memoryview[bool] = cell_view(self._exposed_column)
        self._days_column: NDArray[np.uint16] = self._column_view(3)
        self._days_cells: memoryview[int] = cell_view(self._days_column)

    def _move_rows(self, src: RowArray, dst: RowArray) -> None:
        """Copy rows src[k] to dst[k], column by column: gather, then scatter."""
        self._entity_column[dst] = self._entity_column[src]
        self._condition_column[dst] = self._condition_column[src]
        self._exposed_column[dst] = self._exposed_column[src]
        self._days_column[dst] = self._days_column[src]


class PersonManager(Sparse, MappedOne, Gc, Seeded):
    """Manager of every Person: lookup sparse, instances one, destroy gc.

    Somebody who may fall ill.
    """

    __slots__ = ("_entities", "_rng", "_sparse", "_sparse_cells", "_stream_state")
    _RANDOM_KERNELS: ClassVar = {
        "decide": 0x2F200A73BB0CCDF6,
    }
    PARTS: ClassVar = ManagerParts(
        row=Person,
        accessors=("packed",),
        create=("packed", "sparse", "one"),
        destroy_row=("packed", "sparse"),
    )
    ROWS: ClassVar = PersonData
    CONVERTERS: ClassVar = _FIELDS.converters
    _SORT_KEYS: ClassVar = ("condition", "exposed", "days")
    data: PersonData

    def condition(self, row: int, /) -> Condition:
        """The condition."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Condition(data._condition_cells[row])

    def set_condition(self, row: int, value: Condition | int | str, /) -> None:
        """Set `condition` of a row."""
        _value = _CONDITION_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._condition_cells[row] = _value

    def exposed(self, row: int, /) -> bool:
        """Whether an infectious contact was enough today."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._exposed_cells[row]

    def set_exposed(self, row: int, value: bool, /) -> None:
        """Set `exposed` of a row."""
        _value = _EXPOSED_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._exposed_cells[row] = _value

    def days(self, row: int, /) -> int:
        """Since the infection."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return data._days_cells[row]

    def set_days(self, row: int, value: int, /) -> None:
        """Set `days` of a row."""
        _value = _DAYS_FIELD.to_cell(value)
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        data._days_cells[row] = _value

    def row(self, row: int, /) -> Person:
        """Return a copy of a row; O(1)."""
        data = self.data
        if type(row) is not int or not 0 <= row < data._n:
            row = self._require_row(row)
        return Person(
            Condition(data._condition_cells[row]),
            data._exposed_cells[row],
            data._days_cells[row],
        )

    def __getitem__(self, entity: Entity, /) -> PersonRef:
        """Return a proxy of the entity's row, or raise MissingInstanceError; O(1)."""
        return self._proxy(PersonRef, entity)

    def rows(self) -> Iterator[PersonRef]:
        """Iterate over proxies of the rows; rows that are removed meanwhile are skipped; O(n)."""
        return self._proxies(PersonRef)

    def create(
        self,
        entity: Entity,
        /,
        *,
        condition: Condition | int | str = _CONDITION_DEFAULT,
        exposed: bool = _EXPOSED_DEFAULT,
        days: int = _DAYS_DEFAULT,
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
            _condition_ = _CONDITION_CELL
            if condition is not _CONDITION_DEFAULT:
                _condition_ = _CONDITION_FIELD.to_cell(condition)
            _exposed_ = _EXPOSED_DEFAULT
            if exposed is not _EXPOSED_DEFAULT:
                _exposed_ = _EXPOSED_FIELD.to_cell(exposed)
            _days_ = _DAYS_DEFAULT
            if days is not _DAYS_DEFAULT:
                _days_ = _DAYS_FIELD.to_cell(days)
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
            data._grow(data._n + 1)
        if _map is not None:
            self._set_map(_map)
        if _found != NIL and data._entity_cells[_found] != entity:
            _evicted = self._evict_stale, _found, self.create  # of a dead entity
            return self._evict_and_create(
                *_evicted, entity, condition=condition, exposed=exposed, days=days
            )
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
        try:
            data._entity_cells[row] = entity
            data._condition_cells[row] = _condition_
            data._exposed_cells[row] = _exposed_
            data._days_cells[row] = _days_
            data._n = row + 1
            self._sparse_cells[_slot] = row
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return row

    def create_many(
        self,
        entities: ArrayLike,
        table: TableLike | None = None,
        /,
        **columns: Unpack[PersonFields],
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
        slots = self._entities.slots(entities)
        try:
            data._entity_column[span] = entities
            data._condition_column[span] = columns["condition"]
            data._exposed_column[span] = columns["exposed"]
            data._days_column[span] = columns["days"]
            data._n = end
            self._sparse[slots] = rows.astype(np.uint32)
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return rows

    ensure = make_ensure(create)

    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""
        data = self.data
        try:
            self._sparse_cells[data._entity_cells[row] & INDEX_MASK] = NIL
            src, dst = data._n - 1, row
            if src != dst:
                data._entity_cells[dst] = data._entity_cells[src]
                data._condition_cells[dst] = data._condition_cells[src]
                data._exposed_cells[dst] = data._exposed_cells[src]
                data._days_cells[dst] = data._days_cells[src]
                self._sparse_cells[data._entity_cells[dst] & INDEX_MASK] = dst
            data._n = src
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return 1

    def decide(
        self, recovery: float, loss: float, *, rows: ArrayLike | None = None
    ) -> None:
        """Fall ill if exposed, recover or lose immunity by chance; all as of this
        morning.

        Reads condition, days, exposed; writes days, condition, exposed; draws random
        numbers. O(n), n rows; no structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _recovery = np.float64(_DECIDE_RECOVERY_ARGUMENT.to_cell(recovery))
        _loss = np.float64(_DECIDE_LOSS_ARGUMENT.to_cell(loss))
        data = self.data
        _blocks = data._kernels.get("decide")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._decide_blocks()
        _views: Iterable[tuple[Any, ...]] = _blocks.views
        if rows is not None:
            _views = selected_blocks(_blocks, SelectedRows(self, rows).rows, (1, 2, 3))
        _key = self._next_call_key("decide")
        for (
            entity,
            condition,
            days,
            exposed,
            _row_keys,
            _word,
            _bits,
            _then,
            _else,
            _tmp,
            _then2,
            _tmp2,
            _tmp3,
            _else2,
            _then3,
        ) in _views:
            derive_stream_keys(entity, _key, _row_keys, _bits)
            # if condition == Condition.infectious:
            np.equal(condition, _1_u8, out=_then)
            np.logical_not(_then, out=_else)
            if _then.any():
                # days += 1
                np.add(days, _1_u16, out=_tmp)
                put_where(days, _then, _tmp)
                # if bernoulli(recovery):
                draw_bernoulli(_row_keys, 0, _recovery, _then2, _word, _bits)
                np.logical_and(_then, _then2, out=_then2)
                if _then2.any():
                    # condition = Condition.recovered
                    put_where(condition, _then2, 2)
            if _else.any():
                # days = 0
                put_where(days, _else, 0)
                # if condition == Condition.recovered and bernoulli(loss):
                np.equal(condition, _2_u8, out=_tmp2)
                draw_bernoulli(_row_keys, 1, _loss, _tmp3, _word, _bits)
                np.logical_and(_tmp2, _tmp3, out=_then2)
                np.logical_and(_else, _then2, out=_then2)
                np.greater(_else, _then2, out=_else2)
                if _then2.any():
                    # condition = Condition.susceptible
                    put_where(condition, _then2, 0)
                if _else2.any():
                    # elif condition == Condition.susceptible and exposed:
                    np.equal(condition, _0_u8, out=_tmp2)
                    np.logical_and(_tmp2, exposed, out=_then3)
                    np.logical_and(_else2, _then3, out=_then3)
                    if _then3.any():
                        # condition = Condition.infectious
                        put_where(condition, _then3, 1)
            # exposed = false
            exposed[...] = False

    def ill(self) -> int:
        """Return in how many rows `condition == Condition.infectious`.

        Reads condition. Without rows it is 0. O(n).
        """
        data = self.data
        _blocks = data._kernels.get("ill")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._ill_blocks()
        _parts: list[Any] = []
        for condition, _tmp in _blocks.views:
            np.equal(condition, _1_u8, out=_tmp)
            _parts.append(np.count_nonzero(_tmp))
        _result: int = combine_sums(_parts, np.int64, ())
        return _result

    def immune(self) -> int:
        """Return in how many rows `condition == Condition.recovered`.

        Reads condition. Without rows it is 0. O(n).
        """
        data = self.data
        _blocks = data._kernels.get("immune")
        if _blocks is None or _blocks.stamp != data._n:
            _blocks = data._immune_blocks()
        _parts: list[Any] = []
        for condition, _tmp in _blocks.views:
            np.equal(condition, _2_u8, out=_tmp)
            _parts.append(np.count_nonzero(_tmp))
        _result: int = combine_sums(_parts, np.int64, ())
        return _result


class PersonRef(EntityProxy):
    """A row of a PersonManager, which follows its entity."""

    __slots__ = ()

    condition = RowField.of(PersonManager.condition, PersonManager.set_condition)
    exposed = RowField.cell(
        PersonManager.exposed, PersonManager.set_exposed, _EXPOSED_FIELD
    )
    days = RowField.cell(PersonManager.days, PersonManager.set_days, _DAYS_FIELD)
