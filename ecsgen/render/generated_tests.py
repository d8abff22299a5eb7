"""Generated tests: a file per component, from cases that all components share.

`ecsgen_testing` has two classes per policy, `RingCases` and `RingRules`; the tests of a
component derive from those of its own policies.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import permutations

from ecsgen.config import Options, UsageError
from ecsgen.model import Component, Project
from ecsgen.model.reference_schema import component_schema
from ecsgen.model.snapshot_schema import Document
from ecsgen.render.components.chunk_code import chunked_components
from ecsgen.render.components.component_code import ComponentCode
from ecsgen.render.components.component_tests import (
    ComponentTests,
    PolicyTests,
    camel,
    find_policy_tests,
    import_lines,
)
from ecsgen.render.output_file import Output
from ecsgen.render.text.formatting import import_line
from ecsgen.render.text.jinja_environment import rendered
from ecsgen.render.text.library_imports import PARENT
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.world import world_features
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
    yield Output.of(
        "tests/test_entities.py", rendered, "tests/entities.py.j2", {"package": package}
    )
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
    active = dict(parts.features)
    features = [feature for feature in world_features.FEATURES if feature.name in active]
    supported = {"spawning"}.union(*(feature.test_support for feature in features))
    parts = replace(parts, members=tuple(m for m in parts.members if not m.is_grid))
    name, kinds = add_placeholder(parts.world.name), {
        "SUBJECTS": parts.components,
        "UNOWNED": parts.unowned,
    }
    filled = [kind for kind, members in kinds.items() if any(m.has_unique for m in members)]
    unique = ["unique"] if filled else []
    siblings = {f"test_{member.module}" for member in (*parts.components, *parts.unowned)}
    exports = list(map(add_placeholder, parts.exports))
    imports = [exports, [f"{name} as _{name}"]] if filled else [[name, *exports]]
    blocks = BlockRenderer(
        parts,
        imported="\n".join(import_line(package, names) for names in imports if names),
        support_import=import_lines([*supported, *unique]),
        filled=", ".join(filled),
        is_computing=bool(parts.world.kernels or parts.world.records),
        siblings=sorted(siblings.union(*(feature.test_modules for feature in features))),
    )
    return rendered("tests/world.py.j2", blocks.context)


def component_tests(component: Component, package: str, schema: Document) -> str:
    """Return the tests of one component's manager; `schema`: the reference interpreter's."""
    code = ComponentCode(component)
    tests = ComponentTests(code, package, _policy_tests(code), schema)
    return rendered("tests/component.py.j2", {"package": package, "c": code, "t": tests})


def archetypes_tests(world: str, components: tuple[Component, ...], package: str) -> str:
    """Return the tests of the components that have their rows in chunks."""
    members = [ComponentTests(ComponentCode(component), package, ()) for component in components]
    enums = ["enums"] if any(t.code.enums for t in members) else []
    names = ["EntityManager", "archetypes", *enums, *(t.imported_row for t in members)]
    names += [add_placeholder(world)]
    variables = {"world": add_placeholder(world), "members": members}
    variables["support_import"] = import_lines(("chunks", "state_machine", "subject"))
    variables["package_import"] = import_line(package, names)
    return rendered("tests/archetypes.py.j2", variables)


def _policy_tests(code: ComponentCode) -> tuple[PolicyTests, ...]:
    """Return the cases of a component's policies, each before those that it builds on.

    `OneOther` has what holds for a component with both policies.
    """
    if code.is_fixed:
        return (find_policy_tests()["Cells"],)
    names = {part.name for part in code.features}
    if code.is_owned:
        names.add(code.component.destroy)
    return _in_order(frozenset(names))


@cache
def _in_order(policies: frozenset[str]) -> tuple[PolicyTests, ...]:
    """Return the cases of policies, cached: most components share theirs with others."""
    names = {camel(name) for name in policies}
    names |= {f"{first}{second}" for first, second in permutations(names, 2)}
    tests = [cases for name, cases in find_policy_tests().items() if name in names]
    return tuple(sorted(tests, key=lambda cases: (-cases.weight, cases.name)))
