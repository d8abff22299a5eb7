"""How split fields are spelled: one value for their users, one column per element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from ecsgen.model import Field
from ecsgen.model.columns import split_parts
from ecsgen.render.calls import collection
from ecsgen.render.quoting import literal
from ecsgen.render.spelling import Spelling
from ecsgen.render.wording import literal_shape


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
