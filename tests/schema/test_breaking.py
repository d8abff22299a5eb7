"""Breaking changes from one version of schemas to another, and that loading agrees: for each case,
a world full of extreme values is saved by the old package and loaded by the new one.
"""

from __future__ import annotations

import importlib
import json
import re
from itertools import cycle, islice
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from ecsgen_runtime.snapshots.cell_types import CellType, cell_type

from ecsgen.breaking import BreakKind
from ecsgen.breaking.checks import compare
from ecsgen.breaking.comparison import Comparison, SchemaVersion
from ecsgen.diagnostics import Diagnostics, format_text
from ecsgen.model import History
from ecsgen.model.snapshot_schema import make_snapshot_schema
from ecsgen.policies import list_policies
from ecsgen.schema import load
from generated._schema import SCHEMA
from tests.models.random_schemas import ENUMS as ENUM_TEXT
from tests.models.random_schemas import Schemas, over_chunks, together
from tests.support import world_package
from tests.support.schema_evolution import package

GOLDEN = Path(__file__).parents[1] / "golden" / "breaking"


def breaks(
    old: str, new: str, only: BreakKind | None = None, snapshot: bool = False
) -> Diagnostics:
    older = SchemaVersion.of(world_package.load(old))
    if snapshot:
        older = SchemaVersion(older.saved, History(), None)
    # What is compared with itself is read twice: not all that is alike is the same object.
    newer = world_package.checked(new)[0] if new == old else world_package.load(new)
    assert newer is not None
    diagnostics = Diagnostics()
    compare(Comparison(older, newer, Path("new"), diagnostics, only))
    return diagnostics


def component(keys: str = "", **fields: str) -> str:
    """A component: `fields:` is line 2, fields begin on line 4, and keys come behind them."""
    listed = "".join(f"  {name}: {value}\n" for name, value in fields.items())
    return f"component: Body\nfields:\n  kept: u8\n{listed}{keys}"


class Case(NamedTuple):
    """Title, old, new, the codes about data and those about code, each with its line."""

    name: str
    old: str
    new: str
    data: str = ""
    code: str = ""


def field(name: str, old: str, new: str, data: str = "", code: str = "") -> Case:
    """A change of the field `x`."""
    return Case(name, component(x=old), component(x=new), data, code)


NAMES: list[Case] = [
    Case("field added", component(), component(x="f32")),
    Case(
        "field renamed",
        component(x="f32"),
        component(y="{type: f32, renamed_from: [x]}"),
        code="E951:4",
    ),
    Case("field removed", component(x="f32"), component("removed: [x]\n"), code="E951:2"),
    Case("field gone", component(x="f32"), component(), "E901:2", "E951:2"),
    Case(
        "all fields gone",
        "component: Body\nfields: {x: f32}\n",
        "component: Body\n",
        "E901:1",
        "E951:1",
    ),
    Case("component added", component(), component() + "---\ncomponent: Added\n"),
    Case(
        "component renamed",
        component(x="f32"),
        "component: Thing\nrenamed_from: [Body]\nfields: {kept: u8, x: f32}\n",
        code="E951:1",
    ),
    Case(
        "component removed",
        component() + "---\ncomponent: Old\n",
        component() + "---\nworld: W\nremoved: [Old]\n",
        code="E951:6",
    ),
    Case("component gone", component() + "---\ncomponent: Old\n", component(), "E901:0", "E951:0"),
]

ENUM = "---\nenum: Mode\nvalues: {a: 0, b: 1}\n"
USER = component(x="Mode")  # the enum begins on line 6, its members stand on line 7


def members(name: str, old: str, new: str, data: str = "", code: str = "") -> Case:
    """A change of an enum that the field `x` has."""
    return Case(name, USER + ENUM, USER + ENUM.replace(old, new), data, code)


