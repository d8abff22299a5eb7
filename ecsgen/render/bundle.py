"""Bundles modules into one of a generated package: the runtime, and what compiled kernels call."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import ecsgen
from ecsgen.render.calls import import_line

FOLDER = Path(ecsgen.__file__).parent
RUNTIME = "What is the same for every schema: errors, handles, buffers, rows, values."
COMPILED = "What compiled kernels call: arithmetic as numpy has it, to the bit."
THIRD_PARTY = ("numba", "numpy")


@cache
def runtime_source() -> str:
    """Return the runtime as one module."""
    return _bundle("runtime", RUNTIME)


@cache
def compiled_source() -> str:
    """Return what compiled kernels call as one module."""
    return _bundle("compiled", COMPILED)


def _bundle(package: str, summary: str) -> str:
    """Return a package as one module: imports first, then each module's body verbatim."""
    imports: dict[str, set[str]] = {}
    bodies: list[str] = []
    for source in _sources(package):
        found, body = _split(source)
        for module, names in found.items():
            imports.setdefault(module, set()).update(names)
        bodies.append(body)
    header = f'"""{summary}"""\n\nfrom __future__ import annotations\n\n'
    return header + _import_lines(imports) + "\n" + "\n\n".join(bodies)


def texts(package: str) -> list[str]:
    """Return the modules' texts by name."""
    return list(_texts(package).values())


def _texts(package: str) -> dict[str, str]:
    paths = (path for path in (FOLDER / package).glob("*.py") if path.stem != "__init__")
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(paths)}


def _sources(package: str) -> list[str]:
    """Return the modules' texts, each behind those that it imports from."""
    sources = _texts(package)
    order = TopologicalSorter({name: _needs(source) for name, source in sources.items()})
    order.prepare()
    names: list[str] = []
    while order.is_active():
        ready = sorted(order.get_ready())
        names += ready
        order.done(*ready)
    return [sources[name] for name in names]


def _needs(source: str) -> set[str]:
    """Return the runtime modules that a runtime module imports from."""
    nodes = (node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom))
    return {node.module for node in nodes if node.level == 1 and node.module}


def _split(source: str) -> tuple[dict[str, set[str]], str]:
    """Return a module's outside imports and its text behind the last import."""
    tree = ast.parse(source)
    imports: dict[str, set[str]] = {}
    end = 0
    for node in tree.body:
        if isinstance(node, ast.Expr) and end == 0:  # the docstring
            end = node.end_lineno or 0
        elif isinstance(node, ast.Import):
            end = node.end_lineno or 0
            for alias in node.names:
                imports.setdefault(_import_text(alias), set())
        elif isinstance(node, ast.ImportFrom):
            end = node.end_lineno or 0
            if node.level == 0 and node.module != "__future__":
                module = _place(node.module or "")
                imports.setdefault(module, set()).update(alias.name for alias in node.names)
    return imports, "\n".join(source.splitlines()[end:]).strip() + "\n"


def _import_text(alias: ast.alias) -> str:
    return f"import {alias.name} as {alias.asname}" if alias.asname else f"import {alias.name}"


def _place(module: str) -> str:
    """Return where the generated package has a module that is imported from."""
    return "._runtime" if module.startswith("ecsgen.runtime.") else module


def _import_lines(imports: dict[str, set[str]]) -> str:
    """Return the merged imports: the standard library, others, own, sorted as isort would."""
    groups: dict[int, list[str]] = {0: [], 1: [], 2: []}
    plain = sorted(module for module in imports if module.startswith("import "))
    for text in plain:
        groups[_group(text.split()[1])].append(text)
    for module in sorted(set(imports) - set(plain)):
        groups[_group(module)].append(import_line(module, list(imports[module])))
    return "\n\n".join("\n".join(lines) for lines in groups.values() if lines) + "\n"


def _group(module: str) -> int:
    if module.startswith("."):
        return 2
    return int(module.split(".")[0] in THIRD_PARTY)
