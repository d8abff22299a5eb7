"""`add: true`: callbacks get the rows that have just come, whatever creates them, once each."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ecsgen.config import Runtime
from tests.support.world_package import world_package

POLICIES = {
    "Plain": "",
    "Rare": "lookup: hash\ndestroy: callback",
    "Cell": "lookup: direct\nids: true",
    "Guest": "instances: many\nids: true\npartition: {start: active}",
    "Visit": "instances: many\nlookup: hash",
    "Branch": "hierarchy: {orphans: destroy}\nids: true\nrelease: true",
    "Short": "ring: 6\nrelease: true",
    "Left": "",
    "Right": "",
    "Loose": "owner: none\npartition: {start: active}\nhierarchy: {orphans: root}",
}
OWNED = [name.lower() for name in POLICIES if name != "Loose"]
SCHEMA = "\n---\n".join(
    [
        f"component: {name}\nadd: true\nfields: {{k: i64}}\n{policy}"
        for name, policy in POLICIES.items()
    ]
    + [
        "component: Silent\nfields: {k: i64, at: 'f32[2]'}\n",
        """
world: Hooked
groups: {pair: [Left, Right]}
bundles: {both: [Silent, Left, Right]}
kernels:
  breed:
    over: Silent
    steps:
      - spawn(Plain(k=Silent.k), Guest(k=Silent.k + 1), where=Silent.k > 0)
      - spawn(Loose(k=Silent.k), where=Silent.k > 1)
      - add(Rare(k=Silent.k), where=Silent.k > 0)
