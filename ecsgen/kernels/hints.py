"""Hints for texts written as in another language, or with other parts of Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels.operations import (
    AGGREGATES,
    COMMANDS,
    CONSTANTS,
    DRAWS,
    EXISTS,
    FUNCTIONS,
    GRID_FUNCTIONS,
    MAX_VECTOR,
)
from ecsgen.model import REDUCTION_FUNCTIONS
from ecsgen.model.types import SCALARS

MODULES: Final = frozenset({"math", "np", "numpy", "torch", "jnp"})
"""Python modules whose functions kernels have under bare names."""
_MODULE_NAMES: Final = MODULES | {"random", "rng", "statistics"}

_CHOICE: Final = "write a choice as `a if c else b`"
_EQUAL: Final = "one `=` assigns, `==` compares"
_WHERE: Final = "a condition within brackets is `where=c`, and `if c:` stands before a step"
_STEPS: Final = (
    "steps are assignments, if, for, while, return, break, continue, pass, "
    "die, destroy, spawn, add and remove"
)
_NO_OUTPUT: Final = (
    "kernels have no output: assign to a field and look at its column, "
    "or trace a row in a checked run"
)
UNCLOSED: Final = "a text begins here and has no end: close the quote, as in 'a'"
_LINES: Final = "write 'elif' and 'else' on lines of their own, in a text that begins with `|`"
_INSTEAD: Final = {
    name: text
    for text, names in {
        "abs": "absolute fabs",
        "acos": "arccos",
        "asin": "arcsin",
        "atan2": "arctan2",
        "bool": "bool_",
        "count": "len",
        "log": "ln",
        "max": "fmax maximum",
        "mean": "average avg",
        "min": "fmin minimum",
        "norm": "length magnitude",
        "normalize": "normalized",
        "round": "rint",
        "trunc": "fix",
        "f32": "float32",
        "f64": "double float float64",
        "i64": "int int64",
        "u64": "uint64",
        **{f"{kind[0]}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32)},
        "b if a else c": "where select iff ifelse",
        "a % b": "fmod mod",
        "a ** b": "pow power",
        "a ** 2": "square",
        "norm(a - b)": "dist distance",
        "a + (b - a) * c": "lerp",
        "a + b * normal()": "gauss normalvariate",
        "a != a": "isnan",
        "count(not a) == 0": "all",
        "count(a) > 0": "any",
    }.items()
    for name in names.split()
}
"""Unknown function → its name here, or a formula of `a`, `b` and `c` with the same value."""
_COUNTED: Final = {
    ("log", 2): "log(a) / log(b)",
    ("normal", 2): "a + b * normal()",
    ("random", 2): "uniform(a, b)",
    ("randrange", 2): "a + randrange(b - a)",
    ("round", 2): "round(a * 10.0 ** b) / 10.0 ** b",
    ("uniform", 1): "uniform(0, a)",
}
"""Function of Python's, and a number of arguments that it takes there alone → the same here."""

_VECTORS: Final = frozenset(
    ["array", "asarray", "list", "tuple", "vec2", "vec3", "vec4", "vector", "vector2", "vector3"]
)
_DESPAWN_WORDS: Final = frozenset(["delete", "despawn", "kill"])
"""Names that other libraries have for `die` and `destroy`."""
_DESPAWN_METHODS: Final = _DESPAWN_WORDS | {"destroy", "die", "remove"}
_ROW: Final = re.compile(r"self|this|row|[A-Z]\w*")
"""Names before the dot that mean the row itself."""
NULL: Final = "write `0`, the null entity or id"
_LISTED: Final = 12
"""Most names that a hint lists."""
_NULLS: Final = frozenset(("nil", "none", "null"))
_CALLED: Final = {**FUNCTIONS, **DRAWS, **GRID_FUNCTIONS, **AGGREGATES}
_TIME_STEPS: Final = frozenset(["deltat", "delta", "deltatime", "dt", "elapsed", "timestep"])

