"""Names and texts of schemas."""

from __future__ import annotations

import ast
import json
import keyword
from collections.abc import Mapping
from importlib import import_module

import pytest
from ecsgen_runtime.package import EXPORTED, SOME_EXPORT
from hypothesis import given
from hypothesis import strategies as st

from ecsgen import policies
from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Mark
from ecsgen.policies.policy import ComponentFeature
from ecsgen.render.components.component_features import CODE_FEATURES
from ecsgen.render.text import library_imports
from ecsgen.render.text.formatting import PLACEHOLDER
from ecsgen.render.text.module_names import PACKAGE
from ecsgen.render.world.world_module import VIEW_METHODS
from ecsgen.schema.names import (
    CHUNK_NAMES,
    CLASS_NAMES,
    FIELD_NAMES,
    GROUP_NAMES,
    MODULE_NAMES,
    QUERY_NAMES,
    check_class,
    check_member,
    check_module,
    module_name,
)
from tests.support.world_package import load, sources, world_package

BROKEN_MARKER = Mark("a.yaml", 1, 1)

USABLE = """
type id hash min max sum e i k x t rate name value kind map filter open input format dir vars all
any abs round start stop step offset target health speed T range slot set object str index entities
rows_below np columns self float int property set_mass NDArray Any hot
"""
REFUSED = """
create data n entity row rows count parent class None True async __init__ _x ｍass mаss ª 1a ../x
"""


def hints(name: str) -> list[str]:
    """Return what is said of a name of a field: nothing, or one error's hint."""
    diagnostics = Diagnostics()
    is_usable = check_member(name, "a field", BROKEN_MARKER, diagnostics)
    assert len(diagnostics.errors) == 1 - is_usable
    return [error.hint for error in diagnostics.errors]


@pytest.mark.parametrize("name", USABLE.split())
def test_plain_words_stay_usable_as_fields(name: str) -> None:
    assert hints(name) == []


@pytest.mark.parametrize("name", ["data", "class", "None", "LAYOUT"])
def test_another_name_for_a_field_is_one_for_a_field(name: str) -> None:
    assert hints(name) == [f"did you mean '{name}_'?"]


@pytest.mark.parametrize("name", [*REFUSED.split(), "", "a b", "a\n", "a" * 65])
def test_public_names_and_what_is_none_are_refused(name: str) -> None:
    assert hints(name) != []


def runtime_class(name: str) -> type:
    """Return a class of the runtime."""
    known = {
        **library_imports.locate_public_names(library_imports.SHARDS),
        **library_imports.locate_public_names(library_imports.RUNTIME),
    }
    module = import_module(known[name].removeprefix(PLACEHOLDER))
    kind: type = getattr(module, name)
    return kind


def public(*kinds: type) -> set[str]:
    """Return the public attributes of classes."""
    return {name for kind in kinds for name in dir(kind) if not name.startswith("_")}


