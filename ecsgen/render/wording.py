"""Small pieces of generated text: sentences, shapes, tuples of names and of types."""

from __future__ import annotations

from math import prod
from typing import Final

from ecsgen.render.calls import MARK

SPELLED_OUT = 8
"""Cells of up to this many elements are spelled out in annotations."""

_METHODS: Final = ("count", "index")


def sentence(text: str) -> str:
    """Return text that ends as a sentence does."""
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def literal_shape(first: str, shape: tuple[int, ...]) -> str:
    """Return a shape such as `(n,)` or `(n, 3)`."""
    return f"({', '.join([first, *map(str, shape)])}{',' if not shape else ''})"


def inner(lines: str) -> str:
    """Return lines laid out for a depth of 12 as they stand in a block that is indented by 8."""
    return "\n".join(line[8:] for line in lines.split("\n"))


def literal_names(names: list[str]) -> str:
    """Return names as the display of a tuple."""
    return f"({', '.join(names)},)" if len(names) == 1 else f"({', '.join(names)})"


def tuple_item(name: str, kind: str) -> str:
    """Return the line that declares an item of a named tuple, whose methods give way."""
    reason = (
        "  # type: ignore[assignment]  # a method of tuples"
        if name.removeprefix(MARK) in _METHODS
        else ""
    )
    return f"{name}: {kind}{reason}"


def tuple_type(scalar: str, shape: tuple[int, ...]) -> str:
    spelled_out = prod(shape) <= SPELLED_OUT
    for size in reversed(shape):
        scalar = f"tuple[{', '.join([scalar] * size) if spelled_out else f'{scalar}, ...'}]"
    return scalar
