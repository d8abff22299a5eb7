"""Kernels and reductions: methods that run over rows."""

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Discriminator, Field, Tag

from ecsgen.model import HOWS
from ecsgen.schema.forms import (
    LONG,
    NAMED,
    NUMBER,
    WORD,
    ArgumentText,
    Form,
    Strict,
    Text,
    form_of_near,
    number_or_name,
)


class ArgumentSpec(Strict):
    """An argument of a kernel."""

    type: ArgumentText = Field(
        description="A type of numbers, `entity` or `id<Component>`, with a shape or without."
    )
    unit: Text = Field(default="", description="The unit of measurement.")
    each: bool = Field(
        default=False,
        description="Take one value per row that the kernel runs over, as `create_many` does, "
        "instead of one for all.",
    )


RadiusForm: TypeAlias = Annotated[
    Annotated[float, Tag(NUMBER)] | Annotated[Text, Tag(WORD)], Discriminator(number_or_name)
]


class NearSpec(Strict):
    """Whose rows a kernel asks, and how far these are."""

    radius: RadiusForm = Field(
        description="How far neighbours are: a number, or an argument; on a grid an integer from "
        "0, or an integer field of the row."
    )
    among: Text = Field(
        default="",
        description="The group, query or component whose rows are asked; by default the kernel's "
        "own. Of a component's own kernel itself, or the grid that it stands on.",
    )
    hood: Literal["moore", "von_neumann", "axes"] | None = Field(
        default=None, description="Which cells are in reach, if not as the grid says."
    )
    center: bool | None = Field(
        default=None,
        description="Whether the cell on which a row stands is among the cells that it asks.",
    )


NearForm: TypeAlias = Annotated[
    Annotated[NearSpec, Tag(LONG)]
    | Annotated[dict[str, NearSpec], Tag(NAMED)]
    | Annotated[float, Tag(NUMBER)]
    | Annotated[Text, Tag(WORD)],
    Discriminator(form_of_near),
]


class BaseKernel(Strict):
    """What kernels of components and of the world have in common."""

    doc: Text = Field(default="", description="What it does; the method's docstring.")
    args: dict[str, Form[ArgumentSpec, ArgumentText]] = Field(
        default={}, description="Name → type, or a mapping of `type`, `unit` and `each`."
    )
    steps: list[Text] = Field(
        min_length=1,
        description="Assignments, run in order, row by row in meaning; in the world also births "
        "and deaths.",
    )
    where: Text = Field(default="", description="A condition: only rows for which it is true.")
    key: Text = Field(
        default="",
        description="A `u64` field by which random numbers tell rows apart, instead of entities "
        "or ids; in the world `Component.field`.",
    )
    turns: Literal["rows", "random"] | None = Field(
        default=None,
        description="Let the rows act one after the other, each on what those before it have left: "
        "in row order, or in random order.",
    )
    parallel: bool = Field(
        default=False,
        description="Let the numba backend use every core. Off by default: it can "
        "be much slower on a busy machine.",
    )


class KernelSpec(BaseKernel):
    """A method that changes every row."""

    rows: Literal["active", "all"] = Field(
        default="active", description="Which rows, for a component with a `partition`."
    )
    near: NearForm | None = Field(
        default=None,
        description="The radius, a number or an argument, in which rows have neighbours that "
        "steps and `where` can ask, or a mapping; of several, one mapping each under a name.",
    )


class WorldKernelSpec(BaseKernel):
    """A method of the world that changes the rows of several components together."""

    over: Text = Field(
        description="The group, query or component whose rows it runs over; of a component every "
        "instance, with a `partition` the active ones."
    )
    near: NearForm | None = Field(
        default=None,
        description="The radius in which rows have neighbours, or a mapping of `radius`, `among`, "
        "`hood` and `center`; of several, one mapping each under a name.",
    )


class FoldSpec(Strict):
    """One value of all rows: exactly one of the eight ways."""

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": [how]} for how in HOWS]})

    sum: Text = Field(default="", description="The sum of an expression; 0 without rows.")
    min: Text = Field(default="", description="The smallest value; NaN without rows.")
    max: Text = Field(default="", description="The largest value; NaN without rows.")
    mean: Text = Field(default="", description="The mean; NaN without rows.")
    count: Text = Field(default="", description="In how many rows the condition is true.")
    std: Text = Field(
        default="", description="The standard deviation of all values; NaN without rows."
    )
    median: Text = Field(default="", description="The median; NaN without rows, or if one is NaN.")
    gini: Text = Field(
        default="", description="The Gini coefficient, of how unequal they are; NaN without rows."
    )
    where: Text = Field(default="", description="A condition: only rows for which it is true.")


class ReductionSpec(FoldSpec):
    """A method that returns one value computed from all rows: exactly one of the eight ways."""

    rows: Literal["active", "all"] = Field(
        default="active", description="Which rows, for a component with a `partition`."
    )
    doc: Text = Field(default="", description="What it tells; the method's docstring.")
