"""Code of a component and its proxies: fields, constants and calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeAlias

from ecsgen import policies
from ecsgen.layout.memory_layout import Layout, lay_out_component
from ecsgen.model import BaseType, Component
from ecsgen.model.columns import Column, field_columns, round_to_cache_lines
from ecsgen.policies import Policy
from ecsgen.policies.policy import text_of
from ecsgen.render.column_code import (
    BufferCode,
    ColumnCode,
    FieldsCode,
    SplitColumnCode,
    make_column_code,
    make_field_code,
    shows_array,
    slots_lines,
)
from ecsgen.render.components.cold_code import ColdBufferCode, ColdFieldCode, cold_field
from ecsgen.render.components.component_features import collect_features
from ecsgen.render.kernel_printers import flat_columns
from ecsgen.render.text.formatting import call, exploded, keywords, literal_names
from ecsgen.render.text.library_imports import distinct_bases
from ecsgen.render.text.name_shadowing import add_class_placeholder, add_placeholder
from ecsgen.render.text.quoting import literal

ColumnMaker: TypeAlias = Callable[[Column, str, int], ColumnCode]


def field_line(code: ColumnCode, manager: str) -> str:
    """Return the statement that makes a proxy's field of a manager's accessor and setter."""
    read, write = f"{manager}.{code.name}", f"{manager}.set_{code.name}"
    if reads_its_cell(code):
        return call(f"{code.bare_name} = RowField.cell", [read, write, code.constant], 4)
    if not shows_view(code):
        return call(f"{code.bare_name} = RowField.of", [read, write], 4)
    is_cold = isinstance(code, ColdFieldCode)
    calls = [read, write] if is_cold else [write]
    make = "ColdArray" if is_cold else "ArrayField"
    arguments = [code.scalar_dtype, *calls, *split_view(code)]
    return call(f"{code.bare_name} = {make}.of", arguments, 4)


def chunk_field_line(code: ColumnCode) -> str:
    """Return the statement that makes a proxy's field of a component in chunks."""
    if shows_view(code):
        arguments = [code.scalar_dtype, literal(code.name), *split_view(code)]
        return call(f"{code.bare_name} = ChunkArray.of", arguments, 4)
    kind = f"ProxyField[{code.read_type}, {code.write_type}]"
    is_plain = code.has_cells and not code.is_packed and not code.is_enum
    make = "cell" if is_plain else "of"
    return call(f"{code.bare_name}: {kind} = ChunkValue.{make}", [literal(code.name)], 4)


def shows_view(code: ColumnCode) -> bool:
    """Check that a proxy returns views of the field: shaped numbers."""
    assert code.field is not None
    return shows_array(code.field.type)


def reads_its_cell(code: ColumnCode) -> bool:
    """Check that a manager's accessor returns the cell as it is, and its setter writes it alone."""
    assert code.field is not None
    is_alone = not code.field.is_guarded and not isinstance(code, ColdFieldCode)
    return is_alone and code.has_cells and not code.is_packed and not code.is_enum


def split_view(code: ColumnCode) -> list[str]:
    """Return the expression for the view of a split field's cells, in a list; else an empty one."""
    if not isinstance(code, SplitColumnCode):
        return []
    first, second = code.parts[0], code.parts[min(1, len(code.parts) - 1)]
    shape = literal(code.column.shape)
    return [f"ArrayField.split({shape}, {literal(first.name)}, {literal(second.name)})"]


