"""Game: generated component managers, each with its columns in one buffer.

A module is loaded when one of its names is used for the first time.
"""

from typing import TYPE_CHECKING

from ecsgen_runtime.package import lazy_names as _lazy_names
from ecsgen_runtime.package import require as _require

__ecsgen__ = "0.1.0"
_require(__name__, interface=7, made_by=__ecsgen__)

if TYPE_CHECKING:
    from ecsgen_runtime import Sweep as Sweep
    from ecsgen_runtime import sweep as sweep
    from ecsgen_runtime.base.handles import Neighbours as Neighbours
    from ecsgen_runtime.exported import *
    from ecsgen_runtime.kernels.seeding import Draws as Draws

    from .ai_state import AiState as AiState
    from .ai_state import AiStateColumns as AiStateColumns
    from .ai_state import AiStateData as AiStateData
    from .ai_state import AiStateFields as AiStateFields
    from .ai_state import AiStateGroupedData as AiStateGroupedData
    from .ai_state import AiStateManager as AiStateManager
    from .ai_state import AiStateRef as AiStateRef
    from .archetypes import ArchetypeChunk as ArchetypeChunk
    from .archetypes import Archetypes as Archetypes
    from .armor import Armor as Armor
    from .armor import ArmorData as ArmorData
    from .armor import ArmorFields as ArmorFields
    from .armor import ArmorRef as ArmorRef
    from .armor import ArmorValues as ArmorValues
    from .boid import Boid as Boid
    from .boid import BoidColumns as BoidColumns
    from .boid import BoidData as BoidData
    from .boid import BoidFields as BoidFields
    from .boid import BoidManager as BoidManager
    from .boid import BoidRef as BoidRef
    from .burning import Burning as Burning
    from .burning import BurningData as BurningData
    from .burning import BurningFields as BurningFields
    from .burning import BurningRef as BurningRef
    from .burning import BurningValues as BurningValues
    from .celestial_body import CelestialBody as CelestialBody
    from .celestial_body import CelestialBodyData as CelestialBodyData
    from .celestial_body import CelestialBodyFields as CelestialBodyFields
    from .celestial_body import CelestialBodyManager as CelestialBodyManager
    from .celestial_body import CelestialBodyRef as CelestialBodyRef
    from .energy import Energy as Energy
    from .energy import EnergyColumns as EnergyColumns
    from .energy import EnergyData as EnergyData
    from .energy import EnergyFields as EnergyFields
    from .energy import EnergyManager as EnergyManager
    from .energy import EnergyRef as EnergyRef
    from .entities import EntityManager as EntityManager
    from .enums import Access as Access
    from .enums import Animation as Animation
    from .enums import Condition as Condition
    from .enums import Effect as Effect
    from .enums import Element as Element
    from .enums import Loot as Loot
    from .enums import Mode as Mode
    from .every_type import EveryType as EveryType
    from .every_type import EveryTypeData as EveryTypeData
    from .every_type import EveryTypeFields as EveryTypeFields
    from .every_type import EveryTypeManager as EveryTypeManager
    from .every_type import EveryTypeRef as EveryTypeRef
    from .footprint import Footprint as Footprint
    from .footprint import FootprintData as FootprintData
    from .footprint import FootprintFields as FootprintFields
    from .footprint import FootprintManager as FootprintManager
    from .footprint import FootprintRef as FootprintRef
    from .hawk import Hawk as Hawk
    from .hawk import HawkColumns as HawkColumns
    from .hawk import HawkData as HawkData
    from .hawk import HawkFields as HawkFields
    from .hawk import HawkManager as HawkManager
    from .hawk import HawkRef as HawkRef
    from .health import Health as Health
    from .health import HealthData as HealthData
    from .health import HealthFields as HealthFields
    from .health import HealthRef as HealthRef
    from .health import HealthValues as HealthValues
    from .kin import Kin as Kin
    from .kin import KinColumns as KinColumns
    from .kin import KinData as KinData
    from .kin import KinFields as KinFields
    from .kin import KinManager as KinManager
    from .kin import KinRef as KinRef
    from .meeting import Meeting as Meeting
    from .meeting import MeetingData as MeetingData
    from .meeting import MeetingFields as MeetingFields
    from .meeting import MeetingManager as MeetingManager
    from .meeting import MeetingRef as MeetingRef
    from .particle import Particle as Particle
    from .particle import ParticleData as ParticleData
    from .particle import ParticleFields as ParticleFields
    from .particle import ParticleManager as ParticleManager
    from .particle import ParticleRef as ParticleRef
    from .person import Person as Person
    from .person import PersonData as PersonData
    from .person import PersonFields as PersonFields
    from .person import PersonManager as PersonManager
    from .person import PersonRef as PersonRef
    from .point_mass import PointMass as PointMass
    from .point_mass import PointMassColumns as PointMassColumns
    from .point_mass import PointMassData as PointMassData
    from .point_mass import PointMassFields as PointMassFields
    from .point_mass import PointMassManager as PointMassManager
    from .point_mass import PointMassRef as PointMassRef
    from .position import Position as Position
    from .position import PositionColumns as PositionColumns
    from .position import PositionData as PositionData
    from .position import PositionFields as PositionFields
    from .position import PositionGroupedData as PositionGroupedData
    from .position import PositionManager as PositionManager
    from .position import PositionRef as PositionRef
    from .predator import Predator as Predator
    from .predator import PredatorColumns as PredatorColumns
    from .predator import PredatorData as PredatorData
    from .predator import PredatorFields as PredatorFields
    from .predator import PredatorManager as PredatorManager
    from .predator import PredatorRef as PredatorRef
    from .scene_node import SceneNode as SceneNode
    from .scene_node import SceneNodeData as SceneNodeData
    from .scene_node import SceneNodeFields as SceneNodeFields
    from .scene_node import SceneNodeManager as SceneNodeManager
    from .scene_node import SceneNodeRef as SceneNodeRef
    from .skinned_mesh import SkinnedMesh as SkinnedMesh
    from .skinned_mesh import SkinnedMeshData as SkinnedMeshData
    from .skinned_mesh import SkinnedMeshFields as SkinnedMeshFields
    from .skinned_mesh import SkinnedMeshGroupedData as SkinnedMeshGroupedData
    from .skinned_mesh import SkinnedMeshManager as SkinnedMeshManager
    from .skinned_mesh import SkinnedMeshRef as SkinnedMeshRef
    from .sound_source import SoundSource as SoundSource
    from .sound_source import SoundSourceData as SoundSourceData
    from .sound_source import SoundSourceFields as SoundSourceFields
    from .sound_source import SoundSourceManager as SoundSourceManager
    from .sound_source import SoundSourceRef as SoundSourceRef
    from .spark import Spark as Spark
    from .spark import SparkData as SparkData
    from .spark import SparkFields as SparkFields
    from .spark import SparkManager as SparkManager
    from .spark import SparkRef as SparkRef
    from .static import Static as Static
    from .static import StaticData as StaticData
    from .static import StaticFields as StaticFields
    from .static import StaticManager as StaticManager
    from .static import StaticRef as StaticRef
    from .status_effect import StatusEffect as StatusEffect
    from .status_effect import StatusEffectColumns as StatusEffectColumns
    from .status_effect import StatusEffectData as StatusEffectData
    from .status_effect import StatusEffectFields as StatusEffectFields
    from .status_effect import StatusEffectManager as StatusEffectManager
    from .status_effect import StatusEffectRef as StatusEffectRef
    from .texture import Texture as Texture
    from .texture import TextureData as TextureData
    from .texture import TextureFields as TextureFields
    from .texture import TextureManager as TextureManager
    from .texture import TextureRef as TextureRef
    from .tile import Tile as Tile
    from .tile import TileData as TileData
    from .tile import TileFields as TileFields
    from .tile import TileManager as TileManager
    from .tile import TileRef as TileRef
    from .transform import Transform as Transform
    from .transform import TransformColumns as TransformColumns
    from .transform import TransformData as TransformData
    from .transform import TransformFields as TransformFields
    from .transform import TransformManager as TransformManager
    from .transform import TransformRef as TransformRef
    from .velocity import Velocity as Velocity
    from .velocity import VelocityColumns as VelocityColumns
    from .velocity import VelocityData as VelocityData
    from .velocity import VelocityFields as VelocityFields
    from .velocity import VelocityGroupedData as VelocityGroupedData
    from .velocity import VelocityManager as VelocityManager
    from .velocity import VelocityRef as VelocityRef
    from .villager import Villager as Villager
    from .villager import VillagerData as VillagerData
    from .villager import VillagerFields as VillagerFields
    from .villager import VillagerGroupedData as VillagerGroupedData
    from .villager import VillagerManager as VillagerManager
    from .villager import VillagerRef as VillagerRef
    from .weapon import Weapon as Weapon
    from .weapon import WeaponData as WeaponData
    from .weapon import WeaponFields as WeaponFields
    from .weapon import WeaponRef as WeaponRef
    from .weapon import WeaponValues as WeaponValues
    from .world import AblazeQuery as AblazeQuery
    from .world import AblazeRow as AblazeRow
    from .world import AblazeRows as AblazeRows
    from .world import ActorsGroup as ActorsGroup
    from .world import AfflictedQuery as AfflictedQuery
    from .world import AfflictedRow as AfflictedRow
    from .world import AfflictedRows as AfflictedRows
    from .world import BodiesGroup as BodiesGroup
    from .world import DrawnQuery as DrawnQuery
    from .world import DrawnRow as DrawnRow
    from .world import DrawnRows as DrawnRows
    from .world import EntityView as EntityView
    from .world import FightersQuery as FightersQuery
    from .world import FightersRow as FightersRow
    from .world import FightersRows as FightersRows
    from .world import Game as Game
    from .world import GrazersQuery as GrazersQuery
    from .world import GrazersRow as GrazersRow
    from .world import GrazersRows as GrazersRows
    from .world import HawksQuery as HawksQuery
    from .world import HawksRow as HawksRow
    from .world import HawksRows as HawksRows
    from .world import HuntersQuery as HuntersQuery
    from .world import HuntersRow as HuntersRow
    from .world import HuntersRows as HuntersRows
    from .world import MoversQuery as MoversQuery
    from .world import MoversRow as MoversRow
    from .world import MoversRows as MoversRows
    from .world import Signature as Signature
    from .world import VisibleQuery as VisibleQuery
    from .world import VisibleRow as VisibleRow
    from .world import VisibleRows as VisibleRows
    from .world import World as World
