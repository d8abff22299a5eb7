"""Saving and loading: what `save`, `to_bytes` and `load` of every world do."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from ..placement import locked
from .atomic import replacing
from .check import check_content, check_field_cells, checked_documents
from .contents import (
    LENGTHS,
    attribute_columns,
    load_attributes,
    object_columns,
    saved_attributes,
    too_many_values,
    without_attributes,
)
from .documents import (
    Codecs,
    Document,
    Saved,
    check_codecs,
    json_text,
    require_codecs,
    why_too_many,
)
from .evolution import migrate_saved
from .reading import NAMELESS, read_snapshot
from .strategy import Saving
from .tables import Snapshot
from .writing import Plan

if TYPE_CHECKING:
    from ..saved_world import SavedWorld

_WorldT = TypeVar("_WorldT", bound="SavedWorld")


def save(
    world: Any,
    package: ModuleType,
    target: Any,
    codecs: Codecs | None,
    sync: bool,
    verify: bool,
) -> None:
    """Write a world into a path, or into what has `write`."""
    if hasattr(target, "write"):
        _plan(world, package, codecs, verify, NAMELESS).write_to(target.write)
        return
    path = os.fsdecode(target)
    plan = _plan(world, package, codecs, verify, os.path.basename(path) or path)
    with replacing(path, sync=sync) as file:
        plan.write_into(file)


def to_bytes(
    world: Any, package: ModuleType, codecs: Codecs | None, verify: bool
) -> bytes:
    """Return a world as the bytes of a file."""
    return _plan(world, package, codecs, verify, NAMELESS).to_bytes()


def _plan(
    world: Any, package: ModuleType, codecs: Codecs | None, verify: bool, name: str
) -> Plan:
    """Find out what is to be written, and where; nothing is copied that need not be."""
    _refuse_callbacks(world)
    columns = object_columns(world)
    known = check_codecs(codecs, columns)
    require_codecs(name, known, columns)
    attributes, parts = saved_attributes(world, name, known)
    saving: Saving = world._saving()
    state = saving.state_of(world, attributes)
    text = json_text(state)
    if why := why_too_many(text):
        raise too_many_values(name, attributes, why)
    metadata = {
        "fingerprint": package.FINGERPRINT,
        "schema": package.SCHEMA,
        "state": text,
    }
    plan = Plan(name, metadata, [*saving.parts_of(world, known), *parts])
    if verify:
        _check_cells(Saved(name, _parsed(package.SCHEMA), state, plan.arrays))
    return plan


def _check_cells(saved: Saved) -> None:
    """Refuse what `load` would: of all that it looks at, users can write to cells alone."""
    for component in saved.schema["components"].values():
        check_field_cells(saved, component, "; verify=False saves it all the same")


def _refuse_callbacks(world: Any) -> None:
    """Raise StructureLockedError inside of a callback: something is half done."""
    dispatches = {id(m._dispatch): m._dispatch for m in world._all_managers()}
    dispatches[0] = world.entities.dispatch
    if any(dispatch.is_open() for dispatch in dispatches.values()):
        raise locked(type(world).__name__)


def load(
    kind: type[_WorldT],
    package: ModuleType,
    source: Any,
    *,
    mmap: bool,
    verify: bool | None,
    codecs: Codecs | None,
    drop: Iterable[str],
    migrate: Callable[[Snapshot], object] | None,
) -> _WorldT:
    """Make a world of a snapshot: from a path, bytes, or a binary file."""
    saving = kind._saving()
    file = read_snapshot(source, map_pages=mmap)
    is_same = file.metadata["schema"] == package.SCHEMA
    known_schema = _parsed(package.SCHEMA) if is_same else None
    saved = checked_documents(file, saving, known_schema)
    verified = not mmap if verify is None else verify
    if verified:
        file.verify()
        check_content(saved, saving)
    dropped = _dropped(drop)
    if not is_same:
        schema = _parsed(package.SCHEMA)
        renames = package.RENAMES
        saved = migrate_saved(saved, saving, schema, renames, dropped, migrate)
    saved = without_attributes(saved, dropped)
    world = kind()
    _require_empty(world)
    known = _codecs_for(saved, codecs)
    saving.LOADING(
        saved,
        known,
        file if is_same else None,
        trusts_maps=mmap or verified,
        is_mapped=mmap,
    ).fill(world)
    load_attributes(world, saved, known)
    return world


def _dropped(drop: Iterable[str]) -> frozenset[str]:
    """Return the names that the caller gave; a text would be one of letters."""
    if isinstance(drop, str):
        raise TypeError(f"drop: wanted a list of names, not {drop!r}")
    return frozenset(drop)


@cache
def _parsed(schema: str) -> Document:
    """Return the schema of a package, which nobody changes."""
    document: Document = json.loads(schema)
    return document


def _require_empty(world: Any) -> None:
    """Raise TypeError for a world that has something already: its class has its own `__init__`."""
    filled = [name for name in world.MANAGERS if len(getattr(world, name))]
    if filled or world.entities._n_used:
        name = type(world).__name__
        raise TypeError(
            f"{name}() is not empty, so nothing can be loaded into it: let a method of its own "
            "spawn what is there at first"
        )


def _codecs_for(saved: Saved, codecs: Codecs | None) -> Codecs:
    """Return codecs, which are there for each column of objects that a snapshot has."""
    columns = [
        name.removesuffix(LENGTHS).replace(".cold.", ".")
        for name in saved.arrays
        if name.endswith(LENGTHS)
    ]
    columns += attribute_columns(saved)
    known = check_codecs(codecs, (*columns, *_objects(saved.schema)))
    require_codecs(saved.name, known, columns)
    return known


def _objects(schema: Document) -> list[str]:
    """Return the fields that are Python objects by a schema."""
    return [
        f"{component['module']}.{field}"
        for component in schema["components"].values()
        for field, it in component["fields"].items()
        if it["type"] == "object"
    ]
