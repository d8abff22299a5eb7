"""The world: entities, bundles, queries, groups, kernels, schedules, chunks, shards."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from ecsgen.schema.forms import LONG, NAMED, ClassName, Form, Strict, Text, form_of_table
from ecsgen.schema.language.kernel_keys import FoldSpec, WorldKernelSpec


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


class EntrySpec(Strict):
    """An entry of a schedule that happens at some times only."""

    run: Text = Field(description="The kernel, the table, or `tick`.")
    every: int = Field(default=1, description="How many ticks apart it happens.")
    from_: int = Field(default=0, alias="from", description="The first tick at which it happens.")


class RecordColumnSpec(FoldSpec):
    """A column of a table: one value of all living, active rows; exactly one of the eight ways.

    `count: Sheep` counts all rows.
    """

    over: Text = Field(
        default="",
        description="The component, group or query whose rows these are; by default the only "
        "component that is named.",
    )


class RecordRowsSpec(Strict):
    """A table with a line for each living, active row, instead of columns under names."""

    rows: Text = Field(description="The component, group or query.")
    fields: list[Text] = Field(
        default=[],
        description="Fields, behind `tick` and `entity` (or `id`); of a group or query "
        "`Component.field`.",
    )
    where: Text = Field(default="", description="A condition: only rows for which it is true.")


RecordForm: TypeAlias = Annotated[
    Annotated[RecordRowsSpec, Tag(LONG)]
    | Annotated[
        Annotated[dict[str, RecordColumnSpec], Field(min_length=1)],
        Tag(NAMED),
    ],
    Discriminator(form_of_table),
]


class WorldSpec(Strict):
    """The world: all managers together. At most one in a project; without one there is a `World`
    of all components."""

    world: ClassName = Field(description="The name of the class; `World` is always an alias.")
    doc: Text = Field(default="", description="What it is; the docstring.")
    version: Annotated[int, Field(ge=0)] = Field(
        default=0, description="A number of your own, saved with the world, for `migrate` to go by."
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
        default={}, description="Name → components and other bundles: sets to spawn from."
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
    schedule: dict[str, Annotated[list[Form[EntrySpec, Text]], Field(min_length=1)]] = Field(
        default={},
        description="Name → kernels, `Component.kernel` or the world's own by name: a method that "
        "calls them in this order. `tick` adds 1 to the time, a table's name writes a line.",
    )
    records: dict[str, RecordForm] = Field(
        default={},
        description="Name → table: name → column, or `rows` for a line of each row.",
    )
    archetypes: ArchetypesSpec | None = Field(
        default=None, description="Components that live in archetype chunks."
    )
    shards: ShardsSpec | None = Field(
        default=None,
        description="The world is one of several, in as many processes, between which entities "
        "move. `{}` is enough.",
    )

    @property
    def chunked(self) -> list[str]:
        """The components that live in archetypes."""
        return self.archetypes.components if self.archetypes else []
