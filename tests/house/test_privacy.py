"""Modules read fewer underscores of others, and take fewer untyped worlds, with each change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.floors import GENERATOR, LIBRARY
from tests.house.privacy import found_in

CEILINGS = {
    GENERATOR: {"underscores": 3, "seams": 1},
    LIBRARY: {"underscores": 118, "seams": 3},
}
"""Lines that there are today: who takes some away lowers the number."""


@pytest.mark.parametrize("root", CEILINGS)
def test_no_more_than_there_were(root: Path) -> None:
    assert {what: len(lines) for what, lines in found_in(root).items()} == CEILINGS[root]


def test_what_counts(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "class Own:\n"
        "    _mine = 1\n"
        "def f(world: Any, other: Own):\n"
        "    return other._mine, world._theirs, other._replace(x=1), other.__class__\n",
        encoding="utf-8",
    )
    lines = found_in(tmp_path)
    numbers = {what: [line.partition("m.py:")[2] for line in lines[what]] for what in lines}
    assert numbers == {"underscores": ["4: underscores"], "seams": ["3: seams"]}
