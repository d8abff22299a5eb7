"""Settings of a world: one value each, which belongs to no entity.

They lie in columns of one row, so that kernels, snapshots and shards have them as they have every
column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ..base.callbacks import Dispatch
from ..base.text import did_you_mean
from ..managers.manager import BaseManager
from ..tables.buffers import Column, nested
from ..tables.columns import Rows
from ..values.field_tables import FieldInfo, unexpected_keyword_error
from ..values.field_types import (
    BytesField,
    Converter,
    FloatField,
    HandleField,
    IntField,
    TextField,
)
from ..values.time_fields import TimeField
from .world_base import WorldBase

_ReadT = TypeVar("_ReadT")
_WriteT = TypeVar("_WriteT")


class Setting(Generic[_ReadT, _WriteT]):
    """One setting: it reads as the accessor of a row does, and is checked as every value is.

    Shaped numbers read as writable views. Raises TypeError, ValueError and OverflowError as setters
    of managers do; ValueError also for a number outside its bounds.
    """

    __slots__ = ("_column", "_field", "_high", "_low", "_read")

    def __init__(
        self, field: Converter, low: float | None = None, high: float | None = None
    ) -> None:
        self._field = field
        self._low, self._high = (None if b is None else _rounded(field, b) for b in (low, high))
        self._read = _reader(field)
        self._column = f"_{field.name.rpartition('.')[2]}_column"

    @overload
    def __get__(self, settings: None, kind: type[Any]) -> Self: ...

    @overload
    def __get__(self, settings: SettingsBase, kind: type[Any]) -> _ReadT: ...

    def __get__(self, settings: SettingsBase | None, kind: type[Any]) -> Any:
        if settings is None:
            return self
        return self._read(getattr(settings._data, self._column))

    def __set__(self, settings: SettingsBase, value: _WriteT) -> None:
        cell = self._field.to_cell(value)
        if self._low is not None or self._high is not None:
            self._check_bounds(_rounded(self._field, cell))
        column: NDArray[Any] = getattr(settings._data, self._column)
        if self._field.shape:
            column = column.reshape(1, -1)  # a cell is flat
        column[0] = cell

    def clip(self, settings: SettingsBase) -> None:
        """Hold the setting within its bounds; NaN stays."""
        column = getattr(settings._data, self._column)
        number = column.item(0)
        if self._low is not None and number < self._low:
            column[0] = self._low
        elif self._high is not None and number > self._high:
            column[0] = self._high

    def _check_bounds(self, number: float) -> None:
        low, high = self._low, self._high
        if number != number:
            raise ValueError(f"{self._field.name}: nan is within no bounds")
        if low is not None and number < low:
            raise ValueError(f"{self._field.name}: {number} is less than {low}")
        if high is not None and number > high:
            raise ValueError(f"{self._field.name}: {number} is more than {high}")


def _rounded(field: Converter, number: Any) -> Any:
    """Return a number as a column of the field has it."""
    return number if field.dtype is None else field.dtype.type(number).item()


def _reader(field: Converter) -> Callable[[NDArray[Any]], Any]:
    """Return a function that reads a setting from its column of one row."""
    enum = field.enum
    is_number = isinstance(field, IntField | FloatField) and not isinstance(field, HandleField)
    if field.shape and is_number:
        return lambda column: column[0]
    if field.shape:
        shape, element = field.shape, enum or _itself
        return lambda column: nested(map(element, column[0].ravel().tolist()), shape)
    if enum is not None:
        return lambda column: enum(column.item(0))
    if isinstance(field, TimeField):
        return lambda column: column[0]
    if isinstance(field, TextField):
        return lambda column: str(column.item(0), "utf-8")
    if isinstance(field, BytesField):
        return lambda column: column.item(0).ljust(column.itemsize, b"\0")
    return lambda column: column.item(0)


def _itself(value: Any) -> Any:
    return value


class _OneRow(Rows):
    """The columns of settings: one row, with the default of each in a new one."""

    if TYPE_CHECKING:  # columns, of which each world has its own

        def __getattr__(self, name: str) -> NDArray[Any]: ...

    def _bind_columns(self) -> None:
        for number, column in enumerate(self.LAYOUT):
            cells = self._column_view(number)[:1]
            setattr(self, f"_{column.name}_column", cells)
            if cells.ndim == 1 and cells.dtype.kind in "biuf":  # quicker for kernels
                setattr(self, f"_{column.name}_cells", cells.data)


class SettingsBase:
    """Values that belong to no entity; the generated class has an attribute for each."""

    __slots__ = ("_data",)

    FIELDS: ClassVar[tuple[FieldInfo, ...]]
    """Name, type, shape, default and bounds of each setting, in the schema's order."""
    LAYOUT: ClassVar[tuple[Column, ...]]
    _ROWS: ClassVar[type[_OneRow]]
    _data: _OneRow

    def __init_subclass__(cls) -> None:
        objects = [f"_{i.name}_column" for i in cls.FIELDS if i.dtype is None]
        body: dict[str, Any] = {
            "LAYOUT": cls.LAYOUT,
            "OBJECTS": tuple(objects),
            "MANAGER": cls.__name__,
        }
        body |= {"FIELDS": cls.FIELDS, "__module__": cls.__module__}
        cls._ROWS = type(f"{cls.__name__}Data", (_OneRow,), body)

    def __init__(self, **values: Any) -> None:
        self._data = self._ROWS(8)  # so that all columns are aligned
        self._data._n = 1
        for info in self.FIELDS:
            setattr(self, info.name, values.pop(info.name, info.default))
        if values:
            known = [info.name for info in self.FIELDS]
            raise unexpected_keyword_error(type(self).__name__, values, known)

    def __getattr__(self, name: str) -> NoReturn:
        known = [info.name for info in self.FIELDS]
        message = f"{type(self).__name__} has no setting {name!r}{did_you_mean(name, known)}"
        raise AttributeError(message, name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            self.__getattr__(name)

    def _clip(self, *names: str) -> None:
        """Hold settings to which kernels have sent within their bounds."""
        for name in names:
            setting: Setting[Any, Any] = getattr(type(self), name)
            setting.clip(self)

    def __repr__(self) -> str:
        values = (f"{info.name}={getattr(self, info.name)!r}" for info in self.FIELDS)
        return f"{type(self).__name__}({', '.join(values)})"

    def __dir__(self) -> list[str]:
        return ["FIELDS", *(info.name for info in self.FIELDS)]

    def __getstate__(self) -> dict[str, NDArray[Any]]:
        """Return the column of each setting, for pickle and deepcopy."""
        data = self._data
        return {**data.saved_columns(), **data.saved_objects()}

    def __setstate__(self, state: Mapping[str, NDArray[Any]]) -> None:
        SettingsBase.__init__(self)
        for name, column in state.items():
            getattr(self._data, f"_{name}_column")[:1] = column

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin


class SettingsTable(BaseManager):
    """Settings as snapshots see them: a grid of one cell."""

    __slots__ = ()

    def __init__(self, settings: SettingsBase) -> None:
        self._unlock()
        self.data = settings._data

    def __len__(self) -> int:
        return 1

    @property
    def _dispatch(self) -> Dispatch:
        return Dispatch()  # no callback listens to settings

    def row_keys(self) -> NDArray[np.uint64]:
        return np.ones(1, np.uint64)

    def json_state(self) -> dict[str, Any]:
        return {"shape": [1], "wrap": [False]}


class Configured(BaseManager):
    """A manager whose kernels or reductions read settings: in a world the world's own."""

    __slots__ = ()
    _SETTINGS: ClassVar[type[SettingsBase]]
    READ_ONLY: ClassVar[tuple[str, ...]] = ("data", "settings")
    settings: SettingsBase

    def _set_settings(self, settings: SettingsBase | None) -> None:
        """Set the settings, by default new ones. Raises TypeError for something else."""
        wanted = self._SETTINGS
        if settings is None:
            settings = wanted()
        if not isinstance(settings, wanted):
            owner, what = type(self).__name__, type(settings).__name__
            raise TypeError(f"{owner}: settings are a {wanted.__name__}, not {what}")
        self.settings = settings

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "settings": self.settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.settings = state["settings"]
        super().__setstate__(state)

    def __copy__(self) -> Self:
        """Return a manager with rows and settings of its own."""
        twin = type(self).__new__(type(self))
        copies = {"data": self.data.__copy__(), "settings": self.settings.__copy__()}
        twin.__setstate__({**self.__getstate__(), **copies})
        return twin


class SettingsWorld(WorldBase):
    """A world with settings."""

    __slots__ = ()
    settings: SettingsBase
