"""Files of a generated package, and what each of them is made from."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from ecsgen_runtime import INTERFACES

from ecsgen import __version__, fingerprint
from ecsgen.config import Backend, Options
from ecsgen.files.output_paths import TESTS
from ecsgen.model import History, Kernel, Project, World
from ecsgen.model.snapshot_schema import make_snapshot_schema, schema_fingerprint, schema_text
from ecsgen.policies.index import INDEX
from ecsgen.render import generated_tests
from ecsgen.render.components.chunk_code import (
    archetype_subjects,
    render_archetypes_module,
    render_chunked_module,
)
from ecsgen.render.components.component_module import render_component_module
from ecsgen.render.kernel_printers import loop_reasons
from ecsgen.render.output_file import Output
from ecsgen.render.text.formatting import PLACEHOLDER, import_line
from ecsgen.render.text.jinja_environment import rendered, rendered_module
from ecsgen.render.text.library_imports import (
    COMPILED,
    LIBRARY,
    PARENT,
    RUNTIME,
    SHARDS,
    collect_copies,
    finish_module,
    locate_public_names,
    vendor_imports,
)
from ecsgen.render.text.name_shadowing import add_class_placeholder, add_placeholder
from ecsgen.render.text.quoting import WIDTH, literal
from ecsgen.render.world.settings_code import render_settings_module
from ecsgen.render.world.world_module import WorldContext, render_world_module
from ecsgen.schema.names import group_class, query_classes, settings_class

# a line per entry, so that a change of an entry changes few lines
_ENTRY = re.compile(r".+?(?:\},|\"(?:enums|members|components|fields|groups)\":\{|$)")
_PART = re.compile(r"[^,]{1,40},?|,")
_INDENT = 4


def schema_module(text: str, history: History) -> str:
    """Return the module, from the text of the schema."""
    variables = {
        "lines": [line for entry in _ENTRY.findall(text) for line in _literals(entry)],
        "fingerprint": schema_fingerprint(text),
        "renames": [(kind, list(names.items())) for kind, names in history.renames.items()],
    }
    return rendered("schema.py.j2", variables)


def _literals(text: str) -> Iterator[str]:
    """Yield a text as literals, one after another, that each fit on a line."""
    line = ""
    for part in _PART.findall(text):
        if len(literal(line + part)) > WIDTH - _INDENT:
            yield literal(line)
            line = ""
        line += part
    yield literal(line)


COMPILES = (
    '; backend = "numba" in [tool.ecsgen], or --backend numba, compiles them'
    " (pip install numba): 9 to 600 times as fast"
)

_OF_MANAGERS = ("", "Manager", "Data", "Fields", "Ref")
_OF_CHUNKS = ("", "Data", "Fields", "Values", "Ref")
"""Suffixes of the classes of a component that users may import."""


def outputs(project: Project, options: Options) -> list[Output]:
    """Return every file that is made from the schemas; cheap, nothing is rendered yet.

    A vendored package has copies of the library as well: `copies`.
    """
    project = project.made_for(options.backend)
    tests_of = generated_tests.outputs(project, options) if options.tests is not None else ()
    modules = [*_package(project), *_managers(project), *tests_of]
    if options.runtime == "installed":
        return [replace(file, render=partial(finish_module, file.render)) for file in modules]
    return list(_vendored(modules, generated_tests.imported_from(options)))


def _vendored(outputs: Iterable[Output], tests_from: str) -> Iterator[Output]:
    """Yield files that import the copies; `tests_from`: module of the package for tests."""
    beside = tests_from if tests_from == PARENT else f"{tests_from}."
    for output in outputs:
        package = beside if output.path.startswith(TESTS) else "."
        key = fingerprint.digest(f"vendored {output.input_digest}".encode())
        yield replace(
            output, input_digest=key, render=partial(vendor_imports, output.render, package)
        )


def texts(project: Project, options: Options) -> dict[str, str]:
    """Return the whole package, unformatted: the text of each file by path."""
    files = {output.path: output.render() for output in outputs(project, options)}
    return files | copies(files.values(), options)


def copies(modules: Iterable[str], options: Options) -> dict[str, str]:
    """Return the copies, by path, that a package of modules with these texts has."""
    if options.runtime == "installed":
        return {}
    return collect_copies(modules, generated_tests.imported_from(options))


def _package(project: Project) -> Iterator[Output]:
    parts = WorldContext.of(project)
    seeded = any(name == "seeded" for name, _ in parts.features)
    sharded = project.world.shards is not None
    also = {
        "Draws": seeded or sharded,
        "ParcelError": sharded,
        "ShardError": sharded,
        "FullCellError": any(component.on for component in project.components),
        "Links": any(component.network for component in project.components),
        "Neighbours": any(
            component.space or component.grid or INDEX.applies(component)
            for component in project.components
        ),
    }
    exported = tuple(name for name, is_needed in also.items() if is_needed)
    modules = tuple(_exported(project, parts))
    for_numba = project.backend == "numba"
    yield Output.of("__init__.py", package_module, project.world.name, modules, exported, for_numba)
    yield Output.of("py.typed", str)
    yield Output.of("entities.py", entities_module, project.world, for_numba)
    kernels = project.world.kernels
    notes = _lost_messages(kernels), _note(project, "", project.backend, kernels)
    note = "\n".join(filter(None, notes))
    yield Output.of("world.py", render_world_module, parts, note=note)
    yield Output.of(
        "_schema.py", schema_module, schema_text(make_snapshot_schema(project)), project.history
    )
    if project.world.settings:
        subjects = project.world.name, project.world.settings
        yield Output.of("settings.py", render_settings_module, *subjects)
    if project.world.archetypes:
        yield Output.of("archetypes.py", render_archetypes_module, *archetype_subjects(project))
    if project.enums:
        yield Output.of("enums.py", rendered_module, "enums.py.j2", {"enums": project.enums})


def _exported(project: Project, parts: WorldContext) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the modules that are made from schemas, and the names that users import of each."""
    world = project.world
    of_queries = (name for query in world.queries for name in query_classes(query.name))
    of_groups = (group_class(name) for name, _ in world.groups)
    of_world = ("World", world.name, *parts.exports, *of_queries, *of_groups)
    yield ".world", tuple(map(add_placeholder, dict.fromkeys(of_world)))
    for component in project.components:
        ends: tuple[str, ...] = _OF_CHUNKS if component.chunk else _OF_MANAGERS
        if component.grid is not None:  # users make no new rows of a grid
            ends = tuple(end for end in ends if end != "Fields")
        ends += ("Columns",) * component.queried + ("GroupedData",) * bool(component.group)
        yield f".{component.module}", tuple(
            add_class_placeholder(component.name) + end for end in ends
        )
    if world.settings:
        names = dict.fromkeys((settings_class(world.name), "Settings"))
        yield ".settings", tuple(map(add_class_placeholder, names))
    if world.archetypes:
        yield ".archetypes", ("ArchetypeChunk", "Archetypes")
    if project.enums:
        yield ".enums", tuple(add_placeholder(enum.name) for enum in project.enums)


