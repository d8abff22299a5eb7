"""Calls that all ranks make together, and callbacks of entities that leave and arrive."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sharded_package import Isles, package
from tests.support.threaded_ranks import ThreadComm, everyones, on_ranks, run

NIL = 0xFFFF_FFFF
Shards, ShardError = package.Shards, package.ShardError


def spawned(w: Any, n: int) -> Any:
    first = 100 * w.entities.shard
    keys = range(first, first + n)
    at = [(k, 0) for k in keys]
    return w.spawn(n, place={"at": at, "speed": (1, 2)}, agent={"key": keys})


def test_numbers_are_agreed_upon() -> None:
    def fresh(comm: ThreadComm) -> int:
        with Shards(Isles(), comm) as shards:
            assert (shards.rank, shards.size, shards.tick) == (comm.rank, 3, 0)
            assert shards.comm is comm
            number: int = shards.world.entities.shard
            return number

    assert run(3, fresh) == [0, 1, 2]


@pytest.mark.parametrize(
    "give", [lambda w: w.entities.create(), lambda w: w.spark.destroy_id(w.spark.create(k=1))]
)
@on_ranks(2)
def test_worlds_that_gave_something_out_keep_their_number(comm: ThreadComm, give: Any) -> None:
    w = Isles(7)
    give(w)
    with pytest.raises(ShardError, match="0 and 1 are both shard 7"):
        Shards(w, comm)


@on_ranks(3)
def test_entities_live_where_they_are_sent(comm: ThreadComm) -> None:
    shards = Shards(Isles(), comm)
    w = shards.world
    es = spawned(w, 6)
    spark = w.spark.create_many(3, k=range(3))
    exchanges = comm.exchanges
    came = shards.migrate(es, np.arange(6) % 3, spark=(spark, [0, 1, 2]))
    assert comm.exchanges == exchanges + 1
    assert len(came) == 4
    assert len(w.entities) == 6
    keys = sorted(w.agent.data.key.tolist())
    assert keys == sorted(100 * r + k for r in range(3) for k in (comm.rank, comm.rank + 3))
    assert sorted(w.spark.data.k.tolist()) == [comm.rank] * 3
    assert shards.locate(es).tolist() == [0, 1, 2, 0, 1, 2]
    assert shards.locate([0, 5, 1 << 50]).tolist() == [-1] * 3
    assert shards.migrate().tolist() == []


@on_ranks(2)
def test_a_subtree_goes_where_its_root_goes(comm: ThreadComm) -> None:
    shards = Shards(Isles(), comm)
    w = shards.world
    root, child, grandchild = es = w.spawn(3, limb={"k": range(3)})
    w.limb.set_parent(w.limb.lookup(child), w.limb.lookup(root))
    w.limb.set_parent(w.limb.lookup(grandchild), w.limb.lookup(child))
    away = 1 - comm.rank
    came = shards.migrate(es, [away, comm.rank, comm.rank])
    assert len(came) == 3
    assert w.limb.data.k[w.limb.levels()[2]].tolist() == [2]
    assert shards.locate(es).tolist() == [away] * 3


@on_ranks(3)
def test_ghosts_lie_behind_the_own_rows(comm: ThreadComm) -> None:
    shards = Shards(Isles(), comm)
    w = shards.world
    es = spawned(w, 3)
    others = [r for r in range(3) if r != comm.rank]
    shards.refresh(np.repeat(es[1:], 3), [0, 1, 2] * 2)
    for m in (w.place, w.agent):
        assert (m.ghosts.n, m.nearby.n, len(m), m.data.n) == (4, 7, 3, 3)
        assert m.nearby.entity[:3].tolist() == es.tolist()
        assert m.ghosts.entity.tolist() == m.nearby.entity[3:].tolist()
    keys = [100 * r + k for r in others for k in (1, 2)]
    assert w.agent.ghosts.key.tolist() == keys
    assert w.agent.nearby.key.tolist() == [100 * comm.rank + k for k in range(3)] + keys
    assert w.agent.nearby.key.base is w.agent.data.key.base
    assert w.place.ghosts.at.tolist() == [[k, 0] for k in keys]
    assert w.place.ghosts.speed_y.tolist() == [2.0] * 4
    with pytest.raises(AttributeError, match="mark"):
        w.place.ghosts.mark  # noqa: B018
    with pytest.raises(ValueError, match="read-only"):
        w.place.nearby.at[:] = 0
    ghosts = w.place.ghosts.entity.copy()
    assert w.place.nearby.lookup_many([*ghosts, es[1], 9]).tolist() == [3, 4, 5, 6, 1, NIL]
    assert w.place.ghosts.lookup_many([*ghosts, es[1]]).tolist() == [0, 1, 2, 3, NIL]
    assert w.place.lookup_many(ghosts).tolist() == [NIL] * 4
    assert w.movers.n == len(w.both.rows().entity) == 3
    w.place.data.at[:, 1] = 5
    shards.refresh()
    assert w.place.ghosts.at[:, 1].tolist() == [5.0] * 4
    w.destroy(es[0])
    w.collect()
    assert (w.place.ghosts.n, w.place.nearby.n) == (0, 2)
    shards.refresh()
    assert (w.place.ghosts.n, w.place.nearby.n) == (4, 6)
    shards.refresh([], [])
    assert w.place.ghosts.n == 0


@on_ranks(2)
def test_entities_are_asked_for(comm: ThreadComm) -> None:
    shards = Shards(Isles(), comm)
    w = shards.world
    es = spawned(w, 3)
    everyone = np.concatenate([es % 2**32 + np.uint64(1 << 44 | r << 32) for r in range(2)])
    mine, ranks = shards.request(everyone[1:4])
    assert mine.tolist() == (es[1:] if comm.rank == 0 else es[:1]).tolist()
    shards.refresh(mine, ranks)
    assert (w.place.nearby.lookup_many(everyone[1:4]) != NIL).all()


def first_spark(shards: Any) -> Any:
    return shards.world.spark.id_of(0)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda s, es: s.migrate(es[:1], [9]), ValueError),
        (lambda s, es: s.migrate(es[:1], [-1]), ValueError),
        (lambda s, es: s.migrate(es, [1]), ValueError),
        (lambda s, es: s.migrate([es[0], es[0]], [1, 1]), LookupError),
        (lambda s, es: s.migrate([77], [1]), LookupError),
        (lambda s, es: s.migrate(spark=([first_spark(s)] * 2, [1, 2])), package.StaleIdError),
        (lambda s, es: s.migrate(spark=([first_spark(s)] * 2, [1, 0])), package.StaleIdError),
        (lambda s, es: s.migrate(spark=([77], [0])), package.StaleIdError),
        (lambda s, es: s.migrate(agent=([], [])), TypeError),
        (lambda s, es: s.refresh([77], [1]), LookupError),
        (lambda s, es: s.refresh(s.world.spawn(1), [0]), LookupError),
        (lambda s, es: s.sum("text"), TypeError),
        (lambda s, es: s.count("text"), TypeError),
        (lambda s, es: s.count(1.5), TypeError),
        (lambda s, es: s.count(True), TypeError),
        (lambda s, es: s.count(np.True_), TypeError),
        (lambda s, es: s.count(-1), ValueError),
    ],
)
@on_ranks(3)
def test_errors_are_everyones(comm: ThreadComm, call: Any, error: type[Exception]) -> None:
    name = call.__code__.co_names[0]
    plain = {"migrate": ((), ()), "refresh": ((), ()), "sum": ([],), "count": (0,)}[name]
    shards = Shards(Isles(), comm)
    es = spawned(shards.world, 3)
    shards.world.spark.create_many(2, k=range(2))
    before = len(shards.world.entities)
    with everyones(comm, 1, error):
        call(shards, es) if comm.rank == 1 else getattr(shards, name)(*plain)
    assert comm.rank == 1 or len(shards.world.entities) == before
    assert shards.world.spark.data.k.tolist() == [0, 1]
    shards.migrate(es, 0)
    assert len(shards.world.entities) >= (0 if comm.rank else 9)


@on_ranks(2)
def test_arguments_and_reprs(comm: ThreadComm) -> None:
    shards = Shards(Isles(), comm)
    w = shards.world
    shards.refresh(spawned(w, 2)[:1], [1 - comm.rank])
    text = f"<Shards: rank {comm.rank} of 2, <Isles: 2 entities; agent 2, place 2>>"
    assert repr(shards) == text
    assert repr(w.agent.nearby) == "<AgentManager: 3 rows, 1 of them ghosts>"
    assert repr(w.agent.ghosts) == "<AgentManager: 1 row, 1 of them ghosts>"
    for arguments in ((5, comm), (w, 5)):
        with pytest.raises(TypeError, match=r"Shards: wanted .*, not 5"):
            Shards(*arguments)
    with pytest.raises(ValueError, match="timeout -1"):
        Shards(w, comm, timeout=-1)


@on_ranks(2)
def test_what_fails_on_arrival_ends_all_ranks(comm: ThreadComm) -> None:
    shards = Shards(Isles(), comm)
    w = shards.world
    e = w.entities.create()
    w.badge.create(e, number=1, label=str(comm.rank))
    if comm.rank == 1:
        with pytest.raises(package.DuplicateValueError, match="number"):
            shards.migrate()
    else:
        assert len(shards.migrate([e], [1])) == 0
    for _ in range(2):
        with pytest.raises(ShardError, match=r"migrate failed half-way.*DuplicateValueError"):
            shards.count(1)


@on_ranks(2)
def test_a_lock_is_everyones(comm: ThreadComm) -> None:
    shards = Shards(Isles(), comm)
    es = spawned(shards.world, 2)
    if comm.rank:
        with shards.world.place.locked(), pytest.raises(package.StructureLockedError):
            shards.migrate()
    else:
        with pytest.raises(ShardError, match="rank 1: StructureLockedError"):
            shards.migrate(es, 1)
    assert shards.world.entities.alive_many(es).all()


@given(st.lists(st.floats(), max_size=30), st.integers(1, 3))
def test_sums_are_exact(values: list[float], size: int) -> None:
    sums = run(size, lambda comm: Shards(Isles(), comm).sum(np.array(values[comm.rank :: size])))
    finite = [v for v in values if math.isfinite(v)]
    odd = {repr(v) for v in values} & {"nan", "inf", "-inf"}
    if odd:
        expected = float(odd.pop()) if len(odd) == 1 else math.nan
    else:
        try:
            expected = float(sum(map(Fraction, finite)))
        except OverflowError:
            expected = math.inf if sum(map(Fraction, finite)) > 0 else -math.inf
    assert {repr(v) for v in sums} <= {repr(expected), repr(expected + 0.0)}


@on_ranks(3)
def test_totals(comm: ThreadComm) -> None:
    shards = Shards(Isles(), comm)
    r = comm.rank
    big = np.array([2**63 - 1, r], np.int64)
    assert shards.sum(big) == 3 * (2**63 - 1) + 3
    assert shards.sum(np.array([2**64 - 1], np.uint64)) == 3 * (2**64 - 1)
    assert shards.sum(np.array([True, r == 1])) == 4
    assert shards.sum(np.full((2, 2), r, np.float32)).tolist() == [6.0, 6.0]
    assert shards.sum(np.array([0.1] * (r + 1))) == math.fsum([0.1] * 6)
    assert (shards.sum(np.zeros(0)), shards.sum([])) == (0, 0)
    assert (shards.min([]), shards.max(np.zeros(0))) == (math.inf, -math.inf)
    numbers = np.arange(r)
    assert (shards.min(numbers), shards.max(numbers), type(shards.max(numbers))) == (0, 1, int)
    assert shards.max(np.array([[r, 1.5]])).tolist() == [2.0, 1.5]
    assert math.isnan(shards.min(np.array([math.nan] if r == 1 else [1.0])))
    assert shards.count(r) == 3


@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_going_on_with_other_ranks(after: int, tmp_path: Path) -> None:
    def before(comm: ThreadComm) -> tuple[list[int], list[int]]:
        with Shards(Isles(), comm) as shards:
            w = shards.world
            es = spawned(w, 4)
            ids = w.spark.create_many(2, k=comm.rank)
            w.mesh.create(es[0], handle=object())
            shards.migrate(es, np.arange(4) % 3)
            shards.save(tmp_path, tick=3)
            shards.save(tmp_path, tick=12)
        return es.tolist(), ids.tolist()

    saved = run(3, before)
    (tmp_path / "99.0.shard").write_bytes(b"")  # never completed
    es = sorted(e for each, _ in saved for e in each)
    ids = [i for _, each in saved for i in each]

    def again(comm: ThreadComm) -> tuple[int, list[int], list[int]]:
        shards = Shards.load(tmp_path, comm)
        w = shards.world
        assert shards.tick == 12
        (new,) = w.spawn(1)
        assert new not in es
        w.destroy(new)
        assert shards.count(len(w.entities)) == 12
        assert (shards.locate(es) >= 0).all()
        shards.migrate(w.entities.live(), comm.rank)
        return w.entities.shard, w.entities.live().tolist(), [i for i in ids if i in w.spark]

    results = run(after, again)
    assert [number for number, _, _ in results] == list(range(after))
    assert sorted(e for _, live, _ in results for e in live) == es
    assert sorted(i for _, _, here in results for i in here) == sorted(ids)
    numbers = run(after, lambda comm: Shards.load(tmp_path, comm)._next)
    assert set(numbers) == {max(3, after)}


CALLS: dict[str, Any] = {
    "migrate": lambda s: s.migrate(),
    "refresh": lambda s: s.refresh(),
    "request": lambda s: s.request([]),
    "locate": lambda s: s.locate([]),
    "count": lambda s: s.count(1),
    "sum": lambda s: s.sum([1]),
    "min": lambda s: s.min([1]),
    "max": lambda s: s.max([1]),
    "save": lambda s: s.save("nowhere"),
    "load": lambda s: Shards.load("nowhere", s.comm),
    "Shards": lambda s: Shards(s.world, s.comm),
}


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(("first", "other"), list(pairwise([*CALLS, "migrate", "sum", "request"])))
@on_ranks(3)
def test_all_ranks_call_the_same(comm: ThreadComm, first: str, other: str, check: bool) -> None:
    """Whoever calls something else is named on all ranks, and the run may go on."""

    shards = Shards(Isles(), comm, check=check)
    es = spawned(shards.world, 2)
    with pytest.raises(ShardError, match=f"^ranks 0 and 1 have called {first} and {other}$"):
        CALLS[other if comm.rank == 1 else first](shards)
    assert shards.locate(es).tolist() == [comm.rank] * 2
    assert not Path("nowhere").exists()


@on_ranks(2)
def test_the_end_of_the_block_is_a_call_as_well(comm: ThreadComm) -> None:
    """Where it exchanges something: it tells whether ghosts reached far enough."""

    shards = Shards(Isles(), comm, check=True)
    with pytest.raises(ShardError, match=r"^ranks 0 and 1 have called refresh and the end$"):
        shards.__exit__(None, None, None) if comm.rank else shards.refresh()


@on_ranks(2)
def test_all_ranks_check_or_none(comm: ThreadComm) -> None:
    with pytest.raises(ShardError, match=r"^ranks 0 and 1 check: False and True$"):
        Shards(Isles(), comm, check=comm.rank == 1)


@on_ranks(2)
def test_a_call_exchanges_no_more_for_being_compared(comm: ThreadComm, tmp_path: Path) -> None:
    expected = {"locate": 2, "save": 3, "load": 3}
    calls = CALLS | {
        "save": lambda s: s.save(tmp_path),
        "load": lambda s: Shards.load(tmp_path, s.comm),
    }
    shards = Shards(Isles(), comm)
    for name, call in calls.items():
        before = comm.exchanges
        call(shards)
        assert comm.exchanges - before == expected.get(name, 1), name


@pytest.mark.parametrize("folder", ["", "not there"])
@on_ranks(3)
def test_there_is_nothing_to_go_on_with(comm: ThreadComm, folder: str, tmp_path: Path) -> None:
    """On no rank: a program that begins anew then does so on all."""

    with pytest.raises(FileNotFoundError, match=r"no complete snapshot$"):
        Shards.load(tmp_path / folder, comm)
    assert Shards(Isles(), comm).count(1) == 3


@pytest.mark.parametrize("total", ["sum", "min", "max"])
@on_ranks(3)
def test_columns_of_other_shapes_say_of_which_ranks(comm: ThreadComm, total: str) -> None:
    shards = Shards(Isles(), comm)
    column = np.zeros((3, 7) if comm.rank == 2 else 3)
    with pytest.raises(
        ShardError, match=r"^ranks 0 and 2 have cells of the shapes \(\) and \(7,\)$"
    ):
        getattr(shards, total)(column)
    assert shards.count(1) == 3


def test_what_leaves_the_block_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    ended = []

    class Comm(ThreadComm):
        def abort(self) -> None:
            ended.append(self.rank)

    def rank(comm: ThreadComm) -> None:
        comm.__class__ = Comm
        with pytest.raises(KeyError), Shards(Isles(), comm):
            raise KeyError("gone")

    run(1, rank)
    assert "rank 0: Traceback" in capsys.readouterr().err
    assert ended == [0]


def test_mpi_is_imported_only_when_it_is_asked_for() -> None:
    run(2, lambda comm: Shards(Isles(), comm))
    assert "mpi4py.MPI" not in sys.modules


@on_ranks(2)
def test_whoever_sends_nobody_changes_nothing(comm: ThreadComm) -> None:
    shards = Shards(Isles(), comm)
    w = shards.world
    es = w.spawn(3, limb={})
    w.destroy(es[0])  # its row is collected later, or where somebody leaves
    before = len(w.limb), w.limb.data._version
    shards.migrate()
    shards.migrate(es[1:], comm.rank)
    assert (len(w.limb), w.limb.data._version) == before


def refuse(rows: Any) -> None:
    raise RuntimeError(f"{len(rows)} meshes")


def test_who_comes_is_there_all_the_same() -> None:
    def rank(comm: ThreadComm) -> list[int]:
        shards = Shards(Isles(), comm)
        w = shards.world
        es = w.spawn(2, agent={"key": [10 * comm.rank, 10 * comm.rank + 1]}, mesh={})
        if comm.rank == 0:
            w.mesh.on_release(refuse)
            with pytest.raises(ExceptionGroup, match="callbacks failed") as failed:
                shards.migrate(es[:1], 1)
            assert [str(error) for error in failed.value.exceptions] == ["1 meshes"]
        else:
            shards.migrate(es[:1], 0)
        assert shards.count(len(w.entities)) == 4
        keys: list[int] = sorted(w.agent.data.key.tolist())
        return keys

    assert run(2, rank) == [[1, 10], [0, 11]]


def test_who_dies_meanwhile_is_dead_when_all_have_come() -> None:
    def rank(comm: ThreadComm) -> list[int]:
        shards = Shards(Isles(), comm)
        w = shards.world
        es = w.spawn(3, agent={"key": [10 * comm.rank + k for k in range(3)]}, mesh={})
        subscription = w.mesh.on_release(lambda rows: w.destroy(es[1]))
        shards.migrate(es[:1], 1 - comm.rank)
        subscription.cancel()
        w.collect()
        keys: list[int] = sorted(w.agent.data.key.tolist())
        return keys

    assert run(2, rank) == [[2, 10], [0, 12]]


def test_the_error_has_the_parcel() -> None:
    here, there = Isles(0), Isles(1)
    es = here.spawn(2, agent={"key": [1, 2]}, mesh={})
    here.mesh.on_release(refuse)
    with pytest.raises(ExceptionGroup, match="callbacks failed") as failed:
        here.extract(es[:1])
    there.absorb(failed.value.parcel)  # type: ignore[attr-defined]
    assert there.agent.data.key.tolist() == [1]
    assert here.agent.data.key.tolist() == [2]


@on_ranks(2)
def test_who_dies_by_a_collection_goes_nowhere(comm: ThreadComm) -> None:
    """The second of three entities dies with the first when that is noticed."""

    shards = Shards(Isles(), comm)
    w = shards.world
    es = w.spawn(3, limb={}, agent={"key": range(3)})
    w.limb.set_parent(w.limb.lookup(es[1]), w.limb.lookup(es[0]))
    w.destroy(es[0])
    with everyones(comm, 0, package.StaleEntityError, "1v1"):
        shards.migrate(es[2:] if comm.rank else es[1:], 1 - comm.rank)
    w.collect()
    assert shards.locate(es).tolist() == [-1, -1, comm.rank]
    assert shards.count(len(w.entities)) == 2
    assert len(package.Isles.load(w.to_bytes(codecs={"*": None}), codecs={"*": None})) == 1
