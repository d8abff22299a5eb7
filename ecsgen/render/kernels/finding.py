"""Where the rows are that kernels refer to: the managers, and which ways lead to their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ecsgen.kernels.form import Find
from ecsgen.model import Component
from ecsgen.model.programs import Exists, Program, Referred

Way = Literal["alive", "sparse", "direct", "hash", "id", "living_id", "direct_id", "any", "any_id"]
"""How a row is found, or whether somebody is alive; the last two wherever entities and ids come
from."""


@dataclass(frozen=True, slots=True)
class OtherManagers:
    """The managers that a kernel finds rows in: of a component's kernel its own."""

    components: Mapping[str, Component]
    """By name, those whose rows may be referred to."""
    is_world: bool

    def manager(self, component: str) -> str:
        """The expression for a manager."""
        return f"self.{self.components[component].module}" if self.is_world else "self"

    def data(self, component: str) -> str:
        """The expression for a manager's columns."""
        return f"{self.manager(component)}.data" if self.is_world else "data"

    @property
    def entities(self) -> str:
        """The expression for the manager of entities."""
        return "self.entities" if self.is_world else "self._entities"

    def clean(self, component: str) -> str:
        """The expression for whether no rows of dead entities are left in a manager, if the world
        knows that."""
        is_collected = self.is_world and self.components[component].destroy != "manual"
        return "self.entities._is_clean" if is_collected else ""

    def stem(self, component: str) -> str:
        """What names of its columns begin with, where they are not a row's own."""
        return f"other_{self.components[component].module}" if self.is_world else "other"

    @property
    def is_sharded(self) -> bool:
        """Whether indices of entities and slots of ids do not tell where rows are."""
        return any(component.sharded for component in self.components.values())

    def way(self, node: Referred | Exists | Find) -> Way:
        """How its row is found."""
        if not node.component:
            return "alive"
        component = self.components[node.component]
        if node.handle.type.kind == "entity":
            return component.lookup
        if component.lookup == "direct":
            return "direct_id"
        return "id" if component.owner == "none" else "living_id"


def is_before(node: Referred, program: Program, is_world: bool) -> bool:
    """Whether a kernel may have written a field when it reads that of another row."""
    own = node.text if is_world else node.name
    return own in program.effects.writes and not program.takes_turns


def is_touched(node: Referred, program: Program, is_world: bool) -> bool:
    """Whether a kernel itself reads or writes a field that it sends messages to, or its rows come
    in another order than their messages."""
    if program.takes_turns:
        return False  # messages arrive at once
    if program.near is not None:
        return True
    own, effects = node.text if is_world else node.name, program.effects
    return node.text in effects.refers or own in (*effects.reads, *effects.writes)


NO_MANAGERS: Final = OtherManagers({}, False)
