"""Python that reads and writes columns, whole, split and unique, and their defaults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import ClassVar

from ecsgen.model import BaseType, Default, Field, FieldType
from ecsgen.model.columns import Column, field_columns, split_parts
from ecsgen.model.types import SCALARS
from ecsgen.policies import index, unique
from ecsgen.render.text.formatting import (
    call,
    collection,
    display,
    lines_at,
    literal_shape,
    sentence,
    tuple_item,
    tuple_type,
)
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.text.quoting import WIDTH, literal, nested, split_literal

KINDS = {
    BaseType.BOOL: "Bool",
    BaseType.INT: "Int",
    BaseType.FLOAT: "Float",
    BaseType.ENTITY: "Handle",
    BaseType.ID: "Handle",
    BaseType.ENUM: "Enum",
    BaseType.STR: "Text",
    BaseType.BYTES: "Bytes",
    BaseType.OBJECT: "Object",
    BaseType.DATETIME: "Datetime",
    BaseType.TIMEDELTA: "Timedelta",
}
"""Prefixes of the library's classes of fields."""
WORDS = (1, 2, 4, 8)
"""Bytes of a shaped cell that is copied as one unsigned integer."""
WRITTEN_OUT = 4
"""Largest number of elements of a cell that are written one by one."""


def time_literal(kind: FieldType, value: Default) -> str:
    """Return a default of datetimes or timedeltas as numpy's scalar."""
    return f"np.{kind.base.value}64({literal(value)}, {literal(kind.scalar[3:-1])})"


def value_literal(field: Field, value: Default) -> str:
    """Return a value of a field as Python, as `default_literal` does."""
    (column,) = field_columns(replace(field, default=value, split=False))
    return ColumnCode(column, "", 0).default_literal


def storage_arguments(kind: FieldType) -> list[str]:
    """Return what a type says of how values are stored: scalar, size or unit, and shape."""
    arguments = []
    if kind.base in (BaseType.INT, BaseType.FLOAT, BaseType.ENUM):
        arguments.append(literal(kind.scalar))
    if kind.base in (BaseType.STR, BaseType.BYTES):
        arguments.append(str(kind.size))
    if kind.is_time:
        arguments.append(literal(kind.scalar[3:-1]))
    return [*arguments, literal(kind.shape)] if kind.shape else arguments


def shows_array(kind: FieldType) -> bool:
    """Return True if an object's attribute of this type reads as an array: shaped numbers."""
    return bool(kind.shape) and kind.base in (BaseType.INT, BaseType.FLOAT)


