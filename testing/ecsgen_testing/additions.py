"""Callbacks of rows that have come."""

from __future__ import annotations

from typing import Any

from hypothesis.stateful import invariant

from .state_machine import ManagerStateMachine, Record


class AddRules(ManagerStateMachine):
    """Callbacks see new rows, with their values, once for each creation."""

    def __init__(self) -> None:
        self.shown: list[list[tuple[int, str]]] = []
        self.created: list[list[tuple[int, str]]] = []
        super().__init__()

    def watch(self) -> None:
        super().watch()
        self.manager.on_add(self.show)

    def show(self, rows: Any) -> None:
        """Note new rows as they can be read."""
        self.shown.append([(row, repr(self.manager.row(row))) for row in rows.tolist()])

    def join(self, records: list[Record]) -> list[int]:
        rows = super().join(records)
        values = [repr(self.subject.row(**record.values)) for record in records]
        if rows:
            self.created.append(sorted(zip(rows, values, strict=True)))
        return rows

    @invariant()
    def new_rows_are_shown(self) -> None:
        assert self.shown == self.created
        self.shown.clear()
        self.created.clear()
