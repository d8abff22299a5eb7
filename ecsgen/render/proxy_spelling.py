"""How row proxies are spelled: a line for each field, and for each accessor by entity."""

from __future__ import annotations

from collections.abc import Sequence

from ecsgen.model import Base
from ecsgen.render.calls import call
from ecsgen.render.cold import ColdField, SplitColdField
from ecsgen.render.giving_way import marked
from ecsgen.render.quoting import literal
from ecsgen.render.spelling import Spelling
from ecsgen.render.split_spelling import SplitSpelling
from ecsgen.schema.names import OWN_ACCESSORS


def field_line(spelling: Spelling, manager: str) -> str:
    """Return the statement that makes a proxy's field of a manager's accessor and setter."""
    read, write = f"{manager}.{spelling.name}", f"{manager}.set_{spelling.name}"
    if reads_its_cell(spelling):
        return call(f"{spelling.alone} = RowField.cell", [read, write, spelling.constant], 4)
    if not shows_view(spelling):
        return call(f"{spelling.alone} = RowField.of", [read, write], 4)
    is_cold = isinstance(spelling, ColdField | SplitColdField)
    calls = [read, write] if is_cold else [write]
    make = "ColdArray" if is_cold else "ArrayField"
    arguments = [spelling.scalar_dtype, *calls, *split_view(spelling)]
    return call(f"{spelling.alone} = {make}.of", arguments, 4)


def chunk_field_line(spelling: Spelling) -> str:
    """Return the statement that makes a proxy's field of a component in chunks."""
    if shows_view(spelling):
        arguments = [spelling.scalar_dtype, literal(spelling.name), *split_view(spelling)]
        return call(f"{spelling.alone} = ChunkArray.of", arguments, 4)
    kind = f"ProxyField[{spelling.read_type}, {spelling.write_type}]"
    is_plain = spelling.has_cells and not spelling.is_packed and not spelling.is_enum
    make = "cell" if is_plain else "of"
    return call(f"{spelling.alone}: {kind} = ChunkValue.{make}", [literal(spelling.name)], 4)


def accessor_lines(fields: Sequence[Spelling], owned: bool) -> list[str]:
    """Return the statements that make a manager's accessors and setters by entity, or by id."""
    by = "by_entity" if owned else "by_id"
    lines = []
    for spelling in fields:
        for make, name in ((by, spelling.name), (f"set_{by}", f"set_{spelling.name}")):
            if f"{name}_of" not in OWN_ACCESSORS:
                lines.append(call(f"{marked(f'{name}_of')} = RowField.{make}", [marked(name)], 4))
    return lines


def shows_view(spelling: Spelling) -> bool:
    """Whether a proxy shows the field as a view: shaped numbers."""
    assert spelling.field is not None
    kind = spelling.field.type
    return bool(kind.shape) and kind.base in (Base.INT, Base.FLOAT)


def reads_its_cell(spelling: Spelling) -> bool:
    """Whether a manager's accessor returns the cell as it is, and its setter writes no other."""
    assert spelling.field is not None
    is_alone = not spelling.field.asked and not isinstance(spelling, ColdField | SplitColdField)
    return is_alone and spelling.has_cells and not spelling.is_packed and not spelling.is_enum


def split_view(spelling: Spelling) -> list[str]:
    """Return the expression for what shows the cells of a split field; nothing for others."""
    if not isinstance(spelling, SplitSpelling):
        return []
    first, second = spelling.parts[0], spelling.parts[min(1, len(spelling.parts) - 1)]
    shape = literal(spelling.column.shape)
    return [f"ArrayField.split({shape}, {literal(first.name)}, {literal(second.name)})"]
