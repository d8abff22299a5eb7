"""What every world does alike: spawning, destroying, collecting, asking who has what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, starmap
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Final, Never, Protocol, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import CapacityError
from ..base.handles import Columns, Entity, EntityArray, RowClass
from ..base.locks import ReadOnlyAttributes, is_broken
from ..base.specialisation import install_accelerator
from ..base.text import format_count, format_list
from ..entities.entity_manager import EntityManagerBase
from ..entities.entity_pool import remove_rows_with_fallback
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
from ..values.field_tables import ColumnsOrRow, did_you_mean, parse_columns, unknown_component_error

if TYPE_CHECKING:
    from ..managers.policies.destroy import Gc
    from ..managers.policies.owners import Owned

_Note: TypeAlias = int | EntityArray
"""One entity, or several."""


class DeferredDespawns(ReadOnlyAttributes):
    """Notes entities, and destroys them when told to."""

    __slots__ = ("_deferred_despawns",)

    entities: EntityManagerBase
    _deferred_despawns: list[_Note]
    """In the order given; it is not there before anything is noted."""

    def destroy_later(self, entities: Entity | ArrayLike, /) -> None:
        """Note an entity, or k of them, for the next `flush` or `collect`; O(k).

        They are alive until then. Repeated and dead ones do no harm. Notes are saved and
        copied with the world. TypeError for what is no entity.
        """
        try:
            noted = self._deferred_despawns
        except AttributeError:  # the first of all
            noted = self._deferred_despawns = []
        noted.extend((entities,) if type(entities) is int else _json_state(entities))

    def flush(self) -> int:
        """Destroy the noted entities that are still alive, each once, in the order noted.

        Returns how many. They die together, as by `entities.destroy_many`: O(k log k),
        plus the callbacks. Inside of a callback their turn comes later.

        Raises:
            StructureLockedError: a manager that destroys with its entities is locked;
                then nobody dies, and the notes stay.
            ExceptionGroup: callbacks failed; everybody is dead.
        """
        return len(self._flush())

    def _flush(self) -> list[int] | EntityArray:
        """Do what `flush` does and return who died: a list if they are few."""
        noted: list[_Note] = getattr(self, "_deferred_despawns", [])
        count = len(noted)
        few = self._small_batch_doomed(noted) if count <= SMALL_BATCH else None
        doomed: list[int] | EntityArray = few or []
        if few is None:
            handles = self._noted_entities()
            doomed = drop_duplicates(handles[self.entities.alive_many(handles)])
            self.entities.destroy_many(doomed)
        elif few:
            self.entities._destroy_small_batch(few)
        if not self.entities.dispatch.is_open():  # else their turn may be refused
            del noted[:count]  # callbacks may have noted more
        return doomed

    def _small_batch_doomed(self, noted: list[_Note]) -> list[int] | None:
        """Return who of a few is alive, each once; None if several are one note."""
        alive = self.entities.alive
        doomed: list[int] = []
        for note in noted:
            if type(note) is not int:
                return None
            if alive(note) and note not in doomed:
                doomed.append(note)
        return doomed

    def _noted_entities(self) -> EntityArray:
        """Return the entities noted, in order, the repeated and the dead among them; O(k)."""
        noted: list[_Note] = getattr(self, "_deferred_despawns", [])
        return np.concatenate([np.empty(0, np.uint64), *_handles(noted)])


def _json_state(entities: Entity | ArrayLike) -> Sequence[_Note]:
    """Return what is to be remembered of what a caller gave."""
    few = as_small_int_list(entities)
    if few is not None:
        return few
    given = cast(ArrayLike, entities)
    if is_integer(entities) and np.ndim(given) == 0:
        return [index(entities)]
    return [as_entities(given).copy()]


def _handles(noted: Iterable[_Note]) -> Iterator[EntityArray]:
    """Return notes as arrays, in their order."""
    for kind, notes in groupby(noted, type):
        if kind is int:
            yield as_entities(cast(list[int], list(notes)))
        else:
            yield from cast(Iterator[EntityArray], notes)


ONCE: Final = ((),)
"""For `starmap`, which calls what takes no arguments: no interrupt comes between the call and who
keeps what it returns, as one may behind a call of ours."""


class ComponentHolder(Protocol):
    """Knows who has a component."""

    def has(self, entity: Entity, /) -> bool: ...

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]: ...


class SpawnStore(Protocol):
    """Takes the rows of new entities."""

    def _ensure_capacity(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...], /
    ) -> None: ...

    def _evict_for(self, entities: EntityArray, /) -> int: ...

    def _check_can_create(self, entities: EntityArray, /) -> None: ...

    def _append_many(self, entities: EntityArray, columns: Columns, /) -> object: ...


class RollbackTarget(Protocol):
    """Has rows of entities that can be taken back."""

    def _remove_rows_of(self, entities: EntityArray, /) -> None: ...

    def _remove_rows_one_by_one(self, entities: EntityArray, /) -> None: ...


def rollback_creation(living: Any, takers: Iterable[RollbackTarget], entities: EntityArray) -> None:
    """Take entities back with all rows that they have; who cannot do that is broken.

    Nothing is raised but what is meant for others, an interrupt say.
    """
    interrupt: BaseException | None = None
    for taker in takers:
        try:
            if not is_broken(taker):
                remove_rows_with_fallback(taker, taker._remove_rows_of, entities)
        except Exception:
            continue  # they are gone nevertheless, or it is broken
        except BaseException as error:
            interrupt = error
    if not is_broken(living):
        living._undo_create(entities)
    if interrupt is not None:
        raise interrupt


SpawnPart: TypeAlias = tuple[SpawnStore, Columns, int]
"""What takes rows, the checked columns of these, and how many each entity gets."""


def append_parts(
    entities: EntityArray, parts: Sequence[SpawnPart], borrowed: tuple[object, ...]
) -> None:
    """Give new entities their rows; O(k) for each part.

    What is in the way goes first, until nothing is, for callbacks may then change anything:
    only behind them is it certain who has what. `borrowed`: the caller's arguments.
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
    for store, columns, owners in each:
        store._append_many(owners, columns)


