"""Bundles the runtime's modules into the one `_runtime.py` of a generated package."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import ecsgen.runtime

FOLDER = Path(ecsgen.runtime.__file__).parent
MODULES = (
    "errors",
    "handles",
    "handle_arrays",
    "buffers",
    "rows",
    "sparse",
    "hashed",
    "direct",
    "chains",
    "callbacks",
    "convert",
)
HEADER = '''"""What is the same for every schema: errors, handles, buffers, rows, callbacks, values."""

from __future__ import annotations
'''


@cache
def runtime_source() -> str:
    """Return the runtime as one module: imports first, then each module's body verbatim."""
    modules = [(FOLDER / f"{name}.py").read_text(encoding="utf-8") for name in _names()]
    imports: dict[str, set[str]] = {}
    bodies: list[str] = []
    for source in modules:
        found, body = _split(source)
        for module, names in found.items():
            imports.setdefault(module, set()).update(names)
        bodies.append(body)
    return "\n\n".join([HEADER + "\n" + _import_lines(imports), *bodies])


def _names() -> list[str]:
    """Return the modules in their order; one that is split has its parts (`convert_text`) with it."""
    found = {path.stem for path in FOLDER.glob("*.py")} - {"__init__"}
    names: list[str] = []
    for name in MODULES:
        parts = sorted(part for part in found if part.startswith(f"{name}_") and part not in MODULES)
        names += [*parts, *([name] if name in found else [])]
    unknown = found - set(names)
    if unknown:
        raise AssertionError(f"runtime modules without a place in the bundle: {sorted(unknown)}")
    return names


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
                imports.setdefault(node.module or "", set()).update(a.name for a in node.names)
    return imports, "\n".join(source.splitlines()[end:]).strip() + "\n"


def _import_text(alias: ast.alias) -> str:
    return f"import {alias.name} as {alias.asname}" if alias.asname else f"import {alias.name}"


def _import_lines(imports: dict[str, set[str]]) -> str:
    """Return the merged imports: the standard library, then numpy, sorted as isort would."""
    lines: dict[bool, list[str]] = {False: [], True: []}
    plain = sorted(module for module in imports if module.startswith("import "))
    for text in plain:
        lines["numpy" in text].append(text)
    for module in sorted(set(imports) - set(plain)):
        names = ", ".join(sorted(imports[module]))
        lines["numpy" in module].append(f"from {module} import {names}")
    return "\n".join([*lines[False], "", *lines[True]]) + "\n"
