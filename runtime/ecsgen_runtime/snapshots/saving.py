"""Saving and loading: what every world does, and what is not the same for every kind."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any, ClassVar, TypeVar

from ..base.errors import CapacityError
from ..base.files import replace_file
from ..base.provenance import Provenance, WorldState, package_provenance
from ..entities.entity_manager import EntityManagerBase
from ..managers.manager import BaseManager, Manager
from ..tables.columns import Rows, field_of
from ..tables.placement import locked_error
from . import serialisation
from .attributes import encoded_attributes, load_attributes, saved_attributes, without_attributes
from .content_checks import check_content, check_field_cells, checked_documents
from .documents import (
    ATTRIBUTE,
    ATTRIBUTES,
    OTHERS,
    WORLD,
    Codecs,
    Document,
    SnapshotContent,
    check_codecs,
    json_text,
    refuse,
    require_codecs,
    state_key,
    why_too_many,
    with_settings,
)
from .migration import migrate_saved
from .migration_view import Snapshot
from .reading import NAMELESS, SnapshotFile, read_snapshot
from .saved_component import SavedComponent
from .saved_world import SavedWorld
from .stored_columns import LENGTHS, as_cells, loaded_objects
from .writing import FilePlan

WorldT = TypeVar("WorldT", bound=SavedWorld)


@dataclass(frozen=True)
class WorldLoader:
    """Loads a snapshot into a new world."""

    saved: SnapshotContent
    codecs: Codecs
    file: SnapshotFile | None
    """The file in whose bytes columns lie if it has the layout of buffers; else they are copied."""
    is_mapped: bool
    """True if maps are pages of the file, too."""
    is_verified: bool
    """True if it was checked: mapped or verified, the file's maps are trusted, else built anew."""
    EXTRAS: ClassVar[Sequence[str]] = ("_rng",)
    """Arrays that managers may have beside their columns and maps."""

    def fill(self, world: SavedWorld) -> None:
        """Load the snapshot into a new world; O(n). SnapshotError for too many rows."""
        saved = self.saved
        try:
            self._load_entities(world.entities)
            for module, manager in serialisation.managers_of(world).items():
                self._load_manager(module, manager)
        except CapacityError as error:
            saved.refuse(str(error))
        for chunked in serialisation.chunk_serialisers(world):
            chunked.load(saved, self.codecs)
        for name in world.GROUPS:
            for member in getattr(world, name)._members.values():
                member.data._n_grouped = saved.state["groups"][name]
        if self.is_verified or self.file is None:  # rows may not fit other rows or cells
            for tensor, row, why in _misfits(world):
                saved.refuse(why, tensor, row)
        world.load_json_state(saved.state.get(WORLD, {}))
        if "entities.noted" in saved.arrays:
            world._deferred_despawns = [saved.arrays["entities.noted"].copy()]

    def _load_entities(self, entities: EntityManagerBase) -> None:
        handles = self.saved.arrays["entities.handles"]
        if self.file is not None and len(handles) and handles.flags.writeable:
            entities.use_array(handles)
        else:
            entities.reserve(len(handles))
            entities.handles[: len(handles)] = handles
        free = self.saved.arrays["entities.free"]
        n_retired = self.saved.state["entities"]["n_retired"]
        entities._restore(len(handles), free, n_retired)

    def _load_manager(self, module: str, manager: BaseManager) -> None:
        state = self.saved.state[state_key(module)]
        if "shape" not in state and not isinstance(manager, Manager):
            return  # a grid of which nothing was saved: its cells are as at first
        rows = manager.data
        self._load_rows(module, module, rows, state)
        for name, part in rows.subtables().items():
            numbers = {"n": state[f"n_{name}"], "version": 0}
            self._load_rows(f"{module}.{name}", module, part, numbers)
        extras = {}
        for name in (*self.EXTRAS, *(["_map"] if self.is_mapped or self.is_verified else [])):
            cells = self.saved.arrays.get(f"{module}.{name}")
            if cells is not None:
                extras[name] = cells if self.is_mapped else cells.copy()
        manager._restore(extras)
        manager.load_json_state(state)

    def _load_rows(self, prefix: str, module: str, rows: Rows, state: Document) -> None:
        for name in rows.saved_numbers():
            if name[1:] in state:  # all have been checked to be there that must
                setattr(rows, name, state[name[1:]])
        held_rows, pages = rows.held_rows(), None
        if self.file is not None:
            offsets_of_columns, size = serialisation.layout_of(rows, held_rows)
            offsets = {f"{prefix}.{name}": offset for name, offset in offsets_of_columns.items()}
            pages = self.file.part(offsets, size)
        if not rows.lie_smallest(held_rows, pages):
            arrays = self.saved.arrays
            rows.take_columns(
                lambda column: as_cells(arrays[f"{prefix}.{column.name}"], column.dtype)
            )
        objects = {}
        for field in map(field_of, rows.OBJECTS):
            tensor, column = f"{prefix}.{field}", f"{module}.{field}"
            objects[field] = loaded_objects(self.saved, tensor, column, self.codecs, rows.n)
        rows.take_objects(objects)
        rows._restore()


def save(world: SavedWorld, target: Any, codecs: Codecs | None, sync: bool, verify: bool) -> None:
    """Write a world into a path, or into what has `write`."""
    if hasattr(target, "write"):
        plan_of(world, codecs, verify).write_to(target.write)
        return
    path = os.fsdecode(target)
    plan = plan_of(world, codecs, verify, os.path.basename(path) or path)
    with replace_file(path, sync=sync) as file:
        plan.write_into(file)


