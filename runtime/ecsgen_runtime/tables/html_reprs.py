"""Reprs and notebook tables: how many rows of which columns, never an address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum, IntFlag
from typing import Any, Final

import numpy as np

from ..base.errors import short_repr
from ..base.handles import NIL, HandleLayout
from ..base.text import format_count, format_list
from ..values.field_tables import FieldInfo
from .buffers import split_columns


def columns_repr(columns: Any, n: int) -> str:
    """Return the repr of n rows of columns."""
    columns_shown = shown_columns(type(columns))
    parts = format_list(f"{name} {kind}" for name, kind, _ in columns_shown)
    of = f" of {parts}" if parts else ""
    return f"<{type(columns).__name__}: {format_count(n, 'row')}{of}>"


def shown_columns(kind: type[Any]) -> list[tuple[str, str, FieldInfo | None]]:
    """Return the columns of a class that has some: name, type, and the field if it is one.

    The owner comes first, then fields as the schema orders them; of split fields the elements,
    and no cold ones.
    """
    columns: list[tuple[str, str, FieldInfo | None]] = []
    if hasattr(kind, "entity"):
        columns.append(("entity", "u64", None))
    for field in kind.FIELDS:
        if hasattr(kind, field.name):
            columns.append((field.name, field.type, field))
        else:
            scalar = field.type.partition("[")[0]
            names = element_names(field.name, field.shape)
            columns += [(name, scalar, field) for name in names if hasattr(kind, name)]
    return columns


def element_names(field: str, shape: tuple[int, ...]) -> list[str]:
    """Return the names of a field's elements as columns, as split fields have them."""
    return split_columns(field, shape) if shape else []


_ENDS: Final = 5
"""Rows that are shown at either end."""

_VALUES: Final = (bool, int, float, str, bytes, type(None))
"""Types of objects shown by their repr."""


def html_table(
    title: str, names: Sequence[str], n: int, row: Callable[[int], Iterable[str]]
) -> str:
    """Return a table of n rows, of which `row` returns the cells."""
    # a slow import, for notebooks alone
    from html import escape

    def line(cells: Iterable[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    places = range(n) if n <= 2 * _ENDS else [*range(_ENDS), *range(n - _ENDS, n)]
    lines = [line((str(number), *row(number)), "td") for number in places]
    if n > 2 * _ENDS:
        lines.insert(_ENDS, line(["…"] * (1 + len(names)), "td"))
    head = line(("", *names), "th")
    return (
        f"<table><caption>{escape(title)}</caption>"
        f"<thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
    )


def columns_table(columns: Any, n: int) -> str:
    """Return the table of columns, of the first n rows."""
    names = shown_columns(type(columns))
    views = [(getattr(columns, name), field) for name, _, field in names]
    layout = columns.ENTITIES.HANDLE_LAYOUT

    def row(number: int) -> list[str]:
        return [_cell(column[number], field, layout) for column, field in views]

    return html_table(repr(columns), [name for name, _, _ in names], n, row)


def manager_table(manager: Any) -> str:
    """Return the table of a manager's rows; where there are holes, these are empty."""
    data, fields = manager.data, manager.FIELDS
    owner = "entity" if hasattr(data, "entity") else "id"
    names = [owner, *(field.name for field in fields)]
    owners = data._entity_cells if owner == "entity" else None
    layout = data.ENTITIES.HANDLE_LAYOUT

    def row(number: int) -> list[str]:
        if owners is None:
            first = str(manager.id_of(number))
        elif owners[number]:
            first = layout.format_short(owners[number])
        else:
            return [""] * len(names)
        values = zip(manager.row(number), fields, strict=True)
        return [first, *(_cell(value, field, layout) for value, field in values)]

    return html_table(repr(manager), names, data.n, row)


def world_table(title: str, holders: Sequence[tuple[str, int, object]]) -> str:
    """Return the table of a world's components: names, numbers of rows, and what holds them."""

    def row(number: int) -> list[str]:
        name, count, holder = holders[number]
        return [name, str(count), repr(holder)]

    return html_table(title, ("component", "rows", "where"), len(holders), row)


def query_table(query: Any) -> str:
    """Return the table of a query's entities and rows."""
    rows, layout = query.rows(), query._layout

    def row(number: int) -> list[str]:
        first, *others = (int(array[number]) for array in rows)
        return [layout.format_short(first), *("" if k == NIL else str(k) for k in others)]

    return html_table(repr(query), rows._fields, len(rows.entity), row)


def _cell(value: Any, field: FieldInfo | None, layout: HandleLayout) -> str:
    """Return a field's value, or the owner, as text."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple) and field is not None and field.shape:
        return f"({', '.join(_cell(element, field, layout) for element in value)})"
    if field is None:
        return layout.format_short(value) if value else ""
    if field.type.startswith("entity"):
        return layout.format_short(value)
    if field.enum is not None:
        return _member(field.enum, value)
    if field.dtype is None:
        # objects by their type: a repr may show an address
        return short_repr(value) if type(value) in _VALUES else type(value).__name__
    if isinstance(value, bytes) and field.type.startswith("str"):
        return value.decode(errors="replace")
    if isinstance(value, float | np.floating):
        return f"{value:g}"
    return value if isinstance(value, str) else str(value)


def _member(enum: type[IntEnum | IntFlag], value: int) -> str:
    """Return a member's name; a number if there is no such member: views are written unchecked."""
    try:
        return enum(value).name or str(int(value))
    except ValueError:
        return str(int(value))
