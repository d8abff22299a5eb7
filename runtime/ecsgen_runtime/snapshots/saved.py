"""What a snapshot says, once it is read and before a world is made of it: documents and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias

from numpy.typing import NDArray

from ..errors import SnapshotError

Document: TypeAlias = dict[str, Any]
"""A JSON object."""


WORLD: Final = "world"
"""Where `state` has what is said of the world itself, if there is anything; no module's name."""
_TAKEN: Final = frozenset({"entities", "archetypes", "groups", "attributes"})
"""What else `state` has beside modules."""


def state_key(module: str) -> str:
    """Return where `state` has what is said of a manager."""
    return f"{module}_" if module in _TAKEN else module


@dataclass(frozen=True)
class Saved:
    """The content of a snapshot, of any schema. The arrays are not copied, and may be read-only."""

    name: str
    """Of its file, or `<bytes>`: every message begins with it."""
    schema: Document
    state: Document
    arrays: Mapping[str, NDArray[Any]]
    """By tensor: `point_mass.position`; without padding."""

    def refuse(self, why: str, tensor: str = "", cell: int | None = None) -> NoReturn:
        """Raise SnapshotError that says where: the file, then the tensor and cell if given."""
        raise SnapshotError(refusal(self.name, why, tensor, cell))


def refusal(name: str, why: str, tensor: str = "", cell: int | None = None) -> str:
    """Return a message that says where: `town.snap: body.layer[17]: 300 does not fit u8`."""
    where = tensor if cell is None else f"{tensor}[{cell}]"
    return f"{name}: {where}: {why}" if where else f"{name}: {why}"
