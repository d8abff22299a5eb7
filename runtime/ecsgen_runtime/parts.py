"""Parts of worlds, groups and managers: nothing else is put in their place by mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar


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
