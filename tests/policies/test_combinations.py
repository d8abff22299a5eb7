"""Random schemas: legal ones must make managers that pass their tests, others must be refused.

One process builds package after package in memory, imports it and runs its generated tests: the
state machines with few examples, and a part of the direct cases. Every other package has copies of
the library. The packages are always the same ones, so that a failure is about the change at hand;
`ECSGEN_COMBINATIONS=100:400` draws others.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from ecsgen import schema
from ecsgen.config import Runtime
from ecsgen.diagnostics import Diagnostics
from ecsgen.render.components.component_code import ComponentCode
from ecsgen.render.text.formatting import PLACEHOLDER
from ecsgen.render.text.library_imports import RUNTIME, locate_public_names
from tests.models.random_schemas import ENUMS, Draft, Schemas, joined, over_chunks, together
from tests.support.generated_package import build
from tests.support.soak import examples
from tests.support.world_package import checked

PACKAGES = range(*map(int, os.environ.get("ECSGEN_COMBINATIONS", "0:10").split(":")))
COMPONENTS = 6
"""So many share a package: the runtime is read once for all of them."""
SHARE = 0.2
"""Of the direct cases, so many run for each component."""
SETTINGS = settings(
    max_examples=examples(4),
    stateful_step_count=25,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
WAYS: tuple[Runtime, ...] = get_args(Runtime)
KNOWN = "component: Known\nids: true\n"


def write(folder: Path, documents: list[str]) -> Path:
    """Write one schema file and return its folder."""
    folder.mkdir(parents=True)
    (folder / "mixture.yaml").write_text("---\n".join(documents), encoding="utf-8")
    return folder


@pytest.mark.parametrize("number", PACKAGES)
def test_every_combination_passes_its_tests(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    check_package(number, tmp_path)


def check_package(number: int, folder: Path) -> None:
    """Draw, build, import and test one package."""
    schemas = Schemas(number)
    world = schemas.world()
    drafts = [schemas.component(f"Mix{letter}") for letter in "ABCDEF"[:COMPONENTS]]
    chunked, archetypes = schemas.chunked("XYZ"[: 1 + number % 3])
    world += archetypes + over_chunks(chunked, joined(drafts, Random(number))) + together(drafts)
    name = f"mixture_{number}"
    documents = [world, ENUMS, KNOWN, *(draft.text for draft in (*drafts, *chunked))]
    try:
        schema_folder = write(folder / f"schemas_{number}", documents)
        build(schema_folder, folder / name, runtime=WAYS[number % 2])
        importlib.invalidate_caches()
        for draft in drafts:
            check_component(
                draft,
                importlib.import_module(f"{name}.tests.test_mix_{draft.name[3:].lower()}"),
                number,
            )
        check_chunks(chunked, importlib.import_module(f"{name}.tests.test_archetypes"), number)
        of_world = importlib.import_module(f"{name}.tests.test_world")
        for name_of, tests in vars(of_world).items():
            if name_of.startswith("Test"):
                run_cases(tests, Random(number))
        if hasattr(of_world, "TestTogetherGroup"):
            machine = seed(number)(of_world._TogetherGroupMachine)
            run_state_machine_as_test(machine, settings=SETTINGS)
    except BaseException as error:
        error.add_note(f"package {number}: {world}")
        raise
    finally:
        for module in [module for module in sys.modules if module.split(".")[0] == name]:
            del sys.modules[module]


def check_component(draft: Draft, tests: ModuleType, number: int) -> None:
    """Run the generated tests of one component."""
    try:
        tests.test_one_instance()
        run_cases(getattr(tests, f"Test{draft.name}"), Random(number))
        machine = seed(number)(tests._Machine)
        run_state_machine_as_test(machine, settings=SETTINGS)
    except BaseException as error:
        error.add_note(f"the schema, of package {number}:\n{draft.text}")
        raise


def check_chunks(drafts: list[Draft], tests: ModuleType, number: int) -> None:
    """Run the generated tests of the components in chunks."""
    try:
        run_cases(tests.TestArchetypes, Random(number))
        run_state_machine_as_test(seed(number)(tests._Machine), settings=SETTINGS)
    except BaseException as error:
        schemas = "".join(draft.text for draft in drafts)
        error.add_note(f"the schemas, of package {number}:\n{schemas}")
        raise


def run_cases(cases: type, random: Random) -> None:
    """Run a part of the direct cases, as pytest would; not those that want fixtures."""
    for name, function in inspect.getmembers(cases, inspect.isfunction):
        if name.startswith("test") and random.random() < SHARE and not is_fitted(function):
            for arguments in parameters(function):
                with suppress(pytest.skip.Exception):
                    run_case(cases(), function, arguments)


def is_fitted(function: Callable[..., Any]) -> bool:
    """Return whether a case takes what only pytest can give."""
    return not {"tmp_path", "monkeypatch"}.isdisjoint(inspect.signature(function).parameters)


def run_case(case: Any, function: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Run a direct case between what stands before and behind each."""
    getattr(case, "setup_method", lambda: None)()
    try:
        function(case, **arguments, **fixtures(case, inspect.signature(function).parameters))
    finally:
        getattr(case, "teardown_method", lambda: None)()


