"""Parts of a world and of a group: nothing else is put in their place by mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar


class WorldParts:
    """What a world is made of stays; it may have attributes of other names besides."""

    _PARTS: ClassVar[tuple[str, ...]] = ()

    if not TYPE_CHECKING:  # checkers would take it to mean that any attribute will do

        def __setattr__(self, name: str, value: Any) -> None:
            if name in self._PARTS and hasattr(self, name):
                raise not_replaced(self, name)
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            if name in self._PARTS:
                raise not_replaced(self, name)
            super().__delattr__(name)


def not_replaced(whole: object, name: str) -> AttributeError:
    """Return the error of assigning to a part of a world or a group."""
    part = type(getattr(whole, name)).__name__
    message = f"{type(whole).__name__}.{name} is its {part} and can't be replaced"
    return AttributeError(message, name=name, obj=whole)
