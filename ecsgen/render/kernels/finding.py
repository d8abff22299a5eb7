"""Where the rows are that kernels refer to: the managers, and which ways lead to their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ecsgen.kernels.form import Find
from ecsgen.model import Component

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

    def way(self, one: Find) -> Way:
        """How its row is found."""
        if not one.component:
            return "alive"
        component = self.components[one.component]
        if one.handle.type.kind == "entity":
            return component.lookup
        if component.lookup == "direct":
            return "direct_id"
        return "id" if component.owner == "none" else "living_id"
