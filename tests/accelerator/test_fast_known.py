"""Methods that C stands for: what they consist of is said, and known there.

A policy that is not known leaves its methods to Python. Whoever changes a method that C stands for
changes it in C as well: `golden/accelerated.txt` has the names that these use, and after a look at
C `pytest --update` rewrites it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Set
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from ecsgen.policies import list_policies
from ecsgen.policies.steps import STEPS
from ecsgen.render.components.step_code import ONE_ROW
from tests.support.accelerated_packages import ROOT, both, find_accelerator, need_layer

GOLDEN = Path(__file__).parents[1] / "golden" / "accelerated.txt"
PACKAGES = {
    ("quick", "plain"): ROOT / "schemas",
    ("quick_yard", "plain_yard"): ROOT / "tests" / "fast.yaml",
    ("quick_others", "plain_others"): ROOT / "tests" / "more_policies.yaml",
}
"""By the names that other files have for them."""
ONE_ROW_METHODS = {"accessors": "row", "destroy_row": "_destroy_row"}
LEFT_TO_PYTHON = {
    "ring",
    "unique",
    "index",
    "grouped",
    "many",
    "indirect",
    "objects",
    "cells",
    "occupant",
}
"""Policies with a part in methods that C does not stand for."""

CALLED = """
    entities.entity_manager:EntityManagerBase _destroy_one _despawn_one
    entities.entity_pool:EntityPool _free_index
    entities.entity_pool:DespawnListeners check run_one
    base.callbacks:Dispatch notify run is_open
    managers.policies.owners:Owned _create_many _proxy _proxies
    world.world_base:WorldBase _spawn _few _spawn_small_batch _removed _collected
    world.entity_views:EntityViewWorld _create_plain
    world.world_base:DeferredDespawns _flush _small_batch_doomed
    world.queries.query:QueryJoin _way _blocks _narrow
"""
"""Methods that those in C would call: they do the same themselves."""

Packages = list[ModuleType]


@pytest.fixture(scope="module")
def packages() -> Packages:
    """Import packages with methods in C."""
    return [both(path, names)[0] for names, path in PACKAGES.items()]


def classes(package: ModuleType) -> Iterator[type[Any]]:
    """Yield the classes of a package and of its library."""
    for name in package.__all__:
        getattr(package, name)
    prefix = f"{package.__name__}."
    for module in [name for name in sys.modules if name.startswith(prefix)]:
        for value in vars(sys.modules[module]).values():
            if isinstance(value, type) and value.__module__ == module:
                yield value


def managers(packages: Packages) -> Iterator[type[Any]]:
    """Yield the generated managers."""
    for package in packages:
        for kind in classes(package):
            if "PARTS" in vars(kind) and kind.__name__ != "BaseManager":
                yield kind


def test_each_policy_is_known_or_left_to_python() -> None:
    """One that has a part in a method for one row."""
    need_layer()
    from ecsgen_runtime.accelerator import supported

    policies_by_method: dict[str, set[str]] = {method: set() for method in supported.STEPS}
    for policy in list_policies():
        template = ROOT / "templates" / "component_features" / f"{policy.name}.py.j2"
        text = template.read_text(encoding="utf-8") if policy.template else ""
        for step in STEPS:
            acts = step.name in policy.step_code or f"macro {step.name}()" in text
            if acts and step.method in ONE_ROW:
                policies_by_method[ONE_ROW[step.method]].add(policy.name)
    for method, policies in policies_by_method.items():
        assert supported.STEPS[method] <= policies, method
        assert policies - supported.STEPS[method] <= LEFT_TO_PYTHON, method


def test_what_is_known_is_in_c_and_the_rest_left_to_python(packages: Packages) -> None:
    """Of what is known rows of cells that are short enough."""
    from ecsgen_runtime.accelerator.supported import STEPS, supports_all_steps

    seen = set()
    for kind in managers(packages):
        in_c, guarded = find_accelerator(kind), {*kind.PARTS.guarded}
        left = [
            ONE_ROW_METHODS.get(method, method)
            for method in STEPS
            if not supports_all_steps(kind, method)
        ]
        methods = (method for field in kind.CONVERTERS for method in (field, f"set_{field}"))
        left += filter(guarded.__contains__, methods)
        assert not in_c.keys() & {*left}, kind
        seen.update(left)
        if "_destroy_row" not in left:
            assert "_destroy_row" in in_c, kind
        if "create" not in left and not guarded & {*kind.CONVERTERS}:
            assert "create" in in_c, kind
    assert {"create", "_destroy_row", "payload", "set_payload"} < seen


LIBRARY_CLASSES = """
    Column DeferredDespawns Direct DirectIds EntityPool EntityViewWorld EnumField Hash Hierarchy
    IdMethods Ids Many Mapped MappedOne OrphansRoot Owned Packed Release RowField Rows Sparse
    TextField Unowned WorldBase
