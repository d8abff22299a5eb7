"""Ghosts: copies of other shards' rows."""

from ecsgen.model import Component
from ecsgen.policies.policy import Policy


def _settings(component: Component) -> str:
    assert component.ghosts is not None
    names = ", ".join(f'"{name}"' for name in component.ghosts)
    end = "," if len(component.ghosts) == 1 else ""
    return f"_GHOSTS: ClassVar = ({names}{end})"


GHOST_HOLDER = Policy(
    name="ghost_holder",
    applies=lambda c: c.ghosts is not None,
    order=-20,
    manager_base="GhostHolder",
    manager_slots=("_ghost_state",),
    step_code={"settings": _settings},
)
"""Ghosts: copies of other shards' rows behind the own ones."""


GHOST_SPACE = Policy(
    name="ghost_space",
    applies=lambda c: c.sees_ghosts,
    order=-21,  # before its two bases
    manager_base="GhostSpace",
)
"""Spaces in which kernels find ghosts as well as own rows."""

POLICIES = (GHOST_HOLDER, GHOST_SPACE)