_LETTERS: Final = (
    (r"&&", "write 'and' for conditions"),
    (r"\|\|", "write 'or' for conditions"),
    (r"\?", _CHOICE),
    (r":=", "write `=`"),
    (r"\b(AND|OR|NOT)\b", "write 'and', 'or', 'not' for conditions"),
    (r"^\s*if\b.*:.*\b(elif|else)\b", _LINES),
    (r"^\s*(if|elif|while)\b[^(]*[^=!<>(]=(?!=)", _EQUAL),
    (r"^\s*(else\s+if|elsif|elseif)\b", "write 'elif'"),
    (r"^\s*(if|elif|else|for|while)\b[^:]*$", "end the line with ':' and indent its steps below"),
    (r"\bthen\b", _CHOICE),
    (r"[(,]\s*if\b|\bwhere\s+\w|^\s*\w+\(.*\)\s*if\b", _WHERE),
    (r"^\s*(elif\b|else\s*:)", "it goes on from an 'if' of the same text, at the same indentation"),
    (r"\belif\b", "write `a if c else b if d else e`"),
    (r"\bif\b(?!.*\belse\b)", _CHOICE),
    (r"!(?!=)", "write 'not' for conditions"),
    (r"^\s*for\b(?!.*\bin\b)", "write `for i in range(n):`"),
    (r"\+\+|--\s*$", "write `x += 1`"),
    (r"\\\s*$", "a line goes on in brackets alone"),
)


def of_syntax(text: str, is_step: bool) -> str:
    """Return a hint for a text that Python's parser rejects."""
    if not is_step and re.match(r"\s*if\b", text):
        return _CHOICE
    hint = next((hint for pattern, hint in _LETTERS if re.search(pattern, text)), "")
    is_equal = not is_step and re.search(r"^[^(]*[^=!<>(]=(?!=)", text)
    return hint or (_EQUAL if is_equal else "")


def of_statement(statement: ast.stmt) -> str:
    """Return a hint for a statement that kernels do not have."""
    match statement:
        case ast.Assign():
            return "write each assignment as a step, or on a line, of its own"
        case ast.AnnAssign(target=target, value=value):
            shown = f"`{ast.unparse(target)} = {ast.unparse(value)}`" if value else "`x = 1`"
            return f"write {shown}: the value gives the type"
        case ast.Return():
            return "'return' ends the row's steps and takes no value"
        case ast.Break() | ast.Continue():
            return "it stands in a loop; 'return' ends the row's steps"
        case ast.Expr(ast.Compare()):
            return _EQUAL
        case ast.Expr(ast.Call(ast.Name(name), arguments) as call):
            if name == "print":
                return _NO_OUTPUT
            if name[:1].isupper():
                return f"write `spawn({ast.unparse(call)})`"
            if name not in _DESPAWN_WORDS:
                return did_you_mean(name, COMMANDS) or _STEPS
            call.func = ast.Name("destroy" if arguments else "die")
            return f"write `{ast.unparse(call)}`"
        case ast.Expr(ast.Name(name)) if name in COMMANDS:
            return f"write `{name}(…)`" if name != "die" else "write `die()`"
        case ast.Expr(ast.Call(ast.Attribute(who, name), [])) if name in _DESPAWN_METHODS:
            if isinstance(who, ast.Attribute) and who.attr[0].isupper():  # a component
                who = who.value
            is_row = _ROW.fullmatch(ast.unparse(who))
            return "write `die()`" if is_row else f"write `destroy({ast.unparse(who)})`"
        case ast.Expr(ast.Call(ast.Attribute(attr=name))) if name in COMMANDS:
            return f"write `{name}(…)`"
        case ast.Expr(ast.Call(ast.Attribute(attr=name))):
            return f"nothing here has {quote(name)}: numbers are assigned, as in `x += 1`"
    return _STEPS


