"""A world that is one shard of several, and all of them in lockstep."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import short_repr
from ..base.handles import EntityArray, RowArray
from ..base.locks import is_broken
from ..values.array_coercion import as_entities, parse_non_negative
from . import departures
from .arrivals import absorb
from .departures import BatchRemoval
from .ghosts import GhostCoverageCheck, SentGhosts, take_ghosts
from .lockstep import LockStep, exact_sum, extreme, require_agreement, transport_of
from .parcels import ParcelBase, ShardError
from .shard_base import ShardBase
from .sharded_managers import WithForeignIds

if TYPE_CHECKING:
    from ..snapshots.snapshot_format import SnapshotFormat


_MIN_SWEEP: Final = 256
"""Number of slots of dead foreign entities that are not worth a sweep."""
_RANKS: Final[WeakKeyDictionary[ShardedWorld, int]] = WeakKeyDictionary()
"""How many ranks there are, by the world of each of this process."""


class ShardedWorld(ShardBase):
    """A world with a number, which is part of handles and ids that are made in it."""

    __slots__ = ()
    CAN_ACCELERATE: ClassVar[bool] = False
    _PARCEL: ClassVar[type[ParcelBase]]
    _SHARDS: ClassVar[type[ShardsBase[Any]]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_PARCEL" in vars(cls):
            cls._PARCEL._world = cls._SHARDS._world = cls

    @staticmethod
    def _snapshot_format() -> SnapshotFormat:
        from .sharded_saving import ShardedSnapshotFormat

        return ShardedSnapshotFormat()

    def _count_ranks(self) -> int:
        """Return how many ranks share the entities; 1 without `Shards`."""
        return _RANKS.get(self, 1)

    def _record_folder(self, folder: str) -> str:
        """Return the folder for this rank's tables; without `Shards`, for this shard."""
        return os.path.join(folder, str(vars(self).get("_rank", self.entities.shard)))

    def absorb(self, parcel: ParcelBase, /) -> EntityArray:
        """Add the entities of a parcel; return them, in its order; O(bytes).

        Rows join groups and queries as if created. Parcels of worlds with `objects: pickle`
        run what is in them: absorb only what you trust.

        Raises, and nothing has changed:
            ParcelError: no parcel, cut off, inconsistent, of other schemas; or an entity or
                an id of it is here already, or this world may still make it.
            DuplicateValueError: a row here has the value of a unique field.
            StructureLockedError: where rows are to go is locked.
            CapacityError: no room for them.
        """
        self._sweep()
        return absorb(self, parcel)

    def _extract(self, es: ArrayLike, ids: Mapping[str, ArrayLike]) -> NDArray[np.uint8]:
        """Remove entities, and return them as the bytes of a parcel; an error that callbacks raise
        when rows are destroyed has the parcel, for the entities have left by then."""
        entities, slots = departures.distinct_entities(self, es)
        departure = departures.plan_departure(self, entities.copy(), slots, ids)
        buffer = departures.pack_departure(self, departure)
        try:
            self.entities.dispatch.run(departures.commit_departure, self, departure)
        except BaseException as error:
            if not is_broken(self.entities) and not self.entities.alive_many(es).any():
                error.parcel = self._PARCEL(buffer)  # type: ignore[attr-defined]  # for the caller
            raise
        return buffer

    def _sweep(self) -> None:
        """Release slots of dead foreign entities that no manager has rows of, if there are many."""
        entities = self.entities
        if entities.dead_foreign_count <= max(_MIN_SWEEP, entities.foreign_slots.count // 2):
            return
        dead = entities.leftovers()
        for name in self.MANAGERS:
            manager = getattr(self, name)
            if hasattr(manager, "lookup"):
                dead = dead[~manager.has_many(dead)]
        entities.release_foreign(dead, entities.foreign_slots.find(dead))
        entities.dead_foreign_count = 0

    def _set_shard(self, shard: int) -> None:
        """Set another number; no entity or id was created yet."""
        self.entities._set_shard(shard)
        for manager in self.all_managers():
            if isinstance(manager, WithForeignIds):
                manager._set_shard(shard)


WorldT = TypeVar("WorldT", bound=Any)


class ShardsBase(Generic[WorldT]):
    """The worlds of all ranks. Every method is called by all of them, in the same order.

    Where one has called another, or has given another folder or tick, all raise ShardError,
    which names two that differ. What a call refuses on one rank raises there, and ShardError
    naming rank and error on all others; nothing has moved anywhere, and the run may go on. An
    exception that leaves the `with` block is printed with its rank, and ends all ranks.
    """

    __slots__ = ("_next", "_sent", "_step", "_watch", "comm", "tick", "world")

    _world: ClassVar[Any]

    def __init__(
        self, world: WorldT, comm: Any = None, *, timeout: float | None = None, check: bool = False
    ) -> None:
        """Make a world the one of this rank.

        `comm`: an mpi4py communicator, MPI.COMM_WORLD by default, or anything with `rank`,
        `size` and `exchange(parts) -> parts`, which sends parts[k] to rank k and returns what
        the part from each. A world in which nothing was made yet gets the rank as its number.
        `check`: the next `migrate`, `refresh`, `save` or end of the `with` block checks that
        kernels had all neighbours beyond the border; O(all entities) on each rank.

        Raises:
            ShardError: two worlds have the same number, or other schemas, or not all ranks
                check; later, that a neighbour was missing.
            TypeError: no world that has shards, or no communicator.
        """
        if not isinstance(world, ShardedWorld):
            wanted = "a world that has shards"
            raise TypeError(f"{type(self).__name__}: wanted {wanted}, not {short_repr(world)}")
        transport = transport_of(comm, timeout)
        self.world = world
        self.comm = transport if comm is None or hasattr(comm, "exchange") else comm
        self.tick = 0
        self._step = LockStep(transport)
        self._sent: SentGhosts | None = None
        self._next = self._introduce(check)
        vars(world)["_rank"] = self.rank
        _RANKS[world] = self.size
        self._watch = GhostCoverageCheck(world, self._step) if check and self.size > 1 else None

    def _introduce(self, check: bool) -> int:
        """Agree on shard numbers; return the first number that no shard has."""
        world, rank = self.world, self.rank

        def introduce() -> dict[str, Any]:
            managers, entities = world.all_managers(), world.entities
            is_fresh = not entities.n_used and not any(each.version for each in managers)
            if is_fresh and entities.shard == 0:
                world._set_shard(rank)
            return {
                "shard": world.entities.shard,
                "schema": world.FINGERPRINT,
                "check": bool(check),
            }

        answers = self._step.gather("Shards", introduce)
        require_agreement([answer["schema"] for answer in answers], "have worlds of other schemas")
        require_agreement([answer["check"] for answer in answers], "check: {} and {}")
        numbers: list[int] = [answer["shard"] for answer in answers]
        for other, number in enumerate(numbers):
            if number in numbers[:other]:
                owner_rank = numbers.index(number)
                raise ShardError(f"ranks {owner_rank} and {other} are both shard {number}")
        return max(numbers) + 1

    @property
    def rank(self) -> int:
        """The number of this process."""
        return self._step.rank

    @property
    def size(self) -> int:
        """Number of processes."""
        return self._step.size

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name}: rank {self.rank} of {self.size}, {self.world!r}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self._verify_ghosts("the end")
        else:
            text = "".join(traceback.format_exception(error))
            sys.stderr.write(f"rank {self.rank}: {text}")
            sys.stderr.flush()
            self._step.abort()

    def _verify_ghosts(self, call: str) -> None:
        """Check the neighbours of kernels since the last refresh; `call`: for errors."""
        if self._watch is not None:
            self._watch.verify(call)

    def migrate(
        self, es: ArrayLike = (), ranks: ArrayLike = (), /, **ids: tuple[ArrayLike, ArrayLike]
    ) -> EntityArray:
        """Move entities to the ranks that own them from now on; return those that came. O(k).

        Entities of this rank stay. A subtree goes where its root goes; entries of descendants
        are ignored. `ids`: rows without owners, `spark=(ids, ranks)`.

        Raises what `extract` does, StructureLockedError if anything here is locked, ValueError
        for a rank that there is not.
        """
        self._verify_ghosts("migrate")
        plans: list[BatchRemoval] = []

        def parts() -> list[Any]:
            departures.check_locks(self.world)
            plans_by_rank = departures.plan_departures(
                self.world, self.rank, self.size, es, ranks, ids
            )
            plans.extend(plans_by_rank.values())
            return [
                (
                    departures.pack_departure(self.world, plans_by_rank[rank]).data
                    if rank in plans_by_rank
                    else b""
                )
                for rank in range(self.size)
            ]

        received = self._step.exchange(parts)
        borrowed = (es, ranks, *(array for pair in ids.values() for array in pair))

        def take_over() -> EntityArray:
            world = self.world
            try:
                if plans:
                    departures.commit_departure(world, departures.merge_departures(plans))
                world._sweep()
                parcels = [world._PARCEL(part) for part in received if memoryview(part).nbytes]
                arrived = [absorb(world, parcel, borrowed) for parcel in parcels]
                return np.concatenate([np.zeros(0, np.uint64), *arrived])
            except BaseException as error:
                text = f"migrate failed half-way, leave the block: {type(error).__name__}"
                self._step.broken = f"{text}: {error}"
                raise

        # callbacks' errors when rows are destroyed are raised after all entities have arrived
        came: EntityArray = self.world.entities.dispatch.run(take_over)
        return came

    def refresh(self, es: ArrayLike | None = None, ranks: ArrayLike = (), /) -> None:
        """Send current values of entities to ranks, where they are ghosts from now on; O(k).

        An entity may be listed for several ranks; its own is left out. Without arguments
        the same entities as last time. Earlier ghosts are dropped.

        Raises:
            StaleEntityError: an entity is not alive here.
            MissingInstanceError: it has not all components that ghosts have.
            ValueError: a rank that there is not.
        """
        self._verify_ghosts("refresh")
        sent = self._sent

        def parts() -> list[Any]:
            nonlocal sent
            if es is not None or sent is None:
                entities = self.world.entities.require_many(() if es is None else es)
                target_ranks = departures.checked_ranks(ranks, len(entities), self.size)
                sent = SentGhosts(self.world, entities, target_ranks, self.rank, self.size)
            return sent.messages()

        received = self._step.exchange(parts)
        self._sent = sent
        messages = [part for rank, part in enumerate(received) if rank != self.rank]
        take_ghosts(self.world, messages, (es, ranks))
        if self._watch is not None:
            self._watch.take()

    def request(self, es: ArrayLike, /) -> tuple[EntityArray, RowArray]:
        """Ask for entities wherever they are; return the local ones that are asked for, and ranks:
        `shards.refresh(*shards.request(friends))`. O(all that is asked)."""
        asked_by_rank = self._asked("request", es)
        entities, ranks = [np.zeros(0, np.uint64)], [np.zeros(0, np.intp)]
        for rank, wanted in enumerate(asked_by_rank):
            if rank != self.rank:
                alive = wanted[self.world.entities.alive_many(wanted)]
                entities.append(alive)
                ranks.append(np.full(len(alive), rank))
        return np.concatenate(entities), np.concatenate(ranks)

    def locate(self, es: ArrayLike, /) -> RowArray:
        """Return the rank on which each of k entities lives, -1 for the dead, shape (k,). O(all
        that is asked) on each rank."""
        asked_by_rank = self._asked("locate", es)
        alive = self.world.entities.alive_many
        answers = [alive(wanted).astype(np.uint64) for wanted in asked_by_rank]
        alive_by_rank = self._step.exchange_words("locate", lambda: answers)
        ranks = np.full(len(alive_by_rank[0]), -1)
        for rank, is_there in enumerate(alive_by_rank):
            ranks[is_there == 1] = rank
        return ranks

    def _asked(self, call: str, es: ArrayLike) -> list[EntityArray]:
        """Return the entities that each rank asks for, by rank."""
        return self._step.exchange_words(call, lambda: [as_entities(es)] * self.size)

    def count(self, n: int, /) -> int:
        """Return the sum of a number of each rank; TypeError for what is no integer, ValueError for
        one below 0."""
        return sum(self._step.gather("count", lambda: parse_non_negative("count", n)))

    def sum(self, values: ArrayLike, /) -> Any:
        """Return the sum over all rows of all ranks, axis 0: exact, of floats rounded once. A
        Python number for a flat column, else an array; 0 without rows. O(n)."""
        return exact_sum(self._step, values)

    def min(self, values: ArrayLike, /) -> Any:
        """Return the smallest of all rows of all ranks, axis 0; `inf` without rows. O(n)."""
        return extreme(self._step, "min", values, np.min, float("inf"))

    def max(self, values: ArrayLike, /) -> Any:
        """Return the largest of all rows of all ranks, axis 0; `-inf` without rows. O(n)."""
        return extreme(self._step, "max", values, np.max, float("-inf"))

    def save(
        self, folder: str | os.PathLike[str], tick: int | None = None, *, verify: bool = True
    ) -> None:
        """Save each rank's world, then a marker that all are there; files are replaced whole.

        If one rank cannot save, no marker is written. `tick` is the world's by default, 0 if it has
        none. `verify` is that of `World.save`.

        Raises:
            ShardError: the ranks have not the same folder and tick; nothing is written.
            SnapshotError: as `World.save`; on all other ranks ShardError.
            TypeError, ValueError: a tick that is no integer, or is below 0; nothing is written.
            OSError: as for every file.
        """
        from .sharded_saving import save_shard

        self._verify_ghosts("save")
        if tick is None:
            tick = vars(self.world).get("_tick", 0)
        self.tick = save_shard(self, folder, tick, verify)

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        comm: Any = None,
        *,
        timeout: float | None = None,
        check: bool = False,
        verify: bool = True,
        drop: Iterable[str] = (),
        migrate: Callable[[Any], object] | None = None,
    ) -> Self:
        """Go on where the newest complete snapshot was made, perhaps with other ranks.

        With fewer, worlds are dealt out; with more, some begin empty, under new numbers,
        with the time, seeds and attributes of the first: migrate next. Where the schemas
        changed since, as `World.load`, which says what `verify`, `drop` and `migrate` are;
        handles and ids stay, for other shards have them, too.

        Raises:
            FileNotFoundError: there is none; on all ranks.
            SnapshotError: a file is damaged or missing, or says what is not in the schemas
                any more.
            ShardError: the ranks have not the same folder.
        """
        from .sharded_saving import resume

        transport = transport_of(comm, timeout)
        options = {"verify": verify, "drop": drop, "migrate": migrate}
        world, tick, next_shard = resume(cls._world, folder, transport, options)
        communicator = comm if comm is not None else transport.comm
        shards = cls(world, communicator, timeout=timeout, check=check)
        shards.tick = tick
        shards._next = max(shards._next, next_shard)
        return shards
