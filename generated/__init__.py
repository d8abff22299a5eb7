"""Game: generated component managers, each with its columns in one buffer."""

from ._runtime.columns.field_info import FieldInfo
from ._runtime.errors import (
    BrokenManagerError,
    CapacityError,
    DuplicateInstanceError,
    DuplicateValueError,
    EcsError,
    HierarchyError,
    MissingInstanceError,
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
from .ai_state import AiState, AiStateManager
from .archetypes import ArchetypeChunk, Archetypes
from .armor import Armor
from .burning import Burning
from .celestial_body import CelestialBody, CelestialBodyManager
from .energy import Energy, EnergyManager
from .entities import EntityManager
from .enums import Access, Animation, Effect, Element, Loot, Mode
from .every_type import EveryType, EveryTypeManager
from .footprint import Footprint, FootprintManager
from .health import Health
from .kin import Kin, KinManager
from .particle import Particle, ParticleManager
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
    "BrokenManagerError",
    "Burning",
    "CapacityError",
    "CelestialBody",
    "CelestialBodyManager",
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
    "MissingInstanceError",
    "Mode",
    "Particle",
    "ParticleManager",
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
