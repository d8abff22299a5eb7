"""How a component is spelled in Python: its columns, fields, constants and calls."""

from __future__ import annotations

from ecsgen.columns import field_columns
from ecsgen.layout import Layout, layout
from ecsgen.model import Base, Component
from ecsgen.render.calls import call, collection
from ecsgen.render.cold import ColdSpelling, cold_field, is_indirect
from ecsgen.render.quoting import literal
from ecsgen.render.spelling import Spelling, cell_attributes
from ecsgen.render.split_spelling import row_field
from ecsgen.render.wording import inner, literal_names


class ComponentSpelling:
    """A component as its templates see it."""

    def __init__(self, component: Component) -> None:
        self.component = component
        self.layout: Layout = layout(component)
        self.name = component.name
        self.manager = f"{component.name}Manager"
        self.data = f"{component.name}Data"
        stored = [Spelling(c, self.name, self.layout.before(c)) for c in self.layout.columns]
        objects = [Spelling(c, self.name, 0) for c in self.layout.objects]
        self.stored = stored
        self.objects = objects
        self.columns = [*stored, *objects]
        self.row_columns = [spelling for spelling in self.columns if spelling.column.by_row]
        self.field_columns = [spelling for spelling in self.columns if spelling.field]
        self.cold = ColdSpelling(component, self.layout.cold) if self.layout.cold else None
        every = {
            s.name: s for s in [*self.field_columns, *(self.cold.columns if self.cold else ())]
        }
        make = [cold_field if is_indirect(component, f) else row_field for f in component.fields]
        self.fields = [m(f, self.name, every) for m, f in zip(make, component.fields, strict=True)]
        self.row_fields = [
            spelling
            for spelling, field in zip(self.fields, component.fields, strict=True)
            if not is_indirect(component, field)
        ]

    @property
    def summary(self) -> str:
        """The policies of the component in a few words."""
        c = self.component
        parts = [f"lookup {c.lookup}", f"instances {c.instances}", f"destroy {c.destroy}"]
        return ", ".join([*parts, *(["release"] if c.release else [])])

    @property
    def converted(self) -> list[Spelling]:
        """Fields, and columns of split fields, that have a converter each."""
        names = {spelling.name for spelling in self.fields}
        return self.fields + [s for s in self._field_columns if s.name not in names]

    @property
    def _field_columns(self) -> list[Spelling]:
        """The columns of fields in both buffers, as the schema orders them."""
        columns = [*self.field_columns, *(self.cold.field_columns if self.cold else ())]
        order = [c.name for field in self.component.fields for c in field_columns(field)]
        return sorted(columns, key=lambda spelling: order.index(spelling.name))

    @property
    def enums(self) -> list[str]:
        """The enums that the fields, and the arguments of kernels, use."""
        component = self.component
        types = (field.type for field in component.fields)
        used = {kind.target for kind in types if kind.base is Base.ENUM}
        used |= {a.type.kind for kernel in component.kernels for a in kernel.program.arguments}
        return sorted(used - {""})

    @property
    def data_attributes(self) -> list[str]:
        """The columns' attributes in the data class."""
        return cell_attributes(self.columns)

    @property
    def sort_keys(self) -> list[str]:
        """Fields that `sort` takes by name: scalars with an order. Direct rows have none."""
        if self.component.lookup == "direct":
            return []
        return [s.name for s in self.fields if not s.column.shape and not s.is_object]

    @property
    def sort_keys_lines(self) -> str:
        """The constant that lists them."""
        return collection("SORT_KEYS: Final = ", [literal(name) for name in self.sort_keys], 0)

    @property
    def sort_key_type(self) -> str:
        return "str | ArrayLike" if self.sort_keys else "ArrayLike"

    @property
    def sort_key_doc(self) -> str:
        return " by a scalar field, by name, or by a key" if self.sort_keys else " by a key"

    def grow_for_one(self, rows: str) -> str:
        """The call that grows the buffer for `create`; arguments may be views of a row."""
        views = [s.name for s in self.fields if s.column.shape]
        arguments = [
            f"grown_capacity(data._allocated, {rows})",
            *([literal_names(views)] if views else []),
        ]
        return inner(call("data._allocate", arguments, 12))

    @property
    def borrowed_line(self) -> str:
        """The statement that gathers arguments of a bulk creation that may be views."""
        entities = ["entities"] if self.component.owner == "entity" else []
        names = [*entities, *(s.name for s in self.fields if not s.is_object)]
        return collection("_borrowed = ", names, 8)[8:].replace("\n        ", "\n")

    def default_of(self, column: Spelling) -> str:
        """A column's default: its field's constant, or the value for a part of a split field."""
        is_field = any(spelling.name == column.name for spelling in self.fields)
        return column.default if is_field else column.default_literal

    @property
    def keywords(self) -> list[str]:
        """The fields as keyword arguments of a call."""
        return [f"{s.name}={s.name}" for s in self.fields]

    @property
    def capacity(self) -> int:
        """Rows at construction: all that are reserved, or whole cache lines of every column."""
        return self.component.reserve or -(-self.component.capacity // 64) * 64

    def tag_class(self, tag: str) -> str:
        """The NamedTuple of the columns that bear a tag."""
        return f"{self.name}{''.join(part.capitalize() for part in tag.split('_'))}Columns"

    def tagged(self) -> dict[str, list[Spelling]]:
        """The tags, and the fields that bear each."""
        groups: dict[str, list[Spelling]] = {"hot": []}
        for spelling in self._field_columns:
            for tag in spelling.column.tags:
                groups.setdefault(tag, []).append(spelling)
        return groups
