"""Which public names a component has by which policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from ecsgen.model.saved import Document

Applies: TypeAlias = Callable[[Document], bool]

_OWNED = "ensure entity has has_many lookup lookup_many remove remove_many require require_many"
_SEVERAL = "first next previous instances count count_many"
_IDS = "id_of id_of_many resolve resolve_many destroy_id destroy_id_many"
_ACTIVE = "n_active is_active activate activate_many deactivate deactivate_many data.active"
_FAMILY = (
    "parent first_child next_sibling previous_sibling children roots levels set_parent "
    "set_parent_many data.parent"
)

METHODS: Final[tuple[tuple[str, Applies, str], ...]] = (
    ("owner", lambda c: c["owner"] == "entity", f"{_OWNED} data.entity"),
    ("instances", lambda c: c["instances"] == "many", _SEVERAL),
    ("destroy", lambda c: c["owner"] == "entity" and c["destroy"] == "gc", "gc collect"),
    ("ids", lambda c: bool(c["ids"]), _IDS),
    ("partition", lambda c: c["partition"] != "", _ACTIVE),
    ("hierarchy", lambda c: c["hierarchy"] != "", _FAMILY),
    ("lookup", lambda c: c["lookup"] != "direct", "sort reorder"),
    ("lookup", lambda c: c["lookup"] == "direct", "data.present"),
    ("cold", lambda c: c["cold"] == "indirect", "LAYOUT_COLD data.cold"),
    ("ring", lambda c: bool(c.get("ring")), "by_age"),
)
"""The key, whether its value gives a component these names, the names."""


def names_gone(old: Document, new: Document) -> dict[str, list[str]]:
    """Return the names that a component had and has no more, by the key that took them."""
    gone: dict[str, list[str]] = {}
    is_owner_the_cause = old["owner"] != new["owner"]
    for key, applies, names in METHODS:
        if applies(old) and not applies(new):
            gone.setdefault("owner" if is_owner_the_cause else key, []).extend(names.split())
    if (old["cold"], new["cold"]) == ("inline", "indirect"):
        fields = new["fields"].items()
        gone["cold"] = [f"data.{name}" for name, field in fields if _was_cold(name, field, old)]
    return gone


def _was_cold(name: str, field: Document, old: Document) -> bool:
    return bool(field["cold"] and name in old["fields"] and old["fields"][name]["cold"])
