"""Words that the source does without: names of locals, and first words of docstrings.

`python -m tests.house.words ecsgen/render runtime/ecsgen_runtime/shards` prints where they stand.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Final

LOCALS: Final = frozenset(
    ["found", "one", "given", "place", "made", "kept", "said", "told", "whole", "own", "some"]
)
"""Names for a role in a sentence, not for what a variable holds."""
OPENINGS: Final = re.compile(r"(What|Who|Whose|Whom|Whether|Let|The same|Says?|Tells?)\b")
"""A docstring begins with a verb, or with what the thing is."""
SUSPECTS: Final = re.compile(rf"[\"']\s*{OPENINGS.pattern}")
"""Texts that may be such docstrings."""
SECTION: Final = re.compile(r"^ *# ?-{2,}")


def forbidden_locals(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield line and name of each variable of a function that has a forbidden name."""
    for function in nodes:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for node in ast.walk(function):
                match node:
                    case ast.arg(arg=name) if name in LOCALS:
                        yield node.lineno, name
                    case ast.Name(id=name, ctx=ast.Store()) if name in LOCALS:
                        yield node.lineno, name
                    case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                        if name in LOCALS:
                            yield node.lineno, name


def names(code: CodeType) -> set[str]:
    """Return all names that the functions of a module bind: most have no forbidden one."""
    inner = (names(part) for part in code.co_consts if isinstance(part, CodeType))
    return {*code.co_varnames, *code.co_cellvars}.union(*inner)


def offences(path: Path) -> Iterator[str]:
    """Yield what a module has of forbidden words, a line each."""
    text = path.read_text(encoding="utf-8")
    # To compile a module takes a third as long as to walk through it.
    has_locals = not LOCALS.isdisjoint(names(compile(text, path, "exec")))
    nodes = [*ast.walk(ast.parse(text))] if has_locals or SUSPECTS.search(text) else []
    for line, name in sorted({*forbidden_locals(nodes)} if has_locals else ()):
        yield f"{path}:{line}: local {name!r}"
    for node in nodes:
        match node:  # docstrings of attributes and constants as well
            case ast.Expr(value=ast.Constant(value=str(it))) if OPENINGS.match(it.strip()):
                yield f"{path}:{node.lineno}: docstring begins {it.strip()[:40]!r}"
    for number, line_text in enumerate(text.splitlines(), 1):
        if SECTION.match(line_text):
            yield f"{path}:{number}: section rule"


def modules(*roots: str) -> list[Path]:
    """Return the modules in folders, or the files themselves."""
    paths = [Path(root) for root in roots]
    return sorted(p for path in paths for p in ([path] if path.is_file() else path.rglob("*.py")))


if __name__ == "__main__":
    sys.exit("\n".join(line for path in modules(*sys.argv[1:]) for line in offences(path)) or 0)
