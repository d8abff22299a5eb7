"""Every storage policy as every other one: what both have is kept, and nothing else goes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.support.schema_evolution import loaded, module_of, row_class, world

NIL = 0xFFFF_FFFF
SEED = 1
FIELDS = """
component: Body
fields:
  x: {type: f32, default: 1.5}
  size: u16
  pos: {type: "f32[3]", split: true}
  mate: entity
  name: {type: "str[8]", default: "nobody", tags: [cold]}
  mark: {type: "u8[2]", tags: [cold]}
"""
OTHER = """
---
component: Other
fields: {v: i32}
"""
WORLD = "\n---\nworld: Town\n"
GROUP = "groups: {pair: [Body, Other]}\n"

VARIANTS: dict[str, tuple[str, str]] = {
    "sparse": ("", ""),
    "hash": ("lookup: hash", ""),
    "direct": ("lookup: direct", ""),
    "direct ids": ("lookup: direct\nids: true", ""),
    "callback": ("destroy: callback", ""),
    "manual": ("destroy: manual\nlookup: hash", ""),
    "manual direct": ("destroy: manual\nlookup: direct", ""),
    "ids": ("ids: true", ""),
    "active": ("partition: {start: active}", ""),
    "active, callback": ("partition: {start: active}\ndestroy: callback", ""),
    "inactive": ("partition: {start: inactive}\nids: true\ncold: indirect", ""),
    "root": ("hierarchy: {orphans: root}", ""),
    "destroy": ("hierarchy: {orphans: destroy}\ndestroy: callback\nids: true", ""),
    "die": ("hierarchy: {orphans: die}", ""),
    "indirect": ("cold: indirect", ""),
    "ring": ("ring: 64", ""),
    "many": ("instances: many", ""),
    "many hash": ("instances: many\nlookup: hash\ndestroy: manual", ""),
    "many ring": ("instances: many\nring: 128\nids: true", ""),
    "many of all": (
        "instances: many\nids: true\npartition: {start: inactive}\ncold: indirect\n"
        "hierarchy: {orphans: root}",
        "",
    ),
    "group": ("", GROUP),
    "group ids": ("ids: true\nlookup: hash\ncold: indirect", GROUP),
    "chunks": ("", "archetypes: {components: [Body]}\n"),
    "both in chunks": ("", "archetypes: {components: [Other, Body]}\n"),
    "other in chunks": ("instances: many", "archetypes: {components: [Other]}\n"),
    "fewer bits": ("", "entity: {index_bits: 20, generation_bits: 12, min_free: 0}\n"),
    "fewer bits, many": (
        "instances: many\nlookup: hash",
        "entity: {index_bits: 12, min_free: 0}\n",
    ),
    "nobody": ("owner: none\nhierarchy: {orphans: root}", ""),
}


def schemas(variant: str) -> str:
    keys, rest = VARIANTS[variant]
    reused = "" if "entity:" in rest else "entity: {min_free: 0}\n"
    return FIELDS + keys + OTHER + WORLD + reused + rest


def has(variant: str, what: str) -> bool:
    return what in "\n".join(VARIANTS[variant])


def in_chunks(variant: str, name: str = "Body") -> bool:
    return re.search(rf"components: .*\b{name}\b", VARIANTS[variant][1]) is not None


def lived(variant: str, seed: int, several: bool = True) -> Any:
    """Return a world in which much has happened, the same each time."""
    rng = Random(seed)
    town = world(schemas(variant))
    for _ in range(12):
        es = town.entities.create_many(rng.randrange(1, 8)).tolist()
        for e in es:
            if rng.random() < 0.8:
                give(town, variant, e, rng)
            if rng.random() < 0.6:
                give_other(town, variant, e, rng)
        alive = list(town.entities)
        if several and has(variant, "instances: many"):
            for e in rng.choices(alive, k=3):
                give(town, variant, e, rng)
        for e in rng.sample(alive, min(rng.randrange(0, 4), len(alive))):
            town.entities.destroy(e)
        if rng.random() < 0.2:
            town.gc()
        change(town, variant, rng)
    return town


def values(town: Any, rng: Random) -> dict[str, Any]:
    alive = list(town.entities)
    fields: dict[str, Any] = {
        "x": float(np.float32(rng.random())),
        "size": rng.randrange(60000),
        "pos": tuple(float(rng.randrange(9)) for _ in range(3)),
        "mate": rng.choice(alive),
    }
    if rng.random() < 0.4:
        fields["name"] = rng.choice(["ann", "nobody", "bob"])
    if rng.random() < 0.3:
        fields["mark"] = (rng.randrange(2), 7)
    return fields


def give(town: Any, variant: str, e: int, rng: Random) -> None:
    fields = values(town, rng)
    if variant == "nobody":
        town.body.create(**fields)
    elif in_chunks(variant):
        town.archetypes.add(e, row_class(town, "Body"), **fields)
    else:
        town.body.create(e, **fields)


def give_other(town: Any, variant: str, e: int, rng: Random) -> None:
    if in_chunks(variant, "Other"):
        town.archetypes.add(e, row_class(town, "Other"), v=rng.randrange(99))
    else:
        town.other.create(e, v=rng.randrange(99))


def change(town: Any, variant: str, rng: Random) -> None:
    if in_chunks(variant):
        return
    body = town.body
    rows = np.arange(body.data.n)
    if has(variant, "lookup: direct"):
        rows = np.flatnonzero(body.data.present)
    if len(rows) < 4:
        return
    picked = rng.sample(rows.tolist(), 3)
    if has(variant, "hierarchy"):
        for row in picked:
            parent = rng.choice(rows.tolist())
            with suppress(ValueError):  # a circle
                body.set_parent(row, parent)
    if has(variant, "partition"):
        body.activate(picked[0])
        body.deactivate(picked[1])
    body.destroy_many(picked[2:])


def fields_of(row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in ("x", "size", "pos", "name", "mark"))


def entities_of(town: Any) -> Any:
    """Return the module that says how many bits handles have."""
    return module_of(town, "entities")


def moved(town: Any, other: Any, handle: int) -> int:
    """Return what a handle of one world is in another with other bits; 0 if it does not fit."""
    old, new = entities_of(town), entities_of(other)
    index, generation = handle & (1 << old.INDEX_BITS) - 1, handle >> old.INDEX_BITS
    fits = index < 1 << new.INDEX_BITS and generation < 1 << new.GENERATION_BITS
    return generation << new.INDEX_BITS | index if fits else 0


def bodies(town: Any, variant: str) -> list[tuple[int, tuple[Any, ...], int]]:
    """Return owner, values and mate of each row, an entity's rows in their order."""
    if in_chunks(variant):
        kind = row_class(town, "Body")
        es = [e for e in town.entities if town.archetypes.has(e, kind)]
        row_objects = [(e, town.archetypes.get(e, kind)) for e in es]
        return [(e, fields_of(row), row.mate) for e, row in row_objects]
    body = town.body
    if variant == "nobody":
        every = map(body.row, range(body.data.n))
        return [(0, fields_of(row), row.mate) for row in every]
    known: list[tuple[int, tuple[Any, ...], int]] = []
    for e in dict.fromkeys(body):
        if has(variant, "instances: many"):
            rows: Iterable[Any] = map(body.row, body.instances(e))
        else:
            rows = [body.row(body.require(e))]
        known += [(e, fields_of(row), row.mate) for row in rows]
    return known


