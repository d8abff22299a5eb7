"""The generated tests: one file per component, over pieces that all components share.

`templates/tests/support/` has a module per policy, named like its feature; a component's tests put
together those of its own policies. A policy that no component asks for leaves no file.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import permutations
from typing import Any

from ecsgen import features, world_features
from ecsgen.config import Options, UsageError
from ecsgen.files import fingerprint
from ecsgen.model import Component, Project
from ecsgen.render.archetypes import chunked_components
from ecsgen.render.blocks import without_nothing
from ecsgen.render.calls import import_line
from ecsgen.render.component_spelling import ComponentSpelling
from ecsgen.render.environment import environment, template_folder
from ecsgen.render.output import Output
from ecsgen.render.test_spelling import ComponentTests
from ecsgen.render.world import Parts, Steps

PARENT = ".."
"""Where the tests find the package when they are inside of it."""

SUPPORT_OF_CHUNKS = ("chunks", "chunks_machine", "chunks_structure", "machine", "subject")


def outputs(project: Project, options: Options) -> Iterator[Output]:
    """Return the files of the tests' folder; those of a moved folder import the package by name."""
    package = _package_name(options) if options.tests_moved else PARENT
    yield _output("tests/__init__.py", folder_module)
    if options.tests_moved:
        assert options.tests is not None
        parent = os.path.relpath(options.output.parent, options.tests).replace(os.sep, "/")
        yield _output("tests/conftest.py", conftest_module, package, parent)
    chunked = chunked_components(project)
    managed = [component for component in project.components if not component.chunk]
    of_policies = {name for component in managed for name in policies(component)}
    of_chunks = SUPPORT_OF_CHUNKS if chunked else ()
    if any(component.kernels or component.reductions for component in managed):
        of_policies.add("kernels")
    of_world = {f.name for f in world_features.active(project)} & _available()
    shared = {"cases", "machine", "spawning", *of_policies, *of_world, *of_chunks}
    for name in support_modules(shared):
        yield _output(f"tests/_support/{name}.py", support_module, name, package)
    yield _output("tests/test_entities.py", entities_tests, package)
    yield _output("tests/test_world.py", world_tests, Parts.of(project), package)
    if chunked:
        world = project.world.name
        yield _output("tests/test_archetypes.py", archetypes_tests, world, chunked, package)
    for component in managed:
        path = f"tests/test_{component.module}.py"
        yield _output(path, component_tests, component, package)


def _package_name(options: Options) -> str:
    name = options.output.name
    if not name.isidentifier():
        raise UsageError(
            f"[tool.ecsgen] tests: outside the package they import it by name, and {name!r} is none"
        )
    return name


def _output(path: str, make: Callable[..., str], *subjects: Any) -> Output:
    """Return an output whose key digests everything that it is made from."""
    return Output(
        path, fingerprint.digest(repr((path, subjects)).encode()), partial(make, *subjects)
    )


def folder_module() -> str:
    """Return the text that makes the tests a package."""
    return _render("__init__.py.j2")


def conftest_module(package: str, parent: str) -> str:
    """Return the module that lets moved tests find the package, which lies in `parent`."""
    return _render("conftest.py.j2", package=package, parent=parent)


def support_module(name: str, package: str) -> str:
    """Return one of the pieces that all components share."""
    return _render(f"support/{name}.py.j2", package=package if package != PARENT else "...")


def entities_tests(package: str) -> str:
    """Return the tests of the entity manager."""
    return _render("entities.py.j2", package=package)


def world_tests(parts: Parts, package: str) -> str:
    """Return the tests of the world, and of each of its features in turn."""
    names = {name for name, _ in parts.features}
    supported = names & _available()
    supported |= {n for f in world_features.every() if f.name in names for n in f.test_support}
    step = Steps(
        parts,
        imported=import_line(package, [parts.world.name, *parts.exports]),
        support_import=import_line("._support", sorted({"spawning", *supported})),
        siblings=_siblings(parts),
    )
    return without_nothing(environment().get_template("tests/world.py.j2").render(step.context))


def _siblings(parts: Parts) -> list[str]:
    """Return the modules whose subjects the tests of the world take."""
    names = {f"test_{member.module}" for member in (*parts.components, *parts.unowned)}
    active = {name for name, _ in parts.features}
    of_features = (f.test_modules for f in world_features.every() if f.name in active)
    return sorted(names.union(*of_features))


def component_tests(component: Component, package: str) -> str:
    """Return the tests of one component's manager."""
    return _render(
        "component.py.j2",
        package=package,
        c=ComponentSpelling(component),
        t=ComponentTests(component, package, policies(component)),
    )


def archetypes_tests(world: str, components: tuple[Component, ...], package: str) -> str:
    """Return the tests of the components whose rows live in chunks."""
    members = [ComponentTests(component, package, []) for component in components]
    enums = ["enums"] if any(t.spelling.enums for t in members) else []
    has_fields = ["fields"] if any(t.component.fields for t in members) else []
    names = [world, "archetypes", *enums, *(t.imported_row for t in members)]
    return _render(
        "archetypes.py.j2",
        world=world,
        members=members,
        support_import=import_line("._support", [*SUPPORT_OF_CHUNKS, *has_fields]),
        package_import=import_line(package, names),
    )


def policies(component: Component) -> list[str]:
    """Return the support modules of a component's policies, each before those that it builds on.

    A module called `one_other` says what holds where two policies meet.
    """
    names = {feature.name for feature in features.active(component)}
    if component.owner == "entity":
        names.add(component.destroy)
    return list(_in_order(frozenset(names)))


@cache
def _in_order(policies: frozenset[str]) -> tuple[str, ...]:
    """Return the support modules of policies; most components share theirs with many others."""
    pairs = {f"{one}_{other}" for one, other in permutations(policies, 2)}
    found = (policies | pairs) & _available()
    return tuple(sorted(found, key=lambda name: (-len(support_modules([name])), name)))


def support_modules(names: Iterable[str]) -> list[str]:
    """Return support modules and those that they need."""
    found = {"__init__"}
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += _imports(name)
    return sorted(found)


@cache
def _available() -> frozenset[str]:
    folder = template_folder() / "tests" / "support"
    return frozenset(path.name.removesuffix(".py.j2") for path in folder.glob("*.py.j2"))


@cache
def _imports(name: str) -> tuple[str, ...]:
    """Return the support modules that one imports."""
    head = support_module(name, PARENT).split("\n\n\n")[0]  # imports stand before all else
    nodes = ast.walk(ast.parse(head))
    relative = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 1]
    own = {node.module for node in relative if node.module}
    return tuple(sorted(own | {a.name for node in relative if not node.module for a in node.names}))


def _render(template: str, **variables: object) -> str:
    return environment().get_template(f"tests/{template}").render(**variables)
