"""Hints for what people write who know another language, or other parts of Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable
from typing import Final

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels.operations import CONSTANTS, DRAWS, EXISTS, FUNCTIONS, QUESTIONS
from ecsgen.model.types import SCALARS

MODULES: Final = frozenset({"math", "np", "numpy", "torch", "jnp"})
"""Python modules whose functions kernels have under bare names."""

_CHOICE: Final = "write a choice as `a if c else b`"
_STEP: Final = f"{_CHOICE}, or give the kernel a `where:` for the rows that it is about"
_CALLED: Final = {
    other: known
    for known, others in {
        "abs": "absolute fabs",
        "acos": "arccos",
        "asin": "arcsin",
        "atan2": "arctan2",
        "bool": "bool_",
        "log": "ln",
        "max": "fmax maximum",
        "min": "fmin minimum",
        "norm": "length magnitude",
        "normalize": "normalized",
        "round": "rint",
        "trunc": "fix",
        "%": "fmod mod",
        "**": "pow power square",
        "f32": "float32",
        "f64": "double float float64",
        "i64": "int int64",
        "u64": "uint64",
        **{f"{kind[0]}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32)},
    }.items()
    for other in others.split()
}
"""Other names of functions, and what they are here: a function, or the sign of an operation."""

_LETTERS: Final = (
    (re.compile(r"&&"), "write 'and' for conditions"),
    (re.compile(r"\|\|"), "write 'or' for conditions"),
    (re.compile(r"\?"), _CHOICE),
    (re.compile(r"^\s*if\b"), _STEP),
    (re.compile(r"\bthen\b"), _CHOICE),
    (re.compile(r"\belif\b"), "write `a if c else b if d else e`"),
    (re.compile(r"!(?!=)"), "write 'not' for conditions"),
    (re.compile(r"\+\+|--\s*$"), "write `x += 1`"),
)


def of_syntax(text: str, is_step: bool) -> str:
    """What to write instead of a text that Python's parser or the rule for steps refuses."""
    for pattern, hint in _LETTERS:
        if pattern.search(text):
            return hint if is_step or hint is not _STEP else _CHOICE
    return ""


def of_statement(tree: ast.Module, text: str) -> str:
    """What to write instead of statements that are no assignment, or have more behind it."""
    for statement in tree.body:
        if isinstance(statement, ast.If):
            return _STEP
        is_test = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Compare)
        if is_test and len(tree.body) == 1:
            return "one `=` assigns, `==` compares"
    if len(tree.body) > 1:
        return "write each assignment as a step of its own"
    return "leave the ';' out" if text.endswith(";") else ""


def of_call(node: ast.Call) -> str:
    """What to write instead of a function that there is not."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
    if name in ("where", "select", "iff", "ifelse") and len(node.args) == 3 and not node.keywords:
        test, then, otherwise = map(_operand, node.args)
        return f"write `{then} if {test} else {otherwise}`"
    known = _CALLED.get(name, name)
    if known in (*FUNCTIONS, *DRAWS, *SCALARS):
        given = (*node.args, *(keyword.value for keyword in node.keywords))
        return f"write `{known}({', '.join(map(ast.unparse, given))})`"
    if known in ("%", "**"):
        left = _operand(node.args[0]) if node.args else "x"
        right = _operand(node.args[1]) if len(node.args) > 1 else "2"
        return f"write `{left} {known} {right}`"
    if name in ("logical_and", "logical_or", "logical_not"):
        return f"write '{name.removeprefix('logical_')}' for conditions"
    return did_you_mean(name, (*FUNCTIONS, *DRAWS, *QUESTIONS, *SCALARS, EXISTS))


def of_holder(node: ast.Attribute, known: Iterable[str], home: str, others: Collection[str]) -> str:
    """What to write instead of a name before a dot that nothing has here.

    `home`: the component whose kernel it is, if it is one's; `others`: all components.
    """
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    if home and name in others:
        return f"make it a kernel of the world, over a query of {home} and {name}"
    if name in ("self", "this", "row") and node.attr in known:
        return f"did you mean {quote(node.attr)}?"
    if name not in MODULES:
        return ""
    if node.attr in CONSTANTS:
        return f"write `{node.attr}`"
    if node.attr in FUNCTIONS:
        return f"write `{node.attr}(…)`"
    return "functions and constants have no module before their names"


def of_logic(node: ast.BoolOp) -> str:
    """What to write instead of `c and a or b`, whose sides are no conditions."""
    match node:
        case ast.BoolOp(ast.Or(), [ast.BoolOp(ast.And(), [test, then]), otherwise]):
            return f"write `{_operand(then)} if {_operand(test)} else {_operand(otherwise)}`"
    return ""


def of_bits(node: ast.expr) -> str:
    """What to write instead of `a > 0 & b > 0`, which compares `a > (0 & b) > 0`."""
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitAnd | ast.BitOr):
            word = "and" if isinstance(part.op, ast.BitAnd) else "or"
            return f"write '{word}' for conditions"
    return ""


def _operand(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.IfExp) else text
