"""The files of a generated package, and what each of them is made from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from ecsgen.config import Backend, Options
from ecsgen.files import fingerprint
from ecsgen.model import Enum, Kernel, Project, World
from ecsgen.model.saved import saved_schema, schema_text
from ecsgen.render import tests
from ecsgen.render.archetypes import (
    archetype_subjects,
    archetypes_module,
)
from ecsgen.render.calls import collection, import_line, isort_key
from ecsgen.render.chunked import chunked_module
from ecsgen.render.component import component_module
from ecsgen.render.environment import environment
from ecsgen.render.fast import FAST, fast_sources
from ecsgen.render.giving_way import marked, marked_class, told_apart
from ecsgen.render.output import Output
from ecsgen.render.runtime import (
    LATER,
    LAYOUT,
    RUNTIME,
    copies,
    module_of,
    origins,
    shard_origins,
    sources,
)
from ecsgen.render.saved import schema_module
from ecsgen.render.sharded import BITS, layout_with
from ecsgen.render.world.module import Parts, world_module
from ecsgen.schema.names import group_class, query_classes

EXPORTED = (
    "BrokenManagerError",
    "CapacityError",
    "DuplicateInstanceError",
    "DuplicateValueError",
    "EcsError",
    "Entity",
    "EntityArray",
    "FieldInfo",
    "HierarchyError",
    "Id",
    "Instance",
    "MissingInstanceError",
    "NIL",
    "NULL_ENTITY",
    "RowArray",
    "SnapshotError",
    "StaleEntityError",
    "StaleIdError",
    "StaleInstanceError",
    "StaleViewWarning",
    "StructureLockedError",
)
"""What users see of the runtime."""

DRAWING = ("Draws",)
"""What they see besides where kernels draw random numbers."""

SHARDED = ("ParcelError", "ShardError")
"""What they see besides in a world with shards."""

SPACED = ("Neighbours",)
"""The same where components have a space."""

LATE = ("Snapshot", "SnapshotTable")
LATE_MODULE = f"{LATER}tables.py"
"""The same of what is imported when it is first asked for: most programs never do."""


IN_TURNS = (
    'kernels with turns are loops in plain Python here; backend = "numba" in [tool.ecsgen], or'
    " --backend numba, compiles them: twenty to fifty times as fast"
)

_OF_MANAGERS = ("", "Manager", "Data", "Fields", "Ref")
_OF_CHUNKS = ("", "Data", "Fields", "Values", "Ref")
"""The classes of a component that users may name, by how they end."""


def outputs(project: Project, options: Options) -> list[Output]:
    """Return every file that the schemas give rise to; cheap, nothing is rendered yet.

    What these import of the runtime comes beside them, as it is: `runtime.copies`.
    """
    project = project.made_for(options.backend)
    in_c = _in_c() if options.compiled else ()
    modules = _modules(project, options)
    return [*(replace(it, make=partial(told_apart, it.make)) for it in modules), *in_c]


def texts(project: Project, options: Options) -> dict[str, str]:
    """Return the whole package, unformatted: the text of each file by path."""
    made = {output.path: output.make() for output in outputs(project, options)}
    return made | copies(made.values(), options.backend)


def _modules(project: Project, options: Options) -> list[Output]:
    tests_of = tests.outputs(project, options) if options.tests is not None else ()
    return [*_package(project), *_managers(project), *tests_of]


def _package(project: Project) -> Iterator[Output]:
    parts = Parts.of(project)
    seeded = any(name == "seeded" for name, _ in parts.features)
    sharded = project.world.shards is not None
    spaced = any(component.space for component in project.components)
    of_runtime = (
        *EXPORTED,
        *(DRAWING if seeded or sharded else ()),
        *(SHARDED if sharded else ()),
        *(SPACED if spaced else ()),
    )
    own = tuple(_exported(project, parts))
    for_numba = project.backend == "numba"
    yield _output("__init__.py", package_module, project.world.name, own, of_runtime, for_numba)
    yield _output("py.typed", _empty)
    yield _output("entities.py", entities_module, project.world.shards is not None)
    yield _output(LAYOUT, layout_module, project.world)
    if project.world.shards is not None:
        yield _output(BITS, layout_with, sources()[BITS], project.world.shards)
    note = _note(project.backend, project.world.kernels)
    yield _output("world.py", world_module, parts, note=note)
    yield _output("_schema.py", schema_module, schema_text(saved_schema(project)), project.history)
    if project.world.archetypes:
        yield _output("archetypes.py", archetypes_module, *archetype_subjects(project))
    if project.enums:
        yield _output("enums.py", enums_module, project.enums)


def _exported(project: Project, parts: Parts) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the modules that schemas give rise to, and what users import of each."""
    world = project.world
    of_queries = (name for query in world.queries for name in query_classes(query.name))
    of_groups = (group_class(name) for name, _ in world.groups)
    of_world = ("World", world.name, *parts.exports, *of_queries, *of_groups)
    yield ".world", tuple(map(marked, dict.fromkeys(of_world)))
    for component in project.components:
        ends: tuple[str, ...] = _OF_CHUNKS if component.chunk else _OF_MANAGERS
        ends += ("Columns",) * component.queried + ("GroupedData",) * bool(component.group)
        yield f".{component.module}", tuple(marked_class(component.name) + end for end in ends)
    if world.archetypes:
        yield ".archetypes", ("ArchetypeChunk", "Archetypes")
    if project.enums:
        yield ".enums", tuple(marked(enum.name) for enum in project.enums)