def moded(name: str, old: str, new: str, data: str = "", code: str = "") -> Case:
    """A change of the keys of that enum: they stand from line 7 on."""
    mode = USER + "---\nenum: Mode\n"
    return Case(name, f"{mode}{old}\n", f"{mode}{new}\n", data, code)


def other_type(name: str, x: str, enums: str, data: str = "", code: str = "") -> Case:
    """A change of the field's type from an enum to another."""
    return Case(name, USER + ENUM, component(x=x) + enums, data, code)


KIND = "---\nenum: Kind\nvalues: {}\n"
ENUMS: list[Case] = [
    members("member added", "b: 1", "b: 1, c: 2"),
    members("member renamed", "b: 1", "c: {value: 1, renamed_from: [b]}", code="E951:7"),
    members("member removed", ", b: 1}", "}\nremoved: [b]", code="E951:7"),
    members("member gone", ", b: 1", "", "E901:7", "E951:7"),
    members("member renumbered", "b: 1", "b: 2", code="E952:7"),
    members("stored as another type", "b: 1", "b: 1, c: 300", code="E952:6"),
    other_type(
        "enum renamed", "Kind", ENUM.replace("Mode", "Kind\nrenamed_from: [Mode]"), code="E951:6"
    ),
    other_type(
        "another enum that has all members", "Kind", ENUM + KIND.format("[z, b, a]"), code="E952:4"
    ),
    other_type(
        "another enum that lacks one", "Kind", ENUM + KIND.format("[z, b]"), "E902:4", "E952:4"
    ),
    moded(
        "flags of an enum",
        "values: {a: 0, b: 1}",
        "flags: true\nvalues: {a: 2, b: 1}",
        "E903:7",
        "E952:7",
    ),
    moded(
        "a combination of flags gone",
        "flags: true\nvalues: {a: 1, b: 2, ab: 3, no: 0}",
        "flags: true\nvalues: {a: 1, b: 2}",
        code="E951:8 E951:8",
    ),
    moded(
        "a flag gone",
        "flags: true\nvalues: {a: 1, b: 2}",
        "flags: true\nvalues: {a: 1}",
        "E901:8",
        "E951:8",
    ),
    Case(
        "enum gone, with the field", USER + ENUM, component("removed: [x]\n"), code="E951:0 E951:2"
    ),
    other_type("enum to its number", "u8", ENUM, code="E952:4"),
    Case(
        "enum to a smaller number",
        USER + ENUM.replace("b: 1", "b: 300"),
        component(x="u8") + ENUM.replace("b: 1", "b: 300"),
        "E902:4",
        "E952:4",
    ),
    Case("number to enum", component(x="u8") + ENUM, USER + ENUM, "E902:4", "E952:4"),
]


def retyped(old: str, new: str, data: str, code: str) -> Case:
    name = f"{old} to {new}"
    return field(name, f'"{old}"', f'"{new}"', data and f"{data}:4", code and f"{code}:4")


