"""Fields of entities that are cleared, or whose rows go, when these entities die."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from ecsgen.config import BACKENDS, Backend
from tests.support.world_package import world_package

FIELDS = "{to: {type: entity, on_delete: cascade}, of: {type: entity, on_delete: clear}, key: i32}"
INDEXED = FIELDS.replace("cascade", "cascade, index: true").replace("clear", "clear, index: true")
CROWD = "lookup: hash\ninstances: many\nids: true\npartition: {start: active}"
COLD = f"cold: indirect\nfields: {FIELDS.replace('entity,', 'entity, tags: [cold],')}"
LINK = f"owner: none\nfields: {FIELDS}\nnetwork: {{between: [to, of]}}"
POLICIES = {
    "plain": f"fields: {FIELDS}",
    "direct": f"lookup: direct\nfields: {FIELDS}",
    "crowd": f"{CROWD}\nfields: {FIELDS}",
    "cold": COLD,
    "indexed": f"fields: {INDEXED}",
    "told": f"destroy: callback\nfields: {FIELDS}",
    "told_indexed": f"destroy: callback\ninstances: many\nfields: {INDEXED}",
    "told_direct": f"destroy: callback\nlookup: direct\nfields: {FIELDS}",
    "link": f"destroy: callback\ninstances: many\nfields: {FIELDS}\nnetwork: {{from: to, to: of}}",
    "tree": f"destroy: callback\nhierarchy: {{orphans: destroy}}\nfields: {FIELDS}",
    "loose": f"owner: none\nfields: {FIELDS}",
    "loose_cold": f"owner: none\n{COLD}",
    "loose_told": f"owner: none\ndestroy: callback\nfields: {FIELDS}",
    "loose_link": f"destroy: callback\n{LINK}",
    "loose_ring": f"owner: none\nring: 4000\nfields: {INDEXED}\nnetwork: {{between: [to, of]}}",
}
NAMES = {policy: "".join(map(str.capitalize, policy.split("_"))) for policy in POLICIES}
SCHEMA = "\n---\n".join(
    [
        *(f"component: {NAMES[policy]}\n{text}" for policy, text in POLICIES.items()),
        """\
