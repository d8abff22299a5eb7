"""Code of fields in the second buffer, reached through the row's cell in `cold_row`."""

from __future__ import annotations

from dataclasses import replace

from ecsgen.layout.memory_layout import Layout
from ecsgen.model import BaseType, Component, Field
from ecsgen.model.columns import split_parts
from ecsgen.model.types import SCALARS
from ecsgen.render.column_code import BufferCode, ColumnCode, SplitColumnCode, make_field_code
from ecsgen.render.text.formatting import call, lines_at, literal_shape
from ecsgen.render.text.name_shadowing import add_class_placeholder
from ecsgen.render.text.quoting import as_f32, literal


class ColdColumnCode(ColumnCode):
    """Code of a column of the second buffer."""

    holder = "data._cold"
    row_expression = "_cold_row"

    @property
    def data_expression(self) -> str:
        return f"self._cold.{self.name}"

    @property
    def default_cell(self) -> str:
        """Default as an expression that numpy stores in a cell."""
        assert self.field is not None
        if self.column.is_time:
            return self.default
        value = self.field.default
        return literal(value.encode() if isinstance(value, str) else value)


class ColdFieldCode(ColdColumnCode):
    """Code of a cold field, of one column or split."""

    has_words = False
    is_told = True
    is_elsewhere = True

    @property
    def default_constant(self) -> str:
        """Name of the default's bytes."""
        return f"_{self.name.upper()}_BYTES"

    @property
    def format(self) -> str:
        """Struct format of one cell."""
        scalar = self.column.scalar
        if scalar.startswith("S"):
            return f"{scalar[1:]}s"
        if self.column.is_time:
            return "q"
        return f"{self.column.count if self.column.shape else ''}{SCALARS[scalar].struct}"

    @property
    def default_scalars(self) -> list[str]:
        """Default as arguments of `Struct.pack`."""
        assert self.field is not None
        if not self.field.type.shape:
            return [self.packed(self.default_cell)]
        parts = split_parts(replace(self.field, split=True))
        return [literal(part.default) for part in parts]

    def packed(self, value: str) -> str:
        """Return the converted value as an argument of `Struct.pack`."""
        if self.column.is_time:
            return f"int({value}.astype(np.int64))"
        return f"*{value}" if self.column.shape else value

    def is_default(self, value: str) -> str:
        """Return the condition that a converted value is the default, bit for bit."""
        if self.is_object:
            return f"{value} is None"
        return f"{self.struct}.pack({self.packed(value)}) == {self.default_constant}"

    @property
    def read_default(self) -> str:
        """Expression for the accessor's result if the row has no cold row."""
        if self.column.shape:
            cell = f"{self.struct}.unpack({self.default_constant})"
            if not self.is_nested:
                return cell
            scalars = f"map({self.scalar_type}, {cell})" if self.is_enum else cell
            return f"nested({scalars}, {literal(self.column.shape)})"
        assert self.field is not None
        value = self.field.default
        if self.field.type.base is BaseType.BYTES:
            return literal(value)
        if self.column.scalar == "f32" and isinstance(value, float):
            return literal(as_f32(value))
        return self.default

    @property
    def accessor_lines(self) -> str:
        lookup, default = "_cold_row = data._cold_row_cells[row]", f"    return {self.read_default}"
        guard = lines_at(8, lookup, "if _cold_row == NIL:", default)
        return f"{guard}\n{super().accessor_lines}"

    @property
    def set_lines(self) -> str:
        borrowed = ", (value,)" if self.column.shape else ""
        value = "value" if self.is_object else "_value"
        lookup = lines_at(
            8,
            "_cold_row = data._cold_row_cells[row]",
            "if _cold_row == NIL:",
            f"    if {self.is_default(value)}:",
            "        return",
            f"    _cold_row = data.take_cold_row(row{borrowed})",
        )
        return f"{lookup}\n{self.overwrite(value, 8)}"

    @property
    def store_picked_lines(self) -> str:
        """Statements that write the rows `wanted` of checked columns to cold rows."""
        shape = literal_shape("count", self.column.shape)
        arguments = [f'columns["{self.name}"]', shape, "wanted"]
        column = f"self._{self.name}_column"
        if self.is_packed:
            return call("put_cells", [column, "span", f"select_rows({', '.join(arguments)})"], 8)
        return call(f"{column}[span] = select_rows", arguments, 8)


class SplitColdFieldCode(ColdFieldCode, SplitColumnCode):
    """Code of a split cold field."""

    @property
    def store_picked_lines(self) -> str:
        shape = literal_shape("count", self.column.shape)
        shape_of_wanted = literal_shape("len(wanted)", self.column.shape)
        parts = f'parts = select_rows(columns["{self.name}"], {shape}, wanted)'
        columns = (f"self._{name}_column[span] = {part}" for name, part in self.of_all("parts"))
        return lines_at(8, parts, f"parts = np.broadcast_to(parts, {shape_of_wanted})", *columns)


def cold_field(field: Field, component: str, columns: dict[str, ColumnCode]) -> ColdFieldCode:
    """Return a field of the second buffer as its users see it."""
    code = make_field_code(field, component, columns)
    if isinstance(code, SplitColumnCode):
        return SplitColdFieldCode(code.column, component, 0, code.parts)
    return ColdFieldCode(code.column, component, code.bytes_before)


class ColdBufferCode(BufferCode):
    """Code of the second buffer of a component, for its templates."""

    def __init__(self, component: Component, layout: Layout) -> None:
        self.layout = layout
        self.name = f"{add_class_placeholder(component.name)}ColdData"
        self.capacity = component.reserve
        """Number of cold rows at construction: as many as are reserved."""
        self.row_bases = [*["ReservedRows"] * bool(component.reserve), "ColdRows"]
        """Base classes of the class of the cold columns."""
        self.stored = [
            ColdColumnCode(c, component.name, layout.bytes_before(c)) for c in layout.columns
        ]
        self.objects = [ColdColumnCode(c, component.name, 0) for c in layout.objects]
        self.columns = self.row_columns = [*self.stored, *self.objects]
        self.field_columns = [column for column in self.columns if column.field]
        by_name = {column.name: column for column in self.columns}
        self.fields = [
            cold_field(field, component.name, by_name) for field in component.indirect_fields
        ]
        self.stored_fields = [field for field in self.fields if not field.is_object]
        self.object_fields = [field for field in self.fields if field.is_object]

    @property
    def row_slots(self) -> str:
        """Statement that declares its attributes."""
        return self.cell_slots(are_moved=True)

    @property
    def format(self) -> str:
        """Struct format of the cold fields of one row."""
        return "=" + "".join(field.format for field in self.stored_fields)

    @property
    def packed_line(self) -> str:
        """Statement that packs the converted values of a new row."""
        arguments = [field.packed(field.local) for field in self.stored_fields]
        return call("_packed = _COLD_STRUCT.pack", arguments, 0)

    @property
    def differs(self) -> str:
        """Condition that a new row's converted values are not all defaults."""
        stored = ["_packed != _COLD_DEFAULT"] if self.stored_fields else []
        objects = [f"{field.local} is not None" for field in self.object_fields]
        return " or ".join([*stored, *objects])
