"""Features of worlds: an entry here and a template each.

Code that all worlds share is in `runtime/ecsgen_runtime/`; templates have what names components.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ecsgen.model import Project
from ecsgen.model.schedules import has_time
from ecsgen.schema.names import group_class

Names = Callable[[Project], tuple[str, ...]]

_WORD_BITS: Final = 64


@dataclass(frozen=True, slots=True)
class WorldFeature:
    """A feature of the world: when it is active, and what it adds.

    Code that worlds share is in its base class in the library. Code that names components is in the
    blocks of `templates/world_features/<name>.py.j2`; see `BLOCKS`. Their `it` is from
    `ecsgen/render/world/world_module.py`.
    """

    name: str
    applies: Callable[[Project], bool]
    base: Callable[[Project], str] = lambda project: ""
    """Base class of the world."""
    attributes: Names = lambda project: ()
    """Attributes of the world that users cannot assign to; `init` sets them."""
    parameters: Names = lambda project: ()
    """Parameters of the world's `__init__`, with their defaults."""
    exports: Names = lambda project: ()
    """Names of `world.py` that users import from the package."""


BLOCKS = {
    "classes": "before the world's class",
    "constants": "at the top of the world's class",
    "init": "at the end of the world's `__init__`",
    "methods": "in the world's class",
    "tests": "in the generated `test_world.py`",
}
"""Blocks of a feature's template, and where they are rendered."""


def _draws(project: Project) -> bool:
    kernels = [kernel for component in project.components for kernel in component.kernels]
    return any(kernel.program.stream_field for kernel in (*kernels, *project.world.kernels))


def _signature_base(project: Project) -> str:
    fits = len(project.owned_components) <= _WORD_BITS
    return "SignatureWorld[Signature]" if fits else "WideSignatureWorld[Signature]"


def _view_base(project: Project) -> str:
    is_base = project.world.archetypes or any(c.requires for c in project.components)
    return "" if is_base else "EntityViewWorld"


FEATURES: Final = (
    # shards: worlds in several processes, which exchange entities
    WorldFeature(
        name="shards",
        applies=lambda project: project.world.shards is not None,
        base=lambda project: "ShardedWorld",
        exports=lambda project: ("Blocks", "Parcel", "Shards"),
        attributes=lambda project: ("_rank",),
        parameters=lambda project: ("shard: int = 0",),
    ),
    # a seed for all kernels that draw random numbers
    WorldFeature(
        name="seeded",
        applies=_draws,
        base=lambda project: "SeededWorld",
        attributes=lambda project: ("_stream_state",),
    ),
    # values that belong to no entity
    WorldFeature(
        name="settings",
        applies=lambda project: bool(project.world.settings),
        base=lambda project: "SettingsWorld",
        attributes=lambda project: ("settings",),
    ),
    # rows without owners that collect, or fields that refer to the dead
    WorldFeature(
        name="references",
        applies=lambda project: any(c.on_delete and c.destroy == "gc" for c in project.components),
        base=lambda project: "ReferencesWorld",
    ),
    # the time, if kernels or schedules use it
    WorldFeature(
        name="ticking",
        applies=lambda project: has_time(project.world),
        base=lambda project: "" if project.world.records else "TickingWorld",
        attributes=lambda project: ("_tick",),
    ),
    # tables that the world records
    WorldFeature(
        name="records",
        applies=lambda project: bool(project.world.records),
        base=lambda project: "RecordingWorld",
        attributes=lambda project: ("_recorded",),
    ),
    # Schedules: methods of the world that call kernels one after the other.
    WorldFeature(
        name="schedules",
        applies=lambda project: bool(project.world.schedules),
    ),
    # kernels of the world: a method each, with its loop or blocks
    WorldFeature(
        name="kernel_methods",
        applies=lambda project: bool(project.world.kernels or project.world.assignments),
    ),
    # tests of the world's kernels, tables and schedules, for every backend
    WorldFeature(
        name="world_kernel_tests",
        applies=lambda project: bool(
            project.world.kernels or project.world.records or project.world.schedules
        ),
    ),
    # Signatures: the components of an entity as flags (the overview's bit sets, in one number).
    WorldFeature(
        name="signature",
        applies=lambda project: True,
        base=_signature_base,
        exports=lambda project: ("Signature",),
    ),
    # Entities one at a time: `world[entity]`, with its components as attributes.
    WorldFeature(
        name="entity_view",
        applies=lambda project: True,
        # the world of archetypes is one, and so is one with requirements
        base=_view_base,
        exports=lambda project: ("EntityView",),
    ),
    # requirements: components that bring others along
    WorldFeature(
        name="requirements",
        applies=lambda project: any(component.requires for component in project.components),
        base=lambda project: "RequiringWorld",
    ),
    # archetypes: components with rows in chunks of one signature instead of managers
    WorldFeature(
        name="archetypes",
        applies=lambda project: bool(project.world.archetypes),
        base=lambda project: "ArchetypeWorld",
        attributes=lambda project: ("archetypes",),
    ),
    # Bundles: sets of components to spawn from, which may build on each other.
    WorldFeature(
        name="bundles",
        applies=lambda project: bool(project.world.bundles),
    ),
    # queries: the entities that have certain components, joined on demand
    WorldFeature(
        name="queries",
        applies=lambda project: bool(project.world.queries_of(chunked=False)),
        attributes=lambda project: tuple(q.name for q in project.world.queries_of(chunked=False)),
    ),
    # Queries of chunks: the entities that have certain components of the archetypes.
    WorldFeature(
        name="chunk_queries",
        applies=lambda project: bool(project.world.queries_of(chunked=True)),
        attributes=lambda project: tuple(q.name for q in project.world.queries_of(chunked=True)),
    ),
    # Groups: the rows of entities that have all of several components, aligned at the front.
    WorldFeature(
        name="groups",
        applies=lambda project: bool(project.world.groups),
        attributes=lambda project: tuple(name for name, _ in project.world.groups),
        exports=lambda project: tuple(group_class(name) for name, _ in project.world.groups),
    ),
    # saving worlds into files that later code can read, and loading them
    WorldFeature(
        name="saving",
        applies=lambda project: True,
        base=lambda project: "SnapshotWorld",
    ),
)
"""All features, in the order of their blocks."""


def select_features(project: Project) -> tuple[WorldFeature, ...]:
    """Return the features that a project's schemas need."""
    return tuple(feature for feature in FEATURES if feature.applies(project))
