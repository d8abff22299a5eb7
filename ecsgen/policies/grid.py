"""grid: rows are cells, all there from the beginning; on: rows that stand on cells."""

from dataclasses import replace
from math import inf
from typing import Final

from ecsgen.model import Component
from ecsgen.policies.policy import Document, Loss, Methods, Policy
from ecsgen.policies.row_placement import CHECK_ROW


def _settings(component: Component) -> str:
    grid = component.grid
    assert grid is not None
    return f"""
        _GRID: ClassVar = GridLayout({grid.shape!r}, {grid.wrap!r})
        HOOD: ClassVar = "{grid.hood}"
    """


def _has_other_axes(old: Document, new: Document) -> bool:
    return bool(old.get("grid") != new.get("grid"))


def _changes_axes(old: Document, new: Document) -> bool:
    return "grid" in old and "grid" in new and _has_other_axes(old, new)


CELLS = Policy(
    name="cells",
    applies=lambda c: c.grid is not None,
    order=0,
    manager_base="GridManager",
    rows_base="GridRows",
    manager_slots=("grid_layout",),
    step_code={"check_row": CHECK_ROW, "settings": _settings},
    losses=(
        Loss("grid", "E903", "saved rows are not its cells", _has_other_axes, is_all=True),
        Loss("grid", "E952", "coordinates are others", _changes_axes, is_all=True),
    ),
    methods=(
        Methods("grid", lambda c: "grid" in c, "grid wrap near"),
        Methods(
            "grid",
            lambda c: "grid" not in c and c["in"] == "managers",
            "create create_many destroy destroy_many clear reserve shrink_to_fit",
        ),
    ),
)
"""grid: unowned rows, reached by id, that never come, go or move."""


def _is_tighter(old: Document, new: Document) -> bool:
    """Return True if a cell has a smaller capacity than before; rows without `on` have none."""
    if "on" not in new:
        return False
    most = new["on"] or inf
    return "on" not in old or bool(most < (old["on"] or inf))


_OCCUPANCY: Final = {
    "append_one": "self._count_entry(row)",
    "append_many": "self._count_many(rows, 1)",
    "unlink_one": "self._count_exit(row)",
}
_RAISES: Final = (
    "StaleIdError: what is neither 0 nor a cell.",
    "FullCellError: as many rows as may stand on the cell already.",
)

OCCUPANT = Policy(
    name="occupant",
    applies=lambda c: c.on is not None and c.owner == "entity",
    order=-10,  # rejects values before anything is allocated
    manager_base="OwnedOccupant",
    rows_base="OwnedOccupantRows",
    manager_slots=("_grid",),
    rows_slots=("_cell_occupants", "_cell_ids"),
    raises=_RAISES,
    template=True,
    step_code=_OCCUPANCY,
    losses=(
        Loss("on", "E902", "saved rows may not stand where they do", _is_tighter),
        Loss("on", "E953", "code may find cells full, and no column to write to", _is_tighter),
    ),
    methods=(Methods("on", lambda c: "on" in c, "near"),),
)
UNOWNED_OCCUPANT = replace(
    OCCUPANT,
    applies=lambda c: c.on is not None and c.owner == "none" and not c.knows_entities,
    manager_base="UnownedOccupant",
    rows_base="OccupantRows",
    losses=(),
    methods=(),
)
"""on: rows stand on cells of a grid, by a field with the cell."""
KNOWING_OCCUPANT = replace(
    UNOWNED_OCCUPANT,
    applies=lambda c: c.on is not None and c.knows_entities,
    manager_base="KnowingOccupant",
    manager_slots=("_grid", "_known_entities"),
)
"""Rows without owners that refer to entities as well."""

POLICIES = (CELLS, OCCUPANT, UNOWNED_OCCUPANT, KNOWING_OCCUPANT)
