"""Saving and loading: what every world does, and what is not the same for every kind."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..columns import Rows, field_of
from ..entity_manager import Entities
from ..errors import CapacityError
from ..manager import BaseManager, Manager
from ..placement import locked
from .atomic import replacing
from .check import check_content, check_field_cells, checked_documents
from .contents import (
    LENGTHS,
    as_cells,
    attribute_columns,
    layout_of,
    load_attributes,
    loaded_objects,
    managers_of,
    object_columns,
    parts_of,
    saved_attributes,
    state_of,
    too_many_values,
    without_attributes,
)
from .documents import (
    WORLD,
    Codecs,
    Document,
    Saved,
    check_codecs,
    json_text,
    require_codecs,
    state_key,
    why_too_many,
)
from .evolution import migrate_saved
from .facts import Facts
from .policies import POLICIES
from .reading import NAMELESS, SnapshotFile, read_snapshot
from .saved_entities import Handles, SavedEntities
from .tables import Snapshot
from .writing import Plan

if TYPE_CHECKING:
    from ..saved_world import SavedWorld

_WorldT = TypeVar("_WorldT", bound="SavedWorld")


class Loading:
    """Takes what a snapshot says into a new world.

    Columns lie in the bytes of `file` if it is given, and has them as buffers do, and else are
    copied. What it says of maps is believed if `trusts_maps`; otherwise they are made anew. If it
    `is_mapped`, maps are its own pages, too.
    """

    def __init__(
        self,
        saved: Saved,
        codecs: Codecs,
        file: SnapshotFile | None,
        trusts_maps: bool,
        is_mapped: bool,
        checks_fit: bool,
    ) -> None:
        self._saved = saved
        self._codecs = codecs
        self._file = file
        self._extras = ("_rng", "_map") if trusts_maps else ("_rng",)
        self._is_mapped = is_mapped
        self._checks_fit = checks_fit

    def fill(self, world: Any) -> None:
        """Let a world that is new be what was saved; O(n). SnapshotError for too many rows."""
        saved = self._saved
        try:
            self._load_entities(world.entities)
            for module, manager in managers_of(world).items():
                self._load_manager(module, manager)
        except CapacityError as error:
            saved.refuse(str(error))
        chunked = world._chunked_rows()
        if chunked is not None:
            chunked.load(saved, self._codecs)
        for name in world.GROUPS:
            for member in getattr(world, name)._members.values():
                member.data._n_grouped = saved.state["groups"][name]
        self._check_fit(world)
        world._take_notes(saved.state.get(WORLD, {}))
        if "entities.noted" in saved.arrays:
            world._noted = [saved.arrays["entities.noted"].copy()]

    def _load_entities(self, entities: Entities) -> None:
        handles = self._saved.arrays["entities.handles"]
        if self._file is not None and len(handles) and handles.flags.writeable:
            entities._place(handles)
        else:
            entities.reserve(len(handles))
            entities._handles[: len(handles)] = handles
        free = self._saved.arrays["entities.free"]
        n_retired = self._saved.state["entities"]["n_retired"]
        entities._restore(len(handles), free, n_retired)

    def _check_fit(self, world: Any) -> None:
        """Refuse rows that may not be where they are, of other rows or of cells."""
        if self._checks_fit:
            for tensor, row, why in _misfits(world):
                self._saved.refuse(why, tensor, row)

    def _load_manager(self, module: str, manager: BaseManager) -> None:
        state = self._saved.state[state_key(module)]
        if "shape" not in state and not isinstance(manager, Manager):
            return  # a grid of which nothing was saved: its cells are as at first
        rows = manager.data
        self._load_rows(module, module, rows, state)
        for name, part in rows._parts().items():
            numbers = {"n": state[f"n_{name}"], "version": 0}
            self._load_rows(f"{module}.{name}", module, part, numbers)
        manager._restore(
            {
                name: self._extra(f"{module}.{name}")
                for name in self._extras
                if f"{module}.{name}" in self._saved.arrays
            }
        )
        manager._take_notes(state)

    def _extra(self, tensor: str) -> NDArray[Any]:
        """Return an array that a manager may keep: a copy, but for mapped pages."""
        cells = self._saved.arrays[tensor]
        return cells if self._is_mapped else cells.copy()

    def _load_rows(self, prefix: str, module: str, rows: Rows, state: Document) -> None:
        for name in rows._saved_numbers():
            if name[1:] in state:  # all have been checked to be there that must
                setattr(rows, name, state[name[1:]])
        if not rows._lie_smallest(rows._held_rows(), self._pages(prefix, rows)):
            arrays = self._saved.arrays
            rows._take_columns(
                lambda column: as_cells(arrays[f"{prefix}.{column.name}"], column.dtype)
            )
        rows._take_objects(self._objects(prefix, module, rows))
        rows._restore()

    def _pages(self, prefix: str, rows: Rows) -> NDArray[np.uint8] | None:
        """Return the bytes that are the columns, if they lie as in a buffer."""
        if self._file is None:
            return None
        places, size = layout_of(rows, rows._held_rows())
        offsets = {f"{prefix}.{name}": place for name, place in places.items()}
        return self._file.part(offsets, size)

    def _objects(
        self, prefix: str, module: str, rows: Rows
    ) -> Mapping[str, NDArray[np.object_]]:
        saved, codecs, n = self._saved, self._codecs, rows._n
        return {
            field: loaded_objects(
                saved, f"{prefix}.{field}", f"{module}.{field}", codecs, n
            )
            for field in map(field_of, rows.OBJECTS)
        }


class Saving:
    """How a world is saved and loaded; `SavedWorld._saving` gives that of a class of worlds."""

    ENTITIES: ClassVar[type[SavedEntities]] = SavedEntities
    """Who lives by what a snapshot says."""
    HANDLES: ClassVar[type[Handles]] = Handles
    """What handles become in other schemas."""
    LOADING: ClassVar[type[Loading]] = Loading
    """What makes a world of a snapshot."""
    POLICIES: ClassVar[tuple[Facts, ...]] = POLICIES
    """What is checked of each policy, and what becomes of it."""
    ENTITY_BITS: ClassVar[Sequence[str]] = ("index_bits", "generation_bits")
    """What the schema says of handles."""
    ENTITY_NUMBERS: ClassVar[Sequence[str]] = ("n_retired",)
    """What `state` says of entities."""
    ENTITY_TENSORS: ClassVar[Mapping[str, str]] = {"handles": "u8", "free": "u4"}
    """What is said of many of them, with its types."""


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
    state = state_of(world, saving, attributes)
    text = json_text(state)
    if why := why_too_many(text):
        raise too_many_values(name, attributes, why)
    metadata = {
        "fingerprint": package.FINGERPRINT,
        "schema": package.SCHEMA,
        "state": text,
    }
    plan = Plan(name, metadata, [*parts_of(world, saving, known), *parts])
    if verify:
        saved = Saved(name, _parsed(package.SCHEMA), state, plan.arrays)
        for component in saved.schema["components"].values():
            # of all that `load` looks at, users can write to cells alone
            check_field_cells(saved, component, "; verify=False saves it all the same")
        for tensor, row, why in _misfits(world):
            saved.refuse(f"{why}; verify=False saves it all the same", tensor, row)
    return plan


def _misfits(world: Any) -> Iterator[tuple[str, int, str]]:
    """Yield cells that no row may have as things are, by tensor, row, and why."""
    for module, manager in managers_of(world).items():
        found = manager._misfit()
        if found is not None:
            column, row, why = found
            yield f"{module}.{column}", row, why


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
        checks_fit=verified or not is_same,
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
    managers = managers_of(world).items()
    filled = [name for name, m in managers if len(m) and isinstance(m, Manager)]
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
