"""The world: all entities, and the manager of each component."""

from __future__ import annotations

from types import ModuleType
from typing import ClassVar, Final, Never

import numpy as np
from ecsgen_runtime.fields import unknown_component
from ecsgen_runtime.handles import Entity, EntityArray, Instance, RowArray
from ecsgen_runtime.kernels.blocks import BlockColumn, rows_last
from ecsgen_runtime.kernels.references import living_rows, take_others
from ecsgen_runtime.queries.join import QueryMatch
from ecsgen_runtime.queries.joined import JoinedBlocks
from ecsgen_runtime.queries.query import QueriedRows
from ecsgen_runtime.saved_world import SavedWorld
from ecsgen_runtime.typed import NamedTuple
from ecsgen_runtime.world.base import ComponentFlags
from ecsgen_runtime.world.entity_world import EntityViewBase, EntityWorld, ManagedPart
from ecsgen_runtime.world.signed import SignedWorld

from .bond import Bond, BondColumns, BondFields, BondManager, BondRef
from .entities import EntityManager
from .mote import Mote, MoteColumns, MoteFields, MoteManager, MoteRef
from .room import RoomManager

_0_5_f32: Final = np.array(0.5, np.float32)


class Signature(ComponentFlags):
    """Which components an entity has: a flag for each component, and for each bundle."""

    BOND = 1 << 0
    MOTE = 1 << 1
    PAIR = BOND | MOTE


class EntityView(EntityViewBase):
    """One entity: its components are attributes, which follow it as `m[entity]` does.

    A component that it does not have is a MissingInstanceError.
    """

    __slots__ = ()

    bond = ManagedPart(BondRef)
    mote = ManagedPart(MoteRef)


class BoundRows(NamedTuple):
    """Where the entities of `bound` are: read-only arrays of equal length."""

    entity: EntityArray
    mote: RowArray
    bond: RowArray


class BoundRow(NamedTuple):
    """An entity of `bound`, and the rows of its components."""

    entity: Entity
    mote: Instance
    bond: Instance


class BoundQuery(QueriedRows[BoundRows, BoundRow]):
    """Live entities with all of Mote, Bond.

    Worked out when asked, and again if a manager changed or an entity died since: O(rows
    of the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ()

    _ROWS = BoundRows
    _ROW = BoundRow
    _COLUMNS: ClassVar = (MoteColumns, BondColumns)
    _columns: tuple[MoteColumns, BondColumns]

    @property
    def mote(self) -> MoteColumns:
        """The columns of Mote, one cell per entity; assign to write."""
        return self._columns[0]

    @property
    def bond(self) -> BondColumns:
        """The columns of Bond, one cell per entity; assign to write."""
        return self._columns[1]


class Dust(SignedWorld[Signature], EntityWorld, SavedWorld):
    """All entities and their components.

    `entities` gives out entities; each component's manager is an attribute. Pickles and
    copies as a whole, without callbacks. Not thread-safe.
    """

    _MANAGERS: ClassVar = ("bond", "mote", "room")
    _QUERIES: ClassVar = ("bound",)
    _BUNDLES: ClassVar = ("spawn_pair",)
    _PARTS: ClassVar = ("entities", "bond", "mote", "room", "bound")
    _KINDS: ClassVar = {
        "bond": BondManager,
        "mote": MoteManager,
        "room": RoomManager,
    }
    _FLAGS = Signature
    _FINGERPRINT: ClassVar = (
        "14647fd237866c73f69e78bcd945c333fa6dd4d35d7097cadc1539ba9c404a83"
    )

    def __init__(self) -> None:
        self.entities = EntityManager()
        self.bond = self._kind(BondManager)(self.entities)
        self.mote = self._kind(MoteManager)(self.entities)
        self.room = self._kind(RoomManager)()
        self._managers = {
            Bond: self.bond,
            Mote: self.mote,
        }
        self._collecting = (self.mote,)
        self.bound = BoundQuery(
            self.entities,
            (self.mote, self.bond),
        )

    def spawn(
        self,
        n: int,
        *,
        bond: BondFields | Bond | None = None,
        mote: MoteFields | Mote | None = None,
        **_unknown: Never,
    ) -> EntityArray:
        """Create n entities with an instance of each component given; O(n) for each.

        A component takes a dict of columns by field, which broadcast to n rows, or one
        row for all; an empty dict stands for defaults. Raises what the managers'
        `create_many` do, and CapacityError; then there is no new entity, and no index
        or generation is used.
        """
        if _unknown:
            raise unknown_component(self.spawn, _unknown)
        return self._spawn(
            n,
            {
                Bond: bond,
                Mote: mote,
            },
        )

    def pull(self) -> None:
        """Run the kernel `pull` over the rows.

        Reads Mote.velocity, Bond.to; of others Mote.position; writes Mote.velocity.
        O(n), n rows; no structural change.
        """
        _found = self.bound._join.match()
        _blocks = self.bond.data._joined.get("pull")
        if _blocks is None or _blocks.stamp != _found:
            _blocks = self._pull_blocks(_found)
        _all_mote_position = rows_last(self.mote.data._position_column)
        for bond_to, mote_velocity, _tmp in _blocks:
            # Mote.velocity += Bond.to.Mote.position * 0.5
            _theirs = living_rows(self.mote, bond_to, self.entities._is_clean)
            take_others(_all_mote_position, _theirs, 0.0, _tmp)
            _tmp *= _0_5_f32
            mote_velocity += _tmp

    def _pull_blocks(self, found: QueryMatch) -> JoinedBlocks:
        """Cut the columns of `pull` into blocks; good until they move or the query
        matches anew."""
        columns = (
            BlockColumn(self.bond.data._to_column, found.members[1]),
            BlockColumn(
                rows_last(self.mote.data._velocity_column), found.members[0], True, True
            ),
        )
        working = (("f4", (3,), True),)
        holders = (self.bond.data, self.mote.data)
        blocks = JoinedBlocks(found, found.count, columns, working)
        return blocks.keep("pull", holders)

    def __getitem__(self, entity: Entity, /) -> EntityView:
        """Return an entity with its components as attributes; O(1).

        Raises:
            StaleEntityError: it is dead.
        """
        return EntityView(self, entity)

    def spawn_pair(
        self,
        n: int,
        *,
        bond: BondFields | Bond | None = None,
        mote: MoteFields | Mote | None = None,
        **_unknown: Never,
    ) -> EntityArray:
        """Create n entities of this bundle; O(n) for each component.

        Give a component what you give it in `spawn`, or leave it out for its defaults.
        Raises what `spawn` raises; then nothing is created.
        """
        if _unknown:
            raise unknown_component(self.spawn_pair, _unknown)
        return self.spawn(
            n,
            bond={} if bond is None else bond,
            mote={} if mote is None else mote,
        )

    @staticmethod
    def _schema() -> ModuleType:
        from . import _schema

        return _schema


World = Dust
