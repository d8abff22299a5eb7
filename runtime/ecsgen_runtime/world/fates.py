"""Births and deaths in kernels of the world: who they are is noted while rows run, and done after
the last one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bulk import SMALL_BATCH
from ..errors import EcsError
from ..handles import EntityArray, RowArray

Newborn = tuple[tuple[str, tuple[str, ...]], ...]
"""The managers that give rows to who is born, by name, and the fields of each that are given."""


class Births:
    """What one statement of a kernel brings into the world."""

    __slots__ = ("at", "columns", "newborn")

    def __init__(self, world: Any, newborn: Newborn, most: int) -> None:
        self.newborn = newborn
        self.at = np.empty(most, np.int64)
        """Whose turn it was, by number."""
        self.columns: dict[tuple[str, str], NDArray[Any]] = {}
        for name, fields in newborn:
            for field in fields:
                converter, _ = getattr(world, name)._CONVERTERS[field]
                shape = (most, *converter.shape)
                self.columns[name, field] = np.empty(shape, converter.dtype)

    def flat(self, manager: str, field: str) -> NDArray[Any]:
        """Return the values of a field, as loops write them."""
        return self.columns[manager, field].reshape(-1)


class Fates:
    """Who dies and who is born in one call of a kernel."""

    def __init__(
        self,
        world: Any,
        count: int,
        rows: Sequence[str] = (),
        births: Sequence[Newborn] = (),
    ) -> None:
        """`count`: how many rows run. `rows`: the managers of which single rows may die.

        Raises:
            StructureLockedError, BrokenManagerError: a manager is locked or broken.
        """
        for manager in world._all_managers():
            if manager._locks:
                manager._refuse_locked()
        self._world = world
        self.gone = np.zeros(len(world.entities._handles), np.bool_)
        """Which entities have died, by index."""
        self.dead: EntityArray = np.empty(len(self.gone), np.uint64)
        """In the order in which they died."""
        self.gone_rows = {
            n: np.zeros(getattr(world, n).data._n, np.bool_) for n in rows
        }
        self.dead_rows = {
            n: np.empty(len(g), np.int64) for n, g in self.gone_rows.items()
        }
        self.births = [Births(world, newborn, count) for newborn in births]
        self.tally = np.zeros(1 + len(rows) + len(births), np.int64)
        """How many died, of each kind, and were born, by each statement."""

    def end(self) -> None:
        """Let the dead go, and then the others come."""
        failed = None
        if self.tally.any():
            try:
                self._bury()
            except (
                BaseExceptionGroup
            ) as group:  # of callbacks: all the others did their part
                failed = group
            self._bear()
        if failed is not None:
            raise failed

    # --- deaths --------------------------------------------------------------------------

    def _bury(self) -> None:
        world, tally = self._world, self.tally.tolist()
        if tally[0]:
            world.entities.dispatch.run(self._bury_entities, self.dead[: tally[0]])
        for (name, rows), count in zip(self.dead_rows.items(), tally[1:], strict=False):
            if count:
                getattr(world, name).destroy_many(np.sort(rows[:count]))

    def _bury_entities(self, dead: EntityArray) -> None:
        """Destroy entities, whose rows go at once from all managers that collect."""
        world, whom = self._world, dead.tolist() if len(dead) <= SMALL_BATCH else dead
        world.entities.destroy_many(whom)
        for manager in world._collecting:
            manager.remove_many(whom)

    # --- births --------------------------------------------------------------------------

    def _bear(self) -> None:
        """Create all who are born, in the order of their turns, or nobody."""
        counts = self.tally[len(self.tally) - len(self.births) :].tolist()
        if not any(counts):
            return
        if sum(map(bool, counts)) == 1:
            number = next(k for k, count in enumerate(counts) if count)
            place = np.arange(counts[number])
            who = np.full(len(place), number)
        else:
            who, place = self._in_order(counts)
        taken = self._refused(who, place)
        if taken.any():
            who, place = who[~taken], place[~taken]
        is_owned = np.array([self._is_owned(one) for one in self.births])[who]
        self._create_entities(who[is_owned], place[is_owned])
        self._create_rows(who[~is_owned], place[~is_owned])

    def _in_order(self, counts: list[int]) -> tuple[RowArray, RowArray]:
        """Return by which statements they are born, and as which of it, in the order of turns."""
        who = np.concatenate([np.full(k, n) for n, k in enumerate(counts)])
        at = [one.at[:k] for one, k in zip(self.births, counts, strict=True)]
        place = np.concatenate([np.arange(k) for k in counts])
        order = np.lexsort((who, np.concatenate(at)))
        return who[order], place[order]

    def _is_owned(self, births: Births) -> bool:
        """Whether entities are born, and not a row that is nobody's."""
        return all(
            hasattr(getattr(self._world, n), "_entities") for n, _ in births.newborn
        )

    def _refused(self, who: RowArray, place: RowArray) -> NDArray[np.bool_]:
        """Return whose cells have been taken by callbacks."""
        refused = np.zeros(len(who), np.bool_)
        for name in dict.fromkeys(n for one in self.births for n, _ in one.newborn):
            manager = getattr(self._world, name)
            if not getattr(manager.data, "_CELL_CAPACITY", 0):
                continue
            more: dict[int, int] = {}
            for k, (number, row) in enumerate(
                zip(who.tolist(), place.tolist(), strict=True)
            ):
                column = self.births[number].columns.get((name, manager.data._PLACE))
                if column is None:
                    continue
                id = int(column[row])
                more[id] = more.get(id, 0) + 1
                if manager._room_on(manager._known(id)) < more[id]:
                    refused[k] = True
                    more[id] -= 1
        return refused

    def _create_entities(self, who: RowArray, place: RowArray) -> None:
        world = self._world
        if len(who) == 0:
            return
        if len(who) <= SMALL_BATCH:
            self._create_few(who.tolist(), place.tolist())
            return
        entities: EntityArray = world.entities.create_many(len(who))
        try:
            for name, numbers in self._by_manager(who).items():
                those = np.isin(who, numbers)
                columns = self._columns(name, who[those], place[those])
                getattr(world, name).create_many(entities[those], **columns)
        except EcsError:
            world._take_back(entities)
            raise

    def _create_few(self, who: list[int], place: list[int]) -> None:
        """Create a few entities and their rows one after the other, which takes less time."""
        world, entities = self._world, []
        try:
            entities += [world.entities.create() for _ in who]
            for entity, number, row in zip(entities, who, place, strict=True):
                births = self.births[number]
                for name, fields in births.newborn:
                    given = {
                        one: births.columns[name, one][row].tolist() for one in fields
                    }
                    getattr(world, name).create(entity, **given)
        except EcsError:
            world._take_back(np.array(entities, np.uint64))
            raise

    def _create_rows(self, who: RowArray, place: RowArray) -> None:
        for name, numbers in self._by_manager(who).items():
            those = np.isin(who, numbers)
            columns = self._columns(name, who[those], place[those])
            getattr(self._world, name).create_many(int(those.sum()), **columns)

    def _by_manager(self, who: RowArray) -> Mapping[str, list[int]]:
        """Return the statements that give rows of each manager, those that have somebody born."""
        found: dict[str, list[int]] = {}
        for number in np.unique(who).tolist():
            for name, _ in self.births[number].newborn:
                found.setdefault(name, []).append(number)
        return found

    def _columns(
        self, name: str, who: RowArray, place: RowArray
    ) -> dict[str, NDArray[Any]]:
        """Return the values of all who get rows of a manager, by field; of fields that only some
        are given the others have the default."""
        manager, columns = getattr(self._world, name), {}
        for number in np.unique(who).tolist():
            mine = who == number
            for (of, field), values in self.births[number].columns.items():
                if of != name:
                    continue
                if field not in columns:
                    converter, default = manager._CONVERTERS[field]
                    given = converter.many(default, len(who), None)
                    shape = (len(who), *converter.shape)
                    columns[field] = np.broadcast_to(given, shape).copy()
                columns[field][mine] = values[place[mine]]
        return columns
