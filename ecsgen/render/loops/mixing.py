"""Which elements of a value can't be written one by one over what the value is made of."""

from __future__ import annotations

from typing import Final

from ecsgen.kernels.operations import TABLE, Rule
from ecsgen.model.programs import Element, Expression, FieldValue, Local, Operation, parts

_ACROSS: Final = (Rule.DOT, Rule.CROSS, Rule.NORM, Rule.NORMALIZE, Rule.MATRIX)
"""Rules of operations of which an element needs other elements of the operands."""


def is_across(node: Expression) -> bool:
    """Whether an element of a value needs other elements of what the value is made of."""
    if isinstance(node, Operation):
        return TABLE[node.name].rule in _ACROSS
    return isinstance(node, Element)


def is_mixing(node: Expression, target: FieldValue | Local, inside: bool = False) -> bool:
    """Whether an element of the value needs another element of what is assigned to."""
    if node == target:
        return inside
    inside = inside or is_across(node)
    return any(is_mixing(part, target, inside) for part in parts(node))
