"""How columns are read and written in Python, whole, split and unique, and their defaults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

from ecsgen.model import Base, Field
from ecsgen.model.columns import Column, split_parts
from ecsgen.policies.unique import KEY
from ecsgen.render.calls import call, collection, display, literal_shape, signature, tuple_item
from ecsgen.render.column_spelling import ColumnSpelling
from ecsgen.render.quoting import WIDTH, literal, split_literal

WRITTEN_OUT = 4
"""Cells of up to this many elements are written one by one."""


class Spelling(ColumnSpelling):
    """One column as the templates need it: ready pieces of Python."""

    __slots__ = ()

    holder: ClassVar[str] = "data"
    """The expression for what has the column."""
    place: ClassVar[str] = "row"
    """The expression for the place of a cell in it."""

    is_unique: ClassVar[bool] = False
    query_column: ClassVar[str] = "QueryColumn"
    """The class of its cells in a query's rows."""

    # --- the column ------------------------------------------------------------------------------

    def view(self, holder: str, bound: str) -> str:
        """The expression for the cells of the rows before a bound."""
        return f"{holder}._{self.name}_column[: {bound}]"

    def assign_lines(self, holder: str, bound: str, cells: str, indent: int) -> str:
        """The statements that write checked cells to the rows before a bound."""
        view, margin = self.view(holder, bound), " " * indent
        if not self.is_object:
            return f"{margin}{view} = {cells}"
        left = f"{margin}_left = {view}.copy()"
        return f"{margin}# what ends may run code\n{left}\n{margin}{view} = {cells}"

    @property
    def assigned_lines(self) -> str:
        """The statements of the column's setter that check values and write them."""
        if self.is_object:
            checked = call(f"checked = {self.constant}.many", ["values", "self._n"], 12)
            return f"{checked}\n{self.assign_lines('self', 'self._n', 'checked', 12)}"
        head = f"self._{self.name}_column[: self._n] = {self.constant}.many"
        return call(head, ["values", "self._n"], 12)

    # --- the default -----------------------------------------------------------------------------

    @property
    def default(self) -> str:
        """The default as calls have it: a constant, so that `create` can tell it by identity."""
        return "None" if self.is_object else f"_{self.name.upper()}_DEFAULT"

    @property
    def default_lines(self) -> str:
        """The constants of the default: the value, and the cell and its word where they differ."""
        lines = [display(f"{self.default}: Final = ", self.default_literal)]
        if self._default_cell != self.default:
            lines.append(
                call(f"{self._default_cell}: Final = {self.constant}.one", [self.default], 0)
            )
        if self.has_words:
            arguments = [self.constant, self._default_cell]
            lines.append(call(f"{self._default_word}: Final = word", arguments, 0))
        return "\n".join(lines)

    @property
    def row_default(self) -> str:
        """The expression for the default as the accessor returns it."""
        if self._type.base is Base.BYTES:
            return f'{self.default}.ljust({self.nbytes}, b"\\0")'
        return self.default

    @property
    def row_default_lines(self) -> str:
        """The field in the class of rows."""
        line = f"{self.read_type} = {self.row_default}"
        if len(self.name) + len(line) + 6 > WIDTH:
            line = f"{self.read_type} = (\n        {self.row_default}\n    )"
        first, *more = line.split("\n")
        return "\n".join([tuple_item(self.alone, first), *more])

    @property
    def info_arguments(self) -> list[str]:
        """What the schema says of the field beside what its converter knows."""
        unit = [literal(self.unit)] if self.unit or self.doc else []
        docs = [split_literal(self.doc, 8)] if self.doc else []
        tags = literal(self.column.tags)
        return [self.constant, literal(self._type.text), self.default, tags, *unit, *docs]

    @property
    def _default_cell(self) -> str:
        """The constant of the converted default."""
        is_other = self._type.base is Base.STR or self.is_enum or len(self.column.shape) > 1
        return f"_{self.name.upper()}_CELL" if is_other else self.default

    @property
    def _default_word(self) -> str:
        return f"_{self.name.upper()}_WORD"

    @property
    def default_literal(self) -> str:
        """The default as a literal; enums are spelled as members, handles by their types."""
        assert self.field is not None
        value = self.field.default
        if self.field.type.base in (Base.ENUM, Base.ENTITY, Base.ID):
            return self._typed_default(value)
        if self.field.type.base is Base.BYTES and isinstance(value, bytes):
            return literal(value.rstrip(b"\0"))
        return literal(value)

    def _typed_default(self, value: object) -> str:
        if isinstance(value, tuple):
            inner = ", ".join(self._typed_default(item) for item in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if self.scalar_type == "Entity" and value == 0:
            return "NULL_ENTITY"
        return f"{self.scalar_type}({value})"

    @property
    def accessor_steps(self) -> dict[str, str]:
        """What accessors do beside reading or writing the row's cell, as the name of a policy."""
        does = {self.name: self._reading, f"set_{self.name}": self._writing}
        return {name: policy for name, policy in does.items() if policy}

    @property
    def _reading(self) -> str:
        return "objects" if self.is_object else ""

    @property
    def _writing(self) -> str:
        return self._reading

    # --- one cell --------------------------------------------------------------------------------

    @property
    def cell_of(self) -> str:
        """The expression that reads the cell for a whole row."""
        return f"self.{self.name}(row)" if self.is_nested else self.cell()

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
        return signature(self.name, ["self", "row: int", "/"], self.read_type, 4)

    def checked_lines(self, indent: int) -> str:
        """The statements that convert the value for a new row; most leave it at the default."""
        lines = [
            f"{self.local} = {self._default_cell}",
            f"if {self.alone} is not {self.default}:",
            f"    {self.local} = {self.constant}.one({self.alone})",
        ]
        return "\n".join(" " * indent + line for line in lines)

    @property
    def checked_value_line(self) -> str:
        """The statement of the setter that converts, before the row is looked at."""
        return f"        _value = {self.constant}.one(value)"

    @property
    def set_lines(self) -> str:
        """The statements of the setter that write one cell."""
        return self.overwrite("value" if self.is_object else "_value", 8)

    def store_new(self, indent: int) -> str:
        """The statements that write the converted value of a new row."""
        stored = self.store(self.local, indent)
        if not self.has_words:
            return stored
        word = f"data._{self.name}_words[row] = {self._default_word}"
        lines = [f"if {self.local} is {self._default_cell}:", f"    {word}", "else:"]
        return "\n".join(
            [*(" " * indent + line for line in lines), self.store(self.local, indent + 4)]
        )

    def store_many_lines(self, indent: int) -> str:
        """The statement that writes checked values to the new rows `span`."""
        values = f'columns["{self.name}"]'
        if self.is_packed:
            column = f"data._{self.name}"
            return call("put_cells", [f"{column}_column", "span", values], indent)
        return f"{' ' * indent}data._{self.name}_column[span] = {values}"

    def place_lines(self, number: int, is_moved: bool) -> str:
        """The statements that cut the column out of the buffer, with the views beside it."""
        column = f"self._{self.name}_column"
        made = [("column", self.array_type, "self._cut", str(number))]
        if self.has_items and is_moved:
            made.append(("items", "NDArray[Any]", "self._cut_items", str(number)))
        if self.has_words:
            items = f"self._{self.name}_items" if is_moved else f"self._cut_items({number})"
            made.append(("words", "memoryview[int]", "cells", items))
        if self.has_cells:
            made.append(("cells", f"memoryview[{self.cell_type}]", "cells", column))
        lines = []
        for view, kind, function, argument in made:
            # Columns of policies are declared where the policies are.
            declared = f": {kind}" if self.field else ""
            head = f"self._{self.name}_{view}{declared} = {function}"
            lines.append(call(head, [argument], 8))
        return "\n".join(lines)

    def store(self, value: str, indent: int) -> str:
        """The statement that writes one converted value into one cell of `row`."""
        if self.is_packed:
            return self._store_scalars(value, indent)
        kind = "cells" if self.has_cells else "column"
        return f"{' ' * indent}{self.holder}._{self.name}_{kind}[{self.place}] = {value}"

    def overwrite(self, value: str, indent: int) -> str:
        """The statements that write one converted value over another.

        An object that was there lives until that is done: numpy lets it end first, with the cell
        still pointing to it, and its end may run code that reads the cell.
        """
        stored = self.store(value, indent)
        left = f"{' ' * indent}_left_{self.name} = {self.cell()}\n" if self.is_object else ""
        return left + stored

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


def cell_attributes(columns: list[Spelling], are_moved: bool) -> list[str]:
    """Return the columns' attributes in a class whose rows move, or do not."""
    names: list[str] = []
    for s in columns:
        names += [f"_{s.name}_cells"] if s.has_cells else []
        names += [f"_{s.name}_column"]
        names += [f"_{s.name}_items"] if s.has_items and are_moved else []
        names += [f"_{s.name}_words"] if s.has_words else []
    return sorted(names)


def slots_lines(names: Iterable[str]) -> str:
    """Return the statement that declares a class's attributes."""
    return collection("__slots__ = ", [literal(name) for name in sorted(names)], 4)


def objects_line(columns: list[Spelling]) -> str:
    """Return the statement that names the columns of objects."""
    names = [literal(f"_{column.name}_column") for column in columns]
    return collection("OBJECTS: ClassVar = ", names, 4)


def moved_lines(columns: Iterable[Spelling], holder: str, indent: int) -> str:
    """Return the statements that copy row `src` over row `dst`, column by column."""
    views = [f"{holder}._{column.moved}" for column in columns]
    return "\n".join(f"{' ' * indent}{view}[dst] = {view}[src]" for view in views)


@dataclass(frozen=True, slots=True)
class SplitSpelling(Spelling):
    """A split field: one value for its users, one column per element."""

    parts: tuple[Spelling, ...]

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

    @property
    def cell_of(self) -> str:
        return f"self.{self.name}(row)"

    @property
    def has_words(self) -> bool:
        return False

    def store(self, value: str, indent: int) -> str:
        return "\n".join(p.store(f"{value}[{i}]", indent) for i, p in enumerate(self.parts))

    def store_many_lines(self, indent: int) -> str:
        shape = literal_shape("count", self.column.shape)
        lines = [f'parts = np.broadcast_to(columns["{self.name}"], {shape})']
        lines += [
            f"data._{part.name}_column[span] = parts[:, {', '.join(map(str, place))}]"
            for place, part in zip(ndindex(self.column.shape), self.parts, strict=True)
        ]
        return "\n".join(" " * indent + line for line in lines)


def row_field(field: Field, component: str, columns: dict[str, Spelling]) -> Spelling:
    """Return a field as its users see it."""
    if not field.split:
        return columns[field.name]
    parts = tuple(columns[part.name] for part in split_parts(field))
    whole = replace(parts[0].column, name=field.name, shape=field.type.shape, field=field)
    whole = replace(whole, doc=field.doc)
    return SplitSpelling(whole, component, 0, parts)


def ndindex(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Return the places in an array of this shape, in C order."""
    return product(*map(range, shape))


class UniqueSpelling(Spelling):
    """A column of which no two rows have the same value."""

    __slots__ = ()
    is_unique = True
    query_column = "UniqueQueryColumn"

    def view(self, holder: str, bound: str) -> str:
        return f"read_only({super().view(holder, bound)})"

    def assign_lines(self, holder: str, bound: str, cells: str, indent: int) -> str:
        return call(f"{holder}._assign_values", [literal(self.name), bound, cells], indent)

    @property
    def _writing(self) -> str:
        return "unique"

    @property
    def assigned_lines(self) -> str:
        cells = f"{self.constant}.many(values, self._n)"
        return self.assign_lines("self", "self._n", cells, 12)

    @property
    def set_lines(self) -> str:
        return call("self._set_value", [literal(self.name), "row", "_value"], 8)

    @property
    def find_line(self) -> str:
        """The line that begins the search for a value."""
        parameters = ["self", f"value: {self.write_type}", "/"]
        return signature(f"find_{self.name}", parameters, "Instance", 0)


def spelled(column: Column, component: str, before: int) -> Spelling:
    """Return a column of the rows' buffer as templates need it."""
    is_unique = column.field is not None and KEY.value(column.field)
    return (UniqueSpelling if is_unique else Spelling)(column, component, before)
