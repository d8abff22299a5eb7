"""Saved data after changes of schemas: each rule, from one package to another."""

from __future__ import annotations

import math
import tracemalloc
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.snapshots.migration import migrate_saved
from ecsgen_runtime.snapshots.snapshot_format import SnapshotFormat

from tests.support import handmade_snapshot
from tests.support.schema_evolution import loaded, package, row_class, world

NIL = 0xFFFF_FFFF
KEEP = (bytes, bytes)


def body(fields: str, keys: str = "", rest: str = "") -> str:
    """Return a schema with one component."""
    return f"component: Body\nfields: {{{fields}}}\n{keys}\n{rest}"


def filled(text: str, count: int, **fields: Any) -> Any:
    """Return a world with rows of these fields."""
    town = world(text)
    town.body.create_many(town.entities.create_many(count), **fields)
    return town


def refused(old: Any, text: str, **options: Any) -> str:
    """Return why a package does not load what a world saves, without the file's name."""
    kind = package(text).World
    codecs = options.get("codecs")
    with pytest.raises(ValueError, match="<bytes>: ") as error:
        kind.load(old.to_bytes(codecs=codecs), **options)
    assert type(error.value).__name__ == "SnapshotError"
    return str(error.value).removeprefix("<bytes>: ")


def test_what_is_new_has_its_default_or_no_rows() -> None:
    old = filled(body("x: f32"), 3, x=[1, 2, 3])
    new = loaded(
        old,
        body(
            'x: f32, y: {type: u8, default: 7}, t: {type: "str[4]", default: hm}, o: object',
            rest="---\ncomponent: Fresh\nids: true\npartition: {start: active}\n"
            "---\ncomponent: Free\nowner: none\nfields: {a: i8}\n",
        ),
        codecs={"*": KEEP},
    )
    assert new.body.data.x.tolist() == [1, 2, 3]
    assert new.body.data.y.tolist() == [7, 7, 7]
    assert new.body.data.t.tolist() == [b"hm"] * 3
    assert new.body.data.o.tolist() == [None] * 3
    assert len(new.fresh) == len(new.free) == 0
    assert new.free.resolve(new.free.create(a=1)) == 0


def test_renamed_components_fields_enums_and_members_follow() -> None:
    old = world("""
component: PointMass
ids: true
fields: {v: f32, state: State, speed: "f32[2]"}
---
enum: State
values: {rest: 3, walk: 5, sleep: 9}
---
component: Arrow
fields: {target: id<PointMass>, state: State}
---
component: Position
---
world: Game
groups: {bodies: [PointMass, Position]}
""")
    es = old.entities.create_many(4)
    old.point_mass.create_many(es, v=[1, 2, 3, 4], state=[3, 5, 5, 9], speed=[[1, 2]] * 4)
    old.position.create_many(es[::2])
    old.arrow.create_many(es[:2], target=old.point_mass.id_of_many([2, 3]), state=5)
    ids = old.point_mass.id_of_many(np.arange(4))
    new = loaded(
        old,
        """
component: Body
renamed_from: [Mass, PointMass]
ids: true
fields:
  speed: {type: "f32[2]"}
  velocity: {type: f32, renamed_from: [w, v]}
  mode: {type: Mode, renamed_from: [state], default: hop}
---
enum: Mode
renamed_from: [State]
removed: [sleep]
values: {hop: 0, walking: {value: 1, renamed_from: [walk]}, rest: 2}
---
component: Arrow
fields: {target: id<Body>, state: Mode}
---
component: Position
---
world: Game
groups: {bodies: [Body, Position]}
""",
    )
    assert new.body.data.velocity.tolist() == old.point_mass.data.v.tolist()
    assert [int(m) for m in new.body.data.mode] == [
        {3: 2, 5: 1, 9: 0}[int(m)] for m in old.point_mass.data.state
    ]
    assert new.body.data.speed.tolist() == [[1, 2]] * 4
    assert new.body.id_of_many(np.arange(4)).tolist() == ids.tolist()
    assert new.arrow.data.target.tolist() == old.arrow.data.target.tolist()
    assert new.arrow.data.state.tolist() == [1, 1]
    assert new.bodies.entity.tolist() == old.bodies.entity.tolist()
    assert new.body.version == old.point_mass.version


