"""The checked model of a project's schemas: what every later step reads.

`ecsgen.schema` makes it; nothing after that looks at YAML again. Everything here is immutable,
compares and prints by content alone (marks are left out), so `repr` is a stable digest input.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum as PyEnum
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from ecsgen.marks import Mark as Mark
from ecsgen.model.typed_program import EMPTY_REDUCTION, NO_PROGRAM, Program, ReductionProgram
from ecsgen.model.typed_tree import SETTINGS as SETTINGS
from ecsgen.model.typed_tree import Expression, ReducedValue, SettingValue, fields_in, nodes_in
from ecsgen.model.types import Type

Default = bool | int | float | str | bytes | None | tuple["Default", ...]
Marks = Mapping[str, Mark]


class BaseType(PyEnum):
    """The kind of value in one cell of a field."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    ENTITY = "entity"
    ID = "id"
    ENUM = "enum"
    STR = "str"
    BYTES = "bytes"
    OBJECT = "object"
    DATETIME = "datetime"
    TIMEDELTA = "timedelta"


@dataclass(frozen=True, slots=True)
class FieldType:
    """A field type, taken apart: `f32[3]` is FLOAT, scalar "f32", shape (3,)."""

    text: str  # the canonical spelling
    base: BaseType
    scalar: str  # "bool", "i8" … "f64"; u64 for entity and id; the enum's storage; numpy's of times
    shape: tuple[int, ...] = ()
    size: int = 0  # N of str[N] and bytes[N]
    target: str = ""  # the component of id<…>, the name of an enum

    @property
    def is_time(self) -> bool:
        """True for datetimes and timedeltas, whose unit the scalar has: `M8[ms]`."""
        return self.base in (BaseType.DATETIME, BaseType.TIMEDELTA)

    @property
    def is_computed(self) -> bool:
        """True if kernels compute with such values: not with text, bytes and objects."""
        return self.base not in (BaseType.STR, BaseType.BYTES, BaseType.OBJECT)

    @property
    def kernel_scalar(self) -> str:
        """The scalar as kernels compute with it: of times an i64 counts the units."""
        return "i64" if self.is_time else self.scalar


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a component. `default` is complete: nested tuples of the whole shape for shaped
    fields, a number for enums, padded to N for bytes, None for objects, ISO text for datetimes, a
    number of units for timedeltas, `NaT` for neither."""

    name: str
    type: FieldType
    default: Default
    doc: str = ""
    unit: str = ""
    tags: tuple[str, ...] = ()  # as written; without "cold" a field is hot
    split: bool = False
    is_cell_reference: bool = False  # its value is the cell of a grid on which the row stands
    is_end: bool = False  # its value is the entity at an end of the row, which is a link
    on_delete: str = "keep"  # what becomes of the row when the entity dies that it refers to
    is_sorted: bool = False  # rows are found by its value when an entity dies
    options: tuple[tuple[str, Any], ...] = ()  # policies by key: kernels only read such fields
    marks: Marks = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_cold(self) -> bool:
        """True if the field is tagged cold."""
        return "cold" in self.tags

    @property
    def is_guarded(self) -> bool:
        """True if writes do more than to fill a cell, so that views are read-only."""
        return bool(self.options) or self.is_cell_reference or self.is_end


@dataclass(frozen=True, slots=True)
class Setting(Field):
    """One setting of the world: a value that belongs to no row."""

    low: int | float | None = None  # the least number that it may be
    high: int | float | None = None


@dataclass(frozen=True, slots=True)
class DerivedValue:
    """A name for an expression of a row, as written and typed, over the fields of this row."""

    name: str
    expression: str
    value: Expression
    mark: Mark | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class NearClause:
    """A neighbourhood of a kernel as written."""

    name: str  # `other` without one
    radius: float | str | None  # a number, an argument, or on a grid a field; None: all rows
    among: str = ""  # the source of the neighbours, if not the kernel's own
    hood: str = ""
    center: bool | None = None
    marks: Marks = field(default_factory=dict, repr=False, compare=False)
    via: str = ""  # the component whose rows are the links to the neighbours
    back: bool | None = None


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel as written, and the typed program that it means."""

    name: str
    steps: tuple[str, ...]
    doc: str = ""
    args: tuple[tuple[str, str, str], ...] = ()  # name, type text, unit
    each: tuple[str, ...] = ()  # arguments with a value per row
    where: str = ""
    rows: str = ""
    over: str = ""
    key: str = ""
    turns: str = ""  # "rows", "random", "given", "by", "drawn": how rows act one after the other
    turns_of: str | int = ""  # the number that orders the turns, or how many are drawn
    parallel: bool = False
    near: tuple[NearClause, ...] = ()
    at_most: int | None = None  # the passes of a `while`
    program: Program = NO_PROGRAM
    marks: Marks = field(default_factory=dict, repr=False, compare=False)

    @property
    def method(self) -> str:
        """The name of its method, which only schedules call if it assigns a setting for them."""
        return f"_{self.name}" if self.over == SETTINGS else self.name

    def takes_rows(self, components: Container[str]) -> bool:
        """Return True if a call can name rows: those of one of these components, in any order."""
        is_of_one = not self.over or self.over in components
        return is_of_one and not self.program.runs_by_level


