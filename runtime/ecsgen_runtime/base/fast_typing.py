"""`NamedTuple` of `typing`, made in a tenth of the time; and its `TypedDict`.

Type checkers see that of `typing`, and users get what it would make. A package has two such classes
for each component, and `typing` compiles a constructor for each class and each annotation on its
own. Here constructors of equally many fields share their code, and annotations stay the text that
they are with `from __future__ import annotations`; `typing.get_type_hints` reads it.
"""

from __future__ import annotations

import sys
import typing
from collections import _tuplegetter, namedtuple  # type: ignore[attr-defined]  # no public name
from collections.abc import Iterable
from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar
from typing import TypedDict as TypedDict

_TupleT = TypeVar("_TupleT", bound=tuple[Any, ...])
_NEW: Final = {"_new": tuple.__new__, "__builtins__": {}, "__name__": __name__}
_GENERAL = namedtuple("_GENERAL", ())
"""Source of methods that read the fields at each call."""
_UNEXPECTED: Final = TypeError if sys.version_info >= (3, 13) else ValueError
"""Exception of `_replace` of named tuples for a field that does not exist."""


@cache
def _constructor(count: int) -> CodeType:
    arguments = "".join(f"_{number}, " for number in range(count))
    function: FunctionType = eval(f"lambda _cls, {arguments}: _new(_cls, ({arguments}))")
    return function.__code__


def _make(cls: type[_TupleT], iterable: Iterable[Any]) -> _TupleT:
    """Make a new row from a sequence or iterable."""
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]  # a NamedTuple has it
    row = tuple.__new__(cls, iterable)
    if len(row) != len(fields):
        raise TypeError(f"Expected {len(fields)} arguments, got {len(row)}")
    return row


def _replace(self: Any, /, **changed: Any) -> Any:
    """Return a copy with other values in some fields."""
    copy = self._make(map(changed.pop, self._fields, self))
    if changed:
        raise _UNEXPECTED(f"Got unexpected field names: {list(changed)!r}")
    return copy


def _repr(self: Any) -> str:
    """Return the class and its fields' values."""
    fields = zip(self._fields, self, strict=True)
    shown = ", ".join(f"{name}={value!r}" for name, value in fields)
    return f"{type(self).__name__}({shown})"


_METHODS: Final[dict[str, Any]] = {
    "_make": classmethod(_make),
    "_replace": _replace,
    "__repr__": _repr,
    "_asdict": _GENERAL._asdict,
    "__getnewargs__": vars(_GENERAL)["__getnewargs__"],
    "__orig_bases__": (typing.NamedTuple,),
    "__slots__": (),
}
if sys.version_info >= (3, 13):
    _METHODS["__replace__"] = _replace


class _TupleMaker(type):
    """Metaclass that makes a named tuple of `class X(NamedTuple):`."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        types: dict[str, Any] = body.setdefault("__annotations__", {})
        fields = tuple(types)
        defaults = {field: body[field] for field in fields if field in body}
        new = FunctionType(
            _constructor(len(fields)).replace(co_varnames=("_cls", *fields)),
            _NEW,
            "__new__",
            tuple(defaults.values()),
        )
        listed = ", ".join(fields)
        new.__qualname__ = f"{name}.__new__"
        new.__doc__ = f"Create new instance of {name}({listed})"
        new.__annotations__ = types
        body.setdefault("__doc__", f"{name}({listed})")
        body |= _METHODS
        body |= {"_fields": fields, "__match_args__": fields, "__new__": new}
        body["_field_defaults"] = defaults
        for number, field in enumerate(fields):
            body[field] = _tuplegetter(number, f"Alias for field number {number}")
        return type(name, (tuple,), body)


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    NamedTuple = type.__new__(_TupleMaker, "NamedTuple", (), {})