def test_all_that_is_gone_is_refused_at_once_with_the_drop_that_loads() -> None:
    gone = 'mood: u8, tag: "str[4]", same: f32, mode: Mode'
    rest = "---\ncomponent: OldThing\n---\nenum: Mode\nvalues: [idle, sleep, run]\n"
    old = filled(body("x: f32, " + gone, rest=rest), 2, mood=[0, 3], tag="a", x=1, mode=[0, 1])
    old.old_thing.create_many(old.entities.create_many(2))
    now = body("x: f32, mode: Mode", rest="---\nenum: Mode\nvalues: [idle, run]\n")
    why = refused(old, now)
    drop = '["old_thing", "body.mood", "body.tag", "Mode.sleep"]'
    assert why == (
        "not in the schemas: old_thing, body.mood, body.tag, Mode.sleep (body.mode[1]); "
        "to keep them, write 'renamed_from: [OldThing]' where it is now, "
        "'renamed_from: [mood]' where it is now in 'Body', "
        "'renamed_from: [tag]' where it is now in 'Body', "
        "'renamed_from: [sleep]' where it is now in 'Mode', "
        "and build again, or put them elsewhere in migrate=; "
        f"drop={drop} loads without"
    )
    new = loaded(old, now, drop=["old_thing", "body.mood", "body.tag", "Mode.sleep", "nothing"])
    assert new.body.data.x.tolist() == [1, 1]
    assert new.body.data.mode.tolist() == [0, 0]
    assert "body.tag" in refused(old, now, drop=["old_thing", "body.mood", "Mode.sleep"])
    removed = now.replace("[idle, run]", "[idle, run]\nremoved: [sleep]")
    removed += "---\nworld: Game\nremoved: [OldThing]\n"
    new = loaded(old, removed.replace("fields:", "removed: [mood, tag, same]\nfields:"))
    assert new.body.data.mode.tolist() == [0, 0]


def test_a_member_that_is_gone_is_found_in_cold_cells_that_are_not_stored() -> None:
    mode = "x: f32, mode: {{type: 'Mode[2]', default: {0}, tags: [cold]}}"
    cold, rest = "cold: indirect\n", "---\nenum: Mode\nvalues: [idle, sleep, run]\n"
    old = filled(body(mode.format("[run, sleep]"), cold, rest=rest), 3)
    old.body.set_mode(0, (0, 0))
    now = body(mode.format("idle"), cold, rest="---\nenum: Mode\nvalues: [idle, sleep]\n")
    assert refused(old, now).startswith("not in the schemas: Mode.run (body.mode[1]); to keep it, ")
    new = loaded(old, now, drop=["Mode.run"])
    assert [new.body.mode(row) for row in range(3)] == [(0, 0), (0, 1), (0, 1)]
    old.body.data.cold.mode = 0
    for row in (1, 2):
        old.body.set_mode(row, (1, 1))
    assert loaded(old, now).body.mode(2) == (1, 1)  # no cell has it


def test_what_keeps_a_value_is_said_before_what_loses_it() -> None:
    """A new name that may be the old one is named if there is one alone, as by `breaking`."""
    rest = (
        "---\nenum: Mode\nvalues: {idle: 0, sleep: 1, run: 2}\n---\ncomponent: Cab\nfields: {a: i8}"
    )
    old = filled(body("fare: f32, tip: f64, mode: Mode", rest=rest), 2, fare=3, tip=1, mode=1)
    old.cab.create_many(old.entities.create_many(2))

    def way(fields: str, rest: str = rest) -> str:
        why = refused(old, body(fields, rest=rest))
        names, ways, drop = why.split("; ")
        assert names.startswith("not in the schemas: ")
        assert drop.startswith("drop=[")
        start, end = "to keep it, write ", ", and build again, or put it elsewhere in migrate="
        assert ways.startswith(start)
        assert ways.endswith(end)
        return ways[len(start) : -len(end)]

    where = "'renamed_from: [fare]' %s in 'Body'"
    assert way("price: f32, tip: f64, mode: Mode") == where % "at 'price'"
    assert way("z: i8, price: f32, tip: f64, mode: Mode") == where % "at 'price'"
    assert way("price: f64, tip: f64, mode: Mode") == where % "where it is now"
    assert way("a: f32, b: f32, tip: f64, mode: Mode") == where % "where it is now"
    assert way("price: {type: f32, renamed_from: [cost]}, tip: f64, mode: Mode") == (
        where % "where it is now"
    )
    fields = "fare: f32, tip: f64, mode: Mode"
    where = "'renamed_from: [sleep]' %s in 'Mode'"
    assert way(fields, rest.replace("sleep", "doze")) == where % "at 'doze'"
    assert way(fields, rest.replace("sleep: 1", "doze: 3")) == where % "where it is now"
    where = "'renamed_from: [Cab]' %s"
    assert way(fields, rest.replace("Cab", "Taxi")) == where % "at 'Taxi'"
    assert way(fields, rest.replace("Cab", "Taxi").replace("a: i8", "b: i8")) == (
        where % "where it is now"
    )
    new = loaded(
        old, body("price: {type: f32, renamed_from: [fare]}, tip: f64, mode: Mode", rest=rest)
    )
    assert new.body.data.price.tolist() == [3, 3]


