"""The policies of a component that are mappings."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from ecsgen.policies.key import MAX_ROWS
from ecsgen.schema.forms import LONG, SHORT, Strict, Text, form

Rows: TypeAlias = Annotated[int, Field(ge=0, le=MAX_ROWS)]


class PartitionSpec(Strict):
    """Rows `[0, n_active)` are the active ones."""

    start: Literal["active", "inactive"] = Field(description="Where new instances begin.")


class HierarchySpec(Strict):
    """Parent, child and sibling links between instances."""

    orphans: Literal["root", "destroy", "die"] = Field(
        description="What becomes of the children of an instance that goes: they become roots, go "
        "with it, descendants and all, or do so together with their entities."
    )


class GrowthSpec(Strict):
    """Address space taken once, committed page by page; growing never moves data."""

    reserve: Annotated[int, Field(ge=1, le=MAX_ROWS)] = Field(
        description="Rows, rounded up to whole 64s. Beyond it: `CapacityError`. Rows of dead "
        "entities count until they go: where all are in use, `collect()` before you create."
    )


class SpaceSpec(Strict):
    """Where rows are, so that others near them are found."""

    field: Text = Field(
        description="The field with the places: f32 or f64 of shape `[2]` or `[3]`."
    )
    wrap: list[float] | None = Field(
        default=None,
        description="The size of each axis of a space that goes around; 0: open along that axis. "
        "Without it all are open.",
    )


PartitionForm: TypeAlias = Annotated[
    Annotated[PartitionSpec, Tag(LONG)] | Annotated[Literal["off"], Tag(SHORT)],
    Discriminator(form),
]
HierarchyForm: TypeAlias = Annotated[
    Annotated[HierarchySpec, Tag(LONG)] | Annotated[Literal["off"], Tag(SHORT)],
    Discriminator(form),
]
GrowthForm: TypeAlias = Annotated[
    Annotated[GrowthSpec, Tag(LONG)] | Annotated[Literal["double"], Tag(SHORT)],
    Discriminator(form),
]
