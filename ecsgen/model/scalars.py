"""The scalar types: one record each, the only table of what is to be known of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type of numbers or bools."""

    name: str
    """As schemas spell it."""
    nbytes: int
    struct: str
    """Its letter for the module `struct`."""
    numpy: str
    """Its class, as generated code spells it."""
    kind: str
    """`b`, `i`, `u` or `f`, as numpy has it."""

    @property
    def bits(self) -> int:
        return 8 * self.nbytes

    @property
    def code(self) -> str:
        """Its short name in numpy."""
        return "?" if self.kind == "b" else f"{self.kind}{self.nbytes}"

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value of an integer type."""
        if self.kind == "u":
            return 0, 2**self.bits - 1
        return -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1


def _integers(kind: str, numpy: str, letters: str) -> tuple[Scalar, ...]:
    sizes = zip(letters, (1, 2, 4, 8), strict=True)
    return tuple(
        Scalar(f"{kind}{8 * size}", size, letter, f"np.{numpy}{8 * size}", kind)
        for letter, size in sizes
    )


_ALL: Final = (
    Scalar("bool", 1, "?", "np.bool_", "b"),
    *_integers("i", "int", "bhiq"),
    *_integers("u", "uint", "BHIQ"),
    Scalar("f32", 4, "f", "np.float32", "f"),
    Scalar("f64", 8, "d", "np.float64", "f"),
)
SCALARS: Final = {scalar.name: scalar for scalar in _ALL}
SIGNED: Final = tuple(scalar.name for scalar in _ALL if scalar.kind == "i")
UNSIGNED: Final = tuple(scalar.name for scalar in _ALL if scalar.kind == "u")
INTEGERS: Final = (*SIGNED, *UNSIGNED)
FLOATS: Final = tuple(scalar.name for scalar in _ALL if scalar.kind == "f")
