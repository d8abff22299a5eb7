"""The world: all entities, and the manager of each component."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._runtime.archetypes.chunk_blocks import ChunkBlocks, ChunkField
from ._runtime.archetypes.world import ArchetypeHolder, SpawnedRows
from ._runtime.columns.field_names import known_fields
from ._runtime.convert.numbers import FloatField
from ._runtime.entities.arrays import as_entities
from ._runtime.entities.handles import Columns, Entity, EntityArray, Instance, RowArray
from ._runtime.entities.layout import INDEX_MASK
from ._runtime.entities.manager import EntityManager
from ._runtime.groups.group import Group, GroupMember
from ._runtime.kernels.blocks import Cells, put_where, rows_last
from ._runtime.queries.chunks import QueriedChunks
from ._runtime.queries.join import QueryJoin
from ._runtime.queries.joined import JoinedBlocks, JoinedColumn
from ._runtime.queries.match import QueryMatch
from ._runtime.queries.members import QueryListMember, QueryMember, QuerySparseMember
from ._runtime.world.parts import WorldParts
from ._runtime.world.signatures import ComponentFlags, ComponentHolder, signature_words
from .ai_state import (
    AiState,
    AiStateColumns,
    AiStateFields,
    AiStateGroupedData,
    AiStateManager,
)
from .archetypes import ArchetypeChunk, Archetypes
from .armor import Armor, ArmorFields
from .burning import Burning, BurningFields
from .celestial_body import CelestialBody, CelestialBodyFields, CelestialBodyManager
from .energy import Energy, EnergyColumns, EnergyFields, EnergyManager
from .every_type import EveryType, EveryTypeFields, EveryTypeManager
from .footprint import Footprint, FootprintFields, FootprintManager
from .health import Health, HealthFields
from .kin import Kin, KinColumns, KinFields, KinManager
from .particle import Particle, ParticleFields, ParticleManager
from .point_mass import PointMass, PointMassColumns, PointMassFields, PointMassManager
from .position import (
    Position,
    PositionColumns,
    PositionFields,
    PositionGroupedData,
    PositionManager,
)
from .predator import Predator, PredatorColumns, PredatorFields, PredatorManager
from .scene_node import SceneNode, SceneNodeFields, SceneNodeManager
from .skinned_mesh import (
    SkinnedMesh,
    SkinnedMeshFields,
    SkinnedMeshGroupedData,
    SkinnedMeshManager,
)
from .sound_source import SoundSource, SoundSourceFields, SoundSourceManager
from .spark import SparkManager
from .static import Static, StaticFields, StaticManager
from .status_effect import (
    StatusEffect,
    StatusEffectColumns,
    StatusEffectFields,
    StatusEffectManager,
)
from .texture import TextureManager
from .tile import Tile, TileFields, TileManager
from .transform import Transform, TransformColumns, TransformFields, TransformManager
from .velocity import (
    Velocity,
    VelocityColumns,
    VelocityFields,
    VelocityGroupedData,
    VelocityManager,
)
from .villager import Villager, VillagerFields, VillagerGroupedData, VillagerManager
from .weapon import Weapon, WeaponFields

CARRY_DT_ARGUMENT: Final = FloatField("Game.carry.dt", "f32")
DRIFT_DT_ARGUMENT: Final = FloatField("Game.drift.dt", "f32")
SCORCH_DT_ARGUMENT: Final = FloatField("Game.scorch.dt", "f32")
SCORCH_HEAT_ARGUMENT: Final = FloatField("Game.scorch.heat", "f32")
PARRY_BLOW_ARGUMENT: Final = FloatField("Game.parry.blow", "f32", (3,))
PARRY_FAR_ARGUMENT: Final = FloatField("Game.parry.far", "f32")


class Signature(ComponentFlags):
    """Which components an entity has: a flag for each component, and for each bundle."""

    AI_STATE = 1 << 0
    CELESTIAL_BODY = 1 << 1
    ENERGY = 1 << 2
    EVERY_TYPE = 1 << 3
    FOOTPRINT = 1 << 4
    KIN = 1 << 5
    PARTICLE = 1 << 6
    POINT_MASS = 1 << 7
    POSITION = 1 << 8
    PREDATOR = 1 << 9
    SCENE_NODE = 1 << 10
    SKINNED_MESH = 1 << 11
    SOUND_SOURCE = 1 << 12
    STATIC = 1 << 13
    STATUS_EFFECT = 1 << 14
    TILE = 1 << 15
    TRANSFORM = 1 << 16
    VELOCITY = 1 << 17
    VILLAGER = 1 << 18
    ARMOR = 1 << 19
    BURNING = 1 << 20
    HEALTH = 1 << 21
    WEAPON = 1 << 22
    PROP = SKINNED_MESH | TRANSFORM
    CREATURE = AI_STATE | SKINNED_MESH | TRANSFORM
    HERO = (
        AI_STATE
        | HEALTH
        | POINT_MASS
        | SKINNED_MESH
        | SOUND_SOURCE
        | TRANSFORM
        | WEAPON
    )


class MoversRows(NamedTuple):
    """Where the entities of `movers` are: read-only arrays of one length."""

    entity: EntityArray
    transform: RowArray
    point_mass: RowArray


class MoversRow(NamedTuple):
    """An entity of `movers`, and the rows of its components."""

    entity: Entity
    transform: Instance
    point_mass: Instance


class MoversQuery:
    """Live entities with all of Transform, PointMass; none of Static.

    Joined when asked, and again when a manager changed or an entity died since: O(rows
    of the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ("_join",)

    def __init__(
        self,
        entities: EntityManager,
        transform: TransformManager,
        point_mass: PointMassManager,
        static: StaticManager,
    ) -> None:
        self._join = QueryJoin(
            entities,
            (QueryMember(transform), QueryMember(point_mass)),
            none_of=(QuerySparseMember(static, INDEX_MASK),),
        )

    def __len__(self) -> int:
        """Return how many entities there are."""
        return self._join.count()

    def __iter__(self) -> Iterator[MoversRow]:
        """Iterate over entities and rows as they are now."""
        arrays = (array.tolist() for array in self._join.arrays())
        return map(MoversRow._make, zip(*arrays, strict=True))

    def rows(self) -> MoversRows:
        """Return the entities, and the row of each in every manager; they are kept."""
        return MoversRows(*self._join.arrays())

    @property
    def transform(self) -> TransformColumns:
        """The columns of Transform, one cell per entity; assign to write."""
        return TransformColumns(self._join, 0)

    @property
    def point_mass(self) -> PointMassColumns:
        """The columns of PointMass, one cell per entity; assign to write."""
        return PointMassColumns(self._join, 1)


class DrawnRows(NamedTuple):
    """Where the entities of `drawn` are: read-only arrays of one length."""

    entity: EntityArray
    transform: RowArray
    ai_state: RowArray
    """NIL where the entity has none."""


class DrawnRow(NamedTuple):
    """An entity of `drawn`, and the rows of its components."""

    entity: Entity
    transform: Instance
    ai_state: Instance
    """NIL where the entity has none."""


class DrawnQuery:
    """Live entities with all of Transform; any of SkinnedMesh, Tile, Particle; optional
    AiState.

    Joined when asked, and again when a manager changed or an entity died since: O(rows
    of the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ("_join",)

    def __init__(
        self,
        entities: EntityManager,
        transform: TransformManager,
        skinned_mesh: SkinnedMeshManager,
        tile: TileManager,
        particle: ParticleManager,
        ai_state: AiStateManager,
    ) -> None:
        self._join = QueryJoin(
            entities,
            (QueryMember(transform),),
            any_of=(
                QuerySparseMember(skinned_mesh, INDEX_MASK),
                QueryMember(tile),
                QuerySparseMember(particle, INDEX_MASK),
            ),
            optional=(QuerySparseMember(ai_state, INDEX_MASK),),
        )

    def __len__(self) -> int:
        """Return how many entities there are."""
        return self._join.count()

    def __iter__(self) -> Iterator[DrawnRow]:
        """Iterate over entities and rows as they are now."""
        arrays = (array.tolist() for array in self._join.arrays())
        return map(DrawnRow._make, zip(*arrays, strict=True))

    def rows(self) -> DrawnRows:
        """Return the entities, and the row of each in every manager; they are kept."""
        return DrawnRows(*self._join.arrays())

    @property
    def transform(self) -> TransformColumns:
        """The columns of Transform, one cell per entity; assign to write."""
        return TransformColumns(self._join, 0)

    @property
    def ai_state(self) -> AiStateColumns:
        """The columns of AiState, one cell per entity; assign to write."""
        return AiStateColumns(self._join, 1)


class VisibleRows(NamedTuple):
    """Where the entities of `visible` are: read-only arrays of one length."""

    entity: EntityArray


class VisibleRow(NamedTuple):
    """An entity of `visible`, and the rows of its components."""

    entity: Entity


class VisibleQuery:
    """Live entities with any of SkinnedMesh, Tile, Particle.

    Joined when asked, and again when a manager changed or an entity died since: O(rows
    of the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ("_join",)

    def __init__(
        self,
        entities: EntityManager,
        skinned_mesh: SkinnedMeshManager,
        tile: TileManager,
        particle: ParticleManager,
    ) -> None:
        self._join = QueryJoin(
            entities,
            (),
            any_of=(
                QuerySparseMember(skinned_mesh, INDEX_MASK),
                QueryMember(tile),
                QuerySparseMember(particle, INDEX_MASK),
            ),
        )

    def __len__(self) -> int:
        """Return how many entities there are."""
        return self._join.count()

    def __iter__(self) -> Iterator[VisibleRow]:
        """Iterate over entities and rows as they are now."""
        arrays = (array.tolist() for array in self._join.arrays())
        return map(VisibleRow._make, zip(*arrays, strict=True))

    def rows(self) -> VisibleRows:
        """Return the entities, and the row of each in every manager; they are kept."""
        return VisibleRows(*self._join.arrays())


class AfflictedRows(NamedTuple):
    """Where the entities of `afflicted` are: read-only arrays of one length."""

    entity: EntityArray
    status_effect: RowArray
    ai_state: RowArray
    point_mass: RowArray
    """NIL where the entity has none."""


class AfflictedRow(NamedTuple):
    """An entity of `afflicted`, and the rows of its components."""

    entity: Entity
    status_effect: Instance
    ai_state: Instance
    point_mass: Instance
    """NIL where the entity has none."""


class AfflictedQuery:
    """Live entities with all of StatusEffect, AiState; optional PointMass.

    Joined when asked, and again when a manager changed or an entity died since: O(rows
    of the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ("_join",)

    def __init__(
        self,
        entities: EntityManager,
        status_effect: StatusEffectManager,
        ai_state: AiStateManager,
        point_mass: PointMassManager,
    ) -> None:
        self._join = QueryJoin(
            entities,
            (QueryListMember(status_effect), QuerySparseMember(ai_state, INDEX_MASK)),
            optional=(QueryMember(point_mass),),
        )

    def __len__(self) -> int:
        """Return how many entities there are."""
        return self._join.count()

    def __iter__(self) -> Iterator[AfflictedRow]:
        """Iterate over entities and rows as they are now."""
        arrays = (array.tolist() for array in self._join.arrays())
        return map(AfflictedRow._make, zip(*arrays, strict=True))

    def rows(self) -> AfflictedRows:
        """Return the entities, and the row of each in every manager; they are kept."""
        return AfflictedRows(*self._join.arrays())

    @property
    def status_effect(self) -> StatusEffectColumns:
        """The columns of StatusEffect, one cell per entity; assign to write."""
        return StatusEffectColumns(self._join, 0)

    @property
    def ai_state(self) -> AiStateColumns:
        """The columns of AiState, one cell per entity; assign to write."""
        return AiStateColumns(self._join, 1)

    @property
    def point_mass(self) -> PointMassColumns:
        """The columns of PointMass, one cell per entity; assign to write."""
        return PointMassColumns(self._join, 2)


class GrazersRows(NamedTuple):
    """Where the entities of `grazers` are: read-only arrays of one length."""

    entity: EntityArray
    position: RowArray
    velocity: RowArray
    energy: RowArray
    kin: RowArray


class GrazersRow(NamedTuple):
    """An entity of `grazers`, and the rows of its components."""

    entity: Entity
    position: Instance
    velocity: Instance
    energy: Instance
    kin: Instance


class GrazersQuery:
    """Live entities with all of Position, Velocity, Energy, Kin; none of Predator.

    Joined when asked, and again when a manager changed or an entity died since: O(rows
    of the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ("_join",)

    def __init__(
        self,
        entities: EntityManager,
        position: PositionManager,
        velocity: VelocityManager,
        energy: EnergyManager,
        kin: KinManager,
        predator: PredatorManager,
    ) -> None:
        self._join = QueryJoin(
            entities,
            (
                QuerySparseMember(position, INDEX_MASK),
                QuerySparseMember(velocity, INDEX_MASK),
                QuerySparseMember(energy, INDEX_MASK),
                QuerySparseMember(kin, INDEX_MASK),
            ),
            none_of=(QuerySparseMember(predator, INDEX_MASK),),
        )

    def __len__(self) -> int:
        """Return how many entities there are."""
        return self._join.count()

    def __iter__(self) -> Iterator[GrazersRow]:
        """Iterate over entities and rows as they are now."""
        arrays = (array.tolist() for array in self._join.arrays())
        return map(GrazersRow._make, zip(*arrays, strict=True))

    def rows(self) -> GrazersRows:
        """Return the entities, and the row of each in every manager; they are kept."""
        return GrazersRows(*self._join.arrays())

    @property
    def position(self) -> PositionColumns:
        """The columns of Position, one cell per entity; assign to write."""
        return PositionColumns(self._join, 0)

    @property
    def velocity(self) -> VelocityColumns:
        """The columns of Velocity, one cell per entity; assign to write."""
        return VelocityColumns(self._join, 1)

    @property
    def energy(self) -> EnergyColumns:
        """The columns of Energy, one cell per entity; assign to write."""
        return EnergyColumns(self._join, 2)

    @property
    def kin(self) -> KinColumns:
        """The columns of Kin, one cell per entity; assign to write."""
        return KinColumns(self._join, 3)


class HuntersRows(NamedTuple):
    """Where the entities of `hunters` are: read-only arrays of one length."""

    entity: EntityArray
    position: RowArray
    velocity: RowArray
    energy: RowArray
    kin: RowArray
    predator: RowArray


class HuntersRow(NamedTuple):
    """An entity of `hunters`, and the rows of its components."""

    entity: Entity
    position: Instance
    velocity: Instance
    energy: Instance
    kin: Instance
    predator: Instance


class HuntersQuery:
    """Live entities with all of Position, Velocity, Energy, Kin, Predator.

    Joined when asked, and again when a manager changed or an entity died since: O(rows
    of the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ("_join",)

    def __init__(
        self,
        entities: EntityManager,
        position: PositionManager,
        velocity: VelocityManager,
        energy: EnergyManager,
        kin: KinManager,
        predator: PredatorManager,
    ) -> None:
        self._join = QueryJoin(
            entities,
            (
                QuerySparseMember(position, INDEX_MASK),
                QuerySparseMember(velocity, INDEX_MASK),
                QuerySparseMember(energy, INDEX_MASK),
                QuerySparseMember(kin, INDEX_MASK),
                QuerySparseMember(predator, INDEX_MASK),
            ),
        )

    def __len__(self) -> int:
        """Return how many entities there are."""
        return self._join.count()

    def __iter__(self) -> Iterator[HuntersRow]:
        """Iterate over entities and rows as they are now."""
        arrays = (array.tolist() for array in self._join.arrays())
        return map(HuntersRow._make, zip(*arrays, strict=True))

    def rows(self) -> HuntersRows:
        """Return the entities, and the row of each in every manager; they are kept."""
        return HuntersRows(*self._join.arrays())

    @property
    def position(self) -> PositionColumns:
        """The columns of Position, one cell per entity; assign to write."""
        return PositionColumns(self._join, 0)

    @property
    def velocity(self) -> VelocityColumns:
        """The columns of Velocity, one cell per entity; assign to write."""
        return VelocityColumns(self._join, 1)

    @property
    def energy(self) -> EnergyColumns:
        """The columns of Energy, one cell per entity; assign to write."""
        return EnergyColumns(self._join, 2)

    @property
    def kin(self) -> KinColumns:
        """The columns of Kin, one cell per entity; assign to write."""
        return KinColumns(self._join, 3)

    @property
    def predator(self) -> PredatorColumns:
        """The columns of Predator, one cell per entity; assign to write."""
        return PredatorColumns(self._join, 4)


class AblazeRows(NamedTuple):
    """Who the entities of `ablaze` are; rows in chunks have no numbers."""

    entity: EntityArray
    """Read-only."""


class AblazeRow(NamedTuple):
    """An entity of `ablaze`."""

    entity: Entity


class AblazeQuery(QueriedChunks[ArchetypeChunk]):
    """Live entities with all of Health, Burning; none of Armor.

    They are found by the archetypes of their chunks: O(archetypes).
    """

    __slots__ = ()

    _ALL: ClassVar = (Health, Burning)
    _NONE: ClassVar = (Armor,)

    def __iter__(self) -> Iterator[AblazeRow]:
        """Iterate over the entities as they are now."""
        return map(AblazeRow, self._owners().tolist())

    def rows(self) -> AblazeRows:
        """Return the entities, chunk by chunk; kept until the next structural change."""
        return AblazeRows(self._owners())


class FightersRows(NamedTuple):
    """Who the entities of `fighters` are; rows in chunks have no numbers."""

    entity: EntityArray
    """Read-only."""


class FightersRow(NamedTuple):
    """An entity of `fighters`."""

    entity: Entity


class FightersQuery(QueriedChunks[ArchetypeChunk]):
    """Live entities with all of Weapon; any of Health, Armor; optional Burning.

    They are found by the archetypes of their chunks: O(archetypes).
    """

    __slots__ = ()

    _ALL: ClassVar = (Weapon,)
    _ANY: ClassVar = (Health, Armor)

    def __iter__(self) -> Iterator[FightersRow]:
        """Iterate over the entities as they are now."""
        return map(FightersRow, self._owners().tolist())

    def rows(self) -> FightersRows:
        """Return the entities, chunk by chunk; kept until the next structural change."""
        return FightersRows(self._owners())


class BodiesGroup(Group):
    """The entities that have Position and Velocity, in the first rows of each."""

    __slots__ = ("position", "velocity")

    def __init__(
        self,
        position: PositionManager,
        velocity: VelocityManager,
        n: int = 0,
    ) -> None:
        _members: dict[str, GroupMember] = {
            "position": position,
            "velocity": velocity,
        }
        super().__init__("bodies", _members, n)
        self.position = PositionGroupedData(position.data)
        self.velocity = VelocityGroupedData(velocity.data)


class ActorsGroup(Group):
    """The entities that have AiState, SkinnedMesh and Villager, in the first rows of
    each."""

    __slots__ = ("ai_state", "skinned_mesh", "villager")

    def __init__(
        self,
        ai_state: AiStateManager,
        skinned_mesh: SkinnedMeshManager,
        villager: VillagerManager,
        n: int = 0,
    ) -> None:
        _members: dict[str, GroupMember] = {
            "ai_state": ai_state,
            "skinned_mesh": skinned_mesh,
            "villager": villager,
        }
        super().__init__("actors", _members, n)
        self.ai_state = AiStateGroupedData(ai_state.data)
        self.skinned_mesh = SkinnedMeshGroupedData(skinned_mesh.data)
        self.villager = VillagerGroupedData(villager.data)


class Game(WorldParts):
    """A small game of all shipped components.

    `entities` gives out entities; each component's manager is an attribute. Pickles and
    copies as a whole, without callbacks. Not thread-safe.
    """

    _PARTS: ClassVar = (
        "entities",
        "ai_state",
        "celestial_body",
        "energy",
        "every_type",
        "footprint",
        "kin",
        "particle",
        "point_mass",
        "position",
        "predator",
        "scene_node",
        "skinned_mesh",
        "sound_source",
        "static",
        "status_effect",
        "tile",
        "transform",
        "velocity",
        "villager",
        "spark",
        "texture",
        "archetypes",
        "movers",
        "drawn",
        "visible",
        "afflicted",
        "grazers",
        "hunters",
        "ablaze",
        "fighters",
        "bodies",
        "actors",
    )

    def __init__(self) -> None:
        self.entities = EntityManager()
        self.ai_state = AiStateManager(self.entities)
        self.celestial_body = CelestialBodyManager(self.entities)
        self.energy = EnergyManager(self.entities)
        self.every_type = EveryTypeManager(self.entities)
        self.footprint = FootprintManager(self.entities)
        self.kin = KinManager(self.entities)
        self.particle = ParticleManager(self.entities)
        self.point_mass = PointMassManager(self.entities)
        self.position = PositionManager(self.entities)
        self.predator = PredatorManager(self.entities)
        self.scene_node = SceneNodeManager(self.entities)
        self.skinned_mesh = SkinnedMeshManager(self.entities)
        self.sound_source = SoundSourceManager(self.entities)
        self.static = StaticManager(self.entities)
        self.status_effect = StatusEffectManager(self.entities)
        self.tile = TileManager(self.entities)
        self.transform = TransformManager(self.entities)
        self.velocity = VelocityManager(self.entities)
        self.villager = VillagerManager(self.entities)
        self.spark = SparkManager()
        self.texture = TextureManager()
        self.archetypes = Archetypes(self.entities)
        self.movers = MoversQuery(
            self.entities,
            self.transform,
            self.point_mass,
            self.static,
        )
        self.drawn = DrawnQuery(
            self.entities,
            self.transform,
            self.skinned_mesh,
            self.tile,
            self.particle,
            self.ai_state,
        )
        self.visible = VisibleQuery(
            self.entities,
            self.skinned_mesh,
            self.tile,
            self.particle,
        )
        self.afflicted = AfflictedQuery(
            self.entities,
            self.status_effect,
            self.ai_state,
            self.point_mass,
        )
        self.grazers = GrazersQuery(
            self.entities,
            self.position,
            self.velocity,
            self.energy,
            self.kin,
            self.predator,
        )
        self.hunters = HuntersQuery(
            self.entities,
            self.position,
            self.velocity,
            self.energy,
            self.kin,
            self.predator,
        )
        self.ablaze = AblazeQuery(self.archetypes)
        self.fighters = FightersQuery(self.archetypes)
        self.bodies = BodiesGroup(self.position, self.velocity)
        self.actors = ActorsGroup(self.ai_state, self.skinned_mesh, self.villager)

    def spawn(
        self,
        n: int,
        *,
        ai_state: AiStateFields | None = None,
        celestial_body: CelestialBodyFields | None = None,
        energy: EnergyFields | None = None,
        every_type: EveryTypeFields | None = None,
        footprint: FootprintFields | None = None,
        kin: KinFields | None = None,
        particle: ParticleFields | None = None,
        point_mass: PointMassFields | None = None,
        position: PositionFields | None = None,
        predator: PredatorFields | None = None,
        scene_node: SceneNodeFields | None = None,
        skinned_mesh: SkinnedMeshFields | None = None,
        sound_source: SoundSourceFields | None = None,
        static: StaticFields | None = None,
        status_effect: StatusEffectFields | None = None,
        tile: TileFields | None = None,
        transform: TransformFields | None = None,
        velocity: VelocityFields | None = None,
        villager: VillagerFields | None = None,
        armor: ArmorFields | None = None,
        burning: BurningFields | None = None,
        health: HealthFields | None = None,
        weapon: WeaponFields | None = None,
    ) -> EntityArray:
        """Create n entities with an instance of each component given; O(n) for each.

        A component takes a dict of columns by field, which broadcast to n rows; an
        empty dict stands for defaults. Raises what the managers' `create_many` do, and
        CapacityError; then there is no new entity, and no index or generation is used.
        """
        n = index(n)
        if n < 0:
            raise ValueError(f"can't spawn {n} entities")
        _parts: list[tuple[_Store, Columns]] = []
        _given: list[object] = []
        if tile is not None:
            _columns = self.tile._checked(n, known_fields(Tile, tile))
            _parts.append((self.tile, _columns))
            _given.extend(tile.values())
        if ai_state is not None:
            _columns = self.ai_state._checked(n, known_fields(AiState, ai_state))
            _parts.append((self.ai_state, _columns))
            _given.extend(ai_state.values())
        if celestial_body is not None:
            _columns = self.celestial_body._checked(
                n, known_fields(CelestialBody, celestial_body)
            )
            _parts.append((self.celestial_body, _columns))
            _given.extend(celestial_body.values())
        if energy is not None:
            _columns = self.energy._checked(n, known_fields(Energy, energy))
            _parts.append((self.energy, _columns))
            _given.extend(energy.values())
        if every_type is not None:
            _columns = self.every_type._checked(n, known_fields(EveryType, every_type))
            _parts.append((self.every_type, _columns))
            _given.extend(every_type.values())
        if footprint is not None:
            _columns = self.footprint._checked(n, known_fields(Footprint, footprint))
            _parts.append((self.footprint, _columns))
            _given.extend(footprint.values())
        if kin is not None:
            _columns = self.kin._checked(n, known_fields(Kin, kin))
            _parts.append((self.kin, _columns))
            _given.extend(kin.values())
        if particle is not None:
            _columns = self.particle._checked(n, known_fields(Particle, particle))
            _parts.append((self.particle, _columns))
            _given.extend(particle.values())
        if point_mass is not None:
            _columns = self.point_mass._checked(n, known_fields(PointMass, point_mass))
            _parts.append((self.point_mass, _columns))
            _given.extend(point_mass.values())
        if position is not None:
            _columns = self.position._checked(n, known_fields(Position, position))
            _parts.append((self.position, _columns))
            _given.extend(position.values())
        if predator is not None:
            _columns = self.predator._checked(n, known_fields(Predator, predator))
            _parts.append((self.predator, _columns))
            _given.extend(predator.values())
        if scene_node is not None:
            _columns = self.scene_node._checked(n, known_fields(SceneNode, scene_node))
            _parts.append((self.scene_node, _columns))
            _given.extend(scene_node.values())
        if skinned_mesh is not None:
            _columns = self.skinned_mesh._checked(
                n, known_fields(SkinnedMesh, skinned_mesh)
            )
            _parts.append((self.skinned_mesh, _columns))
            _given.extend(skinned_mesh.values())
        if sound_source is not None:
            _columns = self.sound_source._checked(
                n, known_fields(SoundSource, sound_source)
            )
            _parts.append((self.sound_source, _columns))
            _given.extend(sound_source.values())
        if static is not None:
            _columns = self.static._checked(n, known_fields(Static, static))
            _parts.append((self.static, _columns))
            _given.extend(static.values())
        if status_effect is not None:
            _columns = self.status_effect._checked(
                n, known_fields(StatusEffect, status_effect)
            )
            _parts.append((self.status_effect, _columns))
            _given.extend(status_effect.values())
        if transform is not None:
            _columns = self.transform._checked(n, known_fields(Transform, transform))
            _parts.append((self.transform, _columns))
            _given.extend(transform.values())
        if velocity is not None:
            _columns = self.velocity._checked(n, known_fields(Velocity, velocity))
            _parts.append((self.velocity, _columns))
            _given.extend(velocity.values())
        if villager is not None:
            _columns = self.villager._checked(n, known_fields(Villager, villager))
            _parts.append((self.villager, _columns))
            _given.extend(villager.values())
        _rows = SpawnedRows(
            self.archetypes,
            n,
            {
                Armor: armor,
                Burning: burning,
                Health: health,
                Weapon: weapon,
            },
        )
        _parts.append((_rows, {}))
        return self._spawn(n, _parts, tuple(_given))

    def destroy(self, entity: Entity, /) -> None:
        """Destroy an entity, as `entities.destroy` does."""
        self.entities.destroy(entity)

    def destroy_many(self, entities: ArrayLike, /) -> None:
        """Destroy k entities, as `entities.destroy_many` does."""
        self.entities.destroy_many(entities)

    def gc(self) -> int:
        """Let every manager that collects lazily pick a few rows of dead entities.

        Returns how many rows went. Costs next to nothing when nobody died.
        """
        gone = 0
        with self.entities.dispatch:
            gone += self.ai_state.gc()
            gone += self.celestial_body.gc()
            gone += self.energy.gc()
            gone += self.every_type.gc()
            gone += self.kin.gc()
            gone += self.particle.gc()
            gone += self.point_mass.gc()
            gone += self.position.gc()
            gone += self.predator.gc()
            gone += self.static.gc()
            gone += self.status_effect.gc()
            gone += self.tile.gc()
            gone += self.transform.gc()
            gone += self.velocity.gc()
            gone += self.villager.gc()
        return gone

    def collect(self) -> int:
        """Remove all rows of dead entities that wait for it; O(all such rows).

        Returns how many rows went. Managers with `destroy: manual` are left alone.
        """
        gone = 0
        with self.entities.dispatch:
            gone += self.ai_state.collect()
            gone += self.celestial_body.collect()
            gone += self.energy.collect()
            gone += self.every_type.collect()
            gone += self.kin.collect()
            gone += self.particle.collect()
            gone += self.point_mass.collect()
            gone += self.position.collect()
            gone += self.predator.collect()
            gone += self.static.collect()
            gone += self.status_effect.collect()
            gone += self.tile.collect()
            gone += self.transform.collect()
            gone += self.velocity.collect()
            gone += self.villager.collect()
        return gone

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

    def carry(self, dt: float) -> None:
        """Take the place of what moves along with its point mass.

        Reads Transform.translation [m], PointMass.velocity [m/s]; writes
        Transform.translation [m]; `dt` is in s. O(n), n rows; no structural change.
        """
        _dt = np.float32(CARRY_DT_ARGUMENT.one(dt))
        _found = self.movers._join.match()
        _blocks = self.transform.data._joined.get("carry")
        if _blocks is None or _blocks.stamp != _found:
            _blocks = self._carry_blocks(_found)
        for transform_translation, point_mass_velocity, _tmp in _blocks:
            # Transform.translation += PointMass.velocity * dt
            np.multiply(point_mass_velocity, _dt, out=_tmp)
            transform_translation += _tmp

    def _carry_blocks(self, found: QueryMatch) -> JoinedBlocks:
        """Cut the columns of `carry` into blocks; good until they move or the query
        matches anew."""
        columns = [
            JoinedColumn(
                rows_last(self.transform.data._translation_column),
                found.members[0],
                True,
                True,
            ),
            JoinedColumn(
                rows_last(self.point_mass.data._velocity_column),
                found.members[1],
                True,
                False,
            ),
        ]
        working: tuple[Cells, ...] = (("f4", (3,), True),)
        holders = (self.transform.data, self.point_mass.data)
        blocks = JoinedBlocks(found, found.count, columns, working)
        return blocks.keep("carry", holders)

    def drift(self, dt: float) -> None:
        """Move the bodies.

        Reads Position.value [m], Velocity.value [m/s]; writes Position.value [m]; `dt`
        is in s. O(n), n rows; no structural change.
        """
        _dt = np.float32(DRIFT_DT_ARGUMENT.one(dt))
        _n = self.bodies.n
        _blocks = self.position.data._joined.get("drift")
        if _blocks is None or _blocks.stamp != _n:
            _blocks = self._drift_blocks(_n)
        for position_value, velocity_value, _tmp in _blocks:
            # Position.value += Velocity.value * dt
            np.multiply(velocity_value, _dt, out=_tmp)
            position_value += _tmp

    def _drift_blocks(self, n: int) -> JoinedBlocks:
        """Cut the columns of `drift` into blocks; good until they move or the group's
        length changes."""
        columns = [
            JoinedColumn(
                rows_last(self.position.data._value_column), slice(0, n), True, True
            ),
            JoinedColumn(
                rows_last(self.velocity.data._value_column), slice(0, n), True, False
            ),
        ]
        working: tuple[Cells, ...] = (("f4", (3,), True),)
        holders = (self.position.data, self.velocity.data)
        blocks = JoinedBlocks(n, n, columns, working)
        return blocks.keep("drift", holders)

    def scorch(self, dt: float, heat: float) -> None:
        """Let fire take its toll of the unprotected.

        Reads Health.points; writes Health.points; `dt` is in s; `heat` is in 1/s. O(n),
        n rows; no structural change.
        """
        _dt = np.float32(SCORCH_DT_ARGUMENT.one(dt))
        _heat = np.float32(SCORCH_HEAT_ARGUMENT.one(heat))
        _blocks = self.archetypes._kept.get("scorch") or self._scorch_blocks()
        _once = np.multiply(_heat, _dt)
        for health_points, _tmp in _blocks.current():
            # Health.points = max(Health.points - heat * dt, 0)
            np.subtract(health_points, _once, out=_tmp)
            np.maximum(_tmp, 0.0, out=health_points)

    def _scorch_blocks(self) -> ChunkBlocks:
        """Have chunks cut into blocks for `scorch`; these are kept."""
        fields = (ChunkField(2, 0),)
        working: tuple[Cells, ...] = (("f4", (), False),)
        blocks = ChunkBlocks(self.ablaze, fields, working)
        return blocks.keep("scorch")

    def parry(self, blow: ArrayLike, far: float) -> None:
        """Turn the weapons towards a blow; those that are out of reach keep their
        direction.

        Reads Weapon.reach [m], Weapon.direction; writes Weapon.direction. O(n), n rows;
        no structural change.
        """
        _blow = np.array(PARRY_BLOW_ARGUMENT.one(blow), np.float32).reshape(3, 1)
        _far = np.float32(PARRY_FAR_ARGUMENT.one(far))
        _blocks = self.archetypes._kept.get("parry") or self._parry_blocks()
        for (
            weapon_reach,
            weapon_direction,
            _where,
            _tmp,
            _tmp2,
            _tmp3,
        ) in _blocks.current():
            # where Weapon.reach.y >= far
            np.greater_equal(weapon_reach[1], _far, out=_where)
            if not _where.any():
                continue
            # Weapon.direction = normalize(Weapon.direction + blow)
            np.add(weapon_direction, _blow, out=_tmp)
            np.multiply(_tmp[0], _tmp[0], out=_tmp2)
            np.multiply(_tmp[1], _tmp[1], out=_tmp3)
            _tmp2 += _tmp3
            np.multiply(_tmp[2], _tmp[2], out=_tmp3)
            _tmp2 += _tmp3
            np.sqrt(_tmp2, out=_tmp2)
            np.putmask(_tmp2, _tmp2 == 0, 1)
            np.divide(_tmp, _tmp2, out=_tmp)
            put_where(weapon_direction, _where, _tmp)

    def _parry_blocks(self) -> ChunkBlocks:
        """Have chunks cut into blocks for `parry`; these are kept."""
        fields = (ChunkField(3, 1), ChunkField(3, 2, (3,)))
        working: tuple[Cells, ...] = (
            ("?", (), False),
            ("f4", (3,), False),
            ("f4", (), False),
            ("f4", (), False),
        )
        blocks = ChunkBlocks(self.fighters, fields, working)
        return blocks.keep("parry")

    def signature(self, entity: Entity, /) -> Signature:
        """Return which components the entity has, as flags; O(components).

        Rows of a dead entity count until they are collected, as in the managers' `has`.
        """
        bits = 0
        for place, (_, holder) in enumerate(self._members()):
            if holder.has(entity):
                bits |= 1 << place
        return Signature(bits)

    def signatures(self, entities: ArrayLike, /) -> NDArray[np.uint64]:
        """Return the signatures of k entities as numbers, shape (k,); O(k) per component."""
        holders = [holder for _, holder in self._members()]
        return signature_words(holders, as_entities(entities))

    def spawn_prop(
        self,
        n: int,
        *,
        skinned_mesh: SkinnedMeshFields | None = None,
        transform: TransformFields | None = None,
    ) -> EntityArray:
        """Create n entities of this bundle; O(n) for each component.

        A component takes what it takes in `spawn`; without, its defaults. Raises what
        `spawn` does, and then creates nothing.
        """
        return self.spawn(
            n,
            skinned_mesh={} if skinned_mesh is None else skinned_mesh,
            transform={} if transform is None else transform,
        )

    def spawn_creature(
        self,
        n: int,
        *,
        ai_state: AiStateFields | None = None,
        skinned_mesh: SkinnedMeshFields | None = None,
        transform: TransformFields | None = None,
    ) -> EntityArray:
        """Create n entities of this bundle; O(n) for each component.

        A component takes what it takes in `spawn`; without, its defaults. Raises what
        `spawn` does, and then creates nothing.
        """
        return self.spawn(
            n,
            ai_state={} if ai_state is None else ai_state,
            skinned_mesh={} if skinned_mesh is None else skinned_mesh,
            transform={} if transform is None else transform,
        )

    def spawn_hero(
        self,
        n: int,
        *,
        ai_state: AiStateFields | None = None,
        health: HealthFields | None = None,
        point_mass: PointMassFields | None = None,
        skinned_mesh: SkinnedMeshFields | None = None,
        sound_source: SoundSourceFields | None = None,
        transform: TransformFields | None = None,
        weapon: WeaponFields | None = None,
    ) -> EntityArray:
        """Create n entities of this bundle; O(n) for each component.

        A component takes what it takes in `spawn`; without, its defaults. Raises what
        `spawn` does, and then creates nothing.
        """
        return self.spawn(
            n,
            ai_state={} if ai_state is None else ai_state,
            health={} if health is None else health,
            point_mass={} if point_mass is None else point_mass,
            skinned_mesh={} if skinned_mesh is None else skinned_mesh,
            sound_source={} if sound_source is None else sound_source,
            transform={} if transform is None else transform,
            weapon={} if weapon is None else weapon,
        )

    def _members(self) -> list[tuple[type[Any], ComponentHolder]]:
        """Return what knows who has a component, by its row class, in order of bits."""
        return [
            (AiState, self.ai_state),
            (CelestialBody, self.celestial_body),
            (Energy, self.energy),
            (EveryType, self.every_type),
            (Footprint, self.footprint),
            (Kin, self.kin),
            (Particle, self.particle),
            (PointMass, self.point_mass),
            (Position, self.position),
            (Predator, self.predator),
            (SceneNode, self.scene_node),
            (SkinnedMesh, self.skinned_mesh),
            (SoundSource, self.sound_source),
            (Static, self.static),
            (StatusEffect, self.status_effect),
            (Tile, self.tile),
            (Transform, self.transform),
            (Velocity, self.velocity),
            (Villager, self.villager),
            (Armor, ArchetypeHolder(self.archetypes, Armor)),
            (Burning, ArchetypeHolder(self.archetypes, Burning)),
            (Health, ArchetypeHolder(self.archetypes, Health)),
            (Weapon, ArchetypeHolder(self.archetypes, Weapon)),
        ]

    def _spawn(
        self,
        n: int,
        parts: list[tuple[_Store, Columns]],
        borrowed: tuple[object, ...],
    ) -> EntityArray:
        """Create n entities and append checked columns; take all back if that fails."""
        parts = [(store, _owned(columns)) for store, columns in parts]
        entities = self.entities.create_many(n)
        if n == 0:
            return entities
        done: list[_Store] = []
        with self.entities.dispatch:
            try:
                for store, columns in parts:
                    store._make_room(entities, columns, borrowed)
                while sum(store._evict_many(entities) for store, _ in parts):
                    for store, columns in parts:
                        # again: callbacks may have changed anything
                        store._admit_many(entities)
                        store._make_room(entities, columns, ())
                for store, columns in parts:
                    store._append_many(entities, columns)
                    done.append(store)
            except BaseException:
                for store in done:
                    store.remove_many(entities)
                self.entities._uncreate(entities)
                raise
        return entities


def _owned(columns: Columns) -> Columns:
    """Copy views: what they look at may move before the new rows are filled."""
    return {name: c if c.base is None else c.copy() for name, c in columns.items()}


class _Store(Protocol):
    """Takes the rows of new entities."""

    def remove_many(self, entities: ArrayLike, /) -> int: ...

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...], /
    ) -> None: ...

    def _evict_many(self, entities: EntityArray, /) -> int: ...

    def _admit_many(self, entities: EntityArray, /) -> None: ...

    def _append_many(self, entities: EntityArray, columns: Columns, /) -> object: ...


World = Game