"""


KEYS_IN_TURNS = ["", "lookup: hash", "lookup: direct", "ids: true", "hierarchy: {orphans: root}"]


def test_components_may_be_called_as_classes_of_the_library(tmp_path: Path) -> None:
    """C does not go by the names of classes: those of other names have the same methods in C."""
    in_c: list[dict[str, set[str]]] = []
    plain = [f"Plain{turn}" for turn, _ in enumerate(KEYS_IN_TURNS)]
    for title, names in (("odd", LIBRARY_CLASSES.split()), ("plain", plain)):
        parts = [
            f"component: {name}\nfields: {{x: f32}}\n{keys}"
            for name, keys in zip(names, cycle(KEYS_IN_TURNS))  # cycles have no end
        ]
        schemas = tmp_path / f"{title}.yaml"
        schemas.write_text("\n---\n".join(parts), encoding="utf-8")
        package = both(schemas, (f"{title}_in_c", f"{title}_in_python"))[0]
        kinds = [*(getattr(package, f"{name}Manager") for name in names), package.World]
        in_c.append({kind.__name__: {*find_accelerator(kind)} for kind in kinds})
    odd, usual = in_c
    assert odd.pop("World") == usual.pop("World")
    assert all({"lookup", "create"} <= methods for methods in usual.values())
    assert [*odd.values()] == [*islice(cycle(usual.values()), len(odd))]


def test_what_methods_in_c_stand_for_is_as_it_was(packages: Packages, update: bool) -> None:
    names_by_method = {name: {*names_in(method.__code__)} for name, method in called_methods()}
    for package in packages:
        for kind in classes(package):
            for name, method in find_accelerator(kind).items():
                at, names = named(kind, name, method)
                names_by_method.setdefault(at, set()).update(names)
    lines = [f"{at}: {' '.join(sorted(names))}" for at, names in sorted(names_by_method.items())]
    text = "\n".join(textwrap.fill(line, 99, subsequent_indent="    ") for line in lines) + "\n"
    if update:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "C stands for it: has that to change, too?"


def called_methods() -> Iterator[tuple[str, FunctionType]]:
    """Yield the library's methods in `CALLED`."""
    for line in CALLED.strip().splitlines():
        location, *names = line.split()
        module, owner = location.split(":")
        kind = getattr(importlib.import_module(f"ecsgen_runtime.{module}"), owner)
        for name in names:
            yield f"{owner}.{name}", vars(kind)[name]


def named(kind: type[Any], name: str, method: Any) -> tuple[str, Set[str]]:
    """Return what a method in C stands for, and the names in that; of generated methods those that
    are the same for all schemas."""
    used = names_in(method.__wrapped__.__code__)
    owner = method.__qualname__.partition(".")[0]
    if owner != kind.__name__ or "._runtime." in kind.__module__:
        return f"{owner}.{name}", used
    fields = getattr(kind, "CONVERTERS", {})
    its = "|".join([*fields, *(column.name for column in getattr(kind, "LAYOUT", ())), "-"])
    generated_name = re.compile(rf"{its}|_({its})_\w+|_?[A-Z]\w*")
    at = "*" if name in fields else "set_*" if name.startswith("set_") else name
    return f"generated {at}", {name for name in used if not generated_name.fullmatch(name)}


@cache
def names_in(code: CodeType) -> Set[str]:
    """Return the attributes and the names of the module, or builtins, that a function uses.

    Copies of a function in several packages have equal code.
    """
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(code))).body
    assert isinstance(tree, ast.FunctionDef)
    nodes = [node for statement in tree.body for node in unannotated(statement)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    local = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    local |= {node.name or "" for node in nodes if isinstance(node, ast.ExceptHandler)}
    local |= {node.arg for node in ast.walk(tree.args) if isinstance(node, ast.arg)}
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return used | {node.id for node in names} - local


def unannotated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all below it but annotations."""
    yield node
    for name, value in ast.iter_fields(node):
        if name != "annotation":
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from unannotated(child)
