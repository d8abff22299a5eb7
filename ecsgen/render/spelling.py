"""How a component's columns are spelled in Python: annotations, constants, reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ecsgen.columns import Column
from ecsgen.model import Base, Field, FieldType
from ecsgen.render.calls import call, display, exploded, signature
from ecsgen.render.quoting import literal
from ecsgen.render.wording import literal_shape, sentence, tuple_type

NUMPY = {
    "bool": "np.bool_",
    **{f"i{bits}": f"np.int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"np.uint{bits}" for bits in (8, 16, 32, 64)},
    "f32": "np.float32",
    "f64": "np.float64",
    "object": "np.object_",
}
STRUCT = {
    "bool": "?",
    **dict(zip(("i8", "i16", "i32", "i64"), "bhiq", strict=True)),
    **dict(zip(("u8", "u16", "u32", "u64"), "BHIQ", strict=True)),
    "f32": "f",
    "f64": "d",
}
CONVERTERS = {
    Base.BOOL: "BoolField",
    Base.INT: "IntField",
    Base.FLOAT: "FloatField",
    Base.ENTITY: "HandleField",
    Base.ID: "HandleField",
    Base.ENUM: "EnumField",
    Base.STR: "TextField",
    Base.BYTES: "BytesField",
    Base.OBJECT: "ObjectField",
}
WRITTEN_OUT = 4
"""Cells of up to this many elements are written one by one."""
LONGEST_DEFAULT = 50
"""Longer defaults are constants, so that signatures stay legible."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One column as the templates need it: ready pieces of Python."""

    holder: ClassVar[str] = "data"
    """The expression for what has the column."""
    place: ClassVar[str] = "row"
    """The expression for the place of a cell in it."""

    column: Column
    component: str
    before: int

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def doc(self) -> str:
        return self.column.doc

    @property
    def unit(self) -> str:
        return self.column.unit

    @property
    def field(self) -> Field | None:
        return self.column.field

    @property
    def _type(self) -> FieldType:
        assert self.column.field is not None
        return self.column.field.type

    @property
    def own(self) -> str:
        """The column as its data object's method names it."""
        return f"self.{self.name}"

    @property
    def cell_of(self) -> str:
        """The expression that reads the cell for a whole row."""
        return f"self.{self.name}(row)" if self.is_nested else self.cell()

    @property
    def is_nested(self) -> bool:
        """Whether the scalars of a cell are more than what `struct` returns."""
        return self.is_packed and (self.is_enum or len(self.column.shape) > 1)

    @property
    def is_object(self) -> bool:
        return self.column.is_object

    @property
    def is_packed(self) -> bool:
        """Whether a cell is several scalars, which `struct` reads and writes at once."""
        return bool(self.column.shape)

    @property
    def has_cells(self) -> bool:
        """Whether a memoryview stands beside the column, for one cell at a time."""
        return not self.is_object and not self.column.scalar.startswith("S")

    @property
    def nbytes(self) -> int:
        return self.column.nbytes

    # --- constants -------------------------------------------------------------------------------

    @property
    def constant(self) -> str:
        """The name of the field's converter."""
        return f"_{self.name.upper()}"

    @property
    def local(self) -> str:
        """The name of its converted value: neither a converter's nor one that features use."""
        return f"_{self.name.lower()}_"

    @property
    def struct(self) -> str:
        """The name of the packer of one cell."""
        return f"{self.name.upper()}_STRUCT"

    @property
    def struct_format(self) -> str:
        return f"={self.column.count}{STRUCT[self.column.scalar]}"

    @property
    def converter_class(self) -> str:
        """The runtime class that checks the field's values."""
        return CONVERTERS[self._type.base]

    @property
    def converter_arguments(self) -> list[str]:
        """What the converter is made with: its name for messages, its type, its shape."""
        kind = self._type
        arguments = [literal(f"{self.component}.{self.name}")]
        if kind.base is Base.ENUM:
            arguments.append(kind.target)
        if kind.base in (Base.INT, Base.FLOAT, Base.ENUM):
            arguments.append(literal(kind.scalar))
        if kind.base in (Base.STR, Base.BYTES):
            arguments.append(str(kind.size))
        return [*arguments, literal(kind.shape)] if kind.shape else arguments

    @property
    def layout_arguments(self) -> list[str]:
        """The arguments of the column's entry in LAYOUT."""
        column = self.column
        return [
            literal(self.name),
            f"np.dtype({self.dtype})",
            literal(column.shape),
            str(column.nbytes),
            literal(column.tags),
            str(self.before),
        ]

    # --- docs ------------------------------------------------------------------------------------

    @property
    def summary(self) -> str:
        """The docstring of the field's accessor."""
        return sentence(self.doc or f"The {self.name}") + self._unit_text

    @property
    def column_summary(self) -> str:
        """The docstring of the field's column."""
        what = sentence(self.doc or f"The {self.name} of each row")
        return f"{what}{self._unit_text} Shape {self.shape}."

    @property
    def _unit_text(self) -> str:
        return f" [{self.unit}]" if self.unit else ""

    @property
    def bounds_doc(self) -> str:
        """What the setter's docstring says of the values it takes."""
        kind = self._type
        if kind.base is Base.STR:
            return f": at most {kind.size} bytes of UTF-8"
        if kind.base is Base.BYTES:
            return f": at most {kind.size} bytes, padded with zeros"
        return f": {self.column.count} values" if kind.shape else ""

    # --- types -----------------------------------------------------------------------------------

    @property
    def dtype(self) -> str:
        scalar = self.column.scalar
        return f'"{scalar}"' if scalar.startswith("S") else NUMPY[scalar]

    @property
    def array_type(self) -> str:
        scalar = self.column.scalar
        return f"NDArray[{'np.bytes_' if scalar.startswith('S') else NUMPY[scalar]}]"

    @property
    def shape(self) -> str:
        """A whole column's shape, for the docs."""
        return literal_shape("n", self.column.shape)

    @property
    def scalar_type(self) -> str:
        """What one element is in Python."""
        if self.field is None:
            links = "Instance" if self.column.holds_rows else "int"
            return "Entity" if self.name == "entity" else links
        kind = self.field.type
        return {
            Base.BOOL: "bool",
            Base.INT: "int",
            Base.FLOAT: "float",
            Base.ENTITY: "Entity",
            Base.ID: "Id",
            Base.ENUM: kind.target,
            Base.STR: "str",
            Base.BYTES: "bytes",
            Base.OBJECT: "Any",
        }[kind.base]

    @property
    def cell_type(self) -> str:
        """What the column's memoryview holds."""
        if self.is_enum:
            return "int"
        return self.scalar_type

    @property
    def read_type(self) -> str:
        """What the accessor returns."""
        return tuple_type(self.scalar_type, self.column.shape)

    @property
    def write_type(self) -> str:
        """What the setter takes."""
        if self.column.shape:
            return "ArrayLike"
        kind = self.scalar_type
        is_number = kind in ("Entity", "Id") or (
            self.field is not None and self.field.type.base is Base.ENUM
        )
        return f"{kind} | int" if is_number else kind

    @property
    def many_type(self) -> str:
        return "object" if self.is_object else "ArrayLike"

    @property
    def default(self) -> str:
        """The default as calls have it: a literal, or the constant of a long one."""
        text = self._default_literal
        return text if len(text) <= LONGEST_DEFAULT else f"{self.name.upper()}_DEFAULT"

    @property
    def default_constant_lines(self) -> str:
        """The constant of a default that is too long for a signature, or nothing."""
        if self.default == self._default_literal:
            return ""
        assert self.field is not None
        return display(f"{self.name.upper()}_DEFAULT: Final = ", self.field.default, 0)

    @property
    def _default_literal(self) -> str:
        """The default as a literal; enums are spelled as members."""
        assert self.field is not None
        value = self.field.default
        if self.field.type.base is Base.ENUM:
            return self._enum_default(value)
        if self.field.type.base is Base.BYTES and isinstance(value, bytes):
            return literal(value.rstrip(b"\0"))
        if self.scalar_type == "Entity" and not self.column.shape:
            return "NULL_ENTITY" if value == 0 else literal(value)
        return literal(value)

    def _enum_default(self, value: object) -> str:
        assert self.field is not None
        if isinstance(value, tuple):
            inner = ", ".join(self._enum_default(item) for item in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        return f"{self.field.type.target}({value})"

    # --- one cell --------------------------------------------------------------------------------

    def cell(self) -> str:
        """The expression that reads one cell as the accessor returns it."""
        if self.is_packed:
            return f"{self.struct}.unpack_from({self._cells}, {self.nbytes} * {self.place})"
        if self.has_cells:
            stored = f"{self._cells}[{self.place}]"
            return f"{self.scalar_type}({stored})" if self.is_enum else stored
        stored = f"{self.holder}._{self.name}_column[{self.place}]"
        if self.is_object:
            return stored
        is_text = self._type.base is Base.STR
        if is_text:
            return f'str({stored}, "utf-8")'
        return f'bytes({stored}).ljust({self.nbytes}, b"\\0")'

    @property
    def accessor_lines(self) -> str:
        """The statements that return one cell."""
        if not self.is_nested:
            return f"        return {self.cell()}"
        values = f"map({self.scalar_type}, cell)" if self.is_enum else "cell"
        shape = literal(self.column.shape)
        return f"        cell = {self.cell()}\n        return nested({values}, {shape})"

    @property
    def accessor_line(self) -> str:
        """The line that begins the accessor."""
        return signature(self.name, ["self", "row: Instance", "/"], self.read_type, 4)

    @property
    def set_lines(self) -> str:
        """The statement of the setter: converts and writes one cell."""
        converted = f"{self.constant}.one(value)"
        if not self.is_packed:
            return self.store(converted, 8)
        return f"        values = {converted}\n{self.store('values', 8)}"

    @property
    def store_many_lines(self) -> str:
        """The statement that writes checked values to the new rows `span`."""
        values = f'columns["{self.name}"]'
        if self.is_packed:
            column = f"data._{self.name}"
            arguments = [f"{column}_column", f"{column}_items", "span", values]
            return exploded("put_cells", arguments, 8)
        return f"        data._{self.name}_column[span] = {values}"

    def store(self, value: str, indent: int) -> str:
        """The statement that writes one converted value into one cell of `row`."""
        if self.is_packed:
            return self._store_scalars(value, indent)
        kind = "cells" if self.has_cells else "column"
        return f"{' ' * indent}{self.holder}._{self.name}_{kind}[{self.place}] = {value}"

    def _store_scalars(self, value: str, indent: int) -> str:
        """The statements that write several scalars: few of them one by one, which is faster."""
        pad, count = " " * indent, self.column.count
        if count > WRITTEN_OUT:
            arguments = [self._cells, f"{self.nbytes} * {self.place}", f"*{value}"]
            return call(f"{self.struct}.pack_into", arguments, indent)
        places = ["_at", *(f"_at + {i}" for i in range(1, count))]
        lines = [f"_at = {count} * {self.place}"]
        lines += [f"{self._cells}[{at}] = {value}[{i}]" for i, at in enumerate(places)]
        return "\n".join(pad + line for line in lines)

    @property
    def _cells(self) -> str:
        return f"{self.holder}._{self.name}_cells"

    @property
    def is_enum(self) -> bool:
        return self.field is not None and self.field.type.base is Base.ENUM


def cell_attributes(columns: list[Spelling]) -> list[str]:
    """Return the columns' attributes in a data class."""
    names: list[str] = []
    for s in columns:
        names += [f"_{s.name}_cells"] if s.has_cells else []
        names += [f"_{s.name}_column"]
        names += [f"_{s.name}_items"] if s.column.shape else []
    return sorted(names)