class ComponentCode(FieldsCode, BufferCode):
    """Code of a component, for its templates."""

    column_makers: ClassVar[tuple[ColumnMaker, ColumnMaker]] = make_column_code, ColumnCode
    """Makers of the code of columns in the buffer, and of those of objects."""

    def __init__(self, component: Component, active: Sequence[Policy] | None = None) -> None:
        self.component = component
        self._policies = policies.select_policies(component) if active is None else active
        self.features = collect_features(component, self._policies)
        self.layout = self._lay_out()
        self.name = add_class_placeholder(component.name)
        self.manager = f"{self.name}Manager"
        self.data = f"{self.name}Data"
        self.proxy = f"{self.name}Ref"
        self.is_owned = component.owner == "entity"
        """True if rows belong to entities."""
        self.handles = "RowArray" if self.is_owned else "IdArray"
        """Annotation of the result of `create_many`: rows of entities, or ids."""
        self.is_fixed = component.grid is not None
        """True if rows are never created or destroyed."""
        self.is_packed = component.lookup != "direct" and not self.is_fixed
        """True if rows move into holes."""
        self.is_bounded = component.max_rows > 0
        """True if a policy limits the number of rows."""
        self.capacity = component.reserve or round_to_cache_lines(component.capacity)
        """Number of rows at construction: as reserved, or whole cache lines of every column."""
        layout = self.layout
        make_stored, make_object = self.column_makers
        self.stored = [
            make_stored(c, component.name, layout.bytes_before(c)) for c in layout.columns
        ]
        self.objects = [make_object(c, component.name, layout.row_bytes) for c in layout.objects]
        self.columns = [*self.stored, *self.objects]
        self.row_columns = [code for code in self.columns if code.column.by_row]
        self.field_columns = [code for code in self.columns if code.field]
        self.cold = ColdBufferCode(component, self.layout.cold) if self.layout.cold else None
        cold = self.cold.columns if self.cold else ()
        columns_by_name = {s.name: s for s in (*self.field_columns, *cold)}
        self.fields: list[ColumnCode] = [
            (cold_field if field in component.indirect_fields else make_field_code)(
                field, component.name, columns_by_name
            )
            for field in component.fields
        ]
        self.row_fields = [field for field in self.fields if not isinstance(field, ColdFieldCode)]

    def _lay_out(self) -> Layout:
        return lay_out_component(self.component, self._policies)

    @property
    def summary(self) -> str:
        """Policies of the component in a few words."""
        c = self.component
        if c.grid is not None:
            return f"the cells of a grid of {' x '.join(map(str, c.grid.shape))}"
        parts = [f"{key} {getattr(c, key)}" for key in ("lookup", "instances", "destroy")]
        parts += [key for key in ("release", "add") if getattr(c, key)]
        by_default = f" (by default of the project: {', '.join(c.by_default)})"
        return ", ".join(parts) + (by_default if c.by_default else "")

    @property
    def converted(self) -> list[ColumnCode]:
        """Fields, and columns of split fields, that have a converter each."""
        names = {code.name for code in self.fields}
        return self.fields + [s for s in self._field_columns if s.name not in names]

    @property
    def _field_columns(self) -> list[ColumnCode]:
        """Columns of fields in both buffers, in the schema's order."""
        columns = [*self.field_columns, *(self.cold.field_columns if self.cold else ())]
        order = [c.name for field in self.component.fields for c in field_columns(field)]
        return sorted(columns, key=lambda code: order.index(code.name))

    @property
    def enums(self) -> list[str]:
        """Enums of the fields and of the kernels' arguments."""
        component = self.component
        types = (field.type for field in component.fields)
        used = {kind.target for kind in types if kind.base is BaseType.ENUM}
        used |= {a.type.enum for kernel in component.kernels for a in kernel.program.arguments}
        return sorted(map(add_placeholder, used - {""}))

    @property
    def is_tag(self) -> bool:
        """True if the component is owned and has no fields."""
        return self.is_owned and not self.fields

    @property
    def has_create_many(self) -> bool:
        """True if `create_many` is generated: tags without keywords inherit it."""
        return not self.is_tag or any(policy.keyword_many for policy in self._policies)

    @property
    def bases(self) -> list[str]:
        """Base classes of the manager."""
        return distinct_bases([part.manager_base for part in self.features])

    @property
    def bulk(self) -> str:
        """Class of bulk operations, if it is not the library's default."""
        if self.component.backend != "numba":
            return ""
        return "CompiledShardedBulk" if self.component.is_sharded else "CompiledBulk"

    @property
    def row_bases(self) -> list[str]:
        """Base classes of the class of its columns."""
        rows = [part.rows_base for part in self.features]
        return [*(distinct_bases(rows) or ["Rows"]), *["HotColumns"] * self.is_untagged]

    @property
    def slots(self) -> str:
        """Statement that declares the manager's attributes."""
        return slots_lines(name for part in self.features for name in part.manager_slots)

    @property
    def row_slots(self) -> str:
        """Statement that declares the attributes of the class of its columns."""
        names = [name for part in self.features for name in part.rows_slots]
        if any(part.name == "flattened_columns" for part in self.features):
            names += [f"_{name}_flat" for name, _ in flat_columns(self.component)]
        return self.cell_slots(self.is_packed, *names)

    @property
    def rows_note(self) -> str:
        """Text in the docstring of `rows` on changes meanwhile."""
        if self.component.instances == "many":
            return "; a structural change ends that"
        return "" if self.is_fixed else "; rows that are removed meanwhile are skipped"

    @property
    def proxy_fields(self) -> list[str]:
        """Statements that make the attributes of a proxy."""
        return [field_line(code, self.manager) for code in self.fields]

    def parts_lines(self, features_by_method: Mapping[str, Sequence[str]]) -> str:
        """Return the statement that says what the manager consists of."""
        guarded = [name for field in self.fields for name in field.guarded_accessors]
        parts = {**features_by_method, "guarded": guarded}
        items = [f"{key}={literal(tuple(names))}" for key, names in parts.items() if names]
        return call("PARTS: ClassVar = ManagerParts", [f"row={self.name}", *items], 4)

    @property
    def sort_keys(self) -> list[str]:
        """Fields that `sort` takes by name: scalars with an order. Direct rows have none."""
        if not self.is_packed:
            return []
        return [s.name for s in self.fields if not s.column.shape and not s.is_object]

    @property
    def create_note(self) -> str:
        """Text in the docstring of `create` on the new row."""
        notes = [text_of(policy.note, self.component) for policy in self._policies if policy.note]
        return f"; it is {' and '.join(notes)}" if notes else ""

    @property
    def create_raises(self) -> list[str]:
        """Errors of `create`, as lines of its docstring."""
        lines = [line for policy in self._policies for line in policy.raises]
        if self.fields:
            lines.append("ValueError, TypeError, OverflowError: a value does not fit its field.")
        return [*lines, "StructureLockedError: the manager is locked."]

    @property
    def head(self) -> str:
        """Head of `create`."""
        first = ["entity: Entity", "/"] if self.is_owned else []
        more = [policy.keyword for policy in self._policies if policy.keyword]
        named = [*self.parameters, *more]
        returns = "Instance" if self.is_owned else "Id"
        return self._head("create", [*first, *keywords(named)], returns)

    @property
    def head_many(self) -> str:
        """Head of `create_many`."""
        first = ["entities: ArrayLike" if self.is_owned else "count: int"]
        more = [policy.keyword_many for policy in self._policies if policy.keyword_many]
        fields = [f"**columns: Unpack[{self.name}Fields]"] if self.fields else []
        options = ["table: TableLike | None = None", "/", *keywords(more), *fields]
        return self._head("create_many", [*first, *options], self.handles)

    def _head(self, method: str, parameters: list[str], returns: str) -> str:
        head, all_parameters, end = f"def {method}", ["self", *parameters], f" -> {returns}:"
        if self.fields:
            return exploded(head, all_parameters, 4) + end
        return call(head, all_parameters, 4, end)

    @property
    def stale_entity_line(self) -> str:
        """Statement for an entity that is not alive in the slot of its index."""
        by_slot = "_slot = self._entities.slot_of"
        lookup = by_slot if self.component.is_sharded else "self._entities.require"
        return f"{lookup}(entity)  # raises StaleEntityError"

    @property
    def checked_fields(self) -> list[ColumnCode]:
        """Fields with checked values: all but objects."""
        return [code for code in self.fields if not code.is_object]

    def store_new_lines(self, indent: int) -> str:
        """Return the statements that write a new row, without repeated offsets `_at = …`."""
        lines: list[str] = []
        last_offset, begins = "", f"{' ' * indent}_at = "
        for line in "\n".join(f.store_new(indent) for f in self.row_fields).split("\n"):
            if not line.startswith(begins) or line != last_offset:
                lines.append(line)
            last_offset = line if "_at = " in line else last_offset
        return "\n".join(lines)

    @property
    def views(self) -> str:
        """Further argument with the values of a creation that may be views of a row."""
        names = [s.bare_name for s in self.fields if s.column.shape]
        return f", {literal_names(names)}" if names else ""

    @property
    def create_arguments(self) -> list[str]:
        """Arguments of `create`, in a call that passes them on."""
        return [*(["entity"] if self.is_owned else []), *self.keywords]

    @property
    def create_many_arguments(self) -> list[str]:
        """Arguments of `create_many` without parents, in a call that passes them on."""
        first = "entities" if self.is_owned else "count"
        return [first, "columns" if self.fields else "{}", "table"]

    def default_of(self, column: ColumnCode) -> str:
        """Return a column's default: its field's constant, or the value of a split field's part."""
        is_field = any(code.name == column.name for code in self.fields)
        return column.default if is_field else column.default_literal

    def tag_class(self, tag: str) -> str:
        """Return the name of the NamedTuple of the columns with a tag."""
        return f"{self.name}{''.join(part.capitalize() for part in tag.split('_'))}Columns"

    @property
    def is_untagged(self) -> bool:
        """True if each field is one hot column without another tag."""
        groups = self.tagged()
        names = [field.name for field in self.fields]
        return len(groups) == 1 and [s.name for s in groups["hot"]] == names

    def tagged(self) -> dict[str, list[ColumnCode]]:
        """Return the columns of fields by tag."""
        groups: dict[str, list[ColumnCode]] = {"hot": []}
        for code in self._field_columns:
            for tag in code.column.tags:
                groups.setdefault(tag, []).append(code)
        return groups
