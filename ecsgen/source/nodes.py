"""Values that know where they stand in the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from ecsgen.model import Mark
from ecsgen.source.scalars import Scalar

MAX_DEPTH: Final = 32

Plain: TypeAlias = "Scalar | list[Plain] | dict[str, Plain]"


@dataclass(slots=True)
class Node:
    """A value and its place. `keys` has the marks of a mapping's keys; `complete` is false when
    something in it was refused, so that nobody complains about what is missing as well."""

    value: Scalar | list[Node] | dict[str, Node]
    mark: Mark
    keys: dict[str, Mark] = field(default_factory=dict)
    complete: bool = True

    def plain(self) -> Plain:
        """The value without marks. The depth is limited by MAX_DEPTH."""
        value = self.value
        if isinstance(value, dict):
            return {key: node.plain() for key, node in value.items()}
        if isinstance(value, list):
            return [node.plain() for node in value]
        return value

    def at(self, *path: str | int) -> Node | None:
        """The node at a path of keys and indices, or None."""
        node: Node | None = self
        for step in path:
            if node is None:
                return None
            value = node.value
            if isinstance(value, dict) and isinstance(step, str):
                node = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                node = value[step]
            else:
                return None
        return node
