"""Base of all worlds: spawning, destroying, collecting, and which components entities have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, starmap
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Final, Never, Protocol, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.handles import Columns, Entity, EntityArray, RowArray, RowClass
from ..base.locks import ReadOnlyAttributes, is_broken, raise_if_locked
from ..base.specialisation import accelerated, install_accelerator, specialise_methods
from ..base.text import did_you_mean, format_count, format_list
from ..entities.entity_manager import EntityManagerBase
from ..entities.entity_pool import remove_rows_with_fallback
from ..managers.policies.additions import Add, AddedRows, announce_all
from ..tables.bulk import are_cells, small_values
from ..tables.html_reprs import world_table
from ..tables.placement import is_integer
from ..values.array_coercion import (
    SMALL_BATCH,
    as_entities,
    as_small_int_list,
    drop_duplicates,
    parse_count,
)
from ..values.field_tables import ColumnsOrRow, parse_columns, unknown_component_error

if TYPE_CHECKING:
    from ..managers.manager import BaseManager
    from ..managers.policies.destroy import Gc
    from ..managers.policies.owners import Owned

_Note: TypeAlias = int | EntityArray
"""One entity, or several."""


class DeferredDespawns(ReadOnlyAttributes):
    """List of entities to be destroyed later."""

    __slots__ = ("_deferred_despawns",)

    entities: EntityManagerBase
    _deferred_despawns: list[_Note]
    """Entities in the order noted; absent before the first one."""

    @accelerated("destroy_later")
    def destroy_later(self, entities: Entity | ArrayLike, /) -> None:
        """Note an entity, or k entities, for the next `flush` or `collect`; O(k).

        Entities are alive until then. Repeated and dead ones are allowed. Notes are saved and
        copied with the world. Raises TypeError unless all are entities.
        """
        try:
            noted = self._deferred_despawns
        except AttributeError:  # the first of all
            noted = self._deferred_despawns = []
        noted.extend((entities,) if type(entities) is int else _to_notes(entities))

    def flush(self) -> int:
        """Destroy the noted entities that are still alive, each once, in the order noted.

        Returns their number. They die together, as by `entities.destroy_many`: O(k log k),
        plus the callbacks. Inside of a callback they die later.

        Raises:
            StructureLockedError: a manager that destroys with its entities is locked;
                then no entity dies, and the notes stay.
            ExceptionGroup: callbacks failed; all entities are dead.
        """
        return len(self._flush())

    def _flush(self) -> list[int] | EntityArray:
        """Do what `flush` does and return the dead entities: a list if they are few."""
        noted: list[_Note] = getattr(self, "_deferred_despawns", [])
        count = len(noted)
        few = self._small_batch_doomed(noted) if count <= SMALL_BATCH else None
        doomed: list[int] | EntityArray = few or []
        if few is None:
            handles = self.noted_entities()
            doomed = drop_duplicates(handles[self.entities.alive_many(handles)])
        if len(doomed):
            self.entities.destroy_many(doomed)
        if not self.entities.dispatch.is_open():  # else destroying may still be refused
            del noted[:count]  # callbacks may have noted more
        return doomed

    def _small_batch_doomed(self, noted: list[_Note]) -> list[int] | None:
        """Return the distinct alive ones of a few entities; None if a note has several."""
        alive = self.entities.alive
        doomed: list[int] = []
        for note in noted:
            if type(note) is not int:
                return None
            if alive(note) and note not in doomed:
                doomed.append(note)
        return doomed

    def noted_entities(self) -> EntityArray:
        """Return the noted entities, in order, with repeated and dead ones; O(k)."""
        noted: list[_Note] = getattr(self, "_deferred_despawns", [])
        return np.concatenate([np.empty(0, np.uint64), *_handles(noted)])


def _to_notes(entities: Entity | ArrayLike) -> Sequence[_Note]:
    """Return the notes for an argument: ints, or an array of its own."""
    few = as_small_int_list(entities)
    if few is not None:
        return few
    array = cast(ArrayLike, entities)
    if is_integer(entities) and np.ndim(array) == 0:
        return [index(entities)]
    return [as_entities(array).copy()]


def _handles(noted: Iterable[_Note]) -> Iterator[EntityArray]:
    """Yield notes as arrays, in their order."""
    for kind, notes in groupby(noted, type):
        if kind is int:
            yield as_entities(cast(list[int], list(notes)))
        else:
            yield from cast(Iterator[EntityArray], notes)


ONCE: Final = ((),)
"""Argument for `starmap` to call a function without arguments: no interrupt comes between such a
call and the container that takes its result."""


class ComponentHolder(Protocol):
    """Lookup of the entities that have a component."""

    def has(self, entity: Entity, /) -> bool: ...

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]: ...


class SpawnStore(Protocol):
    """Store for rows of new entities."""

    def _ensure_capacity(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...], /
    ) -> None: ...

    def _evict_for(self, entities: EntityArray, /) -> int: ...

    def _check_can_create(self, entities: EntityArray, /) -> None: ...

    def _append_many(self, entities: EntityArray, columns: Columns, /) -> object: ...


class RollbackTarget(Protocol):
    """Store whose rows a failed spawn removes."""

    def _remove_rows_of(self, entities: EntityArray, /) -> None: ...

    def remove_rows_one_by_one(self, entities: EntityArray, /) -> None: ...


def rollback_creation(
    entity_manager: Any,
    targets: Iterable[RollbackTarget],
    entities: EntityArray,
    undo: Callable[[EntityArray], object] | None = None,
) -> None:
    """Undo the creation of entities and of all their rows; mark stores broken that fail, and raise
    interrupts alone. `undo`: what undoes that of entities without rows, by default `undo_create`.
    """
    interrupt: BaseException | None = None
    for target in targets:
        try:
            if not is_broken(target):
                remove_rows_with_fallback(target, target._remove_rows_of, entities)
        except Exception:
            continue  # the rows are removed nevertheless, or the store is broken
        except BaseException as error:
            interrupt = error
    if not is_broken(entity_manager):
        (undo or entity_manager.undo_create)(entities)
    if interrupt is not None:
        raise interrupt


SpawnPart: TypeAlias = tuple[SpawnStore, Columns, int]
"""Store of the rows, their checked columns, and the number of rows per entity."""


def append_parts(
    entities: EntityArray, parts: Sequence[SpawnPart], borrowed: tuple[object, ...]
) -> list[AddedRows]:
    """Append the rows of new entities, and return those to be announced; O(k) for each part.

    First rows are evicted until none is in the way, for callbacks may change anything: only after
    the last one all checks hold. `borrowed` are the caller's arguments.
    """
    each: list[tuple[SpawnStore, Columns, EntityArray]] = []
    for store, columns, count in parts:
        owners = entities if count == 1 else np.repeat(entities, count)
        each.append((store, columns, owners))
        store._ensure_capacity(owners, columns, borrowed)
    while sum([store._evict_for(owners) for store, _, owners in each]):
        for store, columns, owners in each:
            store._check_can_create(owners)
            store._ensure_capacity(owners, columns, ())
    added = []
    for store, columns, owners in each:
        created = store._append_many(owners, columns)
        if isinstance(store, Add) and store.has_add_listeners:
            added.append(store.added_rows(cast(RowArray, created)))
    return added


_ManagerT = TypeVar("_ManagerT")

SpawnFields: TypeAlias = Mapping[RowClass, ColumnsOrRow | None]
"""Columns of each component, or one row for all; None for components to be left out."""


NewRows: TypeAlias = "tuple[Owned, Sequence[Mapping[str, Any]] | None]"
"""Manager, and the fields of each row; None for the defaults."""


_NAMES: Final = ("MANAGERS", "QUERIES", "GROUPS", "BUNDLES", "BUNDLE_VALUES", "FINGERPRINT")
"""Names that generated classes have with an underscore: without it, annotations in the class could
not mean a component of that name."""


class WorldBase(DeferredDespawns):
    """A world: all entities, and the managers of their components."""

    __slots__ = ("_managers", "collecting_managers")

    MANAGERS: ClassVar[tuple[str, ...]] = ()
    """Attributes that are managers; `QUERIES` and `GROUPS` likewise."""
    QUERIES: ClassVar[tuple[str, ...]] = ()
    GROUPS: ClassVar[tuple[str, ...]] = ()
    BUNDLES: ClassVar[tuple[str, ...]] = ()
    """Methods that spawn bundles."""
    BUNDLE_VALUES: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {}
    """Values that bundles have for fields, by their names and the components' attributes."""
    MANAGER_CLASSES: ClassVar[Mapping[str, type[Any]]] = {}
    """Class of each manager, by attribute. Managers of rows with owners come first, in the order in
    which a new entity gets its rows."""
    _MANAGER_SUBCLASSES: ClassVar[Mapping[type[Any], type[Any]]] = {}
    """Subclasses that replace classes of managers."""
    CAN_ACCELERATE: ClassVar[bool] = True
    """True if methods in C can create and find entities: by their index."""
    _managers: dict[RowClass, Owned]
    """Managers of rows with owners, by row class."""
    collecting_managers: tuple[Gc, ...]

    def __init_subclass__(
        cls, managers: Mapping[str, type[Any]] | None = None, **options: Any
    ) -> None:
        """Replace classes of managers by subclasses: `class Mine(World, managers={…})`.

        Raises:
            TypeError: no such component, or not a subclass of its manager.
        """
        super().__init_subclass__(**options)
        for name in _NAMES:
            if f"_{name}" in vars(cls):
                setattr(cls, name, vars(cls)[f"_{name}"])
        if "MANAGER_CLASSES" in vars(cls) and cls.CAN_ACCELERATE:
            specialise_methods(cls)
            install_accelerator(cls)
        if managers is not None:
            subclasses = _own_managers(cls.__name__, cls.MANAGER_CLASSES, managers)
            cls._MANAGER_SUBCLASSES = {**cls._MANAGER_SUBCLASSES, **subclasses}

    if not TYPE_CHECKING:  # checkers know no such attribute

        def _no_time(self, *_):
            name = type(self).__name__
            why = f"{name} has no time: nothing in its schemas asks for `tick`"
            raise AttributeError(why, name="tick", obj=self)

        tick = property(_no_time, _no_time)  # else a user could set it as an attribute

    def __getstate__(self) -> Any:
        """Return attributes and slots, for pickle and deepcopy, without names of the library."""
        return object.__getstate__(self)

    def __setstate__(self, state: Any) -> None:
        attributes, slots = state
        vars(self).update(attributes)
        for name, value in slots.items():
            setattr(self, name, value)

    def json_state(self) -> dict[str, Any]:
        """Return further state of the world to be saved, as JSON."""
        return {}

    def load_json_state(self, notes: Mapping[str, Any]) -> None:
        """Set what the notes say; what they do not name is as in a new world."""

    def all_managers(self) -> Iterable[BaseManager]:
        return [getattr(self, name) for name in self.MANAGERS]

    def _manager_class(self, manager: type[_ManagerT]) -> type[_ManagerT]:
        return self._MANAGER_SUBCLASSES.get(manager, manager)

    def __repr__(self) -> str:
        """Return the numbers of entities and of rows of each component; O(components)."""
        rows = format_list(f"{name} {count}" for name, count, _ in self._holders() if count)
        living = format_count(len(self.entities), "entity", "entities")
        return f"<{type(self).__name__}: {living}{f'; {rows}' if rows else ''}>"

    def _repr_html_(self) -> str:
        """Return a table of the first and last components, for notebooks."""
        return world_table(repr(self), [*self._holders()])

    def spawn(self, n: int, **_unknown: Never) -> EntityArray:
        """Create n entities; O(n). Raises CapacityError if fewer indices are left."""
        if _unknown:
            raise unknown_component_error(self.spawn, _unknown)
        return self._spawn(n, {})

    def destroy(self, entity: Entity, /) -> None:
        """Destroy an entity, as `entities.destroy` does."""
        self.entities.destroy(entity)

    def destroy_many(self, entities: ArrayLike, /, *, repeats: bool = False) -> None:
        """Destroy k entities, as `entities.destroy_many` does."""
        self.entities.destroy_many(entities, repeats=repeats)

    def gc(self) -> int:
        """Remove a few rows of dead entities from every manager that collects lazily, and return
        their number. Costs next to nothing if no entity died."""
        collecting = self.collecting_managers
        return self.entities.dispatch.run(lambda: sum(m.gc() for m in collecting))

    @accelerated("collect")
    def collect(self) -> int:
        """Remove all rows of dead entities in managers that collect; O(their rows).

        First destroys the entities that `destroy_later` noted. Returns the number of removed
        rows. Managers with `destroy: manual` are left alone.
        """
        entities, died = self.entities, None
        was_clean = entities.despawn_count == entities.despawns_at_collect
        failed: Sequence[BaseException] = ()
        try:
            died = self._flush()
        except BaseExceptionGroup as group:
            failed = group.exceptions  # of callbacks: the despawns are complete
        despawns = entities.despawn_count  # removing rows may despawn others
        few = None
        if (
            was_clean
            and type(died) is list
            and despawns == entities.despawns_at_collect + len(died)
        ):
            few = died
        is_outermost = not entities.dispatch.is_open()
        removed = entities.dispatch.run(self._collected, few, failed, is_outermost)
        entities.despawns_at_collect = despawns
        return removed

    def _collected(
        self, died: list[int] | None, failed: Sequence[BaseException], is_outermost: bool
    ) -> int:
        """Remove rows of dead entities, which are `died` unless None; return their number. `failed`
        are errors to be raised at the end."""
        dispatch = self.entities.dispatch
        dispatch.errors.extend(failed)
        removed = self._swept() if died is None else self._removed(died)
        while is_outermost and dispatch.queue:
            if not any(manager.DESPAWNS_OWNERS for manager in self.collecting_managers):
                break  # else removing rows despawned entities, and there is more to collect
            dispatch.empty_queue()
            removed += self._swept()
        return removed

    def _removed(self, died: list[int]) -> int:
        """Remove the rows of a few dead entities, as `_swept` does if these are all."""
        if died:
            return sum(manager.remove_many(died) for manager in self.collecting_managers)
        for manager in self.collecting_managers:
            raise_if_locked(manager)
        return 0

    def _swept(self) -> int:
        """Collect once in all managers that collect; return the number of removed rows."""
        return sum(manager.collect() for manager in self.collecting_managers)

    def components(self, entity: Entity, /) -> tuple[type[Any], ...]:
        """Return the row classes of the entity's components; O(components). Rows of a dead entity
        count until they are collected, as in the managers' `has`."""
        return tuple(row for row, holder in self._members() if holder.has(entity))

    def empty_entities(self) -> EntityArray:
        """Return the live entities without any component; O(entities) per component."""
        entities = self.entities.live()
        for _, holder in self._members():
            entities = entities[~holder.has_many(entities)]
        return entities

    def _holders(self) -> Iterator[tuple[str, int, object]]:
        """Yield each component's name in the world, its number of rows, and its holder."""
        for name in self.MANAGERS:
            manager = getattr(self, name)
            yield name, len(manager), manager

    def _members(self) -> Iterable[tuple[RowClass, ComponentHolder]]:
        """Return each row class with the component's holder, in order of bits."""
        return self._managers.items()

    def ownerless_hint(self, name: str) -> str:
        """Return a hint for errors if a component's rows have no owners, else nothing."""
        manager = getattr(self, name) if name in self.MANAGERS else None
        if manager is None or manager in self._managers.values():
            return ""
        if not hasattr(manager, "create_many"):
            return ": its rows are the cells of a grid, which are there from the beginning"
        return f": its rows have no entities, {name}.create_many makes them"

    @accelerated("spawn")  # generated `spawn` does nothing but call it
    def _spawn(self, n: int, components: SpawnFields) -> EntityArray:
        """Create n entities with rows of components; undo all if that fails."""
        if type(n) is not int:
            n = parse_count(n)
        if 0 < n <= SMALL_BATCH and n <= self.entities.n_left:
            few = self._few(n, components)
            created = None if few is None else self._spawn_small_batch(n, few)
            if created is not None:
                return created
        chosen: dict[RowClass, ColumnsOrRow] = {}
        for row, fields in components.items():  # a comprehension is a call
            if fields is not None:
                chosen[row] = fields
        if not chosen:
            return self.entities.create_many(n)
        n = parse_count(n)
        parts = self._prepare_parts(n, chosen)
        borrowed: list[object] = []
        for fields in chosen.values():
            borrowed.extend(fields if isinstance(fields, tuple) else fields.values())
        return self.entities.dispatch.run(self._append_new, n, parts, tuple(borrowed))

    def _append_new(
        self, n: int, parts: Sequence[SpawnPart], borrowed: tuple[object, ...]
    ) -> EntityArray:
        """Create n entities and append their checked rows, or undo all; then notify the callbacks.
        `borrowed` are the caller's arguments."""
        created: list[EntityArray] = []
        added: list[AddedRows] = []
        try:
            # created and recorded at once: an interrupt may come after a call
            created.extend(map(self.entities.create_many, (n,)))
            if n:
                added = append_parts(created[0], parts, borrowed)
        except BaseException:
            for entities in created:
                self.rollback_spawn(entities)
            raise
        announce_all(self.entities.dispatch, added)
        return created[0]

    def _few(self, n: int, components: SpawnFields) -> list[NewRows] | None:
        """Return managers and fields of the rows of a few new entities; None if they are not
        plain."""
        parts: list[NewRows] = []
        for row, fields in components.items():
            if fields is None:
                continue
            manager = self._managers.get(row)
            if manager is None or type(fields) is not dict or not manager.takes_small_batch(n):
                return None
            rows: Sequence[Mapping[str, Any]] | None = None
            if fields and n == 1:
                if not are_cells(manager.CONVERTERS, fields):
                    return None
                rows = (fields,)
            elif fields:
                rows = small_values(manager.CONVERTERS, fields, n)
                if rows is None:
                    return None
            parts.append((manager, rows))
        return parts

    def _spawn_small_batch(self, n: int, parts: list[NewRows]) -> EntityArray | None:
        """Create n entities with rows each, one by one; undo all if that fails. Return None if rows
        of dead entities are in the way: all of them must be removed before the first new row."""
        entities: list[int] = []
        try:
            # created and recorded at once: an interrupt may come after a call
            entities.extend(starmap(self.entities.create, ONCE * n))
            is_free = n == 1 or all(manager._have_no_rows(entities) for manager, _ in parts)
            if is_free:
                for number, entity in enumerate(entities):
                    for manager, rows in parts:
                        if rows is None:
                            manager.create(entity)
                        else:
                            manager.create(entity, **rows[number])
            created = np.array(entities, np.uint64)
            if is_free:
                return created
        except BaseException:
            self.rollback_spawn(np.array(entities, np.uint64))
            raise
        self.entities.undo_create(created)
        return None

    def _prepare_parts(
        self, n: int, components: Mapping[RowClass, ColumnsOrRow]
    ) -> list[SpawnPart]:
        """Return the stores for rows of n new entities, with checked columns."""
        parts: list[SpawnPart] = []
        is_watched = self._has_release_listeners(components)
        for row, fields in components.items():
            manager = self._managers[row]
            columns = parse_columns(row, fields, manager.CONVERTERS, n)
            # copies of views, whose memory may move before rows are filled, and of the caller's
            # arrays, to which callbacks may write
            owned = {
                name: c.copy() if is_watched or c.base is not None else c
                for name, c in manager.prepare_columns(n, columns).items()
            }
            parts.append((manager, owned, 1))
        return parts

    def _has_release_listeners(self, rows: Iterable[RowClass]) -> bool:
        """Return True if callbacks may run before all rows of a spawn exist."""
        managers = [self._managers[row] for row in rows]
        return any(m.HAS_RELEASE_CALLBACKS and m._has_release_listeners for m in managers)

    def rollback_spawn(
        self, entities: EntityArray, undo: Callable[[EntityArray], object] | None = None
    ) -> None:
        """Undo the creation of entities; callbacks may have created rows of them anywhere. `undo`:
        what undoes that of entities without rows, so that their handles never live."""
        if len(entities):
            rollback_creation(self.entities, self._rollback_targets(), entities, undo)

    def _rollback_targets(self) -> Iterable[RollbackTarget]:
        return self._managers.values()


def _own_managers(
    world: str, known: Mapping[str, type[Any]], managers: object
) -> dict[type[Any], type[Any]]:
    """Return the subclass for each replaced class, or raise TypeError."""
    if not isinstance(managers, Mapping):
        kind = type(managers).__name__
        raise TypeError(f"{world}: managers takes a dict of classes, not {kind}")
    subclasses = {}
    for name, kind in managers.items():
        base = known.get(name)
        if base is None:
            hint = did_you_mean(str(name), [*known])
            raise TypeError(f"{world}: there is no component {name!r}{hint}")
        if not isinstance(kind, type) or not issubclass(kind, base):
            shown = getattr(kind, "__name__", repr(kind))
            raise TypeError(f"{world}: {name!r} takes a subclass of {base.__name__}, not {shown}")
        subclasses[base] = kind
    return subclasses