IDS = "---\ncomponent: {0}\nids: true\n---\ncomponent: Other\nids: true\n"
TYPES: list[Case] = [
    retyped("u8", "u16", "", "E952"),
    retyped("u16", "u8", "E902", "E952"),
    retyped("i16", "u16", "E902", "E952"),
    retyped("f32", "f64", "", "E952"),
    retyped("f64", "f32", "E902", "E952"),
    retyped("bool", "u8", "", "E952"),
    retyped("bool", "f32", "", "E952"),
    retyped("u8", "bool", "E902", "E952"),
    retyped("i16", "f32", "", "E952"),
    retyped("i32", "f32", "E902", "E952"),
    retyped("i64", "f64", "E902", "E952"),
    retyped("f32", "i64", "E902", "E952"),
    retyped("str[4]", "str[8]", "", ""),
    retyped("str[8]", "str[4]", "E902", ""),
    retyped("bytes[4]", "bytes[8]", "", ""),
    retyped("bytes[8]", "bytes[4]", "E902", ""),
    retyped("str[4]", "bytes[4]", "", "E952"),
    retyped("str[8]", "bytes[4]", "E902", "E952"),
    retyped("bytes[4]", "str[4]", "E902", "E952"),
    retyped("f32[2]", "f32[3]", "", "E952"),
    retyped("f32[3]", "f32[2]", "E902", "E952"),
    retyped("f32[2,3]", "f32[3,2]", "E902", "E952"),
    retyped("u16[2]", "u8[3]", "E902", "E952"),
    retyped("f32", "f32[3]", "E903", "E952"),
    retyped("f32[4]", "f32[2,2]", "E903", "E952"),
    retyped("object", "u8", "E903", "E952"),
    retyped("u8", "object", "E903", "E952"),
    retyped("str[4]", "u8", "E903", "E952"),
    retyped("u64", "entity", "E903", "E952"),
    Case(
        "id of another",
        component(x="id<One>") + IDS.format("One"),
        component(x="id<Other>") + IDS.format("One"),
        "E903:4",
        "E952:4",
    ),
    Case(
        "id of what is renamed",
        component(x="id<One>") + IDS.format("One"),
        component(x="id<Two>") + IDS.format("Two\nrenamed_from: [One]"),
        code="E951:6",
    ),
    field("default, doc, tags", "f32", "{type: f32, default: 2, doc: Hm., tags: [hot, old]}"),
    Case("order of fields", component(x="f32", y="u8"), component(y="u8", x="f32")),
    field("split", '"f32[2]"', '{type: "f32[2]", split: true}', code="E952:4"),
    field("cold in the one buffer", "f32", "{type: f32, tags: [cold]}"),
    Case(
        "cold in a second buffer",
        component("cold: indirect\n", x="f32", y="{type: f32, tags: [cold]}"),
        component("cold: indirect\n", x="{type: f32, tags: [cold]}", y="{type: f32, tags: [cold]}"),
        code="E952:4",
    ),
    field("unit", "{type: f32, unit: m}", "{type: f32, unit: km}", "E906:4"),
    field("unit told", "f32", "{type: f32, unit: km}"),
    field("unique", "u8", "{type: u8, unique: true}", "E902:4"),
    Case(
        "unique and new",
        component(x="u8"),
        component(x="u8", y="{type: u8, unique: true}"),
        "E902:5",
    ),
    Case(
        "unique and new, of floats that equal nothing",
        component(x="u8"),
        component(x="u8", y="{type: f32, unique: true, default: .nan}"),
    ),
    field("unique no more", "{type: u8, unique: true}", "u8", code="E953:4"),
]


def policy(old: str, new: str, data: str = "", code: str = "") -> Case:
    """A change of keys: they stand from line 4 on; without any, the component is on line 1."""
    pair = component(f"{old}\n" if old else ""), component(f"{new}\n" if new else "")
    return Case(f"{old or 'nothing'} to {new or 'nothing'}", *pair, data, code)