class ColumnCode:
    """Code of one column, as templates need it."""

    holder: ClassVar[str] = "data"
    """Expression for the object that has the column."""
    row_expression: ClassVar[str] = "row"
    """Expression for the row of a cell in the column."""

    is_told: ClassVar[bool] = False
    """True if only the accessor can read a cell."""

    def __init__(self, column: Column, component: str, bytes_before: int) -> None:
        self.column, self.component, self.bytes_before = column, component, bytes_before
        self.name, self.field = column.name, column.field
        self.bare_name = add_placeholder(self.name)
        """Name of a parameter, or of an item of a class."""
        self.guard = ""
        """Policy that checks writes; "" if there is none."""
        self.is_object = column.is_object
        self.is_packed = bool(column.shape)
        """True if a cell is several scalars, which `struct` reads and writes at once.

        A view of opaque items moves such cells in bulk."""
        self.has_cells = not self.is_object and not column.scalar.startswith(("S", "M", "m"))
        """True if the column has a memoryview for single cells."""
        base = None if self.field is None else self.field.type.base
        self.is_enum = base is BaseType.ENUM
        is_whole = self.field is not None and not self.field.split
        self.is_comparable = is_whole and base in (BaseType.STR, BaseType.ENUM)
        """True if users see a view of the column that compares with text."""
        self.constant = f"_{self.name.upper()}_FIELD"
        """Name of the field's converter."""
        self.local = self.bare_name if self.is_object else f"_{self.name.lower()}_"
        """Local with the converted value."""
        self.struct = f"_{self.name.upper()}_STRUCT"
        """Name of the packer of one cell."""
        self.default = "None" if self.is_object else f"_{self.name.upper()}_DEFAULT"
        """Default in calls: a constant, which `create` recognises by identity."""

    @property
    def query_column(self) -> str:
        """Class of its cells in a query's rows."""
        return "ComparableQueryColumn" if self.is_comparable else "QueryColumn"

    @property
    def _type(self) -> FieldType:
        assert self.field is not None
        return self.field.type

    @property
    def data_expression(self) -> str:
        """Expression for the column in a method of its data object."""
        return f"self.{self.name}"

    @property
    def is_nested(self) -> bool:
        """True if the scalars that `struct` returns must be nested or converted."""
        return self.is_packed and (self.is_enum or len(self.column.shape) > 1)

    @property
    def has_words(self) -> bool:
        """True if a memoryview has each shaped cell as one unsigned integer."""
        return bool(self.column.shape) and not self.is_object and self.column.nbytes in WORDS

    @property
    def copy_view(self) -> str:
        """Fastest view to copy one cell, without the underscore before its name."""
        if self.has_words:
            return f"{self.name}_words"
        if self.column.shape:
            return f"{self.name}_items"
        return f"{self.name}_{'cells' if self.has_cells else 'column'}"

    @property
    def struct_format(self) -> str:
        return f"={self.column.count}{SCALARS[self.column.scalar].struct}"

    @property
    def converter_class(self) -> str:
        """Class of the library that checks the field's values."""
        return f"{KINDS[self._type.base]}Field"

    @property
    def converter_arguments(self) -> list[str]:
        """Arguments of the converter: name for messages, type, shape."""
        kind = self._type
        arguments = [literal(f"{self.component}.{self.name}")]
        if kind.base is BaseType.ENUM:
            arguments.append(add_placeholder(kind.target))
        if kind.base in (BaseType.ENTITY, BaseType.ID):
            arguments.append(literal(kind.text.partition("[")[0]))
        return [*arguments, *storage_arguments(kind)]

    @property
    def layout_arguments(self) -> list[str]:
        """Arguments of the column's entry in LAYOUT."""
        column = self.column
        return [
            literal(self.name),
            f"np.dtype({self.dtype})",
            literal(column.shape),
            str(column.nbytes),
            literal(column.tags),
            str(self.bytes_before),
        ]

    @property
    def has_doc(self) -> bool:
        """True if the schema documents the field."""
        return bool(self.column.doc or self.column.unit)

    @property
    def summary(self) -> str:
        """Docstring of the field's accessor."""
        return sentence(self.column.doc or f"The {self.name}") + self._unit_text

    @property
    def column_summary(self) -> str:
        """Docstring of the field's column."""
        summary = sentence(self.column.doc or f"The {self.name} of each row")
        return f"{summary}{self._unit_text} Shape {self.shape}."

    @property
    def _unit_text(self) -> str:
        return f" [{self.column.unit}]" if self.column.unit else ""

    @property
    def bounds_doc(self) -> str:
        """Text in the setter's docstring on the values that it takes."""
        kind = self._type
        if kind.base is BaseType.STR:
            return f": at most {kind.size} bytes of UTF-8"
        if kind.base is BaseType.BYTES:
            return f": at most {kind.size} bytes, padded with zeros"
        return f": {self.column.count} values" if kind.shape else ""

    @property
    def dtype(self) -> str:
        scalar = self.column.scalar
        is_text = scalar.startswith(("S", "M", "m"))
        return f'"{scalar}"' if is_text else self.scalar_dtype

    @property
    def scalar_dtype(self) -> str:
        """Expression for numpy's type of one element."""
        scalar = self.column.scalar
        if self.column.is_object:
            return "np.object_"
        if self.column.is_time:
            return self.scalar_type
        return "np.bytes_" if scalar.startswith("S") else SCALARS[scalar].numpy

    @property
    def array_type(self) -> str:
        return f"NDArray[{self.scalar_dtype}]"

    @property
    def shape(self) -> str:
        """Shape of the whole column, for docstrings."""
        return literal_shape("n", self.column.shape)

    @property
    def scalar_type(self) -> str:
        """Annotation of one element."""
        if self.field is None:
            links = "Instance" if self.column.holds_rows else "int"
            return "Entity" if self.name == "entity" else links
        kind = self.field.type
        return {
            BaseType.BOOL: "bool",
            BaseType.INT: "int",
            BaseType.FLOAT: "float",
            BaseType.ENTITY: "Entity",
            BaseType.ID: "Id",
            BaseType.ENUM: add_placeholder(kind.target),
            BaseType.STR: "str",
            BaseType.BYTES: "bytes",
            BaseType.OBJECT: "Any",
            BaseType.DATETIME: "np.datetime64",
            BaseType.TIMEDELTA: "np.timedelta64",
        }[kind.base]

    @property
    def cell_type(self) -> str:
        """Annotation of an element of the column's memoryview."""
        return "int" if self.is_enum else self.scalar_type

    @property
    def read_type(self) -> str:
        """Annotation of the accessor's result."""
        return tuple_type(self.scalar_type, self.column.shape)

    @property
    def write_type(self) -> str:
        """Annotation of the setter's value."""
        if self.column.shape:
            return "ArrayLike"
        kind = self.scalar_type
        if self.is_enum:
            return f"{kind} | int | str"
        if self.column.is_time:
            return f"{KINDS[self._type.base]}Like"
        return f"{kind} | int" if kind in ("Entity", "Id") else kind

    @property
    def many_type(self) -> str:
        return "object" if self.is_object else "ArrayLike"

    def view(self, holder: str, bound: str) -> str:
        """Return the expression for the cells of the rows before a bound."""
        return f"{holder}._{self.name}_{'view' if self.is_comparable else 'column'}[: {bound}]"

    def assign_lines(self, holder: str, bound: str, cells: str, indent: int) -> str:
        """Return the statements that write checked cells to the rows before a bound."""
        view, margin = self.view(holder, bound), " " * indent
        if not self.is_object:
            return f"{margin}{view} = {cells}"
        left = f"{margin}_left = {view}.copy()"
        return f"{margin}# what ends may run code\n{left}\n{margin}{view} = {cells}"

    @property
    def assigned_lines(self) -> str:
        """Statements of the column's setter that check values and write them."""
        if self.is_object:
            checked = call(f"checked = {self.constant}.to_column", ["values", "self._n"], 12)
            return f"{checked}\n{self.assign_lines('self', 'self._n', 'checked', 12)}"
        head = f"self._{self.name}_column[: self._n] = {self.constant}.to_column"
        return call(head, ["values", "self._n"], 12)

    @property
    def default_lines(self) -> str:
        """Constants of the default: the value, and the cell and its word where they differ."""
        lines = [display(f"{self.default}: Final = ", self.default_literal)]
        if self._default_cell != self.default:
            head = f"{self._default_cell}: Final = {self.constant}.to_cell"
            lines.append(call(head, [self.default], 0))
        if self.has_words:
            arguments = [self.constant, self._default_cell]
            lines.append(call(f"{self._default_word}: Final = pack_cell", arguments, 0))
        return "\n".join(lines)

    @property
    def row_default(self) -> str:
        """Expression for the default as the accessor returns it."""
        if self._type.base is BaseType.BYTES:
            return f'{self.default}.ljust({self.column.nbytes}, b"\\0")'
        return self.default

    @property
    def row_default_lines(self) -> str:
        """Line of the field in the class of rows."""
        line = f"{self.read_type} = {self.row_default}"
        if len(self.name) + len(line) + 6 > WIDTH:
            line = f"{self.read_type} = (\n        {self.row_default}\n    )"
        first, *more = line.split("\n")
        return "\n".join([tuple_item(self.bare_name, first), *more])

    @property
    def info_arguments(self) -> list[str]:
        """Arguments of the field's description: converter, type, default, tags, unit, docs."""
        unit = [literal(self.column.unit)] if self.has_doc else []
        docs = [split_literal(self.column.doc, 8)] if self.column.doc else []
        tags = literal(self.column.tags)
        return [self.constant, literal(self._type.text), self.default, tags, *unit, *docs]

    @property
    def _default_cell(self) -> str:
        is_other = self._type.base is BaseType.STR or self.is_enum or len(self.column.shape) > 1
        return f"_{self.name.upper()}_CELL" if is_other else self.default

    @property
    def _default_word(self) -> str:
        return f"_{self.name.upper()}_WORD"

    @property
    def default_literal(self) -> str:
        """Default as a literal; enums are members, handles calls of their types."""
        assert self.field is not None
        value = self.field.default
        if self.field.type.base in (BaseType.ENUM, BaseType.ENTITY, BaseType.ID):
            return nested(value, self._typed_default)
        if self.field.type.base is BaseType.BYTES and isinstance(value, bytes):
            return literal(value.rstrip(b"\0"))
        if self.column.is_time:
            return time_literal(self.field.type, value)
        return literal(value)

    def _typed_default(self, value: object) -> str:
        if self.scalar_type == "Entity" and value == 0:
            return "NULL_ENTITY"
        return f"{self.scalar_type}({value})"

    @property
    def guarded_accessors(self) -> list[str]:
        """Accessors that do more than read or write a cell."""
        setters = [f"set_{self.name}"] if self.is_elsewhere or self.guard else []
        return [self.name, *setters] if self.is_elsewhere else setters

    @property
    def is_elsewhere(self) -> bool:
        """True if cells lie outside of the buffer."""
        return self.is_object

    @property
    def cell_of(self) -> str:
        """Expression that reads the cell for a whole row."""
        return f"self.{self.name}(row)" if self.is_told or self.is_nested else self.cell()

    def cell(self) -> str:
        """Return the expression that reads one cell as the accessor returns it."""
        if self.is_packed:
            offset = f"{self.column.nbytes} * {self.row_expression}"
            return f"{self.struct}.unpack_from({self._cells}, {offset})"
        if self.has_cells:
            stored = f"{self._cells}[{self.row_expression}]"
            return f"{self.scalar_type}({stored})" if self.is_enum else stored
        stored = f"{self.holder}._{self.name}_column[{self.row_expression}]"
        if self.is_object:
            return stored
        if self._type.base is BaseType.STR:
            return f'str({stored}, "utf-8")'
        if self.column.is_time:
            return f"{self.scalar_type}({stored})"
        return f'bytes({stored}).ljust({self.column.nbytes}, b"\\0")'

    @property
    def accessor_lines(self) -> str:
        """Statements that return one cell."""
        if not self.is_nested:
            return f"        return {self.cell()}"
        values = f"map({self.scalar_type}, cell)" if self.is_enum else "cell"
        shape = literal(self.column.shape)
        return f"        cell = {self.cell()}\n        return nested({values}, {shape})"

    def checked_lines(self, indent: int) -> str:
        """Return the statements that convert the value for a new row; most are defaults."""
        return lines_at(
            indent,
            f"{self.local} = {self._default_cell}",
            f"if {self.bare_name} is not {self.default}:",
            f"    {self.local} = {self.constant}.to_cell({self.bare_name})",
        )

    @property
    def set_lines(self) -> str:
        """Statements of the setter that write one cell."""
        return self.overwrite("value" if self.is_object else "_value", 8)

    def store_new(self, indent: int) -> str:
        """Return the statements that write the converted value of a new row."""
        stored = self.store(self.local, indent)
        if not self.has_words:
            return stored
        word = f"data._{self.name}_words[row] = {self._default_word}"
        test = f"if {self.local} is {self._default_cell}:"
        written = lines_at(indent, test, f"    {word}", "else:")
        return f"{written}\n{self.store(self.local, indent + 4)}"

    def store_many_lines(self, indent: int) -> str:
        """Return the statement that writes checked values to the new rows `span`."""
        values = f'columns["{self.name}"]'
        if self.is_packed:
            column = f"data._{self.name}"
            return call("put_cells", [f"{column}_column", "span", values], indent)
        return f"{' ' * indent}data._{self.name}_column[span] = {values}"

    def place_lines(self, number: int, is_moved: bool) -> str:
        """Return the statements that make the column and its views from the buffer."""
        column = f"self._{self.name}_column"
        views = [("column", self.array_type, "self._column_view", str(number))]
        if self.is_packed and is_moved:
            views.append(("items", "NDArray[Any]", "self._item_view", str(number)))
        if self.has_words:
            items = f"self._{self.name}_items" if is_moved else f"self._item_view({number})"
            views.append(("words", "memoryview[int]", "cell_view", items))
        if self.has_cells:
            views.append(("cells", f"memoryview[{self.cell_type}]", "cell_view", column))
        if self.is_comparable:
            views.append(("view", self.array_type, f"{self.constant}.comparable", column))
        lines = []
        for view, kind, function, argument in views:
            # Columns of policies are declared where the policies are.
            annotation = f": {kind}" if self.field else ""
            head = f"self._{self.name}_{view}{annotation} = {function}"
            lines.append(call(head, [argument], 8))
        return "\n".join(lines)

    def store(self, value: str, indent: int) -> str:
        """Return the statement that writes one converted value into one cell of `row`."""
        if self.is_packed:
            return self._store_scalars(value, indent)
        kind = "cells" if self.has_cells else "column"
        return f"{' ' * indent}{self.holder}._{self.name}_{kind}[{self.row_expression}] = {value}"

    def overwrite(self, value: str, indent: int) -> str:
        """Return the statements that overwrite one cell with a converted value.

        An old object lives until then: numpy would release it while the cell still points to it,
        and its `__del__` may run code that reads the cell.
        """
        stored = self.store(value, indent)
        left = f"{' ' * indent}_left_{self.name} = {self.cell()}\n" if self.is_object else ""
        return left + stored

    def _store_scalars(self, value: str, indent: int) -> str:
        """Return the statements that write several scalars: a few one by one, which is faster."""
        count = self.column.count
        if count > WRITTEN_OUT:
            arguments = [self._cells, f"{self.column.nbytes} * {self.row_expression}", f"*{value}"]
            return call(f"{self.struct}.pack_into", arguments, indent)
        places = ["_at", *(f"_at + {i}" for i in range(1, count))]
        stored = (f"{self._cells}[{at}] = {value}[{i}]" for i, at in enumerate(places))
        return lines_at(indent, f"_at = {count} * {self.row_expression}", *stored)

    @property
    def _cells(self) -> str:
        return f"{self.holder}._{self.name}_cells"


