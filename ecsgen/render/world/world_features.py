"""Features of worlds: an entry here and a template each.

Code that all worlds share is in `runtime/ecsgen_runtime/`; templates have what names components.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ecsgen.model import Project
from ecsgen.model.schedules import has_time
from ecsgen.schema.names import group_class

_WORD_BITS: Final = 64


@dataclass(frozen=True, slots=True)
class WorldFeature:
    """A feature of the world: whether it is active, and what it adds.

    Code that worlds share is in its base class in the library. Code that names components is in the
    blocks of `templates/world_features/<name>.py.j2`; see `BLOCKS`. Their `it` is from
    `ecsgen/render/world/world_module.py`.
    """

    name: str
    is_active: bool
    base: str = ""
    """Base class of the world."""
    attributes: tuple[str, ...] = ()
    """Attributes of the world that users cannot assign to; `init` sets them."""
    parameters: tuple[str, ...] = ()
    """Parameters of the world's `__init__`, with their defaults."""
    exports: tuple[str, ...] = ()
    """Names of `world.py` that users import from the package."""


BLOCKS = {
    "classes": "before the world's class",
    "constants": "at the top of the world's class",
    "init": "at the end of the world's `__init__`",
    "methods": "in the world's class",
    "tests": "in the generated `test_world.py`",
}
"""Blocks of a feature's template, and where they are rendered."""


def list_features(project: Project) -> tuple[WorldFeature, ...]:
    """Return all features, in the order of their blocks."""
    world, components = project.world, project.components
    all_kernels = [*world.kernels, *(kernel for c in components for kernel in c.kernels)]
    fits = len(project.owned_components) <= _WORD_BITS
    requires = any(component.requires for component in components)
    queries, chunk_queries = (
        tuple(query.name for query in world.queries_of(chunked=chunked))
        for chunked in (False, True)
    )
    groups = tuple(name for name, _ in world.groups)
    return (
        # worlds in several processes, which exchange entities
        WorldFeature(
            "shards",
            world.shards is not None,
            "ShardedWorld",
            attributes=("_rank",),
            parameters=("shard: int = 0",),
            exports=("Blocks", "Parcel", "Shards"),
        ),
        # a seed for all kernels that draw random numbers
        WorldFeature(
            "seeded",
            any(kernel.program.stream_field for kernel in all_kernels),
            "SeededWorld",
            attributes=("_stream_state",),
        ),
        # values that belong to no entity
        WorldFeature("settings", bool(world.settings), "SettingsWorld", attributes=("settings",)),
        # rows without owners that collect, or fields that refer to the dead
        WorldFeature(
            "references",
            any(c.on_delete and c.destroy == "gc" for c in components),
            "ReferencesWorld",
        ),
        # the time, if kernels or schedules use it; a world that records has it too
        WorldFeature(
            "ticking",
            has_time(world),
            "" if world.records else "TickingWorld",
            attributes=("_tick",),
        ),
        # tables
        WorldFeature("records", bool(world.records), "RecordingWorld", attributes=("_recorded",)),
        # methods of the world that call kernels one after the other
        WorldFeature("schedules", bool(world.schedules)),
        # a method for each kernel of the world, with its loop or blocks
        WorldFeature("kernel_methods", bool(world.kernels or world.assignments)),
        # tests of the world's kernels, tables and schedules, for every backend
        WorldFeature("world_kernel_tests", bool(world.kernels or world.records or world.schedules)),
        # the components of an entity as flags (the overview's bit sets, in one number)
        WorldFeature(
            "signature",
            True,
            f"{'' if fits else 'Wide'}SignatureWorld[Signature]",
            exports=("Signature",),
        ),
        # `world[entity]`, with its components as attributes; other bases may bring it along
        WorldFeature(
            "entity_view",
            True,
            "" if world.archetypes or requires else "EntityViewWorld",
            exports=("EntityView",),
        ),
        # components that bring others along
        WorldFeature("requirements", requires, "RequiringWorld"),
        # components with rows in chunks of one signature instead of managers
        WorldFeature(
            "archetypes", bool(world.archetypes), "ArchetypeWorld", attributes=("archetypes",)
        ),
        # sets of components to spawn from, which may build on each other
        WorldFeature("bundles", bool(world.bundles)),
        # the entities that have certain components, joined on demand
        WorldFeature("queries", bool(queries), attributes=queries),
        # the entities that have certain components of the archetypes
        WorldFeature("chunk_queries", bool(chunk_queries), attributes=chunk_queries),
        # the rows of entities that have all of several components, aligned at the front
        WorldFeature(
            "groups",
            bool(groups),
            attributes=groups,
            exports=tuple(map(group_class, groups)),
        ),
        # saving worlds into files that later code can read, and loading them
        WorldFeature("saving", True, "SnapshotWorld"),
    )


def select_features(project: Project) -> tuple[WorldFeature, ...]:
    """Return the features that a project's schemas need."""
    return tuple(feature for feature in list_features(project) if feature.is_active)
