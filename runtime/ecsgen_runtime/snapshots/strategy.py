"""How a world is made of a snapshot, and what of this is not the same for every kind of world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..columns import Rows, field_of
from ..entity_manager import Entities
from ..errors import CapacityError
from ..manager import Manager
from .checked_rows import KnownEntities
from .checked_tensors import check_state, check_tensors
from .contents import (
    as_cells,
    layout_of,
    loaded_objects,
    managers_of,
    parts_of,
    state_of,
)
from .documents import WORLD, Codecs, Document, Saved, state_key
from .evolved_rows import Handles
from .facts import Facts
from .policies import POLICIES
from .reading import SnapshotFile
from .schema_documents import check_schema
from .writing import Part

# --- A world is made of a snapshot of its own schema: rows are copied, or mapped where
# they lie.


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
    ) -> None:
        self._saved = saved
        self._codecs = codecs
        self._file = file
        self._extras = ("_rng", "_map") if trusts_maps else ("_rng",)
        self._is_mapped = is_mapped

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

    def _load_manager(self, module: str, manager: Manager) -> None:
        state = self._saved.state[state_key(module)]
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


# --- What of saving and loading is not the same for every kind of world: its entities
# and its ids.


class Saving:
    """How a world is saved and loaded; `SavedWorld._saving` gives that of a class of worlds."""

    KNOWN_ENTITIES: ClassVar[type[KnownEntities]] = KnownEntities
    """Who lives by what a snapshot says."""
    HANDLES: ClassVar[type[Handles]] = Handles
    """What handles become in other schemas."""
    LOADING: ClassVar[type[Loading]] = Loading
    """What makes a world of a snapshot."""
    POLICIES: ClassVar[tuple[Facts, ...]] = POLICIES
    """What is checked of each policy, and what becomes of it."""

    def parts_of(self, world: Any, codecs: Codecs) -> Iterator[Part]:
        """Return all tensors of a world, in places from which they can be mapped; views mostly."""
        return parts_of(world, codecs)

    def state_of(self, world: Any, attributes: Document) -> Document:
        """Return the numbers of a world, and those of its attributes that are JSON."""
        return state_of(world, attributes)

    def check_schema(self, schema: Any, file: str) -> None:
        """Refuse a document that is not the `schema` of some world; O(its size)."""
        check_schema(schema, file)

    def check_state(self, saved: Saved) -> None:
        """Refuse a state that has not exactly what the schema asks for; O(its size)."""
        check_state(saved)

    def check_tensors(self, saved: Saved) -> None:
        """Refuse tensors that are lacking, that nobody asks for, or of another type or shape."""
        check_tensors(saved)