def slots_lines(names: Iterable[str]) -> str:
    """Return the statement that declares a class's attributes."""
    return collection("__slots__ = ", [literal(name) for name in sorted(names)], 4)


class FieldsCode:
    """Class of values that calls give field by field: a component's, or settings."""

    fields: Sequence[ColumnCode]

    @property
    def parameters(self) -> list[str]:
        """Fields as keyword parameters, with their defaults."""
        return [f"{s.bare_name}: {s.write_type} = {s.default}" for s in self.fields]

    @property
    def keywords(self) -> list[str]:
        """Fields as keyword arguments of a call."""
        return [f"{s.name}={s.bare_name}" for s in self.fields]


class BufferCode:
    """Class that holds columns: those of rows, or of cold rows."""

    columns: Sequence[ColumnCode]
    row_columns: Sequence[ColumnCode]
    objects: Sequence[ColumnCode]

    def cell_slots(self, are_moved: bool, *more: str) -> str:
        """Return the statement that declares its attributes, and `more`; `are_moved`: rows move."""
        names = list(more)
        for s in self.columns:
            names += [f"_{s.name}_cells"] if s.has_cells else []
            names += [f"_{s.name}_column"]
            names += [f"_{s.name}_items"] if s.is_packed and are_moved else []
            names += [f"_{s.name}_words"] if s.has_words else []
            names += [f"_{s.name}_view"] if s.is_comparable else []
        return slots_lines(names)

    @property
    def objects_line(self) -> str:
        """Statement that names the columns of objects."""
        names = [literal(f"_{column.name}_column") for column in self.objects]
        return collection("OBJECTS: ClassVar = ", names, 4)

    def move_lines(self, holder: str, indent: int) -> str:
        """Return the statements that copy row `src` over row `dst`, column by column."""
        views = [f"{holder}._{column.copy_view}" for column in self.row_columns]
        return lines_at(indent, *(f"{view}[dst] = {view}[src]" for view in views))


