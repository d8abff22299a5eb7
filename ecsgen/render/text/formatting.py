"""Layout of calls and imports as of black and isort, and short texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from math import prod
from typing import Final

from ecsgen.render.text.quoting import WIDTH

PLACEHOLDER = "\0"
"""Prefix of a schema's name in a module that is not finished: see `name_shadowing`."""

_KEYWORD = re.compile(rf"{PLACEHOLDER}?\w+=(?!=)")
_OF_CELLS = re.compile(r"(?:nested|map)(?=\()")


def width(text: str) -> int:
    """Return the width of text in columns, without placeholders."""
    return len(text) - text.count(PLACEHOLDER)


def call(head: str, arguments: list[str], indent: int, end: str = "", taken: int = 0) -> str:
    """Return `head(arguments)end` as black lays a call out: on one line, or hanging, or exploded.

    `indent`: column of the first line; `taken`: width of a text that precedes the call there, which
    then does not begin with the indent.
    """
    pad = " " * indent
    lead = "" if taken else pad
    inner = ", ".join(arguments)
    line = f"{head}({inner}){end}"
    if indent + taken + width(line) <= WIDTH or not arguments:
        return lead + line
    if indent + 4 + width(inner) <= WIDTH:
        return f"{lead}{head}(\n{pad}    {inner}\n{pad}){end}"
    return lead + exploded(head, arguments, indent).lstrip() + end


def call_line(head: str, arguments: list[str], indent: int) -> str:
    """Return `call` at an indent, for a text that is moved there: without 4 columns of it."""
    return call(head, arguments, indent).lstrip().replace("\n    ", "\n")


def exploded(head: str, arguments: list[str], indent: int, brackets: str = "()") -> str:
    """Return `head(arguments)` with one argument per line, as black keeps it at any depth."""
    pad = " " * indent
    body = "".join(f"{_item(argument, indent + 4)}\n" for argument in arguments)
    return f"{pad}{head}{brackets[0]}\n{body}{pad}{brackets[1]}"


def _item(item: str, indent: int) -> str:
    """Return one argument or element on a line, or on several: long tuples, dicts, `nested`."""
    line = f"{' ' * indent}{item},"
    name, equals, value = item.partition("=") if _KEYWORD.match(item) else ("", "", item)
    function = _OF_CELLS.match(value)
    if width(line) <= WIDTH or not (function or value.startswith(("(", "{"))):
        return line
    if function:
        return call(function[0], _elements(value) or [], indent, ",")
    items = _elements(value)
    brackets = value[0] + value[-1]
    return line if items is None else exploded(name + equals, items, indent, brackets) + ","


def _elements(text: str) -> list[str] | None:
    """Return the elements of a tuple, a dict or a call in one line of text; None for others."""
    display = ast.parse(text.replace(PLACEHOLDER, "_"), mode="eval").body
    line = text.encode()  # offsets are of bytes
    if isinstance(display, ast.Tuple | ast.Call):
        parts = display.elts if isinstance(display, ast.Tuple) else display.args
        ends = [(part.col_offset, part.end_col_offset) for part in parts]
    elif isinstance(display, ast.Dict):
        keys = (part for part in display.keys if part is not None)
        values = (part.end_col_offset for part in display.values)
        ends = [(key.col_offset, end) for key, end in zip(keys, values, strict=True)]
    else:
        return None
    return [line[first:last].decode() for first, last in ends]


def keywords(named: list[str]) -> list[str]:
    """Return keyword-only parameters."""
    return ["*", *named] if named else []


def collection(head: str, items: list[str], indent: int, end: str = "") -> str:
    """Return `head(items)end` as black lays a tuple out: on one line, or one item per line."""
    line = f"{' ' * indent}{head}{literal_names(items)}{end}"
    return line if width(line) <= WIDTH else exploded(head, items, indent) + end