def of_call(node: ast.Call, near: Collection[str] = frozenset()) -> str:
    """Return a hint for an unknown function; `near`: names of neighbourhoods."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
    if isinstance(function, ast.Attribute) and names_in(function).isdisjoint(_MODULE_NAMES):
        node = ast.Call(ast.Name(name), [function.value, *node.args], node.keywords)
    if name[:1].isupper() and not node.args:
        return f"write `kid = spawn({ast.unparse(node)})`, and read `kid` in the next step"
    is_of_row = names_in(node).isdisjoint(near)
    known = _INSTEAD.get(name, name)
    if is_of_row:  # not of neighbours
        if name == "len":
            shown = ", ".join(map(ast.unparse, node.args))
            return f"write `norm({shown})`; how many elements there are is written out"
        known = {"any": "any", "all": "all"}.get(name, known)
    is_plain = not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args)
    if not known.isidentifier() and is_plain:
        return f"write `{_filled(known, node.args)}`"
    if name in _VECTORS:
        match node.args:
            case [ast.Tuple() | ast.List() as elements]:
                return of_list(elements.elts)
        return of_list(node.args)
    if known in (*FUNCTIONS, *DRAWS, *AGGREGATES, *SCALARS):
        arguments = (*node.args, *(keyword.value for keyword in node.keywords))
        return f"write `{known}({', '.join(map(ast.unparse, arguments))})`"
    if name in ("logical_and", "logical_or", "logical_not"):
        return f"write '{name.removeprefix('logical_')}' for conditions"
    return did_you_mean(name, (*FUNCTIONS, *DRAWS, *AGGREGATES, *SCALARS, EXISTS))


def of_holder(node: ast.Attribute, known: Iterable[str], home: str, others: Collection[str]) -> str:
    """Return a hint for an unknown name before a dot.

    `home`: the component of the kernel, if it has one; `others`: all components.
    """
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    if home and name == home:
        hint = f"a kernel of {home} names its fields alone"
        return f"write `{node.attr}`" if node.attr in known else hint
    if home and name in others:
        return f"make it a kernel of the world, over a query of {home} and {name}"
    if name in ("self", "this", "row") and node.attr in known:
        return f"did you mean {quote(node.attr)}?"
    if f"settings.{node.attr}" in known:
        return f"write settings.{node.attr}"
    if name not in MODULES:
        return ""
    if node.attr in CONSTANTS:
        return f"write `{node.attr}`"
    if node.attr in FUNCTIONS:
        return f"write `{node.attr}(…)`"
    return "functions and constants have no module before their names"


def of_logic(node: ast.BoolOp) -> str:
    """Return a hint for `c and a or b`, whose sides are no conditions."""
    match node:
        case ast.BoolOp(ast.Or(), [ast.BoolOp(ast.And(), [test, then]), otherwise]):
            return f"write `{_operand(then)} if {_operand(test)} else {_operand(otherwise)}`"
    return ""


def of_bits(node: ast.expr) -> str:
    """Return a hint for `a > 0 & b > 0`, which compares `a > (0 & b) > 0`."""
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitAnd | ast.BitOr):
            word = "and" if isinstance(part.op, ast.BitAnd) else "or"
            return f"write '{word}' for conditions"
    return ""


def of_member(name: str, enums: Iterable[tuple[str, str]]) -> str:
    """Return a hint for a member without its enum; `enums`: pairs of enum and member."""
    plain = name.casefold()
    written = [f"`{enum}.{member}`" for enum, member in enums if member.casefold() == plain]
    return f"write {' or '.join(written)}" if written else ""


def of_word(name: str) -> str:
    """Return a hint for a name that is infinity or a function's."""
    if name.casefold() in ("inf", "infinity"):
        return "write a large number, as in `1e300`"
    if name.casefold() == "nan":
        return "NaN alone is not equal to itself: `x != x` asks for it"
    if name in _CALLED:
        return f"write its brackets, as in `{name}({'…' if _CALLED[name].arity else ''})`"
    return ""


def of_name(name: str, enums: Iterable[tuple[str, str]], known: Sequence[str], more: str) -> str:
    """Return a hint for an unknown name.

    `enums`: pairs of enum and member; `known`: valid names; `more`: how to declare the name.
    """
    plain = name.casefold().replace("_", "")
    if plain in _NULLS:
        return NULL
    if plain in _TIME_STEPS and more:
        return more
    if member := of_member(name, enums):
        return member
    listed = ", ".join(known[:_LISTED]) + ", …" * (len(known) > _LISTED)
    return ", and ".join(filter(None, (f"there are {listed}" if known else "", more)))