component: Chain
destroy: callback
fields: {below: {type: entity, on_delete: cascade}}
---
component: Fuse
fields: {left: i32}
---
component: Mark
owner: none
destroy: callback
fields: {of: {type: entity, on_delete: clear}}
---
world: Town
entity: {min_free: 0}
kernels: {burn: {over: Fuse, where: Fuse.left == 0, steps: [die()]}}
""",
    ]
)


def town(backend: Backend = "numpy") -> Any:
    return world_package(SCHEMA, f"fates_{backend}", backend=backend).Town()


class Naive:
    """Rows of a manager, by a number that each keeps."""

    def __init__(self, world: Any, policy: str) -> None:
        self.manager = getattr(world, policy)
        self.alive = world.entities.alive
        self.is_owned = hasattr(self.manager.data, "entity")
        self.is_told = "callback" in POLICIES[policy]
        self.rows: dict[int, dict[str, int]] = {}

    def settle(self, died: set[int] | None = None) -> int:
        """Remove rows and clear fields that refer to these dead, or any; return how many went."""

        def is_dead(entity: int) -> bool:
            return entity != 0 and (not self.alive(entity) if died is None else entity in died)

        ends = ["to", "entity"] if self.is_owned else ["to"]
        going = [key for key, row in self.rows.items() if any(is_dead(row[end]) for end in ends)]
        for key in going:
            del self.rows[key]
        for row in self.rows.values():
            row["of"] = 0 if is_dead(row["of"]) else row["of"]
        return len(going)

    def create(self, key: int, owner: int, to: int, of: int) -> None:
        m, values = self.manager, {"to": to, "of": of, "key": key}
        if not self.is_owned:
            m.create(**values)
        elif self.alive(owner) and (m.ALLOWS_MANY or not m.has(owner)):
            if not self.is_told:  # else a row of a dead entity with this index is in the way
                assert m.collect() == self.settle()
            m.create(owner, **values)
        else:
            return
        self.rows[key] = {"entity": owner, "to": to, "of": of}

    def check(self) -> None:
        m = self.manager
        keys = m.data.key.tolist()
        present = m.data.present if hasattr(m.data, "present") else np.ones(len(keys), bool)
        rows = np.flatnonzero(present).tolist()
        seen = {keys[row]: (m.to(row), m.of(row)) for row in rows}
        assert seen == {key: (row["to"], row["of"]) for key, row in self.rows.items()}
        if hasattr(m, "rows_of_of"):
            for entity in {0, *(row["of"] for row in self.rows.values())}:
                expected = [row for row in rows if m.of(row) == entity]
                assert m.rows_of_of(entity).tolist() == expected


def _change(world: Any, model: Naive, es: list[int], number: int, rng: Any) -> None:
    """Change something at random."""
    m, chosen = model.manager, rng.choice(es, 6).tolist()
    match int(rng.integers(8)):
        case 0 | 1 | 2:
            model.create(2 * number, *chosen[:3])
            model.create(2 * number + 1, chosen[3], chosen[0], chosen[1])
        case 3 if model.rows:
            row = int(rng.choice(np.flatnonzero(m.data.key == rng.choice([*model.rows]))))
            if m.key(row) in model.rows:
                m.set_to(row, chosen[0])
                m.set_of(row, chosen[1])
                model.rows[m.key(row)] |= {"to": chosen[0], "of": chosen[1]}
        case 4:
            died = {e for e in chosen[:2] if world.entities.alive(e)}
            world.destroy_many([*died])
            if model.is_told:
                model.settle(died)
        case 5:
            died = {e for e in chosen[:1] if world.entities.alive(e)}
            for e in died:
                world.destroy(e)
            if model.is_told:
                model.settle(died)
        case 6:
            gone = world.collect()
            assert gone == (0 if model.is_told else model.settle())
        case 7 if not model.is_told:
            assert m.collect() == model.settle()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("policy", POLICIES)
def test_rows_fall_as_a_naive_model_says(policy: str, seed: int) -> None:
    world, rng = town(), np.random.default_rng(seed)
    model = Naive(world, policy)
    es = [0, *world.entities.create_many(12).tolist()]
    for number in range(150):
        _change(world, model, es, number, rng)
        if rng.random() < 0.2:
            es = [0, *es[-20:], *world.entities.create_many(2).tolist()]
        model.check()
    twin = pickle.loads(pickle.dumps(world))
    twin.destroy_many(twin.entities.live())
    twin.collect()
    ends = ("to", "entity") if model.is_owned else ("to",)
    falls = model.alive if model.is_told else bool
    left = [row for row in model.rows.values() if not any(falls(row[end]) for end in ends)]
    assert len(getattr(twin, policy)) == len(left)


@pytest.mark.parametrize("closed", [False, True])
def test_callbacks_let_a_chain_fall_link_by_link(closed: bool) -> None:
    """An entity dies with its row, so that the next row falls: of a chain, then of a circle."""
    world, fallen = town(), []
    es = world.entities.create_many(50)
    above = es if closed else es[1:]
    world.chain.create_many(above, below=np.roll(es, 1)[-len(above) :])

    def fall(rows: Any) -> None:
        owners = world.chain.data.entity[rows].tolist()
        fallen.extend(owners)
        world.destroy_many([e for e in owners if world.entities.alive(e)])

    world.chain.on_release(fall)
    world.destroy(es[0])
    assert sorted(fallen) == sorted(above.tolist())
    assert (len(world.chain), len(world.entities)) == (0, 0)


def test_rows_go_once_through_their_callbacks() -> None:
    world = town()
    es = world.entities.create_many(5)
    ids = world.loose_told.create_many(4, to=es[[0, 0, 1, 2]], of=es[[1, 2, 0, 0]], key=range(4))
    seen: list[list[int]] = []
    world.loose_told.on_release(lambda rows: seen.append(world.loose_told.data.key[rows].tolist()))
    world.destroy_many(es[[0, 1]])
    assert [sorted(keys) for keys in seen] == [[0, 1, 2]]
    assert world.loose_told.data.of.tolist() == [0]
    assert world.loose_told.resolve(ids[3]) == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_deaths_in_kernels_are_followed(backend: Backend) -> None:
    world = town(backend)
    es = world.spawn(6, fuse={"left": [0, 0, 3, 3, 3, 3]})
    world.loose_link.create_many(6, to=es, of=np.roll(es, 1), key=range(6))
    world.loose.create_many(6, to=es, of=np.roll(es, 1), key=range(6))
    world.burn()
    assert sorted(world.loose_link.data.key.tolist()) == [2, 3, 4, 5]
    assert sorted(world.loose_link.data.of.tolist()) == sorted([0, *es[2:5].tolist()])
    assert len(world.loose) == 6
    assert world.collect() == 2  # the fuses have gone already
    assert sorted(world.loose.data.of.tolist()) == sorted([0, *es[2:5].tolist()])


def test_locked_managers_whose_rows_would_fall_keep_everybody_alive() -> None:
    world = town()
    package = world_package(SCHEMA, "fates_numpy")
    e, f = world.entities.create_many(2)
    world.loose_told.create(to=e, of=f)
    world.mark.create(of=e)
    with world.loose_told.locked(), pytest.raises(package.StructureLockedError):
        world.destroy(e)
    assert world.entities.alive(e)
    with world.mark.locked():  # its rows only change
        world.destroy(e)
    assert (len(world.loose_told), world.mark.of(0)) == (0, 0)
    with world.loose.locked(), pytest.raises(package.StructureLockedError):
        world.collect()


def test_a_handle_that_never_lived_counts_as_dead() -> None:
    world = town()
    world.loose.create(to=12345)
    world.loose.create(to=0, of=12345)
    assert world.collect() == 1  # though nobody died
    assert world.loose.data.of.tolist() == [0]
    world.loose.create(to=12345)
    assert not hasattr(world.loose, "gc")
    assert (world.gc(), len(world.loose)) == (0, 2)
    world.loose.clear()
    assert world.loose.collect() == 0


def test_files_know_nothing_of_it(tmp_path: Any) -> None:
    schema = "component: Loose\nowner: none\nfields: {{to: {{type: entity, on_delete: {}}}}}"
    falls, stays = (
        world_package(schema.format(fate), f"fates_{fate}").World for fate in ("cascade", "keep")
    )
    world = falls()
    entity = world.entities.create()
    world.loose.create(to=entity)
    world.save(tmp_path / "a")
    assert "on_delete" not in (tmp_path / "a").read_bytes().decode("latin-1")
    other = stays.load(tmp_path / "a")
    assert other.loose.to(0) == entity
    assert not hasattr(other.loose, "collect")
    other.save(tmp_path / "b")
    again = falls.load(tmp_path / "b")
    again.destroy(entity)
    assert again.collect() == 1


def test_few_references_are_found_without_a_search() -> None:
    """A death looks at the rows that refer to the dead, where the field is indexed or an end."""
    world = town()
    es = world.entities.create_many(2000)
    m = world.loose_link
    m.create_many(2000, to=es, of=np.roll(es, 1), key=range(2000))
    m.data.rows_by_values("to", es[5:6])
    world.destroy(es[5])
    index = m.data._field_indexes["to"]
    assert not index.is_stale  # few changes are noted beside the sorted rows
    world.destroy(es[7])
    assert (index.is_stale, index.n_noted > 0, len(m)) == (False, True, 1998)


@pytest.mark.parametrize("at_once", [1, 3])
def test_few_deaths_after_writes_in_bulk_sort_no_rows(at_once: int) -> None:
    """A look at all rows takes a fraction of a sort; deaths that go on are found by a sort."""
    world = town()
    es = world.entities.create_many(2000)
    m = world.loose_link
    m.create_many(2000, to=es, of=np.roll(es, 1), key=range(2000))
    index, alive = m.data._field_indexes["to"], 2000
    for day in range(20):
        dead = es[day * at_once :][:at_once]
        world.destroy_many(dead)
        alive -= at_once
        assert index.is_stale == (day < 16)
        assert len(m) == alive
        assert not np.isin(dead, m.data.to).any()
    m.data.to = m.data.to[::-1].copy()
    world.destroy_many(es[100:102])
    assert (index.is_stale, len(m)) == (True, alive - 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_without_owners_on_cells_and_with_settings(backend: Backend) -> None:
    schema = """\
