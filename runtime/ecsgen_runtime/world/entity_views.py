"""Worlds one entity at a time: creating it from rows, adding rows, reading them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeAlias, TypeVar, overload

import numpy as np

from ..base.errors import DuplicateInstanceError
from ..base.handles import Entity, RowClass
from ..base.specialisation import accelerated
from ..base.text import did_you_mean
from ..managers.policies.additions import announce_all
from ..managers.row_proxies import ProxyT
from ..tables.placement import duplicate_instance_error, is_integer
from ..values.field_tables import component_name
from ..values.field_types import FieldTable
from .world_base import NewRows, SpawnPart, WorldBase, append_parts

_RowT = TypeVar("_RowT", bound=tuple[Any, ...])

RowsByClass: TypeAlias = Mapping[RowClass, Sequence[tuple[Any, ...]]]
"""Rows by their class."""


class EntityViewWorld(WorldBase):
    """A world that takes and gives rows of one entity."""

    __slots__ = ()

    def __len__(self) -> int:
        """Return the number of live entities; O(1)."""
        return len(self.entities)

    def __iter__(self) -> Iterator[Entity]:
        """Iterate over the entities that are alive now, by ascending index."""
        return iter(self.entities)

    def __contains__(self, entity: object) -> bool:
        """Return True if an entity is alive; O(1)."""
        return is_integer(entity) and self.entities.alive(index(entity))

    @accelerated("create")
    def create(self, *rows: tuple[Any, ...]) -> Entity:
        """Create an entity with these rows: `world.create(Body(mass=2.0))`; O(components).

        An error creates no entity and uses no index or generation.

        Raises:
            TypeError: not the row of a component that entities can have.
            DuplicateInstanceError: two rows of a component that allows one.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: a manager of a row is locked.
            CapacityError: no index or row is left.
        """
        return self._create_one(rows)

    def _create_one(self, rows: tuple[tuple[Any, ...], ...]) -> Entity:
        entity = self._create_plain(rows)
        if entity is not None:
            return entity
        rows_by_class = self._by_class(rows)
        if len(rows_by_class) == len(rows):
            columns = {
                kind: columns_of(kind, class_rows) for kind, class_rows in rows_by_class.items()
            }
            entities = self._spawn(1, columns)
        else:
            parts = self._new_parts(rows_by_class)
            entities = self.entities.dispatch.run(self._append_new, 1, parts, rows)
        return Entity(int(entities[0]))

    def _create_plain(self, rows: Sequence[tuple[Any, ...]]) -> Entity | None:
        """Create an entity with rows that are plain to create one by one; None for others. Errors,
        and their precedence, are left to the general way."""
        parts: dict[RowClass, NewRows] = {}
        for row in rows:
            manager = self._managers.get(type(row))
            if manager is None or not manager.takes_small_batch(1):
                return None
            try:
                # Creating the first row checks it, and nothing else is there to be undone.
                fields = given_fields(manager.CONVERTERS, row, is_checked=not parts)
            except Exception:
                return None
            parts[type(row)] = manager, (fields,)
        if len(parts) < len(rows) or not self.entities.n_left:
            return None
        created = self._spawn_small_batch(1, [*parts.values()])
        return None if created is None else Entity(created.item(0))

    def get(self, entity: Entity, component: type[_RowT], /) -> _RowT | None:
        """Return a copy of the entity's row of a component, the first of several, or None; O(1).

        Raises:
            StaleEntityError: the entity is dead.
            TypeError: not the row class of a component that entities can have.
        """
        entity = self.entities.require(entity)
        copy: _RowT | None = self._holder(component)._copy_of(entity)
        return copy

    def _holder(self, component: RowClass) -> Any:
        kind: Any = type(component)
        if kind in self._managers:
            raise TypeError(f"wanted the class {kind.__name__}, not a row of it")
        holder = self._managers.get(component) if isinstance(component, type) else None
        if holder is None:
            raise self._no_component(component)
        return holder

    def _no_component(self, component: RowClass) -> TypeError:
        name, world = component_name(component), type(self).__name__
        message = f"{name} is no component that entities of {world} can have"
        manager = getattr(component, "__module__", ""), f"{name}Manager"
        for module, kind in self.MANAGER_CLASSES.items():
            if (kind.__module__, kind.__name__) == manager:
                message += self.ownerless_hint(module)
        return TypeError(message)

    def _by_class(self, rows: Sequence[tuple[Any, ...]]) -> RowsByClass:
        """Return checked rows by their class."""
        rows_by_class: dict[RowClass, list[tuple[Any, ...]]] = {}
        row: Any
        for row in rows:
            if isinstance(row, type) and row in self._managers:
                name = row.__name__
                raise TypeError(f"{name} is a class: give a row of it, {name}(…)")
            rows_by_class.setdefault(type(row), []).append(row)
        holders = {kind: self._holder(kind) for kind in rows_by_class}
        for kind, class_rows in rows_by_class.items():
            if len(class_rows) > 1 and not holders[kind].ALLOWS_MANY:
                raise DuplicateInstanceError(
                    f"{kind.__name__} is given {len(class_rows)} times, and an entity can have one"
                )
            for row in class_rows:
                holders[kind].check_row_values(row)
        return rows_by_class

    def _new_parts(self, rows_by_class: RowsByClass) -> list[SpawnPart]:
        """Return the stores for rows of a new entity, with checked columns."""
        parts: list[SpawnPart] = []
        for kind, rows in rows_by_class.items():
            manager = self._managers[kind]
            columns = manager.prepare_columns(len(rows), columns_of(kind, rows))
            parts.append((manager, columns, len(rows)))
        return parts

    def _old_parts(self, rows_by_class: RowsByClass) -> list[SpawnPart]:
        """Return the stores for further rows of an entity, with checked columns."""
        return self._new_parts(rows_by_class)


def given_fields(table: FieldTable, row: tuple[Any, ...], is_checked: bool) -> dict[str, Any]:
    """Return the values of a row that are not the defaults; unless `is_checked`, raise what a
    creation would."""
    fields = {}
    for (name, (field, default)), value in zip(table.items(), row, strict=True):
        if value is not default:
            if not is_checked:
                field.to_cell(value)
            fields[name] = value
    return fields


def columns_of(kind: RowClass, rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Return rows as new columns by field."""
    names: tuple[str, ...] = kind._fields  # type: ignore[attr-defined]  # a NamedTuple
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


