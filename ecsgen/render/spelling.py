"""How a component's columns are spelled in Python: annotations, constants, reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.columns import Column
from ecsgen.layout import Layout, layout
from ecsgen.model import Base, Component, Field
from ecsgen.render.quoting import literal

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
    def is_object(self) -> bool:
        return self.column.is_object

    @property
    def is_packed(self) -> bool:
        """Whether a cell is several bytes for `struct`, not one scalar."""
        return bool(self.column.shape) or self.column.scalar.startswith("S")

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
        return f"_{self.name.upper()}_STRUCT"

    @property
    def struct_format(self) -> str:
        scalar = self.column.scalar
        code = f"{scalar[1:]}s" if scalar.startswith("S") else STRUCT[scalar]
        return f"={code}" if not self.column.shape else f"={self.column.count}{code}"

    @property
    def converter(self) -> str:
        """The expression that makes the field's converter."""
        assert self.field is not None
        kind = self.field.type
        name = literal(f"{self.component}.{self.name}")
        shape = f", {literal(kind.shape)}" if kind.shape else ""
        match kind.base:
            case Base.BOOL:
                return f"BoolField({name}{shape})"
            case Base.INT:
                return f'IntField({name}, "{kind.scalar}"{shape})'
            case Base.FLOAT:
                return f'FloatField({name}, "{kind.scalar}"{shape})'
            case Base.ENTITY | Base.ID:
                return f"HandleField({name}{shape})"
            case Base.ENUM:
                return f'EnumField({name}, {kind.target}, "{kind.scalar}"{shape})'
            case Base.STR:
                return f"TextField({name}, {kind.size})"
            case Base.BYTES:
                return f"BytesField({name}, {kind.size})"
            case Base.OBJECT:
                return f"ObjectField({name})"

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
            return "Entity" if self.name == "entity" else "Instance"
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
        if self.is_object:
            return f"data._{self.name}_column[{row}]"
        if not self.is_packed:
            stored = f"data._{self.name}_cells[{row}]"
            return f"{self.scalar_type}({stored})" if self._is_enum else stored
        stored = f"{self.struct}.unpack_from(data._{self.name}_cells, {self.nbytes} * {row})"
        if self.column.scalar.startswith("S"):
            is_text = self.field is not None and self.field.type.base is Base.STR
            return f'{stored}[0].rstrip(b"\\0").decode()' if is_text else f"{stored}[0]"
        if self._is_enum:
            stored = f"map({self.scalar_type}, {stored})"
        if self._is_enum or len(self.column.shape) > 1:
            return f"nested({stored}, {literal(self.column.shape)})"
        return stored

    def store(self, value: str, row: str = "row") -> str:
        """The statement that writes one converted value into one cell."""
        if self.is_object:
            return f"data._{self.name}_column[{row}] = {value}"
        if not self.is_packed:
            return f"data._{self.name}_cells[{row}] = {value}"
        values = value if self.column.scalar.startswith("S") else f"*{value}"
        return f"{self.struct}.pack_into(data._{self.name}_cells, {self.nbytes} * {row}, {values})"

    @property
    def _is_enum(self) -> bool:
        return self.field is not None and self.field.type.base is Base.ENUM


def literal_shape(first: str, shape: tuple[int, ...]) -> str:
    """Return a shape such as `(n,)` or `(n, 3)`."""
    return f"({', '.join([first, *map(str, shape)])}{',' if not shape else ''})"


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
    def enums(self) -> list[str]:
        """The enums that the fields use."""
        types = (field.type for field in self.component.fields)
        return sorted({kind.target for kind in types if kind.base is Base.ENUM})

    @property
    def sort_keys(self) -> list[str]:
        """Fields that `sort` takes by name: scalars with an order."""
        return [s.name for s in self.fields if not s.column.shape and not s.is_object]

    @property
    def views(self) -> list[Spelling]:
        """Columns whose cells an argument may be a view of: all but scalars and objects."""
        return [s for s in self.fields if s.column.shape]

    def tagged(self) -> dict[str, list[Spelling]]:
        """The tags, and the fields that bear each."""
        groups: dict[str, list[Spelling]] = {"hot": []}
        for spelling in self.fields:
            for tag in spelling.column.tags:
                groups.setdefault(tag, []).append(spelling)
        return groups