def _managers(project: Project) -> Iterator[Output]:
    for component in project.components:
        make = render_chunked_module if component.chunk else render_component_module
        note = _note(project, component.name, component.backend, component.kernels)
        yield Output.of(f"{component.module}.py", make, component, note=note)


def _slow_kernels(owner: str, backend: Backend, kernels: Sequence[Kernel]) -> list[list[str]]:
    """Return the kernels that are loops in plain Python, each with the reasons, and those in which
    each row asks all rows of others."""
    loops, asking = list[str](), list[str]()
    for kernel in kernels:
        name = f"{owner}.{kernel.name}" if owner else kernel.name
        if reasons := loop_reasons(kernel.program) if backend == "numpy" else ():
            loops.append(f"{name} ({', '.join(reasons)})")
        if any(near.is_of_all_rows for near in kernel.program.neighbourhoods):
            asking.append(name)
    return [loops, asking]


def _lost_messages(kernels: Sequence[Kernel]) -> str:
    """Return the note of a build on messages that nobody gets; "" without any."""
    lost = [f"`{step.text}` in {k.name}" for k in kernels for step in k.program.lost_messages]
    why = "who is spawned is not there before the pass has ended; give the values to `spawn(…)`"
    return f"nobody gets {', '.join(lost)}: {why}" if lost else ""


