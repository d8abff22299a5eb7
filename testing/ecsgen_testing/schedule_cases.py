"""Schedules of worlds: as the calls of their kernels, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from ecsgen_runtime.base.errors import CapacityError, EcsError
from ecsgen_runtime.tables.bulk import Tuning
from numpy.typing import NDArray

from .subject import UnlimitedWorldTests, refuses, shuffle, skipped_if_full

COUNTS = (0, 3, 41, 1100)
"""None, few, several blocks of numpy, and of compiled code."""
FEW = 100
"""Fewer rows than these are cheap."""


class Call(NamedTuple):
    """One kernel, table, or step of the time in a schedule."""

    holder: str
    """The attribute of the world with the manager whose kernel it is; empty for the world's."""
    kernel: str
    arguments: tuple[str, ...]
    modules: tuple[str, ...]
    """Components of the entities that it runs over."""
    is_table: bool = False
    """True if it writes lines of a table."""

    def run(self, w: Any, arguments: Mapping[str, Any]) -> None:
        """Do what it says."""
        if self.kernel == "tick":
            w.tick += 1
        elif self.is_table:
            getattr(w.records, self.kernel).write()
        else:
            holder = getattr(w, self.holder) if self.holder else w
            getattr(holder, self.kernel)(*(arguments[key] for key in self.arguments))


class Again(NamedTuple):
    """Calls that happen together, at some ticks or several times in a row."""

    calls: Sequence[Call]
    every: int = 0
    """How many ticks apart they happen; 0: always."""
    start: int = 0
    """The first of them."""
    times: int = 1
    """How many times in a row they happen; with a condition at most."""
    condition: tuple[str, str] = ("", "")
    """The manager and its reduction as long as which they happen again."""

    def run(self, w: Any, arguments: Mapping[str, Any]) -> None:
        """Do what the calls say, as often as it is due."""
        since = w.tick - self.start if self.every else 0
        if self.every and not since % self.every == 0 <= since:
            return
        manager, reduction = self.condition
        for _ in range(self.times):
            for call in self.calls:
                call.run(w, arguments)
            if manager and getattr(getattr(w, manager), reduction)() == 0:
                return


class Schedule(NamedTuple):
    """A schedule, with values for its arguments in order."""

    arguments: Mapping[str, Any]
    entries: Sequence[Call | Again]

    @property
    def calls(self) -> list[Call]:
        """All calls, in order."""
        listed = [[entry] if isinstance(entry, Call) else entry.calls for entry in self.entries]
        return [call for calls in listed for call in calls]

    @property
    def repeated(self) -> list[Again]:
        """The calls that happen together."""
        return [entry for entry in self.entries if isinstance(entry, Again)]


class ScheduleCases(UnlimitedWorldTests):
    """The schedules of a world."""

    schedules: ClassVar[Mapping[str, Schedule]]

    def add(self, w: Any, schedule: Schedule, count: int) -> None:
        """Add entities, and rows without owners, for each kernel."""
        known = self.subjects if count < FEW else {}
        samples = {module: subject.samples(count) for module, subject in known.items()}
        for modules in dict.fromkeys(call.modules for call in schedule.calls):
            if modules:
                components = {module: samples.get(module, {}) for module in modules}
                w.spawn(count, **components)
        for call in schedule.calls:
            manager: Any = getattr(w, call.holder) if call.holder else None
            if not call.modules and hasattr(manager, "create_many"):
                manager.create_many(count)

    def filled(self, schedule: Schedule, count: int) -> Any:
        """Return a world with entities for each kernel."""
        w = self.world()
        with skipped_if_full():
            self.add(w, schedule, count)
        rng = np.random.default_rng(count)
        for cells in self.cells(w).values():
            if cells.dtype.kind == "f":
                cells[...] = rng.standard_normal(cells.shape) * 10
        return w

    def cells(self, w: Any) -> dict[tuple[str, str], NDArray[Any]]:
        """Return the columns of all managers, of the rows in use."""
        cells = {}
        for module in w.MANAGERS:
            data = getattr(w, module).data
            for name in (column.name for column in data.LAYOUT):
                cells[module, name] = getattr(data, f"_{name}_column")[: data.n]
        return cells

    def columns(self, w: Any) -> dict[tuple[str, str], bytes]:
        return {name: cells.tobytes() for name, cells in self.cells(w).items()}

    @pytest.mark.filterwarnings("ignore:.* is still true after:RuntimeWarning")
    @pytest.mark.parametrize("count", COUNTS)
    @pytest.mark.parametrize("is_shuffled", [False, True])
    def test_as_the_calls(self, count: int, is_shuffled: bool) -> None:
        """Twice, and of a few more rows the second time."""
        for name, schedule in self.schedules.items():
            if count > FEW and any(entry.condition[0] for entry in schedule.repeated):
                continue  # may take its most passes
            w = self.filled(schedule, count)
            if is_shuffled:
                shuffle(w, w.MANAGERS)
            other = deepcopy(w)
            with np.errstate(all="ignore"):
                for _ in range(2):
                    messages: list[str] = []
                    with Tuning.override(block_rows=(8, 8)), noted(messages):
                        getattr(w, name)(**schedule.arguments)
                    with noted(messages):
                        for entry in schedule.entries:
                            entry.run(other, schedule.arguments)
                    assert messages == messages[:1] * 2  # births may be refused
                    assert self.columns(w) == self.columns(other)
                    for call in schedule.calls if count < FEW else ():
                        if call.is_table:
                            self.same_lines(w, other, call.kernel)
                    for each in (w, other):
                        with suppress(CapacityError):
                            self.add(each, schedule, 2)

    def same_lines(self, w: Any, other: Any, table: str) -> None:
        columns, others = (getattr(each.records, table).columns for each in (w, other))
        assert [*columns] == [*others]
        for name, cells in columns.items():
            assert cells.tobytes() == others[name].tobytes()

    def test_what_is_wrong_changes_nothing(self) -> None:
        for name, schedule in self.schedules.items():
            w = self.filled(schedule, 5)
            before = self.columns(w)
            for wrong in schedule.arguments:
                arguments = {**schedule.arguments, wrong: "wrong"}
                refuses((TypeError, ValueError), getattr(w, name), **arguments)
                assert self.columns(w) == before


@contextmanager
def noted(messages: list[str]) -> Iterator[None]:
    """Keep what is raised of entities and rows, as text."""
    try:
        yield
    except EcsError as error:
        messages.append(repr(error))
