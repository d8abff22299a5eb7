"""How fields are seen in blocks of rows: rows last, split fields put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ecsgen.layout import layout
from ecsgen.model import Component, Field
from ecsgen.model.columns import KEPT_FIELDS, field_columns
from ecsgen.model.programs import OWN, PARENT, FieldValue
from ecsgen.render.blocks.array_values import Layout, Value
from ecsgen.render.giving_way import marked
from ecsgen.render.quoting import literal


class Views:
    """How the fields of several components are seen, each with a name that is not `taken`."""

    def __init__(self, components: Mapping[str, Component], taken: Iterable[str] = ()) -> None:
        """`components` by their names, or only `OWN`: that whose kernel it is."""
        self._components = components
        self._taken = set(taken)
        self._names: dict[FieldValue, str] = {}

    def value(self, field: FieldValue) -> Value:
        """The view that a block has."""
        found, type_ = field_of(self._component(field), field.name), field.type
        layout_ = Layout.ROWS if not type_.shape else Layout.TOGETHER
        if found.split and type_.shape:
            layout_ = Layout.PLANES
        return Value(marked(self._name(field)), type_.scalar, type_.shape, layout_)

    def holder(self, field: FieldValue) -> str:
        """The expression for what has the columns, in the method."""
        is_own = OWN in self._components
        return "data" if is_own else f"self.{self._components[field.owner].module}.data"

    def column(self, field: FieldValue, rows: str = "") -> str:
        """The expression for the view of a whole column, or of its first rows, where blocks are
        made."""
        if OWN in self._components:
            return column_view(self._component(field), field, "self", "_COLUMNS", rows)
        columns = f"self.{self._components[field.owner].module}.LAYOUT"
        return column_view(self._component(field), field, self.holder(field), columns, rows)

    def _component(self, field: FieldValue) -> Component:
        return self._components[OWN if field.owner == PARENT else field.owner]

    def _name(self, field: FieldValue) -> str:
        """A name of its own."""
        if field not in self._names:
            of_others = {OWN: "", PARENT: "_parent_"}
            before = of_others.get(field.owner, f"{self._component(field).module}_")
            stem = f"{before}{field.name}"
            names = (stem, *(f"{stem}_{number}" for number in range(2, 1000)))
            self._names[field] = next(name for name in names if name not in self._taken)
            self._taken.add(self._names[field])
        return self._names[field]


def field_of(component: Component, name: str) -> Field:
    """One of a component's fields, or a column that managers keep."""
    own = (field for field in component.fields if field.name == name)
    return next(own, None) or KEPT_FIELDS[name]


def column_view(
    component: Component, field: FieldValue, holder: str, columns: str, rows: str = ""
) -> str:
    """The expression for the view of a whole column, or of its first rows.

    `holder` has the buffer, `columns` the layout.
    """
    found, shape = field_of(component, field.name), field.type.shape
    if found.split and shape:
        names = [column.name for column in layout(component).columns]
        first = names.index(field_columns(found)[0].name)
        given = f"{holder}._buffer, {columns}[{first}], {holder}._allocated, {literal(shape)}"
        whole = f"planes({given})"
        return f"{whole}[..., :{rows}]" if rows else whole
    column = f"{holder}._{field.name}_column{f'[:{rows}]' if rows else ''}"
    return f"rows_last({column})" if shape else column