def _note(project: Project, owner: str, backend: Backend, kernels: Sequence[Kernel]) -> str:
    """Return the note of a build on all kernels that take long; "" if an owner has none."""
    if not any(_slow_kernels(owner, backend, kernels)):
        return ""
    slow = [_slow_kernels(c.name, c.backend, c.kernels) for c in project.components]
    slow.append(_slow_kernels("", project.backend, project.world.kernels))
    loops, asking = ([*chain(*names)] for names in zip(*slow, strict=True))
    note = f"each row looks at all rows of others, O(rows), in {', '.join(asking)}"
    if not loops:
        return note
    of_loops = f"on numpy these kernels are loops in plain Python: {', '.join(loops)}{COMPILES}"
    return f"{of_loops}; {note}" if asking else of_loops


def entities_module(world: World, compiled: bool = False) -> str:
    """Return the module of the project's entity manager.

    `compiled`: a shard's manager has loops for many entities at once.
    """
    numbers = [
        f"{name}={getattr(world, name)}" for name in ("index_bits", "generation_bits", "min_free")
    ]
    if world.shards is not None:
        numbers.append(f"shard_bits={world.shards.bits}")
    variables = {"shards": world.shards, "numbers": numbers, "compiled": compiled}
    modules = {**locate_public_names(SHARDS), **locate_public_names(COMPILED)}
    return rendered_module("entities.py.j2", variables, modules)


def package_module(
    world: str,
    modules: tuple[tuple[str, tuple[str, ...]], ...],
    also: tuple[str, ...],
    for_numba: bool,
) -> str:
    """Return the package's `__init__`: everything that users import.

    `modules`: modules that are made from schemas, with their names for users. `also`: names of the
    library that other packages lack. `for_numba`: the package does not work without numba.
    """
    places = {".entities": ("EntityManager",), **dict(modules)}
    known = {**locate_public_names(RUNTIME), **locate_public_names(SHARDS)}
    of_some = [(known[name], name) for name in also]
    of_library = _imports([*of_some, (LIBRARY, "Sweep"), (LIBRARY, "sweep")])
    of_library.append(f"from {LIBRARY}.exported import *")
    named = [(module, name) for module, names in places.items() for name in names]
    variables = {
        "version": __version__,
        "interface": INTERFACES[-1],
        "world": world,
        "of_library": sorted(of_library, key=lambda line: line.split()[1]),
        "own": _imports(named),
        "places": [_module_item(module, names) for module, names in sorted(places.items())],
        "also": literal(" ".join(also)),
        "for_numba": for_numba,
    }
    return rendered("package.py.j2", variables)


def _imports(named: Iterable[tuple[str, str]]) -> list[str]:
    ordered = sorted((module, not name.isupper(), name) for module, name in named)
    return [import_line(module, [f"{name} as {name}"], 4).lstrip() for module, _, name in ordered]


def _module_item(module: str, names: Iterable[str]) -> str:
    pad, key = " " * 12, f'"{module}": '
    text = " ".join(sorted(names)).replace(PLACEHOLDER, "")
    width = max(1, WIDTH - len(pad) - len(key) - len('" ",'))
    first, *others = textwrap.wrap(text, width, break_long_words=False)
    lines = [key + literal(first), *(literal(f" {line}") for line in others)]
    return f"\n{pad}".join(["", *lines])[1:] + ","
