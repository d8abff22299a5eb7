"""Names: what generated code needs is reserved, and everything else stays usable."""

from __future__ import annotations

import ast
import builtins
import keyword
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecsgen
from ecsgen import policies
from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Mark
from ecsgen.schema.names import (
    RESERVED_CLASS_NAMES,
    RESERVED_FIELD_NAMES,
    RESERVED_MODULE_NAMES,
    check_class,
    check_member,
    check_module,
    module_name,
)

RUNTIME = Path(ecsgen.__file__).parent / "runtime"
GENERATED = Path(ecsgen.__file__).parents[1] / "generated"
MARK = Mark("a.yaml", 1, 1)

USABLE = """
type id hash min max sum e i k x t rate name value kind map filter open input format dir vars all
any abs round start stop step offset target health speed T
"""
REFUSED = """
create set_mass data n entity rows self np count index class None True async float __init__ _x
ｍass mаss ª 1a ../x
"""


@pytest.mark.parametrize("name", USABLE.split())
def test_plain_words_stay_usable_as_fields(name: str) -> None:
    assert check_member(name, "a field", MARK, Diagnostics())


@pytest.mark.parametrize("name", [*REFUSED.split(), "", "a b", "a\n", "a" * 65])
def test_what_generated_code_needs_is_refused(name: str) -> None:
    diagnostics = Diagnostics()
    assert not check_member(name, "a field", MARK, diagnostics)
    assert len(diagnostics.errors) == 1


def runtime_names() -> set[str]:
    found = set()
    for file in RUNTIME.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
            elif isinstance(node, ast.Assign):
                found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return {name for name in found if not name.startswith("_")}


def named_in_modules() -> set[str]:
    """Return what the shipped modules import, but for the policies' classes: these have other names
    where a component has theirs."""
    trees = (ast.parse(path.read_text("utf-8")) for path in GENERATED.glob("*.py"))
    imports = (n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.ImportFrom))
    names = {alias.name for statement in imports for alias in statement.names}
    return names - {name for policy in policies.every() for name in (policy.base, policy.rows)}


def test_classes_and_constants_of_the_runtime_are_reserved() -> None:
    named = runtime_names() & named_in_modules()
    assert {"NIL", "FloatField"} <= named
    assert not named - RESERVED_CLASS_NAMES, "add them in ecsgen/schema/names.py"
    assert RESERVED_CLASS_NAMES <= RESERVED_FIELD_NAMES


def test_reserved_builtins_exist() -> None:
    lower = {name for name in vars(builtins) if name.islower()} | set(keyword.kwlist)
    assert RESERVED_MODULE_NAMES & {"int", "list", "set", "object"} <= lower


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("PointMass", "point_mass"),
        ("AI", "ai"),
        ("AIState", "ai_state"),
        ("HTTPServer2", "http_server2"),
        ("Vec3", "vec3"),
        ("X", "x"),
    ],
)
def test_module_names(name: str, module: str) -> None:
    assert module_name(name) == module


@given(st.text(max_size=70))
def test_accepted_class_names_are_safe_paths_and_identifiers(name: str) -> None:
    diagnostics = Diagnostics()
    if check_class(name, "a component", MARK, diagnostics) and check_module(
        name, MARK, diagnostics
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
    diagnostics = Diagnostics()
    if check_member(name, "a field", MARK, diagnostics):
        assert name.isascii()
        assert name.isidentifier()
        assert not keyword.iskeyword(name)
        assert not name.startswith(("_", "set_"))
    else:
        assert len(diagnostics.errors) == 1
