"""The world: all entities, and the manager of each component."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any, ClassVar, Final, Never

import numpy as np
from ecsgen_runtime.base.fast_typing import NamedTuple
from ecsgen_runtime.base.handles import NIL, Entity, EntityArray, Instance, RowArray
from ecsgen_runtime.kernels.arithmetic import row_at
from ecsgen_runtime.kernels.blocks import (
    BlockColumn,
    JoinedKernelBlocks,
    SelectedRows,
    check_unchanged,
    each_value,
    put_where,
    rows_last,
    selected_blocks,
    with_row_values,
)
from ecsgen_runtime.kernels.chunk_blocks import ChunkBlocks, ChunkField, chunk_cells
from ecsgen_runtime.kernels.random_streams import (
    derive_stream_keys,
    draw_bernoulli,
    draw_normal,
    turn_order,
)
from ecsgen_runtime.kernels.reductions import (
    CountReduction,
    ExtremeReduction,
    FloatSumReduction,
    IntegerSumReduction,
    ValuesReduction,
    extreme_of,
    gini_of,
    leading_rows,
    mean_of,
    std_of,
    table_blocks,
)
from ecsgen_runtime.kernels.references import (
    Messages,
    rows_of_live_entities,
    take_others,
)
from ecsgen_runtime.kernels.seeding import SeededWorld, StreamState
from ecsgen_runtime.kernels.spaces.cell_lists import (
    LiveCellList,
    find_neighbours_now,
    live_cell_list,
    move_to_cell,
)
from ecsgen_runtime.kernels.spaces.neighbour_search import (
    NeighbourBlocks,
    NeighbourSearch,
)
from ecsgen_runtime.kernels.spaces.spatial import (
    join_live_search_arguments,
    join_search_arguments,
)
from ecsgen_runtime.managers.policies.ids import ids_of
from ecsgen_runtime.records.records import (
    RecordedTable,
    RecordingWorld,
    Records,
    matching_rows,
)
from ecsgen_runtime.snapshots.snapshot_world import SnapshotWorld
from ecsgen_runtime.values.field_tables import fill_fields, unknown_component_error
from ecsgen_runtime.values.field_types import FloatField
from ecsgen_runtime.world.archetypes.archetype_store import ChunkQuery
from ecsgen_runtime.world.archetypes.archetype_world import ArchetypeWorld
from ecsgen_runtime.world.entity_views import (
    ChunkedComponent,
    EntityViewBase,
    ManagedComponent,
)
from ecsgen_runtime.world.groups import Group, GroupMember
from ecsgen_runtime.world.queries.join_rows import member_row_array
from ecsgen_runtime.world.queries.query import QueryMatch, RowQuery
from ecsgen_runtime.world.references import ReferencesWorld
from ecsgen_runtime.world.signatures import ComponentFlags, SignatureWorld
from ecsgen_runtime.world.ticking import keyword_only
from numpy.typing import ArrayLike, NDArray

from .ai_state import (
    AiState,
    AiStateColumns,
    AiStateFields,
    AiStateGroupedData,
    AiStateManager,
    AiStateRef,
)
from .archetypes import ArchetypeChunk, Archetypes
from .armor import Armor, ArmorFields, ArmorRef
from .boid import Boid, BoidColumns, BoidFields, BoidManager, BoidRef
from .burning import Burning, BurningFields, BurningRef
from .celestial_body import (
    CelestialBody,
    CelestialBodyFields,
    CelestialBodyManager,
    CelestialBodyRef,
)
from .energy import Energy, EnergyColumns, EnergyFields, EnergyManager, EnergyRef
from .entities import INDEX_MASK, EntityManager
from .enums import Condition
from .every_type import EveryType, EveryTypeFields, EveryTypeManager, EveryTypeRef
from .footprint import Footprint, FootprintFields, FootprintManager, FootprintRef
from .hawk import Hawk, HawkColumns, HawkFields, HawkManager, HawkRef
from .health import Health, HealthFields, HealthRef
from .kin import Kin, KinColumns, KinFields, KinManager, KinRef
from .meeting import MeetingManager
from .particle import Particle, ParticleFields, ParticleManager, ParticleRef
from .person import Person, PersonFields, PersonManager, PersonRef
from .point_mass import (
    PointMass,
    PointMassColumns,
    PointMassFields,
    PointMassManager,
    PointMassRef,
)
from .position import (
    Position,
    PositionColumns,
    PositionFields,
    PositionGroupedData,
    PositionManager,
    PositionRef,
)
from .predator import (
    Predator,
    PredatorColumns,
    PredatorFields,
    PredatorManager,
    PredatorRef,
)
from .scene_node import SceneNode, SceneNodeFields, SceneNodeManager, SceneNodeRef
from .skinned_mesh import (
    SkinnedMesh,
    SkinnedMeshFields,
    SkinnedMeshGroupedData,
    SkinnedMeshManager,
    SkinnedMeshRef,
)
from .sound_source import (
    SoundSource,
    SoundSourceFields,
    SoundSourceManager,
    SoundSourceRef,
)
from .spark import SparkManager
from .static import Static, StaticFields, StaticManager, StaticRef
from .status_effect import (
    StatusEffect,
    StatusEffectColumns,
    StatusEffectFields,
    StatusEffectManager,
    StatusEffectRef,
)
from .texture import TextureManager
from .tile import Tile, TileFields, TileManager, TileRef
from .transform import (
    Transform,
    TransformColumns,
    TransformFields,
    TransformManager,
    TransformRef,
)
from .velocity import (
    Velocity,
    VelocityColumns,
    VelocityFields,
    VelocityGroupedData,
    VelocityManager,
    VelocityRef,
)
from .villager import (
    Villager,
    VillagerFields,
    VillagerGroupedData,
    VillagerManager,
    VillagerRef,
)
from .weapon import Weapon, WeaponFields, WeaponRef

_1_u8_recorded: Final = np.array(1, np.uint8)
_9_u16_recorded: Final = np.array(9, np.uint16)
_0_0_f32_recorded: Final = np.array(0.0, np.float32)


class _OutbreakTable(RecordedTable):
    """The recorded table `outbreak`."""

    __slots__ = ()

    _NAME: ClassVar = "outbreak"
    _COLUMNS: ClassVar = {
        "tick": "i8",
        "persons": "i8",
        "infectious": "i8",
        "exposed": "i8",
        "days": "u8",
        "longest": "f8",
        "fed": "f8",
        "strength": "f8",
        "uneven": "f8",
        "spread": "f8",
        "health": "f8",
    }

    @property
    def tick(self) -> NDArray[np.int64]:
        return self._column(0)

    @property
    def persons(self) -> NDArray[np.int64]:
        return self._column(1)

    @property
    def infectious(self) -> NDArray[np.int64]:
        return self._column(2)

    @property
    def exposed(self) -> NDArray[np.int64]:
        return self._column(3)

    @property
    def days(self) -> NDArray[np.uint64]:
        return self._column(4)

    @property
    def longest(self) -> NDArray[np.float64]:
        return self._column(5)

    @property
    def fed(self) -> NDArray[np.float64]:
        return self._column(6)

    @property
    def strength(self) -> NDArray[np.float64]:
        return self._column(7)

    @property
    def uneven(self) -> NDArray[np.float64]:
        return self._column(8)

    @property
    def spread(self) -> NDArray[np.float64]:
        return self._column(9)

    @property
    def health(self) -> NDArray[np.float64]:
        return self._column(10)


class _IllTable(RecordedTable):
    """The recorded table `ill`."""

    __slots__ = ()

    _NAME: ClassVar = "ill"
    _COLUMNS: ClassVar = {
        "tick": "i8",
        "entity": "u8",
        "condition": "u1",
        "exposed": "?",
    }
    _ENUMS: ClassVar = {
        "condition": Condition,
    }

    @property
    def tick(self) -> NDArray[np.int64]:
        return self._column(0)

    @property
    def entity(self) -> NDArray[np.uint64]:
        return self._column(1)

    @property
    def condition(self) -> NDArray[np.uint8]:
        return self._column(2)

    @property
    def exposed(self) -> NDArray[np.bool_]:
        return self._column(3)


class _Records(Records):
    """The tables of the world."""

    __slots__ = ()

    @property
    def outbreak(self) -> _OutbreakTable:
        return _OutbreakTable(self._world)

    @property
    def ill(self) -> _IllTable:
        return _IllTable(self._world)


_FRAME_STRENGTH_GIVEN: Final = FloatField("Game.frame.strength", "f32")
_FRAME_DT_GIVEN: Final = FloatField("Game.frame.dt", "f32")
_FRAME_GRAVITY_GIVEN: Final = FloatField("Game.frame.gravity", "f32")
_FRAME_HEAT_GIVEN: Final = FloatField("Game.frame.heat", "f32")
_ORBIT_DT_GIVEN: Final = FloatField("Game.orbit.dt", "f64")

_CARRY_DT_ARGUMENT: Final = FloatField("Game.carry.dt", "f32")
_DRIFT_DT_ARGUMENT: Final = FloatField("Game.drift.dt", "f32")
_STRAY_STRENGTH_ARGUMENT: Final = FloatField("Game.stray.strength", "f32")
_SHOVE_PUSH_ARGUMENT: Final = FloatField("Game.shove.push", "f32", (3,))
_HAUL_SHARE_ARGUMENT: Final = FloatField("Game.haul.share", "f32")
_HAUL_DT_ARGUMENT: Final = FloatField("Game.haul.dt", "f32")
_SCORCH_DT_ARGUMENT: Final = FloatField("Game.scorch.dt", "f32")
_SCORCH_HEAT_ARGUMENT: Final = FloatField("Game.scorch.heat", "f32")
_STRAIN_TURN_ARGUMENT: Final = FloatField("Game.strain.turn", "f32", (3,))
_STRAIN_SHARE_ARGUMENT: Final = FloatField("Game.strain.share", "f32")
_PARRY_BLOW_ARGUMENT: Final = FloatField("Game.parry.blow", "f32", (3,))
_PARRY_FAR_ARGUMENT: Final = FloatField("Game.parry.far", "f32")
_INFECT_CHANCE_ARGUMENT: Final = FloatField("Game.infect.chance", "f64")
_SCATTER_SIGHT_ARGUMENT: Final = FloatField("Game.scatter.sight", "f32")
_HUDDLE_REACH_ARGUMENT: Final = FloatField("Game.huddle.reach", "f32")
_CHASE_SIGHT_ARGUMENT: Final = FloatField("Game.chase.sight", "f32")
_STRIKE_REACH_ARGUMENT: Final = FloatField("Game.strike.reach", "f32")
_SPREAD_APART_ARGUMENT: Final = FloatField("Game.spread.apart", "f64")
_FRAME_1_STRENGTH_ARGUMENT: Final = FloatField("Game.frame_1.strength", "f32")
_FRAME_1_DT_ARGUMENT: Final = FloatField("Game.frame_1.dt", "f32")
_0_0_f32: Final = np.array(0.0, np.float32)
_1_u8: Final = np.array(1, np.uint8)
_0_i64: Final = np.array(0, np.int64)
_0_125_f32: Final = np.array(0.125, np.float32)
_0_25_f32: Final = np.array(0.25, np.float32)
_1_i32: Final = np.array(1, np.int32)
_0_05_f32: Final = np.array(0.05, np.float32)


def _strike_kernel(
    order: list[int],
    cells_now: LiveCellList,
    boid_rows: RowArray,
    hawk_rows: RowArray,
    boid_members: RowArray,
    boid_position: NDArray[np.float32],
    boid_entity: memoryview[Any],
    hawk_prey: memoryview[Any],
    hawk_hunger: NDArray[np.float32],
    boid_heading: NDArray[np.float32],
    other_boid_owners: memoryview[Any],
    handle_mask: int,
    other_boid_rows: memoryview[Any],
    handles: memoryview[Any],
    is_clean: bool,
    other_boid_position: NDArray[np.float32],
) -> None:
    """Let the hawks dive one after the other, each at the nearest of those that fly
    then."""
    i64_0 = np.int64(0)
    f32_minus_0_5 = np.float32(-0.5)
    f32_0_1 = np.float32(0.1)
    f32_0_0 = np.float32(0.0)
    f32_0_9 = np.float32(0.9)
    places = cells_now.positions
    size_x = cells_now.sizes[0, 0]
    half_x = cells_now.sizes[1, 0]
    size_y = cells_now.sizes[0, 1]
    half_y = cells_now.sizes[1, 1]
    found: Any = np.empty(cells_now.n_members + 1, np.intp).data
    for i in order:
        boid_row = row_at(boid_rows, i)
        boid_j = 2 * boid_row
        hawk_row = row_at(hawk_rows, i)
        # Hawk.prey = nearest(other.entity)
        x = boid_position[boid_j]
        y = boid_position[boid_j + 1]
        count = find_neighbours_now(cells_now, i, (x, y), found)
        nearest = 0
        first = count
        closest = np.float32(0)
        for f in range(count):
            o = found[f]
            dx = places[0, o] - x
            if abs(dx) > half_x:
                dx = dx - size_x * np.rint(dx / size_x)
            dy = places[1, o] - y
            if abs(dy) > half_y:
                dy = dy - size_y * np.rint(dy / size_y)
            square = dx * dx + dy * dy
            if f == 0 or square < closest:
                first = f
                closest = square
        if first < count:
            o = found[first]
            nearest = boid_entity[boid_members[o]]
        hawk_prey[hawk_row] = nearest
        # Hawk.hunger += -0.5 if count() > 0 else 0.1
        hawk_hunger[hawk_row] += f32_minus_0_5 if np.int64(count) > i64_0 else f32_0_1
        # Boid.position += nearest(offset) * 0.9
        nearest2_0 = f32_0_0
        nearest2_1 = f32_0_0
        first2 = count
        closest2 = np.float32(0)
        for f in range(count):
            o = found[f]
            dx = places[0, o] - x
            if abs(dx) > half_x:
                dx = dx - size_x * np.rint(dx / size_x)
            dy = places[1, o] - y
            if abs(dy) > half_y:
                dy = dy - size_y * np.rint(dy / size_y)
            square2 = dx * dx + dy * dy
            if f == 0 or square2 < closest2:
                first2 = f
                closest2 = square2
        if first2 < count:
            o = found[first2]
            dx = places[0, o] - x
            if abs(dx) > half_x:
                dx = dx - size_x * np.rint(dx / size_x)
            dy = places[1, o] - y
            if abs(dy) > half_y:
                dy = dy - size_y * np.rint(dy / size_y)
            nearest2_0 = dx
            nearest2_1 = dy
        boid_position[boid_j] += nearest2_0 * f32_0_9
        boid_position[boid_j + 1] += nearest2_1 * f32_0_9
        move_to_cell(
            cells_now, boid_row, (boid_position[boid_j], boid_position[boid_j + 1])
        )
        # Hawk.prey.Boid.position -= Boid.heading
        other_boid_row: Any = hawk_prey[hawk_row] & handle_mask
        other_boid_row = (
            other_boid_rows[other_boid_row]
            if other_boid_row < len(other_boid_rows)
            else NIL
        )
        if not (
            other_boid_row < len(other_boid_owners)
            and other_boid_owners[other_boid_row] == hawk_prey[hawk_row]
            and (
                is_clean
                or handles[hawk_prey[hawk_row] & handle_mask] == hawk_prey[hawk_row]
            )
        ):
            other_boid_row = NIL
        if other_boid_row != NIL:
            other_boid_position[2 * other_boid_row] -= boid_heading[boid_j]
            other_boid_position[2 * other_boid_row + 1] -= boid_heading[boid_j + 1]
            move_to_cell(
                cells_now,
                other_boid_row,
                (
                    other_boid_position[2 * other_boid_row],
                    other_boid_position[2 * other_boid_row + 1],
                ),
            )


def _spread_kernel(
    order: list[int],
    cells_now: LiveCellList,
    boid_rows: RowArray,
    boid_position: NDArray[np.float32],
) -> None:
    """Let the hawks move away from each other, one after the other."""
    f32_0_5 = np.float32(0.5)
    i64_1 = np.int64(1)
    places = cells_now.positions
    size_x = cells_now.sizes[0, 0]
    half_x = cells_now.sizes[1, 0]
    size_y = cells_now.sizes[0, 1]
    half_y = cells_now.sizes[1, 1]
    found: Any = np.empty(cells_now.n_members + 1, np.intp).data
    for i in order:
        boid_row = row_at(boid_rows, i)
        boid_j = 2 * boid_row
        # Boid.position -= sum(offset) * 0.5 / f32(max(count(), 1))
        x = boid_position[boid_j]
        y = boid_position[boid_j + 1]
        count = find_neighbours_now(cells_now, i, (x, y), found)
        total_0 = 0.0
        total_1 = 0.0
        for f in range(count):
            o = found[f]
            dx = places[0, o] - x
            if abs(dx) > half_x:
                dx = dx - size_x * np.rint(dx / size_x)
            dy = places[1, o] - y
            if abs(dy) > half_y:
                dy = dy - size_y * np.rint(dy / size_y)
            total_0 = total_0 + float(dx)
            total_1 = total_1 + float(dy)
        asked_0 = np.float32(total_0)
        asked_1 = np.float32(total_1)
        t = np.float32(max(np.int64(count), i64_1))
        boid_position[boid_j] -= asked_0 * f32_0_5 / t
        boid_position[boid_j + 1] -= asked_1 * f32_0_5 / t
        move_to_cell(
            cells_now, boid_row, (boid_position[boid_j], boid_position[boid_j + 1])
        )


def _dodge_kernel(
    order: list[int],
    cells_now: LiveCellList,
    boid_members: RowArray,
    boid_position: NDArray[np.float32],
    boid_heading: NDArray[np.float32],
) -> None:
    """Let the boids move out of the way of hawks, one after the other."""
    i64_0 = np.int64(0)
    f32_0_0 = np.float32(0.0)
    f32_0_5 = np.float32(0.5)
    places = cells_now.positions
    size_x = cells_now.sizes[0, 0]
    half_x = cells_now.sizes[1, 0]
    size_y = cells_now.sizes[0, 1]
    half_y = cells_now.sizes[1, 1]
    found: Any = np.empty(cells_now.n_members + 1, np.intp).data
    for i in order:
        j = 2 * i
        x = boid_position[j]
        y = boid_position[j + 1]
        count = find_neighbours_now(cells_now, i, (x, y), found)
        if np.int64(count) > i64_0:
            # Boid.position -= nearest(offset)
            nearest_0 = f32_0_0
            nearest_1 = f32_0_0
            first = count
            closest = np.float32(0)
            for f in range(count):
                o = found[f]
                dx = places[0, o] - x
                if abs(dx) > half_x:
                    dx = dx - size_x * np.rint(dx / size_x)
                dy = places[1, o] - y
                if abs(dy) > half_y:
                    dy = dy - size_y * np.rint(dy / size_y)
                square = dx * dx + dy * dy
                if f == 0 or square < closest:
                    first = f
                    closest = square
            if first < count:
                o = found[first]
                dx = places[0, o] - x
                if abs(dx) > half_x:
                    dx = dx - size_x * np.rint(dx / size_x)
                dy = places[1, o] - y
                if abs(dy) > half_y:
                    dy = dy - size_y * np.rint(dy / size_y)
                nearest_0 = dx
                nearest_1 = dy
            boid_position[j] -= nearest_0
            boid_position[j + 1] -= nearest_1
            move_to_cell(cells_now, i, (boid_position[j], boid_position[j + 1]))
            # Boid.heading = sum(other.Boid.heading) * 0.5
            x = boid_position[j]
            y = boid_position[j + 1]
            count = find_neighbours_now(cells_now, i, (x, y), found)
            total_0 = 0.0
            total_1 = 0.0
            for f in range(count):
                o = found[f]
                total_0 = total_0 + float(boid_heading[2 * boid_members[o]])
                total_1 = total_1 + float(boid_heading[2 * boid_members[o] + 1])
            asked_0 = np.float32(total_0)
            asked_1 = np.float32(total_1)
            boid_heading[j] = asked_0 * f32_0_5
            boid_heading[j + 1] = asked_1 * f32_0_5


class Signature(ComponentFlags):
    """Components of an entity: a flag for each component, and for each bundle."""

    AI_STATE = 1 << 0
    BOID = 1 << 1
    CELESTIAL_BODY = 1 << 2
    ENERGY = 1 << 3
    EVERY_TYPE = 1 << 4
    FOOTPRINT = 1 << 5
    HAWK = 1 << 6
    KIN = 1 << 7
    PARTICLE = 1 << 8
    PERSON = 1 << 9
    POINT_MASS = 1 << 10
    POSITION = 1 << 11
    PREDATOR = 1 << 12
    SCENE_NODE = 1 << 13
    SKINNED_MESH = 1 << 14
    SOUND_SOURCE = 1 << 15
    STATIC = 1 << 16
    STATUS_EFFECT = 1 << 17
    TILE = 1 << 18
    TRANSFORM = 1 << 19
    VELOCITY = 1 << 20
    VILLAGER = 1 << 21
    ARMOR = 1 << 22
    BURNING = 1 << 23
    HEALTH = 1 << 24
    WEAPON = 1 << 25
    PROP = SKINNED_MESH | TRANSFORM
    CREATURE = AI_STATE | SKINNED_MESH | TRANSFORM
    ARMED = HEALTH | WEAPON
    HERO = (
        AI_STATE
        | HEALTH
        | POINT_MASS
        | SKINNED_MESH
        | SOUND_SOURCE
        | TRANSFORM
        | WEAPON
    )


class EntityView(EntityViewBase):
    """One entity: its components are attributes, which follow it as `m[entity]` does.

    A component that it does not have is a MissingInstanceError.
    """

    __slots__ = ()

    ai_state = ManagedComponent(AiStateRef)
    boid = ManagedComponent(BoidRef)
    celestial_body = ManagedComponent(CelestialBodyRef)
    energy = ManagedComponent(EnergyRef)
    every_type = ManagedComponent(EveryTypeRef)
    footprint = ManagedComponent(FootprintRef)
    hawk = ManagedComponent(HawkRef)
    kin = ManagedComponent(KinRef)
    particle = ManagedComponent(ParticleRef)
    person = ManagedComponent(PersonRef)
    point_mass = ManagedComponent(PointMassRef)
    position = ManagedComponent(PositionRef)
    predator = ManagedComponent(PredatorRef)
    scene_node = ManagedComponent(SceneNodeRef)
    skinned_mesh = ManagedComponent(SkinnedMeshRef)
    sound_source = ManagedComponent(SoundSourceRef)
    static = ManagedComponent(StaticRef)
    status_effect = ManagedComponent(StatusEffectRef)
    tile = ManagedComponent(TileRef)
    transform = ManagedComponent(TransformRef)
    velocity = ManagedComponent(VelocityRef)
    villager = ManagedComponent(VillagerRef)
    armor = ChunkedComponent(ArmorRef)
    burning = ChunkedComponent(BurningRef)
    health = ChunkedComponent(HealthRef)
    weapon = ChunkedComponent(WeaponRef)


class MoversRows(NamedTuple):
    """Rows of the entities of `movers`: read-only arrays of equal length."""

    entity: EntityArray
    transform: RowArray
    point_mass: RowArray


class MoversRow(NamedTuple):
    """An entity of `movers`, and the rows of its components."""

    entity: Entity
    transform: Instance
    point_mass: Instance


class MoversQuery(RowQuery[MoversRows, MoversRow]):
    """Live entities with all of Transform, PointMass; none of Static.

    Computed on demand, again if a manager changed or an entity died since: O(rows of
    the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ()

    ROWS = MoversRows
    ROW = MoversRow
    _COLUMNS: ClassVar = (TransformColumns, PointMassColumns)
    _columns: tuple[TransformColumns, PointMassColumns]

    @property
    def transform(self) -> TransformColumns:
        """The columns of Transform, one cell per entity; assign to write."""
        return self._columns[0]

    @property
    def point_mass(self) -> PointMassColumns:
        """The columns of PointMass, one cell per entity; assign to write."""
        return self._columns[1]


class DrawnRows(NamedTuple):
    """Rows of the entities of `drawn`: read-only arrays of equal length."""

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


class DrawnQuery(RowQuery[DrawnRows, DrawnRow]):
    """Live entities with all of Transform; any of SkinnedMesh, Tile, Particle; optional
    AiState.

    Computed on demand, again if a manager changed or an entity died since: O(rows of
    the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ()

    ROWS = DrawnRows
    ROW = DrawnRow
    _COLUMNS: ClassVar = (TransformColumns, AiStateColumns)
    _columns: tuple[TransformColumns, AiStateColumns]

    @property
    def transform(self) -> TransformColumns:
        """The columns of Transform, one cell per entity; assign to write."""
        return self._columns[0]

    @property
    def ai_state(self) -> AiStateColumns:
        """The columns of AiState, one cell per entity; assign to write."""
        return self._columns[1]


class VisibleRows(NamedTuple):
    """Rows of the entities of `visible`: read-only arrays of equal length."""

    entity: EntityArray


class VisibleRow(NamedTuple):
    """An entity of `visible`, and the rows of its components."""

    entity: Entity


class VisibleQuery(RowQuery[VisibleRows, VisibleRow]):
    """Live entities with any of SkinnedMesh, Tile, Particle.

    Computed on demand, again if a manager changed or an entity died since: O(rows of
    the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ()

    ROWS = VisibleRows
    ROW = VisibleRow


class AfflictedRows(NamedTuple):
    """Rows of the entities of `afflicted`: read-only arrays of equal length."""

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


class AfflictedQuery(RowQuery[AfflictedRows, AfflictedRow]):
    """Live entities with all of StatusEffect, AiState; optional PointMass.

    Computed on demand, again if a manager changed or an entity died since: O(rows of
    the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ()

    ROWS = AfflictedRows
    ROW = AfflictedRow
    _COLUMNS: ClassVar = (StatusEffectColumns, AiStateColumns, PointMassColumns)
    _columns: tuple[StatusEffectColumns, AiStateColumns, PointMassColumns]

    @property
    def status_effect(self) -> StatusEffectColumns:
        """The columns of StatusEffect, one cell per entity; assign to write."""
        return self._columns[0]

    @property
    def ai_state(self) -> AiStateColumns:
        """The columns of AiState, one cell per entity; assign to write."""
        return self._columns[1]

    @property
    def point_mass(self) -> PointMassColumns:
        """The columns of PointMass, one cell per entity; assign to write."""
        return self._columns[2]


class GrazersRows(NamedTuple):
    """Rows of the entities of `grazers`: read-only arrays of equal length."""

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


class GrazersQuery(RowQuery[GrazersRows, GrazersRow]):
    """Live entities with all of Position, Velocity, Energy, Kin; none of Predator.

    Computed on demand, again if a manager changed or an entity died since: O(rows of
    the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ()

    ROWS = GrazersRows
    ROW = GrazersRow
    _COLUMNS: ClassVar = (PositionColumns, VelocityColumns, EnergyColumns, KinColumns)
    _columns: tuple[PositionColumns, VelocityColumns, EnergyColumns, KinColumns]

    @property
    def position(self) -> PositionColumns:
        """The columns of Position, one cell per entity; assign to write."""
        return self._columns[0]

    @property
    def velocity(self) -> VelocityColumns:
        """The columns of Velocity, one cell per entity; assign to write."""
        return self._columns[1]

    @property
    def energy(self) -> EnergyColumns:
        """The columns of Energy, one cell per entity; assign to write."""
        return self._columns[2]

    @property
    def kin(self) -> KinColumns:
        """The columns of Kin, one cell per entity; assign to write."""
        return self._columns[3]


class HuntersRows(NamedTuple):
    """Rows of the entities of `hunters`: read-only arrays of equal length."""

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


class HuntersQuery(RowQuery[HuntersRows, HuntersRow]):
    """Live entities with all of Position, Velocity, Energy, Kin, Predator.

    Computed on demand, again if a manager changed or an entity died since: O(rows of
    the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ()

    ROWS = HuntersRows
    ROW = HuntersRow
    _COLUMNS: ClassVar = (
        PositionColumns,
        VelocityColumns,
        EnergyColumns,
        KinColumns,
        PredatorColumns,
    )
    _columns: tuple[
        PositionColumns, VelocityColumns, EnergyColumns, KinColumns, PredatorColumns
    ]

    @property
    def position(self) -> PositionColumns:
        """The columns of Position, one cell per entity; assign to write."""
        return self._columns[0]

    @property
    def velocity(self) -> VelocityColumns:
        """The columns of Velocity, one cell per entity; assign to write."""
        return self._columns[1]

    @property
    def energy(self) -> EnergyColumns:
        """The columns of Energy, one cell per entity; assign to write."""
        return self._columns[2]

    @property
    def kin(self) -> KinColumns:
        """The columns of Kin, one cell per entity; assign to write."""
        return self._columns[3]

    @property
    def predator(self) -> PredatorColumns:
        """The columns of Predator, one cell per entity; assign to write."""
        return self._columns[4]


class HawksRows(NamedTuple):
    """Rows of the entities of `hawks`: read-only arrays of equal length."""

    entity: EntityArray
    boid: RowArray
    hawk: RowArray


class HawksRow(NamedTuple):
    """An entity of `hawks`, and the rows of its components."""

    entity: Entity
    boid: Instance
    hawk: Instance


class HawksQuery(RowQuery[HawksRows, HawksRow]):
    """Live entities with all of Boid, Hawk.

    Computed on demand, again if a manager changed or an entity died since: O(rows of
    the smallest manager) per component, otherwise O(components).
    """

    __slots__ = ()

    ROWS = HawksRows
    ROW = HawksRow
    _COLUMNS: ClassVar = (BoidColumns, HawkColumns)
    _columns: tuple[BoidColumns, HawkColumns]

    @property
    def boid(self) -> BoidColumns:
        """The columns of Boid, one cell per entity; assign to write."""
        return self._columns[0]

    @property
    def hawk(self) -> HawkColumns:
        """The columns of Hawk, one cell per entity; assign to write."""
        return self._columns[1]


class AblazeRows(NamedTuple):
    """The entities of `ablaze`; rows in chunks have no numbers."""

    entity: EntityArray
    """Read-only."""


class AblazeRow(NamedTuple):
    """An entity of `ablaze`."""

    entity: Entity


class AblazeQuery(ChunkQuery[ArchetypeChunk, AblazeRows, AblazeRow]):
    """Live entities with all of Health, Burning; none of Armor.

    They are found by the archetypes of their chunks: O(archetypes).
    """

    __slots__ = ()

    ALL: ClassVar = (Health, Burning)
    NONE: ClassVar = (Armor,)
    ROWS = AblazeRows
    ROW = AblazeRow


class FightersRows(NamedTuple):
    """The entities of `fighters`; rows in chunks have no numbers."""

    entity: EntityArray
    """Read-only."""


class FightersRow(NamedTuple):
    """An entity of `fighters`."""

    entity: Entity


class FightersQuery(ChunkQuery[ArchetypeChunk, FightersRows, FightersRow]):
    """Live entities with all of Weapon; any of Health, Armor; optional Burning.

    They are found by the archetypes of their chunks: O(archetypes).
    """

    __slots__ = ()

    ALL: ClassVar = (Weapon,)
    ANY: ClassVar = (Health, Armor)
    OPTIONAL: ClassVar = (Burning,)
    ROWS = FightersRows
    ROW = FightersRow


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
        Group.__init__(self, "bodies", _members, n)
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
        Group.__init__(self, "actors", _members, n)
        self.ai_state = AiStateGroupedData(ai_state.data)
        self.skinned_mesh = SkinnedMeshGroupedData(skinned_mesh.data)
        self.villager = VillagerGroupedData(villager.data)


class Game(
    SeededWorld,
    ReferencesWorld,
    RecordingWorld,
    SignatureWorld[Signature],
    ArchetypeWorld,
    SnapshotWorld,
):
    """A small game of all shipped components.

    `entities` creates entities; each component's manager is an attribute. Pickles and
    copies as a whole, without callbacks. Not thread-safe.
    """

    _MANAGERS: ClassVar = (
        "ai_state",
        "boid",
        "celestial_body",
        "energy",
        "every_type",
        "footprint",
        "hawk",
        "kin",
        "particle",
        "person",
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
        "meeting",
        "spark",
        "texture",
    )
    _QUERIES: ClassVar = (
        "movers",
        "drawn",
        "visible",
        "afflicted",
        "grazers",
        "hunters",
        "hawks",
        "ablaze",
        "fighters",
    )
    _GROUPS: ClassVar = ("bodies", "actors")
    _BUNDLES: ClassVar = ("spawn_prop", "spawn_creature", "spawn_armed", "spawn_hero")
    READ_ONLY: ClassVar = (
        "entities",
        "ai_state",
        "boid",
        "celestial_body",
        "energy",
        "every_type",
        "footprint",
        "hawk",
        "kin",
        "particle",
        "person",
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
        "meeting",
        "spark",
        "texture",
        "_stream_state",
        "_tick",
        "_recorded",
        "archetypes",
        "movers",
        "drawn",
        "visible",
        "afflicted",
        "grazers",
        "hunters",
        "hawks",
        "ablaze",
        "fighters",
        "bodies",
        "actors",
    )
    MANAGER_CLASSES: ClassVar = {
        "tile": TileManager,
        "ai_state": AiStateManager,
        "boid": BoidManager,
        "celestial_body": CelestialBodyManager,
        "energy": EnergyManager,
        "every_type": EveryTypeManager,
        "footprint": FootprintManager,
        "hawk": HawkManager,
        "kin": KinManager,
        "particle": ParticleManager,
        "person": PersonManager,
        "point_mass": PointMassManager,
        "position": PositionManager,
        "predator": PredatorManager,
        "scene_node": SceneNodeManager,
        "skinned_mesh": SkinnedMeshManager,
        "sound_source": SoundSourceManager,
        "static": StaticManager,
        "status_effect": StatusEffectManager,
        "transform": TransformManager,
        "velocity": VelocityManager,
        "villager": VillagerManager,
        "meeting": MeetingManager,
        "spark": SparkManager,
        "texture": TextureManager,
    }
    _RANDOM_KERNELS: ClassVar = {
        "stray": 0x5E51B3AD84E68E2E,
        "infect": 0xFF7992E5B48CDED8,
        "strike": 0x703AEED8FAA1A0EF,
    }
    _RECORD_TABLES: ClassVar = {
        "outbreak": _OutbreakTable,
        "ill": _IllTable,
    }
    _FLAGS = Signature
    _BUNDLE_VALUES: ClassVar = {
        "armed": {
            "health": {"points": 80.0, "recovery": 0.5},
            "weapon": {"reach": (0.0, 2.0), "name": "sword"},
        },
        "hero": {
            "health": {"points": 100.0, "recovery": 0.5},
            "point_mass": {"mass": 80.0},
            "weapon": {"reach": (0.0, 2.0), "name": "sword"},
        },
    }
    _FINGERPRINT: ClassVar = (
        "0af46510463f748e42dd09011f22b041a8ab8c886da7db53ba467285b9b3864e"
    )

    def __init__(self) -> None:
        self.entities = EntityManager()
        self.ai_state = self._manager_class(AiStateManager)(self.entities)
        self.boid = self._manager_class(BoidManager)(self.entities)
        self.celestial_body = self._manager_class(CelestialBodyManager)(self.entities)
        self.energy = self._manager_class(EnergyManager)(self.entities)
        self.every_type = self._manager_class(EveryTypeManager)(self.entities)
        self.footprint = self._manager_class(FootprintManager)(self.entities)
        self.hawk = self._manager_class(HawkManager)(self.entities)
        self.kin = self._manager_class(KinManager)(self.entities)
        self.particle = self._manager_class(ParticleManager)(self.entities)
        self.person = self._manager_class(PersonManager)(self.entities)
        self.point_mass = self._manager_class(PointMassManager)(self.entities)
        self.position = self._manager_class(PositionManager)(self.entities)
        self.predator = self._manager_class(PredatorManager)(self.entities)
        self.scene_node = self._manager_class(SceneNodeManager)(self.entities)
        self.skinned_mesh = self._manager_class(SkinnedMeshManager)(self.entities)
        self.sound_source = self._manager_class(SoundSourceManager)(self.entities)
        self.static = self._manager_class(StaticManager)(self.entities)
        self.status_effect = self._manager_class(StatusEffectManager)(self.entities)
        self.tile = self._manager_class(TileManager)(self.entities)
        self.transform = self._manager_class(TransformManager)(self.entities)
        self.velocity = self._manager_class(VelocityManager)(self.entities)
        self.villager = self._manager_class(VillagerManager)(self.entities)
        self.meeting = self._manager_class(MeetingManager)()
        self.spark = self._manager_class(SparkManager)()
        self.texture = self._manager_class(TextureManager)()
        self._managers = {
            AiState: self.ai_state,
            Boid: self.boid,
            CelestialBody: self.celestial_body,
            Energy: self.energy,
            EveryType: self.every_type,
            Footprint: self.footprint,
            Hawk: self.hawk,
            Kin: self.kin,
            Particle: self.particle,
            Person: self.person,
            PointMass: self.point_mass,
            Position: self.position,
            Predator: self.predator,
            SceneNode: self.scene_node,
            SkinnedMesh: self.skinned_mesh,
            SoundSource: self.sound_source,
            Static: self.static,
            StatusEffect: self.status_effect,
            Tile: self.tile,
            Transform: self.transform,
            Velocity: self.velocity,
            Villager: self.villager,
        }
        self.collecting_managers = (
            self.ai_state,
            self.boid,
            self.celestial_body,
            self.energy,
            self.every_type,
            self.hawk,
            self.kin,
            self.particle,
            self.person,
            self.point_mass,
            self.position,
            self.predator,
            self.static,
            self.status_effect,
            self.tile,
            self.transform,
            self.velocity,
            self.villager,
        )
        self._stream_state = StreamState()
        self.archetypes = Archetypes(self.entities)
        self._hold(self.archetypes)
        self.movers = MoversQuery(
            self.entities,
            (self.transform, self.point_mass),
            none_of=(self.static,),
        )
        self.drawn = DrawnQuery(
            self.entities,
            (self.transform,),
            any_of=(self.skinned_mesh, self.tile, self.particle),
            optional=(self.ai_state,),
        )
        self.visible = VisibleQuery(
            self.entities,
            (),
            any_of=(self.skinned_mesh, self.tile, self.particle),
        )
        self.afflicted = AfflictedQuery(
            self.entities,
            (self.status_effect, self.ai_state),
            optional=(self.point_mass,),
        )
        self.grazers = GrazersQuery(
            self.entities,
            (self.position, self.velocity, self.energy, self.kin),
            none_of=(self.predator,),
        )
        self.hunters = HuntersQuery(
            self.entities,
            (self.position, self.velocity, self.energy, self.kin, self.predator),
        )
        self.hawks = HawksQuery(
            self.entities,
            (self.boid, self.hawk),
        )
        self.ablaze = AblazeQuery(self.archetypes)
        self.fighters = FightersQuery(self.archetypes)
        self.bodies = BodiesGroup(self.position, self.velocity)
        self.actors = ActorsGroup(self.ai_state, self.skinned_mesh, self.villager)

    def spawn(
        self,
        n: int,
        *,
        ai_state: AiStateFields | AiState | None = None,
        boid: BoidFields | Boid | None = None,
        celestial_body: CelestialBodyFields | CelestialBody | None = None,
        energy: EnergyFields | Energy | None = None,
        every_type: EveryTypeFields | EveryType | None = None,
        footprint: FootprintFields | Footprint | None = None,
        hawk: HawkFields | Hawk | None = None,
        kin: KinFields | Kin | None = None,
        particle: ParticleFields | Particle | None = None,
        person: PersonFields | Person | None = None,
        point_mass: PointMassFields | PointMass | None = None,
        position: PositionFields | Position | None = None,
        predator: PredatorFields | Predator | None = None,
        scene_node: SceneNodeFields | SceneNode | None = None,
        skinned_mesh: SkinnedMeshFields | SkinnedMesh | None = None,
        sound_source: SoundSourceFields | SoundSource | None = None,
        static: StaticFields | Static | None = None,
        status_effect: StatusEffectFields | StatusEffect | None = None,
        tile: TileFields | Tile | None = None,
        transform: TransformFields | Transform | None = None,
        velocity: VelocityFields | Velocity | None = None,
        villager: VillagerFields | Villager | None = None,
        armor: ArmorFields | Armor | None = None,
        burning: BurningFields | Burning | None = None,
        health: HealthFields | Health | None = None,
        weapon: WeaponFields | Weapon | None = None,
        **_unknown: Never,
    ) -> EntityArray:
        """Create n entities with an instance of each component given; O(n) for each.

        A component takes a dict of columns by field, which broadcast to n rows, or one
        row for all; an empty dict stands for defaults. Raises what the managers'
        `create_many` do, and CapacityError; then there is no new entity, and no index
        or generation is used.
        """
        if _unknown:
            raise unknown_component_error(self.spawn, _unknown)
        return self._spawn(
            n,
            {
                Tile: tile,
                AiState: ai_state,
                Boid: boid,
                CelestialBody: celestial_body,
                Energy: energy,
                EveryType: every_type,
                Footprint: footprint,
                Hawk: hawk,
                Kin: kin,
                Particle: particle,
                Person: person,
                PointMass: point_mass,
                Position: position,
                Predator: predator,
                SceneNode: scene_node,
                SkinnedMesh: skinned_mesh,
                SoundSource: sound_source,
                Static: static,
                StatusEffect: status_effect,
                Transform: transform,
                Velocity: velocity,
                Villager: villager,
                Armor: armor,
                Burning: burning,
                Health: health,
                Weapon: weapon,
            },
        )

    @property
    def records(self) -> _Records:
        """The tables: each an attribute, `open` for the folder that their lines go to."""
        return _Records(self)

    def _line_of_outbreak(self) -> None:
        """Write a line of `outbreak`; O(rows)."""
        _rows = self._living_rows(
            self.person, self.person.data._n, self.entities.has_no_dead_rows
        )
        _value1_fold = CountReduction()
        _value2_fold = CountReduction()
        _value3_fold = IntegerSumReduction(np.uint64)
        _value4_fold = ExtremeReduction(np.maximum, np.uint16(0))
        _columns = (
            BlockColumn(self.person.data._condition_column, _rows.members[0]),
            BlockColumn(self.person.data._days_column, _rows.members[0]),
            BlockColumn(self.person.data._exposed_column, _rows.members[0]),
        )
        _working = (("?", (), False),)
        with np.errstate(all="ignore"):
            for (
                _n,
                person_condition,
                person_days,
                person_exposed,
                _tmp,
            ) in table_blocks(_rows.n, _columns, _working):
                np.equal(person_condition, _1_u8_recorded, out=_tmp)
                _value1_fold.add(_n, _tmp)
                np.less(person_days, _9_u16_recorded, out=_tmp)
                _value2_fold.add(_n, person_exposed, _tmp)
                _value3_fold.add(_n, person_days, person_exposed)
                _value4_fold.add(_n, person_days)
            _value1 = _value1_fold.result
            _value2 = _value2_fold.result
            _value3 = _value3_fold.result
            _value4 = _value4_fold.result
        _rows1 = matching_rows(self.grazers._join.match())
        _value5_fold = FloatSumReduction()
        _value6_fold = FloatSumReduction()
        _value7_fold = ValuesReduction(_rows1.n)
        _columns1 = (
            BlockColumn(rows_last(self.velocity.data._value_column), _rows1.members[1]),
            BlockColumn(self.energy.data._stored_column, _rows1.members[2]),
        )
        _working1 = (("?", (), False),)
        with np.errstate(all="ignore"):
            for (
                _n,
                velocity_value,
                energy_stored,
                _tmp,
            ) in table_blocks(_rows1.n, _columns1, _working1):
                np.greater(velocity_value[0], _0_0_f32_recorded, out=_tmp)
                _value5_fold.add(_n, energy_stored, _tmp)
                _value6_fold.add(_n, energy_stored)
                _value7_fold.add(_n, energy_stored)
            _value5 = _value5_fold.result
            _value6 = _value6_fold.result
            _value7 = _value7_fold.result
        _rows2 = self._living_rows(
            self.position, self.bodies.n, self.entities.has_no_dead_rows
        )
        _value8_fold = ValuesReduction(_rows2.n)
        _columns2 = (
            BlockColumn(rows_last(self.position.data._value_column), _rows2.members[0]),
        )
        _working2 = ()
        with np.errstate(all="ignore"):
            for _n, position_value in table_blocks(_rows2.n, _columns2, _working2):
                _value8_fold.add(_n, position_value[0])
            _value8 = _value8_fold.result
        _rows3 = leading_rows(len(self.ablaze))
        _value9_fold = FloatSumReduction()
        _columns3 = (BlockColumn(chunk_cells(self.ablaze, ChunkField(2, 0), "f4")),)
        _working3 = ()
        with np.errstate(all="ignore"):
            for _n, health_points in table_blocks(_rows3.n, _columns3, _working3):
                _value9_fold.add(_n, health_points)
            _value9 = _value9_fold.result
        self._write_line(
            "outbreak",
            _rows.n,
            _value1,
            _value2,
            _value3,
            extreme_of(_value4, _rows.n),
            _value5,
            mean_of(_value6, _rows1.n),
            gini_of(_value7),
            std_of(_value8),
            mean_of(_value9, _rows3.n),
        )

    def _line_of_ill(self) -> None:
        """Write a line for each row of `ill`; O(rows)."""
        _rows = self._living_rows(
            self.person, self.person.data._n, self.entities.has_no_dead_rows
        )
        _where_fold = ValuesReduction(_rows.n, np.bool_)
        _columns = (BlockColumn(self.person.data._condition_column, _rows.members[0]),)
        _working = (("?", (), False),)
        with np.errstate(all="ignore"):
            for _n, person_condition, _tmp in table_blocks(_rows.n, _columns, _working):
                np.equal(person_condition, _1_u8_recorded, out=_tmp)
                _where_fold.add(_n, _tmp)
            _where = _where_fold.result
        self._write_lines(
            "ill",
            _rows,
            _where,
            (self.person.data._entity_column, 0),
            (self.person.data._condition_column, 0),
            (self.person.data._exposed_column, 0),
        )

    @keyword_only
    def frame(self, *, strength: float, dt: float, gravity: float, heat: float) -> None:
        """Run kernels one after the other.

        As if called in this order; all arguments are checked before the first one runs.
        `strength` is in m/s; `dt` is in s; `gravity` is in m/s^2; `heat` is in 1/s.

        pass 1: stray reads Velocity.value, random numbers; writes Velocity.value.
        pass 1: drift reads Position.value, Velocity.value; writes Position.value.
        pass 2: carry reads Transform.translation, PointMass.velocity; writes
        Transform.translation.
        pass 3: PointMass.simulate reads PointMass.velocity, PointMass.acceleration,
        PointMass.position; writes PointMass.velocity, PointMass.position.
        pass 4: Particle.simulate reads Particle.velocity, Particle.position,
        Particle.life; writes Particle.velocity, Particle.position, Particle.life.
        pass 5: Spark.flicker reads Spark.velocity, Spark.heat, random numbers; writes
        Spark.velocity, Spark.heat.
        pass 6: scorch reads Health.points; writes Health.points.
        """
        _FRAME_STRENGTH_GIVEN.to_cell(strength)
        _FRAME_DT_GIVEN.to_cell(dt)
        _FRAME_GRAVITY_GIVEN.to_cell(gravity)
        _FRAME_HEAT_GIVEN.to_cell(heat)
        self._frame_1(strength, dt)
        self.carry(dt)
        self.point_mass.simulate(dt)
        self.particle.simulate(dt, gravity)
        self.spark.flicker(strength)
        self.scorch(dt, heat)

    @keyword_only
    def orbit(self, *, dt: float) -> None:
        """Run CelestialBody.kick, CelestialBody.drift.

        As if called in this order; all arguments are checked before the first one runs.
        `dt` is in s.

        pass 1: CelestialBody.kick reads CelestialBody.velocity,
        CelestialBody.acceleration; writes CelestialBody.velocity.
        pass 1: CelestialBody.drift reads CelestialBody.position,
        CelestialBody.velocity; writes CelestialBody.position.
        pass 1: CelestialBody.kick reads CelestialBody.velocity,
        CelestialBody.acceleration; writes CelestialBody.velocity.
        """
        _ORBIT_DT_GIVEN.to_cell(dt)
        self.celestial_body._orbit_1(dt)

    def watch(self) -> None:
        """Run outbreak, ill, tick.

        As if called in this order; all arguments are checked before the first one runs.

        pass 1: outbreak writes a line; reads Person.condition, Person.days,
        Person.exposed, Velocity.value, Energy.stored, Position.value, Health.points.
        pass 2: ill (at ticks 0, 7, …) writes a line; reads Person.condition,
        Person.exposed.
        pass 3: tick adds 1.
        """
        self._line_of_outbreak()
        if self._is_due(7, 0):
            self._line_of_ill()
        self.tick += 1

    def carry(self, dt: float) -> None:
        """Take the place of what moves along with its point mass.

        Reads Transform.translation [m], PointMass.velocity [m/s]; writes
        Transform.translation [m]; `dt` is in s. O(n), n rows; no structural change.
        """
        _dt = np.array(_CARRY_DT_ARGUMENT.to_cell(dt), np.float32)
        _match = self.movers._join.match()
        _blocks = self.transform.data._world_kernels.get("carry")
        if _blocks is None or _blocks.stamp != _match:
            _blocks = self._carry_blocks(_match)
        for transform_translation, point_mass_velocity, _tmp in _blocks:
            # Transform.translation += PointMass.velocity * dt
            np.multiply(point_mass_velocity, _dt, out=_tmp)
            transform_translation += _tmp

    def _carry_blocks(self, match: QueryMatch) -> JoinedKernelBlocks:
        """Cut the columns of `carry` into blocks; good until they move or the query
        matches anew."""
        columns = (
            BlockColumn(
                rows_last(self.transform.data._translation_column),
                match.members[0],
                True,
                True,
            ),
            BlockColumn(
                rows_last(self.point_mass.data._velocity_column), match.members[1]
            ),
        )
        working = (("f4", (3,), True),)
        holders = (self.transform.data, self.point_mass.data)
        blocks = JoinedKernelBlocks(match, match.count, columns, working)
        return blocks.keep("carry", holders)

    def drift(self, dt: float) -> None:
        """Move the bodies.

        Reads Position.value [m], Velocity.value [m/s]; writes Position.value [m]; `dt`
        is in s. O(n), n rows; no structural change.
        """
        _dt = np.array(_DRIFT_DT_ARGUMENT.to_cell(dt), np.float32)
        _n = self.bodies.n
        _blocks = self.position.data._world_kernels.get("drift")
        if _blocks is None or _blocks.stamp != _n:
            _blocks = self._drift_blocks(_n)
        for position_value, velocity_value, _tmp in _blocks:
            # Position.value += Velocity.value * dt
            np.multiply(velocity_value, _dt, out=_tmp)
            position_value += _tmp

    def _drift_blocks(self, n: int) -> JoinedKernelBlocks:
        """Cut the columns of `drift` into blocks; good until they move or the group's
        length changes."""
        columns = (
            BlockColumn(
                rows_last(self.position.data._value_column), slice(0, n), True, True
            ),
            BlockColumn(rows_last(self.velocity.data._value_column), slice(0, n)),
        )
        working = (("f4", (3,), True),)
        holders = (self.position.data, self.velocity.data)
        blocks = JoinedKernelBlocks(n, n, columns, working)
        return blocks.keep("drift", holders)

    def stray(self, strength: float) -> None:
        """Let the bodies stray from their ways, each by chance.

        Reads Velocity.value [m/s]; writes Velocity.value [m/s]; draws random numbers;
        `strength` is in m/s. O(n), n rows; no structural change.
        """
        _strength = np.float32(_STRAY_STRENGTH_ARGUMENT.to_cell(strength))
        _n = self.bodies.n
        _blocks = self.position.data._world_kernels.get("stray")
        if _blocks is None or _blocks.stamp != _n:
            _blocks = self._stray_blocks(_n)
        _key = self._next_call_key("stray")
        with np.errstate(all="ignore"):
            for (
                position_entity,
                velocity_value,
                _row_keys,
                _word,
                _bits,
                _tmp,
            ) in _blocks:
                derive_stream_keys(position_entity, _key, _row_keys, _bits)
                # Velocity.value += normal(3) * strength
                draw_normal(_row_keys, 0, _tmp, _word, _bits)
                _tmp *= _strength
                velocity_value += _tmp

    def _stray_blocks(self, n: int) -> JoinedKernelBlocks:
        """Cut the columns of `stray` into blocks; good until they move or the group's
        length changes."""
        columns = (
            BlockColumn(self.position.data._entity_column, slice(0, n)),
            BlockColumn(
                rows_last(self.velocity.data._value_column), slice(0, n), True, True
            ),
        )
        working = (
            ("u8", (), False),
            ("u8", (), False),
            ("u8", (), False),
            ("f8", (3,), False),
        )
        holders = (self.position.data, self.velocity.data)
        blocks = JoinedKernelBlocks(n, n, columns, working)
        return blocks.keep("stray", holders)

    def shove(self, push: ArrayLike) -> None:
        """Push each of the bodies as it is told.

        Reads Velocity.value [m/s]; writes Velocity.value [m/s]; `push` is in m/s. O(n),
        n rows; no structural change.

        A value for each row: `push` (n, 3), broadcast; n of as many entities.
        """
        _n = self.bodies.n
        _each_push = each_value(
            _SHOVE_PUSH_ARGUMENT, push, _n, self.velocity.data._buffer
        )
        check_unchanged(_n, self.bodies.n)
        _blocks = self.velocity.data._world_kernels.get("shove")
        if _blocks is None or _blocks.stamp != _n:
            _blocks = self._shove_blocks(_n)
        for velocity_value, _push in with_row_values(_blocks, rows_last(_each_push)):
            # Velocity.value += push
            velocity_value += _push

    def _shove_blocks(self, n: int) -> JoinedKernelBlocks:
        """Cut the columns of `shove` into blocks; good until they move or the group's
        length changes."""
        columns = (
            BlockColumn(
                rows_last(self.velocity.data._value_column), slice(0, n), True, True
            ),
        )
        working = ()
        holders = (self.velocity.data,)
        blocks = JoinedKernelBlocks(n, n, columns, working)
        return blocks.keep("shove", holders)

    def haul(self, share: ArrayLike, dt: float) -> None:
        """Carry what moves along, each as far as it is told.

        Reads Transform.translation [m], PointMass.velocity [m/s]; writes
        Transform.translation [m]; `dt` is in s. O(n), n rows; no structural change.

        A value for each row: `share` (n), broadcast; n of as many entities.
        """
        _dt = np.array(_HAUL_DT_ARGUMENT.to_cell(dt), np.float32)
        _match = self.movers._join.match()
        _each_share = each_value(
            _HAUL_SHARE_ARGUMENT, share, _match.count, self.transform.data._buffer
        )
        check_unchanged(_match, self.movers._join.match())
        _blocks = self.transform.data._world_kernels.get("haul")
        if _blocks is None or _blocks.stamp != _match:
            _blocks = self._haul_blocks(_match)
        for (
            transform_translation,
            point_mass_velocity,
            _where,
            _tmp,
            _tmp2,
            _share,
        ) in with_row_values(_blocks, rows_last(_each_share)):
            # where share > 0
            np.greater(_share, _0_0_f32, out=_where)
            if not _where.any():
                continue
            # Transform.translation += PointMass.velocity * (dt * share)
            np.multiply(_dt, _share, out=_tmp)
            np.multiply(point_mass_velocity, _tmp, out=_tmp2)
            np.add(transform_translation, _tmp2, out=_tmp2)
            put_where(transform_translation, _where, _tmp2)

    def _haul_blocks(self, match: QueryMatch) -> JoinedKernelBlocks:
        """Cut the columns of `haul` into blocks; good until they move or the query
        matches anew."""
        columns = (
            BlockColumn(
                rows_last(self.transform.data._translation_column),
                match.members[0],
                True,
                True,
            ),
            BlockColumn(
                rows_last(self.point_mass.data._velocity_column), match.members[1]
            ),
        )
        working = (("?", (), False), ("f4", (), False), ("f4", (3,), False))
        holders = (self.transform.data, self.point_mass.data)
        blocks = JoinedKernelBlocks(match, match.count, columns, working)
        return blocks.keep("haul", holders)

    def scorch(self, dt: float, heat: float) -> None:
        """Let fire take its toll of the unprotected.

        Reads Health.points; writes Health.points; `dt` is in s; `heat` is in 1/s. O(n),
        n rows; no structural change.
        """
        _dt = np.array(_SCORCH_DT_ARGUMENT.to_cell(dt), np.float32)
        _heat = np.array(_SCORCH_HEAT_ARGUMENT.to_cell(heat), np.float32)
        _blocks = self.archetypes.kernel_blocks.get("scorch") or self._scorch_blocks()
        _once = np.multiply(_heat, _dt)
        for health_points, _tmp in _blocks.current():
            # Health.points = max(Health.points - heat * dt, 0)
            np.subtract(health_points, _once, out=_tmp)
            np.maximum(_tmp, _0_0_f32, out=health_points)

    def _scorch_blocks(self) -> ChunkBlocks:
        """Cut the columns of `scorch` into blocks; these are kept."""
        fields = (ChunkField(2, 0),)
        working = (("f4", (), False),)
        blocks = ChunkBlocks(self.ablaze, fields, working)
        return blocks.keep("scorch")

    def strain(self, turn: ArrayLike, share: ArrayLike) -> None:
        """Turn each weapon as it is told.

        Reads Weapon.direction; writes Weapon.direction. O(n), n rows; no structural
        change.

        A value for each row: `turn` (n, 3), `share` (n), broadcast; n of as many
        entities.
        """
        _before = len(self.fighters)
        _each_turn = each_value(_STRAIN_TURN_ARGUMENT, turn, _before)
        _each_turn = _each_turn.copy()
        _each_share = each_value(_STRAIN_SHARE_ARGUMENT, share, _before)
        _each_share = _each_share.copy()
        check_unchanged(_before, len(self.fighters))
        _blocks = self.archetypes.kernel_blocks.get("strain") or self._strain_blocks()
        for (
            weapon_direction,
            _tmp,
            _turn,
            _share,
        ) in with_row_values(
            _blocks.current(), rows_last(_each_turn), rows_last(_each_share)
        ):
            # Weapon.direction += turn * share
            np.multiply(_turn, _share, out=_tmp)
            weapon_direction += _tmp

    def _strain_blocks(self) -> ChunkBlocks:
        """Cut the columns of `strain` into blocks; these are kept."""
        fields = (ChunkField(3, 2, (3,)),)
        working = (("f4", (3,), False),)
        blocks = ChunkBlocks(self.fighters, fields, working)
        return blocks.keep("strain")

    def parry(self, blow: ArrayLike, far: float) -> None:
        """Turn the weapons towards a blow; those that are out of reach keep their
        direction.

        Reads Weapon.reach [m], Weapon.direction; writes Weapon.direction. O(n), n rows;
        no structural change.
        """
        _blow = np.array(_PARRY_BLOW_ARGUMENT.to_cell(blow), np.float32).reshape(3, 1)
        _far = np.array(_PARRY_FAR_ARGUMENT.to_cell(far), np.float32)
        _blocks = self.archetypes.kernel_blocks.get("parry") or self._parry_blocks()
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
        """Cut the columns of `parry` into blocks; these are kept."""
        fields = (ChunkField(3, 1), ChunkField(3, 2, (3,)))
        working = (
            ("?", (), False),
            ("f4", (3,), False),
            ("f4", (), False),
            ("f4", (), False),
        )
        blocks = ChunkBlocks(self.fighters, fields, working)
        return blocks.keep("parry")

    def infect(self, chance: float, *, rows: ArrayLike | None = None) -> None:
        """Let each meeting carry the illness from one to the other, and back, by
        chance.

        Reads Meeting.other, Meeting.one; of others Person.condition; sends to
        Person.exposed; draws random numbers. O(n), n rows; no structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _chance = np.float64(_INFECT_CHANCE_ARGUMENT.to_cell(chance))
        _n = self.meeting.data._n
        _blocks = self.meeting.data._world_kernels.get("infect")
        if _blocks is None or _blocks.stamp != _n:
            _blocks = self._infect_blocks(_n)
        _views: Iterable[tuple[Any, ...]] = _blocks
        if rows is not None:
            _views = selected_blocks(_blocks, SelectedRows(self.meeting, rows).rows, ())
        _key = self._next_call_key("infect")
        _to_person_exposed = Messages(self.person.data._exposed_column, None, 2)
        _all_led = rows_of_live_entities(
            self.person,
            self.meeting.data._other_column[:_n],
            self.entities.has_no_dead_rows,
        )[slice(None) if rows is None else SelectedRows(self.meeting, rows).rows]
        _all_person_condition = self.person.data._condition_column
        _all_led2 = rows_of_live_entities(
            self.person,
            self.meeting.data._one_column[:_n],
            self.entities.has_no_dead_rows,
        )[slice(None) if rows is None else SelectedRows(self.meeting, rows).rows]
        for (
            meeting_id_slot,
            _row_keys,
            _word,
            _bits,
            _where,
            _tmp,
            _then,
            _led,
            _led2,
        ) in with_row_values(_views, _all_led, _all_led2):
            derive_stream_keys(
                ids_of(meeting_id_slot, self.meeting.data._id_generation_column),
                _key,
                _row_keys,
                _bits,
            )
            # where bernoulli(chance)
            draw_bernoulli(_row_keys, 0, _chance, _where, _word, _bits)
            if not _where.any():
                continue
            # if Meeting.other.Person.condition == Condition.infectious:
            take_others(_all_person_condition, _led, 0, _tmp)
            np.equal(_tmp, _1_u8, out=_then)
            np.logical_and(_where, _then, out=_then)
            if _then.any():
                # Meeting.one.Person.exposed = true
                _to_person_exposed.put(0, np.where(_then, _led2, NIL), np.bool_(True))
            # if Meeting.one.Person.condition == Condition.infectious:
            take_others(_all_person_condition, _led2, 0, _tmp)
            np.equal(_tmp, _1_u8, out=_then)
            np.logical_and(_where, _then, out=_then)
            if _then.any():
                # Meeting.other.Person.exposed = true
                _to_person_exposed.put(1, np.where(_then, _led, NIL), np.bool_(True))
            _to_person_exposed.send_all()

    def _infect_blocks(self, n: int) -> JoinedKernelBlocks:
        """Cut the columns of `infect` into blocks; good until they move or their number
        changes."""
        columns = (BlockColumn(self.meeting.data._id_slot_column, slice(0, n)),)
        working = (
            ("u8", (), False),
            ("u8", (), False),
            ("u8", (), False),
            ("?", (), False),
            ("u1", (), False),
            ("?", (), False),
        )
        holders = (self.meeting.data,)
        blocks = JoinedKernelBlocks(n, n, columns, working)
        return blocks.keep("infect", holders)

    def scatter(self, sight: float, *, rows: ArrayLike | None = None) -> None:
        """Let the boids turn away from the hawks that they see, the more the hungrier
        these are.

        Reads Boid.heading; writes Boid.heading; asks neighbours within `sight`, of whom
        it reads Hawk.hunger; `sight` is finite and above 0, or ValueError is raised;
        `sight` is in m. O(n log n + pairs in reach), n rows; no structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _sight = np.float32(_SCATTER_SIGHT_ARGUMENT.to_cell(sight))
        _radius = float(_sight)
        _n = self.boid.data._n
        _asked = self.hawks._join.match()
        _boid_rows = member_row_array(slice(0, _n))
        _boid_members = member_row_array(_asked.members[0])
        _hawk_members = member_row_array(_asked.members[1])
        _named = None if rows is None else SelectedRows(self.boid, rows).rows
        _rows = _boid_rows if _named is None else _named
        _search_arguments = join_search_arguments(
            "Game.scatter: sight",
            self.boid,
            _radius,
            _boid_rows,
            _boid_members,
            named=_named,
        )
        _search = NeighbourSearch(*_search_arguments)
        _columns = (
            BlockColumn(rows_last(self.boid.data._heading_column), _rows, True, True),
        )
        _other_members = (BlockColumn(self.hawk.data._hunger_column, _hawk_members),)
        _working = (
            ("?", (), False),
            ("i8", (), False),
            ("f4", (2,), False),
            ("f4", (2,), False),
            ("f4", (), False),
            ("f4", (), False),
        )
        _paired = (("f4", (), False), ("f4", (), False), ("f4", (2,), False))
        _blocks = NeighbourBlocks(_search, _columns, _other_members, _working, _paired)
        with np.errstate(all="ignore"):
            for (
                _pairs,
                boid_heading,
                _other_hawk_hunger,
                _where,
                _tmp,
                _tmp2,
                fear,
                _tmp3,
                _tmp4,
                _each,
                _each2,
                _each3,
            ) in _blocks:
                # where count() > 0
                _pairs.count(True, _tmp)
                np.greater(_tmp, _0_i64, out=_where)
                if not _where.any():
                    continue
                # fear = sum(normalize(offset) * other.Hawk.hunger)
                np.multiply(_pairs.offset[0], _pairs.offset[0], out=_each)
                np.multiply(_pairs.offset[1], _pairs.offset[1], out=_each2)
                _each += _each2
                np.sqrt(_each, out=_each)
                np.putmask(_each, _each == 0, 1)
                np.divide(_pairs.offset, _each, out=_each3)
                _each3 *= _other_hawk_hunger
                _pairs.sum(_each3, _tmp2)
                fear[...] = _tmp2
                # Boid.heading = normalize(Boid.heading - fear)
                np.subtract(boid_heading, fear, out=_tmp2)
                np.multiply(_tmp2[0], _tmp2[0], out=_tmp3)
                np.multiply(_tmp2[1], _tmp2[1], out=_tmp4)
                _tmp3 += _tmp4
                np.sqrt(_tmp3, out=_tmp3)
                np.putmask(_tmp3, _tmp3 == 0, 1)
                np.divide(_tmp2, _tmp3, out=_tmp2)
                put_where(boid_heading, _where, _tmp2)

    def huddle(self, reach: float, *, rows: ArrayLike | None = None) -> None:
        """Let the boids come together.

        Reads Boid.position [m]; writes Boid.position [m]; asks neighbours within
        `reach`; `reach` is finite and above 0, or ValueError is raised; `reach` is in
        m. O(n log n + pairs in reach), n rows; no structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _reach_ = np.float32(_HUDDLE_REACH_ARGUMENT.to_cell(reach))
        _radius = float(_reach_)
        _n = self.boid.data._n
        _boid_rows = member_row_array(slice(0, _n))
        _named = None if rows is None else SelectedRows(self.boid, rows).rows
        _rows = _boid_rows if _named is None else _named
        _search_arguments = join_search_arguments(
            "Game.huddle: reach", self.boid, _radius, _boid_rows, named=_named
        )
        _search = NeighbourSearch(*_search_arguments)
        _columns = (
            BlockColumn(rows_last(self.boid.data._position_column), _rows, True, True),
        )
        _other_members = ()
        _working = (("?", (), False), ("i8", (), False), ("f4", (2,), False))
        _paired = ()
        _blocks = NeighbourBlocks(_search, _columns, _other_members, _working, _paired)
        with np.errstate(all="ignore"):
            for _pairs, boid_position, _where, _tmp, _tmp2 in _blocks:
                # where count() > 0
                _pairs.count(True, _tmp)
                np.greater(_tmp, _0_i64, out=_where)
                if not _where.any():
                    continue
                # Boid.position += mean(offset) * 0.125
                _pairs.mean(_pairs.offset, _tmp2)
                _tmp2 *= _0_125_f32
                np.add(boid_position, _tmp2, out=_tmp2)
                put_where(boid_position, _where, _tmp2)

    def chase(self, sight: float) -> None:
        """Let the hawks turn towards the boids that they see.

        Reads Boid.heading; writes Boid.heading; asks neighbours within `sight`, of whom
        it reads Boid.heading; `sight` is finite and above 0, or ValueError is raised;
        `sight` is in m. O(n log n + pairs in reach), n rows; no structural change.
        """
        _sight = np.float32(_CHASE_SIGHT_ARGUMENT.to_cell(sight))
        _radius = float(_sight)
        _match = self.hawks._join.match()
        _asked = self.boid.data._n
        _boid_rows = member_row_array(_match.members[0])
        _boid_members = member_row_array(slice(0, _asked))
        _search_arguments = join_search_arguments(
            "Game.chase: sight", self.boid, _radius, _boid_rows, _boid_members
        )
        _search = NeighbourSearch(*_search_arguments)
        _columns = (
            BlockColumn(
                rows_last(self.boid.data._heading_column), _boid_rows, True, True
            ),
        )
        _other_members = (
            BlockColumn(rows_last(self.boid.data._heading_column), _boid_members),
        )
        _working = (("f4", (2,), False), ("f4", (), False), ("f4", (), False))
        _paired = (("f4", (2,), False),)
        _blocks = NeighbourBlocks(_search, _columns, _other_members, _working, _paired)
        with np.errstate(all="ignore"):
            for (
                _pairs,
                boid_heading,
                _other_boid_heading,
                _tmp,
                _tmp2,
                _tmp3,
                _each,
            ) in _blocks:
                # Boid.heading = normalize(Boid.heading + sum(offset + other.Boid.heading) * 0.25)
                np.add(_pairs.offset, _other_boid_heading, out=_each)
                _pairs.sum(_each, _tmp)
                _tmp *= _0_25_f32
                np.add(boid_heading, _tmp, out=_tmp)
                np.multiply(_tmp[0], _tmp[0], out=_tmp2)
                np.multiply(_tmp[1], _tmp[1], out=_tmp3)
                _tmp2 += _tmp3
                np.sqrt(_tmp2, out=_tmp2)
                np.putmask(_tmp2, _tmp2 == 0, 1)
                np.divide(_tmp, _tmp2, out=boid_heading)

    def part(self) -> None:
        """Let the hawks share what they know of hunger, and keep apart.

        Reads Hawk.hunger, Hawk.rivals, Boid.heading; writes Hawk.rivals, Hawk.hunger,
        Boid.heading; asks neighbours within 10, of whom it reads Hawk.hunger. O(n log n
        + pairs in reach), n rows; no structural change.
        """
        _radius = 10.0
        _match = self.hawks._join.match()
        _boid_rows = member_row_array(_match.members[0])
        _hawk_rows = member_row_array(_match.members[1])
        _search_arguments = join_search_arguments(
            "Game.part: radius", self.boid, _radius, _boid_rows
        )
        _search = NeighbourSearch(*_search_arguments)
        _columns = (
            BlockColumn(self.hawk.data._rivals_column, _hawk_rows, True, True),
            BlockColumn(self.hawk.data._hunger_column, _hawk_rows, True, True),
            BlockColumn(
                rows_last(self.boid.data._heading_column), _boid_rows, True, True
            ),
        )
        _other_members = (BlockColumn(self.hawk.data._hunger_column, _hawk_rows),)
        _working = (
            ("i8", (), False),
            ("f4", (), False),
            ("i4", (), False),
            ("f4", (), False),
            ("f4", (2,), False),
        )
        _paired = ()
        _blocks = NeighbourBlocks(_search, _columns, _other_members, _working, _paired)
        with np.errstate(all="ignore"):
            for (
                _pairs,
                hawk_rivals,
                hawk_hunger,
                boid_heading,
                _other_hawk_hunger,
                _tmp,
                _tmp2,
                _tmp3,
                _tmp4,
                _tmp5,
            ) in _blocks:
                # Hawk.rivals = i32(count())
                _pairs.count(True, _tmp)
                hawk_rivals[...] = _tmp
                # Hawk.hunger = (Hawk.hunger + sum(other.Hawk.hunger)) / f32(Hawk.rivals + 1)
                _pairs.sum(_other_hawk_hunger, _tmp2)
                np.add(hawk_hunger, _tmp2, out=_tmp2)
                np.add(hawk_rivals, _1_i32, out=_tmp3)
                _tmp4[...] = _tmp3
                np.divide(_tmp2, _tmp4, out=hawk_hunger)
                # Boid.heading -= sum(offset) * 0.05
                _pairs.sum(_pairs.offset, _tmp5)
                _tmp5 *= _0_05_f32
                boid_heading -= _tmp5

    def strike(self, reach: float) -> None:
        """Let the hawks dive one after the other, each at the nearest of those that fly
        then.

        Reads Hawk.hunger, Boid.position [m], Hawk.prey, Boid.heading; writes Hawk.prey,
        Hawk.hunger, Boid.position [m]; sends to Boid.position; rows take turns at
        random; asks neighbours within `reach`, of whom it reads Boid.entity; `reach` is
        finite and above 0, or ValueError is raised; `reach` is in m. O(n log n + pairs
        in reach), n rows; no structural change.
        """
        _reach_ = _STRIKE_REACH_ARGUMENT.to_cell(reach)
        _radius = float(np.float32(_reach_))
        _match = self.hawks._join.match()
        _asked = self.boid.data._n
        _boid_rows = member_row_array(_match.members[0])
        _boid_members = member_row_array(slice(0, _asked))
        _search_arguments = join_live_search_arguments(
            "Game.strike: reach", self.boid, _radius, _boid_rows, _boid_members
        )
        _key = self._next_call_key("strike")
        _order = turn_order(self.boid.data._entity_column[_match.rows[0]], _key)
        _cells = live_cell_list(*_search_arguments)
        with np.errstate(all="ignore"):
            _strike_kernel(
                _order.tolist(),
                _cells,
                _match.numbers(0),
                _match.numbers(1),
                _boid_members,
                self.boid.data._position_column.reshape(-1),
                self.boid.data._entity_column.data,
                self.hawk.data._prey_column.data,
                self.hawk.data._hunger_column,
                self.boid.data._heading_column.reshape(-1),
                self.boid.data._entity_column[: self.boid.data._n].data,
                INDEX_MASK,
                self.boid._sparse.data,
                self.entities.handles.data,
                self.entities.has_no_dead_rows,
                self.boid.data._position_column.reshape(-1),
            )

    def spread(self, apart: float) -> None:
        """Let the hawks move away from each other, one after the other.

        Reads Boid.position [m]; writes Boid.position [m]; rows take turns in their
        order; asks neighbours within `apart`; `apart` is finite and above 0, or
        ValueError is raised; `apart` is in m. O(n log n + pairs in reach), n rows; no
        structural change.
        """
        _apart = _SPREAD_APART_ARGUMENT.to_cell(apart)
        _radius = float(np.float64(_apart))
        _match = self.hawks._join.match()
        _boid_rows = member_row_array(_match.members[0])
        _search_arguments = join_live_search_arguments(
            "Game.spread: apart", self.boid, _radius, _boid_rows
        )
        _order = np.arange(_match.count)
        _cells = live_cell_list(*_search_arguments)
        with np.errstate(all="ignore"):
            _spread_kernel(
                _order.tolist(),
                _cells,
                _match.numbers(0),
                self.boid.data._position_column.reshape(-1),
            )

    def dodge(self, *, rows: ArrayLike | None = None) -> None:
        """Let the boids move out of the way of hawks, one after the other.

        Reads Boid.position [m]; writes Boid.position [m], Boid.heading; rows take turns
        in their order; asks neighbours within 5, of whom it reads Boid.heading. O(n log
        n + pairs in reach), n rows; no structural change.

        `rows`: only these, distinct and in this order, or a mask; StaleInstanceError
        for one that is not in use or given twice.
        """
        _radius = 5.0
        _n = self.boid.data._n
        _asked = self.hawks._join.match()
        _boid_rows = member_row_array(slice(0, _n))
        _boid_members = member_row_array(_asked.members[0])
        _search_arguments = join_live_search_arguments(
            "Game.dodge: radius", self.boid, _radius, _boid_rows, _boid_members
        )
        _chosen = None if rows is None else SelectedRows(self.boid, rows)
        _order = np.arange(_n) if _chosen is None else _chosen.rows
        _cells = live_cell_list(*_search_arguments)
        with np.errstate(all="ignore"):
            _dodge_kernel(
                _order.tolist(),
                _cells,
                _boid_members,
                self.boid.data._position_column.reshape(-1),
                self.boid.data._heading_column.reshape(-1),
            )

    def _frame_1(self, strength: float, dt: float) -> None:
        """Run `stray` and `drift` block by block, as if one after the other.

        Each block goes through all of them. O(n); no structural change.
        """
        _strength = np.array(_FRAME_1_STRENGTH_ARGUMENT.to_cell(strength), np.float32)
        _dt = np.array(_FRAME_1_DT_ARGUMENT.to_cell(dt), np.float32)
        _n = self.bodies.n
        _blocks = self.position.data._world_kernels.get("frame_1")
        if _blocks is None or _blocks.stamp != _n:
            _blocks = self._frame_1_blocks(_n)
        _key_0 = self._next_call_key("stray")
        for (
            position_entity,
            velocity_value,
            position_value,
            _row_keys,
            _word,
            _bits,
            _tmp,
            _tmp2,
        ) in _blocks:
            with np.errstate(all="ignore"):
                derive_stream_keys(position_entity, _key_0, _row_keys, _bits)
                # Velocity.value += normal(3) * strength
                draw_normal(_row_keys, 0, _tmp, _word, _bits)
                _tmp *= _strength
                velocity_value += _tmp
            # Position.value += Velocity.value * dt
            np.multiply(velocity_value, _dt, out=_tmp2)
            position_value += _tmp2

    def _frame_1_blocks(self, n: int) -> JoinedKernelBlocks:
        """Cut the columns of `frame_1` into blocks; good until they move or the group's
        length changes."""
        columns = (
            BlockColumn(self.position.data._entity_column, slice(0, n)),
            BlockColumn(
                rows_last(self.velocity.data._value_column), slice(0, n), True, True
            ),
            BlockColumn(
                rows_last(self.position.data._value_column), slice(0, n), True, True
            ),
        )
        working = (
            ("u8", (), False),
            ("u8", (), False),
            ("u8", (), False),
            ("f8", (3,), False),
            ("f4", (3,), True),
        )
        holders = (self.position.data, self.velocity.data)
        blocks = JoinedKernelBlocks(n, n, columns, working, 2)
        return blocks.keep("frame_1", holders)

    def __getitem__(self, entity: Entity, /) -> EntityView:
        """Return an entity with its components as attributes; O(1).

        Raises:
            StaleEntityError: it is dead.
        """
        return EntityView(self, entity)

    def spawn_prop(
        self,
        n: int,
        *,
        skinned_mesh: SkinnedMeshFields | SkinnedMesh | None = None,
        transform: TransformFields | Transform | None = None,
        **_unknown: Never,
    ) -> EntityArray:
        """Create n entities of this bundle; O(n) for each component.

        Give a component what you give it in `spawn`, or leave it out for its defaults.
        Raises what `spawn` raises; then nothing is created.
        """
        if _unknown:
            raise unknown_component_error(self.spawn_prop, _unknown)
        return self.spawn(
            n,
            skinned_mesh={} if skinned_mesh is None else skinned_mesh,
            transform={} if transform is None else transform,
        )

    def spawn_creature(
        self,
        n: int,
        *,
        ai_state: AiStateFields | AiState | None = None,
        skinned_mesh: SkinnedMeshFields | SkinnedMesh | None = None,
        transform: TransformFields | Transform | None = None,
        **_unknown: Never,
    ) -> EntityArray:
        """Create n entities of this bundle; O(n) for each component.

        Give a component what you give it in `spawn`, or leave it out for its defaults.
        Raises what `spawn` raises; then nothing is created.
        """
        if _unknown:
            raise unknown_component_error(self.spawn_creature, _unknown)
        return self.spawn(
            n,
            ai_state={} if ai_state is None else ai_state,
            skinned_mesh={} if skinned_mesh is None else skinned_mesh,
            transform={} if transform is None else transform,
        )

    def spawn_armed(
        self,
        n: int,
        *,
        health: HealthFields | Health | None = None,
        weapon: WeaponFields | Weapon | None = None,
        **_unknown: Never,
    ) -> EntityArray:
        """Create n entities of this bundle; O(n) for each component.

        Give a component what you give it in `spawn`; what you leave out has the bundle's values.
        Raises what `spawn` raises; then nothing is created.
        """
        if _unknown:
            raise unknown_component_error(self.spawn_armed, _unknown)
        _values = self.BUNDLE_VALUES["armed"]
        return self.spawn(
            n,
            health=fill_fields(health, _values["health"]),
            weapon=fill_fields(weapon, _values["weapon"]),
        )

    def spawn_hero(
        self,
        n: int,
        *,
        ai_state: AiStateFields | AiState | None = None,
        health: HealthFields | Health | None = None,
        point_mass: PointMassFields | PointMass | None = None,
        skinned_mesh: SkinnedMeshFields | SkinnedMesh | None = None,
        sound_source: SoundSourceFields | SoundSource | None = None,
        transform: TransformFields | Transform | None = None,
        weapon: WeaponFields | Weapon | None = None,
        **_unknown: Never,
    ) -> EntityArray:
        """Create n entities of this bundle; O(n) for each component.

        Give a component what you give it in `spawn`; what you leave out has the bundle's values.
        Raises what `spawn` raises; then nothing is created.
        """
        if _unknown:
            raise unknown_component_error(self.spawn_hero, _unknown)
        _values = self.BUNDLE_VALUES["hero"]
        return self.spawn(
            n,
            ai_state={} if ai_state is None else ai_state,
            health=fill_fields(health, _values["health"]),
            point_mass=fill_fields(point_mass, _values["point_mass"]),
            skinned_mesh={} if skinned_mesh is None else skinned_mesh,
            sound_source={} if sound_source is None else sound_source,
            transform={} if transform is None else transform,
            weapon=fill_fields(weapon, _values["weapon"]),
        )

    @staticmethod
    def _schema() -> ModuleType:
        from . import _schema

        return _schema


World = Game