class ScheduleEntry(NamedTuple):
    """An entry of a schedule: kernels, tables or `tick`, or the assignment of a setting; at which
    ticks they run, and how often."""

    run: tuple[str, ...] = ()
    every: int | None = None  # how many ticks apart; None: always
    start: int = 0  # the first tick
    times: int = 1  # how many times in a row; with a condition at most
    condition: str = ""  # the reduction as long as which it runs again: `Node.moving`
    set: str = ""  # the setting, or an element of it: `settings.dt`
    to: str = ""  # its new value
    assignment: Kernel | None = None  # which does it

    @property
    def is_repeated(self) -> bool:
        """True if it runs several times in a row."""
        return self.times != 1 or bool(self.condition)

    @property
    def is_plain(self) -> bool:
        """True if it runs once, whatever the time is."""
        return self.every is None and not self.is_repeated

    @property
    def ticks(self) -> str:
        """The first ticks at which it runs; empty if it runs every time."""
        every, start = self.every, self.start
        return "" if every is None else f"{start}, {start + every}, …"

    @property
    def repeats(self) -> str:
        """How often it runs in a row, in words; empty for once."""
        if self.condition:
            return f"while {self.condition}, at most {self.times} times"
        return f"{self.times} times" if self.is_repeated else ""

    @property
    def why_alone(self) -> str:
        """The reason why no call before or after shares a pass with its own; empty if they may."""
        if self.repeats:
            return f"runs {self.repeats}"
        if self.every == 1:
            return f"runs from tick {self.start} on"
        return "" if self.is_plain else "does not run at every tick"


@dataclass(frozen=True, slots=True)
class FusedKernels:
    """Kernels of a schedule that go through the same rows in one pass, and the method for them."""

    name: str
    kernels: tuple[Kernel, ...]


ReductionFunction = Literal["sum", "min", "max", "mean", "count", "std", "median", "gini"]
REDUCTION_FUNCTIONS: Final[tuple[ReductionFunction, ...]] = get_args(ReductionFunction)
"""Functions of the values of all rows."""
FLOAT_REDUCTIONS: Final[tuple[ReductionFunction, ...]] = ("mean", "std", "median", "gini")
"""Reductions with a float as their result for every type."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction as written, and the typed value of each row."""

    name: str
    function: ReductionFunction
    expression: str
    where: str = ""
    rows: str = ""
    over: str = ""  # the source of a table's column
    doc: str = ""
    program: ReductionProgram = EMPTY_REDUCTION
    marks: Marks = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_of_all(self) -> bool:
        """True if the function needs all values at once."""
        return self.function in ("std", "median", "gini")

    @property
    def scalar(self) -> str:
        """The scalar type of a table's column."""
        if self.function == "count":
            return "i64"
        return self.program.value.type.total if self.function == "sum" else "f64"