_ManagerT = TypeVar("_ManagerT")

SpawnFields: TypeAlias = Mapping[RowClass, ColumnsOrRow | None]
"""The columns of each component that is given, or one row for all; None for the others."""


NewRows: TypeAlias = "tuple[Owned, Sequence[Mapping[str, Any]] | None]"
"""Who gets rows, and the fields of each; None for the defaults."""


_NAMES: Final = ("MANAGERS", "QUERIES", "GROUPS", "BUNDLES", "FINGERPRINT")
"""What generated classes have with an underscore before it: in a class that has such a name itself,
annotations could not mean a component that is called so."""


class WorldBase(DeferredDespawns):
    """All entities, and the managers of their components."""

    __slots__ = ("_collecting_managers", "_managers")

    MANAGERS: ClassVar[tuple[str, ...]] = ()
    """The attributes that are managers; the next ones likewise."""
    QUERIES: ClassVar[tuple[str, ...]] = ()
    GROUPS: ClassVar[tuple[str, ...]] = ()
    BUNDLES: ClassVar[tuple[str, ...]] = ()
    """The methods that spawn bundles."""
    _MANAGER_CLASSES: ClassVar[Mapping[str, type[Any]]] = {}
    """The class of each manager, by the attribute that it is. First those whose rows belong to
    entities, in the order in which a new entity gets its rows."""
    _MANAGER_SUBCLASSES: ClassVar[Mapping[type[Any], type[Any]]] = {}
    """The subclasses that stand for some of them."""
    _CAN_ACCELERATE: ClassVar[bool] = True
    """Whether methods in C make and find entities as it does: by their index."""
    _managers: dict[RowClass, Owned]
    """Those whose rows belong to entities, by row class."""
    _collecting_managers: tuple[Gc, ...]

    def __init_subclass__(
        cls, managers: Mapping[str, type[Any]] | None = None, **options: Any
    ) -> None:
        """Let classes of one's own stand for managers: `class Mine(World, managers={…})`.

        Raises:
            TypeError: no such component, or not a subclass of its manager.
        """
        super().__init_subclass__(**options)
        for name in _NAMES:
            if f"_{name}" in vars(cls):
                setattr(cls, name, vars(cls)[f"_{name}"])
        if "_MANAGER_CLASSES" in vars(cls) and cls._CAN_ACCELERATE:
            install_accelerator(cls)
        if managers is not None:
            own = _own_managers(cls.__name__, cls._MANAGER_CLASSES, managers)
            cls._MANAGER_SUBCLASSES = {**cls._MANAGER_SUBCLASSES, **own}

    if not TYPE_CHECKING:  # to checkers there is nothing of this name

        def _no_time(self, *_):
            name = type(self).__name__
            why = f"{name} has no time: nothing in its schemas asks for `tick`"
            raise AttributeError(why, name="tick", obj=self)

        tick = property(_no_time, _no_time)  # else it would be an attribute of a user's

    def __getstate__(self) -> Any:
        """Attributes and slots, for pickle and deepcopy: nothing that names the library."""
        return object.__getstate__(self)

    def __setstate__(self, state: Any) -> None:
        attributes, slots = state
        vars(self).update(attributes)
        for name, value in slots.items():
            setattr(self, name, value)

    def _all_managers(self) -> Iterable[Any]:
        return [getattr(self, name) for name in self.MANAGERS]

    def _manager_class(self, manager: type[_ManagerT]) -> type[_ManagerT]:
        return self._MANAGER_SUBCLASSES.get(manager, manager)

    def __repr__(self) -> str:
        """Show how many entities there are, and rows of each component; O(components)."""
        rows = format_list(f"{name} {count}" for name, count, _ in self._holders() if count)
        living = format_count(len(self.entities), "entity", "entities")
        return f"<{type(self).__name__}: {living}{f'; {rows}' if rows else ''}>"

    def _repr_html_(self) -> str:
        """Return a table of the first and last components, for notebooks."""
        return world_table(self)

    def spawn(self, n: int, **_unknown: Never) -> EntityArray:
        """Create n entities; O(n). CapacityError when fewer indices are left."""
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
        """Let every manager that collects lazily pick a few rows of dead entities.

        Returns how many rows went. Costs next to nothing when nobody died.
        """
        collecting = self._collecting_managers
        return self.entities.dispatch.run(lambda: sum(m.gc() for m in collecting))

    def collect(self) -> int:
        """Remove all rows of dead entities in managers that collect; O(their rows).

        First those die that `destroy_later` noted. Returns how many rows went. Managers
        with `destroy: manual` are left alone.
        """
        entities, died = self.entities, None
        was_clean = entities._despawn_count == entities._despawns_at_collect
        failed: Sequence[BaseException] = ()
        try:
            died = self._flush()
        except BaseExceptionGroup as group:
            failed = group.exceptions  # of callbacks: all the others did their part
        deaths = entities._despawn_count  # others die when the rows of these are gone
        few = None
        if was_clean and type(died) is list and deaths == entities._despawns_at_collect + len(died):
            few = died
        is_outermost = not entities.dispatch.is_open()
        gone = entities.dispatch.run(self._collected, few, failed, is_outermost)
        entities._despawns_at_collect = deaths
        return gone

    def _collected(
        self, died: list[int] | None, failed: Sequence[BaseException], is_outermost: bool
    ) -> int:
        """Remove rows of the dead, of a few if nobody else is, and return how many went.

        `failed`: what is to be raised when all is done.
        """
        dispatch = self.entities.dispatch
        dispatch.errors.extend(failed)
        gone = self._swept() if died is None else self._removed(died)
        while is_outermost and dispatch.queue:
            if not any(manager._DESPAWNS_OWNERS for manager in self._collecting_managers):
                break  # else entities died of the collection, and there is more to collect
            dispatch.empty_queue()
            gone += self._swept()
        return gone

    def _removed(self, died: list[int]) -> int:
        """Remove the rows of a few who died, as `_swept` does if nobody else is dead."""
        if died:
            return sum(manager.remove_many(died) for manager in self._collecting_managers)
        for manager in self._collecting_managers:
            if manager._locks:
                manager._raise_if_locked()
        return 0

    def _swept(self) -> int:
        """Let all managers that collect do so once, and return how many rows went."""
        return sum(manager.collect() for manager in self._collecting_managers)

    def components(self, entity: Entity, /) -> tuple[type[Any], ...]:
        """Return the row classes of the components that the entity has; O(components).

        Rows of a dead entity count until they are collected, as in the managers' `has`.
        """
        return tuple(row for row, holder in self._members() if holder.has(entity))

    def empty_entities(self) -> EntityArray:
        """Return the live entities without any component; O(entities) per component."""
        entities = self.entities.live()
        for _, holder in self._members():
            entities = entities[~holder.has_many(entities)]
        return entities

    def _holders(self) -> Iterator[tuple[str, int, object]]:
        """Yield each component: its name in the world, how many rows, and who has them."""
        for name in self.MANAGERS:
            manager = getattr(self, name)
            yield name, len(manager), manager

    def _members(self) -> Iterable[tuple[RowClass, ComponentHolder]]:
        """Return each row class with what knows who has the component, in order of bits."""
        return self._managers.items()

    def _ownerless_hint(self, name: str) -> str:
        """Return what an error adds if a component's rows have no owners; else nothing."""
        if name not in self.MANAGERS or getattr(self, name) in self._managers.values():
            return ""
        return f": its rows have no entities, {name}.create_many makes them"

    def _spawn(self, n: int, given: SpawnFields) -> EntityArray:
        """Create n entities with rows of what is given; if that fails, take all back."""
        if type(n) is not int:
            n = parse_count(n)
        if n == 1:
            single = self._spawn_one(given)
            if single is not None:
                return single
        if 0 < n <= SMALL_BATCH and n <= self.entities._left:
            few = self._few(n, given)
            several = None if few is None else self._spawn_small_batch(n, few)
            if several is not None:
                return several
        chosen: dict[RowClass, ColumnsOrRow] = {}
        for row, fields in given.items():  # a comprehension is a call
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
        """Create n entities and append their checked rows, or take all back. `borrowed`: the
        caller's arguments."""
        made: list[EntityArray] = []
        try:
            # made and kept at once: behind a call of ours an interrupt may come
            made.extend(map(self.entities.create_many, (n,)))
            if n:
                append_parts(made[0], parts, borrowed)
            return made[0]
        except BaseException:
            for entities in made:
                self._rollback_spawn(entities)
            raise

    def _spawn_one(self, given: SpawnFields) -> EntityArray | None:
        """Create one entity with rows; None, and nothing has changed, if that is not plain."""
        managers = self._managers
        parts: list[tuple[Callable[..., object], Mapping[str, Any]]] = []
        for row, fields in given.items():
            if fields is None:
                continue
            manager = managers.get(row)
            if manager is None or type(fields) is not dict or not manager._takes_small_batch(1):
                return None
            if fields and not are_cells(manager._CONVERTERS, fields):
                return None
            parts.append((manager.create, fields))
        made: list[Entity] = []
        try:
            made.extend(starmap(self.entities.create, ONCE))
            entity = made[0]
            for create, fields in parts:
                if fields:
                    create(entity, **fields)
                else:
                    create(entity)
            return np.array(made, np.uint64)
        except BaseException as error:
            if not made and isinstance(error, CapacityError):
                return None  # the other way says so
            self._rollback_spawn(np.array(made, np.uint64))
            raise

    def _few(self, n: int, given: SpawnFields) -> list[NewRows] | None:
        """Return who gets rows of a few new entities, if that is plain."""
        parts: list[NewRows] = []
        for row, fields in given.items():
            if fields is None:
                continue
            manager = self._managers.get(row)
            if manager is None or type(fields) is not dict:
                return None
            if not manager._takes_small_batch(n):
                return None
            rows = None
            if fields:
                rows = small_values(manager._CONVERTERS, fields, n)
                if rows is None:
                    return None
            parts.append((manager, rows))
        return parts

    def _spawn_small_batch(self, n: int, parts: list[NewRows]) -> EntityArray | None:
        """Create n entities with rows each, one by one; if that fails, take all back.

        None, and nothing has changed, if rows of the dead are in the way: all of them
        go before the first new one comes.
        """
        entities: list[int] = []
        is_free = True
        try:
            entities.extend(starmap(self.entities.create, ONCE * n))
            for manager, _ in parts:
                is_free = is_free and manager._have_no_rows(entities)
            if is_free:
                _create_rows(entities, parts)
            created = np.array(entities, np.uint64)
            if is_free:
                return created
        except BaseException:
            self._rollback_spawn(np.array(entities, np.uint64))
            raise
        self.entities._undo_create(created)
        return None

    def _prepare_parts(self, n: int, given: Mapping[RowClass, ColumnsOrRow]) -> list[SpawnPart]:
        """Return what is to take the rows of n new entities, with checked columns."""
        parts: list[SpawnPart] = []
        is_watched = self._has_release_listeners(given)
        for row, fields in given.items():
            manager = self._managers[row]
            columns = parse_columns(row, fields, manager._CONVERTERS, n)
            # copies of views, for what they look at may move before the rows are filled, and
            # callbacks may write to the caller's own arrays, too
            own = {
                name: c.copy() if is_watched or c.base is not None else c
                for name, c in manager._prepare_columns(n, columns).items()
            }
            parts.append((manager, own, 1))
        return parts

    def _has_release_listeners(self, rows: Iterable[RowClass]) -> bool:
        """Whether callbacks may run before all rows of a spawn are there."""
        for row in rows:
            manager = self._managers[row]
            if manager._HAS_RELEASE_CALLBACKS and manager._has_release_listeners:
                return True
        return False

    def _rollback_spawn(self, entities: EntityArray) -> None:
        """Undo the creation of entities; callbacks may have given them rows anywhere."""
        if len(entities):
            rollback_creation(self.entities, self._rollback_targets(), entities)

    def _rollback_targets(self) -> Iterable[RollbackTarget]:
        return self._managers.values()


def _create_rows(entities: Sequence[int], parts: Sequence[NewRows]) -> None:
    creations = [(manager.create, rows) for manager, rows in parts]
    for number, entity in enumerate(entities):
        for create, rows in creations:
            if rows is None:
                create(entity)
            else:
                create(entity, **rows[number])


def _own_managers(
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
            hint = did_you_mean(str(name), [*known])
            raise TypeError(f"{world}: there is no component {name!r}{hint}")
        if not isinstance(kind, type) or not issubclass(kind, base):
            shown = getattr(kind, "__name__", repr(kind))
            raise TypeError(f"{world}: {name!r} takes a subclass of {base.__name__}, not {shown}")
        own[base] = kind
    return own
