"""Runs forms of kernels row by row: what their statements say, and nothing that they do not say.

Only what is marked so is read from copies or waits for the last row, neighbours are those of the
last `List`, rows those of the last `Find`, and nobody moves without a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ecsgen.kernels.form import (
    Ask,
    Fetch,
    Find,
    Hear,
    List,
    Moved,
    Row,
    Send,
    Set,
    Statement,
    Store,
    There,
)
from ecsgen.kernels.lower import lowered
from ecsgen.model.programs import (
    Exists,
    Expression,
    FieldValue,
    Local,
    Question,
    Referred,
    Step,
    walk,
)
from tests.models.kernel_reference import NIL, Value
from tests.models.kernel_scalars import SCALARS as NUMPY
from tests.models.world_reference import Columns, NearReference, Places

Key = tuple[str, str]


class FormInterpreter(NearReference):
    """One kernel, on copies of a world's columns."""

    def run_all(self) -> Columns:
        """Run the form of the kernel, and return the columns as they are then."""
        form = lowered(self.kernel.program, self.home)
        with np.errstate(all="ignore"):
            for position, places in self._in_order():
                self.position, self.places = position, places
                self.locals_, self.rows, self.hears = {}, {}, True
                self._run(form.head)
                if form.where is None or self.value(form.where)[0]:
                    self._run(form.body)
                assert all(name[0] != "_" for name in self.locals_), "made, and never read"
            for step, key, row, value in self.messages:
                self.deliver(step, key, row, value)
        return self.now

    def _run(self, statements: Sequence[Statement]) -> None:
        for one in statements:
            match one:
                case Find():
                    self.rows[one.row] = self._found(one)
                case There():
                    self.locals_[one.to.name] = [np.bool_(self.rows[one.row] != NIL)]
                case Fetch():
                    self.locals_[one.to.name] = self._fetched(one)
                case List():
                    self.listed = super()._around()
                case Ask():
                    asked = Question(one.to.type, one.how, one.value)  # type: ignore[arg-type]
                    self.locals_[one.to.name] = self._answer(asked)
                case Set():
                    assert one.is_new == (one.to.name not in self.locals_)
                    self.locals_[one.to.name] = self.value(one.value)
                case Store():
                    owner = self._owner(one.to)
                    step = Step(one.to, one.value, one.index)
                    key = owner, one.to.name
                    self.put(key, (self.places[owner], *one.index), self.value(one.value), step)
                case Moved():
                    self._follow(self._owner(one.place), self.places[self._owner(one.place)])
                case Hear():
                    self.hears = self.is_heard()
                case Send():
                    self._sent(one)

    def _found(self, one: Find) -> int:
        if one.row.component:
            return self.found(one.row.component, one.handle)
        return 0 if self.world.entities.alive(int(self.value(one.handle)[0])) else NIL

    def _fetched(self, one: Fetch) -> Value:
        row, place = self.rows[one.place.row], one.place
        if row == NIL:
            return [NUMPY[place.type.scalar](each) for each in one.default]
        columns = self.before if one.before else self.now
        return self._elements(columns[place.row.component, place.name][row], place.type)

    def _sent(self, one: Send) -> None:
        row, value, to = self.rows[one.to.row], self.value(one.value), one.to
        step = Step(FieldValue(to.type, to.name), one.value, to.index, how=one.how)
        key = to.row.component, to.name
        if row == NIL or not self.hears:
            return
        if one.held:
            self.messages.append((step, key, row, value))
            return
        self.deliver(step, key, row, value)
        if one.moves:
            self._follow(to.row.component, row)

    def _follow(self, component: str, row: int) -> None:
        assert (component, self.kernel.program.near.place.name) == self.space_key  # type: ignore[union-attr]
        if row in self.members:
            self._move(row)

    def put(self, key: Key, place: tuple[int, ...], value: Value, step: Step) -> None:
        """Write; who moves is said by other statements."""
        super(NearReference, self).put(key, place, value, step)

    def _around(self) -> list[tuple[Places, Value]]:
        return self.listed

    def value(self, node: Expression) -> Value:
        """A pure expression; what a statement made is there once."""
        assert not isinstance(node, Referred | Exists | Question), node
        if isinstance(node, Local) and node.name[0] == "_":
            found = self.locals_[node.name]
            if not self.is_asked:
                del self.locals_[node.name]
            return found
        return super().value(node)

    def _answer(self, node: Question) -> Value:
        """What a value needs of the row is made once, and read for each neighbour."""
        self.is_asked = True
        try:
            return super()._answer(node)
        finally:
            self.is_asked = False
            used = () if node.value is None else walk(node.value)
            names = [one.name for one in used if isinstance(one, Local) and one.name[0] == "_"]
            for name in names:
                del self.locals_[name]

    rows: dict[Row, int]
    hears: bool
    listed: list[tuple[Places, Value]]
    is_asked: bool = False
    messages: list[Any]