POLICIES: list[Case] = [
    policy("lookup: hash", "lookup: sparse"),
    policy("", "lookup: hash"),
    policy("", "lookup: direct", "", "E953:4"),
    policy("lookup: direct", "", "", "E953:1"),
    policy("", "growth: {reserve: 64}"),
    policy("capacity: 64", ""),
    policy("release: true", "release: false", "", "E953:4"),
    policy("", "release: true"),
    policy("add: true", "add: false", "", "E953:4"),
    policy("add: true", "", "", "E953:1"),
    policy("", "add: true"),
    policy("destroy: callback", "destroy: manual", "", "E953:4"),
    policy("destroy: callback", "destroy: manual\nrelease: true"),
    policy("", "instances: many"),
    policy("instances: many", "instances: one", "E902:4", "E953:4"),
    policy("", "destroy: callback", "E904:4", "E953:4"),
    policy("destroy: manual", "destroy: callback", "E904:4", ""),
    policy("destroy: manual", ""),
    policy("", "destroy: manual", "", "E953:4"),
    policy("", "ids: true"),
    policy("ids: true", "ids: false", "E904:4", "E953:4"),
    policy("ids: true", "", "E904:1", "E953:1"),
    policy("ids: true", "ids: true\nlookup: direct", "E904:5", "E953:5"),
    policy("", "partition: {start: active}"),
    policy("partition: {start: active}", "partition: {start: inactive}"),
    policy("partition: {start: active}", "partition: off", "E904:4", "E953:4"),
    policy("", "hierarchy: {orphans: root}"),
    policy("hierarchy: {orphans: root}", "hierarchy: {orphans: die}"),
    policy("hierarchy: {orphans: root}", "hierarchy: off", "E904:4", "E953:4"),
    policy("", "ring: 10", "E902:4", ""),
    policy("ring: 10", "ring: 20"),
    policy("ring: 20", "ring: 10", "E902:4", ""),
    policy("ring: 10", "", "E904:1", "E953:1"),
    policy("", "owner: none", "E904:4", "E953:4"),
    policy("owner: none", "owner: entity", "E903:4", "E953:4"),
    policy("owner: none\nids: true", "owner: entity\nids: true", "E903:4", ""),
    Case(
        "cold columns of their own",
        component(x="{type: f32, tags: [cold]}"),
        component("cold: indirect\n", x="{type: f32, tags: [cold]}"),
        code="E953:5",
    ),
    Case(
        "hot columns to cold ones of their own",
        component(x="f32"),
        component("cold: indirect\n", x="{type: f32, tags: [cold]}"),
        code="E952:4",
    ),
    Case(
        "cold columns with the others",
        component("cold: indirect\n", x="{type: f32, tags: [cold]}"),
        component(x="{type: f32, tags: [cold]}"),
        code="E953:1",
    ),
]


def linked(name: str, old: str, new: str, code: str = "") -> Case:
    """A change of the network of rows, which stands on line 6."""
    ends = {"a": "entity", "b": "entity"}
    first, then = (component(f"network: {text}\n" if text else "", **ends) for text in (old, new))
    return Case(name, first, then, code=code)


NETWORKS: list[Case] = [
    linked("a network put on", "", "{between: [a, b]}"),
    linked("a network taken off", "{between: [a, b]}", "", "E953:1"),
    linked("ends in another order", "{between: [a, b]}", "{between: [b, a]}"),
    linked("another direction", "{from: a, to: b}", "{from: b, to: a}", "E952:6"),
    linked("one way", "{between: [a, b]}", "{from: a, to: b}", "E952:6"),
    linked("both ways", "{from: a, to: b}", "{between: [a, b]}", "E952:6"),
    linked("another end", "{from: entity, to: a}", "{from: entity, to: b}", "E952:6"),
    Case(
        "an end renamed",
        component("network: {from: entity, to: x}\n", x="entity"),
        component("network: {from: entity, to: y}\n", y="{type: entity, renamed_from: [x]}"),
        code="E951:4",
    ),
    field("on_delete", "entity", "{type: entity, on_delete: cascade}"),
    field("no on_delete", "{type: entity, on_delete: clear}", "entity"),
    Case(
        "links that go at once",
        component("owner: none\n", x="{type: entity, on_delete: clear}"),
        component("owner: none\ndestroy: callback\n", x="{type: entity, on_delete: cascade}"),
        code="E953:6",
    ),
]

ARCHETYPES = "---\nworld: World\narchetypes: {components: [Body]}\n"
TWO = component() + "---\ncomponent: Tag\n---\ncomponent: Rest\n"  # the world begins on line 8
WORLD = "---\nworld: World\n"
KERNELS = """\
kernels:
  age: {args: {by: u8}, steps: [kept += by]}
  tire: {args: {most: u8}, steps: ["kept = min(kept, most)"]}
  rest: {steps: [kept = 0]}
"""
MOVED = component(KERNELS)  # the world begins on line 8, too