component: Patch
grid: {shape: [3]}
fields: {wet: f64}
---
component: Mine
owner: none
destroy: callback
on: {field: place, capacity: 2}
fields: {place: id<Patch>, layer: {type: entity, on_delete: cascade}, load: f64}
kernels: {fill: {steps: [load += settings.gain]}}
---
component: Link
owner: none
fields: {a: entity, b: entity, load: f64}
network: {between: [a, b]}
kernels: {fill: {steps: [load += settings.gain]}}
---
world: Field
settings: {gain: {type: f64, default: 2}}
"""
    package = world_package(schema, f"mines_{backend}", backend)
    world: Any = package.Field()
    layers, places = world.entities.create_many(2), world.patch.grid.at_many([[1], [1]])
    world.mine.create_many(2, place=places, layer=layers)
    world.link.create(a=layers[0], b=layers[1])
    world = copy.deepcopy(world)
    world.entities.destroy(layers[0])
    assert world.mine.data.layer.tolist() == [layers[1]]
    assert world.mine.near(places[:1], 0).rows.tolist() == [0]
    world.mine.fill()
    world.link.fill()
    assert (world.mine.data.load.tolist(), world.link.data.load.tolist()) == ([2], [2])
    entities, patch = package.EntityManager(), package.PatchManager()
    alone = package.MineManager(entities, patch, settings=package.FieldSettings(gain=3))
    alone.create(layer=entities.create())
    alone.fill()
    assert alone.data.load.tolist() == [3]
