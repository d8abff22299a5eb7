"""What people write who know other tools, and what it is called here."""

from __future__ import annotations

from typing import Final

from ecsgen.diagnostics import quote
from ecsgen.source import Node

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
}
"""Keys that are none here."""

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
"""Values of keys, as the next best ones."""


def hint_of_key(word: str) -> str:
    """What to write instead of an unknown key; empty if nobody knows."""
    found = _KEYS.get(word.casefold())
    return f"did you mean {quote(found)}?" if found else ""


def hint_of_value(location: tuple[str | int, ...], node: Node) -> str:
    """What to write instead of a value of a key; empty if nobody knows."""
    key, value = str(location[-1]), node.value
    if isinstance(value, (str, bool)) and (key, value) in _VALUES:
        return f"did you mean {quote(_VALUES[key, value])}?"
    if key == "fields" and isinstance(value, list):
        return "write each field as `name: type`"
    if key in ("tags", "steps", "renamed_from", "removed") and isinstance(value, str):
        item = value if key == "tags" else f'"{value}"'
        return f"did you mean {quote(f'[{item}]')}?"
    if location[:1] == ("queries",) and len(location) == 2 and isinstance(value, list):
        listed = ", ".join(str(item.value) for item in value)
        return f"did you mean {quote(f'{{all: [{listed}]}}')}?"
    return ""
