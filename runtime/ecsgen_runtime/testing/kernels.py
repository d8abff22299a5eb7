"""Kernels, row by row: what their steps say in plain Python, one scalar after another.

A value is a list of numpy scalars, one per element of its shape. Nothing is fast here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from hypothesis import strategies as st

from . import chance, kernel_inputs, spaces
from .chance import Drawing as Drawing
from .kernel_inputs import (
    Columns,
    Inputs,
    columns_of,
    filled,
    in_order,
    move_buffer,
    put_columns,
    related,
    run,
    running,
    same_cells,
    used_rows,
)
from .kernel_inputs import Each as Each
from .kernel_inputs import Value as Value
from .kernel_rows import Asked, Others, handles, link
from .kernel_rows import Row as Row
from .kernel_rows import apply as apply
from .kernel_rows import cast as cast
from .kernel_rows import cross as cross
from .kernel_rows import dot as dot
from .kernel_rows import element as element
from .kernel_rows import matrix as matrix
from .kernel_rows import norm as norm
from .kernel_rows import normalize as normalize
from .kernel_rows import number as number
from .searching import SEARCH as SEARCH
from .spaces import Neighbour as Neighbour
from .subject import Subject

Act: TypeAlias = tuple[int, list[Value]]
"""A row, and what its steps take."""
SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.sampled_from([0, 1, 2, 9, 33])
SEVERAL_BLOCKS = 2500
"""Rows that reductions take in more than two blocks, compiled or not."""


class Kernel(NamedTuple):
    """A kernel, and what there is to know of it."""

    name: str
    steps: Callable[..., object]
    arguments: Mapping[str, tuple[Any, ...]]
    """The dtype and shape of each, and the class of enums."""
    is_exact: bool
    has_border: bool = False
    """Whether there is a condition to look for; then `steps` return whether it holds."""
    all_rows: bool = False
    takes_rows: bool = False
    drawing: Drawing | None = None
    near: str | float = 0.0
    """The radius for neighbours, or the argument that it is."""
    component: str = ""
    """Whose kernel it is, if it refers or sends to other rows."""
    turns: Literal["", "rows", "random"] = ""


def check(
    subject: Subject,
    name: str,
    steps: Callable[..., object],
    arguments: Mapping[str, tuple[Any, ...]],
    rows: int,
    seed: int,
    **told: Any,
) -> None:
    """Run a kernel, and its steps row by row, on the same random columns: nothing may differ.

    Then the same with some rows only, where a call can name them. `told`: more of `Kernel`.
    """
    comparison = _Comparison(
        subject, Kernel(name, steps, arguments, **told), rows, seed
    )
    comparison.of_all()
    if comparison.kernel.takes_rows:
        comparison.of_some(is_mask=False)
        comparison.of_some(is_mask=True)


class _Comparison:
    """A manager to run a kernel on, and what its steps make of the rows."""

    def __init__(self, subject: Subject, kernel: Kernel, rows: int, seed: int) -> None:
        self.subject = subject
        self.kernel = kernel
        self.seed = seed
        self.rng = rng = np.random.default_rng(seed)
        inputs = Inputs(kernel.arguments, rng)
        near = kernel.near
        if isinstance(near, str):
            near = inputs.one_of(near, (1, 5, 20))
        self.radius = near
        self.manager = manager = filled(subject, rows, rng, kernel.name, inputs)
        if self.radius or kernel.component:
            spaces.kill_some(manager, rng)
        if self.radius:
            field = manager._SPACE.field
            spaces.gather(subject, manager, field, self.radius, rng)
        if kernel.component:
            pool = handles([manager])
            link(subject, manager, pool, rng)
            inputs.lead(pool)
        self.parents = related(manager, rng)
        self.inputs = inputs.of(manager.data.n)
        if rng.random() < 0.5:  # or the views that the first run kept are of fewer rows
            move_buffer(subject, manager, kernel.name, self.inputs.plain)

    @property
    def bound(self) -> int:
        """How many rows it can run over."""
        is_all = self.kernel.all_rows
        return self.manager.data.n if is_all else running(self.manager)

    def of_all(self) -> None:
        """Compare a run over all rows."""
        order = in_order(self.parents, self.bound)
        if self.kernel.has_border:
            self._approach(order)
        acts = [(row, self.inputs.cells(row)) for row in order]
        self._compare(acts, self.inputs.plain)

    def of_some(self, *, is_mask: bool) -> None:
        """Compare a run over some rows in use, in any order, or in that of a mask."""
        used = used_rows(self.manager)
        rows = self.rng.permutation(used)[: (len(used) + 1) // 2].tolist()
        rows = sorted(rows) if is_mask else rows
        named = np.isin(np.arange(self.manager.data.n), rows) if is_mask else rows
        inputs, bound = self.inputs.of(len(rows)), self.bound
        pairs = ((row, inputs.cells(place)) for place, row in enumerate(rows))
        acts = [(row, cells) for row, cells in pairs if row < bound]
        self._compare(acts, inputs.plain | {"rows": named})

    def _compare(self, acts: Sequence[Act], arguments: Mapping[str, Any]) -> None:
        """Run the kernel, and the steps for each row; then fields are as expected."""
        kernel, manager = self.kernel, self.manager
        expected = columns_of(self.subject, manager)
        stems, crowd = self._stems(expected), self._crowd(expected)
        others = self._others(expected, crowd)
        with np.errstate(all="ignore"):
            run(manager, kernel.name, arguments)
            for row, cells in (
                in_turns(acts, stems) if kernel.turns == "random" else acts
            ):
                one = Row(
                    expected,
                    row,
                    int(self.parents[row]),
                    stem=stems[row],
                    crowd=crowd,
                    others=others,
                    is_heard=others is None or others.hears_from(kernel.component, row),
                )
                kernel.steps(one, *cells)
            if others is not None:
                others.deliver()
        found, used = columns_of(self.subject, manager), used_rows(manager)
        for key, column in expected.items():
            assert same_cells(found[key][used], column[used], kernel.is_exact), key
        put_columns(self.subject, manager, expected)

    def _crowd(self, columns: Columns) -> spaces.Crowd | None:
        """Return who is near, if that is asked."""
        if not self.radius:
            return None
        manager, turns = self.manager, bool(self.kernel.turns)
        place = manager._SPACE.field
        return spaces.Crowd(manager, columns, self.radius, place, in_turns=turns)

    def _others(self, columns: Columns, crowd: spaces.Crowd | None) -> Others | None:
        """Return what references find, if there are any."""
        kernel, manager = self.kernel, self.manager
        if not kernel.component:
            return None
        entities = getattr(manager, "_entities", None)
        alive = entities.alive if entities is not None else bool
        rows, columns_by = {kernel.component: manager}, {kernel.component: columns}
        turns = bool(kernel.turns)
        return Others(rows, columns_by, alive, in_turns=turns, crowd=crowd)

    def _stems(self, columns: Columns) -> list[int]:
        """Return what the random numbers of each row have in common in the next call."""
        if (drawing := self.kernel.drawing) is None:
            return [0] * int(self.manager.data.n)
        self.manager.seed = self.seed
        who = chance.who_of(self.manager, columns, drawing)
        return chance.stems(self.seed, drawing.name, 0, who)

    def _approach(self, order: list[int]) -> None:
        """Let the condition turn between some of the rows."""
        columns = columns_of(self.subject, self.manager)

        def matches(row: int) -> bool:
            one = Asked(columns, row, int(self.parents[row]))
            return bool(self.kernel.steps(one, *self.inputs.cells(row)))

        own = {name: column for name, column in columns.items() if name != "entity"}
        rows = [row for row in order if row in set(used_rows(self.manager).tolist())]
        with np.errstate(all="ignore"):
            kernel_inputs.approach(own, rows, matches, self.rng)
        put_columns(self.subject, self.manager, columns)


def in_turns(acts: Sequence[Act], stems: Sequence[int]) -> list[Act]:
    """Return rows in the order of their first words, those of the same word by row."""
    return sorted(acts, key=lambda act: (chance.first_word(stems[act[0]]), act[0]))
