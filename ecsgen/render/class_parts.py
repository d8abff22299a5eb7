"""The parts of a component's classes that add no column and no step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from ecsgen.model import Component
from ecsgen.model.columns import field_columns
from ecsgen.policies.policy import Part, Policy
from ecsgen.render.calls import call
from ecsgen.render.printers import drawing_lines, flat_columns, texts_of
from ecsgen.render.quoting import literal


def _space_line(component: Component) -> str:
    """Return the statement that says where the places of rows are."""
    space = component.space
    assert space is not None
    field = next(one for one in component.fields if one.name == space.field)
    columns = tuple(f"_{column.name}_column" for column in field_columns(field))
    rows = "_n_active" if component.partition else "_n"
    given = [literal(one) for one in (space.field, columns, rows, space.wrap)]
    return call("_SPACE: ClassVar = SpaceLayout", given, 4).lstrip().replace("\n    ", "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPart(Part):
    """A part without columns and steps: kernels, spaces, queries.

    Storage policies are parts as well, below the layout; these here know how texts are made.
    """

    subject: Callable[[Component], object] = lambda component: None
    """What its template lays out beside the component, there called `it`."""


PARTS: Final = (
    ClassPart(  # columns of shapes, seen element after element
        name="flat_columns",
        applies=lambda c: bool(c.kernels or c.reductions or c.joined) and c.backend == "numba",
        order=79,
        template=True,
        subject=flat_columns,
    ),
    ClassPart(  # kernels of the world: their blocks go when the buffer moves
        name="joined",
        applies=lambda c: bool(c.joined) and c.backend == "numpy",
        order=79,
        rows="JoinedRows",
        row_state=("_joined",),
    ),
    ClassPart(  # views in blocks that stay in the cache
        name="kernel_blocks",
        applies=lambda c: bool(c.kernels or c.reductions) and c.backend == "numpy",
        order=79,
        rows="KernelRows",
        row_state=("_kernels",),
    ),
    ClassPart(  # a method each, with the loop or the blocks that it runs over
        name="kernels",
        applies=lambda c: bool(c.kernels or c.reductions),
        order=80,
        template=True,
        subject=texts_of,
    ),
    ClassPart(  # kernels that draw random numbers: a seed, and how often each was called
        name="seeded",
        applies=lambda c: any(kernel.program.who for kernel in c.kernels),
        order=81,
        base="Seeded",
        state=("_chance",),
        template=True,
        subject=lambda component: drawing_lines(component.kernels, component.name),
    ),
    ClassPart(  # the dead are found by nobody
        name="owned_spaced",
        applies=lambda c: c.space is not None and c.owner == "entity",
        order=82,
        base="OwnedSpaced",
    ),
    ClassPart(  # places of rows, around which others are found
        name="spaced",
        applies=lambda c: c.space is not None,
        order=82,
        base="Spaced",
        state=("_wrap",),
        template=True,
        subject=_space_line,
    ),
    ClassPart(  # a query of the world tells where instances are: a class of their columns there
        name="queried", applies=lambda c: c.queried, order=90, template=True
    ),
)


def with_parts(component: Component, policies: Iterable[Policy]) -> tuple[Part, ...]:
    """Return all parts of a component's classes, those that are its policies among them."""
    parts: list[Part] = [*policies, *(part for part in PARTS if part.applies(component))]
    return tuple(sorted(parts, key=lambda part: (part.order, part.name)))
