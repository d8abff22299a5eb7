"""`NamedTuple` of `typing`, made in less than half of the time; and its `TypedDict`.

Type checkers see that of `typing`, and users get what it would make. A package has two such classes
for each component, and `typing` compiles each annotation on its own. Here annotations stay the text
that they are with `from __future__ import annotations`; `typing.get_type_hints` reads it.
"""

from __future__ import annotations

import typing
from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from typing import TypedDict as TypedDict

_make: Final[Callable[..., Any]] = namedtuple
"""Type checkers see no fields of what it makes."""


class _TupleMaker(type):
    """Metaclass that makes a named tuple of `class X(NamedTuple):`."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        types: dict[str, Any] = body.setdefault("__annotations__", {})
        defaults = [body.pop(field) for field in types if field in body]
        new = _make(name, types, defaults=defaults)
        new.__new__.__annotations__ = types
        new.__orig_bases__ = (typing.NamedTuple,)
        if not types:  # a tag's row is there, though an empty tuple would be false
            new.__bool__ = lambda self: True
        for key, value in body.items():
            setattr(new, key, value)
        return new


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    NamedTuple = type.__new__(_TupleMaker, "NamedTuple", (), {})
