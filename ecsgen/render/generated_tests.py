"""Generated tests: a file per component, from cases that all components share.

`ecsgen_testing` has classes of policies, `RingRules` of a state machine and `IndexCases` that are
direct; the tests of a component derive from those of its own policies.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from ecsgen.config import Options, UsageError
from ecsgen.model import Component, Project
from ecsgen.model.reference_schema import component_schema
from ecsgen.model.snapshot_schema import Document
from ecsgen.render.components.chunk_code import chunked_components
from ecsgen.render.components.component_code import ComponentCode
from ecsgen.render.components.component_tests import ComponentTests, imported_by_tests
from ecsgen.render.output_file import Output
from ecsgen.render.text.jinja_environment import rendered, rendered_module
from ecsgen.render.text.library_imports import PARENT
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.world.world_module import BlockRenderer, WorldContext

_INIT = '"""Generated tests: each manager against a naive model, and case by case."""\n'
"""Module that makes the tests a package, so that they can import each other."""


def outputs(project: Project, options: Options) -> Iterator[Output]:
    """Return the files of the tests' folder; those of a moved folder import the package by name."""
    package, parent = imported_from(options), ""
    if options.tests_moved:
        assert options.tests is not None
        parent = os.path.relpath(options.output.parent, options.tests).replace(os.sep, "/")
    # tests in a folder of their own find the package by it, in `parent`
    variables = {"package": package, "parent": parent}
    yield Output.of("tests/conftest.py", rendered, "tests/conftest.py.j2", variables)
    yield Output.of("tests/__init__.py", str, _INIT)
    yield Output.of("tests/test_world.py", world_tests, WorldContext.of(project), package)
    if chunked := chunked_components(project):
        world = project.world.name
        yield Output.of("tests/test_archetypes.py", archetypes_tests, world, chunked, package)
    for component in (component for component in project.components if not component.chunk):
        path = f"tests/test_{component.module}.py"
        is_computing = component.kernels or component.reductions
        schema = component_schema(project, component) if is_computing else {}
        yield Output.of(path, component_tests, component, package, schema)


def imported_from(options: Options) -> str:
    """Return the module from which tests import the package."""
    if not options.tests_moved:
        return PARENT
    name = options.output.name
    if not name.isidentifier():
        raise UsageError(
            f"[tool.ecsgen] tests: outside the package they import it by name, and {name!r} is none"
        )
    return name


def world_tests(parts: WorldContext, package: str) -> str:
    """Return the tests of the world, and of each of its features in turn."""
    parts = replace(parts, members=tuple(m for m in parts.members if not m.is_grid))
    name = add_placeholder(parts.world.name)
    tests = ["archetypes", *(member.module for member in (*parts.components, *parts.unowned))]
    modules = {
        **imported_by_tests(package),
        **dict.fromkeys((name, *map(add_placeholder, parts.exports), *parts.enums), package),
        **dict.fromkeys((f"test_{test}" for test in tests), "."),
    }
    return rendered_module("tests/world.py.j2", BlockRenderer(parts).context, modules)


def component_tests(component: Component, package: str, schema: Document) -> str:
    """Return the tests of one component's manager; `schema`: the reference interpreter's."""
    code = ComponentCode(component)
    tests = ComponentTests(code, package, _policies(code), schema)
    modules = {**imported_by_tests(package), **tests.modules}
    return rendered_module(
        "tests/component.py.j2", {"c": code, "t": tests}, modules, tests.imported_as
    )


def archetypes_tests(world: str, components: tuple[Component, ...], package: str) -> str:
    """Return the tests of the components that have their rows in chunks."""
    members = [ComponentTests(ComponentCode(component), package) for component in components]
    world = add_placeholder(world)
    names = {world, *(test.code.name for test in members)}
    modules = {**imported_by_tests(package), **dict.fromkeys(names, package)}
    imported_as = {name: here for test in members for name, here in test.imported_as.items()}
    variables = {"world": world, "members": members}
    return rendered_module("tests/archetypes.py.j2", variables, modules, imported_as)


def _policies(code: ComponentCode) -> frozenset[str]:
    """Return the policies of a component that have tests, or may have some."""
    names = {part.name for part in code.features}
    if code.is_fixed:
        return frozenset({"cells", *({"index"} & names)})
    return frozenset({*names, code.component.destroy} if code.is_owned else names)
