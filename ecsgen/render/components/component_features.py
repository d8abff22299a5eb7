"""Features of a component's classes that add no column and no step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from ecsgen.model import Component
from ecsgen.model.columns import field_columns
from ecsgen.policies.policy import ComponentFeature, Policy
from ecsgen.render.kernel_printers import drawing_lines, flat_columns, render_kernels
from ecsgen.render.text.formatting import call, call_line, for_macro
from ecsgen.render.text.name_shadowing import add_class_placeholder
from ecsgen.render.text.quoting import literal


def _space_line(component: Component) -> str:
    space = component.space
    assert space is not None
    field = next(candidate for candidate in component.fields if candidate.name == space.field)
    columns = tuple(f"_{column.name}_column" for column in field_columns(field))
    rows = "_n_active" if component.partition else "_n"
    arguments = [literal(value) for value in (space.field, columns, rows, space.wrap)]
    return call_line("_SPACE: ClassVar = SpaceLayout", arguments, 4)


class SettingsPart(NamedTuple):
    """How a manager is made that has settings."""

    name: str
    """Their class."""
    head: str
    arguments: str


def _settings_part(component: Component) -> SettingsPart:
    name, parameters = add_class_placeholder(component.settings), dict[str, str]()
    if component.owner == "entity" or component.knows_entities:
        parameters["entities"] = "EntityManager"
    if component.grid is not None:
        parameters["shape"] = "Sequence[SupportsIndex] | None = None"
    if component.on is not None:
        parameters["grid"] = f"{add_class_placeholder(component.on.grid)}Manager"
    typed = [f"{parameter}: {kind}" for parameter, kind in parameters.items()]
    head = ["self", *typed, "*", f"settings: {name} | None = None"]
    return SettingsPart(
        name, for_macro(call("def __init__", head, 4, " -> None:")), ", ".join(parameters)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFeature(ComponentFeature):
    """A feature without columns and steps: kernels, spaces, queries.

    Storage policies are features as well, below the layout; these depend on the printers.
    """

    context: Callable[[Component], object] = lambda component: None
    """Return the object that its template has as `it`, beside the component."""


CODE_FEATURES: Final = (
    CodeFeature(  # shaped columns as one-dimensional arrays
        name="flattened_columns",
        applies=lambda c: bool(c.kernels or c.reductions or c.world_columns)
        and c.backend == "numba",
        order=79,
        template=True,
        context=flat_columns,
    ),
    CodeFeature(  # kernels of the world: their blocks end when the buffer moves
        name="joined",
        applies=lambda c: bool(c.world_columns) and c.backend == "numpy",
        order=79,
        rows_base="WorldKernelRows",
        rows_slots=("_world_kernels",),
    ),
    CodeFeature(  # views in blocks that stay in the cache
        name="kernel_blocks",
        applies=lambda c: bool(c.kernels or c.reductions) and c.backend == "numpy",
        order=79,
        rows_base="KernelRows",
        rows_slots=("_kernels",),
    ),
    CodeFeature(  # a method each, with its loop or blocks
        name="kernels",
        applies=lambda c: bool(c.kernels or c.reductions),
        order=80,
        template=True,
        context=render_kernels,
    ),
    CodeFeature(  # kernels that draw random numbers: a seed, and counts of calls
        name="seeded",
        applies=lambda c: any(kernel.program.stream_field for kernel in c.kernels),
        order=81,
        manager_base="Seeded",
        manager_slots=("_stream_state",),
        template=True,
        context=lambda component: drawing_lines(component.kernels, component.name),
    ),
    CodeFeature(  # kernels and reductions that read settings: the world's, or its own
        name="configured",
        applies=lambda c: bool(c.settings),
        order=81,
        manager_base="Configured",
        manager_slots=("settings",),
        template=True,
        context=_settings_part,
    ),
    CodeFeature(  # searches skip rows of dead entities
        name="owned_spatial",
        applies=lambda c: c.space is not None and c.owner == "entity",
        order=82,
        manager_base="OwnedSpatial",
    ),
    CodeFeature(  # positions of rows, around which neighbours are searched
        name="spatial",
        applies=lambda c: c.space is not None,
        order=82,
        manager_base="Spatial",
        manager_slots=("_wrap",),
        template=True,
        context=_space_line,
    ),
    CodeFeature(  # a query of the world has its rows: a class of their columns there
        name="queried", applies=lambda c: c.queried, order=90, template=True
    ),
)


def collect_features(
    component: Component, policies: Iterable[Policy]
) -> tuple[ComponentFeature, ...]:
    """Return all features of a component's classes, its policies among them."""
    parts: list[ComponentFeature] = [
        *policies,
        *(part for part in CODE_FEATURES if part.applies(component)),
    ]
    return tuple(sorted(parts, key=lambda part: (part.order, part.name)))