def test_what_is_gone_is_not_missed_where_nothing_is_in_it() -> None:
    rest = "---\ncomponent: OldThing\nfields: {a: i8}\n---\nenum: Mode\nvalues: [idle, sleep]\n"
    gone = 'mood: {type: "f32[2]", default: .nan}, o: object, c: {type: i8, tags: [cold]}'
    old = filled(body(f"x: f32, mode: Mode, {gone}", "cold: indirect", rest), 3, x=2)
    new = loaded(
        old,
        body("x: f32, mode: Mode", rest="---\nenum: Mode\nvalues: [idle]\n"),
        codecs={"*": None},
    )
    assert new.body.data.x.tolist() == [2, 2, 2]
    signed = filled(body("x: f32, z: f32"), 1, z=-0.0)
    assert "body.z" in refused(signed, body("x: f32"))


def test_two_names_that_would_be_one_are_refused() -> None:
    old = filled(body("v: f32, w: f32"), 1, v=1, w=2)
    why = refused(old, body("x: {type: f32, renamed_from: [v, w]}"))
    assert why == "body: v and w would both be Body.x"
    two = world("component: One\n---\ncomponent: Two\n")
    two.one.create(two.entities.create())
    two.two.create(two.entities.create())
    assert "One and Two would both be Body" in refused(
        two, "component: Body\nrenamed_from: [One, Two]\n"
    )


@pytest.mark.parametrize(
    ("keys", "where"), [("", "x[1]"), ("cold: indirect", "cold.x[1]"), ("lookup: direct", "x[2]")]
)
def test_values_are_converted_or_refused_by_row(keys: str, where: str) -> None:
    old = world(body("x: {type: i32, tags: [cold]}, y: f32", keys))
    es = old.entities.create_many(6)[::2]
    old.body.create_many(es, x=[1, 300, -1], y=1.5)
    new = loaded(old, body("x: {type: f64, tags: [cold]}, y: f64", keys))
    assert [new.body.row(new.body.require(e)).x for e in es] == [1, 300, -1]
    why = refused(old, body("x: {type: u8, tags: [cold]}, y: f32", keys))
    assert why == f"body.{where}: 300 does not fit u8"
    keys, mode = keys.replace("cold: indirect", ""), "---\nenum: Mode\nvalues: [idle]\n"
    assert "is no number of Mode" in refused(old, body("x: {type: Mode}, y: f32", keys, mode))


def test_rows_in_messages_are_those_of_the_file() -> None:
    old = filled(body("x: i32"), 4, x=[500, 2, 300, 7])
    old.entities.destroy(old.body.data.entity[0])
    why = refused(old, body("x: u8", "destroy: callback"))
    assert why == "body.x[2]: 300 does not fit u8"
    old.body.data.x = [1, 7, 2, 7]
    why = refused(old, body("x: {type: i32, unique: true}", "destroy: callback"))
    assert why == (
        "body.x[3]: 7 is the value of row 1 too, and x is unique; make them different in migrate="
    )


