"""Names of real components and fields: all but the published ones build, import and run.

The lists in `tests/names/` have names as games, engines, simulations and robots use them. What
templates and generated code have no word of meets nothing, so only the others are packed into few
components.
`ECSGEN_NAMES=types` lets mypy read the package, as `make types` does; `ECSGEN_NAMES=all` takes all
names, and runs the generated tests as well: half an hour.
"""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecsgen.config import Backend
from ecsgen.diagnostics import Diagnostics
from ecsgen.fingerprint import templates_folder
from ecsgen.model import Mark
from ecsgen.render.text.name_shadowing import may_be_shadowed
from ecsgen.schema.names import (
    CHUNK_NAMES,
    CLASS_NAMES,
    DERIVED_CLASSES,
    FIELD_NAMES,
    GROUP_NAMES,
    KEYWORDS,
    MODULE_NAMES,
    QUERY_NAMES,
    check_class,
    check_member,
    check_module,
    module_name,
)
from tests.support.generated_package import build
from tests.support.world_package import world_package

LISTS = Path(__file__).parents[1] / "names"
DEPTH = os.environ.get("ECSGEN_NAMES", "")
ALL = DEPTH == "all"
BROKEN_MARKER = Mark("a.yaml", 1, 1)

POLICIES = (
    "destroy: gc",
    "instances: many\nids: true",
    "owner: none",
    "lookup: direct",
    "lookup: hash\npartition: {start: active}",
    "hierarchy: {orphans: root}",
    "cold: indirect",
    "owner: none\nring: 64",
)
TYPES = (
    *("f32", "i32", "bool", "str[8]", "f32[3]", "HowWild", "f64", "entity", "object", "bytes[4]"),
    *("f32[2,2]", "HowWild[2]", "i16[5]"),
)


CONSTANTS = (
    *("FINGERPRINT", "BUNDLES", "GROUPS", "QUERIES", "MANAGERS", "MANAGER", "LAYOUT", "COLUMNS"),
    *("FIELDS", "OBJECTS", "RENAMES"),
)


@cache
def listed(kind: str) -> tuple[str, ...]:
    """Return the names in a list."""
    return tuple((LISTS / f"{kind}.txt").read_text(encoding="utf-8").split())


