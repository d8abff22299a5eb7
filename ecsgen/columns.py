"""Columns: what a component stores per row, and how many bytes that takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ecsgen.model import Base, Field

SCALAR_BYTES = {
    "bool": 1,
    **{f"{kind}{bits}": bits // 8 for kind in "iu" for bits in (8, 16, 32, 64)},
    "f32": 4,
    "f64": 8,
}
HOT = "hot"
COLD = "cold"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a manager.

    `scalar` is "bool", "i8" … "f64", "S<n>" for text and bytes, or "object"; `shape` is one cell's.
    """

    name: str
    scalar: str
    shape: tuple[int, ...] = ()
    tags: tuple[str, ...] = (HOT,)
    doc: str = ""
    unit: str = ""
    field: Field | None = None  # None for owner, link and id columns

    @property
    def count(self) -> int:
        """Scalars per row."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes per row of the buffer."""
        if self.scalar.startswith("S"):
            return int(self.scalar[1:])
        return 0 if self.is_object else SCALAR_BYTES[self.scalar] * self.count

    @property
    def is_object(self) -> bool:
        """Whether the column holds Python objects and lies beside the buffer."""
        return self.scalar == "object"

    @property
    def is_cold(self) -> bool:
        return COLD in self.tags


def field_column(field: Field) -> Column:
    """Return the column that stores a field."""
    return Column(
        name=field.name,
        scalar=_scalar(field),
        shape=field.type.shape,
        tags=field.tags if COLD in field.tags else (HOT, *(t for t in field.tags if t != HOT)),
        doc=field.doc,
        unit=field.unit,
        field=field,
    )


def _scalar(field: Field) -> str:
    base = field.type.base
    if base in (Base.STR, Base.BYTES):
        return f"S{field.type.size}"
    return "object" if base is Base.OBJECT else field.type.scalar