class RecordedField(NamedTuple):
    """A column of a table with a line for each row."""

    owner: str  # the component
    name: str
    value: Expression

    @property
    def type(self) -> Type:
        """The type, without a shape."""
        return self.value.type


@dataclass(frozen=True, slots=True)
class Table:
    """A table that the world records: a line of columns each time, or a line for each row."""

    name: str
    columns: tuple[Reduction, ...] = ()
    rows: str = ""  # the source of the rows that have a line each
    fields: tuple[RecordedField, ...] = ()
    where: str = ""  # the condition on these rows
    program: ReductionProgram = EMPTY_REDUCTION
    marks: Marks = field(default_factory=dict, repr=False, compare=False)

    @property
    def over(self) -> tuple[str, ...]:
        """The components, groups and queries that the table reads."""
        return (self.rows,) if self.rows else tuple(dict.fromkeys(c.over for c in self.columns))

    @property
    def _programs(self) -> tuple[ReductionProgram, ...]:
        return (self.program, *(column.program for column in self.columns))

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields that the table reads, with their components."""
        fields = [read.text for read in fields_in(*(field.value for field in self.fields))]
        fields += [text for program in self._programs for text in program.reads]
        fields += [text for value in self.reduced for text in value.reads]
        return tuple(dict.fromkeys(fields))

    @property
    def reduced(self) -> tuple[ReducedValue, ...]:
        """The values of reductions that the table reads."""
        values = (value for program in self._programs for value in program.reduced)
        return tuple(dict.fromkeys(values))

    @property
    def settings(self) -> tuple[SettingValue, ...]:
        """The settings that the table reads."""
        values = [*nodes_in(SettingValue, *(field.value for field in self.fields))]
        values += [value for program in self._programs for value in program.settings]
        return tuple(dict.fromkeys(values))


@dataclass(frozen=True, slots=True)
class Space:
    """The field with the positions of rows, and the size of each axis, 0 if it is open."""

    field: str
    wrap: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Network:
    """The ends of a component's rows, which are links: fields, or `entity` for the owner."""

    first: str
    second: str
    is_mutual: bool
    """True if links lead both ways, else from the first end to the second."""

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends."""
        return self.first, self.second


Hood = Literal["moore", "von_neumann", "axes", "hex"]
"""The shape of a grid neighbourhood."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The default grid of a component whose rows are cells."""

    shape: tuple[int, ...]
    wrap: tuple[bool, ...]
    hood: Hood


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The cells on which the rows of a component stand."""

    field: str
    grid: str  # the component
    capacity: int = 0  # of a cell; 0: any number of rows


@dataclass(frozen=True, slots=True)
class Component:
    """One component with the policies of its schema."""

    name: str  # PointMass
    module: str  # point_mass
    fields: tuple[Field, ...] = ()
    derived: tuple[DerivedValue, ...] = ()
    doc: str = ""
    owner: Literal["entity", "none"] = "entity"
    instances: Literal["one", "many"] = "one"
    lookup: Literal["sparse", "hash", "direct"] = "sparse"
    destroy: Literal["gc", "callback", "manual"] = "gc"
    release: bool = False  # true with destroy: callback
    add: bool = False
    ids: bool = False  # true with owner: none
    partition: Literal["", "active", "inactive"] = ""
    hierarchy: Literal["", "root", "destroy", "die"] = ""
    cold: Literal["inline", "indirect"] = "inline"
    reserve: int = 0  # rows of `growth: {reserve: N}`, rounded up to 64s; 0 means doubling
    options: tuple[tuple[str, Any], ...] = ()  # further keys of policies
    capacity: int = 0
    space: Space | None = None
    grid: Grid | None = None  # its rows are cells, which are unowned and never come or go
    on: Occupancy | None = None
    network: Network | None = None  # its rows are links between entities
    requires: tuple[str, ...] = ()  # components that entities with it have as well
    grid_component: Component | None = None  # the grid of `on`, as its own kernels see it
    kernels: tuple[Kernel, ...] = ()
    reductions: tuple[Reduction, ...] = ()
    queried: bool = False  # a query of the world has its rows
    world_columns: tuple[str, ...] = ()  # the columns that kernels of the world use
    values: tuple[str, ...] = ()  # the reductions whose values are read
    fused: tuple[FusedKernels, ...] = ()  # passes of the world's schedules
    settings: str = ""  # the class of the world's settings, if kernels or reductions read some
    backend: Literal["numpy", "numba"] = "numpy"  # an option of the build, not of the schema
    group: str = ""  # the world's group that it is a member of
    ghosts: tuple[str, ...] | None = None  # the fields that other shards may have copies of
    is_sharded: bool = False  # the world may be one of several that entities go between
    chunk: int = 0  # bytes of the archetype chunks that its rows live in; 0 with a manager
    source: str = ""  # the schema file, relative to the schema folder, with forward slashes
    max_rows: int = 0  # then new rows replace the oldest ones; 0: no bound
    by_default: tuple[str, ...] = ()  # policies that the project's options chose
    marks: Marks = field(default_factory=dict, repr=False, compare=False)  # by key; "" is the name

    @property
    def readable(self) -> tuple[Field | DerivedValue, ...]:
        """Values of a row that kernels read by name: fields, then derived values."""
        return (*self.fields, *self.derived)

    @property
    def knows_entities(self) -> bool:
        """True if rows without owners refer to entities that their manager looks at."""
        return self.owner == "none" and (self.network is not None or bool(self.on_delete))

    @property
    def on_delete(self) -> dict[str, str]:
        """Return what becomes of a row when an entity dies, by the field that refers to it."""
        return {f.name: f.on_delete for f in self.fields if f.on_delete != "keep"}

    @property
    def sees_ghosts(self) -> bool:
        """True if neighbours may be ghosts: ghosts have positions."""
        return self.space is not None and self.space.field in (self.ghosts or ())

    @property
    def indirect_fields(self) -> tuple[Field, ...]:
        """The fields in the second buffer, which has no cells for some rows."""
        return tuple(field for field in self.fields if self.cold == "indirect" and field.is_cold)

    @property
    def hides_owners(self) -> bool:
        """True if owners of ghosts cannot follow those of rows, because they would become rows."""
        return self.ghosts is not None and self.lookup == "direct"


@dataclass(frozen=True, slots=True)
class Enum:
    """An enum or a set of flags."""

    name: str
    values: tuple[tuple[str, int], ...]
    flags: bool
    scalar: str  # the smallest unsigned type that fits, "u8" … "u64"
    default: int
    doc: str = ""
    docs: tuple[tuple[str, str], ...] = ()  # of the members that have one
    source: str = ""
    marks: Marks = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Query:
    """A query of the world."""

    name: str
    all: tuple[str, ...] = ()
    any: tuple[str, ...] = ()
    none: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    chunked: bool = False  # its components live in archetype chunks, otherwise all have managers
    marks: Marks = field(default_factory=dict, repr=False, compare=False)


Values: TypeAlias = Mapping[str, Default]
"""Field → value."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A set of components to spawn from."""

    name: str
    members: Mapping[str, Values]
    """The components and bundles that the schema lists, with the values that it says there."""
    values: Mapping[str, Values]
    """The values of all components, with those of bundles in it."""


