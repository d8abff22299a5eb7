"""How fields are seen in blocks of rows: rows last, split fields put together."""

from __future__ import annotations

from ecsgen.kernels.tree import PARENT, FieldValue
from ecsgen.layout import layout
from ecsgen.model import Component
from ecsgen.render.kernels.values import Layout, Value
from ecsgen.render.quoting import literal


class FieldViews:
    """How a component's fields are seen in blocks of rows."""

    def __init__(self, component: Component) -> None:
        self._fields = {field.name: field for field in component.fields}
        self._columns = {c.name: (i, c) for i, c in enumerate(layout(component).columns)}

    def value(self, field: FieldValue) -> Value:
        """The view that a block has."""
        found, type_ = self._fields[field.name], field.type
        layout_ = Layout.ROWS if not type_.shape else Layout.TOGETHER
        if found.split and type_.shape:
            layout_ = Layout.PLANES
        name = f"_parent_{field.name}" if field.owner == PARENT else field.name
        return Value(name, type_.scalar, type_.shape, layout_)

    def column(self, field: FieldValue, holder: str, rows: str = "") -> str:
        """The expression for the view of a whole column, or of its first rows."""
        found, shape = self._fields[field.name], field.type.shape
        if found.split and shape:
            first = next(
                i
                for name, (i, c) in self._columns.items()
                if c.field and name.startswith(f"{field.name}_")
            )
            whole = (
                f"planes({holder}._buffer, COLUMNS[{first}], {holder}._allocated, {literal(shape)})"
            )
            return f"{whole}[..., :{rows}]" if rows else whole
        column = f"{holder}._{field.name}_column{f'[:{rows}]' if rows else ''}"
        return f"rows_last({column})" if shape else column
