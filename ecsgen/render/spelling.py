"""How a component's columns are spelled in Python: annotations, constants, reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.columns import Column
from ecsgen.layout import Layout, layout
from ecsgen.model import Base, Component, Field, FieldType
from ecsgen.render.calls import call
from ecsgen.render.quoting import WIDTH, literal

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
SPELLED_OUT = 8
"""Tuples of up to this many elements are spelled out in annotations."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """One column as the templates need it: ready pieces of Python."""

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
        return self.cell()

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
            return "Entity" if self.name == "entity" else "int"
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
        if self.is_packed or (self.field is not None and self.field.type.base is Base.ENUM):
            return "int"
        return self.scalar_type

    @property
    def read_type(self) -> str:
        """What the accessor returns."""
        return _tuple_type(self.scalar_type, self.column.shape)

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

    def cell(self, row: str = "row") -> str:
        """The expression that reads one cell as the accessor returns it."""
        if self.is_packed:
            stored = f"{self.struct}.unpack_from(data._{self.name}_cells, {self.nbytes} * {row})"
            stored = f"map({self.scalar_type}, {stored})" if self._is_enum else stored
            is_nested = self._is_enum or len(self.column.shape) > 1
            return f"nested({stored}, {literal(self.column.shape)})" if is_nested else stored
        if self.has_cells:
            stored = f"data._{self.name}_cells[{row}]"
            return f"{self.scalar_type}({stored})" if self._is_enum else stored
        stored = f"data._{self.name}_column[{row}]"
        if self.is_object:
            return stored
        is_text = self._type.base is Base.STR
        if is_text:
            return f'str({stored}, "utf-8")'
        return f'bytes({stored}).ljust({self.nbytes}, b"\\0")'

    def store(self, value: str, indent: int) -> str:
        """The statement that writes one converted value into one cell of `row`."""
        if self.is_packed:
            arguments = [f"data._{self.name}_cells", f"{self.nbytes} * row", f"*{value}"]
            return call(f"{self.struct}.pack_into", arguments, indent)
        kind = "cells" if self.has_cells else "column"
        return f"{' ' * indent}data._{self.name}_{kind}[row] = {value}"

    @property
    def _is_enum(self) -> bool:
        return self.field is not None and self.field.type.base is Base.ENUM


def sentence(text: str) -> str:
    """Return text that ends as a sentence does."""
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def literal_shape(first: str, shape: tuple[int, ...]) -> str:
    """Return a shape such as `(n,)` or `(n, 3)`."""
    return f"({', '.join([first, *map(str, shape)])}{',' if not shape else ''})"


def literal_names(names: list[str]) -> str:
    """Return names as the display of a tuple."""
    return f"({', '.join(names)},)" if len(names) == 1 else f"({', '.join(names)})"


def _tuple_type(scalar: str, shape: tuple[int, ...]) -> str:
    if not shape:
        return scalar
    inner = _tuple_type(scalar, shape[1:])
    if shape[0] > SPELLED_OUT:
        return f"tuple[{inner}, ...]"
    return f"tuple[{', '.join([inner] * shape[0])}]"


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
        by_name = {spelling.name: spelling for spelling in self.columns}
        self.fields = [by_name[field.name] for field in component.fields]

    @property
    def summary(self) -> str:
        """The policies of the component in a few words."""
        c = self.component
        parts = [f"lookup {c.lookup}", f"instances {c.instances}", f"destroy {c.destroy}"]
        return ", ".join([*parts, *(["release"] if c.release else [])])

    @property
    def enums(self) -> list[str]:
        """The enums that the fields use."""
        types = (field.type for field in self.component.fields)
        return sorted({kind.target for kind in types if kind.base is Base.ENUM})

    @property
    def data_attributes(self) -> list[str]:
        """The columns' attributes in the data class."""
        names: list[str] = []
        for s in self.columns:
            names += [f"_{s.name}_cells"] if s.has_cells else []
            names += [f"_{s.name}_column"]
            names += [f"_{s.name}_items"] if s.column.shape else []
        return sorted(names)

    @property
    def sort_keys(self) -> list[str]:
        """Fields that `sort` takes by name: scalars with an order."""
        return [s.name for s in self.fields if not s.column.shape and not s.is_object]

    @property
    def sort_keys_lines(self) -> str:
        """The constant that lists them."""
        names = [literal(name) for name in self.sort_keys]
        if len(names) == 1:
            return f"SORT_KEYS: Final = ({names[0]},)"
        return call("SORT_KEYS: Final = ", names, 0)

    @property
    def sort_key_type(self) -> str:
        return "str | ArrayLike" if self.sort_keys else "ArrayLike"

    @property
    def sort_key_doc(self) -> str:
        return " by a scalar field, by name, or by a key" if self.sort_keys else " by a key"

    @property
    def borrowed_one(self) -> str:
        """The arguments of `create` that may be views of a row, as `_allocate` takes them."""
        names = [s.name for s in self.fields if s.column.shape]
        return f", {literal_names(names)}" if names else ""

    @property
    def borrowed_many(self) -> str:
        """The arguments of a bulk creation that may be views of columns."""
        names = ["_entities", *(s.name for s in self.fields if not s.is_object)]
        if len(line := f"    data._allocate(capacity, {literal_names(names)})") <= WIDTH - 8:
            return line
        return "\n".join(
            ["    data._allocate(", "        capacity,", call("", names, 8, ","), "    )"]
        )

    @property
    def keywords(self) -> list[str]:
        """The fields as keyword arguments of a call."""
        return [f"{s.name}={s.name}" for s in self.fields]

    @property
    def unpacked(self) -> str:
        """The targets that a tuple of all columns is unpacked into."""
        names = ", ".join(f"_{s.name}" for s in self.fields)
        return f"({names},)" if len(self.fields) == 1 else names

    @property
    def capacity(self) -> int:
        """Rows at construction: whole cache lines of every column."""
        return -(-self.component.capacity // 64) * 64

    def tag_class(self, tag: str) -> str:
        """The NamedTuple of the columns that bear a tag."""
        return f"{self.name}{''.join(part.capitalize() for part in tag.split('_'))}Columns"

    @property
    def tag_result(self) -> str:
        return " | ".join(self.tag_class(tag) for tag in self.tagged())

    def tagged(self) -> dict[str, list[Spelling]]:
        """The tags, and the fields that bear each."""
        groups: dict[str, list[Spelling]] = {"hot": []}
        for spelling in self.fields:
            for tag in spelling.column.tags:
                groups.setdefault(tag, []).append(spelling)
        return groups
