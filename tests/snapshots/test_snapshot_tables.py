"""The view of a snapshot that a user's `migrate(old)` has, and the changes that it may make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.schema_evolution import loaded, package, row_class, world

ENUMS = "---\nenum: Mode\nvalues: {idle: 0, walk: 3}\n"
FIELDS = """
  x: {type: f32, default: 2.0}
  pos: {type: "f32[3]", split: true}
  mode: Mode
  mate: entity
  name: {type: "str[8]", tags: [cold]}
  raw: "bytes[2]"
  thing: object
"""
OLD = f"component: Body\nfields:{FIELDS}{ENUMS}---\nworld: Game\nversion: 4\n"
CODECS = {"*": (bytes, bytes)}


def town(keys: str = "") -> Any:
    old = world(OLD.replace("fields:", f"{keys}\nfields:", 1))
    es = old.entities.create_many(7)[1::2]
    old.body.create_many(
        es,
        x=[1, 2, 3],
        pos=[[1, 2, 3]] * 3,
        mode=[0, 3, 0],
        mate=es,
        name=["a", "", "ü"],
        raw=[b"\0a", b"", b"b"],
        thing=[b"t", None, b""],
    )
    return old


def seen(old: Any, look: Any, text: str = OLD + "---\ncomponent: Another\n", **options: Any) -> Any:
    return loaded(old, text, migrate=look, codecs=CODECS, **options)


def cell(new: Any, field: str) -> list[Any]:
    return [getattr(new.body, field)(new.body.require(e)) for e in sorted(new.body)]


ALL_KEYS = ["", "cold: indirect", "lookup: direct", "instances: many"]


@pytest.mark.parametrize("keys", ALL_KEYS)
def test_what_is_there(keys: str) -> None:
    old = town(keys)
    calls: list[Any] = []

    def look(snapshot: Any) -> None:
        calls.append(snapshot)
        assert snapshot.version == 4
        assert snapshot.fingerprint == type(old).FINGERPRINT
        assert snapshot.schema["components"]["Body"]["fields"]["x"]["type"] == "f32"
        assert list(snapshot) == ["Body"]
        assert "Body" in snapshot
        assert "Nobody" not in snapshot
        table = snapshot["Body"]
        assert table is snapshot["Body"]
        assert table.rows == 3
        assert table.entity.tolist() == [1 << 32 | 1, 1 << 32 | 3, 1 << 32 | 5]
        assert list(table) == ["x", "pos", "mode", "mate", "name", "raw", "thing"]
        assert "x" in table
        assert "y" not in table
        assert table["x"].tolist() == [1, 2, 3]
        assert table["x"].dtype == np.float32
        assert table["pos"].tolist() == [[1, 2, 3]] * 3
        assert table["mode"].tolist() == [0, 3, 0]
        assert table["name"].tolist() == [b"a", b"", "ü".encode()]
        assert table["raw"].tolist() == [b"\0a", b"", b"b"]
        assert table["thing"].tolist() == [b"t", None, b""]
        assert "Body" in repr(snapshot)
        assert "3 rows" in repr(table)

    grown = OLD.replace("fields:", f"{keys}\nfields:", 1) + "---\ncomponent: Another\n"
    new = seen(old, look, grown)
    assert len(calls) == 1
    for field in ("x", "pos", "mode", "mate", "name", "raw", "thing"):
        assert cell(new, field) == cell(old, field)
    assert cell(new, "thing") == [b"t", None, b""]


def test_it_is_not_called_for_the_same_schemas() -> None:
    old = town()
    data = old.to_bytes(codecs=CODECS)

    def never(snapshot: Any) -> None:
        raise AssertionError

    type(old).load(data, codecs=CODECS, migrate=never)


@pytest.mark.parametrize("keys", ALL_KEYS)
def test_what_is_changed(keys: str) -> None:
    def change(snapshot: Any) -> None:
        table = snapshot["Body"]
        table["x"] *= 2
        table["x"][0] = 7
        table["pos"][:, 1] = -1
        table["name"] = np.array(["abc", "äö", ""])
        table["raw"] = np.array([b"xy", b"", b"\0z"])
        table["mate"] = table["mate"][::-1]
        table["mode"] = [3, 3, 0]
        table["thing"] = np.array([None, b"q", None], object)
        table["extra"] = np.arange(3, dtype=">i8")

    added = OLD.replace("fields:", f"{keys}\nfields:\n  extra: u8", 1)
    old = town(keys)
    new = seen(old, change, added)
    assert cell(new, "x") == [7, 4, 6]
    assert cell(new, "pos") == [(1, -1, 3)] * 3
    assert cell(new, "name") == ["abc", "äö", ""]
    assert cell(new, "raw") == [b"xy", b"\0\0", b"\0z"]
    assert cell(new, "mate") == cell(old, "mate")[::-1]
    assert [int(mode) for mode in cell(new, "mode")] == [3, 3, 0]
    assert cell(new, "thing") == [None, b"q", None]
    assert cell(new, "extra") == [0, 1, 2]
    assert cell(old, "x") == [1, 2, 3]


def test_arrays_are_converted_by_the_same_rules() -> None:
    text = OLD + "---\ncomponent: Another\n"
    for field, values, why in (
        ("x", np.array([1, 2**24 + 1, 0]), r"body.x\[1\]: 16777217 does not fit f32"),
        ("mode", [0, 3, 1], r"body.mode\[2\]: 1 is no number of Mode"),
        ("name", ["a", "b", "too long, this"], r"body.name\[2\]: 'too long, this' does not fit"),
        ("name", [b"a", b"\xff", b""], r"body.name\[1\]: b'\\xff' is not UTF-8"),
        ("mate", [-1, 0, 0], r"body.mate\[0\]: -1 does not fit u64"),
        ("mate", [1.0, 0, 0], r"body.mate: no rule makes entity of f64"),
        ("pos", np.ones((3, 2, 2)), r"body.pos: no rule makes f32\[3\] of f64\[2,2\]"),
        ("pos", np.ones((3, 4)), r"body.pos\[0\]: 1.0 at \[3\] has no place"),
    ):
        with pytest.raises(ValueError, match=why):
            seen(town(), lambda old, f=field, v=values: old["Body"].__setitem__(f, v), text)


def test_what_is_changed_in_place_must_be_what_the_field_holds() -> None:
    def change(field: str, value: Any) -> Any:
        def into(old: Any) -> None:
            old["Body"][field][1] = value

        return into

    for field, value, why in (
        ("mode", 1, r"body.mode\[1\]: 1 is no member"),
        ("name", b"\xff", r"body.name\[1\]: .*UTF-8"),
        ("name", b"a\0b", r"body.name\[1\]: .*NUL"),
    ):
        with pytest.raises(ValueError, match=why):
            seen(town(), change(field, value))
    with pytest.raises(TypeError, match=r"Body.thing: no field holds object"):
        seen(town(), change("thing", 5))
    unique = OLD.replace("default: 2.0", "default: 2.0, unique: true")
    old = loaded(town(), unique, codecs=CODECS)
    with pytest.raises(ValueError, match=r"body.x\[2\]: 3.0 is the value of row 1 too"):
        seen(old, change("x", 3), unique + "---\ncomponent: Another\n")


def test_enum_cells_that_are_only_looked_at_stay_members() -> None:
    def look(snapshot: Any) -> None:
        _ = snapshot["Body"]["mode"].tolist(), snapshot["Body"]["mate"]
        snapshot["Body"]["mode"][0] = 3

    new = seen(town(), look, OLD.replace("{idle: 0, walk: 3}", "{walk: 1, idle: 2}"))
    assert [int(mode) for mode in cell(new, "mode")] == [1, 1, 2]


def test_what_is_taken_away_is_not_missed() -> None:
    def change(snapshot: Any) -> None:
        table = snapshot["Body"]
        assert table.pop("x").tolist() == [1, 2, 3]
        del table["name"]
        assert "x" not in table
        assert "name" not in list(table)
        with pytest.raises(KeyError, match="no field 'x'; it has pos, mode"):
            table["x"]

    text = OLD.replace("  x: {type: f32, default: 2.0}\n", "").replace('"str[8]"', '"str[9]"')
    new = seen(town(), change, text)
    assert cell(new, "name") == ["", "", ""]
    again = seen(town(), lambda snapshot: snapshot["Body"].pop("x"))
    assert cell(again, "x") == [2, 2, 2]


def test_components_go_and_come() -> None:
    def change(snapshot: Any) -> None:
        body = snapshot["Body"]
        table = snapshot.add("Tag", body.entity[1:], label=["a", "b"])
        assert table.rows == 2
        assert table["label"].tolist() == ["a", "b"]
        assert "Tag" in snapshot
        snapshot.add("Free", None, v=[1, 2, 3, 4])
        snapshot.add("Part", np.repeat(body.entity, 2), v=np.arange(6))
        del snapshot["Body"]
        assert "Body" not in snapshot

    new = seen(
        town(),
        change,
        "component: Tag\nlookup: direct\nfields: {label: 'str[4]'}\n"
        "---\ncomponent: Free\nowner: none\nfields: {v: u8}\n"
        "---\ncomponent: Part\ninstances: many\nids: true\nfields: {v: u8}\n",
    )
    es = list(new.entities)
    assert [new.tag.label(new.tag.require(e)) for e in (es[3], es[5])] == ["a", "b"]
    assert new.free.data.v.tolist() == [1, 2, 3, 4]
    assert [new.part.v(row) for row in new.part.instances(es[3])] == [2, 3]


@pytest.mark.parametrize(
    "keys",
    [
        "cold: indirect",
        "destroy: callback\nids: true",
        "lookup: direct\nids: true",
        "lookup: hash\nring: 64",
        "instances: many\npartition: {start: active}\nhierarchy: {orphans: root}\nids: true",
        "owner: none",
    ],
)
def test_a_component_that_stays_is_emptied(keys: str) -> None:
    fields = "{x: {type: f32, default: 2.0}, name: {type: 'str[4]', tags: [cold]}}"
    text = f"component: Body\n{keys}\nfields: {fields}\n---\nworld: Game\n"
    old, new = world(text), package(text + "version: 1\n").World()
    for each in (old, new):
        es = each.entities.create_many(6)
        if each is old:
            each.body.create_many(3 if "none" in keys else es[1::2], name="ann")
        each.entities.destroy(es[1])
    emptied = loaded(old, text + "version: 1\n", migrate=lambda old: old.__delitem__("Body"))
    assert emptied.to_bytes() == new.to_bytes()


def test_chunks_are_emptied_of_a_component_that_stays() -> None:
    text = (
        "component: Body\nfields: {x: f32}\n---\ncomponent: Tag\n---\nworld: Game\n"
        "archetypes: {components: [Body, Tag]}\n"
    )
    old = world(text)
    old.archetypes.create([row_class(old, "Body")], 3)
    both = old.archetypes.create([row_class(old, "Body"), row_class(old, "Tag")], 2)
    emptied = loaded(old, text + "version: 1\n", migrate=lambda old: old.__delitem__("Body"))
    (chunk,) = emptied.archetypes.chunks()
    assert chunk.entity.tolist() == both.tolist()
    assert not any(emptied.archetypes.has(e, row_class(emptied, "Body")) for e in emptied.entities)


def test_ids_of_what_was_taken_away_lead_nowhere() -> None:
    text = (
        "component: Tile\nowner: none\nfields: {key: u8}\n---\n"
        "component: Pin\nfields: {tile: id<Tile>}\n---\nworld: Game\n"
    )
    old = world(text)
    old.spawn(3, pin={"tile": old.tile.create_many(3, key=[1, 2, 3])})
    emptied = loaded(old, text + "version: 1\n", migrate=lambda old: old.__delitem__("Tile"))
    assert emptied.pin.data.tile.tolist() == [0, 0, 0]


def test_components_come_to_chunks() -> None:
    def change(snapshot: Any) -> None:
        snapshot.add("Tag", snapshot["Body"].entity[1:], v=[1, 2])

    text = OLD.replace("version: 4", "version: 5\narchetypes: {components: [Tag, Body]}")
    new = seen(town(), change, "component: Tag\nfields: {v: u8}\n---\n" + text)
    es = list(new.entities)
    kinds = row_class(new, "Tag"), row_class(new, "Body")
    assert [new.archetypes.has(e, kinds[0]) for e in es[1::2]] == [False, True, True]
    assert new.archetypes.get(es[5], kinds[0]).v == 2
    assert new.archetypes.get(es[5], kinds[1]).x == 3

    def look(snapshot: Any) -> None:
        assert snapshot["Body"].rows == 3
        assert snapshot["Body"].entity.tolist() == [es[1], es[3], es[5]]
        snapshot["Body"]["x"] += 1
        del snapshot["Tag"]

    less = loaded(
        new,
        OLD.replace("version: 4", "archetypes: {components: [Body]}"),
        migrate=look,
        codecs=CODECS,
    )
    assert [less.archetypes.get(e, row_class(less, "Body")).x for e in es[1::2]] == [2, 3, 4]


def test_the_dead_and_the_repeated_are_as_everywhere() -> None:
    def change(snapshot: Any) -> None:
        snapshot.add("Tag", [1 << 32, 1 << 32 | 1], v=[1, 2])

    old = town()
    old.entities.destroy(1 << 32)

    def tag(keys: str) -> str:
        return f"component: Tag\n{keys}\nfields: {{v: u8}}\n---\n" + OLD

    assert len(seen(old, change, tag("")).tag) == 2
    assert seen(old, change, tag("destroy: callback")).tag.data.v.tolist() == [2]

    def twice(snapshot: Any) -> None:
        snapshot.add("Tag", [1 << 32 | 1] * 2, v=[1, 2])

    with pytest.raises(ValueError, match=r"has several instances, .*; 'instances: many' keeps all"):
        seen(old, twice, tag(""))
    assert len(seen(old, twice, tag("instances: many")).tag) == 2


@pytest.mark.parametrize(
    ("change", "error", "why"),
    [
        (lambda old: old["Nobody"], KeyError, "no component 'Nobody'; there are Body"),
        (lambda old: old.__delitem__("Nobody"), KeyError, "no component 'Nobody'"),
        (lambda old: old["Body"]["y"], KeyError, "Body has no field 'y'"),
        (lambda old: old["Body"].pop("y"), KeyError, "Body has no field 'y'"),
        (lambda old: old["Body"].__delitem__("y"), KeyError, "Body has no field 'y'"),
        (lambda old: old["Body"].__setitem__("x", [1, 2]), ValueError, "Body.x: 2 values for 3"),
        (lambda old: old["Body"].__setitem__("x", 1.0), ValueError, "Body.x: one value for 3"),
        (lambda old: old["Body"].__setitem__("a b", [1] * 3), ValueError, "'a b' is no name"),
        (lambda old: old["Body"].__setitem__("entity", [1] * 3), ValueError, "owners are"),
        (lambda old: old["Body"].__setitem__("x", [1j] * 3), TypeError, "complex128"),
        (lambda old: old["Body"].__setitem__("x", [{}] * 3), TypeError, "object"),
        (lambda old: old["Body"].__setitem__("x", [["a"]] * 3), TypeError, "shape"),
        (lambda old: old["Body"].__setitem__("x", np.ones((3, 0))), TypeError, "shape"),
        (lambda old: old.add("Body", []), ValueError, "a component 'Body' already"),
        (lambda old: old.add("Tag", [9 << 32]), ValueError, "never created"),
        (lambda old: old.add("Tag", [0]), ValueError, "never created"),
        (lambda old: old.add("Tag", [1.5]), TypeError, "integers"),
        (lambda old: old.add("Tag", 1), ValueError, "shape"),
        (lambda old: old.add("Tag", None), ValueError, "how many rows"),
        (lambda old: old.add("Tag", [1 << 32], v=[1, 2]), ValueError, "Tag.v: 2 values for 1"),
        (lambda old: old["Body"].entity.__setitem__(0, 1), ValueError, "read-only"),
        (lambda old: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_mistakes_are_errors_that_say_so(change: Any, error: type[Exception], why: str) -> None:
    data = town().to_bytes(codecs=CODECS)
    kind = package(OLD + "---\ncomponent: Another\n").World
    with pytest.raises(error, match=why) as caught:
        kind.load(data, codecs=CODECS, migrate=change)
    assert type(caught.value) is error


def test_new_fields_may_have_names_of_columns() -> None:
    def change(old: Any) -> None:
        old["Body"]["pos_x"] = [7, 8, 9]

    text = OLD.replace("fields:", "fields:\n  pos_x: u8", 1)
    text = text.replace(", split: true", "")
    new = seen(town(), change, text)
    assert cell(new, "pos_x") == [7, 8, 9]
    assert cell(new, "pos") == [(1, 2, 3)] * 3


def test_what_is_added_must_be_known() -> None:
    with pytest.raises(ValueError, match=r'drop=\["tag", "body.y"\] loads without'):
        seen(town(), lambda old: (old.add("Tag", [1 << 32]), old["Body"].__setitem__("y", [1] * 3)))
