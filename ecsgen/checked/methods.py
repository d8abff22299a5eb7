"""Methods of a world and its managers that were generated from texts of the schemas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from ecsgen_runtime.world.world_base import WorldBase
from ecsgen_testing.reference.schema import Kernel, Reduction
from ecsgen_testing.reference.world_copy import manager_of

from ecsgen import model
from ecsgen.checked.schema_texts import SchemaTexts
from ecsgen.model.schedules import fused_passes

Written: TypeAlias = model.Reduction | model.Table
"""A reduction, a column, or the rows of a table, as the schemas have it."""


class GeneratedMethod(NamedTuple):
    """A kernel, a fused pass, a reduction, or what writes a table."""

    owner: Any
    attribute: str
    name: str
    """As people know it: `Person.catch`, `stray + drift`."""
    over: str
    """The source of its rows; "" for a table."""
    kernels: Sequence[Kernel] = ()
    """One, or those of a fused pass."""
    readers: Sequence[tuple[Reduction, Written]] = ()
    """The reduction, or the columns of the table."""


def owner_of(world: WorldBase, texts: SchemaTexts, home: str) -> Any:
    """Return a component's manager, or the world."""
    if not home or texts.schema.components[home].is_chunked:
        return world
    return manager_of(world, texts.schema, home)


def methods_of(world: WorldBase, texts: SchemaTexts) -> Iterator[GeneratedMethod]:
    """Yield all methods but schedules."""
    schema, project = texts.schema, texts.project
    for name in texts.kernels:
        kernel = schema.kernel(name)
        owner = owner_of(world, texts, kernel.home)
        yield GeneratedMethod(owner, kernel.own_name, name, kernel.over, [kernel])
    for name, written in texts.reductions.items():
        home, _, own_name = name.rpartition(".")
        reduction = schema.components[home].reductions[own_name]
        owner, pair = owner_of(world, texts, home), (reduction, written)
        if owner is not world:
            yield GeneratedMethod(owner, own_name, name, home, readers=[pair])
    for home, fused in fused_passes(project.by_name, project.world).values():
        prefix = f"{home}." if home else ""
        kernels = [schema.kernel(prefix + kernel.name) for kernel in fused.kernels]
        names = " + ".join(kernel.name for kernel in kernels)
        owner = owner_of(world, texts, home)
        yield GeneratedMethod(owner, f"_{fused.name}", names, kernels[0].over, kernels)
    for table in project.world.records:
        known = schema.tables[table.name]
        readers: list[tuple[Reduction, Written]] = [
            (known.columns[column.name], column) for column in table.columns
        ]
        readers += [(known.rows, table)] if known.rows is not None else []
        yield GeneratedMethod(world, f"_line_of_{table.name}", table.name, "", readers=readers)