else:
    __getattr__, __dir__, __all__ = _lazy_names(
        __name__,
        {
            ".ai_state": "AiState AiStateColumns AiStateData AiStateFields"
            " AiStateGroupedData AiStateManager AiStateRef",
            ".archetypes": "ArchetypeChunk Archetypes",
            ".armor": "Armor ArmorData ArmorFields ArmorRef ArmorValues",
            ".boid": "Boid BoidColumns BoidData BoidFields BoidManager BoidRef",
            ".burning": "Burning BurningData BurningFields BurningRef BurningValues",
            ".celestial_body": "CelestialBody CelestialBodyData CelestialBodyFields"
            " CelestialBodyManager CelestialBodyRef",
            ".energy": "Energy EnergyColumns EnergyData EnergyFields EnergyManager"
            " EnergyRef",
            ".entities": "EntityManager",
            ".enums": "Access Animation Condition Effect Element Loot Mode",
            ".every_type": "EveryType EveryTypeData EveryTypeFields EveryTypeManager"
            " EveryTypeRef",
            ".footprint": "Footprint FootprintData FootprintFields FootprintManager"
            " FootprintRef",
            ".hawk": "Hawk HawkColumns HawkData HawkFields HawkManager HawkRef",
            ".health": "Health HealthData HealthFields HealthRef HealthValues",
            ".kin": "Kin KinColumns KinData KinFields KinManager KinRef",
            ".meeting": "Meeting MeetingData MeetingFields MeetingManager MeetingRef",
            ".particle": "Particle ParticleData ParticleFields ParticleManager"
            " ParticleRef",
            ".person": "Person PersonData PersonFields PersonManager PersonRef",
            ".point_mass": "PointMass PointMassColumns PointMassData PointMassFields"
            " PointMassManager PointMassRef",
            ".position": "Position PositionColumns PositionData PositionFields"
            " PositionGroupedData PositionManager PositionRef",
            ".predator": "Predator PredatorColumns PredatorData PredatorFields"
            " PredatorManager PredatorRef",
            ".scene_node": "SceneNode SceneNodeData SceneNodeFields SceneNodeManager"
            " SceneNodeRef",
            ".skinned_mesh": "SkinnedMesh SkinnedMeshData SkinnedMeshFields"
            " SkinnedMeshGroupedData SkinnedMeshManager"
            " SkinnedMeshRef",
            ".sound_source": "SoundSource SoundSourceData SoundSourceFields"
            " SoundSourceManager SoundSourceRef",
            ".spark": "Spark SparkData SparkFields SparkManager SparkRef",
            ".static": "Static StaticData StaticFields StaticManager StaticRef",
            ".status_effect": "StatusEffect StatusEffectColumns StatusEffectData"
            " StatusEffectFields StatusEffectManager StatusEffectRef",
            ".texture": "Texture TextureData TextureFields TextureManager TextureRef",
            ".tile": "Tile TileData TileFields TileManager TileRef",
            ".transform": "Transform TransformColumns TransformData TransformFields"
            " TransformManager TransformRef",
            ".velocity": "Velocity VelocityColumns VelocityData VelocityFields"
            " VelocityGroupedData VelocityManager VelocityRef",
            ".villager": "Villager VillagerData VillagerFields VillagerGroupedData"
            " VillagerManager VillagerRef",
            ".weapon": "Weapon WeaponData WeaponFields WeaponRef WeaponValues",
            ".world": "AblazeQuery AblazeRow AblazeRows ActorsGroup AfflictedQuery"
            " AfflictedRow AfflictedRows BodiesGroup DrawnQuery DrawnRow"
            " DrawnRows EntityView FightersQuery FightersRow FightersRows"
            " Game GrazersQuery GrazersRow GrazersRows HawksQuery HawksRow"
            " HawksRows HuntersQuery HuntersRow HuntersRows MoversQuery"
            " MoversRow MoversRows Signature VisibleQuery VisibleRow"
            " VisibleRows World",
        },
        "Draws Neighbours",
    )