@cache
def words() -> frozenset[str]:
    """Return the words of templates and of generated code, in lower case, without underscores."""
    shipped = Path(__file__).parents[2] / "generated"
    paths = [*templates_folder().rglob("*.j2"), *shipped.glob("*.py"), *shipped.glob("tests/*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths).lower()
    return frozenset(word.strip("_") for word in re.findall(r"\w+", text))


def may_meet(name: str) -> bool:
    """Return True if generated code may have a name, or one that is made of it."""
    names = [name, *(name + end for end in DERIVED_CLASSES)]
    return any(
        may_be_shadowed(candidate) or candidate.lower().strip("_") in words() for candidate in names
    )


def public(*lists: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the names in lists of reserved ones, and keywords."""
    return KEYWORDS.union(*(names for each in lists for names in each.values()))


def usable_fields() -> list[str]:
    """Return the fields that can stand beside each other."""
    taken = public(FIELD_NAMES) | {f"{name}_of" for name in listed("fields")}
    return [name for name in listed("fields") if name not in taken and (ALL or may_meet(name))]


def usable_components() -> list[str]:
    """Return the names that components can have together, as none makes a class called like
    another."""
    taken, modules = public(CLASS_NAMES), public(MODULE_NAMES)
    derived = {(name + end).casefold() for name in listed("components") for end in DERIVED_CLASSES}
    return [
        name
        for name in listed("components")
        if name not in taken and name.casefold() not in derived and module_name(name) not in modules
        if ALL or may_meet(name) or may_meet(module_name(name))
    ]


@pytest.mark.parametrize("kind", ["fields", "components"])
def test_all_but_the_published_names_are_free(kind: str) -> None:
    lists = [FIELD_NAMES] if kind == "fields" else [CLASS_NAMES, MODULE_NAMES]
    diagnostics = Diagnostics()

    def is_free(name: str) -> bool:
        if kind == "fields":
            return check_member(name, "a field", BROKEN_MARKER, diagnostics)
        is_class = check_class(name, "a component", BROKEN_MARKER, diagnostics)
        return is_class and check_module(name, BROKEN_MARKER, diagnostics, MODULE_NAMES)

    refused = [name for name in listed(kind) if not is_free(name)]
    assert refused == [n for n in listed(kind) if {n, module_name(n)} & public(*lists)]
    assert len(refused) < len(listed(kind)) / 50 < 50
    assert {error.code for error in diagnostics.errors} == {"E102"}


def batches(names: Sequence[str], size: int) -> Iterator[tuple[int, Sequence[str]]]:
    for number, start in enumerate(range(0, len(names), size)):
        yield number, names[start : start + size]


def schemas_of_fields() -> Iterator[str]:
    """Yield components whose fields, kernels, arguments and locals have the names."""
    yield "enum: HowWild\nvalues: [calm, wild]\n"
    for number, names in batches(usable_fields(), 40):
        policy = POLICIES[number % len(POLICIES)]
        fields = []
        for index, name in enumerate(names):
            tag = ", tags: [cold]" if index % 2 and "cold" in policy else ""
            kind = TYPES[(7 * index + number) % len(TYPES)]
            fields.append(f"  {name}: {{type: '{kind}'{tag}}}\n")
        yield f"component: Fields{number}\n{policy}\nfields:\n{''.join(fields)}"
        kernels = (f"  {name}: {{steps: [x0 += y0]}}\n" for name in names[::2])
        folds = ", ".join(f"{name}: {{sum: x0}}" for name in names[1::2])
        arguments = ", ".join(f"{name}: f32" for name in names)
        added = ", ".join(f"y0 += {name}" for name in names)
        free = [name for name in names if name not in ("entity", "self", "settings")]
        named = ", ".join(f"{name} = y0 * {index}" for index, name in enumerate(free))
        named += "".join(f", y0 += {name}" for name in free)
        yield (
            f"component: Methods{number}\nfields: {{x0: f32, y0: f32}}\n"
            f"kernels:\n{''.join(kernels)}reductions: {{{folds}}}\n"
        )
        yield (
            f"component: Steps{number}\nfields: {{y0: f32}}\nkernels:\n"
            f"  add_all: {{args: {{{arguments}}}, steps: [{added}]}}\n"
            f"  name_all: {{steps: [{named}]}}\n"
        )


def schemas_of_components() -> Iterator[str]:
    """Yield components with the names, and a world that has them in whatever it can have."""
    names, taken = usable_components(), public(QUERY_NAMES, GROUP_NAMES, CHUNK_NAMES)
    free = [name for name in names if module_name(name) not in taken]
    aligned, chunked = free[::4], free[1::4]
    for index, name in enumerate(names):
        is_plain = name in (*aligned, *chunked) or "cold" in POLICIES[index % len(POLICIES)]
        policy = "" if is_plain else POLICIES[index % len(POLICIES)] + "\n"
        field = module_name(name) + "_" * (module_name(name) in public(FIELD_NAMES))
        fields = f"{{{field}: f32, my_{field}: {{type: f64, tags: [cold]}}}}"
        if is_plain and index % 3 == 0:
            fields = "{}"
        yield f"component: '{name}'\n{policy}fields: {fields}\n"
    aligned_pairs = [pair for _, pair in batches(aligned[len(aligned) % 2 :], 2)]
    pairs = [*aligned_pairs, *(pair for _, pair in batches(chunked[len(chunked) % 2 :], 2))]
    world = f"world: Game\narchetypes: {{components: {chunked}}}\n"
    for key, shape, members in (
        ("bundles", "{}", pairs),
        ("queries", "{{all: {}}}", pairs),
        ("groups", "{}", aligned_pairs),
    ):
        entries = (shape.format(list(pair)) for pair in members)
        lines = (f"  {key}{number}: {entry}\n" for number, entry in enumerate(entries))
        world += f"{key}:\n{''.join(lines)}"
    yield world


def schemas_of_constants() -> Iterator[str]:
    """Yield components that are called like what modules and worlds name in capitals."""
    chunked = ["LEVELS", "SCHEMA"]
    for name in (*CONSTANTS, *chunked):
        yield f"component: {name}\nfields: {{mass: f32, more: {{type: f64, tags: [cold, x]}}}}\n"
    world = f"world: Game\narchetypes: {{components: {chunked}}}\n"
    yield f"{world}bundles: {{both: [LAYOUT, FIELDS]}}\n"


SCHEMAS = {
    "fields": schemas_of_fields,
    "components": schemas_of_components,
    "constants": schemas_of_constants,
}


def write(folder: Path, name: str, schemas: Iterable[str], backend: Backend = "numpy") -> Path:
    """Make a package of schemas, unformatted, and return its folder."""
    source = folder / "schemas"
    source.mkdir()
    for number, text in enumerate(schemas):
        (source / f"{number}.yaml").write_text(text, encoding="utf-8")
    build(source, folder / name, backend=backend)
    return folder / name


@pytest.mark.parametrize("kind", SCHEMAS)
def test_real_names_run(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = write(tmp_path, f"names_of_{kind}", SCHEMAS[kind]())
    for path in package.glob("tests/test_*.py"):
        compile(path.read_text(encoding="utf-8"), path.name, "exec")
    monkeypatch.syspath_prepend(tmp_path)
    module = import_module(package.name)
    assert set(module.__all__) <= {
        name for name in dir(module) if getattr(module, name) is not None
    }
    world = module.World()
    for name in world.MANAGERS:
        use(world, getattr(world, name))
    owned = [n for n in world.MANAGERS if hasattr(getattr(world, n), "has")]
    assert len(world.spawn(2, **{name: {} for name in owned})) == 2
    for bundle in world.BUNDLES:
        (entity,) = getattr(world, bundle)(1).tolist()
        assert list(world[entity])
    for query in world.QUERIES:
        assert len(getattr(world, query))


def use(world: Any, manager: Any) -> None:
    """Create a row; read and write it in all ways, and run the kernels."""
    values = {field.name: field.default for field in getattr(manager, "FIELDS", ())}
    if hasattr(manager, "has"):
        handle = world.entities.create()
        row = manager.create(handle, **values)
        manager.create_many(world.entities.create_many(2), **values)
    else:
        handle = manager.create(**values)
        row = manager.resolve(handle)
        manager.create_many(2, **values)
    copy, proxy = manager.row(row), manager[handle]
    for name in values:
        value = getattr(manager, name)(row)
        getattr(manager, f"set_{name}")(row, value)
        setattr(proxy, name, value)
        assert np.array_equal(getattr(proxy, name), getattr(copy, name))
    assert all(len(column) for column in manager.data.tagged("hot"))
    assert len(pickle.loads(pickle.dumps(manager))) == len(manager)
    for name, method in vars(type(manager)).items():
        parameters = signature(method).parameters if callable(method) else {}
        if {"rows", "where"} & parameters.keys():
            getattr(manager, name)(*[1.0] * (len(parameters) - 2))


@pytest.mark.skipif(not DEPTH, reason="make types does this")
def test_types_of_real_names(tmp_path: Path) -> None:
    write(tmp_path, "names", (*schemas_of_fields(), *schemas_of_components()))
    run(tmp_path, "mypy", "--strict", "--exclude=/tests/", "names")


def test_types_of_constants(tmp_path: Path) -> None:
    write(tmp_path, "names", schemas_of_constants())
    run(tmp_path, "mypy", "--strict", "--exclude=/tests/", "names")


@pytest.mark.skipif(DEPTH != "all", reason="half an hour: set ECSGEN_NAMES=all")
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("kind", SCHEMAS)
def test_packages_of_real_names_pass_their_tests(
    kind: str, backend: Backend, tmp_path: Path
) -> None:
    write(tmp_path, "names", SCHEMAS[kind](), backend)
    run(tmp_path, "mypy", "--strict", "names")
    run(tmp_path, "pytest", "-q", "names")


def run(folder: Path, *command: str) -> None:
    """Run a module of Python in a folder; it must succeed."""
    ran = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True)
    assert ran.returncode == 0, ran.stdout.decode()[-20_000:]


@pytest.mark.parametrize(
    "policy", ["lookup: sparse", "lookup: direct", "instances: many", "hierarchy: {orphans: root}"]
)
def test_fields_may_be_called_like_parameters(policy: str) -> None:
    """Of what the library hands values on by keyword: rows of the dead are in the way here."""
    text = f"component: Sheep\n{policy}\nfields: {{self: f64, act: i32, made: f32}}\n"
    name = policy.split()[-1].strip("}")
    world = world_package(text, f"parameters_{name}").World()
    world.entities.destroy_many(world.spawn(1200, sheep={}))
    row = world.sheep.create(world.entities.create(), self=1.0, act=2, made=3.0)
    assert world.sheep.row(row)[:3] == (1.0, 2, 3.0)
    if "hierarchy" in policy:
        young = world.sheep.create(world.entities.create(), parent=row, self=2.0, act=3)
        assert world.sheep.row(young).self == 2.0