def fixtures(case: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return what the fixtures of these names give a case: a new world, or a new manager."""
    values = {}
    if "w" in names:
        values["w"] = case.world()
    if "m" in names or "source" in names:
        values["source"], values["m"] = case.new()
    return {name: value for name, value in values.items() if name in names}


def parameters(function: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """Return the arguments that `pytest.mark.parametrize` asks for."""
    choices = []
    for mark in getattr(function, "pytestmark", []):
        names, values = mark.args
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        rows = [value if len(names) > 1 else (value,) for value in values]
        choices.append([dict(zip(names, row, strict=True)) for row in rows])
    for picked in product(*choices):
        yield {name: value for part in picked for name, value in part.items()}


@pytest.mark.parametrize("number", range(300))
def test_contradictions_are_refused(number: int, tmp_path: Path) -> None:
    draft, (first, second) = Schemas(number).contradiction("Mix")
    folder = write(tmp_path / "schemas", [ENUMS, KNOWN, draft.text])
    diagnostics = Diagnostics()
    assert schema.load(folder, diagnostics) is None
    lines = (folder / "mixture.yaml").read_text(encoding="utf-8").splitlines()
    # The component is the last one of the file.
    line = {text.partition(":")[0]: number for number, text in enumerate(lines, 1)}
    for error in diagnostics.errors:
        assert error.mark.path.endswith("mixture.yaml")
        text = lines[error.mark.line - 1]
        assert text[error.mark.column - 1 :][: error.mark.length].strip()
    places = [(line[first], line[second]), (line[second], line[first])]
    assert any(
        error.mark.line == here and f"line {there}" in error.message
        for error in diagnostics.errors
        for here, there in places
    ), (draft.text, diagnostics.errors)


CHOICES: dict[str, tuple[str, ...]] = {
    "owner": ("none",),
    "instances": ("many",),
    "lookup": ("hash", "direct"),
    "destroy": ("callback", "manual"),
    "ids": ("true",),
    "partition": ("{start: active}",),
    "hierarchy": ("{orphans: root}", "{orphans: die}", "{orphans: destroy}"),
    "ring": ("7",),
    "release": ("true",),
    "add": ("true",),
    "cold": ("indirect",),
    "growth": ("{reserve: 64}",),
    "on": ("at",),
    "network": ("{between: [who, whom]}", "{from: who, to: whom}"),
}
MIXED = """\
fields:
  a: {{type: f64, index: {index}}}
  u: {{type: i64, unique: {unique}}}
  far: {{type: f64, tags: [cold]}}
  at: id<Cell>
  who: {{type: entity, on_delete: {on_delete}}}
  whom: entity
---
component: Cell
grid: {{shape: [3, 3]}}
fields: {{z: f64}}
"""


def test_no_base_hides_what_others_add_to_a_method() -> None:
    """A method that calls that of the next base is reached, whatever policies there are."""
    random, n_legal = Random(1), 0
    for _ in range(300):
        drawn = {k: random.choice(v) for k, v in CHOICES.items() if random.random() < 0.3}
        text = "".join(f"{key}: {value}\n" for key, value in drawn.items())
        index, unique = (random.choice(["true", "false"]) for _ in range(2))
        on_delete = random.choice(["keep", "keep", "clear", "cascade"])
        fields = MIXED.format(index=index, unique=unique, on_delete=on_delete)
        project, _ = checked(f"component: Mix\n{text}{fields}")
        if project is None:
            continue
        n_legal += 1
        (mix,) = (c for c in project.components if c.name == "Mix")
        code = ComponentCode(mix)
        for bases in (code.bases, code.row_bases):
            assert not [*hidden_methods(bases)], (bases, text, on_delete)
    assert n_legal > 100


def hidden_methods(bases: list[str]) -> Iterator[str]:
    """Yield the methods that call the next base's and stand behind one that calls none's."""
    modules = locate_public_names(RUNTIME)
    kinds = [getattr(import_module(modules[n].replace(PLACEHOLDER, "")), n) for n in bases]
    ending: dict[str, type[Any]] = {}
    for kind in type("Mixed", tuple(map(bare, kinds)), {}).__mro__:
        for name, member in vars(getattr(kind, "real", object)).items():
            method = getattr(member, "fget", member)
            if not inspect.isfunction(method):
                continue
            calls_next = {"super", name} <= {*method.__code__.co_names}
            if calls_next and not issubclass(ending.get(name, kind), kind):
                yield f"{kind.__name__}.{name}, behind {ending[name].__name__}"
            elif not calls_next:
                ending.setdefault(name, kind)


@cache
def bare(kind: type[Any]) -> type[Any]:
    """Return a class with the same bases, but without members, that takes any others beside it."""
    bases = tuple(bare(base) for base in kind.__bases__ if base is not object)
    return type(kind.__name__, bases, {"real": kind})
