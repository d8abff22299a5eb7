"""Several worlds in lock-step: entities move between them, and ghosts of theirs are sent."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping
from math import prod
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..entities.arrays import as_entities
from ..errors import HierarchyError
from ..handles import NIL, EntityArray, RowArray
from .arriving import absorb
from .distinct import are_distinct
from .errors import ShardError
from .exact import odd_total, rounded, total_of
from .leaving import leave
from .lockstep import LockStep, transport_of
from .messages import received_ghosts, take_ghosts
from .packing import Leaving, distinct_entities, leaving, packed
from .restart import begun_again, save_shard
from .sent import SentGhosts, parts_of
from .tables import plan_of

WorldT = TypeVar("WorldT", bound=Any)


class ShardsBase(Generic[WorldT]):
    """The worlds of all ranks. Every method is called by all of them, in the same order.

    What a call refuses on one rank raises there, and ShardError naming rank and error on all
    others; nothing has moved anywhere, and the run may go on. An exception that leaves the
    `with` block is printed with its rank, and ends all ranks.
    """

    __slots__ = ("_next", "_sent", "_step", "comm", "tick", "world")

    _world: ClassVar[Any]

    def __init__(
        self, world: WorldT, comm: Any = None, *, timeout: float | None = None
    ) -> None:
        """Let a world be that of this rank.

        `comm`: an mpi4py communicator, MPI.COMM_WORLD by default, or anything with `rank`,
        `size` and `exchange(parts) -> parts`, which sends parts[k] to rank k and returns what
        came from each. A world in which nothing was made yet gets the rank as its number.

        Raises:
            ShardError: two worlds have the same number, or other schemas.
        """
        transport = transport_of(comm, timeout)
        self.world = world
        self.comm = transport if comm is None or hasattr(comm, "exchange") else comm
        self.tick = 0
        self._step = LockStep(transport)
        self._sent: SentGhosts | None = None
        self._next = self._introduce()

    def _introduce(self) -> int:
        """Agree on numbers; return the first one that none has."""
        world, rank = self.world, self.rank
        if world.entities._is_fresh and world.entities.shard == 0:
            world._be_shard(rank)
        told = self._step.gather(
            lambda: {"shard": world.entities.shard, "schema": world.FINGERPRINT}
        )
        for other, its in enumerate(told):
            if its["schema"] != world.FINGERPRINT:
                raise ShardError(
                    f"ranks {rank} and {other} have worlds of other schemas"
                )
        numbers: list[int] = [its["shard"] for its in told]
        for other, number in enumerate(numbers):
            if number in numbers[:other]:
                first = numbers.index(number)
                raise ShardError(f"ranks {first} and {other} are both shard {number}")
        return max(numbers) + 1

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self._step.rank

    @property
    def size(self) -> int:
        """How many processes there are."""
        return self._step.size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            text = "".join(traceback.format_exception(kind, error, trace))
            sys.stderr.write(f"rank {self.rank}: {text}")
            sys.stderr.flush()
            self._step.abort()

    # --- moving ---------------------------------------------------------------------------

    def migrate(
        self,
        es: ArrayLike = (),
        ranks: ArrayLike = (),
        /,
        **ids: tuple[ArrayLike, ArrayLike],
    ) -> EntityArray:
        """Let entities live on the ranks that own them from now on; return who came. O(k).

        Those of this rank stay. A subtree goes where its root goes; entries of descendants
        are ignored. `ids`: rows without owners, `spark=(ids, ranks)`.

        Raises what `extract` does, StructureLockedError if anything here is locked, ValueError
        for a rank that there is not.
        """
        plans: list[Leaving] = []

        def parts() -> list[Any]:
            self._refuse_locks()
            found = self._leaving(es, ranks, ids)
            plans.extend(found.values())
            return [
                packed(self.world, found[rank]).data if rank in found else b""
                for rank in range(self.size)
            ]

        came = self._step.exchange(parts)
        world = self.world
        if plans:
            leave(world, _united(plans))
        world._sweep()
        borrowed = (es, ranks, *(given for pair in ids.values() for given in pair))
        arrived = [
            absorb(world, world._PARCEL(part), borrowed)
            for part in came
            if memoryview(part).nbytes
        ]
        return np.concatenate([np.zeros(0, np.uint64), *arrived])

    def _refuse_locks(self) -> None:
        for name in self.world.MANAGERS:
            manager = getattr(self.world, name)
            if manager._locks:
                raise manager._locked()
        store = getattr(self.world, "_store", None)
        if store is not None:
            store._refuse_locked()

    def _leaving(
        self,
        es: ArrayLike,
        ranks: ArrayLike,
        ids: Mapping[str, tuple[ArrayLike, ArrayLike]],
    ) -> dict[int, Leaving]:
        """Find out who leaves for which rank."""
        world = self.world
        entities = distinct_entities(world, es)
        owners = self._ranks(ranks, len(entities))
        away = owners != self.rank
        entities, owners = entities[away], owners[away]
        if len(entities):
            is_root = ~_has_parent(world, entities)
            entities, owners = entities[is_root], owners[is_root]
        rows = {
            name: (as_entities(given), self._ranks(of, len(as_entities(given))))
            for name, (given, of) in ids.items()
        }
        found: dict[int, Leaving] = {}
        for rank in range(self.size):
            chosen = {name: given[of == rank] for name, (given, of) in rows.items()}
            some = entities[owners == rank]
            if rank != self.rank and (len(some) or any(map(len, chosen.values()))):
                found[rank] = leaving(world, some, chosen)
        whole = np.concatenate([entities[:0], *(it.entities for it in found.values())])
        if not are_distinct(whole):
            raise HierarchyError("an entity has roots that go to different ranks")
        return found

    def _ranks(self, ranks: ArrayLike, count: int) -> RowArray:
        given = np.asarray(ranks)
        if given.dtype.kind not in "iu" and given.size:
            raise TypeError(f"ranks are integers, not {given.dtype}")
        if given.shape not in ((), (count,)):
            raise ValueError(f"{given.size} ranks for {count}")
        whole = np.broadcast_to(given, count).astype(np.intp)
        if count and not 0 <= int(whole.min()) <= int(whole.max()) < self.size:
            wrong = whole[(whole < 0) | (whole >= self.size)][0]
            raise ValueError(f"there is no rank {wrong}, they are 0 to {self.size - 1}")
        return whole

    # --- ghosts ---------------------------------------------------------------------------

    def refresh(self, es: ArrayLike | None = None, ranks: ArrayLike = (), /) -> None:
        """Send today's values of entities to ranks, where they are ghosts from now on; O(k).

        An entity may be listed for several ranks; its own is left out. Without arguments
        the same entities as last time. Those before are no ghosts any more.

        Raises:
            StaleEntityError: an entity is not alive here.
            MissingInstanceError: it has not all components that ghosts have.
            ValueError: a rank that there is not.
        """
        sent = self._sent

        def parts() -> list[Any]:
            nonlocal sent
            if es is not None or sent is None:
                given = self.world.entities.require_many(() if es is None else es)
                whole = self._ranks(ranks, len(given))
                listed = parts_of(given.copy(), whole, self.rank, self.size)
                sent = SentGhosts(self.world, listed, self.rank)
            return sent.messages()

        came = self._step.exchange(parts)
        self._sent = sent
        messages = [
            received_ghosts(self.world, part)
            for rank, part in enumerate(came)
            if rank != self.rank
        ]
        take_ghosts(self.world, messages, (es, ranks))

    def request(self, es: ArrayLike, /) -> tuple[EntityArray, RowArray]:
        """Ask for entities wherever they are; return which of mine others want, and who.

        `shards.refresh(*shards.request(friends))`. O(all that is asked).
        """
        asked = self._step.exchange_words(lambda: [as_entities(es)] * self.size)
        found, ranks = [np.zeros(0, np.uint64)], [np.zeros(0, np.intp)]
        for rank, wanted in enumerate(asked):
            if rank != self.rank:
                here = wanted[self.world.entities.alive_many(wanted)]
                found.append(here)
                ranks.append(np.full(len(here), rank))
        return np.concatenate(found), np.concatenate(ranks)

    def locate(self, es: ArrayLike, /) -> RowArray:
        """Return the rank on which each of k entities lives, -1 for the dead, shape (k,).

        O(all that is asked) on each rank.
        """
        asked = self._step.exchange_words(lambda: [as_entities(es)] * self.size)
        alive = self.world.entities.alive_many
        answers = [alive(wanted).astype(np.uint64) for wanted in asked]
        found = self._step.exchange_words(lambda: answers)
        ranks = np.full(len(found[0]), -1)
        for rank, is_there in enumerate(found):
            ranks[is_there == 1] = rank
        return ranks

    # --- totals -----------------------------------------------------------------------------

    def count(self, n: int, /) -> int:
        """Return the sum of a number of each rank."""
        return sum(self._step.gather(lambda: int(n)))

    def sum(self, values: ArrayLike, /) -> Any:
        """Return the sum over all rows of all ranks, axis 0: exact, of floats rounded once.

        A Python number for a flat column, else an array; 0 without rows. O(n).
        """

        def told() -> Any:
            given = _numbers(values)
            flat = given.reshape(len(given), prod(given.shape[1:]))
            totals = [total_of(flat[:, k]) for k in range(flat.shape[1])]
            return (
                given.dtype.kind,
                given.shape[1:],
                [[str(t), odd] for t, odd in totals],
            )

        parts = self._step.gather(told)
        shape = _same_shape([shape for _, shape, _ in parts])
        is_float = any(kind == "f" for kind, _, _ in parts)
        columns = zip(*(totals for _, _, totals in parts), strict=True)
        found: list[Any] = []
        for column in columns:
            total = sum(
                _units(part[0], kind, is_float)
                for part, (kind, _, _) in zip(column, parts, strict=True)
            )
            found.append(
                rounded(total, odd_total([p[1] for p in column])) if is_float else total
            )
        return found[0] if not shape else np.array(found).reshape(shape)

    def min(self, values: ArrayLike, /) -> Any:
        """Return the smallest of all rows of all ranks, axis 0; `inf` without rows. O(n)."""
        return self._extreme(values, np.min, float("inf"))

    def max(self, values: ArrayLike, /) -> Any:
        """Return the largest of all rows of all ranks, axis 0; `-inf` without rows. O(n)."""
        return self._extreme(values, np.max, float("-inf"))

    def _extreme(self, values: ArrayLike, pick: Any, none: float) -> Any:
        def told() -> Any:
            given = _numbers(values)
            return given.shape[1:], pick(given, axis=0).tolist() if len(given) else None

        parts = self._step.gather(told)
        shape = _same_shape([shape for shape, _ in parts])
        found = [value for _, value in parts if value is not None]
        if not found:
            return none if not shape else np.full(shape, none)
        best = pick(np.array(found), axis=0)
        return best.item() if not shape else best

    # --- saving -----------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike[str], tick: int = 0) -> None:
        """Save each rank's world, then a marker that all are there; files are replaced whole."""
        save_shard(self, os.fspath(folder), int(tick))
        self.tick = int(tick)

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        comm: Any = None,
        *,
        timeout: float | None = None,
    ) -> Self:
        """Go on where the newest complete snapshot was made, perhaps with other ranks.

        With fewer, worlds are dealt out; with more, some begin empty, under new numbers:
        migrate next.

        Raises:
            FileNotFoundError: there is none.
            SnapshotError: a file is damaged, or of other schemas.
        """
        transport = transport_of(comm, timeout)
        world, tick, following = begun_again(cls._world, os.fspath(folder), transport)
        shards = cls(
            world, comm if comm is not None else transport.comm, timeout=timeout
        )
        shards.tick = tick
        shards._next = max(shards._next, following)
        return shards


