"""grid: rows are cells, all there from the beginning; on: rows that stand on cells."""

from dataclasses import replace
from typing import Final

from ecsgen.model import Component
from ecsgen.policies.placement import CHECK_ROW
from ecsgen.policies.policy import Policy


def _settings(component: Component) -> str:
    grid = component.grid
    assert grid is not None
    return f"""
        _GRID: ClassVar = GridLayout({grid.shape!r}, {grid.wrap!r})
        _HOOD: ClassVar = "{grid.hood}"
    """


CELLS = Policy(
    name="cells",
    role="placement",
    applies=lambda c: c.grid is not None,
    order=0,
    base="GridManager",
    rows="GridRows",
    state=("_layout",),
    calls={"check_row": CHECK_ROW, "settings": _settings},
)
"""grid: nobody's rows, reached by id, that never come, go or move."""

_STANDING: Final = {
    "appended_one": "self._stand(row)",
    "appended_many": "self._stand_many(rows)",
    "removing_one": "self._leave(row)",
}
_RAISES: Final = (
    "StaleIdError: what is neither 0 nor a cell.",
    "FullCellError: as many rows as may stand on the cell already.",
)

STANDING = Policy(
    name="standing",
    applies=lambda c: c.on is not None and c.owner == "entity",
    order=-10,  # refuses values before anything is allocated
    base="OwnedStanding",
    rows="OwnedStandingRows",
    state=("_grid",),
    row_state=("_crowd", "_place_column"),
    raises=_RAISES,
    template=True,
    calls=_STANDING,
)
UNOWNED_STANDING = replace(
    STANDING,
    applies=lambda c: c.on is not None and c.owner == "none",
    base="UnownedStanding",
    rows="StandingRows",
)
"""on: rows stand on cells of a grid, as a field of theirs says."""

POLICIES = (CELLS, STANDING, UNOWNED_STANDING)
