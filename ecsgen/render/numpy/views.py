"""How fields are seen in blocks of rows: rows last, split fields put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from ecsgen.layout import layout
from ecsgen.model import Component
from ecsgen.model.columns import KEPT_FIELDS, field_columns
from ecsgen.model.programs import PARENT, FieldValue
from ecsgen.render.giving_way import marked
from ecsgen.render.numpy.values import Layout, Value
from ecsgen.render.quoting import literal


class Views(Protocol):
    """How a kernel's fields are seen."""

    def value(self, field: FieldValue) -> Value: ...

    def column(self, field: FieldValue, holder: str, rows: str = "") -> str: ...

    def holder(self, field: FieldValue) -> str: ...


class FieldViews:
    """How a component's fields are seen in blocks of rows."""

    def __init__(self, component: Component) -> None:
        self._fields = KEPT_FIELDS | {field.name: field for field in component.fields}
        self._places = {c.name: place for place, c in enumerate(layout(component).columns)}

    def value(self, field: FieldValue) -> Value:
        """The view that a block has."""
        found, type_ = self._fields[field.name], field.type
        layout_ = Layout.ROWS if not type_.shape else Layout.TOGETHER
        if found.split and type_.shape:
            layout_ = Layout.PLANES
        name = f"_parent_{field.name}" if field.owner == PARENT else marked(field.name)
        return Value(name, type_.scalar, type_.shape, layout_)

    def holder(self, field: FieldValue) -> str:
        """The expression for what has the columns, in the manager's method."""
        return "data"

    def column(
        self, field: FieldValue, holder: str, rows: str = "", columns: str = "_COLUMNS"
    ) -> str:
        """The expression for the view of a whole column, or of its first rows.

        `holder` has the buffer, `columns` the layout.
        """
        found, shape = self._fields[field.name], field.type.shape
        if found.split and shape:
            first = self._places[field_columns(found)[0].name]
            given = f"{holder}._buffer, {columns}[{first}], {holder}._allocated, {literal(shape)}"
            whole = f"planes({given})"
            return f"{whole}[..., :{rows}]" if rows else whole
        column = f"{holder}._{field.name}_column{f'[:{rows}]' if rows else ''}"
        return f"rows_last({column})" if shape else column


class JoinedViews:
    """How the fields of several components are seen: after component and field, but not as
    `taken` names."""

    def __init__(self, components: Iterable[Component], taken: Iterable[str]) -> None:
        self._modules = {component.name: component.module for component in components}
        self._views = {component.name: FieldViews(component) for component in components}
        self._taken = set(taken)
        self._names: dict[FieldValue, str] = {}

    def value(self, field: FieldValue) -> Value:
        """The view that a block has."""
        return replace(self._views[field.owner].value(field), text=marked(self._name(field)))

    def holder(self, field: FieldValue) -> str:
        """The expression for what has the columns, in the world's method."""
        return f"self.{self._modules[field.owner]}.data"

    def column(self, field: FieldValue, holder: str, rows: str = "") -> str:
        """The expression for the view of a whole column, or of its first rows."""
        columns = f"self.{self._modules[field.owner]}.LAYOUT"
        return self._views[field.owner].column(field, holder, rows, columns)

    def _name(self, field: FieldValue) -> str:
        """A name of its own."""
        if field not in self._names:
            stem = f"{self._modules[field.owner]}_{field.name}"
            names = (stem, *(f"{stem}_{number}" for number in range(2, 1000)))
            self._names[field] = next(name for name in names if name not in self._taken)
            self._taken.add(self._names[field])
        return self._names[field]