class SplitColumnCode(ColumnCode):
    """Code of a split field: one value for users, one column per element."""

    has_words = False
    is_told = True

    def __init__(
        self, column: Column, component: str, bytes_before: int, parts: tuple[ColumnCode, ...]
    ) -> None:
        super().__init__(column, component, bytes_before)
        self.parts = parts

    @property
    def accessor_lines(self) -> str:
        head = "        cell = " if self.is_nested else "        return "
        cells = collection(head.lstrip(), [part.cell() for part in self.parts], 8)
        if not self.is_nested:
            return cells
        return f"{cells}\n        return nested(cell, {literal(self.column.shape)})"

    @property
    def is_nested(self) -> bool:
        return len(self.column.shape) > 1

    def store(self, value: str, indent: int) -> str:
        return "\n".join(p.store(f"{value}[{i}]", indent) for i, p in enumerate(self.parts))

    def store_many_lines(self, indent: int) -> str:
        shape = literal_shape("count", self.column.shape)
        parts = f'parts = np.broadcast_to(columns["{self.name}"], {shape})'
        columns = (f"data._{name}_column[span] = {part}" for name, part in self.of_all("parts"))
        return lines_at(indent, parts, *columns)

    def of_all(self, array: str) -> list[tuple[str, str]]:
        """Return each part's name, and the expression for it in an array of whole cells."""
        indices = product(*map(range, self.column.shape))
        return [
            (part.name, f"{array}[:, {', '.join(map(str, index))}]")
            for index, part in zip(indices, self.parts, strict=True)
        ]