def others(town: Any, variant: str) -> dict[int, int]:
    if in_chunks(variant, "Other"):
        kind = row_class(town, "Other")
        es = [e for e in town.entities if town.archetypes.has(e, kind)]
        return {e: town.archetypes.get(e, kind).v for e in es}
    return {e: town.other.row(town.other.require(e)).v for e in town.other}


def staying(town: Any, before: str, now: str) -> set[int]:
    """Return the owners whose rows stay."""
    owners = {owner for owner, _, _ in bodies(town, before)}
    if in_chunks(now) or has(now, "destroy: callback"):
        return {e for e in owners if town.entities.alive(e)}
    if has(now, "lookup: hash") or now == "nobody":
        return owners
    mask = (1 << entities_of(town).INDEX_BITS) - 1
    latest: dict[int, int] = {}
    for e in owners:
        latest[e & mask] = max(latest.get(e & mask, 0), e)
    return owners & set(latest.values())


def grouped(rows: list[tuple[int, tuple[Any, ...], int]]) -> dict[int, list[Any]]:
    rows_by_owner: dict[int, list[Any]] = {}
    for owner, fields, mate in rows:
        rows_by_owner.setdefault(owner, []).append((fields, mate))
    return rows_by_owner


def has_several(town: Any, before: str, now: str) -> bool:
    rows_by_owner = grouped(bodies(town, before))
    return any(len(rows_by_owner[e]) > 1 for e in staying(town, before, now))


PAIRS = [pair for pair in product(VARIANTS, VARIANTS) if pair[0] != pair[1]]


@pytest.mark.parametrize(("before", "now"), PAIRS)
def test_every_policy_as_every_other_one(before: str, now: str) -> None:
    if before == "nobody":
        with pytest.raises(ValueError, match="no entity owns"):
            loaded(lived(before, 1), schemas(now))
        return
    single = not has(now, "instances: many") and now != "nobody"
    town = lived(before, SEED, several=not single)
    new = loaded(town, schemas(now), drop=["body.entity"] if now == "nobody" else [])
    stays = staying(town, before, now)
    expected = [row for row in bodies(town, before) if row[0] in stays]
    if now == "nobody":
        values = sorted(fields for _, fields, _ in expected)
        assert sorted(fields for _, fields, _ in bodies(new, now)) == values
        return
    changed: dict[int, list[Any]] = {}
    for owner, fields, mate in expected:
        key = moved(town, new, owner)
        changed.setdefault(key, []).append((fields, moved(town, new, mate)))
    assert grouped(bodies(new, now)) == changed
    wanted = {moved(town, new, e): v for e, v in others(town, before).items()}
    if in_chunks(now, "Other"):
        wanted = {e: v for e, v in wanted.items() if new.entities.alive(e)}
    assert others(new, now) == wanted
    check_entities(town, new)
    check_structure(town, before, new, now)
    goes_on(new, now)