def test_no_rule_is_no_error_without_rows() -> None:
    old = world(body('x: f32, e: entity, s: "f32[2]"'))
    now = body('x: "str[4]", e: bool, s: f32')
    loaded(old, now)
    old.body.create(old.entities.create())
    assert refused(old, now).startswith("body.x: no rule makes str[4] of f32")


def test_shapes_split_fields_and_defaults() -> None:
    old = filled(body('p: {type: "f32[3]", split: true}, q: "u8[2,2]"'), 2)
    old.body.data.p_x = [1, 2]
    old.body.data.p_z = [3, 4]
    old.body.data.q = [[[1, 2], [3, 4]]] * 2
    new = loaded(
        old, body('p: {type: "f64[4]", default: 9}, q: {type: "u8[2,3]", split: true, default: 5}')
    )
    assert new.body.data.p.tolist() == [[1, 0, 3, 9], [2, 0, 4, 9]]
    assert [new.body.q(0), new.body.q(1)] == [((1, 2, 5), (3, 4, 5))] * 2
    back = loaded(new, body('p: {type: "f64[5]", split: true}, q: "u8[2,3]"'))
    assert back.body.p(1) == (2, 0, 4, 9, 0)
    why = refused(new, body('p: "f32[2]", q: "u8[2,3]"'))
    assert why == "body.p[0]: 3.0 at [2] has no place in f32[2]"
    old.body.data.p_y = -0.0
    why = refused(old, body('p: "f32[1]", q: "u8[2,2]"'))
    assert why == "body.p[0]: -0.0 at [1] has no place in f32[1]"


def test_values_stay_where_defaults_change() -> None:
    cold = 'm: {type: f32, default: 1.0, tags: [cold]}, t: {type: "str[8]", tags: [cold]}'
    old = world(body(cold, "cold: indirect"))
    es = old.entities.create_many(4)
    old.body.create_many(es, m=[1, 2, 1, 1], t=["", "", "a", ""])
    old.body.set_m(1, 1.0)  # keeps its cold row
    changed = cold.replace("default: 1.0", "default: 3.0")
    new = loaded(old, body(changed, "cold: indirect"))
    assert [new.body.m(row) for row in range(4)] == [1, 1, 1, 1]
    assert new.body.t(2) == "a"
    assert new.body.data.cold.row.tolist() == [1, 2, 0, 3]
    new.body.create(new.entities.create())
    assert new.body.m(4) == 3.0
    assert loaded(old, body(cold, "cold: indirect")).body.data.cold.row.tolist() == [1, 2]
    inline = loaded(old, body(changed))
    assert inline.body.data.m.tolist() == [1, 1, 1, 1]
    assert loaded(inline, body(cold, "cold: indirect")).body.data.cold.row.tolist() == [2]


def test_a_cold_field_that_is_new_and_one_that_is_gone() -> None:
    old = filled(body("a: {type: i8, tags: [cold]}, b: i8", "cold: indirect"), 3, a=[0, 5, 0])
    fields = "c: {type: i8, default: 4, tags: [cold]}, b: i8, d: {type: object, tags: [cold]}"
    new = loaded(old, body(fields, "cold: indirect"), drop=["body.a"], codecs={"*": KEEP})
    assert [new.body.c(row) for row in range(3)] == [4, 4, 4]
    assert len(new.body.data.cold.row) == 1


COLD = "cold: indirect\nfields: {x: i8, far: {type: 'TYPE', default: DEFAULT, tags: [cold]}}"
TOMBSTONE = range(0, 40_000, 40)