def worldly(name: str, old: str, new: str, data: str = "", code: str = "") -> Case:
    """A change of keys of the world, beside three components: they stand on line 10."""
    return Case(name, TWO + WORLD + f"{old}\n", TWO + WORLD + f"{new}\n", data, code)


def timely(name: str, old: str, new: str, data: str = "", code: str = "") -> Case:
    """A change of schedules or records, beside three kernels: from line 10 on."""
    return Case(name, MOVED + WORLD + f"{old}\n", MOVED + WORLD + f"{new}\n", data, code)


def recorded(name: str, old: str, new: str, data: str = "", code: str = "") -> Case:
    """A change of what the table `all` has, on line 10."""
    return timely(name, f"records: {{all: {{{old}}}}}", f"records: {{all: {{{new}}}}}", data, code)


WORLDS: list[Case] = [
    Case("into archetypes", component(), component() + ARCHETYPES, "E904:6", "E953:6"),
    Case(
        "into archetypes, without dead ones",
        component("destroy: callback\n"),
        component() + ARCHETYPES,
        code="E953:6",
    ),
    Case("out of archetypes", component() + ARCHETYPES, component() + WORLD, code="E953:1"),
    worldly(
        "group smaller", "groups: {g: [Body, Tag, Rest]}", "groups: {g: [Body, Tag]}", "", "E953:10"
    ),
    worldly(
        "query of fewer",
        "queries: {q: {all: [Body], optional: [Tag]}}",
        "queries: {q: {all: [Body], none: [Tag]}}",
        code="E951:10",
    ),
    Case(
        "query of what is renamed",
        component() + WORLD + "queries: {q: {all: [Body]}}\n",
        component("renamed_from: [Body]\n").replace("Body", "Thing", 1)
        + WORLD
        + "queries: {q: {all: [Thing]}}\n",
        code="E951:1",
    ),
    worldly("bundle gone", "bundles: {b: [Body]}", "", code="E951:9"),
    worldly(
        "bundle of fewer, by one within",
        "bundles: {b: [Body, c], c: [Tag]}",
        "bundles: {b: [Body], c: [Tag]}",
        code="E952:10",
    ),
    timely(
        "schedule gone",
        "schedule: {day: [Body.age]}",
        "schedule: {night: [Body.age]}",
        "",
        "E951:10",
    ),
    timely(
        "schedule of a kernel more",
        "schedule: {day: [Body.age]}",
        "schedule: {day: [Body.age, Body.tire]}",
        code="E952:10",
    ),
    timely(
        "schedule in another order, of the same arguments",
        "schedule: {day: [Body.age, Body.tire, Body.rest]}",
        "schedule: {day: [Body.age, Body.rest, Body.tire]}",
    ),
    timely(
        "time gone",
        "schedule: {day: [Body.age, tick]}",
        "schedule: {day: [Body.age]}",
        "E901:10",
        "E951:10",
    ),
    timely(
        "time left to tables",
        "schedule: {day: [Body.age, tick]}",
        "schedule: {day: [Body.age]}\nrecords: {all: {n: {count: Body}}}",
    ),
    timely(
        "table gone",
        "records: {all: {n: {count: Body}}}",
        "records: {some: {n: {count: Body}}}",
        code="E951:10",
    ),
    timely("records gone", "records: {all: {n: {count: Body}}}", "", code="E951:9"),
    recorded(
        "column gone, one of another type, and one more",
        "n: {count: Body}, x: {sum: Body.kept}",
        "x: {mean: Body.kept}, more: {count: Body}",
        code="E951:10 E952:10",
    ),
    recorded(
        "column of a line for each row gone",
        "rows: Body, fields: [kept]",
        "rows: Body",
        "",
        "E951:10",
    ),
    recorded(
        "table in another order, of other rows",
        "n: {count: Body}, x: {sum: Body.kept}",
        "x: {sum: Body.kept, where: tick > 3}, n: {count: Body}",
    ),
    Case("world renamed", component() + WORLD, component() + "---\nworld: Town\n"),
    Case(
        "fewer bits",
        component() + WORLD,
        component() + WORLD + "entity: {index_bits: 31,\n  generation_bits: 33}\n",
        "E902:6",
        "E952:6 E952:7",
    ),
    Case(
        "world gone, and with it the bits",
        component() + "---\nworld: World\nentity: {index_bits: 31}\n",
        component(),
        code="E952:0",
    ),
    worldly("min_free, version, doc", "", "entity: {min_free: 3}\nversion: 4\ndoc: Hm."),
]

