"""Parts of worlds, and managers of one's own in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from .fields import nearest_name

# --- Parts of worlds, groups and managers: nothing else is put in their place by
# mistake.


class FixedParts:
    """What a thing is made of stays; attributes of other names are its own affair."""

    __slots__ = ()

    _PARTS: ClassVar[tuple[str, ...]] = ()

    if not TYPE_CHECKING:  # checkers would take it to mean that any attribute will do

        def __setattr__(self, name: str, value: Any) -> None:
            if name in self._PARTS and hasattr(self, name):
                raise not_replaced(self, name)
            object.__setattr__(self, name, value)  # `super` takes half as long again

        def __delattr__(self, name: str) -> None:
            if name in self._PARTS:
                raise not_replaced(self, name)
            super().__delattr__(name)


def not_replaced(whole: object, name: str) -> AttributeError:
    """Return the error of assigning to a part."""
    part = type(getattr(whole, name)).__name__
    message = f"{type(whole).__name__}.{name} is its {part} and can't be replaced"
    return AttributeError(message, name=name, obj=whole)


# --- Managers of one's own: subclasses that a world makes in place of the generated
# ones.


_OPERATORS: Final = ("__contains__", "__getitem__", "__iter__", "__len__")
_REMOVE: Final = ("clear", "collect", "destroy", "gc", "remove")


def refuse_overriding(kind: type[Any], generated: type[Any]) -> None:
    """Raise TypeError if a subclass, or what it inherits from before the generated class, has
    something under a name of that class.

    Bulk calls, kernels and C reach rows without the public methods, and would go past it. Names
    that only Python asks for, such as `__repr__`, are free.
    """
    known = frozenset(dir(generated))
    for base in kind.__mro__[: kind.__mro__.index(generated)]:
        for name in vars(base):
            is_free = name[0] == name[-1] == "_" and name not in _OPERATORS
            if name in known and not is_free:
                raise _overrides(kind, generated, name)


def _overrides(kind: type[Any], generated: type[Any], name: str) -> TypeError:
    message = (
        f"{kind.__name__}: {generated.__name__} has {name!r} and does not always call it, "
        "so yours needs another name"
    )
    if name.removesuffix("_many").removesuffix("_id") in _REMOVE:
        is_told = hasattr(generated, "on_release")
        how = "" if is_told else "with `release: true` in the schema, "
        message += f"; {how}on_release is told of all rows that go"
    return TypeError(message)


def own_managers(
    world: str, known: Mapping[str, type[Any]], given: object
) -> dict[type[Any], type[Any]]:
    """Return which class is to stand for which, or raise TypeError."""
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise TypeError(f"{world}: managers takes a dict of classes, not {kind}")
    own = {}
    for name, kind in given.items():
        base = known.get(name)
        if base is None:
            near = nearest_name(str(name), [*known])
            hint = f"; did you mean {near!r}?" if near else ""
            raise TypeError(f"{world}: there is no component {name!r}{hint}")
        if not isinstance(kind, type) or not issubclass(kind, base):
            shown = getattr(kind, "__name__", repr(kind))
            raise TypeError(
                f"{world}: {name!r} takes a subclass of {base.__name__}, not {shown}"
            )
        own[base] = kind
    return own
