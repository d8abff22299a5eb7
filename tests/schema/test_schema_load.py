"""From schema files to the checked model."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ecsgen import schema
from ecsgen.diagnostics import Diagnostics, format_text, split_lines
from ecsgen.model import BaseType, Component, Field
from tests.support.soak import examples
from tests.support.world_package import checked, load

SHIPPED = Path(__file__).parents[2] / "schemas"


def component(text: str) -> Component:
    (only,) = load(text).components
    return only


def field(text: str, others: str = "") -> Field:
    components = load(f"component: C\nfields:\n  f: {text}\n{others}").components
    return next(component for component in components if component.name == "C").fields[0]


def test_shipped_schemas_use_every_generated_policy_and_type() -> None:
    diagnostics = Diagnostics()
    project = schema.load(SHIPPED, diagnostics)
    assert project is not None
    assert not list(diagnostics)
    assert {component.lookup for component in project.components} == {"sparse", "hash", "direct"}
    assert {component.destroy for component in project.components} == {"gc", "callback", "manual"}
    assert {component.instances for component in project.components} == {"one", "many"}
    every = next(component for component in project.components if component.name == "EveryType")
    elsewhere = {BaseType.ID, BaseType.DATETIME, BaseType.TIMEDELTA}  # times: test_time_fields.py
    assert {field.type.base for field in every.fields} == set(BaseType) - elsewhere
    scalars = {field.type.scalar for field in every.fields}
    assert {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"} <= scalars
    assert {bool(field.type.shape) for field in every.fields} == {True, False}


def test_policies_by_default_and_by_others() -> None:
    bare = Component(name="PointMass", module="point_mass", source="schema.yaml")
    assert component("component: PointMass\n") == bare
    assert component("component: A\nowner: none\nfields: {a: f32}\n").ids
    assert component("component: A\ndestroy: callback\n").release
    assert component("component: A\ngrowth: {reserve: 65}\n").reserve == 128
    loaded = component("component: A\npartition: off\nhierarchy: {orphans: root}\n")
    assert (loaded.partition, loaded.hierarchy) == ("", "root")


@pytest.mark.parametrize(
    ("text", "default"),
    [
        ("f32", 0.0),
        ("{type: f32, default: 1}", 1.0),
        ("{type: f32, default: .inf}", float("inf")),
        ("{type: f64, default: 0.1}", 0.1),
        ("{type: f32, default: 3.4028234663852886e+38}", 3.4028234663852886e38),
        ("{type: i8, default: -128}", -128),
        ("{type: u64, default: 0xFFFFFFFFFFFFFFFF}", 2**64 - 1),
        ('{type: "f32[2,2]", default: 1}', ((1.0, 1.0), (1.0, 1.0))),
        ('{type: "u8[2,2]", default: [[1, 2], [3, 4]]}', ((1, 2), (3, 4))),
        ('"i16[2]"', (0, 0)),
        ("{type: bool, default: true}", True),
        ("entity", 0),
        ("{type: entity, default: null}", 0),
        ('"str[4]"', ""),
        ('{type: "str[5]", default: été}', "été"),
        ('{type: "bytes[4]", default: ab}', b"ab\0\0"),
        ('{type: "bytes[2]", default: [255, 0]}', b"\xff\0"),
        ("object", None),
        ("Plain", 0),
        ("Gap", 3),
        ("{type: Gap, default: b}", 1),
        ("{type: Gap, default: 1}", 1),
        ('{type: "Gap[2]", default: [a, b]}', (3, 1)),
        ("Flags", 0),
        ("{type: Flags, default: r|x}", 5),
        ("{type: Flags, default: 6}", 6),
    ],
)
def test_defaults_are_complete(text: str, default: object) -> None:
    enums = (
        "---\nenum: Plain\nvalues: [a, b]\n---\nenum: Gap\nvalues: {a: 3, b: 1}\n"
        "---\nenum: Flags\nflags: true\nvalues: [r, w, x]\n"
    )
    found_default = field(text, enums).default
    assert found_default == default
    assert repr(found_default) == repr(default)


def test_enums() -> None:
    text = (
        "enum: Mode\nvalues: [idle, walk]\n---\nenum: Big\nvalues: {a: 1, b: 4294967296}\n---\n"
        "enum: Rights\nflags: true\nvalues: {none: 0, r: 1, w: 2, rw: 3}\n---\n"
        "enum: All\nflags: true\nvalues: [" + ", ".join(f"f{bit}" for bit in range(64)) + "]\n"
    )
    everything, big, mode, rights = load(text).enums
    assert (mode.values, mode.scalar, mode.default) == ((("idle", 0), ("walk", 1)), "u8", 0)
    assert (big.scalar, big.default) == ("u64", 1)
    assert (rights.flags, rights.scalar, rights.default) == (True, "u8", 0)
    assert everything.values[63] == ("f63", 1 << 63)
    assert everything.scalar == "u64"


def test_result_does_not_depend_on_the_place() -> None:
    first, second = (checked("component: A\n---\nenum: E\nvalues: [a]\n")[0] for _ in range(2))
    assert first == second
    assert repr(first) == repr(second)


def test_files_are_found_in_order_below_the_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.yml").write_text("component: C\n")
    (tmp_path / "b.yaml").write_text("component: B\n")
    (tmp_path / "a.txt").write_text("not yaml: [")
    loaded = schema.load(tmp_path, Diagnostics())
    assert loaded is not None
    assert [(component.name, component.source) for component in loaded.components] == [
        ("B", "b.yaml"),
        ("C", "sub/c.yml"),
    ]


def test_a_missing_or_empty_folder_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text("component: A\n")
    (tmp_path / "empty").mkdir()
    for root in (tmp_path / "missing", file, tmp_path / "empty"):
        diagnostics = Diagnostics()
        assert schema.load(root, diagnostics) is None
        assert [diagnostic.code for diagnostic in diagnostics] == ["E201"]


def test_paths_are_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "a.yaml").write_text("component: a\n")
    monkeypatch.chdir(tmp_path)
    for root in (Path("schemas"), tmp_path / "schemas", Path("./schemas/../schemas")):
        diagnostics = Diagnostics()
        schema.load(root, diagnostics)
        assert next(iter(diagnostics)).mark.path.endswith("schemas/a.yaml")
        assert not next(iter(diagnostics)).mark.path.startswith("/")


def test_an_error_does_not_bring_others_along() -> None:
    _, diagnostics = checked(
        "enum: Broken\nvalues: {a: x}\n---\ncomponent: A\nids: 5\nfields:\n"
        "  a: {type: Broken, default: a}\n  b: *x\n---\n"
        "component: B\ncold: indirect\nfields: {a: {tags: [cold]}, b: {type: *y}}\n",
    )
    assert [(diagnostic.mark.line, diagnostic.code) for diagnostic in diagnostics] == [
        (2, "E304"),
        (5, "E304"),
        (8, "E208"),
        (12, "E303"),
        (12, "E208"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "component: A\nfields: {" + ", ".join(f"f{n}: f33" for n in range(2_000)) + "}\n",
        "component: A\n" + "".join(f"lookup{n}: hash\n" for n in range(2_000)),
        "component: A\nfields: {a: {type: f32, default: " + "[" * 25 + "]" * 25 + "}}\n",
        "component: A\nfields: {a: {type: '" + "f32[" * 5_000 + "'}}\n",
        "component: A\nfields: {a: {type: '" + "x" * 100_000 + "'}}\n",
        "component: " + "A" * 100_000 + "\n",
        "component: A\nfields: {" + "a" * 100_000 + ": f32}\n",
        "component: A\nkernels: {k: {steps: ['" + "-" * 1_900 + "a']}}\n",
        "component: A\nkernels: {k: {steps: ['a = " + "(" * 900 + ")" * 900 + "']}}\n",
        "component: A\nkernels: {k: {steps: ['a = " + "b+" * 900 + "b']}}\n",
        "component: A\nkernels: {k: {steps: [\"a = '\\0'\"]}}\n",
        'component: A\nkernels: {k: {where: "a\\nimport os", steps: ["a = 1\\nb = 2"]}}\n',
        "enum: E\nvalues: [" + ", ".join(f"v{n}" for n in range(20_000)) + "]\n",
        "world: W\nbundles: {"
        + ", ".join(f"b{n}: [b{n + 1}, b{(n * 7) % 300}]" for n in range(300))
        + "}\n",
        "world: W\nbundles: {" + ", ".join(f"b{n}: [b{n + 1}]" for n in range(1_500)) + "}\n",
    ],
    ids=range(15),
)
def test_hostile_schemas_are_refused_quickly(text: str) -> None:
    start = time.process_time()
    _, diagnostics = checked(text)
    format_text(diagnostics)
    assert time.process_time() - start < 20
    if "b+" not in text and "enum" not in text:
        assert diagnostics.errors


KEY_WORDS = """
component enum world fields lookup destroy owner instances ids release partition hierarchy cold
growth capacity kernels reductions values flags entity bundles queries groups archetypes type
default doc unit tags split steps args where rows over start orphans reserve sum all any none chunk
components index_bits a b é x_y lokup
"""
VALUE_WORDS = """
A B C E a b f32 f32[3] u8 id<A> id<B>[2] str[4] bytes[2] object entity E[2] hash direct none many
callback indirect active root double hot cold a=1 a+=b [ [] é
"""
KEYS = st.sampled_from(KEY_WORDS.split())
VALUES = st.recursive(
    st.one_of(
        st.sampled_from(VALUE_WORDS.split()),
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=5),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=15,
)
DOCUMENTS = st.builds(
    lambda kind, name, rest: {kind: name, **rest},
    st.sampled_from(["component", "enum", "world"]),
    st.sampled_from(["A", "B", "E", "W", "a", "Entity"]),
    st.dictionaries(KEYS, VALUES, max_size=5),
)


@given(trees=st.lists(DOCUMENTS | VALUES, max_size=4), flow=st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_any_tree_gives_a_project_or_errors(trees: list[object], flow: bool) -> None:
    text = yaml.safe_dump_all(trees, allow_unicode=True, default_flow_style=flow, sort_keys=False)
    loaded, diagnostics = checked(text)
    assert (loaded is None) == bool(diagnostics.errors)
    lines = split_lines(text)
    for diagnostic in diagnostics:
        if diagnostic.mark.line:
            assert diagnostic.mark.line <= len(lines)
            assert 1 <= diagnostic.mark.column <= len(lines[diagnostic.mark.line - 1]) + 1
    format_text(diagnostics)
