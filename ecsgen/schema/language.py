"""The schema language: one definition validates, makes the JSON Schema and the reference page.

What pydantic can't say (names, field types, keys that contradict each other) comes after it.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import ConfigDict, Discriminator, Field, Tag

from ecsgen.schema.forms import (
    LONG,
    NUMBER,
    SHORT,
    WORD,
    ArgumentText,
    ClassName,
    Strict,
    Text,
    TypeText,
    form,
    form_of_number,
    number_or_name,
)
from ecsgen.schema.names import IDENTIFIER

MAX_CAPACITY: Final = 0xFFFF_FFC0  # the last multiple of 64 rows below NIL
Rows: TypeAlias = Annotated[int, Field(ge=0, le=MAX_CAPACITY)]
_FORMER: Final = "All names that it had before: what was saved under them is its own."


class FieldSpec(Strict):
    """A field: one column."""

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
    unique: bool = Field(
        default=False,
        description="Let no two instances have the same value, and find them by it: "
        "`find_<field>`, `find_<field>_many`. `data.<field>` is read-only, kernels only read it.",
    )
    renamed_from: list[Text] = Field(default=[], description=_FORMER)


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


FieldForm: TypeAlias = Annotated[
    Annotated[FieldSpec, Tag(LONG)] | Annotated[TypeText, Tag(SHORT)], Discriminator(form)
]
ArgumentForm: TypeAlias = Annotated[
    Annotated[ArgumentSpec, Tag(LONG)] | Annotated[ArgumentText, Tag(SHORT)], Discriminator(form)
]


RadiusForm: TypeAlias = Annotated[
    Annotated[float, Tag(NUMBER)] | Annotated[Text, Tag(WORD)], Discriminator(number_or_name)
]


class NearSpec(Strict):
    """Whose rows a kernel of the world asks."""

    radius: RadiusForm = Field(description="How far neighbours are: a number, or an argument.")
    among: Text = Field(
        default="",
        description="The group, query or component whose rows are asked; by default the kernel's "
        "own.",
    )


NearForm: TypeAlias = Annotated[
    Annotated[NearSpec, Tag(LONG)] | Annotated[float, Tag(NUMBER)] | Annotated[Text, Tag(WORD)],
    Discriminator(form_of_number),
]


class BaseKernel(Strict):
    """What kernels of components and of the world have in common."""

    doc: Text = Field(default="", description="What it does; the method's docstring.")
    args: dict[str, ArgumentForm] = Field(
        default={}, description="Name → type, or a mapping of `type`, `unit` and `each`."
    )
    steps: list[Text] = Field(
        min_length=1, description="Assignments, run in order, row by row in meaning."
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
    near: RadiusForm | None = Field(
        default=None,
        description="The radius, a number or an argument, in which rows have neighbours that "
        "steps and `where` can ask.",
    )


class WorldKernelSpec(BaseKernel):
    """A method of the world that changes the rows of several components together."""

    over: Text = Field(
        description="The group, query or component whose rows it runs over; of a component every "
        "instance, with a `partition` the active ones."
    )
    near: NearForm | None = Field(
        default=None,
        description="The radius in which rows have neighbours, or a mapping of `radius` and "
        "`among`.",
    )


class ReductionSpec(Strict):
    """A method that returns one value computed from all rows: exactly one of the five ways."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": [how]} for how in ("sum", "min", "max", "mean", "count")]
        }
    )

    sum: Text = Field(default="", description="The sum of an expression; 0 without rows.")
    min: Text = Field(default="", description="The smallest value; NaN without rows.")
    max: Text = Field(default="", description="The largest value; NaN without rows.")
    mean: Text = Field(default="", description="The mean; NaN without rows.")
    count: Text = Field(default="", description="In how many rows the condition is true.")
    where: Text = Field(default="", description="A condition: only rows for which it is true.")
    rows: Literal["active", "all"] = Field(
        default="active", description="Which rows, for a component with a `partition`."
    )
    doc: Text = Field(default="", description="What it tells; the method's docstring.")


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

    reserve: Annotated[int, Field(ge=1, le=MAX_CAPACITY)] = Field(
        description="Rows, rounded up to whole 64s. Beyond it: `CapacityError`."
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


class ComponentSpec(Strict):
    """A component: its columns, and the policies that its manager follows."""

    component: ClassName = Field(
        description="The name, CamelCase, unique after case folding. `PointMass` makes the module "
        "`point_mass` and the class `PointMassManager`."
    )
    doc: Text = Field(default="", description="What it is; the first line of the docstrings.")
    renamed_from: list[Text] = Field(default=[], description=_FORMER)
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
    ring: Annotated[int, Field(ge=1, le=MAX_CAPACITY)] | None = Field(
        default=None,
        description="At most so many instances: creating more removes the oldest first, as any "
        "removal does. More at once than that: `CapacityError`.",
    )
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


class MemberSpec(Strict):
    """A member of an enum that has more to it than its number."""

    value: int = Field(description="The number.")
    doc: Text = Field(default="", description="What it means; its docstring.")
    renamed_from: list[Text] = Field(default=[], description=_FORMER)


MemberForm: TypeAlias = Annotated[
    Annotated[MemberSpec, Tag(LONG)] | Annotated[int, Tag(SHORT)], Discriminator(form)
]
ValuesForm: TypeAlias = Annotated[
    Annotated[dict[str, MemberForm], Tag(LONG)] | Annotated[list[Text], Tag(SHORT)],
    Discriminator(form),
]


class EnumSpec(Strict):
    """An enum, or a set of flags, that fields can have as their type."""

    enum: ClassName = Field(description="The name, CamelCase.")
    doc: Text = Field(default="", description="What it tells apart; the docstring.")
    renamed_from: list[Text] = Field(default=[], description=_FORMER)
    removed: list[Text] = Field(
        default=[],
        description="Former members: saved cells with them become the field's default. No new one "
        "takes the name.",
    )
    values: ValuesForm = Field(
        description="Names, numbered 0, 1, 2 … (flags 1, 2, 4 …), or a mapping of name to number, "
        "or to a mapping. Stored in the smallest unsigned type that fits."
    )
    flags: bool = Field(default=False, description="An `IntFlag` instead of an `IntEnum`.")


class EntitySpec(Strict):
    """The layout of entity handles."""

    index_bits: Annotated[int, Field(ge=1, le=32)] = Field(
        default=32, description="Bits of the index: how many entities can live at once."
    )
    generation_bits: Annotated[int, Field(ge=1, le=63)] = Field(
        default=32,
        description="Bits of the generation: how often an index can be used. With `shards`, 20 by "
        "default.",
    )
    shard_bits: Annotated[int, Field(ge=1, le=32)] = Field(
        default=12,
        description="Bits of the shard where an entity was made: how many shards a run can have "
        "in all. Only with `shards`.",
    )
    min_free: Annotated[int, Field(ge=0, le=0xFFFF_FFFF)] = Field(
        default=1024, description="Freed indices are reused once more than this many are free."
    )


class ShardsSpec(Strict):
    """That the world is one of several, in as many processes, between which entities move."""

    ghosts: dict[str, list[Text]] = Field(
        default={},
        description="Component → fields that other shards may have copies of. Entities that are "
        "sent as ghosts have all these components.",
    )
    stay: list[Text] = Field(
        default=[],
        description="Components whose rows never leave their process: they are destroyed when "
        "their entity leaves.",
    )
    objects: Literal["pickle"] | None = Field(
        default=None, description="`object` fields travel as pickles."
    )


class QuerySpec(Strict):
    """Entities by the components that they have; all of these have managers, or none has."""

    all: list[Text] = Field(default=[], description="Every one of these.")
    any: list[Text] = Field(default=[], description="At least one of these.")
    none: list[Text] = Field(default=[], description="Not one of these.")
    optional: list[Text] = Field(default=[], description="Rows of these too, `NIL` where absent.")


class ArchetypesSpec(Strict):
    """Components that live in archetype chunks instead of managers."""

    chunk: Annotated[int, Field(ge=256, le=2**30)] = Field(
        default=262_144, description="Bytes of one chunk."
    )
    components: list[Text] = Field(min_length=1, description="The components.")


class WorldSpec(Strict):
    """The world: all managers together. At most one in a project; without one there is a `World`
    of all components."""

    world: ClassName = Field(description="The name of the class; `World` is always an alias.")
    doc: Text = Field(default="", description="What it is; the docstring.")
    version: Annotated[int, Field(ge=0)] = Field(
        default=0,
        description="A number of your own, saved with the world, for `migrate` to go by.",
    )
    removed: list[Text] = Field(
        default=[],
        description="Former components: what was saved of them is dropped. No new one takes the "
        "name.",
    )
    entity: EntitySpec = Field(
        default_factory=EntitySpec, description="The layout of entity handles."
    )
    bundles: dict[str, Annotated[list[Text], Field(min_length=1)]] = Field(
        default={},
        description="Name → components and other bundles: sets to spawn from.",
    )
    queries: dict[str, QuerySpec] = Field(default={}, description="Name → query.")
    groups: dict[str, Annotated[list[Text], Field(min_length=2)]] = Field(
        default={},
        description="Name → components. The rows of entities that have all of them are aligned, at "
        "the front of each manager.",
    )
    kernels: dict[str, WorldKernelSpec] = Field(
        default={}, description="Name → kernel over a group, a query or a component."
    )
    schedule: dict[str, Annotated[list[Text], Field(min_length=1)]] = Field(
        default={},
        description="Name → kernels, `Component.kernel` or the world's own by name: a method that "
        "calls them in this order.",
    )
    archetypes: ArchetypesSpec | None = Field(
        default=None, description="Components that live in archetype chunks."
    )
    shards: ShardsSpec | None = Field(
        default=None,
        description="The world is one of several, in as many processes, between which entities "
        "move. `{}` is enough.",
    )


KINDS: Final[dict[str, type[Strict]]] = {
    "component": ComponentSpec,
    "enum": EnumSpec,
    "world": WorldSpec,
}


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of one document, for editors: chosen by its kind key."""
    from pydantic import TypeAdapter  # not needed for validating

    adapter: TypeAdapter[Any] = TypeAdapter(ComponentSpec | EnumSpec | WorldSpec)
    made = adapter.json_schema(by_alias=True)
    definitions = _with_names(made["$defs"])
    chosen: dict[str, Any] = {"required": [next(iter(KINDS))]}
    for kind, model in reversed(KINDS.items()):
        then = {"$ref": f"#/$defs/{model.__name__}"}
        chosen = {"if": {"required": [kind]}, "then": then, "else": chosen}
    kinds = {kind: definitions[m.__name__]["properties"][kind] for kind, m in KINDS.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ecsgen schema",
        "type": "object",
        "properties": {kind: {"description": made["description"]} for kind, made in kinds.items()},
        **chosen,
        "$defs": definitions,
    }


def _with_names(schema: Any) -> Any:
    """A schema in which the keys of all mappings of one's own are identifiers."""
    if isinstance(schema, list):
        return [_with_names(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _with_names(part) for key, part in schema.items()}
    if isinstance(schema.get("additionalProperties"), dict):
        found["propertyNames"] = {"pattern": f"^{IDENTIFIER.pattern}$"}
    return found
