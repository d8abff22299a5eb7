"""Names: what generated code needs is reserved, and everything else stays usable."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecsgen import policies, render
from ecsgen.config import Backend, load_options
from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Mark, Project
from ecsgen.render import reserved, runtime
from ecsgen.schema import load
from ecsgen.schema.names import (
    DERIVED_CLASSES,
    RESERVED_CLASS_NAMES,
    RESERVED_FIELD_NAMES,
    RESERVED_MODULE_NAMES,
    check_class,
    check_member,
    check_module,
    module_name,
)

ROOT = Path(__file__).resolve().parents[1]
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


def runtime_class(name: str) -> type:
    """Return a class of the runtime."""
    known = {**runtime.shard_origins(), **runtime.origins(runtime.RUNTIME)}
    module = import_module(known[name].replace("._", "ecsgen."))
    found: type = getattr(module, name)
    return found


def public(*kinds: type) -> set[str]:
    """Return the public attributes of classes."""
    return {name for kind in kinds for name in dir(kind) if not name.startswith("_")}


def project_of(folder: Path, *texts: str) -> Project:
    """Return the project that schemas make, which are written into a folder."""
    for number, text in enumerate(texts):
        (folder / f"{number}.yaml").write_text(text, encoding="utf-8")
    project = load(folder, diagnostics := Diagnostics())
    assert project is not None, diagnostics.errors
    return project


def imported(text: str) -> set[str]:
    """Return the names that a module imports from the runtime and the standard library."""
    statements = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)]
    own = re.compile(r"[a-z_]*")
    foreign = (n for n in statements if n.level != 1 or not own.fullmatch(str(n.module)))
    return {alias.name for n in foreign for alias in n.names if alias.asname is None}


def test_the_table_is_that_of_the_runtime() -> None:
    assert reserved.TABLE.read_text(encoding="utf-8") == reserved.table_text(), "run: make docs"
    assert RESERVED_CLASS_NAMES <= RESERVED_FIELD_NAMES


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_what_generated_modules_import_is_reserved(backend: Backend, tmp_path: Path) -> None:
    """But for the bases of managers: these have other names where a component has theirs."""
    aliased = {name for policy in policies.every() for name in (policy.base, policy.rows)}
    files = [*sorted((ROOT / "schemas").iterdir()), ROOT / "tests" / "unshipped.yaml"]
    project = project_of(tmp_path, *(file.read_text("utf-8") for file in files))
    options = load_options(schemas=tmp_path, backend=backend)
    for output in render.outputs(project, options):
        if re.fullmatch(r"(?!__init__)\w+\.py", output.path):
            names = {name for name in imported(output.make()) if not name.islower()}
            assert not names - aliased - RESERVED_CLASS_NAMES, output.path


def test_what_managers_have_is_reserved_for_fields() -> None:
    """Whatever the policies are, so that switching one on never breaks a field's name."""
    used = policies.every()
    bases = public(*(runtime_class(policy.base) for policy in used if policy.base))
    columns = public(*(runtime_class(policy.rows) for policy in used if policy.rows))
    assert {"create_many", "by_age", "first_child"} <= bases
    assert not bases - RESERVED_FIELD_NAMES - {"set_parent", "set_parent_many"}
    assert not columns - RESERVED_FIELD_NAMES
    proxies = public(runtime_class("EntityProxy"), runtime_class("IdProxy"))
    assert not proxies - RESERVED_FIELD_NAMES


def test_what_worlds_have_is_reserved_for_components() -> None:
    worlds = public(*map(runtime_class, ("WideSignedWorld", "ArchetypeWorld")))
    views = public(runtime_class("EntityViewBase"), runtime_class("EntityWorld"))
    rows = public(*map(runtime_class, ("QueriedRows", "Group", "ChunkBase")))
    assert {"spawn", "collect"} <= worlds
    assert not (worlds | views | rows) - RESERVED_MODULE_NAMES


def test_all_other_names_of_the_runtime_are_free(tmp_path: Path) -> None:
    classes = [n for n in runtime.origins(runtime.RUNTIME) if re.fullmatch("[A-Z][a-zA-Z]*", n)]
    names = [n for n in classes if not n.endswith(DERIVED_CLASSES)]
    told = Diagnostics()
    free = [n for n in names if check_class(n, "", MARK, told) and check_module(n, MARK, told)]
    assert {"Reader", "Links", "Sparse"} <= set(free)
    components = [f"component: {name}\nfields: {{x: f32}}\n" for name in free]
    project = project_of(tmp_path, *components)
    options = replace(load_options(schemas=tmp_path), tests=None)
    for path, text in render.texts(project, options).items():
        file = tmp_path / "free_names" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    spawn = "; ".join(f"w.spawn(2, {module_name(name)}={{'x': 1.0}})" for name in free)
    code = f"import free_names; w = free_names.World(); {spawn}; assert w.links.data.x[1] == 1"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


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