def _united(plans: list[Leaving]) -> Leaving:
    """Return who leaves for any rank."""
    ids: dict[str, list[Any]] = {}
    rows: dict[str, list[Any]] = {}
    for plan in plans:
        for name, given in plan.ids.items():
            ids.setdefault(name, []).append(given)
        for name, found in plan.rows.items():
            rows.setdefault(name, []).append(found)
    return Leaving(
        np.concatenate([plan.entities for plan in plans]),
        {name: np.concatenate(given) for name, given in ids.items()},
        {name: np.concatenate(found) for name, found in rows.items()},
    )


def _has_parent(world: Any, entities: EntityArray) -> NDArray[np.bool_]:
    """Return which entities have a row below one of another entity."""
    found = np.zeros(len(entities), np.bool_)
    for one in plan_of(type(world)).managed:
        if "~parent" not in one.columns or not one.is_owned:
            continue
        manager = getattr(world, one.attribute)
        if hasattr(manager, "collect"):
            manager.collect()
        data = manager.data
        rows = manager._rows_of_many(entities)
        parents = data._parent_column[rows]
        below = rows[parents != NIL]
        above = data._entity_column[data._parent_column[below]]
        owners = data._entity_column[below]
        found |= np.isin(entities, owners[owners != above])
    return found


def _numbers(values: ArrayLike) -> NDArray[Any]:
    given = np.asarray(values)
    if given.ndim == 0 or given.dtype.kind not in "biuf":
        raise TypeError(
            f"wanted a column of numbers, not {given.dtype} of {given.shape}"
        )
    return given


def _same_shape(shapes: list[Any]) -> tuple[int, ...]:
    if any(shape != shapes[0] for shape in shapes):
        raise ShardError(f"columns of cells of the shapes {shapes}")
    return tuple(shapes[0])


def _units(total: str, kind: str, is_float: bool) -> int:
    """Return a total in the units of floats, if others have those."""
    return int(total) if kind == "f" or not is_float else int(total) << 1126