class EntityViewBase:
    """One entity; a generated class adds an attribute for each component.

    Once the entity is dead, everything but `entity` and `repr` raises StaleEntityError.
    """

    __slots__ = ("_entity", "_world")

    _world: Any

    def __init__(self, world: EntityViewWorld, entity: Entity) -> None:
        self._world = world
        self._entity = world.entities.require(entity)

    @property
    def entity(self) -> Entity:
        """Handle of the entity."""
        return self._entity

    def __contains__(self, component: object) -> bool:
        """Return True if the entity has a component, by its row class; O(components)."""
        return component in self._components()

    def __len__(self) -> int:
        """Return the number of the entity's components; O(components)."""
        return len(self._components())

    def __iter__(self) -> Iterator[type[Any]]:
        """Iterate over the row classes of the entity's present components."""
        return iter(self._components())

    def add(self, *rows: tuple[Any, ...]) -> None:
        """Add components to the entity, as rows: all, or none; O(components).

        Raises:
            StaleEntityError: the entity is dead.
            TypeError: not the row of a component that entities can have.
            DuplicateInstanceError: the entity has one already, or would get it twice.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: a manager of a row is locked.
        """
        world, entities = self._world, self._world.entities
        entity = entities.require(self._entity)
        rows_by_class = world._by_class(rows)
        for kind in rows_by_class:
            holder = world._holder(kind)
            if not holder.ALLOWS_MANY and holder.has(entity):
                raise duplicate_instance_error(kind.__name__, entity, entities.HANDLE_LAYOUT)
        parts = world._old_parts(rows_by_class)
        dispatch, owner = entities.dispatch, np.array([entity], np.uint64)
        dispatch.run(lambda: announce_all(dispatch, append_parts(owner, parts, rows)))

    def remove(self, component: type[tuple[Any, ...]], /) -> int:
        """Remove a component, by its row class; return the number of removed instances."""
        entity = self._world.entities.require(self._entity)
        removed: int = self._world._holder(component).remove(entity)
        return removed

    def destroy(self) -> None:
        """Destroy the entity, as the world's `destroy` does."""
        self._world.destroy(self._entity)

    def _components(self) -> tuple[type[Any], ...]:
        world = self._world
        components: tuple[type[Any], ...] = world.components(world.entities.require(self._entity))
        return components

    def __repr__(self) -> str:
        world = self._world
        name = world.entities.HANDLE_LAYOUT.format_short(self._entity)
        if not world.entities.alive(self._entity):
            return f"<entity {name}: dead>"
        holders = map(world._holder, self._components())
        rows = ", ".join(repr(r) for h in holders for r in h._copies_of(self._entity))
        return f"<entity {name}: {rows or 'no components'}>"

    if not TYPE_CHECKING:  # else checkers would accept any attribute

        def __getattr__(self, name: str) -> NoReturn:
            kind = type(self)
            hint = did_you_mean(name, [n for n in dir(kind) if not n.startswith("_")])
            if not name.startswith("_"):  # `copy` asks views that have no world yet
                hint = self._world.ownerless_hint(name) or hint
            message = f"{kind.__name__!r} object has no attribute {name!r}{hint}"
            raise AttributeError(message, name=name, obj=self)


class ManagedComponent(Generic[ProxyT]):
    """Attribute of a component that has a manager."""

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

    def _row(self, world: EntityViewWorld, entity: Entity) -> ProxyT:
        """Return the proxy of a live entity's row."""
        row: ProxyT = getattr(world, self._name)._proxy(self._kind, entity)
        return row


class ChunkedComponent(ManagedComponent[ProxyT]):
    """Attribute of a component that lives in archetype chunks."""

    def _row(self, world: Any, entity: Entity) -> ProxyT:
        row: ProxyT = world.archetypes._proxy(self._kind, entity)
        return row
