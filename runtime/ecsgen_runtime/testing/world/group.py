"""A group of a world and its members: what cases and rules have in common."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import pytest

from ...errors import CapacityError
from ...handles import EntityArray
from ..subject import Subject

COPIES: tuple[Callable[[Any], Any], ...] = (
    deepcopy,
    lambda value: pickle.loads(pickle.dumps(value)),
)
MANY = 60
"""No rule adds entities or rows beyond these."""


class Group:
    """A group of a world, and its members' managers."""

    world: ClassVar[Any]
    kind: ClassVar[Any]
    """The group's class."""
    group: ClassVar[str]
    members: ClassVar[Mapping[str, Subject]]
    """By the attribute of the world that holds the manager."""

    def grouped(self, w: Any) -> Any:
        """Return the group of a world."""
        group = getattr(w, self.group)
        assert type(group) is self.kind
        return group

    def managers(self, w: Any) -> list[Any]:
        """Return the members of a world."""
        return [getattr(w, module) for module in self.members]

    def samples(self, module: str, ks: Sequence[int]) -> dict[str, Any]:
        """Return columns whose row i is sample ks[i]."""
        fields = self.members[module].fields
        return {f.name: [f.sample(k) for k in ks] for f in fields}

    def spawn(self, w: Any, ks: Sequence[int], modules: Iterable[str]) -> EntityArray:
        """Spawn an entity for each k, with sample k of some members."""
        try:
            es: EntityArray = w.spawn(
                len(ks), **{module: self.samples(module, ks) for module in modules}
            )
        except CapacityError:
            pytest.skip("too few indices or reserved rows for this test")
        return es

    def check_aligned(self, w: Any) -> None:
        """Check that the first n rows of every member are those of the same entities."""
        group = self.grouped(w)
        owners = [list(manager) for manager in self.managers(w)]
        whole = set.intersection(*map(set, owners))
        assert group.n == len(group) == len(whole)
        for module, found in zip(self.members, owners, strict=True):
            part = getattr(group, module)
            assert part.n == group.n
            assert found[: group.n] == group.entity.tolist() == part.entity.tolist()
        assert set(group.entity.tolist()) == whole
