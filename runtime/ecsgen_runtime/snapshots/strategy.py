"""What of saving and loading is not the same for every kind of world: its entities and its ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from .checks.rows import KnownEntities
from .checks.schema import check_schema
from .checks.state import check_state
from .checks.tensors import check_tensors
from .codecs import Codecs
from .contents import parts_of, state_of
from .documents import Document, Saved
from .evolution.handles import Handles
from .facts import Facts
from .loading import Loading
from .policies import POLICIES
from .writing import Part


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
