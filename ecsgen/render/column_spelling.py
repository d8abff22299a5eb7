"""How a column is spelled in Python: names, constants, docs, annotations."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.model import Base, Field, FieldType
from ecsgen.model.columns import Column
from ecsgen.model.types import SCALARS
from ecsgen.render.calls import literal_shape, sentence, tuple_type
from ecsgen.render.giving_way import marked
from ecsgen.render.quoting import literal

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
WORDS = (1, 2, 4, 8)
"""Bytes of a shaped cell that is copied as one unsigned integer."""


@dataclass(frozen=True, slots=True)
class ColumnSpelling:
    """One column as the templates need it: what there is to know of it, as pieces of Python."""

    column: Column
    component: str
    before: int

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def alone(self) -> str:
        """The name where it stands alone: as a parameter, or an item of a class."""
        return marked(self.name)

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
    def has_items(self) -> bool:
        """Whether each shaped cell is seen as one opaque item as well, to be moved in bulk."""
        return bool(self.column.shape)

    @property
    def has_words(self) -> bool:
        """Whether a memoryview shows each shaped cell as one unsigned integer."""
        return bool(self.column.shape) and not self.is_object and self.nbytes in WORDS

    @property
    def moved(self) -> str:
        """The quickest view of the column to copy one cell in, without the underscore before it."""
        if self.has_words:
            return f"{self.name}_words"
        if self.column.shape:
            return f"{self.name}_items"
        return f"{self.name}_{'cells' if self.has_cells else 'column'}"

    @property
    def is_enum(self) -> bool:
        return self.field is not None and self.field.type.base is Base.ENUM

    @property
    def nbytes(self) -> int:
        return self.column.nbytes

    # --- constants -------------------------------------------------------------------------------

    @property
    def constant(self) -> str:
        """The name of the field's converter."""
        return f"_{self.name.upper()}_FIELD"

    @property
    def local(self) -> str:
        """The name of its converted value: neither a converter's nor one that features use."""
        return self.alone if self.is_object else f"_{self.name.lower()}_"

    @property
    def struct(self) -> str:
        """The name of the packer of one cell."""
        return f"_{self.name.upper()}_STRUCT"

    @property
    def struct_format(self) -> str:
        return f"={self.column.count}{SCALARS[self.column.scalar].struct}"

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
            arguments.append(marked(kind.target))
        if kind.base in (Base.ENTITY, Base.ID):
            arguments.append(literal(kind.text.partition("[")[0]))
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
    def has_doc(self) -> bool:
        """Whether the schema says more of it than its name."""
        return bool(self.doc or self.unit)

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
        return f'"{scalar}"' if scalar.startswith("S") else self.scalar_dtype

    @property
    def scalar_dtype(self) -> str:
        """numpy's type of one element."""
        scalar = self.column.scalar
        if self.column.is_object:
            return "np.object_"
        return "np.bytes_" if scalar.startswith("S") else SCALARS[scalar].numpy

    @property
    def array_type(self) -> str:
        return f"NDArray[{self.scalar_dtype}]"

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
            Base.ENUM: marked(kind.target),
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
