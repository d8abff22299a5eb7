"""Archetypes: 4 components in chunks of 16384 bytes.

The rows of all entities with equal sets of these components share chunks: one buffer
each, an entity column first, then the columns of each component, every one on a cache
line. Adding or removing a component moves an entity's row to other chunks.

140 rows with all of them fit into a chunk.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final, TypeAlias, TypeVar, Unpack, overload

from ecsgen_runtime.base.handles import Entity, EntityArray
from ecsgen_runtime.world.archetypes.archetype_store import ArchetypeStore
from ecsgen_runtime.world.archetypes.chunks import ChunkBase
from numpy.typing import ArrayLike

from .armor import Armor, ArmorData, ArmorFields, ArmorValues
from .burning import Burning, BurningData, BurningFields, BurningValues
from .entities import EntityManager
from .health import Health, HealthData, HealthFields, HealthValues
from .weapon import Weapon, WeaponData, WeaponFields, WeaponValues

CHUNK_BYTES: Final = 16384

_AnyRow: TypeAlias = Armor | Burning | Health | Weapon
_Row = TypeVar("_Row", bound=_AnyRow)


class ArchetypeChunk(ChunkBase):
    """One buffer of CHUNK_BYTES with rows of one signature: `entity`, and each component.

    A chunk and views of it are good until the next structural change.
    """

    __slots__ = ()

    @property
    def armor(self) -> ArmorData:
        """The columns of Armor; AttributeError if the rows have none."""
        columns: ArmorData = self._parts[0]
        return columns

    @property
    def burning(self) -> BurningData:
        """The columns of Burning; AttributeError if the rows have none."""
        columns: BurningData = self._parts[1]
        return columns

    @property
    def health(self) -> HealthData:
        """The columns of Health; AttributeError if the rows have none."""
        columns: HealthData = self._parts[2]
        return columns

    @property
    def weapon(self) -> WeaponData:
        """The columns of Weapon; AttributeError if the rows have none."""
        columns: WeaponData = self._parts[3]
        return columns


class Archetypes(ArchetypeStore[ArchetypeChunk]):
    """Store of all rows in chunks; components are named by their row classes.

    An entity's row goes when the entity dies, before `entities.destroy` returns. Chunks
    and views are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    __slots__ = ()
    _DATA: ClassVar = (ArmorData, BurningData, HealthData, WeaponData)

    def __init__(self, entities: EntityManager) -> None:
        EntityManager.check_entity_manager(entities, self)
        super().__init__(entities, ArchetypeChunk, self._DATA, CHUNK_BYTES)

    def __setstate__(self, state: dict[str, Any]) -> None:
        Archetypes.__init__(self, state["entities"])
        self.load_state(state)

    def create(
        self,
        components: Iterable[type[Any]],
        n: int = 1,
        *,
        armor: ArmorFields | Armor | None = None,
        burning: BurningFields | Burning | None = None,
        health: HealthFields | Health | None = None,
        weapon: WeaponFields | Weapon | None = None,
    ) -> EntityArray:
        """Create n entities with some components; O(n).

        The fields of each are columns that broadcast to n rows, or one row for all.
        Whatever raises creates no entity and uses no index or generation.

        Raises:
            TypeError: not a component of the archetypes, or fields of one not listed.
            DuplicateInstanceError: a component is listed twice.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the archetypes are locked.
            CapacityError: fewer than n entities are left.
        """
        _fields = {0: armor, 1: burning, 2: health, 3: weapon}
        return self._create(components, n, _fields)

    @overload
    def add(
        self,
        entity: Entity,
        component: type[Armor],
        /,
        **fields: Unpack[ArmorValues],
    ) -> None: ...

    @overload
    def add(
        self,
        entity: Entity,
        component: type[Burning],
        /,
        **fields: Unpack[BurningValues],
    ) -> None: ...

    @overload
    def add(
        self,
        entity: Entity,
        component: type[Health],
        /,
        **fields: Unpack[HealthValues],
    ) -> None: ...

    @overload
    def add(
        self,
        entity: Entity,
        component: type[Weapon],
        /,
        **fields: Unpack[WeaponValues],
    ) -> None: ...

    @overload
    def add(self, entity: Entity, row: _AnyRow, /) -> None: ...

    def add(
        self,
        entity: Entity,
        component: Any,
        /,
        **fields: Any,
    ) -> None:
        """Give an entity a component, by its class or as a row; O(columns).

        The entity's row moves to other chunks.

        Raises:
            StaleEntityError: the entity is dead.
            DuplicateInstanceError: it has the component already.
            ValueError, TypeError, OverflowError: a value does not fit its field.
            StructureLockedError: the archetypes are locked.
        """
        self._add(entity, component, {**fields})

    @overload
    def add_many(
        self,
        entities: ArrayLike,
        component: type[Armor],
        /,
        **fields: Unpack[ArmorFields],
    ) -> None: ...

    @overload
    def add_many(
        self,
        entities: ArrayLike,
        component: type[Burning],
        /,
        **fields: Unpack[BurningFields],
    ) -> None: ...

    @overload
    def add_many(
        self,
        entities: ArrayLike,
        component: type[Health],
        /,
        **fields: Unpack[HealthFields],
    ) -> None: ...

    @overload
    def add_many(
        self,
        entities: ArrayLike,
        component: type[Weapon],
        /,
        **fields: Unpack[WeaponFields],
    ) -> None: ...

    @overload
    def add_many(self, entities: ArrayLike, row: _AnyRow, /) -> None: ...

    def add_many(
        self,
        entities: ArrayLike,
        component: Any,
        /,
        **fields: Any,
    ) -> None:
        """Give each of k entities a component; O(k).

        The fields are columns that broadcast to k rows, or a row that is the same for
        all. The errors are those of `add`; whatever raises changes nothing.
        """
        self._add_many(entities, component, {**fields})

    @overload
    def set(
        self,
        entity: Entity,
        component: type[Armor],
        /,
        **fields: Unpack[ArmorValues],
    ) -> None: ...

    @overload
    def set(
        self,
        entity: Entity,
        component: type[Burning],
        /,
        **fields: Unpack[BurningValues],
    ) -> None: ...

    @overload
    def set(
        self,
        entity: Entity,
        component: type[Health],
        /,
        **fields: Unpack[HealthValues],
    ) -> None: ...

    @overload
    def set(
        self,
        entity: Entity,
        component: type[Weapon],
        /,
        **fields: Unpack[WeaponValues],
    ) -> None: ...

    def set(
        self,
        entity: Entity,
        component: type[Any],
        /,
        **fields: Any,
    ) -> None:
        """Write some fields of an entity's row of a component; O(1).

        Raises:
            StaleEntityError: the entity is dead.
            MissingInstanceError: it does not have the component.
            ValueError, TypeError, OverflowError: a value does not fit its field.
        """
        self._set(entity, component, {**fields})

    def get(self, entity: Entity, component: type[_Row], /) -> _Row:
        """Return a copy of an entity's row of a component; O(1).

        Raises:
            StaleEntityError: the entity is dead.
            MissingInstanceError: it does not have the component.
        """
        row: _Row = self.get_row(entity, component)
        return row