@pytest.mark.parametrize(
    ("keys", "kind", "default"),
    [
        ("destroy: callback", "u64[64]", 1),  # rows go
        ("partition: {start: active}\ndestroy: callback", "u16[64]", 1),
        ("", "u16[2]", 2),  # defaults that are no more
    ],
)
def test_cold_cells_that_nobody_has_take_no_room(keys: str, kind: str, default: int) -> None:
    def text(keys: str, kind: str, default: int) -> str:
        fields = COLD.replace("TYPE", kind).replace("DEFAULT", str(default))
        return f"component: Body\n{keys}\n{fields}\n"

    old = filled(text("", "u64[64]", 1), 40_000)
    for row in range(0, 40_000, 16):
        old.body.set_far(row, (*(row % 9, 7), *[1] * 62))
    es = old.body.data.entity.copy()
    old.entities.destroy_many(es[TOMBSTONE])
    data, new = old.to_bytes(), package(text(keys, kind, default)).World
    new().to_bytes()  # what is imported at first
    tracemalloc.start()
    world = new.load(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(data)  # 512 bytes for each row would be six times as much
    for row in (16, 96, 17):
        far = world.body.far(world.body.require(es[row]))
        assert far[:2] == ((row % 9, 7) if row % 16 == 0 else (1, 1))
    assert (es[40] in world.body) == (not keys)


def test_objects_follow_their_rows() -> None:
    old = world(body("o: object, c: {type: object, tags: [cold]}", "cold: indirect\nlookup: hash"))
    es = old.entities.create_many(4)
    old.body.create_many(es, o=[b"a", None, b"", b"dd"])
    old.body.set_c(3, b"cold")
    old.entities.destroy(es[1])
    text = body(
        "w: {type: object, renamed_from: [o]}, c: {type: object, tags: [cold]}",
        "cold: indirect\ndestroy: callback",
    )
    new = loaded(old, text, codecs={"*": KEEP})
    assert new.body.data.w.tolist() == [b"a", b"", b"dd"]
    assert [new.body.c(row) for row in range(3)] == [None, None, b"cold"]
    apart = loaded(old, body("o: object, c: object", "lookup: direct"), codecs={"*": KEEP})
    assert apart.body.c(3) == b"cold"
    assert apart.body.o(2) == b""
    assert loaded(old, body("o: object, c: object"), codecs={"*": None}).body.o(0) is None


def test_id_fields_follow_ids_that_are_new() -> None:
    arrow = "---\ncomponent: Arrow\nfields: {at: id<Body>, all: 'id<Body>[2]'}\n"
    old = world(body("x: i8", "ids: true\nlookup: direct", arrow))
    es = old.entities.create_many(5)
    old.body.create_many(es, x=[0, 1, 2, 3, 4])
    old.body.destroy(2)
    old.body.create(es[2], x=22)
    ids = [old.body.id_of(row) for row in range(5)]
    stale = ids[2] - (1 << 32)
    old.body.destroy(0)
    old.arrow.create(es[0], at=ids[2], all=[stale, ids[0]])
    old.arrow.create(es[1], at=ids[4], all=[1 << 32 | 99, 2**64 - 1])
    new = loaded(old, body("x: i8", "ids: true", arrow))
    rows = new.body.resolve_many(new.arrow.data.at)
    assert [new.body.x(int(row)) for row in rows] == [22, 4]
    assert new.arrow.data.all.tolist() == [[0, 0], [0, 0]]
    back = loaded(new, body("x: i8", "ids: true\nlookup: direct", arrow))
    rows = back.body.resolve_many(back.arrow.data.at)
    assert rows.tolist() == [2, 4]


def test_rows_of_the_dead_give_their_slots_back() -> None:
    arrow = "---\ncomponent: Arrow\nfields: {at: id<Body>}\n"
    old = world(body("x: i8", "ids: true", arrow))
    es = old.entities.create_many(4)
    old.body.create_many(es, x=[0, 1, 2, 3])
    old.arrow.create_many(es, at=old.body.id_of_many([0, 1, 2, 3]))
    old.entities.destroy_many(es[:2])
    new = loaded(old, body("x: i8", "ids: true\ndestroy: callback", arrow))
    assert new.body.resolve_many(new.arrow.data.at).tolist() == [NIL, NIL, 0, 1]
    rows = new.body.create_many(new.entities.create_many(3))
    assert len(set(new.body.id_of_many(np.arange(5)).tolist())) == 5
    assert new.body.resolve_many(new.body.id_of_many(rows)).tolist() == rows.tolist()
    assert new.body.resolve_many(new.arrow.data.at).tolist() == [NIL, NIL, 0, 1]


def test_owners_are_forgotten_by_drop_alone() -> None:
    old = filled(body("x: i8"), 3, x=[1, 2, 3])
    now = body("x: i8", "owner: none")
    assert refused(old, now) == (
        "not in the schemas: body.entity; to keep it, write 'owner: entity' in 'Body', and build "
        'again, or put it elsewhere in migrate=; drop=["body.entity"] loads without'
    )
    new = loaded(old, now, drop=["body.entity"])
    assert new.body.data.x.tolist() == [1, 2, 3]
    assert refused(new, body("x: i8")) == (
        "body: no entity owns its 3 rows, and each needs one now; only migrate= can say whose they "
        "are: del old['Body'], then old.add('Body', entities, …)"
    )

    def owned(snapshot: Any) -> None:
        x = snapshot["Body"]["x"]
        del snapshot["Body"]
        snapshot.add("Body", es, x=x)

    es = new.entities.create_many(3)
    again = loaded(new, body("x: i8"), migrate=owned)
    assert again.body.data.x[again.body.lookup_many(es)].tolist() == [1, 2, 3]
    loaded(world(now), body("x: i8"))


def test_unique_values_are_checked_when_loaded() -> None:
    old = filled(body('x: f32, name: "str[4]"'), 4, x=[1, math.nan, math.nan, 1], name="a")
    why = refused(old, body('x: {type: f32, unique: true}, name: "str[4]"'))
    assert why.startswith("body.x[3]: 1.0 is the value of row 0 too, and x is unique; ")
    why = refused(old, body('x: f32, name: {type: "str[6]", unique: true}'))
    assert why.startswith("body.name[1]: 'a' is the value of row 0 too, and name is unique; ")
    assert "unique" in refused(old, body('x: f32, name: "str[4]", y: {type: u8, unique: true}'))
    old.body.data.x = [1, math.nan, math.nan, 2]
    new = loaded(old, body('x: {type: f64, unique: true}, name: "str[4]"'))
    assert new.body.find_x(2.0) == 3
    new.body.set_x(0, 1 + 1e-12)
    new.body.set_x(1, 1.0)
    assert "unique" in refused(new, body('x: {type: f32, unique: true}, name: "str[4]"'))


def test_rings() -> None:
    old = filled(body("x: i8", "ring: 8"), 8, x=range(8))
    old.body.create_many(old.entities.create_many(3), x=[8, 9, 10])
    assert refused(old, body("x: i8", "ring: 7")) == (
        "body: 8 rows do not fit a ring of 7; 'ring: 8' keeps all, or choose in migrate=: "
        "del old['Body'], then old.add('Body', entities, …)"
    )
    new = loaded(old, body("x: i8", "ring: 9\nlookup: hash"))
    assert [new.body.x(int(row)) for row in new.body.by_age()] == list(range(3, 11))
    new.body.create_many(new.entities.create_many(2), x=[11, 12])
    assert [new.body.x(int(row)) for row in new.body.by_age()] == list(range(4, 13))


def test_handles_of_other_bits() -> None:
    text = "x: i8, mate: entity, mates: 'entity[2]'"
    bits = "---\nworld: Game\nentity: {index_bits: %d, generation_bits: %d, min_free: 0}\n"
    old = world(body(text, rest=bits % (32, 32)))
    for _ in range(4):
        old.entities.destroy(old.entities.create())
    es = old.entities.create_many(5)
    assert old.entities.generation(es[0]) == 5
    old.body.create_many(es, x=range(5), mate=es[::-1], mates=0)
    old.body.set_mates(0, (int(es[0]), (9 << 32) | 1))
    new = loaded(old, body(text, rest=bits % (4, 3)))
    now = [g << 4 | i for g, i in ((5, 0), (1, 1), (1, 2), (1, 3), (1, 4))]
    assert new.body.data.entity.tolist() == now
    assert new.body.data.mate.tolist() == now[::-1]
    assert new.body.mates(0) == (now[0], 0)
    why = refused(old, body(text, rest=bits % (4, 2)))
    assert why.startswith("entities.handles[0]: the live entity 0v5 (21474836480) does")
    assert "entities.handles[4]" in refused(old, body(text, rest=bits % (2, 3)))
    old.entities.destroy_many(es)
    old.collect()
    new = loaded(old, body(text, rest=bits % (2, 2)))
    assert new.entities.create_many(3).tolist() == [2 << 2 | 1, 2 << 2 | 2, 2 << 2 | 3]
    with pytest.raises(MemoryError, match="1 are retired"):
        new.entities.create()
    back = loaded(new, body(text, rest=bits % (32, 32)))
    assert back.entities.create() == 1 << 32 | 4


def test_dead_owners_that_do_not_fit_the_new_bits() -> None:
    rest = "---\nworld: Game\nentity: {index_bits: %d}\n"
    old = world(body("x: i8, mate: entity", "ids: true", rest % 32))
    es = old.entities.create_many(6)
    old.body.create_many(es, x=range(6), mate=es)
    old.entities.destroy_many(es[3:])
    old.entities.destroy(es[0])
    new = loaded(old, body("x: i8, mate: entity", "ids: true", rest % 2))
    assert new.body.data.x.tolist() == [0, 1, 2, 3]
    rows = new.body.resolve_many(old.body.id_of_many(np.arange(6)))
    assert rows.tolist() == [0, 1, 2, 3, NIL, NIL]
    why = refused(old, body("x: i8, mate: entity", "destroy: manual", rest % 2))
    assert why == "body.entity[4]: the dead entity 4v1 (4294967300) does not fit the new bits; " + (
        "'entity: {index_bits: 32, generation_bits: 32}' keeps it"
    )
    less = loaded(old, body("x: i8, mate: entity", "destroy: callback", rest % 2))
    assert less.body.data.x.tolist() == [1, 2]


def test_rows_of_the_dead_leave_holes_where_rows_are_indices() -> None:
    old = world(body("x: i8, o: object", "lookup: direct\nids: true"))
    es = old.entities.create_many(6)
    old.body.create_many(es, x=range(1, 7), o=[b"%d" % k for k in range(6)])
    old.body.destroy(0)
    old.body.create(es[0], x=7, o=b"new")
    ids = old.body.id_of_many(np.arange(6))
    old.entities.destroy_many(es[[1, 4, 5]])
    text = body("x: i16, o: object", "lookup: direct\nids: true\ndestroy: callback")
    new = loaded(old, text, codecs={"*": KEEP})
    assert new.body.data.present.tolist() == [True, False, True, True]
    assert new.body.data.x.tolist() == [7, 0, 3, 4]
    assert new.body.data.o.tolist() == [b"new", None, b"2", b"3"]
    assert new.body.resolve_many(ids).tolist() == [0, NIL, 2, 3, NIL, NIL]
    row = new.body.create(new.entities.create())
    assert new.body.resolve(new.body.id_of(row)) == row


def test_worn_out_slots_stay_worn_out() -> None:
    old = world(body("x: i8", "ids: true"))
    es = old.entities.create_many(3)
    old.body.create_many(es, x=range(3))
    old.body.data._id_generation_column[1] = 0xFFFF_FFFF
    last = old.body.id_of(1)
    old.entities.destroy_many(es[:2])
    new = loaded(old, body("x: i8", "ids: true\ndestroy: callback"))
    assert new.body.resolve(last) == NIL
    rows = new.body.create_many(new.entities.create_many(3))
    assert new.body.id_of_many(rows).tolist() == [2 << 32, 1 << 32 | 3, 1 << 32 | 4]


def test_a_file_is_mapped_and_read_alike(tmp_path: Path) -> None:
    old = filled(body("x: f32, y: i8"), 100, x=3)
    path = tmp_path / "town.snap"
    old.save(path)
    before = path.read_bytes()
    kind = package(body("x: f64, y: i8, z: i8")).World
    for options in ({"mmap": True}, {"mmap": True, "verify": True}, {"verify": False}, {}):
        new = kind.load(path, **options)
        new.body.data.y += 1
        assert new.body.data.x.tolist() == [3] * 100
        assert new.body.data.y.tolist() == [1] * 100
    assert path.read_bytes() == before
    text = body("x: f32, y: {type: bool}")
    old.body.data.y[7] = 2
    old.save(path)
    with pytest.raises(ValueError, match=r"^town.snap: body.y\[7\]: 2 does not fit bool$"):
        package(text).World.load(path)


def test_groups_of_several_owners_of_an_index() -> None:
    two = "component: A\nlookup: hash\n---\ncomponent: B\nlookup: hash\n---\nworld: Game\n"
    old = world(two + "entity: {min_free: 0}\n")
    for _ in range(3):
        dies = old.entities.create()
        old.a.create(dies)
        old.b.create(dies)
        old.entities.destroy(dies)
    old.b.reorder([2, 0, 1])
    new = loaded(old, two + "entity: {min_free: 0}\ngroups: {pair: [A, B]}\n")
    assert new.pair.entity.tolist() == [1 << 32, 2 << 32, 3 << 32]
    assert new.b.data.entity.tolist() == new.a.data.entity.tolist()


def test_noted_entities_follow() -> None:
    old = filled(body("x: i8"), 3)
    old.destroy_later(old.body.data.entity[1:])
    new = loaded(old, body("y: i8", rest="---\nworld: Game\nentity: {index_bits: 8}\n"))
    assert new.flush() == 2
    assert len(new.entities) == 1


def test_components_of_chunks_go_and_change() -> None:
    both = "".join(
        f"---\ncomponent: {name}\nfields: {{v: i32, p: {{type: 'f32[2]', split: true}}}}\n"
        for name in "AB"
    )
    old = world(both + "---\nworld: Game\narchetypes: {components: [A, B]}\n")
    es = old.entities.create_many(6).tolist()
    for k, e in enumerate(es):
        if k % 2:
            old.archetypes.add(e, row_class(old, "A"), v=k, p=(k, -k))
        if k % 3:
            old.archetypes.add(e, row_class(old, "B"), v=10 * k)
    old.destroy(es[5])
    less = loaded(
        old,
        "---\ncomponent: B\nfields: {v: i64}\n---\nworld: Game\nremoved: [A]\n"
        "archetypes: {components: [B]}\n",
        drop=["b.p"],
    )
    kind = row_class(less, "B")
    has_it = {e: less.archetypes.get(e, kind).v for e in es if less.archetypes.has(e, kind)}
    assert has_it == {es[1]: 10, es[2]: 20, es[4]: 40}


def test_what_does_not_change_is_not_copied() -> None:
    old = handmade_snapshot.town()
    grown = deepcopy(old.schema)
    grown["components"]["Body"]["fields"]["more"] = handmade_snapshot.field("i8")
    new = migrate_saved(old, SnapshotFormat(), grown, {})
    assert new.schema == grown
    assert new.state == old.state
    same = {name for name, array in new.arrays.items() if array is old.arrays.get(name)}
    cold = {"villager.cold_row", "villager.cold.row", "villager.cold.nick"}  # laid out anew
    assert new.arrays.keys() - same == {"body.more"} | cold
    maps = {name for name in old.arrays if name.endswith("._map")}
    assert old.arrays.keys() - same == maps | cold


def test_what_is_dropped_is_a_list() -> None:
    old = filled(body("x: i8"), 4)
    with pytest.raises(TypeError, match="drop: wanted a list of names, not 'body'"):
        loaded(old, body(""), drop="body")
    assert len(loaded(old, body(""), drop=iter(["body.x", "world.mood"])).body) == 4


def test_an_attribute_whose_name_is_the_worlds_own_now() -> None:
    old = filled(body("x: i8"), 4)
    old.mood, old.dusk, old.day = 1, b"2", 3
    codecs = {"world.dusk": (bytes, bytes)}
    grown = body("x: i8") + "---\ncomponent: Mood\n---\ncomponent: Dusk\n"
    assert refused(old, grown, codecs=codecs) == (
        "'mood' is the world's own, and no attribute of a user's; "
        "'dusk' is the world's own, and no attribute of a user's; "
        'drop=["world.mood", "world.dusk"] loads without'
    )
    data = old.to_bytes(codecs=codecs)
    new = package(grown).World.load(data, drop=["world.mood", "world.dusk"])
    assert (len(new.mood), len(new.dusk), new.day) == (0, 0, 3)


def test_attributes_and_generators_stay() -> None:
    old = filled(body("x: i8"), 64)
    old.mood = {"a": [1, 2.5, None]}
    old.when = b"now"
    old.destroy_many(old.body.data.entity[:40])
    old.gc()
    data = old.to_bytes(codecs={"world.when": KEEP})
    new = package(body("x: i8, y: i8")).World.load(data, codecs={"world.when": KEEP})
    assert new.mood == old.mood
    assert new.when == b"now"
    while old.gc() + new.gc():
        assert new.body.data.entity.tolist() == old.body.data.entity.tolist()