def make_field_code(field: Field, component: str, columns: dict[str, ColumnCode]) -> ColumnCode:
    """Return a field as its users see it."""
    if not field.split:
        return columns[field.name]
    parts = tuple(columns[part.name] for part in split_parts(field))
    column = parts[0].column
    column_of_cells = replace(
        column, name=field.name, shape=field.type.shape, field=field, doc=field.doc
    )
    return SplitColumnCode(column_of_cells, component, 0, parts)


class CheckedColumnCode(ColumnCode):
    """Code of a column that is read-only as an array: writes are checked."""

    def __init__(self, column: Column, component: str, bytes_before: int) -> None:
        super().__init__(column, component, bytes_before)
        assert self.field is not None
        self.guard = "occupant" if self.field.is_cell_reference else "network"
        if index.is_sorted(self.field) or unique.KEY.value(self.field):
            self.guard = "index" if index.is_sorted(self.field) else "unique"

    @property
    def query_column(self) -> str:
        return f"{'Comparable' if self.is_comparable else ''}UniqueQueryColumn"

    def view(self, holder: str, bound: str) -> str:
        return f"read_only({super().view(holder, bound)})"

    def assign_lines(self, holder: str, bound: str, cells: str, indent: int) -> str:
        return call(f"{holder}._assign_values", [literal(self.name), bound, cells], indent)

    @property
    def assigned_lines(self) -> str:
        cells = f"{self.constant}.to_column(values, self._n)"
        return self.assign_lines("self", "self._n", cells, 12)

    @property
    def set_lines(self) -> str:
        return call("self._set_value", [literal(self.name), "row", "_value"], 8)


def make_column_code(column: Column, component: str, before: int) -> ColumnCode:
    """Return a column of the rows' buffer as templates need it."""
    field = column.field
    is_checked = field is not None and field.is_guarded
    return (CheckedColumnCode if is_checked else ColumnCode)(column, component, before)
