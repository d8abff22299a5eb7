"""The schema language: one definition validates, makes the JSON Schema and the reference page.

What pydantic can't say (names, field types, keys that contradict each other) comes after it.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, WithJsonSchema, create_model

from ecsgen.model import Hood
from ecsgen.policies import list_keys
from ecsgen.policies.policy import MAX_ROWS
from ecsgen.schema.kernel_specs import BaseReduction, KernelSpec, ReductionSpec, WorldKernelSpec
from ecsgen.schema.names import IDENTIFIER
from ecsgen.schema.spec_forms import (
    EACH,
    LONG,
    NAMED,
    NUMBER,
    ONE,
    ClassName,
    Form,
    Strict,
    Text,
    TextsForm,
    TypeText,
    ValueForm,
    form_of_table,
)

FORMER: Final = "All former names: data that was saved under them is loaded."


class _Value(Strict):
    type: TypeText = Field(description="The field type, as in `f32[3]`.")
    default: Any = Field(
        None,
        description="The value of new instances. One value fills a whole shape. Members of enums "
        "are names, several flags are joined by `|`. Bytes are ASCII text or a list of "
        "numbers. Without a default: zero, null, empty, `None`; an enum's zero or first value.",
    )
    doc: Text = Field("", description="A description, for docstrings.")
    unit: Text = Field("", description="The unit of measurement, as in `m/s`.")


class _Column(_Value):
    tags: list[Text] = Field(
        [],
        description="Lower-case words. `hot` and `cold` decide about the layout (untagged is hot), "
        "other tags group columns for `data.tagged`.",
    )
    split: bool = Field(
        False,
        description="Store each element of the shape in a column of its own: `position_x`, `_y`, "
        "`_z`, `_w` up to four elements, else `position_0` and so on.",
    )


if TYPE_CHECKING:
    _Stored = _Column
else:  # with the keys of policies
    policy_keys = {key.name: key.info() for key in list_keys("field")}
    _Stored = create_model("_Stored", __base__=_Column, **policy_keys)


class FieldSpec(_Stored):
    """A field: one column."""

    renamed_from: list[Text] = Field([], description=FORMER)

    @property
    def is_cold(self) -> bool:
        """True if the field is tagged cold."""
        return "cold" in self.tags


Bound: TypeAlias = Annotated[
    Annotated[int, Tag(ONE)] | Annotated[float, Tag(NUMBER)],
    Discriminator(lambda value: ONE if type(value) is int else NUMBER),
    WithJsonSchema({"type": "number"}),
]
"""An integer stays exact: a float has no room for all of 64 bits."""


class SettingSpec(_Value):
    """A value of the world that belongs to no component."""

    min: Bound | None = Field(
        None, description="The least value of a number without a shape, itself allowed."
    )
    max: Bound | None = Field(
        None, description="The greatest value of a number without a shape, itself allowed."
    )
    renamed_from: list[Text] = Field([], description=FORMER)


class MemberSpec(Strict):
    """A member of an enum, with more keys than its number."""

    value: int = Field(description="The number.")
    doc: Text = Field("", description="A description, for docstrings.")
    renamed_from: list[Text] = Field([], description=FORMER)


class EnumSpec(Strict):
    """An enum, or a set of flags, that fields can have as their type."""

    enum: ClassName = Field(description="The name, CamelCase.")
    doc: Text = Field("", description="A description, for docstrings.")
    renamed_from: list[Text] = Field([], description=FORMER)
    removed: list[Text] = Field(
        [],
        description="Former members: saved cells with them become the field's default. No new one "
        "takes the name.",
    )
    values: Form[dict[str, Form[MemberSpec, int]], list[Text]] = Field(
        description="Names, numbered 0, 1, 2 … (flags 1, 2, 4 …), or a mapping of name to number, "
        "or to a mapping. Stored in the smallest unsigned type that fits."
    )
    flags: bool = Field(False, description="An `IntFlag` instead of an `IntEnum`.")


class PartitionSpec(Strict):
    """Rows `[0, n_active)` are the active ones."""

    start: Literal["active", "inactive"] = Field(description="Where new instances begin.")


class HierarchySpec(Strict):
    """Parent, child and sibling links between instances."""

    orphans: Literal["root", "destroy", "die"] = Field(
        description="The fate of the children of an instance that goes: `root` makes them "
        "roots, `destroy` destroys all descendants, `die` destroys these and their entities."
    )


class GrowthSpec(Strict):
    """Address space taken once, committed page by page; growing never moves data."""

    reserve: Annotated[int, Field(ge=1, le=MAX_ROWS)] = Field(
        description="Rows, rounded up to whole 64s. Beyond it: `CapacityError`. Rows of dead "
        "entities count until they go: where all are in use, `collect()` before you create."
    )


class SpaceSpec(Strict):
    """The positions of rows, by which neighbours are found."""

    field: Text = Field(
        description="The field with the positions: f32 or f64, without a shape or of shape `[1]`, "
        "`[2]` or `[3]`."
    )
    wrap: list[float] | None = Field(
        None,
        description="The size of each axis that wraps around; 0: the axis is open. "
        "Without the key all axes are open.",
    )


AnswersForm = Annotated[
    Annotated[bool, Tag(ONE)] | Annotated[list[bool], Tag(EACH)],
    Discriminator(lambda value: EACH if isinstance(value, list) else ONE),
]


class GridSpec(Strict):
    """A component whose rows are the cells of a grid."""

    shape: list[int] = Field(
        description="The number of cells along each of 1 to 3 axes; the last axis runs "
        "fastest. Managers and worlds may be made with other numbers."
    )
    wrap: AnswersForm = Field(
        False, description="`true`: axes wrap around. One answer for all, or one for each."
    )
    hood: Hood = Field(
        "moore",
        description="The cells in reach, by the offset o to them: `moore` max |o| ≤ radius, "
        "`von_neumann` sum |o| ≤ radius, `axes` along one axis at a time, `hex` the steps from "
        "hexagon to hexagon (two axes).",
    )


class OnSpec(Strict):
    """The cells of a grid on which rows stand."""

    field: Text = Field(description="The field with the cells: `id<Grid>` without a shape.")
    capacity: Annotated[int, Field(le=MAX_ROWS)] | None = Field(
        None, description="The most rows on a cell; any number without the key."
    )


class NetworkSpec(Strict):
    """The ends of links: `between` two, both ways, or `from` one `to` another."""

    between: list[Text] | None = Field(
        None,
        description="Both ends of links that lead both ways: fields of type `entity`, or `entity` "
        "for the owner.",
    )
    from_: Text = Field("", alias="from", description="Where a link begins: a field, or `entity`.")
    to: Text = Field("", description="Where a link leads: a field, or `entity`.")


class _Policies(Strict):
    component: ClassName = Field(
        description="The name, CamelCase, unique after case folding. `PointMass` makes the module "
        "`point_mass` and the class `PointMassManager`."
    )
    doc: Text = Field("", description="A description, for docstrings.")
    renamed_from: list[Text] = Field([], description=FORMER)
    removed: list[Text] = Field(
        [],
        description="Former fields: what was saved of them is dropped. No new one takes the name.",
    )
    fields_: dict[str, Form[FieldSpec, TypeText]] = Field(
        {},
        alias="fields",
        description="Name → type, or a mapping. No fields: a tag component, which only says which "
        "entities have it.",
    )
    derived: dict[str, Text] = Field(
        {},
        description="Name → expression of a row's fields, which kernels, reductions and tables "
        "read like a field. It is worked out where it is read, and nothing is stored.",
    )
    owner: Literal["entity", "none"] = Field(
        "entity",
        description="`none`: a packed array whose rows belong to no entity and are reached by id.",
    )
    instances: Literal["one", "many"] = Field(
        "one", description="`many`: any number of instances per entity, linked in creation order."
    )
    lookup: Literal["sparse", "hash", "direct"] = Field(
        "sparse",
        description="`sparse`: an array by entity index. `hash`: a dict, for rare components. "
        "`direct`: the entity's index is the row, for nearly universal components.",
    )
    destroy: Literal["gc", "callback", "manual"] = Field(
        "gc",
        description="The end of rows whose entity died: collected later, destroyed at once, or "
        "left to the user.",
    )
    release: bool = Field(
        False, description="An `on_release` hook for resources. Always on with `destroy: callback`."
    )
    add: bool = Field(
        False, description="An `on_add` hook, called with the rows that have just come."
    )
    ids: bool = Field(
        False,
        description="Every instance also has a stable id that survives moves. Always on with "
        "`owner: none`.",
    )
    partition: Form[PartitionSpec, Literal["off"]] = Field(
        "off", description="Rows `[0, n_active)` are the active ones, kept so by swaps."
    )
    hierarchy: Form[HierarchySpec, Literal["off"]] = Field(
        "off", description="Parent, child and sibling links, kept right through every move."
    )
    cold: Literal["inline", "indirect"] = Field(
        "inline",
        description="Fields tagged `cold` lie behind the hot columns, or in a second buffer, which "
        "has rows for values that are not the default.",
    )
    growth: Form[GrowthSpec, Literal["double"]] = Field(
        "double",
        description="`double`: a full buffer is replaced by one of twice the size. `{reserve: N}`: "
        "address space for N rows is taken once, and growing never moves data.",
    )


if TYPE_CHECKING:
    _Storage = _Policies
else:  # with the keys of policies
    policy_keys = {key.name: key.info() for key in list_keys("component")}
    _Storage = create_model("_Storage", __base__=_Policies, **policy_keys)


class ComponentSpec(_Storage):
    """A component: its columns, and the policies that its manager follows."""

    capacity: Annotated[int, Field(ge=0, le=MAX_ROWS)] = Field(
        0, description="Rows allocated at construction."
    )
    space: SpaceSpec | None = Field(
        None,
        description="The field with the positions of rows, by which `near` finds those around.",
    )
    grid: GridSpec | None = Field(
        None,
        description="The rows are the cells of a grid: all exist from the beginning, none is "
        "created or destroyed.",
    )
    on: Form[OnSpec, Text] | None = Field(
        None, description="The field with the cells of a grid on which rows stand, or a mapping."
    )
    network: NetworkSpec | None = Field(
        None,
        description="The rows are links between entities: `links_of` finds those of an entity, "
        "and `near: {via: …}` in kernels of the world who is at their other ends.",
    )
    requires: list[Text] = Field(
        [],
        description="Components that entities with this one have as well: spawning and adding give "
        "those that are missing, with their defaults, and what these require.",
    )
    kernels: dict[str, KernelSpec] = Field(
        {}, description="Name → kernel: a method that changes every row."
    )
    reductions: dict[str, ReductionSpec] = Field(
        {}, description="Name → reduction: a method that returns one value."
    )

    @property
    def has_ids(self) -> bool:
        """True if instances have stable ids, by `ids` or by `owner: none`."""
        return self.ids or self.owner == "none"

    @property
    def start(self) -> Literal["", "active", "inactive"]:
        """The part of a partition where new instances begin; empty without a partition."""
        return self.partition.start if isinstance(self.partition, PartitionSpec) else ""

    @property
    def orphans(self) -> Literal["", "root", "destroy", "die"]:
        """The key `orphans` of a hierarchy; empty without a hierarchy."""
        return self.hierarchy.orphans if isinstance(self.hierarchy, HierarchySpec) else ""

    @property
    def reserve(self) -> int:
        """Rows that are reserved; 0 with `growth: double`."""
        return self.growth.reserve if isinstance(self.growth, GrowthSpec) else 0

    @cached_property
    def long_fields(self) -> dict[str, FieldSpec]:
        """The fields in their long form."""
        forms = self.fields_.items()
        return {name: FieldSpec(type=f) if isinstance(f, str) else f for name, f in forms}


class EntitySpec(Strict):
    """The layout of entity handles."""

    index_bits: Annotated[int, Field(ge=1, le=32)] = Field(
        32, description="Bits of the index: how many entities can live at once."
    )
    generation_bits: Annotated[int, Field(ge=1, le=63)] = Field(
        32,
        description="Bits of the generation: how often an index can be used. With `shards`, 20 by "
        "default.",
    )
    shard_bits: Annotated[int, Field(ge=1, le=32)] = Field(
        12,
        description="Bits of the shard where an entity was made: how many shards a run can have "
        "in all. Only with `shards`.",
    )
    min_free: Annotated[int, Field(ge=0, le=0xFFFF_FFFF)] = Field(
        1024, description="Freed indices are reused once more than this many are free."
    )


class ShardsSpec(Strict):
    """The world is one of several, in as many processes, between which entities move."""

    ghosts: dict[str, list[Text]] = Field(
        {},
        description="Component → fields that other shards may have copies of. Entities that are "
        "sent as ghosts have all these components.",
    )
    stay: list[Text] = Field(
        [],
        description="Components whose rows never leave their process: they are destroyed when "
        "their entity leaves.",
    )
    objects: Literal["pickle"] | None = Field(
        None, description="`object` fields travel as pickles."
    )


class QuerySpec(Strict):
    """Entities by their components, which all have managers, or all live in archetypes."""

    all: list[Text] = Field([], description="Every one of these.")
    any: list[Text] = Field([], description="At least one of these.")
    none: list[Text] = Field([], description="Not one of these.")
    optional: list[Text] = Field([], description="Rows of these too, `NIL` where absent.")


class ArchetypesSpec(Strict):
    """Components that live in archetype chunks instead of managers."""

    chunk: Annotated[int, Field(ge=256, le=2**30)] = Field(
        262_144, description="Bytes of one chunk."
    )
    components: list[Text] = Field(min_length=1, description="The components.")


class EntrySpec(Strict):
    """An entry of a schedule that runs at some ticks only, or several times in a row."""

    run: TextsForm = Field(
        [], description="The kernel, the table, or `tick`; or a list of them, one after the other."
    )
    set: Text = Field(
        "", description="Instead of `run`: the setting that is assigned, `settings.dt`."
    )
    to: ValueForm = Field(
        "", description="Its value, of settings, reductions (`Body.fastest()`), `tick`."
    )
    every: int | None = Field(None, description="The ticks from one run to the next, by default 1.")
    from_: int = Field(0, alias="from", description="The first tick at which it runs.")
    times: int | None = Field(None, description="The number of runs in a row, by default one.")
    while_: Text = Field(
        "",
        alias="while",
        description="A reduction, as in `Node.moving`: it runs once, and again as long as this is "
        "true, or not 0, after it.",
    )
    at_most: int | None = Field(None, description="The most runs of a `while`; needed beside it.")


class RecordColumnSpec(BaseReduction):
    """A column of a table: one value of all living, active rows, by exactly one of the functions.

    `count: Sheep` counts all rows.
    """

    over: Text = Field(
        "",
        description="The component, group or query with the rows; by default the only "
        "component that the column names.",
    )


class RecordRowsSpec(Strict):
    """A table with a line for each living, active row, instead of columns under names."""

    rows: Text = Field(description="The component, group or query.")
    fields: list[Text] = Field(
        [],
        description="Fields, behind `tick` and `entity` (or `id`); of a group or query "
        "`Component.field`.",
    )
    where: Text = Field("", description="A condition: only rows for which it is true.")


RecordForm: TypeAlias = Annotated[
    Annotated[RecordRowsSpec, Tag(LONG)]
    | Annotated[Annotated[dict[str, RecordColumnSpec], Field(min_length=1)], Tag(NAMED)],
    Discriminator(form_of_table),
]


class WorldSpec(Strict):
    """The world: all managers together. At most one in a project; without one there is a `World`
    of all components."""

    world: ClassName = Field(description="The name of the class; `World` is always an alias.")
    doc: Text = Field("", description="A description, for docstrings.")
    version: Annotated[int, Field(ge=0)] = Field(
        0, description="A number of your choice, saved with the world, for `migrate`."
    )
    removed: list[Text] = Field(
        [],
        description="Former components, and settings as `settings.dt`: what was saved of them is "
        "dropped. No new one takes the name.",
    )
    settings: dict[str, Form[SettingSpec, TypeText]] = Field(
        {},
        description="Name → type, or a mapping: values that belong to no entity, as "
        "`world.settings.dt`, and `settings.dt` in kernels.",
    )
    entity: EntitySpec = Field(
        default_factory=EntitySpec, description="The layout of entity handles."
    )
    bundles: dict[
        str,
        Form[
            Annotated[dict[str, dict[str, Any]], Field(min_length=1)],
            Annotated[list[Text], Field(min_length=1)],
        ],
    ] = Field(
        {},
        description="Name → components and other bundles: sets to spawn from. A list, or a mapping "
        "of components to values of their fields, as `{unit: {}, Health: {hp: 50}}`.",
    )
    queries: dict[str, QuerySpec] = Field({}, description="Name → query.")
    groups: dict[str, Annotated[list[Text], Field(min_length=2)]] = Field(
        {},
        description="Name → components. The rows of entities that have all of them are aligned, at "
        "the front of each manager.",
    )
    kernels: dict[str, WorldKernelSpec] = Field(
        {}, description="Name → kernel over a group, a query or a component."
    )
    schedule: dict[str, Annotated[list[Form[EntrySpec, Text]], Field(min_length=1)]] = Field(
        {},
        description="Name → kernels, `Component.kernel` or the world's own by name: a method that "
        "calls them in this order. `tick` adds 1 to the time, a table's name writes a line.",
    )
    records: dict[str, RecordForm] = Field(
        {}, description="Name → table: name → column, or `rows` for a line of each row."
    )
    archetypes: ArchetypesSpec | None = Field(
        None, description="Components that live in archetype chunks."
    )
    shards: ShardsSpec | None = Field(
        None,
        description="The world is one of several, in as many processes, between which entities "
        "move. `{}` is enough.",
    )

    @cached_property
    def long_settings(self) -> dict[str, SettingSpec]:
        """The settings in their long form."""
        forms = self.settings.items()
        return {name: SettingSpec(type=f) if isinstance(f, str) else f for name, f in forms}

    @property
    def chunked(self) -> list[str]:
        """The components that live in archetypes."""
        return self.archetypes.components if self.archetypes else []


KINDS: Final[dict[str, type[Strict]]] = {
    "component": ComponentSpec,
    "enum": EnumSpec,
    "world": WorldSpec,
}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one document, for editors: chosen by its kind key."""
    from pydantic import TypeAdapter  # not needed for validating

    adapter: TypeAdapter[Any] = TypeAdapter(ComponentSpec | EnumSpec | WorldSpec)
    schema = adapter.json_schema(by_alias=True)
    definitions = _with_names(schema["$defs"])
    chosen: dict[str, Any] = {"required": [next(iter(KINDS))]}
    for kind, model in reversed(KINDS.items()):
        then = {"$ref": f"#/$defs/{model.__name__}"}
        chosen = {"if": {"required": [kind]}, "then": then, "else": chosen}
    kinds = {kind: definitions[m.__name__]["properties"][kind] for kind, m in KINDS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ecsgen schema",
        "type": "object",
        "properties": {kind: {"description": key["description"]} for kind, key in kinds.items()},
        **chosen,
        "$defs": definitions,
    }


def _with_names(schema: Any) -> Any:
    """Return a copy of a schema in which the keys of mappings with free keys are identifiers."""
    if isinstance(schema, list):
        return [_with_names(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: _with_names(part) for key, part in schema.items()}
    if isinstance(schema.get("additionalProperties"), dict):
        copy["propertyNames"] = {"pattern": f"^{IDENTIFIER.pattern}$"}
    return copy
