"""Values that know where they stand in the text, and what a plain YAML 1.2 scalar means."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from ecsgen.model import Mark

Scalar: TypeAlias = bool | int | float | str | None

MAX_DIGITS: Final = 400  # more than any number that fits a field, less than int() refuses

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMERIC_START: Final = frozenset("+-.0123456789")
# `012` is octal to some readers and twelve to others, so it is no number here.
_DECIMAL: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_BASED: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_ZERO: Final = re.compile(r"[-+]?0[0-9]+")
_SPECIAL: Final = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def resolve(text: str) -> Scalar:
    """The value of a plain scalar. OverflowError for a number out of all proportion."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START:
        return text
    if _DECIMAL.fullmatch(text):
        _check_digits(text)
        return int(text)
    if _BASED.fullmatch(text):
        _check_digits(text)
        return int(text, 0)
    if _FLOAT.fullmatch(text) and not _LEADING_ZERO.fullmatch(text):
        _check_digits(text)
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise OverflowError("the number is too large for any float")
        return number
    if special := _SPECIAL.fullmatch(text):
        return float("nan") if special[3] else float(special[1] + "inf")
    return text


def _check_digits(text: str) -> None:
    if len(text) > MAX_DIGITS:
        raise OverflowError(f"a number of {len(text)} digits is too large for any field")


MAX_DEPTH: Final = 32

Plain: TypeAlias = "Scalar | list[Plain] | dict[str, Plain]"


@dataclass(slots=True)
class Node:
    """A value and its place. `keys` has the marks of a mapping's keys; `complete` is false when
    something in it was refused, so that nobody complains about what is missing as well."""

    value: Scalar | list[Node] | dict[str, Node]
    mark: Mark
    keys: dict[str, Mark] = field(default_factory=dict)
    complete: bool = True

    def plain(self) -> Plain:
        """The value without marks. The depth is limited by MAX_DEPTH."""
        value = self.value
        if isinstance(value, dict):
            return {key: node.plain() for key, node in value.items()}
        if isinstance(value, list):
            return [node.plain() for node in value]
        return value

    def at(self, *path: str | int) -> Node | None:
        """The node at a path of keys and indices, or None."""
        node: Node | None = self
        for step in path:
            if node is None:
                return None
            value = node.value
            if isinstance(value, dict) and isinstance(step, str):
                node = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                node = value[step]
            else:
                return None
        return node
