"""One entity of a world with its components as attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, overload

from ..columns.field_names import nearest_name
from ..handles import Entity
from ..proxies.proxy import ProxyT
from .entities import EntityWorld


class EntityViewBase:
    """One entity; a generated class adds an attribute for each component.

    While the entity lives: then everything but `entity` and `repr` raises StaleEntityError.
    """

    __slots__ = ("_entity", "_world")

    _world: Any

    def __init__(self, world: EntityWorld, entity: Entity) -> None:
        self._world = world
        self._entity = world.entities.require(entity)

    @property
    def entity(self) -> Entity:
        """The entity itself."""
        return self._entity

    def __contains__(self, component: object) -> bool:
        """Return whether it has a component, given by its row class; O(components)."""
        return component in self._components()

    def __len__(self) -> int:
        """Return how many components it has; O(components)."""
        return len(self._components())

    def __iter__(self) -> Iterator[type[Any]]:
        """Iterate over the row classes of its components, as they are now."""
        return iter(self._components())

    def add(self, *rows: tuple[Any, ...]) -> None:
        """Give it components, as rows: all of them, or none; O(components).

        Raises:
            StaleEntityError: the entity is dead.
            TypeError: not the row of a component that entities can have.
            DuplicateInstanceError: it has one already, or would get it twice.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: where a row is to go is locked.
        """
        self._world._add_rows(self._entity, rows)

    def remove(self, component: type[tuple[Any, ...]], /) -> int:
        """Take a component from it, given by its row class; return how many instances went."""
        removed: int = self._world._remove_rows(self._entity, component)
        return removed

    def destroy(self) -> None:
        """Destroy the entity, as the world's `destroy` does."""
        self._world.destroy(self._entity)

    def _components(self) -> tuple[type[Any], ...]:
        world = self._world
        found: tuple[type[Any], ...] = world.components(
            world.entities.require(self._entity)
        )
        return found

    def __repr__(self) -> str:
        world = self._world
        name = world.entities._LAYOUT.name(self._entity)
        if not world.entities.alive(self._entity):
            return f"<entity {name}: dead>"
        rows = ", ".join(map(repr, world._rows_of(self._entity)))
        return f"<entity {name}: {rows or 'no components'}>"

    if not TYPE_CHECKING:  # checkers would take it to mean that any attribute will do

        def __getattr__(self, name: str) -> NoReturn:
            raise _unknown_component(self, name)


def _unknown_component(view: EntityViewBase, name: str) -> AttributeError:
    """Return the error of an attribute that views of entities do not have."""
    kind = type(view)
    near = nearest_name(name, [n for n in dir(kind) if not n.startswith("_")])
    hint = f"; did you mean {near!r}?" if near else ""
    if not name.startswith("_"):  # `copy` asks views that have no world yet
        hint = view._world._ownerless_hint(name) or hint
    message = f"{kind.__name__!r} object has no attribute {name!r}{hint}"
    return AttributeError(message, name=name, obj=view)


class ManagedPart(Generic[ProxyT]):
    """The attribute of a component that has a manager."""

    __slots__ = ("_kind", "_name")

    def __init__(self, kind: type[ProxyT]) -> None:
        self._kind = kind

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, view: None, owner: type[Any]) -> Self: ...

    @overload
    def __get__(self, view: EntityViewBase, owner: type[Any]) -> ProxyT: ...

    def __get__(self, view: EntityViewBase | None, owner: type[Any]) -> Self | ProxyT:
        if view is None:
            return self
        world = view._world
        return self._row(world, world.entities.require(view._entity))

    def _row(self, world: Any, entity: Entity) -> ProxyT:
        """Return the proxy of a live entity's row."""
        row: ProxyT = getattr(world, self._name)._proxy(self._kind, entity)
        return row


class ChunkedPart(ManagedPart[ProxyT]):
    """The attribute of a component that lives in archetype chunks."""

    __slots__ = ()

    def _row(self, world: Any, entity: Entity) -> ProxyT:
        row: ProxyT = world.archetypes._proxy(self._kind, entity)
        return row