def check_entities(town: Any, new: Any) -> None:
    assert list(new.entities) == [moved(town, new, e) for e in town.entities]
    assert [moved(town, new, e) for e in town.entities.create_many(3)] == (
        new.entities.create_many(3).tolist()
    )


def check_structure(town: Any, before: str, new: Any, now: str) -> None:
    if in_chunks(before) or in_chunks(now):
        return
    if has(now, "partition"):
        check_partition(town, before, new, now)
    if has(now, "hierarchy"):
        check_hierarchy(town, before, new, now)
    if has(now, "groups"):
        pair = set(new.body) & set(new.other)
        assert set(new.pair.entity.tolist()) == pair
        assert new.body.data.entity[: new.pair.n].tolist() == new.pair.entity.tolist()
        assert new.other.data.entity[: new.pair.n].tolist() == new.pair.entity.tolist()
    both = has(before, "ids: true") and has(now, "ids: true")
    if both and has(before, "lookup: direct") == has(now, "lookup: direct"):
        check_ids(town, new, now)


def keys(town: Any) -> Iterator[tuple[int, Any]]:
    """Yield each row with what it is known by: its values are all different."""
    rows = list(range(town.body.data.n))
    if hasattr(town.body.data, "present"):
        rows = np.flatnonzero(town.body.data.present).tolist()
    for row in rows:
        yield row, fields_of(town.body.row(row))


def check_partition(town: Any, before: str, new: Any, now: str) -> None:
    active = {key: new.body.is_active(row) for row, key in keys(new)}
    if has(before, "partition"):
        assert active == {key: town.body.is_active(row) for row, key in keys(town) if key in active}
    else:
        assert set(active.values()) <= {has(now, "start: active")}


def check_hierarchy(town: Any, before: str, new: Any, now: str) -> None:
    known = dict(keys(new))
    rows = {key: row for row, key in known.items()}
    for row, key in keys(town):
        if key not in rows:
            continue
        parent, children = NIL, []
        if has(before, "hierarchy"):
            parent = town.body.parent(row)
            every = (fields_of(town.body.row(int(c))) for c in town.body.children(row))
            children = [child for child in every if child in rows]
        above = None if parent == NIL else fields_of(town.body.row(parent))
        now_above = new.body.parent(rows[key])
        assert known.get(now_above) == (above if above in rows else None)
        assert [known[int(c)] for c in new.body.children(rows[key])] == children


def check_ids(town: Any, new: Any, now: str) -> None:
    ids = {key: town.body.id_of(row) for row, key in keys(town)}
    rows = {key: row for row, key in keys(new)}
    for key, id_ in ids.items():
        assert new.body.resolve(id_) == rows.get(key, NIL)


def goes_on(new: Any, now: str) -> None:
    """Make everything happen to a world that can, to find what is wrong in it."""
    rng = Random(2)
    for _ in range(4):
        for e in new.entities.create_many(6).tolist():
            give(new, now, e, rng)
        change(new, now, rng)
        for e in rng.sample(list(new.entities), 8):
            new.destroy(e)
        new.gc()
    new.collect()
    for e in list(new.entities):
        new.destroy(e)
    new.collect()
    if not in_chunks(now) and not has(now, "manual") and not has(now, "die"):
        assert len(new.body) == 0


@pytest.mark.parametrize("before", [name for name in VARIANTS if has(name, "many")])
def test_several_instances_are_refused_where_there_may_be_one(before: str) -> None:
    for seed in range(9):
        town = lived(before, seed)
        if has_several(town, before, "sparse"):
            break
    with pytest.raises(ValueError, match=r"<bytes>: body.entity\[\d+\]: the entity \d+v\d+ "):
        loaded(town, schemas("sparse"))


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_only_grew_goes_on_as_before(variant: str) -> None:
    town = lived(variant, 3)
    grown = schemas(variant).replace("  size: u16", "  size: u16\n  more: i8")
    new = loaded(town, grown + "---\ncomponent: Newest\n")
    for _ in range(3):
        for each in (town, new):
            rng = Random(5)
            for e in each.entities.create_many(5).tolist():
                give(each, variant, e, rng)
                give_other(each, variant, e, rng)
            change(each, variant, rng)
            for e in rng.sample(list(each.entities), 5):
                each.destroy(e)
            each.gc()
        assert bodies(new, variant) == bodies(town, variant)
        if not in_chunks(variant):
            old, now = town.body, new.body
            assert now.version == old.version
            assert columns(now) == columns(old) | {"more": columns(now)["more"]}


def columns(manager: Any) -> dict[str, Any]:
    """Return all columns of the rows in use."""
    data = manager.data
    rows = data.present if hasattr(data, "present") else slice(0, data.n)
    names = [column.name for column in manager.LAYOUT]
    return {name: getattr(data, f"_{name}_column")[: data.n][rows].tolist() for name in names}