KERNEL = "kernels:\n  go: {args: {a: f32, b: u8}, steps: [kept = kept]}\n"  # on line 5
REDUCTION = "reductions:\n  total: {sum: kept}\n"
OVER = "---\nworld: World\nqueries: {q: {all: [Body]}}\nkernels:\n  "
RUN = OVER + "go: {over: q, args: {a: u8}, steps: [Body.kept = a]}\n"  # on line 8


def called(name: str, old: str, new: str, code: str = "") -> Case:
    """A change of the kernel, from line 4 on."""
    return Case(name, component(KERNEL), component(KERNEL.replace(old, new)), code=code)


CALLS: list[Case] = [
    Case("kernel added", component(), component(KERNEL)),
    Case("kernel gone", component(KERNEL), component(), code="E951:1"),
    called("steps", "= kept", "= kept + 1"),
    called("an argument less", "a: f32, ", "", "E952:5"),
    called("another order", "a:", "c:", "E952:5"),
    called("another type", "u8", "u16", "E952:5"),
    called("the unit of an argument", "a: f32", "a: {type: f32, unit: s}"),
    Case("reduction gone", component(REDUCTION), component(), code="E951:1"),
    Case("kernel of the world gone", component() + RUN, component() + WORLD, code="E951:5 E951:5"),
    Case(
        "arguments of a kernel of the world",
        component() + RUN,
        component() + RUN.replace("a: u8", "a: u8, b: f32"),
        code="E952:8",
    ),
]

RENAMED = "{type: f32, renamed_from: [y]}"
REMOVES = "removed: [old]\n"
PAST = component(REMOVES, x=RENAMED)


def past(name: str, new: str, data: str = "", code: str = "") -> Case:
    """A change of a component with the removed field `old`, and with `x`, which was `y`."""
    return Case(name, PAST, new, data, code)


OTHER = "---\ncomponent: Thing\nrenamed_from: [Former]\n"
REMOVED = "---\nworld: World\nremoved: [Old]\n"
HISTORY: list[Case] = [
    past("nothing taken off", PAST),
    past("removed taken off", component(x=RENAMED), "E905:1"),
    past("one of several taken off", component("removed: [other]\n", x=RENAMED), "E905:5"),
    past(
        "a removed name as a former one",
        component(x=RENAMED, z="{type: f32, renamed_from: [old]}"),
        "E905:5",
    ),
    past("renamed_from taken off", component(REMOVES, x="f32"), "E905:4"),
    past("a former name back", component(REMOVES, x="f32", y="u8"), "E905:5"),
    past(
        "renamed once more, with one name only",
        component(REMOVES, z="{type: f32, renamed_from: [x]}"),
        "E905:4",
        "E951:4",
    ),
    past(
        "renamed once more, with both",
        component(REMOVES, z="{type: f32, renamed_from: [x, y]}"),
        code="E951:4",
    ),
    past("removed later", component("removed: [old, x, y]\n"), code="E951:2"),
    past("removed later, but for a name", component("removed: [old, x]\n"), "E905:4", "E951:2"),
    past(
        "of a component renamed meanwhile",
        component(REMOVES, x="f32").replace("Body", "Thing\nrenamed_from: [Body]"),
        "E905:5",
        "E951:1",
    ),
    Case(
        "of an enum that is gone",
        USER + ENUM.replace("Mode", "Mode\nrenamed_from: [Way]"),
        component("removed: [x]\n"),
        code="E951:0 E951:2",
    ),
    Case(
        "of components",
        component() + OTHER + REMOVED,
        component() + "---\ncomponent: Thing\n---\nworld: World\n",
        "E905:0 E905:5",
    ),
    Case(
        "of enums and members",
        USER + "---\nenum: Mode\nrenamed_from: [Way]\nvalues: {a: {value: 0, renamed_from: [b]}}\n"
        "removed: [c, d]\n",
        USER + "---\nenum: Mode\nvalues: {a: 0, d: 1}\nremoved: [e]\n",
        "E905:6 E905:7 E905:7 E905:8",
    ),
]

