"""Fields of components: metadata, converters, and arguments by field name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import IntEnum, IntFlag
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ..base.errors import short_repr
from ..base.fast_typing import NamedTuple
from ..base.text import did_you_mean
from .field_types import Converter, FieldTable
from .interchange import table_hint

_Enum: TypeAlias = type[IntEnum | IntFlag]
_T = TypeVar("_T")


class FieldInfo(NamedTuple):
    """One field of a component."""

    name: str
    type: str
    """As the schema spells it: `f32[3]`, `Mode`."""
    dtype: np.dtype[Any] | None
    """Of one element of the column; None for objects."""
    shape: tuple[int, ...]
    """Of one cell: `()` for scalars."""
    enum: _Enum | None
    default: Any
    """As the accessor returns it."""
    unit: str
    doc: str
    tags: tuple[str, ...]
    min: int | float | None = None
    """The least value, of a setting."""
    max: int | float | None = None


class ComponentFields(NamedTuple):
    """The fields of a component."""

    infos: tuple[FieldInfo, ...]
    converters: FieldTable


def component_fields(*fields: tuple[Any, ...]) -> ComponentFields:
    """Return metadata and converters of fields, from tuples of a field's converter, type, default,
    tags, and unit, doc and bounds if there are some."""
    infos = tuple(_info(*field) for field in fields)
    return ComponentFields(infos, {i.name: f[:3:2] for i, f in zip(infos, fields, strict=True)})


def _info(
    field: Converter,
    type: str,
    default: Any,
    tags: tuple[str, ...],
    unit: str = "",
    doc: str = "",
    *bounds: int | float | None,
) -> FieldInfo:
    name, dtype = field.name.rpartition(".")[2], field.dtype
    if dtype is not None and dtype.kind == "S" and isinstance(default, bytes):
        default = default.ljust(dtype.itemsize, b"\0")
    return FieldInfo(name, type, dtype, field.shape, field.enum, default, unit, doc, tags, *bounds)


ColumnsOrRow: TypeAlias = Mapping[str, Any] | tuple[Any, ...]
"""Columns by field, or one row that stands for all rows."""


def parse_columns(
    component: type[tuple[Any, ...]], columns: ColumnsOrRow, converters: FieldTable, rows: int
) -> Mapping[str, Any]:
    """Return columns for so many rows by field; O(fields), O(rows) for lists as objects.

    Raises:
        TypeError: an unknown field, or neither a mapping nor a row of the component.
        TypeError, ValueError, OverflowError: a row's value is not one that the field holds.
    """
    if not isinstance(columns, component):
        return check_field_names(component, columns)
    return {
        name: converters[name][0].to_repeated_column(value, rows)
        for name, value in parse_row(component, columns).items()
    }


def fill_fields(fields: _T, values: Mapping[str, Any]) -> _T:
    """Return what a call gives of a component, with a bundle's values where it says nothing: a row
    of the component says everything."""
    written: Any = {} if fields is None else fields
    return {**values, **written} if isinstance(written, Mapping) else written  # type: ignore[return-value]


def parse_row(component: type[tuple[Any, ...]], columns: ColumnsOrRow) -> Mapping[str, Any]:
    """Return the fields of one row by name; TypeError as above."""
    if not isinstance(columns, component):
        return check_field_names(component, columns)
    names: tuple[str, ...] = component._fields  # type: ignore[attr-defined]  # a NamedTuple
    return dict(zip(names, columns, strict=True))


def check_field_names(component: type[tuple[Any, ...]], fields: object) -> Mapping[str, Any]:
    """Return fields by name; TypeError for an unknown one, or unless it is a mapping.

    The component is given by its row class, a NamedTuple.
    """
    if not isinstance(fields, (dict, Mapping)):  # quick for a dict
        kind = f"{type(fields).__name__}{table_hint(fields, 'entities')}"
        raise TypeError(f"{component.__name__} takes a dict of its fields, not {kind}")
    known: tuple[str, ...] = component._fields  # type: ignore[attr-defined]  # see above
    for name in fields:
        if name not in known:
            raise unknown_field_error(component.__name__, name, known)
    return fields


def component_name(row_class: object) -> str:
    """Return how errors call an argument that should be a row class."""
    return row_class.__name__ if isinstance(row_class, type) else short_repr(row_class)


def unknown_component_error(
    method: Callable[..., object], components: Mapping[str, object]
) -> TypeError:
    """Return the error of a keyword that names no component, of a method that takes components."""
    known: Iterable[str] = method.__kwdefaults__ or ()
    world: Any = method.__self__  # type: ignore[attr-defined]  # a method of a world
    name = next(iter(components))
    hint = world.ownerless_hint(name) or _hint(name, known)
    return TypeError(f"{method.__name__} has no component {name!r}{hint}")


def unexpected_keyword_error(
    method: str, keywords: Iterable[str], known: Collection[str]
) -> TypeError:
    """Return the error of a keyword that names no field."""
    name = next(name for name in keywords if name not in known)
    hint = _hint(name, known)
    return TypeError(f"{method}() got an unexpected keyword argument {name!r}{hint}")


def unknown_field_error(component: str, name: object, known: Iterable[str]) -> TypeError:
    """Return the error of an unknown field."""
    return TypeError(f"{component} has no field {name!r}{_hint(name, known)}")


def _hint(name: object, known: Iterable[str]) -> str:
    names = list(known)
    listed = f"; it has {', '.join(names)}" if names else "; it has none"
    return did_you_mean(str(name), names) or listed
