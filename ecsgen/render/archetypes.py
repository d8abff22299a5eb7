"""Makes the module of the archetypes: the store of all components that live in chunks."""

from __future__ import annotations

from ecsgen.model import Component, Project
from ecsgen.model.columns import chunk_rows
from ecsgen.render.calls import collection, disjunction
from ecsgen.render.environment import environment
from ecsgen.render.giving_way import Named, named
from ecsgen.render.imports import import_lines
from ecsgen.render.quoting import WIDTH
from ecsgen.render.runtime import SHARDS, origins

MARKER = "<<imports>>"
SUFFIXES = ("", "Data", "Fields", "Values")


def chunked_components(project: Project) -> tuple[Component, ...]:
    """Return the components that live in archetype chunks, by name."""
    return tuple(component for component in project.components if component.chunk)


def archetypes_module(members: tuple[Named, ...], chunk: int, rows: int, sharded: bool) -> str:
    """Return the module of the archetypes; `rows` with all components fit into a chunk."""
    names = [m.name for m in members]
    given = ", ".join(f"{k}: {m.alone}" for k, m in enumerate(members))
    line = f"        given = {{{given}}}"
    if len(line) > WIDTH:
        entries = [f"            {k}: {m.alone},\n" for k, m in enumerate(members)]
        line = f"        given = {{\n{''.join(entries)}        }}"
    text = (
        environment()
        .get_template("archetypes.py.j2")
        .render(
            parts=members,
            base="ShardedStore" if sharded else "ArchetypeStore",
            chunk=chunk,
            imports_marker=MARKER,
            parts_line=collection("_DATA: ClassVar = ", [f"{name}Data" for name in names], 4),
            any_row_line=disjunction("_AnyRow: TypeAlias = ", names),
            given_line=line,
            summary=f"{rows} rows with all of them fit into a chunk.",
        )
    )
    own = {m.name + suffix: f".{m.module}" for m in members for suffix in SUFFIXES}
    if sharded:
        own = {**origins(SHARDS), **own}
    return text.replace(MARKER, import_lines(text, own))


def archetype_subjects(project: Project) -> tuple[tuple[Named, ...], int, int, bool]:
    """Return what `archetypes_module` is made from."""
    components, chunk = chunked_components(project), project.world.chunk
    members = tuple(map(named, components))
    sharded = project.world.shards is not None
    return members, chunk, chunk_rows(components, chunk), sharded
