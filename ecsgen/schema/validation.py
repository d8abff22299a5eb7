"""The shape of a document: pydantic's errors as diagnostics, in words for newcomers.

Rejected parts are cut out and the rest is validated again, so that one run also reports the errors
of later checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ecsgen.diagnostics import Diagnostics, did_you_mean, hint_at_comma, quote
from ecsgen.model import Mark
from ecsgen.schema.document_specs import FieldSpec
from ecsgen.schema.spec_forms import EXPRESSION, ONE, SHORT, TAGS, WORD, Strict
from ecsgen.source.yaml_nodes import Node

_KEYS: Final = {
    **dict.fromkeys(("description", "desc", "comment", "docs"), "doc"),
    **dict.fromkeys(("multi", "multiple", "many"), "instances: many"),
    "hot": "tags: [hot]",
    "cold": "tags: [cold]",
    "condition": "where",
    "if": "where",
    "arguments": "args",
    "params": "args",
    "body": "steps",
    "extends": "bundles",
    "enums": "enum: Color",
    "members": "values",
    "hood": "near: {radius: 1, hood: moore}",
    **dict.fromkeys(("average", "avg"), "mean"),
}
"""Unknown key → the key that was meant."""

_VALUES: Final[dict[tuple[str, object], str]] = {
    ("hierarchy", True): "{orphans: root}",
    ("partition", True): "{start: active}",
    ("partition", "active"): "{start: active}",
    ("partition", "inactive"): "{start: inactive}",
    ("lookup", "dict"): "hash",
    ("lookup", "map"): "hash",
    ("lookup", "array"): "sparse",
    ("lookup", "dense"): "direct",
    ("instances", "multi"): "many",
    ("instances", "single"): "one",
    ("destroy", "lazy"): "gc",
}
"""Unknown value of a key → the value that was meant."""


_TYPED: Final = ("fields", "settings")
"""Keys with names and their types."""
_LISTS: Final = ("tags", "requires", "renamed_from", "removed", "values", "between", "all", "any")
"""Keys with lists, for which one text may stand instead."""

Path = tuple[str | int, ...]


def _hint_of_value(location: Path, node: Node) -> str:
    """Return a hint for a rejected value of a key, or nothing."""
    key, value = str(location[-1]), node.value
    if isinstance(value, (str, bool)) and (key, value) in _VALUES:
        return f"did you mean {quote(_VALUES[key, value])}?"
    if key == "fields" and location[:1] == ("records",):
        return f"did you mean {quote(f'[{value}]')}?"
    if key == "fields" and isinstance(value, list):
        return "write each field as `name: type`"
    if key == "fields" and isinstance(value, str):
        return "write `name: type`, with a space behind the colon"
    if location[:1] == ("kernels",) and len(location) == 2 and isinstance(value, str):
        return "write the steps below a key `steps`"
    if len(location) > 1 and location[-2] in _TYPED and isinstance(value, (int, float)):
        type_ = "bool" if isinstance(value, bool) else "f64" if isinstance(value, float) else "i64"
        return f"write `{{type: {type_}, default: {str(value).lower()}}}`"
    if key in _LISTS and isinstance(value, str):
        item = f'"{value}"' if key in ("renamed_from", "removed") else value
        return f"did you mean {quote(f'[{item}]')}?"
    if location[:1] == ("bundles",) and len(location) == 3 and value is None:
        return "write `{}` for the defaults"
    is_query = location[:1] == ("queries",) and len(location) == 2
    if isinstance(value, list) and (is_query or location == ("grid",)):
        listed = ", ".join(str(item.value) for item in value)
        key = "all" if is_query else "shape"
        return f"did you mean {quote(f'{{{key}: [{listed}]}}')}?"
    return ""


def _hint_of_over(kernel: Node) -> str:
    """Return a hint for a kernel of the world that does not tell its rows."""
    first = re.search(r"\b([A-Z]\w*)\.[a-z]", str(kernel.plain()))
    shown = first[1] if first else "Component"
    return f"write `over: {shown}`, or the name of a query or group, whose rows it goes over"


_LISTED: Final = 12
"""Most keys that a hint lists."""
_PASSES: Final = 12  # each cuts at least one level, and the language has fewer

_WANTED: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "list_type": "a list",
}


def validate(document: Node, spec: type[Strict], diagnostics: Diagnostics) -> Strict | None:
    """Return the document as `spec`, without its rejected parts; None if nothing is left."""
    for turn in range(_PASSES):
        try:
            return spec.model_validate(document.plain())
        except ValidationError as failure:
            errors = failure.errors(include_url=False)
        if turn == 0:
            for error in errors:
                _report(document, spec, error, diagnostics)
        if not _cut(document, [_path(error) for error in errors]):
            return None
    return None


def key_mark(document: Node, *path: str | int) -> Mark:
    """Return the mark of the last key of a path, or of the item of a list."""
    parent = document.at(*path[:-1])
    last = path[-1]
    if parent is not None and isinstance(last, str) and last in parent.keys:
        return parent.keys[last]
    node = document.at(*path)
    return document.mark if node is None else node.mark


class BadValueError(Exception):
    """An error of a type or a default, with its mark if it is in a part of the value."""

    def __init__(self, code: str, message: str, hint: str = "", mark: Mark | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.mark = code, message, hint, mark


def describe(node: Node) -> str:
    """Return the words for a value in a message."""
    value = node.value
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    return f"the number {quote(str(value))[1:-1]}"


def _location(error: ErrorDetails) -> Path:
    return tuple(step for step in error["loc"] if step not in TAGS)


def _path(error: ErrorDetails) -> Path:
    """Return the path to the part that must go: the mapping that lacks a key, or the value."""
    location = _location(error)
    return location[:-1] if error["type"] == "missing" else location


def _report(
    document: Node, spec: type[Strict], error: ErrorDetails, diagnostics: Diagnostics
) -> None:
    location, path = _location(error), _path(error)
    while (node := document.at(*path)) is None:  # every error is reported
        location = path = path[:-1]
    if location[:1] == ("records",) and location[1:]:
        diagnostics = diagnostics.all_as("E520")  # a bad table, whatever is wrong with it
    kind, mark, hint = error["type"], node.mark, ""
    if kind == "missing":
        if not node.complete:
            return
        first = next(iter(document.keys.values()), document.mark)  # stands for the whole of it
        mark = key_mark(document, *location[:-1]) if location[:-1] else first
        code, message = "E303", f"the key {quote(str(location[-1]))} is missing"
        hint = _hint_of_over(node) if location[-1] == "over" else ""
    elif kind == "extra_forbidden":
        unknown, mark = str(location[-1]), key_mark(document, *location)
        where = f" in {_thing(location[:-1])}" if location[:-1] else ""
        code, message = "E302", f"unknown key {quote(unknown)}{where}"
        if location[:1] == ("settings",) and unknown in _keys(FieldSpec):
            message = f"a setting has no {quote(unknown)}: it is one value, no column"
            diagnostics.add("E524", message, mark)
            return
        model = _model_at(spec, location)
        known = [] if model is None else _keys(model)
        meant = _KEYS.get(unknown.casefold())
        hint = f"did you mean {quote(meant)}?" if meant else did_you_mean(unknown, known)
        if location[-2:-1] == ("near",) and isinstance(node.value, int | float | str):
            key = "among" if str(node.value)[:1].isupper() else "radius"
            hint = hint or f"write `near: {{{unknown}: {{{key}: {node.value}}}}}`"
        hint = hint or f"there are {', '.join(known)}" * (0 < len(known) <= _LISTED)
        hint = hint_at_comma(diagnostics, mark) or hint
    else:
        code, must, hint = _wanted(error, location, node)
        message = f"{_thing(location)} must {must}"
    diagnostics.add(code, message, mark, hint=hint)


def _wanted(error: ErrorDetails, location: Path, node: Node) -> tuple[str, str, str]:
    """Return the code, the words for what a value must be or have, and the hint."""
    kind, form, context = error["type"], error["loc"][-1:], error.get("ctx", {})
    bound = "at least" if kind in ("greater_than_equal", "too_short") else "at most"
    if kind in ("greater_than_equal", "less_than_equal"):
        return "E306", f"be {bound} {context.get('ge', context.get('le'))}, not {node.value}", ""
    if kind in ("too_short", "too_long", "string_too_long"):
        limit = context.get("min_length", context.get("max_length"))
        unit = "character" if kind == "string_too_long" else "item"
        return "E307", f"have {bound} {limit} {unit}{'' if limit == 1 else 's'}", ""
    hint = _hint_of_value(location, node) if location else ""
    if kind == "literal_error":
        expected = context["expected"]
        choices = expected.replace("'", "").replace(" or ", ", ").split(", ")
        wanted = f"{'one of ' if len(choices) > 1 else ''}{expected}"
        wanted += " or a mapping" if SHORT in error["loc"] else ""
        if not hint and isinstance(node.value, str):
            hint = did_you_mean(node.value, choices)
        return "E305", f"be {wanted}, not {describe(node)}", hint
    if kind == "string_type" and location[-2:-1] == ("steps",) and isinstance(node.value, dict):
        hint = "put the step in quotes, or write `|` and the steps on lines of their own below"
        return "E112", "be text: to YAML a ':' in a step makes a mapping", hint
    wanted = _WANTED.get(kind, error["msg"])
    if form == (SHORT,):
        wanted += " or a mapping"
    elif form == (ONE,):
        wanted += " or a list"
    elif form == (WORD,):
        wanted = "a number or the name of an argument"
    elif form == (EXPRESSION,):
        wanted = "an expression"
    elif not hint and kind == "string_type" and isinstance(node.value, (bool, int, float)):
        hint = "put it in quotes"
    return "E304", f"be {wanted}, not {describe(node)}", hint


def _thing(location: Path) -> str:
    if not location:
        return "the document"
    last = location[-1]
    if isinstance(last, int):
        return f"item {last + 1} of {_thing(location[:-1])}"
    return quote(last)


def _keys(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _model_at(spec: type[BaseModel], location: Path) -> type[BaseModel] | None:
    annotations: list[Any] = [spec]
    for step in location[:-1]:
        annotations = [inner for annotation in annotations for inner in _inside(annotation, step)]
    return next((model for annotation in annotations for model in _models(annotation)), None)


def _inside(annotation: Any, step: str | int) -> list[Any]:
    """Return the annotations of the values one step inside of an annotated value."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        key = _keys(annotation).get(str(step))
        return [] if key is None else [key]
    parts = get_args(annotation)
    if get_origin(annotation) in (dict, list):
        return [parts[-1]]
    return [inner for part in parts for inner in _inside(part, step)]


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _cut(document: Node, paths: Sequence[Path]) -> bool:
    """Remove the values at `paths`; return False if the document itself would have to go."""
    if any(not path for path in paths):
        return False
    gone = {id(document.at(*path)) for path in paths}
    containers = [document.at(*path[:-1]) for path in paths]
    for container, path in zip(containers, paths, strict=True):
        if container is None:
            return False
        container.complete = False
        value = container.value
        if isinstance(value, dict):
            value.pop(str(path[-1]), None)
            container.keys.pop(str(path[-1]), None)
        elif isinstance(value, list):
            value[:] = [item for item in value if id(item) not in gone]
    return True
