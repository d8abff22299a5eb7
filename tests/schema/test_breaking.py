"""What breaks by which change: the table of docs/changing-a-schema.md, a row after the other."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from ecsgen.breaking import Only
from ecsgen.breaking.compare import compare
from ecsgen.breaking.comparison import Places, Report, Side
from ecsgen.diagnostics import Diagnostics
from ecsgen.diagnostics.printing import format_text
from ecsgen.model import Project
from ecsgen.model.history import History
from ecsgen.policies import every
from ecsgen.schema import load
from generated._schema import SCHEMA
from tests.models.random_schemas import ENUMS as ENUM_TEXT
from tests.models.random_schemas import Schemas, over_chunks, together

GOLDEN = Path(__file__).parents[1] / "golden" / "breaking"


def project(folder: Path, text: str) -> Project:
    folder.mkdir(parents=True)
    (folder / "a.yaml").write_text(text, encoding="utf-8")
    diagnostics = Diagnostics()
    found = load(folder, diagnostics)
    assert found is not None, format_text(diagnostics)
    return found


def breaks(
    tmp_path: Path, old: str, new: str, only: Only | None = None, snapshot: bool = False
) -> Diagnostics:
    older = Side.of(project(tmp_path / "old", old))
    newer = project(tmp_path / "new", new)
    found = Diagnostics()
    if snapshot:
        older = Side(older.saved, History(), None)
    compare(older, Side.of(newer), Places(newer, tmp_path / "new"), Report(found, only))
    return found


def component(keys: str = "", **fields: str) -> str:
    """A component: `fields:` is line 2, fields begin on line 4, and keys come behind them."""
    listed = "".join(f"  {name}: {value}\n" for name, value in fields.items())
    return f"component: Body\nfields:\n  kept: u8\n{listed}{keys}"


# Each: what it is, old, new, the codes about data and those about code, each with its line.
Case = tuple[str, str, str, str, str]

NAMES: list[Case] = [
    ("field added", component(), component(x="f32"), "", ""),
    (
        "field renamed",
        component(x="f32"),
        component(y="{type: f32, renamed_from: [x]}"),
        "",
        "E951:4",
    ),
    ("field removed", component(x="f32"), component("removed: [x]\n"), "", "E951:2"),
    ("field gone", component(x="f32"), component(), "E901:2", "E951:2"),
    (
        "all fields gone",
        "component: Body\nfields: {x: f32}\n",
        "component: Body\n",
        "E901:1",
        "E951:1",
    ),
    (
        "component added",
        component(),
        component() + "---\ncomponent: Added\n",
        "",
        "",
    ),
    (
        "component renamed",
        component(x="f32"),
        "component: Thing\nrenamed_from: [Body]\nfields: {kept: u8, x: f32}\n",
        "",
        "E951:1",
    ),
    (
        "component removed",
        component() + "---\ncomponent: Old\n",
        component() + "---\nworld: W\nremoved: [Old]\n",
        "",
        "E951:6",
    ),
    ("component gone", component() + "---\ncomponent: Old\n", component(), "E901:0", "E951:0"),
]

ENUM = "---\nenum: Mode\nvalues: {a: 0, b: 1}\n"
USER = component(x="Mode")  # the enum begins on line 6, its members stand on line 7
ENUMS: list[Case] = [
    ("member added", USER + ENUM, USER + ENUM.replace("b: 1", "b: 1, c: 2"), "", ""),
    (
        "member renamed",
        USER + ENUM,
        USER + ENUM.replace("b: 1", "c: {value: 1, renamed_from: [b]}"),
        "",
        "E951:7",
    ),
    (
        "member removed",
        USER + ENUM,
        USER + "---\nenum: Mode\nvalues: {a: 0}\nremoved: [b]\n",
        "",
        "E951:7",
    ),
    ("member gone", USER + ENUM, USER + ENUM.replace(", b: 1", ""), "E901:7", "E951:7"),
    ("member renumbered", USER + ENUM, USER + ENUM.replace("b: 1", "b: 2"), "", "E952:7"),
    (
        "stored as another type",
        USER + ENUM,
        USER + ENUM.replace("b: 1", "b: 1, c: 300"),
        "",
        "E952:6",
    ),
    (
        "enum renamed",
        USER + ENUM,
        component(x="Kind") + ENUM.replace("Mode", "Kind\nrenamed_from: [Mode]"),
        "",
        "E951:6",
    ),
    (
        "another enum that has all members",
        USER + ENUM,
        component(x="Kind") + ENUM + "---\nenum: Kind\nvalues: [z, b, a]\n",
        "",
        "E952:4",
    ),
    (
        "another enum that lacks one",
        USER + ENUM,
        component(x="Kind") + ENUM + "---\nenum: Kind\nvalues: [z, b]\n",
        "E902:4",
        "E952:4",
    ),
    (
        "flags of an enum",
        USER + ENUM,
        USER + ENUM.replace("Mode\n", "Mode\nflags: true\n").replace("a: 0", "a: 2"),
        "E903:7",
        "E952:7",
    ),
    (
        "a combination of flags gone",
        USER + "---\nenum: Mode\nflags: true\nvalues: {a: 1, b: 2, ab: 3, no: 0}\n",
        USER + "---\nenum: Mode\nflags: true\nvalues: {a: 1, b: 2}\n",
        "",
        "E951:8 E951:8",
    ),
    (
        "a flag gone",
        USER + "---\nenum: Mode\nflags: true\nvalues: {a: 1, b: 2}\n",
        USER + "---\nenum: Mode\nflags: true\nvalues: {a: 1}\n",
        "E901:8",
        "E951:8",
    ),
    ("enum gone, with the field", USER + ENUM, component("removed: [x]\n"), "", "E951:0 E951:2"),
    ("enum to its number", USER + ENUM, component(x="u8") + ENUM, "E902:4", "E952:4"),
    ("number to enum", component(x="u8") + ENUM, USER + ENUM, "E902:4", "E952:4"),
]


def retyped(old: str, new: str, data: str, code: str) -> Case:
    pair = component(x=f'"{old}"'), component(x=f'"{new}"')
    return f"{old} to {new}", *pair, data and f"{data}:4", code and f"{code}:4"


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
    (
        "id of another",
        component(x="id<One>") + IDS.format("One"),
        component(x="id<Other>") + IDS.format("One"),
        "E903:4",
        "E952:4",
    ),
    (
        "id of what is renamed",
        component(x="id<One>") + IDS.format("One"),
        component(x="id<Two>") + IDS.format("Two\nrenamed_from: [One]"),
        "",
        "E951:6",
    ),
    (
        "default, doc, tags",
        component(x="f32"),
        component(x="{type: f32, default: 2, doc: Hm., tags: [hot, old]}"),
        "",
        "",
    ),
    ("order of fields", component(x="f32", y="u8"), component(y="u8", x="f32"), "", ""),
    (
        "split",
        component(x='"f32[2]"'),
        component(x='{type: "f32[2]", split: true}'),
        "",
        "E952:4",
    ),
    ("cold", component(x="f32"), component(x="{type: f32, tags: [cold]}"), "", "E952:4"),
    (
        "unit",
        component(x="{type: f32, unit: m}"),
        component(x="{type: f32, unit: km}"),
        "E906:4",
        "",
    ),
    ("unit told", component(x="f32"), component(x="{type: f32, unit: km}"), "", ""),
    ("unique", component(x="u8"), component(x="{type: u8, unique: true}"), "E902:4", ""),
    (
        "unique and new",
        component(x="u8"),
        component(x="u8", y="{type: u8, unique: true}"),
        "E902:5",
        "",
    ),
    (
        "unique and new, of floats that equal nothing",
        component(x="u8"),
        component(x="u8", y="{type: f32, unique: true, default: .nan}"),
        "",
        "",
    ),
    (
        "unique no more",
        component(x="{type: u8, unique: true}"),
        component(x="u8"),
        "",
        "E953:4",
    ),
]


def policy(old: str, new: str, data: str, code: str) -> Case:
    """A change of keys: they stand from line 4 on; without any, the component is on line 1."""
    pair = component(f"{old}\n" if old else ""), component(f"{new}\n" if new else "")
    return f"{old or 'nothing'} to {new or 'nothing'}", *pair, data, code


POLICIES: list[Case] = [
    policy("lookup: hash", "lookup: sparse", "", ""),
    policy("", "lookup: hash", "", ""),
    policy("", "lookup: direct", "", "E953:4"),
    policy("lookup: direct", "", "", "E953:1"),
    policy("", "growth: {reserve: 64}", "", ""),
    policy("capacity: 64", "", "", ""),
    policy("release: true", "release: false", "", "E953:4"),
    policy("", "release: true", "", ""),
    policy("destroy: callback", "destroy: manual", "", "E953:4"),
    policy("destroy: callback", "destroy: manual\nrelease: true", "", ""),
    policy("", "instances: many", "", ""),
    policy("instances: many", "instances: one", "E902:4", "E953:4"),
    policy("", "destroy: callback", "E904:4", "E953:4"),
    policy("destroy: manual", "destroy: callback", "E904:4", ""),
    policy("destroy: manual", "", "", ""),
    policy("", "destroy: manual", "", "E953:4"),
    policy("", "ids: true", "", ""),
    policy("ids: true", "ids: false", "E904:4", "E953:4"),
    policy("ids: true", "", "E904:1", "E953:1"),
    policy("ids: true", "ids: true\nlookup: direct", "E904:5", "E953:5"),
    policy("", "partition: {start: active}", "", ""),
    policy("partition: {start: active}", "partition: {start: inactive}", "", ""),
    policy("partition: {start: active}", "partition: off", "E904:4", "E953:4"),
    policy("", "hierarchy: {orphans: root}", "", ""),
    policy("hierarchy: {orphans: root}", "hierarchy: {orphans: die}", "", ""),
    policy("hierarchy: {orphans: root}", "hierarchy: off", "E904:4", "E953:4"),
    policy("", "ring: 10", "E902:4", ""),
    policy("ring: 10", "ring: 20", "", ""),
    policy("ring: 20", "ring: 10", "E902:4", ""),
    policy("ring: 10", "", "E904:1", "E953:1"),
    policy("", "owner: none", "E904:4", "E953:4"),
    policy("owner: none", "owner: entity", "E903:4", "E953:4"),
    policy("owner: none\nids: true", "owner: entity\nids: true", "E903:4", ""),
    (
        "cold columns of their own",
        component(x="{type: f32, tags: [cold]}"),
        component("cold: indirect\n", x="{type: f32, tags: [cold]}"),
        "",
        "E953:5",
    ),
    (
        "cold columns with the others",
        component("cold: indirect\n", x="{type: f32, tags: [cold]}"),
        component(x="{type: f32, tags: [cold]}"),
        "",
        "E953:1",
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
MOVED = component(KERNELS) + WORLD  # what comes behind is on line 10
WORLDS: list[Case] = [
    ("into archetypes", component(), component() + ARCHETYPES, "E904:6", "E953:6"),
    (
        "into archetypes, without dead ones",
        component("destroy: callback\n"),
        component() + ARCHETYPES,
        "",
        "E953:6",
    ),
    ("out of archetypes", component() + ARCHETYPES, component() + WORLD, "", "E953:1"),
    (
        "group gone",
        TWO + WORLD + "groups: {g: [Body, Tag]}\n",
        TWO + WORLD + "groups: {h: [Body, Tag]}\n",
        "",
        "E951:10",
    ),
    (
        "group smaller",
        TWO + WORLD + "groups: {g: [Body, Tag, Rest]}\n",
        TWO + WORLD + "groups: {g: [Body, Tag]}\n",
        "",
        "E953:10",
    ),
    (
        "query gone",
        TWO + WORLD + "queries: {q: {all: [Body]}}\n",
        TWO + WORLD + "queries: {r: {all: [Body]}}\n",
        "",
        "E951:10",
    ),
    (
        "query of fewer",
        TWO + WORLD + "queries: {q: {all: [Body], optional: [Tag]}}\n",
        TWO + WORLD + "queries: {q: {all: [Body], none: [Tag]}}\n",
        "",
        "E951:10",
    ),
    (
        "query of what is renamed",
        component() + "---\nworld: World\nqueries: {q: {all: [Body]}}\n",
        component("renamed_from: [Body]\n").replace("Body", "Thing", 1)
        + "---\nworld: World\nqueries: {q: {all: [Thing]}}\n",
        "",
        "E951:1",
    ),
    (
        "bundle gone",
        TWO + WORLD + "bundles: {b: [Body]}\n",
        TWO + WORLD,
        "",
        "E951:9",
    ),
    (
        "bundle of fewer, by one within",
        TWO + WORLD + "bundles: {b: [Body, c], c: [Tag]}\n",
        TWO + WORLD + "bundles: {b: [Body], c: [Tag]}\n",
        "",
        "E952:10",
    ),
    (
        "schedule gone",
        MOVED + "schedule: {day: [Body.age]}\n",
        MOVED + "schedule: {night: [Body.age]}\n",
        "",
        "E951:10",
    ),
    (
        "schedule of a kernel more",
        MOVED + "schedule: {day: [Body.age]}\n",
        MOVED + "schedule: {day: [Body.age, Body.tire]}\n",
        "",
        "E952:10",
    ),
    (
        "schedule in another order, of the same arguments",
        MOVED + "schedule:\n  day: [Body.age, Body.tire, Body.rest]\n",
        MOVED + "schedule:\n  day: [Body.age, Body.rest, Body.tire]\n",
        "",
        "",
    ),
    ("world renamed", component() + WORLD, component() + "---\nworld: Town\n", "", ""),
    (
        "world of a name of its own renamed",
        component() + "---\nworld: City\n",
        component() + "---\nworld: Town\n",
        "",
        "E951:5",
    ),
    (
        "fewer bits",
        component() + WORLD,
        component() + WORLD + "entity: {index_bits: 31,\n  generation_bits: 33}\n",
        "E902:6",
        "E952:6 E952:7",
    ),
    (
        "world gone, and with it the bits",
        component() + "---\nworld: World\nentity: {index_bits: 31}\n",
        component(),
        "",
        "E952:0",
    ),
    (
        "min_free, version, doc",
        component() + WORLD,
        component() + WORLD + "entity: {min_free: 3}\nversion: 4\ndoc: Hm.\n",
        "",
        "",
    ),
]

KERNEL = "kernels:\n  go: {args: {a: f32, b: u8}, steps: [kept = kept]}\n"  # on line 5
REDUCTION = "reductions:\n  total: {sum: kept}\n"
OVER = "---\nworld: World\nqueries: {q: {all: [Body]}}\nkernels:\n  "
RUN = OVER + "go: {over: q, args: {a: u8}, steps: [Body.kept = a]}\n"  # on line 8
CALLS: list[Case] = [
    ("kernel added", component(), component(KERNEL), "", ""),
    ("kernel gone", component(KERNEL), component(), "", "E951:1"),
    (
        "one kernel of two gone",
        component(KERNEL),
        component(KERNEL.replace("go", "fly")),
        "",
        "E951:4",
    ),
    ("steps", component(KERNEL), component(KERNEL.replace("= kept", "= kept + 1")), "", ""),
    (
        "an argument less",
        component(KERNEL),
        component(KERNEL.replace("a: f32, ", "")),
        "",
        "E952:5",
    ),
    ("another order", component(KERNEL), component(KERNEL.replace("a:", "c:")), "", "E952:5"),
    ("another type", component(KERNEL), component(KERNEL.replace("u8", "u16")), "", "E952:5"),
    (
        "the unit of an argument",
        component(KERNEL),
        component(KERNEL.replace("a: f32", "a: {type: f32, unit: s}")),
        "",
        "",
    ),
    ("reduction gone", component(REDUCTION), component(), "", "E951:1"),
    (
        "reduction to float",
        component(REDUCTION),
        component(REDUCTION.replace("sum", "mean")),
        "",
        "E952:5",
    ),
    ("kernel of the world gone", component() + RUN, component() + WORLD, "", "E951:5 E951:5"),
    (
        "arguments of a kernel of the world",
        component() + RUN,
        component() + RUN.replace("a: u8", "a: u8, b: f32"),
        "",
        "E952:8",
    ),
]

PAST = component("removed: [old]\n", x="{type: f32, renamed_from: [y]}")
OTHER = "---\ncomponent: Thing\nrenamed_from: [Former]\n"
REMOVED = "---\nworld: World\nremoved: [Old]\n"
HISTORY: list[Case] = [
    ("nothing taken off", PAST, PAST, "", ""),
    ("removed taken off", PAST, PAST.replace("removed: [old]\n", ""), "E905:1", ""),
    ("one of several taken off", PAST, PAST.replace("[old]", "[other]"), "E905:5", ""),
    (
        "a removed name back",
        PAST,
        component(x="{type: f32, renamed_from: [y]}", old="f32"),
        "E905:5",
        "",
    ),
    (
        "a removed name as a former one",
        PAST,
        component(x="{type: f32, renamed_from: [y]}", z="{type: f32, renamed_from: [old]}"),
        "E905:5",
        "",
    ),
    ("renamed_from taken off", PAST, component("removed: [old]\n", x="f32"), "E905:4", ""),
    (
        "a former name back",
        PAST,
        component("removed: [old]\n", x="f32", y="u8"),
        "E905:5",
        "",
    ),
    (
        "renamed once more, with one name only",
        PAST,
        component("removed: [old]\n", z="{type: f32, renamed_from: [x]}"),
        "E905:4",
        "E951:4",
    ),
    (
        "renamed once more, with both",
        PAST,
        component("removed: [old]\n", z="{type: f32, renamed_from: [x, y]}"),
        "",
        "E951:4",
    ),
    ("removed later", PAST, component("removed: [old, x, y]\n"), "", "E951:2"),
    ("removed later, but for a name", PAST, component("removed: [old, x]\n"), "E905:4", "E951:2"),
    (
        "of a component renamed meanwhile",
        PAST,
        PAST.replace("Body", "Thing\nrenamed_from: [Body]").replace(", renamed_from: [y]", ""),
        "E905:5",
        "E951:1",
    ),
    (
        "of an enum that is gone",
        USER + ENUM.replace("Mode", "Mode\nrenamed_from: [Way]"),
        component("removed: [x]\n"),
        "",
        "E951:0 E951:2",
    ),
    (
        "of components",
        component() + OTHER + REMOVED,
        component() + "---\ncomponent: Thing\n---\nworld: World\n",
        "E905:0 E905:5",
        "",
    ),
    (
        "a removed component back",
        component() + REMOVED,
        component() + "---\ncomponent: Old\n---\nworld: World\nremoved: []\n",
        "E905:5",
        "",
    ),
    (
        "of enums and members",
        USER + "---\nenum: Mode\nrenamed_from: [Way]\nvalues: {a: {value: 0, renamed_from: [b]}}\n"
        "removed: [c, d]\n",
        USER + "---\nenum: Mode\nvalues: {a: 0, d: 1}\nremoved: [e]\n",
        "E905:6 E905:7 E905:7 E905:8",
        "",
    ),
]

CASES = [*NAMES, *ENUMS, *TYPES, *POLICIES, *WORLDS, *CALLS, *HISTORY]


def places(found: Diagnostics) -> str:
    return " ".join(sorted(f"{one.code}:{one.mark.line}" for one in found))


@pytest.mark.parametrize(
    ("old", "new", "data", "code"),
    [pytest.param(*case, id=name) for name, *case in CASES],
)
def test_verdicts(tmp_path: Path, old: str, new: str, data: str, code: str) -> None:
    found = breaks(tmp_path, old, new)
    assert places(found) == " ".join(filter(None, (data, code))), format_text(found)
    assert all(one.hint for one in found)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=f"{name} {k}")
        for name, *two, _, _ in CASES
        for k, text in enumerate(two)
    ],
)
def test_nothing_breaks_where_nothing_changed(tmp_path: Path, text: str) -> None:
    assert not list(breaks(tmp_path, text, text))


def test_one_kind_alone(tmp_path: Path) -> None:
    old, new = component(x="f64"), component(x="f32")
    assert places(breaks(tmp_path / "a", old, new, "data")) == "E902:4"
    assert places(breaks(tmp_path / "b", old, new, "code")) == "E952:4"


def test_a_snapshot_knows_nothing_of_kernels_and_the_past(tmp_path: Path) -> None:
    old = component(KERNEL + "release: true\nremoved: [old]\n", x="f64") + (
        "---\nworld: City\nqueries: {q: {all: [Body]}}\nbundles: {b: [Body]}\n"
    )
    new = component(x="f32")
    assert places(breaks(tmp_path, old, new, snapshot=True)) == "E902:4 E952:4"


@pytest.mark.parametrize("case", sorted(folder.name for folder in GOLDEN.iterdir()))
def test_texts(case: str, update: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDEN / case)
    diagnostics = Diagnostics()
    old, new = load(Path("old"), diagnostics), load(Path("new"), diagnostics)
    assert old is not None
    assert new is not None
    found = diagnostics.emptied()
    compare(Side.of(old), Side.of(new), Places(new, Path("new")), Report(found, None))
    expected = Path("expected.txt")
    if update:
        expected.write_text(format_text(found), encoding="utf-8", newline="\n")
    assert format_text(found) == expected.read_bytes().decode("utf-8")


def test_the_table_of_methods_is_true() -> None:
    document = json.loads(SCHEMA)
    methods = [one for policy in every() for one in policy.methods]
    wanted = {name for _, _, names in methods for name in names.split()}
    for name, component in document["components"].items():
        if component["in"] == "archetypes":
            continue
        module = importlib.import_module(f"generated.{component['module']}")
        manager, data = getattr(module, f"{name}Manager"), getattr(module, f"{name}Data")
        has = {f"data.{one}" for one in dir(data)} | set(dir(manager))
        said = {one for _, has_it, names in methods if has_it(component) for one in names.split()}
        assert has & wanted == said, name


def mixture(number: int) -> str:
    """Random schemas, of which others have the same names."""
    schemas = Schemas(number)
    world = schemas.world()
    drafts = [schemas.component(f"Mix{letter}") for letter in "ABCD"]
    chunked, archetypes = schemas.chunked("XY"[: 1 + number % 2])
    world += archetypes + over_chunks(chunked) + together(drafts)
    known = "component: Known\nids: true\n"
    return "---\n".join([world, ENUM_TEXT, known, *(one.text for one in (*drafts, *chunked))])


@pytest.mark.parametrize("number", range(40))
def test_any_two_versions_can_be_compared(tmp_path: Path, number: int) -> None:
    old, new = mixture(number), mixture(number + 1000)
    found = breaks(tmp_path / "there", old, new)
    lines = new.splitlines()
    for one in found:
        assert one.hint
        assert re.fullmatch("E9(0[1-6]|5[123])", one.code)
        text = lines[one.mark.line - 1][one.mark.column - 1 :] if one.mark.line else "x"
        assert text[: one.mark.length].strip()
    assert not list(breaks(tmp_path / "same", old, old))
