"""How a component and its proxies are spelled in Python: fields, constants and calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ecsgen import policies
from ecsgen.layout.memory_layout import Layout, lay_out_component
from ecsgen.model import BaseType, Component
from ecsgen.model.columns import field_columns, round_to_cache_lines
from ecsgen.policies import Policy
from ecsgen.policies.policy import text_of
from ecsgen.render.column_code import (
    BufferCode,
    ColumnCode,
    SplitColumnCode,
    make_column_code,
    make_field_code,
    slots_lines,
)
from ecsgen.render.components.cold_code import ColdBufferCode, ColdFieldCode, cold_field
from ecsgen.render.components.component_features import collect_features
from ecsgen.render.kernel_printers import flat_columns
from ecsgen.render.text.formatting import call, exploded, keywords
from ecsgen.render.text.library_imports import distinct_bases
from ecsgen.render.text.name_shadowing import add_class_placeholder, add_placeholder
from ecsgen.render.text.quoting import literal


def field_line(spelling: ColumnCode, manager: str) -> str:
    """Return the statement that makes a proxy's field of a manager's accessor and setter."""
    read, write = f"{manager}.{spelling.name}", f"{manager}.set_{spelling.name}"
    if reads_its_cell(spelling):
        return call(f"{spelling.bare_name} = RowField.cell", [read, write, spelling.constant], 4)
    if not shows_view(spelling):
        return call(f"{spelling.bare_name} = RowField.of", [read, write], 4)
    is_cold = isinstance(spelling, ColdFieldCode)
    calls = [read, write] if is_cold else [write]
    make = "ColdArray" if is_cold else "ArrayField"
    arguments = [spelling.scalar_dtype, *calls, *split_view(spelling)]
    return call(f"{spelling.bare_name} = {make}.of", arguments, 4)


def chunk_field_line(spelling: ColumnCode) -> str:
    """Return the statement that makes a proxy's field of a component in chunks."""
    if shows_view(spelling):
        arguments = [spelling.scalar_dtype, literal(spelling.name), *split_view(spelling)]
        return call(f"{spelling.bare_name} = ChunkArray.of", arguments, 4)
    kind = f"ProxyField[{spelling.read_type}, {spelling.write_type}]"
    is_plain = spelling.has_cells and not spelling.is_packed and not spelling.is_enum
    make = "cell" if is_plain else "of"
    return call(f"{spelling.bare_name}: {kind} = ChunkValue.{make}", [literal(spelling.name)], 4)


def shows_view(spelling: ColumnCode) -> bool:
    """Whether a proxy shows the field as a view: shaped numbers."""
    assert spelling.field is not None
    kind = spelling.field.type
    return bool(kind.shape) and kind.base in (BaseType.INT, BaseType.FLOAT)


def reads_its_cell(spelling: ColumnCode) -> bool:
    """Whether a manager's accessor returns the cell as it is, and its setter writes no other."""
    assert spelling.field is not None
    is_guarded = spelling.field.options or spelling.field.is_cell_reference
    is_alone = not is_guarded and not isinstance(spelling, ColdFieldCode)
    return is_alone and spelling.has_cells and not spelling.is_packed and not spelling.is_enum


def split_view(spelling: ColumnCode) -> list[str]:
    """Return the expression for what shows the cells of a split field; nothing for others."""
    if not isinstance(spelling, SplitColumnCode):
        return []
    first, second = spelling.parts[0], spelling.parts[min(1, len(spelling.parts) - 1)]
    shape = literal(spelling.column.shape)
    return [f"ArrayField.split({shape}, {literal(first.name)}, {literal(second.name)})"]


