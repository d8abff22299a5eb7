"""Game: generated component managers, each with its columns in one buffer.

A module is loaded when one of its names is used for the first time.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._runtime.columns.field_info import FieldInfo
    from ._runtime.draws import Draws
    from ._runtime.errors import (
        BrokenManagerError,
        CapacityError,
        DuplicateInstanceError,
        DuplicateValueError,
        EcsError,
        HierarchyError,
        MissingInstanceError,
        SnapshotError,
        StaleEntityError,
        StaleIdError,
        StaleInstanceError,
        StaleViewWarning,
        StructureLockedError,
    )
    from ._runtime.handles import (
        NIL,
        NULL_ENTITY,
        Entity,
        EntityArray,
        Id,
        Instance,
        RowArray,
    )
    from ._runtime.snapshots.tables import Snapshot, SnapshotTable
    from ._runtime.spaces.spaced import Neighbours
    from .ai_state import AiState, AiStateManager
    from .archetypes import ArchetypeChunk, Archetypes
    from .armor import Armor
    from .boid import Boid, BoidManager
    from .burning import Burning
    from .celestial_body import CelestialBody, CelestialBodyManager
    from .energy import Energy, EnergyManager
    from .entities import EntityManager
    from .enums import Access, Animation, Condition, Effect, Element, Loot, Mode
    from .every_type import EveryType, EveryTypeManager
    from .footprint import Footprint, FootprintManager
    from .health import Health
    from .kin import Kin, KinManager
    from .meeting import Meeting, MeetingManager
    from .particle import Particle, ParticleManager
    from .person import Person, PersonManager
    from .point_mass import PointMass, PointMassManager
    from .position import Position, PositionManager
    from .predator import Predator, PredatorManager
    from .scene_node import SceneNode, SceneNodeManager
    from .skinned_mesh import SkinnedMesh, SkinnedMeshManager
    from .sound_source import SoundSource, SoundSourceManager
    from .spark import Spark, SparkManager
    from .static import Static, StaticManager
    from .status_effect import StatusEffect, StatusEffectManager
    from .texture import Texture, TextureManager
    from .tile import Tile, TileManager
    from .transform import Transform, TransformManager
    from .velocity import Velocity, VelocityManager
    from .villager import Villager, VillagerManager
    from .weapon import Weapon
    from .world import ActorsGroup, BodiesGroup, EntityView, Game, Signature, World
else:
    from ._runtime.lazy import lazy_names as _lazy_names

    __getattr__, __dir__ = _lazy_names(
        __name__,
        {
            "._runtime.errors": (
                "BrokenManagerError",
                "CapacityError",
                "DuplicateInstanceError",
                "DuplicateValueError",
                "EcsError",
                "HierarchyError",
                "MissingInstanceError",
                "SnapshotError",
                "StaleEntityError",
                "StaleIdError",
                "StaleInstanceError",
                "StaleViewWarning",
                "StructureLockedError",
            ),
            "._runtime.handles": (
                "Entity",
                "EntityArray",
                "Id",
                "Instance",
                "NIL",
                "NULL_ENTITY",
                "RowArray",
            ),
            "._runtime.columns.field_info": ("FieldInfo",),
            "._runtime.draws": ("Draws",),
            "._runtime.spaces.spaced": ("Neighbours",),
            ".entities": ("EntityManager",),
            ".world": (
                "ActorsGroup",
                "BodiesGroup",
                "EntityView",
                "Game",
                "Signature",
                "World",
            ),
            ".ai_state": ("AiState", "AiStateManager"),
            ".armor": ("Armor",),
            ".boid": ("Boid", "BoidManager"),
            ".burning": ("Burning",),
            ".celestial_body": ("CelestialBody", "CelestialBodyManager"),
            ".energy": ("Energy", "EnergyManager"),
            ".every_type": ("EveryType", "EveryTypeManager"),
            ".footprint": ("Footprint", "FootprintManager"),
            ".health": ("Health",),
            ".kin": ("Kin", "KinManager"),
            ".meeting": ("Meeting", "MeetingManager"),
            ".particle": ("Particle", "ParticleManager"),
            ".person": ("Person", "PersonManager"),
            ".point_mass": ("PointMass", "PointMassManager"),
            ".position": ("Position", "PositionManager"),
            ".predator": ("Predator", "PredatorManager"),
            ".scene_node": ("SceneNode", "SceneNodeManager"),
            ".skinned_mesh": ("SkinnedMesh", "SkinnedMeshManager"),
            ".sound_source": ("SoundSource", "SoundSourceManager"),
            ".spark": ("Spark", "SparkManager"),
            ".static": ("Static", "StaticManager"),
            ".status_effect": ("StatusEffect", "StatusEffectManager"),
            ".texture": ("Texture", "TextureManager"),
            ".tile": ("Tile", "TileManager"),
            ".transform": ("Transform", "TransformManager"),
            ".velocity": ("Velocity", "VelocityManager"),
            ".villager": ("Villager", "VillagerManager"),
            ".weapon": ("Weapon",),
            ".archetypes": ("ArchetypeChunk", "Archetypes"),
            ".enums": (
                "Access",
                "Animation",
                "Condition",
                "Effect",
                "Element",
                "Loot",
                "Mode",
            ),
            "._runtime.snapshots.tables": ("Snapshot", "SnapshotTable"),
        },
    )

__all__ = [
    "NIL",
    "NULL_ENTITY",
    "Access",
    "ActorsGroup",
    "AiState",
    "AiStateManager",
    "Animation",
    "ArchetypeChunk",
    "Archetypes",
    "Armor",
    "BodiesGroup",
    "Boid",
    "BoidManager",
    "BrokenManagerError",
    "Burning",
    "CapacityError",
    "CelestialBody",
    "CelestialBodyManager",
    "Condition",
    "Draws",
    "DuplicateInstanceError",
    "DuplicateValueError",
    "EcsError",
    "Effect",
    "Element",
    "Energy",
    "EnergyManager",
    "Entity",
    "EntityArray",
    "EntityManager",
    "EntityView",
    "EveryType",
    "EveryTypeManager",
    "FieldInfo",
    "Footprint",
    "FootprintManager",
    "Game",
    "Health",
    "HierarchyError",
    "Id",
    "Instance",
    "Kin",
    "KinManager",
    "Loot",
    "Meeting",
    "MeetingManager",
    "MissingInstanceError",
    "Mode",
    "Neighbours",
    "Particle",
    "ParticleManager",
    "Person",
    "PersonManager",
    "PointMass",
    "PointMassManager",
    "Position",
    "PositionManager",
    "Predator",
    "PredatorManager",
    "RowArray",
    "SceneNode",
    "SceneNodeManager",
    "Signature",
    "SkinnedMesh",
    "SkinnedMeshManager",
    "Snapshot",
    "SnapshotError",
    "SnapshotTable",
    "SoundSource",
    "SoundSourceManager",
    "Spark",
    "SparkManager",
    "StaleEntityError",
    "StaleIdError",
    "StaleInstanceError",
    "StaleViewWarning",
    "Static",
    "StaticManager",
    "StatusEffect",
    "StatusEffectManager",
    "StructureLockedError",
    "Texture",
    "TextureManager",
    "Tile",
    "TileManager",
    "Transform",
    "TransformManager",
    "Velocity",
    "VelocityManager",
    "Villager",
    "VillagerManager",
    "Weapon",
    "World",
]