def listed(*lists: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the names in lists of reserved ones."""
    return frozenset[str]().union(*(names for each in lists for names in each.values()))


def test_what_packages_export_is_reserved_for_classes() -> None:
    chunked = {name for name, module in PACKAGE.items() if module == ".archetypes"}
    tables = (
        *EXPORTED.values(),
        *(names for module, names in SOME_EXPORT.items() if module != ".shards.parcels"),
    )
    classes = {"EntityManager", "EntityView", "Settings", "Signature", "World"}
    attributes = {"COLD", "CONVERTERS", "ENTITIES", "PARTS", "ROW", "ROWS"}
    assert listed(CLASS_NAMES) == {*" ".join(tables).split(), *classes, *chunked, *attributes}


@pytest.mark.parametrize("name", ["Cold", "Converters", "Parts", "Row", "Rows"])
def test_words_that_are_reserved_in_capitals_alone(name: str) -> None:
    assert load(f"component: {name}\nfields: {{x: f32}}\n")


def test_what_managers_have_is_reserved_for_fields() -> None:
    """Whatever the policies are, so that switching one on never breaks a field's name."""
    used: list[ComponentFeature] = [*policies.list_policies(), *CODE_FEATURES]
    bases = public(*(runtime_class(policy.manager_base) for policy in used if policy.manager_base))
    columns = public(*(runtime_class(policy.rows_base) for policy in used if policy.rows_base))
    assert {"create_many", "by_age", "first_child"} <= bases
    assert not bases - listed(FIELD_NAMES)
    assert not columns - listed(FIELD_NAMES)
    proxies = public(runtime_class("EntityProxy"), runtime_class("IdProxy"))
    assert not proxies - listed(FIELD_NAMES)


def test_what_worlds_have_is_reserved_for_components() -> None:
    worlds = public(
        *map(runtime_class, ("WideSignatureWorld", "ArchetypeWorld", "EntityViewWorld"))
    )
    assert {"spawn", "collect"} <= worlds
    assert not worlds - listed(MODULE_NAMES)
    assert (
        not public(runtime_class("EntityViewBase"))
        - listed(MODULE_NAMES)
        - {*VIEW_METHODS, "entity"}  # there is no component Entity
    )


@pytest.mark.parametrize(
    ("kind", "names"),
    [("RowQuery", QUERY_NAMES), ("Group", GROUP_NAMES), ("ChunkBase", CHUNK_NAMES)],
)
def test_what_others_have_is_reserved_for_their_members(
    kind: str, names: Mapping[str, frozenset[str]]
) -> None:
    assert not public(runtime_class(kind)) - listed(names)


def test_module_names() -> None:
    names = ["PointMass", "AI", "AIState", "HTTPServer2", "Vec3", "X"]
    modules = ["point_mass", "ai", "ai_state", "http_server2", "vec3", "x"]
    assert [*map(module_name, names)] == modules


@given(st.text(max_size=70))
def test_accepted_class_names_are_safe_paths_and_identifiers(name: str) -> None:
    diagnostics = Diagnostics()
    if check_class(name, "a component", BROKEN_MARKER, diagnostics) and check_module(
        name, BROKEN_MARKER, diagnostics, MODULE_NAMES
    ):
        assert name.isascii()
        assert name.isidentifier()
        assert not keyword.iskeyword(module_name(name))
        assert module_name(name).replace("_", "") == name.casefold()
        assert not diagnostics.errors
    else:
        assert diagnostics.errors


@given(st.text(max_size=70))
def test_accepted_fields_are_identifiers(name: str) -> None:
    if not hints(name):
        assert name.isascii()
        assert name.isidentifier()
        assert not keyword.iskeyword(name)
        assert not name.startswith("_")


SCHEMA = """
enum: Mode
doc: TEXT
values: [idle, walk]
---
component: Apple
doc: TEXT
fields:
  name: {type: "str[200]", default: TEXT, doc: TEXT, unit: TEXT}
  parts: {type: "f32[2]", split: true, doc: TEXT, unit: TEXT}
  note: {type: "str[200]", default: TEXT, tags: [cold], doc: TEXT}
cold: indirect
kernels:
  step: {doc: TEXT, args: {dt: {type: f32, unit: TEXT}}, steps: ["parts += dt"]}
reductions:
  total: {doc: TEXT, sum: parts.x}
---
component: Basket
doc: TEXT
fields:
  kind: {type: "str[200]", default: TEXT, doc: TEXT}
---
world: Full
doc: TEXT
queries: {apples: {all: [Apple]}}
archetypes: {components: [Basket]}
"""
TEXTS = {
    "docstring_end": 'a""" b',
    "quotes_at_both_ends": "\"\"\"'''\"a'",
    "one_double_quote": '5" gun',
    "one_single_quote": "isn't",
    "comment_in_quotes": '"# fmt: off',
    "template": "{{ 7 * 7 }} {% raw %} {# no #}",
    "escapes": "\\N{BULLET} \\x41 \\",
    "names": '"Callable" Iterator NDArray',
    "lines": "a\n\nimport os\n\tb",
    "format": "{dt} %s {0} {}",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_stays_text(name: str) -> None:
    text = TEXTS[name]
    package = world_package(SCHEMA.replace("TEXT", json.dumps(text)), f"text_{name}")
    world = package.World()
    entity = world.spawn(1, apple={}, basket={})[0]
    world.apple.step(2.0)
    assert (world.apple.name(0), world.apple.note(0)) == (text, text)
    assert world.apple.parts(0) == (2.0, 2.0)
    assert world.apple.total() == 2.0
    assert world.archetypes.get(entity, package.Basket).kind == text


@pytest.mark.parametrize("name", TEXTS)
def test_modules_import_what_they_use_all_the_same(name: str) -> None:
    plain = sources(load(SCHEMA.replace("TEXT", "plain")))
    modules = sources(load(SCHEMA.replace("TEXT", json.dumps(TEXTS[name]))))
    for path, source in modules.items():
        if path.endswith(".py"):
            assert imports(source) == imports(plain[path]), path


def imports(source: str) -> list[str]:
    """Return the import statements."""
    return [
        ast.unparse(node)
        for node in ast.parse(source).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