class ComponentCode(BufferCode):
    """A component as its templates see it."""

    def __init__(self, component: Component, active: Sequence[Policy] | None = None) -> None:
        self.component = component
        self._policies = policies.select_policies(component) if active is None else active
        self.features = collect_features(component, self._policies)
        self.layout: Layout = lay_out_component(component, self._policies)
        self.name = add_class_placeholder(component.name)
        self.manager = f"{self.name}Manager"
        self.data = f"{self.name}Data"
        self.proxy = f"{self.name}Ref"
        self.is_owned = component.owner == "entity"
        """Whether rows belong to entities."""
        self.handles = "RowArray" if self.is_owned else "IdArray"
        """What `create_many` returns: rows of entities, or ids."""
        self.is_fixed = component.grid is not None
        """Whether rows neither come nor go."""
        self.is_packed = component.lookup != "direct" and not self.is_fixed
        """Whether rows move into holes."""
        self.is_bounded = policies.max_rows(component) > 0
        """Whether there are at most so many rows, by a policy."""
        self.capacity = component.reserve or round_to_cache_lines(component.capacity)
        """Rows at construction: all that are reserved, or whole cache lines of every column."""
        plan = self.layout
        self.stored = [
            make_column_code(c, component.name, plan.bytes_before(c)) for c in plan.columns
        ]
        self.objects = [ColumnCode(c, component.name, 0) for c in plan.objects]
        self.columns = [*self.stored, *self.objects]
        self.row_columns = [spelling for spelling in self.columns if spelling.column.by_row]
        self.field_columns = [spelling for spelling in self.columns if spelling.field]
        self.cold = ColdBufferCode(component, self.layout.cold) if self.layout.cold else None
        cold = self.cold.columns if self.cold else ()
        every = {s.name: s for s in (*self.field_columns, *cold)}
        self.fields: list[ColumnCode] = [
            (cold_field if field in component.indirect_fields else make_field_code)(
                field, component.name, every
            )
            for field in component.fields
        ]
        self.row_fields = [one for one in self.fields if not isinstance(one, ColdFieldCode)]

    @property
    def summary(self) -> str:
        """The policies of the component in a few words."""
        c = self.component
        if c.grid is not None:
            return f"the cells of a grid of {' x '.join(map(str, c.grid.shape))}"
        parts = [f"{key} {getattr(c, key)}" for key in ("lookup", "instances", "destroy")]
        parts += ["release"] if c.release else []
        by_default = f" (by default of the project: {', '.join(c.by_default)})"
        return ", ".join(parts) + (by_default if c.by_default else "")

    @property
    def converted(self) -> list[ColumnCode]:
        """Fields, and columns of split fields, that have a converter each."""
        names = {spelling.name for spelling in self.fields}
        return self.fields + [s for s in self._field_columns if s.name not in names]

    @property
    def _field_columns(self) -> list[ColumnCode]:
        """The columns of fields in both buffers, as the schema orders them."""
        columns = [*self.field_columns, *(self.cold.field_columns if self.cold else ())]
        order = [c.name for field in self.component.fields for c in field_columns(field)]
        return sorted(columns, key=lambda spelling: order.index(spelling.name))

    @property
    def enums(self) -> list[str]:
        """The enums that the fields, and the arguments of kernels, use."""
        component = self.component
        types = (field.type for field in component.fields)
        used = {kind.target for kind in types if kind.base is BaseType.ENUM}
        used |= {a.type.enum for kernel in component.kernels for a in kernel.program.arguments}
        return sorted(map(add_placeholder, used - {""}))

    @property
    def is_tag(self) -> bool:
        """Whether it has no fields and only says who has it."""
        return self.is_owned and not self.fields

    @property
    def has_create_many(self) -> bool:
        """Whether its `create_many` is its own: that of other tags takes entities alone."""
        return not self.is_tag or any(policy.keyword_many for policy in self._policies)

    @property
    def bases(self) -> list[str]:
        """The classes that the manager inherits from."""
        return distinct_bases([part.manager_base for part in self.features])

    @property
    def bulk(self) -> str:
        """The class of what is done for many rows at once, if it is not the runtime's own."""
        if self.component.backend != "numba":
            return ""
        return "CompiledShardedBulk" if self.component.is_sharded else "CompiledBulk"

    @property
    def row_bases(self) -> list[str]:
        """The classes that the class of its columns inherits from."""
        rows = [part.rows_base for part in self.features]
        return [*(distinct_bases(rows) or ["Rows"]), *["HotColumns"] * self.is_untagged]

    @property
    def slots(self) -> str:
        """The statement that declares the manager's attributes."""
        return slots_lines(name for part in self.features for name in part.manager_slots)

    @property
    def row_slots(self) -> str:
        """The statement that declares the attributes of the class of its columns."""
        names = [name for part in self.features for name in part.rows_slots]
        if any(part.name == "flattened_columns" for part in self.features):
            names += [f"_{name}_flat" for name, _ in flat_columns(self.component)]
        return self.cell_slots(self.is_packed, *names)

    @property
    def rows_note(self) -> str:
        """What the docstring of `rows` says of changes meanwhile."""
        if self.component.instances == "many":
            return "; a structural change ends that"
        return "" if self.is_fixed else "; those that go meanwhile are skipped"

    @property
    def proxy_fields(self) -> list[str]:
        """The statements that make the attributes of a proxy."""
        return [field_line(spelling, self.manager) for spelling in self.fields]

    def steps_lines(self, said: Mapping[str, str]) -> str:
        """The statement that says what methods for one row consist of: `said`, the policies that
        have a part in each, and what accessors do beside reading or writing a cell."""
        of_fields = {name: does for f in self.fields for name, does in f.accessor_steps.items()}
        items = (f"{literal(n)}: {literal(does)}," for n, does in {**said, **of_fields}.items())
        return "\n        ".join(["    _STEPS: ClassVar = {", *items]) + "\n    }"

    @property
    def sort_keys(self) -> list[str]:
        """Fields that `sort` takes by name: scalars with an order. Direct rows have none."""
        if not self.is_packed:
            return []
        return [s.name for s in self.fields if not s.column.shape and not s.is_object]

    @property
    def create_note(self) -> str:
        """What the docstring of `create` says of the new row."""
        notes = [text_of(policy.note, self.component) for policy in self._policies if policy.note]
        return f"; it is {' and '.join(notes)}" if notes else ""

    @property
    def create_raises(self) -> list[str]:
        """What `create` may raise, as lines of its docstring."""
        lines = [line for policy in self._policies for line in policy.raises]
        if self.fields:
            lines.append("ValueError, TypeError, OverflowError: a value does not fit its field.")
        return [*lines, "StructureLockedError: the manager is locked."]

    @property
    def head(self) -> str:
        """The lines that begin `create`."""
        whom = ["entity: Entity", "/"] if self.is_owned else []
        more = [policy.keyword for policy in self._policies if policy.keyword]
        named = [*self.parameters, *more]
        returns = "Instance" if self.is_owned else "Id"
        return self._head("create", [*whom, *keywords(named)], returns)

    @property
    def head_many(self) -> str:
        """The lines that begin `create_many`."""
        whom = ["entities: ArrayLike" if self.is_owned else "count: int"]
        more = [policy.keyword_many for policy in self._policies if policy.keyword_many]
        fields = [f"**columns: Unpack[{self.name}Fields]"] if self.fields else []
        given = ["table: TableLike | None = None", "/", *keywords(more), *fields]
        return self._head("create_many", [*whom, *given], self.handles)

    def _head(self, method: str, parameters: list[str], returns: str) -> str:
        head, given, end = f"def {method}", ["self", *parameters], f" -> {returns}:"
        return exploded(head, given, 4) + end if self.fields else call(head, given, 4, end)

    @property
    def stale_entity_line(self) -> str:
        """The statement for an entity that does not live in the slot of its index."""
        by_slot = "_slot = self._entities._slot_of"
        found = by_slot if self.component.is_sharded else "self._entities.require"
        return f"{found}(entity)  # raises StaleEntityError"

    @property
    def parameters(self) -> list[str]:
        """The fields as keyword parameters of one row's values."""
        return [f"{s.bare_name}: {s.write_type} = {s.default}" for s in self.fields]

    @property
    def checked_fields(self) -> list[ColumnCode]:
        """The fields whose values are checked: all but objects."""
        return [spelling for spelling in self.fields if not spelling.is_object]

    def store_new_lines(self, indent: int) -> str:
        """The statements that write the values of a new row; neighbours of equally many scalars
        have the same place."""
        lines: list[str] = []
        place, begins = "", f"{' ' * indent}_at = "
        for line in "\n".join(f.store_new(indent) for f in self.row_fields).split("\n"):
            if not line.startswith(begins) or line != place:
                lines.append(line)
            place = line if "_at = " in line else place
        return "\n".join(lines)

    @property
    def view_arguments(self) -> list[str]:
        """The arguments of `create` that may be views of a row."""
        return [s.bare_name for s in self.fields if s.column.shape]

    @property
    def create_arguments(self) -> list[str]:
        """The arguments of `create`, handed on."""
        return [*(["entity"] if self.is_owned else []), *self.keywords]

    @property
    def create_many_arguments(self) -> list[str]:
        """The arguments of `create_many` without parents, handed on."""
        whom = "entities" if self.is_owned else "count"
        return [whom, "columns" if self.fields else "{}", "table"]

    def default_of(self, column: ColumnCode) -> str:
        """A column's default: its field's constant, or the value for a part of a split field."""
        is_field = any(spelling.name == column.name for spelling in self.fields)
        return column.default if is_field else column.default_literal

    @property
    def keywords(self) -> list[str]:
        """The fields as keyword arguments of a call."""
        return [f"{s.name}={s.bare_name}" for s in self.fields]

    def tag_class(self, tag: str) -> str:
        """The NamedTuple of the columns that bear a tag."""
        return f"{self.name}{''.join(part.capitalize() for part in tag.split('_'))}Columns"

    @property
    def is_untagged(self) -> bool:
        """Whether each field is one hot column, and bears no tag beside."""
        groups = self.tagged()
        names = [field.name for field in self.fields]
        return len(groups) == 1 and [s.name for s in groups["hot"]] == names

    def tagged(self) -> dict[str, list[ColumnCode]]:
        """The tags, and the fields that bear each."""
        groups: dict[str, list[ColumnCode]] = {"hot": []}
        for spelling in self._field_columns:
            for tag in spelling.column.tags:
                groups.setdefault(tag, []).append(spelling)
        return groups
