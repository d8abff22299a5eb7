"""The schema language of kernels and reductions."""

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Discriminator, Field, Tag

from ecsgen.model import REDUCTION_FUNCTIONS, Hood
from ecsgen.schema.spec_forms import (
    LONG,
    NAMED,
    NUMBER,
    WORD,
    ArgumentText,
    Form,
    NumberForm,
    Strict,
    Text,
    TextsForm,
    TurnCount,
    form_of_near,
)


class ArgumentSpec(Strict):
    """An argument of a kernel."""

    type: ArgumentText = Field(
        description="A type of numbers, bools or times, an enum, `entity` or `id<Component>`."
    )
    unit: Text = Field("", description="The unit of measurement, as in `m/s`.")
    each: bool = Field(
        False,
        description="Take one value per row that the kernel runs over, as `create_many` does, "
        "instead of one for all.",
    )


class NearSpec(Strict):
    """The rows that are neighbours, and the radius around a row."""

    radius: NumberForm | None = Field(
        None,
        description="How far neighbours are: a number, or an argument; on a grid an integer from "
        "0; or a field of the row, on a grid of integers; in the world a reduction, as in "
        "`Person.widest()`. Without one all rows of `among` are neighbours.",
    )
    among: Text = Field(
        "",
        description="The group, query or component whose rows are the neighbours; by default the "
        "kernel's own. In a component's kernel: itself, or the grid that its rows are on.",
    )
    via: Text = Field(
        "", description="The component with a `network` whose links lead to the neighbours."
    )
    back: bool | None = Field(
        None, description="`true`: against the direction of the links of `via`."
    )
    hood: Hood | None = Field(
        None, description="The shape of the neighbourhood, by default the grid's."
    )
    center: bool | None = Field(
        None, description="`true`: the cell on which a row stands is one of its neighbours."
    )


NearForm: TypeAlias = Annotated[
    Annotated[NearSpec, Tag(LONG)]
    | Annotated[dict[str, NearSpec], Tag(NAMED)]
    | Annotated[float, Tag(NUMBER)]
    | Annotated[Text, Tag(WORD)],
    Discriminator(form_of_near),
]
Near: TypeAlias = Annotated[
    NearForm | None,
    Field(
        description="The neighbours of rows: a radius, a mapping, or several mappings under names."
    ),
]


class TurnsSpec(Strict):
    """An order of turns that something decides: exactly one of both keys."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["by"]}, {"required": ["random"]}]}
    )

    by: Text = Field(
        "", description="A number of the row as it is before the first turn: the least is first."
    )
    random: TurnCount | None = Field(
        None, description="The number of turns, or an argument; each is that of a random row."
    )


class BaseKernel(Strict):
    """Keys of kernels of components and of the world."""

    doc: Text = Field("", description="A description, for docstrings.")
    args: dict[str, Form[ArgumentSpec, ArgumentText]] = Field(
        {}, description="Name → type, or a mapping of `type`, `unit` and `each`."
    )
    steps: TextsForm = Field(
        description="Statements, run in order for each row: a block of lines, or a list of them. "
        "Assignments, `if`, `for`, `while`, `return`; in the world also `spawn`, `destroy` and "
        "`die`."
    )
    at_most: int | None = Field(None, ge=1, description="The most passes of a `while`.")
    where: Text = Field("", description="A condition: only rows for which it is true.")
    key: Text = Field(
        "",
        description="A `u64` field that selects each row's random numbers, instead of its entity "
        "or id; in the world `Component.field`.",
    )
    turns: Form[TurnsSpec, Literal["rows", "random", "given"]] | None = Field(
        None,
        description="Rows run one after the other, in this order, and each sees what the rows "
        "before it have written.",
    )
    parallel: bool = Field(
        False,
        description="The numba backend uses every core. By default as `parallel` of "
        "[tool.ecsgen] says, else off: it can be much slower on a busy machine.",
    )


class KernelSpec(BaseKernel):
    """A method that changes every row."""

    rows: Literal["active", "all"] = Field(
        "active", description="Which rows, for a component with a `partition`."
    )
    near: Near = None


class WorldKernelSpec(BaseKernel):
    """A method of the world that changes the rows of several components together."""

    over: Text = Field(
        description="The group, query or component whose rows it runs over; of a component every "
        "instance, with a `partition` the active ones."
    )
    near: Near = None


class BaseReduction(Strict):
    """One value of all rows: exactly one of the eight functions."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": [name]} for name in REDUCTION_FUNCTIONS]}
    )

    sum: Text = Field("", description="The sum of an expression; 0 without rows.")
    min: Text = Field("", description="The smallest value; NaN without rows.")
    max: Text = Field("", description="The largest value; NaN without rows.")
    mean: Text = Field("", description="The mean; NaN without rows.")
    count: Text = Field("", description="In how many rows the condition is true.")
    std: Text = Field("", description="The standard deviation of all values; NaN without rows.")
    median: Text = Field("", description="The median; NaN without rows, or if one is NaN.")
    gini: Text = Field(
        "", description="The Gini coefficient, of how unequal they are; NaN without rows."
    )
    where: Text = Field("", description="A condition: only rows for which it is true.")


class ReductionSpec(BaseReduction):
    """A method that returns one value of all rows: exactly one of the eight functions."""

    rows: Literal["active", "all"] = Field(
        "active", description="Which rows, for a component with a `partition`."
    )
    doc: Text = Field("", description="A description, for docstrings.")
