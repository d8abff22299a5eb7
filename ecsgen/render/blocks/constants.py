"""Numbers in kernels as constants of the module: arrays, which numpy takes at once.

It has to look at a Python number first, and with a hundred rows that takes longer than all else.
"""

from __future__ import annotations

import re
from typing import Final

from ecsgen.model.scalars import FLOATS, INTEGERS, SCALARS
from ecsgen.render.blocks.array_values import Value
from ecsgen.render.calls import call

_NUMBER: Final = re.compile(r"(-?)(\d+)(\.\d+)?(e[+-]?\d+)?")
_EXACT: Final = 2**53
"""Up to here every integer is a float."""
_LARGEST: Final = {
    "f32": float.fromhex("0x1.fffffep127"),
    "f64": float.fromhex("0x1.fffffffffffffp1023"),
}


class Constants:
    """The constants of one method."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    @property
    def lines(self) -> list[str]:
        """The statements that make them."""
        return list(self._made.values())

    def spelled(self, operands: list[Value]) -> list[str]:
        """Return the operands of a ufunc as texts: literals as arrays of the others' type, if these
        have one type that has that number."""
        scalars = {operand.scalar for operand in operands if not operand.is_literal}
        if len(scalars) > 1:
            return [operand.text for operand in operands]
        (scalar,) = scalars
        return [
            (
                self._name(operand.text, scalar)
                if operand.is_literal and _has_number(scalar, operand.text)
                else operand.text
            )
            for operand in operands
        ]

    def _name(self, text: str, scalar: str) -> str:
        """Return the name of a constant. No field or argument begins with a digit."""
        sign = "_negative" if text.startswith("-") else ""
        digits = re.sub(r"\W", "_", text.strip("-").replace("e-", "e_minus_").replace("e+", "e"))
        name = f"_{digits}{sign}_{scalar}"
        array = call("np.array", [text, SCALARS[scalar].numpy], 0)
        self._made[name] = f"{name}: Final = {array}"
        return name


def _has_number(scalar: str, text: str) -> bool:
    """Whether a type has a number, which numpy finds to be the same as it would by itself."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return False
    if found[3] or found[4]:
        return scalar in FLOATS and abs(float(text)) <= _LARGEST[scalar]
    if scalar in FLOATS:
        return abs(int(text)) <= _EXACT
    return scalar in INTEGERS and SCALARS[scalar].range[0] <= int(text) <= SCALARS[scalar].range[1]