CASES = [*NAMES, *ENUMS, *TYPES, *POLICIES, *NETWORKS, *WORLDS, *CALLS, *HISTORY]


def places(diagnostics: Diagnostics) -> str:
    return " ".join(sorted(f"{each.code}:{each.mark.line}" for each in diagnostics))


@pytest.mark.parametrize(
    ("old", "new", "data", "code"), [pytest.param(*case, id=name) for name, *case in CASES]
)
def test_verdicts(old: str, new: str, data: str, code: str) -> None:
    breaking = breaks(old, new)
    assert places(breaking) == " ".join(filter(None, (data, code))), format_text(breaking)
    assert all(diagnostic.hint for diagnostic in breaking)
    assert not [*breaks(old, old), *breaks(new, new)]


def test_one_kind_alone() -> None:
    old, new = component(x="f64"), component(x="f32")
    assert places(breaks(old, new, "data")) == "E902:4"
    assert places(breaks(old, new, "code")) == "E952:4"


def test_a_snapshot_knows_nothing_of_kernels_and_the_past() -> None:
    old = component(KERNEL + "release: true\nremoved: [old]\n", x="f64") + (
        "---\nworld: City\nqueries: {q: {all: [Body]}}\nbundles: {b: [Body]}\n"
    )
    new = component(x="f32")
    assert places(breaks(old, new, snapshot=True)) == "E902:4 E952:4"


@pytest.mark.parametrize("case", sorted(folder.name for folder in GOLDEN.iterdir()))
def test_texts(case: str, update: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN / case)
    diagnostics = Diagnostics()
    old, new = load(Path("old"), diagnostics), load(Path("new"), diagnostics)
    assert old is not None
    assert new is not None
    shown = diagnostics.without_entries()
    compare(Comparison(SchemaVersion.of(old), new, Path("new"), shown))
    expected = Path("expected.txt")
    if update:
        expected.write_text(format_text(shown), encoding="utf-8", newline="\n")
    assert format_text(shown) == expected.read_bytes().decode("utf-8")


def test_the_table_of_methods_is_true() -> None:
    document = json.loads(SCHEMA)
    methods = [method for policy in list_policies() for method in policy.methods]
    wanted = {name for _, _, names in methods for name in names.split()}
    for name, component in document["components"].items():
        if component["in"] == "archetypes":
            continue
        module = importlib.import_module(f"generated.{component['module']}")
        manager, data = getattr(module, f"{name}Manager"), getattr(module, f"{name}Data")
        has = {f"data.{name}" for name in dir(data)} | set(dir(manager))
        if "wrap" in has:
            has -= {"near", "wrap"}  # of a space, which is no policy
        expected = {
            name for _, has_it, names in methods if has_it(component) for name in names.split()
        }
        assert has & wanted == expected, name


def mixture(number: int) -> str:
    """Random schemas, of which others have the same names."""
    schemas = Schemas(number)
    world = schemas.world()
    drafts = [schemas.component(f"Mix{letter}") for letter in "ABCD"]
    chunked, archetypes = schemas.chunked("XY"[: 1 + number % 2])
    world += archetypes + over_chunks(chunked) + together(drafts)
    known = "component: Known\nids: true\n"
    return "---\n".join([world, ENUM_TEXT, known, *(draft.text for draft in (*drafts, *chunked))])