def of_aggregate(name: str, node: ast.AST) -> str:
    """Return a hint for an aggregate, or a loop, of a kernel without neighbours."""
    near = "give the kernel near: a radius"
    match node:
        case ast.Call(args=[ast.Name(component), *_]) if component[:1].isupper():
            among = f"`near: {{all_: {{among: {component}}}}}`"
            return f"give the kernel {among}, and ask {name} of all_, all_.{component}.x"
        case ast.Call(args=[value], keywords=[]) if name in REDUCTION_FUNCTIONS:
            if "other" not in names_in(value):
                return (
                    f"for those near {near}; for all rows write a reduction, "
                    f"`{name}: {ast.unparse(value)}`, and read it in a kernel of the world"
                )
    return near


def of_list(elements: Sequence[ast.expr]) -> str:
    """Return a hint for a tuple or a list of these elements."""
    if any(isinstance(element, ast.Tuple | ast.List | ast.Starred) for element in elements):
        return "write each element as a step of its own, as in `m[0, 0] = 1`"
    if elements and all(isinstance(each, ast.Compare | ast.BoolOp) for each in elements):
        return f"write `{' and '.join(map(_operand, elements))}`"
    if 2 <= len(elements) <= MAX_VECTOR:
        return f"write `vec({', '.join(map(ast.unparse, elements))})`"
    return "write each element as a step of its own, as in `v[0] = 1`"


def of_membership(node: ast.Compare) -> str:
    """Return a hint for `x in [a, b]`."""
    match node:
        case ast.Compare(left, [ast.In() | ast.NotIn() as op], [ast.Tuple() | ast.List() as among]):
            sign, word = ("==", "or") if isinstance(op, ast.In) else ("!=", "and")
            sides = [f"{ast.unparse(left)} {sign} {ast.unparse(each)}" for each in among.elts]
            return f"write `{f' {word} '.join(sides)}`" if sides else ""
    return ""


def of_options(node: ast.Call, options: Collection[str]) -> str:
    """Return a hint for options that an aggregate has not."""
    if ast.unparse(node.func) not in AGGREGATES:
        return ""
    unknown = next((each.arg for each in node.keywords if each.arg not in options), None)
    if unknown == "key" and (name := ast.unparse(node.func)) in ("min", "max"):
        arguments = (*node.args, *(each.value for each in node.keywords if each.arg == "key"))
        return f"write `{name}_by({', '.join(map(ast.unparse, arguments))})`"
    listed = ", ".join(f"{option}=" for option in sorted(options))
    hint = f"{unknown}= is none of its options {listed}"
    return did_you_mean(unknown, options) or hint if unknown else ""


def of_count(node: ast.Call, high: int | None) -> str:
    """Return a hint for a call with a condition among its arguments, or with those of Python's."""
    name = ast.unparse(node.func)
    if formula := _COUNTED.get((name, len(node.args))):
        return f"write `{_filled(formula, node.args)}`"
    takes_where = name in (*AGGREGATES, *COMMANDS) and not node.keywords
    if not takes_where or high is None or len(node.args) != high + 1:
        return ""
    parts = [*map(ast.unparse, node.args[:-1]), f"where={ast.unparse(node.args[-1])}"]
    return f"write `{name}({', '.join(parts)})`"


def names_in(node: ast.AST) -> set[str]:
    """Return all names in a tree."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _filled(formula: str, values: Sequence[ast.expr]) -> str:
    """Return a formula with values for `a`, `b` and `c`, in brackets where needed."""
    texts = dict(zip("abc", map(ast.unparse, values), strict=False))
    text = re.sub(r"\b[abc]\b", lambda name: f"({texts.get(name[0], name[0])})", formula)
    return ast.unparse(ast.parse(text, mode="eval"))


def _operand(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.IfExp | ast.BoolOp) else text
