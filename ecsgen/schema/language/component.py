"""Components."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field, create_model

from ecsgen.policies import keys
from ecsgen.schema.forms import ClassName, Strict, Text
from ecsgen.schema.language.fields import FORMER, FieldForm
from ecsgen.schema.language.kernels import KernelSpec, ReductionSpec
from ecsgen.schema.language.policies import (
    GrowthForm,
    HierarchyForm,
    PartitionForm,
    Rows,
    SpaceSpec,
)


class _Policies(Strict):
    component: ClassName = Field(
        description="The name, CamelCase, unique after case folding. `PointMass` makes the module "
        "`point_mass` and the class `PointMassManager`."
    )
    doc: Text = Field(default="", description="What it is; the first line of the docstrings.")
    renamed_from: list[Text] = Field(default=[], description=FORMER)
    removed: list[Text] = Field(
        default=[],
        description="Former fields: what was saved of them is dropped. No new one takes the name.",
    )
    fields_: dict[str, FieldForm] = Field(
        alias="fields",
        default={},
        description="Name → type, or a mapping. No fields: a tag component, which only says which "
        "entities have it.",
    )
    owner: Literal["entity", "none"] = Field(
        default="entity",
        description="`none`: a packed array whose rows belong to no entity and are reached by id.",
    )
    instances: Literal["one", "many"] = Field(
        default="one",
        description="`many`: any number of instances per entity, linked in creation order.",
    )
    lookup: Literal["sparse", "hash", "direct"] = Field(
        default="sparse",
        description="`sparse`: an array by entity index to row. `hash`: a map from the whole "
        "handle to row, for rare components (bulk calls cost about 0.6 µs per row). `direct`: the "
        "entity's index is the row, for nearly universal components.",
    )
    destroy: Literal["gc", "callback", "manual"] = Field(
        default="gc",
        description="What happens to instances whose entity died: collected lazily, destroyed at "
        "once through the entity manager's callback, or left to the user.",
    )
    release: bool = Field(
        default=False,
        description="An `on_release` hook for resources. Always on with `destroy: callback`.",
    )
    ids: bool = Field(
        default=False,
        description="Every instance also has a stable id that survives moves. Always on with "
        "`owner: none`.",
    )
    partition: PartitionForm = Field(
        default="off", description="Rows `[0, n_active)` are the active ones, kept so by swaps."
    )
    hierarchy: HierarchyForm = Field(
        default="off", description="Parent, child and sibling links, kept right through every move."
    )
    cold: Literal["inline", "indirect"] = Field(
        default="inline",
        description="Where fields tagged `cold` live: behind the hot columns of the one buffer, or "
        "in a second, packed buffer in which an instance takes a row at the first value that is "
        "not the default.",
    )
    growth: GrowthForm = Field(
        default="double",
        description="`double`: a full buffer is replaced by one of twice the size. `{reserve: N}`: "
        "address space for N rows is taken once, and growing never moves data.",
    )


if TYPE_CHECKING:
    _Storage = _Policies
else:  # what policies say themselves
    made = {key.name: key.info() for key in keys("component")}
    _Storage = create_model("_Storage", __base__=_Policies, **made)


class ComponentSpec(_Storage):
    """A component: its columns, and the policies that its manager follows."""

    capacity: Rows = Field(default=0, description="Rows allocated at construction.")
    space: SpaceSpec | None = Field(
        default=None,
        description="The field with the places of rows: `near` finds the rows around points, and "
        "kernels with `near` see those around each row.",
    )
    kernels: dict[str, KernelSpec] = Field(
        default={}, description="Name → kernel: a method that changes every row."
    )
    reductions: dict[str, ReductionSpec] = Field(
        default={}, description="Name → reduction: a method that returns one value."
    )