@pytest.mark.parametrize("number", range(40))
def test_any_two_versions_can_be_compared(number: int) -> None:
    old, new = mixture(number), mixture(number + 1000)
    breaking = breaks(old, new)
    lines = new.splitlines()
    for diagnostic in breaking:
        assert diagnostic.hint
        assert re.fullmatch("E9(0[1-6]|5[123])", diagnostic.code)
        text = (
            lines[diagnostic.mark.line - 1][diagnostic.mark.column - 1 :]
            if diagnostic.mark.line
            else "x"
        )
        assert text[: diagnostic.mark.length].strip()
    assert not list(breaks(old, old))


ROWS = 12
REFUSED = {"E901", "E902", "E903"}
DROPPED = ["body.entity"]
"""A change that is allowed where owners are forgotten, and said to need it."""
FIT = {"enum to its number", "fewer bits"}
"""Changes by which values may not fit, where those of so small a world do."""


def elements(kind: CellType, entities: list[int]) -> list[Any]:
    """Values of one element that another type is the least likely to take."""
    if kind.base in ("enum", "flags"):
        return list(kind.members.values())
    if kind.base == "str":
        return ["ä" * (kind.size // 2), "x" * kind.size]
    if kind.base == "bytes":
        return [b"\xff" * kind.size]
    if kind.base == "entity":
        return entities
    if kind.base in ("bool", "object"):
        return [True, False] if kind.base == "bool" else [None]
    dtype = kind.dtype
    if dtype.kind == "f":
        return [float(np.finfo(dtype).max), 0.1, float("nan"), -float("inf")]
    return [int(np.iinfo(dtype).max), int(np.iinfo(dtype).min), 1]


def column(kind: CellType, count: int, is_unique: bool, entities: list[int]) -> Any:
    """A column of these, over and over."""
    if is_unique:
        return range(count)
    flat = list(islice(cycle(elements(kind, entities)), count * prod(kind.shape)))
    return np.array(flat, kind.dtype).reshape(count, *kind.shape) if kind.shape else flat


def filled(text: str) -> Any:
    """A world with rows of every component."""
    schema = make_snapshot_schema(world_package.load(text))
    town = package(text).World()
    entities = town.entities.create_many(ROWS).tolist()
    for component in schema["components"].values():
        count = min(ROWS, component.get("ring", ROWS))
        columns = {
            name: column(kind, count, field.get("unique", False), entities)
            for name, field in component["fields"].items()
            if (kind := cell_type(field["type"], schema["enums"])).base != "id"
        }
        if component["in"] == "archetypes":
            town.spawn(count, **{component["module"]: columns})
            continue
        manager = getattr(town, component["module"])
        if component["owner"] == "none":
            manager.create_many(count, **columns)
            continue
        is_many = component["instances"] == "many"
        manager.create_many(entities[:1] * count if is_many else entities[:count], **columns)
    return town


@pytest.mark.parametrize(
    ("name", "old", "new", "data"),
    [pytest.param(name, old, new, data, id=name) for name, old, new, data, _ in CASES],
)
def test_loading_does_as_it_says(name: str, old: str, new: str, data: str) -> None:
    codes = {code.partition(":")[0] for code in data.split()}
    town = filled(old)
    if name.startswith("time"):
        town.tick = 3
    saved = town.to_bytes(codecs={"*": (bytes, bytes)})
    kind = package(new).World
    options: dict[str, Any] = {"codecs": {"*": (bytes, bytes)}}
    if name == "nothing to owner: none":
        options["drop"] = DROPPED
    if codes & REFUSED and name not in FIT:
        with pytest.raises(ValueError, match="<bytes>: ") as error:
            kind.load(saved, **options)
        assert type(error.value).__name__ == "SnapshotError"
    else:
        kind.load(saved, **options)