""",
    ]
)


@pytest.fixture(scope="module", params=["c", "python"])
def package(request: pytest.FixtureRequest) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        is_pure = request.param == "python"
        patch.setenv("ECSGEN_PURE", "1" if is_pure else "0")
        way: Runtime = "vendored" if is_pure else "installed"
        generated = world_package(SCHEMA, f"hooked_{request.param}", runtime=way)
        assert generated.World  # its modules are loaded on use
        yield generated


class Heard:
    """Calls of callbacks, and readers that say which there should be."""

    def __init__(self, world: Any) -> None:
        self.managers = {name.lower(): getattr(world, name.lower()) for name in POLICIES}
        self.calls: list[tuple[str, list[int]]] = []
        self.readers = {name: m.changes() for name, m in self.managers.items() if name != "visit"}
        self.counts = {name: len(m) for name, m in self.managers.items()}
        for name, manager in self.managers.items():
            manager.on_add(lambda rows, name=name: self.note(name, rows))

    def note(self, name: str, rows: Any) -> None:
        manager = self.managers[name]
        assert rows.tolist() == sorted(set(rows.tolist()))
        assert not rows.flags.writeable
        with pytest.raises(Exception, match="locked"):
            manager.clear()
        assert (manager.data.k[rows] >= 0).all()
        self.calls.append((name, rows.tolist()))

    def take(self) -> dict[str, list[int]]:
        """Return the rows that each manager told of since the last call: one call each."""
        calls = dict(self.calls)
        assert len(calls) == len(self.calls), self.calls
        assert [name for name, _ in self.calls] == sorted(calls)
        self.calls = []
        return calls

    def check(self) -> None:
        """Compare with the readers, which know nothing of callbacks."""
        calls = self.take()
        for name, reader in self.readers.items():
            assert calls.get(name, []) == reader.read().added.tolist(), name


def test_whatever_creates_rows_tells_of_them(package: Any) -> None:
    w, rng = package.World(), np.random.default_rng(5)
    heard = Heard(w)
    for step in range(250):
        name = OWNED[rng.integers(len(OWNED))]
        m, k = getattr(w, name), int(rng.integers(0, 30))
        free = [e for e in w.entities.live().tolist() if e not in m]
        row = getattr(package, name.capitalize())
        match int(rng.integers(8)):
            case 0:
                m.create(w.entities.create(), k=k)
            case 1 if name != "visit":
                m.create_many(w.entities.create_many(int(rng.integers(1, 5))), k=k)
            case 2 if free and hasattr(m, "ensure"):
                m.ensure(free[0], k=k)
                m.ensure(free[0])
            case 3:
                w.spawn(int(rng.integers(1, 4)), **{"plain": {"k": k}, name: {}})
            case 4:
                w.create(row(k), package.Silent(k))
            case 5 if free:
                more = [] if free[0] in w.rare or name == "rare" else [package.Rare(1)]
                w[free[0]].add(row(k), *more)
            case 6:
                w.loose.create_many(2, k=[k, k + 1])
            case 7:
                w.spawn_both(20 if step % 2 else 1)
        heard.check()
        if rng.integers(3) == 0 and len(w.entities) > 12:
            w.destroy_many(rng.permutation(w.entities.live())[: rng.integers(9)])
            w.collect()
            assert not heard.calls
            for reader in heard.readers.values():
                reader.read()


UNOWNED = """\
component: Cell
grid: {shape: [3, 3]}
fields: {z: f64}
---
component: Stone
owner: none
add: true
on: at
fields: {v: f64, at: id<Cell>}
---
component: Deed
owner: none
add: true
destroy: callback
fields: {v: f64, who: {type: entity, on_delete: cascade}}
---
component: Debt
owner: none
add: true
destroy: callback
network: {between: [who, whom]}
fields: {v: f64, who: {type: entity, on_delete: cascade}, whom: entity}
"""


@pytest.mark.parametrize("name", ["stone", "deed", "debt"])
def test_rows_without_owners_that_stand_or_refer(name: str) -> None:
    w, seen = world_package(UNOWNED, "unowned_additions").World(), []
    ends = dict(zip(("who", "whom"), w.spawn(2).tolist(), strict=True)) if name == "debt" else {}
    m = getattr(w, name)
    m.on_add(lambda rows: seen.append(rows.tolist()))
    m.create(v=1, **ends)
    m.create_many(2, **ends)
    m.create_many(100, v=np.arange(100), **ends)
    m.create_many(0)
    assert seen == [[0], [1, 2], [*range(3, 103)]]


def test_children_have_their_parents(package: Any) -> None:
    w, seen = package.World(), []
    for m in (w.branch, w.loose):
        m.on_add(lambda rows, m=m: seen.append(m.data.parent[rows].tolist()))
    es = w.entities.create_many(4)
    root = w.branch.create(es[0])
    w.branch.create(es[1], parent=root)
    w.branch.create_many(es[2:], parents=[1, 0])
    top = w.loose.create()
    w.loose.create(parent=w.loose.resolve(top))
    nil = int(package.NIL)
    assert seen == [[nil], [0], [1, 0], [nil], [w.loose.resolve(top)]]


def test_all_rows_of_a_spawn_are_there_and_names_have_an_order(package: Any) -> None:
    w, seen = package.World(), []

    def told(name: str, number: int) -> Any:
        return lambda rows: seen.append(
            (name, number, [len(w.right), len(w.left), len(w.silent)], w.pair.n)
        )

    for number in (1, 2):
        w.right.on_add(told("right", number))
        w.left.on_add(told("left", number))
    w.spawn_both(2)
    now = ([2, 2, 2], 2)
    assert seen == [(name, number, *now) for name in ("left", "right") for number in (1, 2)]


def test_what_callbacks_raise_stops_nothing(package: Any) -> None:
    w, seen = package.World(), []

    def fail(rows: Any) -> None:
        raise ValueError(f"{len(rows)} rows")

    for m in (w.plain, w.rare):
        m.on_add(fail)
        m.on_add(lambda rows: seen.append(rows.tolist()))
    creations: tuple[Callable[[], object], ...] = (
        lambda: w.plain.create(w.entities.create()),
        lambda: w.plain.create_many(w.entities.create_many(2)),
        lambda: w.plain.ensure(w.entities.create()),
        lambda: w.spawn(1, plain={}, rare={}),
        lambda: w.create(package.Plain(), package.Rare()),
        lambda: w[w.entities.create()].add(package.Rare()),
    )
    for create in creations:
        with pytest.raises(ExceptionGroup) as raised:
            create()
        assert all(isinstance(error, ValueError) for error in raised.value.exceptions)
    assert seen == [[0], [1, 2], [3], [4], [0], [5], [1], [2]]
    assert len(w.plain) == 6
    assert len(w.rare) == 3


def test_deaths_wait_and_other_managers_may_change(package: Any) -> None:
    w, seen = package.World(), []

    def kill(rows: Any) -> None:
        (e,) = w.rare.data.entity[rows].tolist()
        w.destroy(e)
        assert w.entities.alive(e)
        w.plain.remove(e)  # before its turn
        w.silent.create(e, k=7)
        assert w.silent[e].k == 7

    w.rare.on_add(kill)
    w.left.on_add(lambda rows: seen.append(("left", len(rows))))
    w.plain.on_add(lambda rows: seen.append(("plain", len(rows))))
    w.short.on_add(lambda rows: seen.append(("short", rows.tolist())))
    (e,) = w.spawn(1, short={}, rare={}, left={})
    assert not w.entities.alive(e)
    assert len(w.rare) == 0
    assert seen == [("left", 1), ("short", [0])]
    w.plain.on_add(lambda rows: w.rare.remove(w.plain.data.entity[rows[0]]))
    w.spawn(1, plain={}, rare={})  # gone before its turn: nobody dies
    assert seen[2:] == [("plain", 1)]
    assert len(w.plain) == 1


def test_rows_that_moved_before_their_turn_are_found(package: Any) -> None:
    w, seen = package.World(), []
    w.spawn(3, rare={"k": [1, 2, 3]}, plain={})
    w.plain.on_add(lambda rows: w.rare.remove(w.rare.data.entity[0]))
    w.rare.on_add(lambda rows: seen.append(w.rare.data.k[rows].tolist()))
    w.spawn(1, plain={}, rare={"k": 50})
    w.spawn(2, plain={}, rare={"k": [60, 61]})
    assert [sorted(ks) for ks in seen] == [[50], [60, 61]]


def test_rows_that_are_gone_by_their_ids_are_left_out(package: Any) -> None:
    w, seen = package.World(), []
    w.branch.on_add(lambda rows: w.guest.remove(w.branch.data.entity[rows[0]]))
    w.guest.on_add(lambda rows: seen.append(w.guest.data.k[rows].tolist()))
    w.spawn(2, branch={}, guest={"k": [8, 9]})
    assert seen == [[9]]


def test_loading_copying_and_moving_tell_nobody(package: Any) -> None:
    w = package.World()
    w.spawn(3, left={"k": [3, 1, 2]}, plain={"k": [3, 1, 2]})
    heard = Heard(w)
    again = copy.deepcopy(w), pickle.loads(pickle.dumps(w.plain)), package.World.load(w.to_bytes())
    w.plain.sort("k")
    w.right.on_add(lambda rows: None)
    w.right.create_many(w.entities.live()[1:])
    assert [name for name, _ in heard.calls] == ["right"]
    again[0].spawn(1, plain={})
    assert len(heard.calls) == 1


def test_no_rows_are_no_news_and_who_has_cancelled_hears_nothing(package: Any) -> None:
    w = package.World()
    heard = Heard(w)
    w.plain.create_many([])
    w.loose.create_many(0)
    w.spawn(0, plain={})
    w.left.on_add(lambda rows: heard.calls.append(("cancelled", []))).cancel()
    w.left.create(w.entities.create())
    assert heard.calls == [("left", [0])]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_what_kernels_spawn_and_add_is_told_when_all_is_there(backend: Any) -> None:
    generated = world_package(SCHEMA, f"hooked_kernels_{backend}", backend)
    w = generated.World()
    w.spawn(4, silent={"k": [0, 1, 2, 3]})
    heard, seen = Heard(w), []
    w.guest.on_add(lambda rows: seen.append([len(w.plain), len(w.rare), len(w.loose)]))
    w.breed()
    assert seen == [[3, 3, 2]]
    heard.check()
    assert len(w.guest) == 3

    def fail(rows: Any) -> None:
        raise ValueError

    w.guest.on_add(fail)
    w.rare.clear()
    with pytest.raises(ExceptionGroup):
        w.breed()
    assert len(w.guest) == 6
    assert {name for name, _ in heard.calls} == {"guest", "loose", "plain", "rare"}


def test_rows_that_arrive_from_other_shards_are_told_whole() -> None:
    generated = world_package(
        """
component: Body
add: true
ids: true
instances: many
partition: {start: active}
fields: {k: i64}
---
component: Branch
add: true
hierarchy: {orphans: root}
fields: {k: i64}
---
world: Isle
shards: {}
""",
        "hooked_isles",
    )
    w, away, seen = generated.Isle(0), generated.Isle(1), []
    away.spawn(1, body={}, branch={})
    es = w.spawn(3, branch={"k": [1, 2, 3]})
    w.body.create_many(es[[0, 0, 1]], k=[4, 5, 6])
    w.body.deactivate(1)
    w.branch.set_parent(2, 0)
    away.branch.on_add(
        lambda rows: seen.append((away.branch.data.k[rows].tolist(), away.branch.data.parent[3]))
    )
    away.body.on_add(
        lambda rows: seen.append((sorted(away.body.data.k[rows].tolist()), away.body.n_active))
    )
    ids = {w.body.id_of(row) for row in range(3)}
    away.absorb(w.extract(es))
    assert seen == [([4, 5, 6], 3), ([1, 2, 3], 1)]
    assert ids < set(away.body.id_of_many(range(4)).tolist())