def mapping(head: str, items: Mapping[str, str], indent: int) -> str:
    """Return `head{…}`, an item per line; `items`: expressions by text."""
    pad = " " * indent
    lines = "".join(f'{pad}    "{key}": {value},\n' for key, value in items.items())
    return f"{pad}{head}{{\n{lines}{pad}}}" if lines else f"{pad}{head}{{}}"


def display(head: str, value: str) -> str:
    """Return `head` and a literal; a (nested) tuple that is too long has an item per line."""
    items = None if width(head + value) <= WIDTH else _elements(value)
    return head + value if items is None else exploded(head, items, 0)


def disjunction(head: str, names: list[str]) -> str:
    """Return `head` and the names joined by bars, as black lays a long right side out."""
    return _joined(head, "| ", names, "")


def conjunction(head: str, tests: list[str]) -> str:
    """Return `head` and the tests joined by `and`, then a colon, as black lays it out."""
    return _joined(head, "and ", tests, ":")


def _joined(head: str, sign: str, parts: list[str], end: str) -> str:
    joined = f" {sign}".join(parts)
    if width(head + joined + end) <= WIDTH:
        return f"{head}{joined}{end}"
    pad = " " * (len(head) - len(head.lstrip()))
    if len(pad) + 4 + width(joined) > WIDTH:
        joined = f"\n{pad}    {sign}".join(parts)
    return f"{head}(\n{pad}    {joined}\n{pad}){end}"


def import_line(module: str, names: list[str], indent: int = 0) -> str:
    """Return one import on a line, or one name per line; constants first, as isort."""
    head, ordered = f"from {module} import ", sorted(names, key=isort_key)
    line = f"{' ' * indent}{head}{', '.join(ordered)}"
    return line if width(line) <= WIDTH else exploded(head, ordered, indent)


def isort_key(name: str) -> tuple[int, str]:
    name = name.removeprefix(PLACEHOLDER)
    if name.isupper():
        return 0, name
    return (1 if name[0].isupper() else 2), name.lower()


def lines_at(indent: int, *lines: str) -> str:
    """Return lines with an indent."""
    return "\n".join(" " * indent + line for line in lines)


def for_macro(text: str, by: int = 4) -> str:
    """Return text for a macro, or a block, without the indent that the template adds."""
    return "\n".join(line[by:] for line in text.split("\n"))


def method_lines(text: str) -> list[str]:
    """Return the lines of a method's statement that was laid out for a depth of 8."""
    return for_macro(text).lstrip().split("\n    ")


def statement(head: str, arguments: list[str]) -> list[str]:
    """Return the lines of a method's statement that ends with a call."""
    return method_lines(call(head, arguments, 8))


MAX_LISTED = 8
"""Largest number of elements of a cell that are all listed in annotations."""

_METHODS: Final = ("count", "index")


def docstring_lines(paragraphs: list[str]) -> str:
    """Return the paragraphs of a method's docstring, a level further in."""
    return "\n\n".join(paragraphs).replace("\n", "\n    ").replace("\n    \n", "\n\n")


def sentence(text: str) -> str:
    """Return text that ends as a sentence does."""
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."


def literal_shape(first: str, shape: tuple[int, ...]) -> str:
    """Return a shape such as `(n,)` or `(n, 3)`."""
    return literal_names([first, *map(str, shape)])


def literal_names(names: list[str]) -> str:
    """Return names as the display of a tuple."""
    return f"({', '.join(names)},)" if len(names) == 1 else f"({', '.join(names)})"


def tuple_item(name: str, kind: str) -> str:
    """Return the line that declares an item of a named tuple, which may hide a method."""
    is_method = name.removeprefix(PLACEHOLDER) in _METHODS
    return f"{name}: {kind}" + "  # type: ignore[assignment]  # a method of tuples" * is_method


def tuple_type(scalar: str, shape: tuple[int, ...]) -> str:
    is_listed = prod(shape) <= MAX_LISTED
    for size in reversed(shape):
        scalar = f"tuple[{', '.join([scalar] * size) if is_listed else f'{scalar}, ...'}]"
    return scalar
