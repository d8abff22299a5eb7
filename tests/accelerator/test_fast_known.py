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
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from ecsgen.policies import every
from ecsgen.policies.steps import STEPS
from ecsgen.render.step_texts import ONE_ROW
from tests.support.fast_packages import ROOT, both, methods_in_c, need_layer

GOLDEN = Path(__file__).parents[1] / "golden" / "accelerated.txt"
SCHEMAS = {
    "shipped": ROOT / "schemas",
    "yard": ROOT / "tests" / "fast.yaml",
    "others": ROOT / "tests" / "unshipped.yaml",
}
LEFT_TO_PYTHON = {"ring", "unique", "indirect", "objects", "cells", "standing"}
"""Policies with a part in methods that C does not stand for."""

CALLED = """
    entity_manager:Entities _destroy_one _die
    living:LivingEntities _free_index
    living:Deaths check run_one
    callbacks:Dispatch tell run is_open
    policies.owners:Owned _create_many _proxy _proxies
    world.base:WorldBase _spawn _spawn_one _few _spawn_small_batch _removed _collected
    world.entity_world:EntityWorld _create_plain
    world.base:DeferredDeaths _flush _small_batch_doomed
    queries.query:QueryJoin _way _blocks _narrow
    queries.query:QueriedRows _steps
"""
"""Methods that those in C would call: they do the same themselves."""

Packages = list[ModuleType]


@pytest.fixture(scope="module")
def packages() -> Packages:
    """Import packages with methods in C."""
    return [both(path, (f"{n}_in_c", f"{n}_in_python"))[0] for n, path in SCHEMAS.items()]


def classes(package: ModuleType) -> Iterator[type[Any]]:
    """Yield the classes of a package and of its library."""
    for name in package.__all__:
        getattr(package, name)
    prefix = f"{package.__name__}."
    for module in [name for name in sys.modules if name.startswith(prefix)]:
        for found in vars(sys.modules[module]).values():
            if isinstance(found, type) and found.__module__ == module:
                yield found


def managers(packages: Packages) -> Iterator[type[Any]]:
    """Yield the generated managers."""
    for package in packages:
        for kind in classes(package):
            if "_STEPS" in vars(kind) and kind.__name__ not in ("BaseManager", "Manager"):
                yield kind


def test_each_policy_is_known_or_left_to_python() -> None:
    """One that has a part in a method for one row."""
    need_layer()
    from ecsgen_runtime.accelerator import known

    found: dict[str, set[str]] = {method: set() for method in known.STEPS}
    for policy in every():
        template = ROOT / "templates" / "policies" / f"{policy.name}.py.j2"
        text = template.read_text(encoding="utf-8") if policy.template else ""
        for step in STEPS:
            acts = step.name in policy.calls or f"macro {step.name}()" in text
            if acts and step.method in ONE_ROW:
                found[ONE_ROW[step.method]].add(policy.name)
    for method, policies in found.items():
        assert known.STEPS[method] <= policies, method
        assert policies - known.STEPS[method] <= LEFT_TO_PYTHON, method


def test_what_is_not_known_is_left_to_python(packages: Packages) -> None:
    from ecsgen_runtime.accelerator.known import STEPS, consists

    seen = set()
    for kind in managers(packages):
        in_c = methods_in_c(kind)
        for method in STEPS:
            if not consists(kind, method):
                assert method not in in_c, kind
                seen.add(method)
        for field in kind._CONVERTERS:
            for method in (field, f"set_{field}"):
                if method in kind._STEPS:
                    assert method not in in_c, kind
                    seen.add(kind._STEPS[method])
    assert seen == {"create", "_destroy_row", "objects", "unique", "indirect"}


def test_what_is_known_is_in_c(packages: Packages) -> None:
    """Rows of cells that are short enough."""
    from ecsgen_runtime.accelerator.known import consists

    for kind in managers(packages):
        in_c, fields = methods_in_c(kind), list(kind._CONVERTERS)
        if consists(kind, "_destroy_row"):
            assert "_destroy_row" in in_c, kind
        if consists(kind, "create") and kind._STEPS.keys().isdisjoint(fields):
            assert "create" in in_c, kind


def test_components_may_be_called_as_classes_of_the_library(tmp_path: Path) -> None:
    """C knows these by their names."""
    need_layer()
    known = importlib.import_module("ecsgen_runtime.accelerator.known")
    classes = {name for *_, names in known.INHERITED for name in names.split()}
    classes |= {*known.WORLDS.values(), *(name for _, name in known.ENTITIES.values())}
    classes.remove("Entities")  # a module's name
    found = []
    for prefix in ("", "Plain"):
        names = [f"{prefix}{name}" for name in sorted(classes)]
        schemas = tmp_path / f"{prefix}named.yaml"
        schemas.write_text(named_components(names), encoding="utf-8")
        package = both(schemas, (f"{prefix}named_in_c", f"{prefix}named_in_python"))[0]
        kinds = [getattr(package, f"{name}Manager") for name in names]
        found.append([sorted(methods_in_c(kind)) for kind in (*kinds, package.World)])
    assert found[0] == found[1]
    assert all({"lookup", "create"} <= {*methods} for methods in found[0][:-1])


def named_components(names: list[str]) -> str:
    """Return schemas of components with these names, of several policies in turns."""
    policies = ["", "lookup: hash", "lookup: direct", "instances: many"]
    policies.append("hierarchy: {orphans: root}")
    parts = [
        f"component: {name}\nfields: {{x: f32}}\n{policies[number % len(policies)]}"
        for number, name in enumerate(names)
    ]
    return "\n---\n".join(parts)


def test_what_methods_in_c_stand_for_is_as_it_was(packages: Packages, update: bool) -> None:
    found = {name: names_in(method) for name, method in called_methods()}
    for package in packages:
        for kind in classes(package):
            for name, method in methods_in_c(kind).items():
                at, names = named(kind, name, method)
                found.setdefault(at, set()).update(names)
    lines = [f"{at}: {' '.join(sorted(names))}" for at, names in sorted(found.items())]
    text = "\n".join(textwrap.fill(line, 99, subsequent_indent="    ") for line in lines) + "\n"
    if update:
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "C stands for it: has that to change, too?"


def called_methods() -> Iterator[tuple[str, FunctionType]]:
    """Yield the library's methods in `CALLED`."""
    for line in CALLED.strip().splitlines():
        place, *names = line.split()
        module, owner = place.split(":")
        kind = getattr(importlib.import_module(f"ecsgen_runtime.{module}"), owner)
        for name in names:
            yield f"{owner}.{name}", vars(kind)[name]


def named(kind: type[Any], name: str, method: Any) -> tuple[str, set[str]]:
    """Return what a method in C stands for, and the names in that; of generated methods those that
    are the same for all schemas."""
    used = names_in(method.__wrapped__)
    owner = method.__qualname__.partition(".")[0]
    if owner != kind.__name__ or "._runtime." in kind.__module__:
        return f"{owner}.{name}", used
    fields = getattr(kind, "_CONVERTERS", {})
    its = "|".join([*fields, *(column.name for column in getattr(kind, "LAYOUT", ())), "-"])
    own = re.compile(rf"{its}|_({its})_\w+|_?[A-Z]\w*")
    at = "*" if name in fields else "set_*" if name.startswith("set_") else name
    return f"generated {at}", {name for name in used if not own.fullmatch(name)}


def names_in(method: Any) -> set[str]:
    """Return the attributes and the names of the module, or builtins, that a function uses."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(method.__code__))).body
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
