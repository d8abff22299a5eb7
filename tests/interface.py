"""Lists what generated packages use of the library: its interface, which has a number.

    python -m tests.interface

writes it into `tests/interface.txt`, a line per name: of each function its signature, of
each class
those of its members that generated code has in it. A package that was made for one number does not
run with a library that has other lines for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import starmap
from pathlib import Path
from typing import Final

import ecsgen_runtime
from ecsgen_runtime import exported

from ecsgen.render.text.library_imports import INSTALLED_LIBRARY
from tests.support.generated_package import shipped
from tests.support.world_package import load, sources

ROOT: Final = Path(__file__).resolve().parents[1]
LISTED: Final = ROOT / "tests" / "interface.txt"
SCHEMAS: Final = (
    *(("tests/sharded.yaml", True), ("tests/more_policies.yaml", True)),
    ("tests/compiled.yaml", False),
    ("tests/kernels/interpreted/times.yaml", True),
)
"""Those that are not shipped, and whether kernels that are compiled use all cores."""


def listing() -> str:
    """Return the number and the lines, as they are now."""
    nodes = [node for module in generated() for node in ast.walk(module)]
    library, names = _Library({*_words(nodes)}), {*_imported(nodes)}
    lines = {line for name in names for line in library.of(*name)}
    return "\n".join([f"interface {ecsgen_runtime.INTERFACES[-1]}", *sorted(lines), ""])


def generated() -> list[ast.Module]:
    """Return the modules of packages that have every policy, with each backend and for one core or
    several; those that are the same with both once."""
    texts = [((ROOT / path).read_text("utf-8"), is_parallel) for path, is_parallel in SCHEMAS]
    packages = [sources(project) for project in (shipped(), *(load(text) for text, _ in texts))]
    packages += [sources(project, "numba") for project in (shipped(), *starmap(load, texts))]
    return [
        ast.parse(text)
        for text in {
            text for package in packages for path, text in package.items() if path.endswith(".py")
        }
    ]


def _words(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield what may be a member of a class: attributes, and what classes define."""
    for node in nodes:
        if isinstance(node, ast.Attribute):
            yield from [node.attr] * (not node.attr.startswith("__"))
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    yield part.name
                elif isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                    yield part.target.id


def _imported(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(INSTALLED_LIBRARY):
            names = [alias.name for alias in node.names]
            if names == ["*"]:
                names = [name for name in vars(exported) if name[0].isupper()]
            for name in names:
                yield str(node.module), name


class _Library:
    """The library's sources: what is there, whether or not there is an accelerator."""

    def __init__(self, words: set[str]) -> None:
        self._words = words

    def of(self, module: str, name: str) -> Iterator[str]:
        """Yield the lines of a name, and those of the classes that one inherits from."""
        node = _defined(module).get(name)
        match node:
            case ast.FunctionDef():
                yield f"{module}.{_signature(node)}"
            case ast.ClassDef():
                used = [_shown(part) for part in node.body if _member(part) in self._words]
                bases = [ast.unparse(base).partition("[")[0] for base in node.bases]
                yield f"{module}.{name}({', '.join(bases)}): {', '.join(sorted(used))}"
                for base in bases:
                    yield from self.of(module, base)
            case ast.ImportFrom(module=str(origin)) if origin.startswith(INSTALLED_LIBRARY):
                yield from self.of(origin, name)
            case ast.AST():
                yield f"{module}.{name}"


@cache
def _defined(module: str) -> Mapping[str, ast.AST]:
    """Return where the names of a module come from: a statement of its own or an import."""
    file = ROOT.joinpath("runtime", *module.split("."))
    path = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    statements: dict[str, ast.AST] = {}
    body = ast.parse(path.read_text(encoding="utf-8")).body
    parts = [*module.split("."), *["__init__"] * file.is_dir()]
    for_types = [
        part for node in body if isinstance(node, ast.If) and file.is_dir() for part in node.body
    ]
    for node in (*body, *for_types):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            statements[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(parts[: -node.level]) if node.level else ""
            node.module = f"{above}.{node.module or ''}".strip(".")
            statements |= {alias.asname or alias.name: node for alias in node.names}
        else:
            statements |= {word: node for word in [_member(node)] if word}
    return statements


def _member(node: ast.stmt) -> str:
    """Return the name that a statement defines; of others, an empty text."""
    match node:
        case ast.FunctionDef(name=name):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


@cache
def _shown(node: ast.stmt) -> str:
    """Return the line of a member: of a method its signature."""
    return _signature(node) if isinstance(node, ast.FunctionDef) else _member(node)


def _signature(node: ast.FunctionDef) -> str:
    """Return how a function is called, by the names of what it takes."""
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    node.args.defaults = [ast.Constant(...) for _ in node.args.defaults]
    node.args.kw_defaults = [default and ast.Constant(...) for default in node.args.kw_defaults]
    return f"{node.name}({ast.unparse(node.args)})"


if __name__ == "__main__":
    LISTED.write_text(listing(), encoding="utf-8")