def plan_of(
    world: SavedWorld, codecs: Codecs | None, verify: bool, name: str = NAMELESS
) -> FilePlan:
    """Find out what is to be written, and where; nothing is copied that need not be."""
    dispatches = {id(m._dispatch): m._dispatch for m in world.all_managers()}
    dispatches[0] = world.entities.dispatch
    if any(dispatch.is_open() for dispatch in dispatches.values()):
        raise locked_error(type(world).__name__)  # in a callback: something is half done
    package = world._schema()
    columns = serialisation.object_columns(world)
    known = check_codecs(codecs, columns)
    require_codecs(name, known, columns)
    entries, parts = saved_attributes(world, name, known)
    saving = world._snapshot_format()
    state = serialisation.serialise_state(world, saving) | entries
    text = json_text(state)
    if why := why_too_many(text):  # it could not be read again
        attributes = entries[ATTRIBUTES]
        largest = max(attributes, key=lambda name: len(json_text(attributes[name])))
        refuse(name, f"{why}; give it a codec", ATTRIBUTE + largest)
    metadata = {"fingerprint": package.FINGERPRINT, "schema": package.SCHEMA, "state": text}
    plan = FilePlan(
        name, metadata, [*serialisation.serialise_tensors(world, saving, known), *parts]
    )
    if verify:
        saved = SnapshotContent(name, _parsed(package.SCHEMA), state, plan.arrays)
        for module, doc in saved.schema["components"].items():
            # of all that `load` looks at, users can write to cells alone
            component = SavedComponent(saved, module, doc)
            check_field_cells(component, "; verify=False saves it all the same")
        for tensor, row, why in _misfits(world):
            saved.refuse(f"{why}; verify=False saves it all the same", tensor, row)
    return plan


def provenance_of(world: SavedWorld, package: str) -> Provenance:
    """Return what a world of a package came from; O(bytes of the world and of its package)."""
    digest = sha256()
    plan_of(world, {OTHERS: None}, verify=False).write_to(digest.update)
    # where the world has none of these, a user may have set anything
    numbers = (getattr(world, name, None) for name in ("seed", "tick"))
    seed, tick = (number if type(number) is int else None for number in numbers)
    state: WorldState = {
        "fingerprint": world.FINGERPRINT,
        "seed": seed,
        "tick": tick,
        "digest": digest.hexdigest(),
    }
    return {**package_provenance(resources.files(sys.modules[package]), package), "world": state}


def _misfits(world: SavedWorld) -> Iterator[tuple[str, int, str]]:
    """Yield cells that no row may have as things are, by tensor, row, and why."""
    for module, manager in serialisation.managers_of(world).items():
        invalid_cell = manager.first_invalid_cell()
        if invalid_cell is not None:
            column, row, why = invalid_cell
            yield f"{module}.{column}", row, why


def load(
    kind: type[WorldT],
    source: Any,
    mmap: bool,
    verify: bool | None,
    codecs: Codecs | None,
    drop: Iterable[str],
    migrate: Callable[[Snapshot], object] | None,
) -> WorldT:
    """Make a world of a snapshot: from a path, bytes, or a binary file."""
    package, saving = kind._schema(), kind._snapshot_format()
    file = read_snapshot(source, map_pages=mmap)
    is_same = file.metadata["schema"] == package.SCHEMA
    schema = _parsed(package.SCHEMA)
    saved = checked_documents(file, saving, schema if is_same else None)
    verified = not mmap if verify is None else verify
    if verified:
        file.verify()
        check_content(saved, saving)
    if isinstance(drop, str):  # a list of its letters
        raise TypeError(f"drop: wanted a list of names, not {drop!r}")
    dropped = frozenset(drop)
    if not is_same:
        renames = package.RENAMES
        saved = migrate_saved(saved, saving, schema, renames, dropped, migrate)
    saved = without_attributes(saved, dropped)
    world = kind()
    _require_empty(world)
    known = _codecs_for(saved, codecs)
    (saving.LOADING or WorldLoader)(
        saved,
        known,
        file if is_same else None,
        is_mapped=mmap,
        is_verified=verified,
    ).fill(world)
    load_attributes(world, saved, known)
    return world


@cache
def _parsed(schema: str) -> Document:
    """Return the schema of a package; not to be changed."""
    return with_settings(json.loads(schema))


def _require_empty(world: SavedWorld) -> None:
    """Raise TypeError for a world that has something already: its class has its own `__init__`."""
    managers = serialisation.managers_of(world).items()
    filled = [name for name, m in managers if len(m) and isinstance(m, Manager)]
    if filled or world.entities.n_used:
        name = type(world).__name__
        raise TypeError(
            f"{name}() is not empty, so nothing can be loaded into it: let a method of its own "
            "spawn what is there at first"
        )


def _codecs_for(saved: SnapshotContent, codecs: Codecs | None) -> Codecs:
    """Return codecs, which are there for each column of objects that a snapshot has."""
    columns = [
        name.removesuffix(LENGTHS).replace(".cold.", ".")
        for name in saved.arrays
        if name.endswith(LENGTHS)
    ]
    columns += encoded_attributes(saved)
    objects = [
        f"{component['module']}.{field}"
        for component in saved.schema["components"].values()
        for field, doc in component["fields"].items()
        if doc["type"] == "object"
    ]
    known = check_codecs(codecs, (*columns, *objects))
    require_codecs(saved.name, known, columns)
    return known