def _managers(project: Project) -> Iterator[Output]:
    for component in project.components:
        make = chunked_module if component.chunk else component_module
        note = _note(component.backend, component.kernels)
        yield _output(f"{component.module}.py", make, component, note=note)


def _note(backend: Backend, kernels: Iterable[Kernel]) -> str:
    slow = backend == "numpy" and any(kernel.turns for kernel in kernels)
    return IN_TURNS if slow else ""


def _in_c() -> Iterator[Output]:
    """Yield the sources of methods in C, as they are."""
    for path, text in fast_sources().items():
        yield _output(f"{FAST}/{path}", _as_is, text)


def _output(path: str, make: Callable[..., str], *subjects: Any, note: str = "") -> Output:
    """Return an output whose key digests everything that it is made from."""
    key = fingerprint.digest(repr((path, subjects)).encode())
    return Output(path, key, partial(make, *subjects), note)


def _empty() -> str:
    return ""


def _as_is(text: str) -> str:
    return text


def entities_module(sharded: bool) -> str:
    """Return the module that has what users want of entities."""
    return environment().get_template("entities.py.j2").render(sharded=sharded)


def layout_module(world: World) -> str:
    """Return the runtime's layout of handles with this project's numbers."""
    text = sources()[LAYOUT]
    for name in ("index_bits", "generation_bits", "min_free"):
        line = rf"^({name.upper()}: Final = )\d+$"
        text = re.sub(line, rf"\g<1>{getattr(world, name)}", text, flags=re.MULTILINE)
    return text


def enums_module(enums: tuple[Enum, ...]) -> str:
    """Return the module of all enums."""
    return environment().get_template("enums.py.j2").render(enums=enums)


def package_module(
    world: str,
    own: tuple[tuple[str, tuple[str, ...]], ...],
    of_runtime: tuple[str, ...],
    for_numba: bool,
) -> str:
    """Return the package's `__init__`: everything that users import.

    `own`: the modules that schemas give rise to, with what users see of each. `of_runtime`: what
    the runtime has for them. `for_numba`: nothing of it works without numba.
    """
    places: dict[str, list[str]] = {}
    is_sharded = set(SHARDED) <= set(of_runtime)
    known = {**origins(RUNTIME), **(shard_origins() if is_sharded else {})}
    for name in of_runtime:
        places.setdefault(known[name], []).append(name)
    places |= {".entities": ["EntityManager"]}
    places |= {module: list(names) for module, names in own}
    places[module_of(LATE_MODULE)] = list(LATE)
    names = sorted((name for found in places.values() for name in found), key=isort_key)
    imports = [import_line(module, places[module], 4) for module in sorted(places)]
    template = environment().get_template("package.py.j2")
    return template.render(
        world=world,
        imports=imports,
        names=names,
        places=[_place(*it) for it in places.items()],
        for_numba=for_numba,
    )


def _place(module: str, names: list[str]) -> str:
    """Return the names of a module as an item of what `lazy_names` takes."""
    return collection(f'"{module}": ', [f'"{name}"' for name in sorted(names)], 12, ",")
