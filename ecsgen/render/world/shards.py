"""What the world says of its shards."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.model import Project
from ecsgen.render.calls import collection
from ecsgen.render.quoting import literal
from ecsgen.schema.names import module_name


@dataclass(frozen=True, slots=True)
class ShardNames:
    """Statements of the world's class."""

    stays: str
    ghosts: str
    has_chunks: bool


def shard_names(project: Project) -> ShardNames:
    """Return what the template of the feature lays out."""
    world = project.world
    assert world.shards is not None
    chunked = world.archetypes
    stays = [name if name in chunked else module_name(name) for name in world.shards.stay]
    ghosts = "".join(
        f'    "{module_name(name)}": {_tuple(fields)},\n' for name, fields in world.shards.ghosts
    )
    return ShardNames(
        collection("_STAYS: ClassVar[tuple[str, ...]] = ", [literal(name) for name in stays], 0),
        (
            f"_GHOSTS: ClassVar[Mapping[str, tuple[str, ...]]] = {{\n{ghosts}}}"
            if ghosts
            else "_GHOSTS: ClassVar[Mapping[str, tuple[str, ...]]] = {}"
        ),
        bool(chunked),
    )


def _tuple(names: tuple[str, ...]) -> str:
    items = ", ".join(f'"{name}"' for name in names)
    return f"({items},)" if len(names) == 1 else f"({items})"