@dataclass(frozen=True, slots=True)
class Shards:
    """Sharding of a world: the bits of handles, the ghosts, and the components that stay."""

    bits: int = 12  # of a handle: the number of the shard where the entity was made
    ghosts: tuple[tuple[str, tuple[str, ...]], ...] = ()  # component → fields
    stay: tuple[str, ...] = ()  # components whose rows never leave


@dataclass(frozen=True, slots=True)
class World:
    """The world and the layout of entity handles; the defaults hold without a schema."""

    name: str = "World"
    doc: str = ""
    index_bits: int = 32
    generation_bits: int = 32
    min_free: int = 1024
    settings: tuple[Setting, ...] = ()
    bundles: tuple[Bundle, ...] = ()
    queries: tuple[Query, ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    kernels: tuple[Kernel, ...] = ()
    schedules: tuple[tuple[str, tuple[ScheduleEntry, ...]], ...] = ()
    records: tuple[Table, ...] = ()
    fused: tuple[FusedKernels, ...] = ()  # passes of schedules over groups and queries
    chunk: int = 262144
    archetypes: tuple[str, ...] = ()
    shards: Shards | None = None
    source: str = ""
    marks: Marks = field(default_factory=dict, repr=False, compare=False)

    def query(self, name: str) -> Query | None:
        """Return the query of a name, if there is one."""
        return next((query for query in self.queries if query.name == name), None)

    def members_of(self, name: str) -> tuple[str, ...]:
        """Return the components that each row of a group, query or component has."""
        query = self.query(name)
        return dict(self.groups).get(name) or ((name,) if query is None else query.all)

    @property
    def assignments(self) -> tuple[Kernel, ...]:
        """The kernels that assign settings for schedules."""
        entries = [entry for _, entries in self.schedules for entry in entries]
        return tuple(entry.assignment for entry in entries if entry.assignment is not None)

    def queries_of(self, *, chunked: bool) -> list[Query]:
        """Return the queries of chunks, or those of managers."""
        return [query for query in self.queries if query.chunked == chunked]


Names = Mapping[str, str]
"""Former name → present name, or "" for a removed one."""


@dataclass(frozen=True, slots=True)
class History:
    """All former names. Those of fields and members begin with the present name of their component
    or enum: `Body.velocity`."""

    version: int = 0  # the world's, a number that the user chooses
    components: Names = field(default_factory=dict)
    enums: Names = field(default_factory=dict)
    fields: Names = field(default_factory=dict)
    members: Names = field(default_factory=dict)

    @property
    def renames(self) -> dict[str, dict[str, str]]:
        """Former names by kind, sorted, as in `RENAMES`."""
        kinds = ("components", "enums", "fields", "members")
        return {kind: dict(sorted(getattr(self, kind).items())) for kind in kinds}

    def fields_of(self, component: str) -> Names:
        """Return the former names of a component's fields."""
        return _inside(self.fields, component)

    def members_of(self, enum: str) -> Names:
        """Return the former names of an enum's members."""
        return _inside(self.members, enum)


def _inside(names: Names, owner: str) -> dict[str, str]:
    split = ((*former.split("."), now) for former, now in names.items())
    return {former: now for holder, former, now in split if holder == owner}


@dataclass(frozen=True, slots=True)
class Project:
    """The input of a build. Components and enums are sorted by name."""

    components: tuple[Component, ...]
    enums: tuple[Enum, ...]
    world: World
    backend: Literal["numpy", "numba"] = "numpy"  # an option of the build, not of the schemas
    history: History = field(default_factory=History)

    @property
    def by_name(self) -> dict[str, Component]:
        """The components by their names."""
        return {component.name: component for component in self.components}

    @property
    def owned_components(self) -> list[Component]:
        """The components that entities can have, in the order of their bits: as in the world's
        `_members`, those with managers come first."""
        owned = [component for component in self.components if component.owner == "entity"]
        return sorted(owned, key=lambda component: component.name in self.world.archetypes)

    def made_for(self, backend: Literal["numpy", "numba"]) -> Project:
        """Return the project with kernels for a backend."""
        components = tuple(replace(component, backend=backend) for component in self.components)
        return replace(self, components=components, backend=backend)


def required_by(names: Iterable[str], components: Mapping[str, Component]) -> tuple[str, ...]:
    """Return the components that some require, and those that these require, each once."""
    first = tuple(dict.fromkeys(names))
    closure = [*first]
    for name in closure:
        known = [n for n in components[name].requires if n in components]
        closure += [n for n in known if n not in closure]
    return tuple(closure[len(first) :])
