"""The library and the generator stand on floors: imports lead downwards, and never in a circle.

Imports inside functions and for annotations count as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.floors import (
    DOORS,
    FLOORS,
    GENERATOR,
    LIBRARY,
    TESTING,
    circles,
    heights_of,
    import_graph,
    upward_imports,
)

both = pytest.mark.parametrize("root", [LIBRARY, GENERATOR], ids=lambda root: root.name)


@both
def test_imports_lead_downwards(root: Path) -> None:
    """So the core names no extension: files, other processes and libraries are additions."""
    assert upward_imports(root) == []


@pytest.mark.parametrize("root", [LIBRARY, GENERATOR, TESTING], ids=lambda root: root.name)
def test_no_circles(root: Path) -> None:
    assert circles(root) == []


@pytest.mark.parametrize("house", FLOORS)
def test_everything_stands_on_a_floor(house: str) -> None:
    root = LIBRARY if house.startswith(LIBRARY.name) else GENERATOR
    inside = [name for name in import_graph(root) if name.startswith(f"{house}.")]
    beside = {*inside} - heights_of(house, inside).keys()
    doors = {f"{house}.{door}" for door in DOORS.get(house, ())}
    assert beside - doors - {f"{house}.__main__"} == set()
