"""Components, their fields and policies, enums and flags."""

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Discriminator, Field, Tag, create_model

from ecsgen.policies import keys
from ecsgen.policies.policy import MAX_ROWS
from ecsgen.schema.forms import EACH, ONE, ClassName, Form, Strict, Text, TypeText, form_of_answers
from ecsgen.schema.language.kernel_keys import KernelSpec, ReductionSpec

FORMER: Final = "All names that it had before: what was saved under them is its own."


class _Column(Strict):
    type: TypeText = Field(description="The field type, as in `f32[3]`.")
    default: Any = Field(
        default=None,
        description="The value of new instances. One value fills a whole shape. An enum's member "
        "goes by its name, several flags are joined by `|`. Bytes are ASCII text or a list of "
        "numbers. Without one: zero, null, empty, `None`; an enum's zero or first value.",
    )
    doc: Text = Field(default="", description="What it means; goes into docstrings.")
    unit: Text = Field(default="", description="The unit of measurement, as in `m/s`.")
    tags: list[Text] = Field(
        default=[],
        description="Lower-case words. `hot` and `cold` decide about the layout (untagged is hot), "
        "others group columns for `data.tagged`.",
    )
    split: bool = Field(
        default=False,
        description="Store each element of the shape in a column of its own: `position_x`, `_y`, "
        "`_z`, `_w` up to four elements, else `position_0` and so on.",
    )


if TYPE_CHECKING:
    _Stored = _Column
else:  # what policies say themselves
    made = {key.name: key.info() for key in keys("field")}
    _Stored = create_model("_Stored", __base__=_Column, **made)


class FieldSpec(_Stored):
    """A field: one column."""

    renamed_from: list[Text] = Field(default=[], description=FORMER)

    @property
    def is_cold(self) -> bool:
        """Whether it is tagged cold."""
        return "cold" in self.tags


class MemberSpec(Strict):
    """A member of an enum that has more to it than its number."""

    value: int = Field(description="The number.")
    doc: Text = Field(default="", description="What it means; its docstring.")
    renamed_from: list[Text] = Field(default=[], description=FORMER)


class EnumSpec(Strict):
    """An enum, or a set of flags, that fields can have as their type."""

    enum: ClassName = Field(description="The name, CamelCase.")
    doc: Text = Field(default="", description="What it tells apart; the docstring.")
    renamed_from: list[Text] = Field(default=[], description=FORMER)
    removed: list[Text] = Field(
        default=[],
        description="Former members: saved cells with them become the field's default. No new one "
        "takes the name.",
    )
    values: Form[dict[str, Form[MemberSpec, int]], list[Text]] = Field(
        description="Names, numbered 0, 1, 2 … (flags 1, 2, 4 …), or a mapping of name to number, "
        "or to a mapping. Stored in the smallest unsigned type that fits."
    )
    flags: bool = Field(default=False, description="An `IntFlag` instead of an `IntEnum`.")


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


AnswersForm = Annotated[
    Annotated[bool, Tag(ONE)] | Annotated[list[bool], Tag(EACH)], Discriminator(form_of_answers)
]


class GridSpec(Strict):
    """A component whose rows are the cells of a grid."""

    shape: list[int] = Field(
        description="How many cells there are along each of 1 to 3 axes; the last axis runs "
        "fastest. Managers and worlds may be made with other numbers."
    )
    wrap: AnswersForm = Field(
        default=False,
        description="Whether axes go around: one answer for all, or one for each.",
    )
    hood: Literal["moore", "von_neumann", "axes"] = Field(
        default="moore",
        description="Which cells are in reach by the offset o to them: `moore` max |o| ≤ radius, "
        "`von_neumann` sum |o| ≤ radius, `axes` along one axis at a time.",
    )


class OnSpec(Strict):
    """Where on a grid rows stand."""

    field: Text = Field(description="The field with the cells: `id<Grid>` without a shape.")
    capacity: Annotated[int, Field(le=MAX_ROWS)] | None = Field(
        default=None, description="How many rows may stand on a cell; any number without it."
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
    fields_: dict[str, Form[FieldSpec, TypeText]] = Field(
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
    partition: Form[PartitionSpec, Literal["off"]] = Field(
        default="off", description="Rows `[0, n_active)` are the active ones, kept so by swaps."
    )
    hierarchy: Form[HierarchySpec, Literal["off"]] = Field(
        default="off", description="Parent, child and sibling links, kept right through every move."
    )
    cold: Literal["inline", "indirect"] = Field(
        default="inline",
        description="Where fields tagged `cold` live: behind the hot columns of the one buffer, or "
        "in a second, packed buffer in which an instance takes a row at the first value that is "
        "not the default.",
    )
    growth: Form[GrowthSpec, Literal["double"]] = Field(
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

    capacity: Annotated[int, Field(ge=0, le=MAX_ROWS)] = Field(
        default=0, description="Rows allocated at construction."
    )
    space: SpaceSpec | None = Field(
        default=None,
        description="The field with the places of rows: `near` finds the rows around points, and "
        "kernels with `near` see those around each row.",
    )
    grid: GridSpec | None = Field(
        default=None,
        description="Let the rows be the cells of a grid: all there from the beginning, none made "
        "or destroyed.",
    )
    on: Form[OnSpec, Text] | None = Field(
        default=None,
        description="The field with the cells of a grid on which rows stand: its name, or a "
        "mapping of `field` and `capacity`.",
    )
    kernels: dict[str, KernelSpec] = Field(
        default={}, description="Name → kernel: a method that changes every row."
    )
    reductions: dict[str, ReductionSpec] = Field(
        default={}, description="Name → reduction: a method that returns one value."
    )

    @property
    def has_ids(self) -> bool:
        """Whether instances have stable ids, asked for or not."""
        return self.ids or self.owner == "none"

    @property
    def start(self) -> Literal["", "active", "inactive"]:
        """Where new instances begin in a partition; nothing without one."""
        return self.partition.start if isinstance(self.partition, PartitionSpec) else ""

    @property
    def orphans(self) -> Literal["", "root", "destroy", "die"]:
        """What becomes of children in a hierarchy; nothing without one."""
        return self.hierarchy.orphans if isinstance(self.hierarchy, HierarchySpec) else ""

    @property
    def reserve(self) -> int:
        """Rows that are reserved; 0 with `growth: double`."""
        return self.growth.reserve if isinstance(self.growth, GrowthSpec) else 0

    @cached_property
    def long_fields(self) -> dict[str, FieldSpec]:
        """The fields as mappings, however they are written."""
        forms = self.fields_.items()
        return {name: FieldSpec(type=f) if isinstance(f, str) else f for name, f in forms}
