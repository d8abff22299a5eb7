"""Worlds as files: codecs, attributes, paths and mapped pages, as users see them."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.snapshots import documents
from safetensors.numpy import load as load_safetensors

from tests.fuzz_snapshots import mended, taken_apart
from tests.support.schema_evolution import through_bytes
from tests.support.world_package import world_package

SCHEMA = """
world: Town
archetypes: {components: [Stall]}
---
component: Sign
instances: many
fields: {text: "str[8]", paint: object}
---
component: Loot
cold: indirect
fields: {amount: u8, thing: {type: object, tags: [cold]}, drop: {type: u16, tags: [cold]}}
destroy: callback
---
component: Stall
fields: {wares: object, price: f32}
---
component: Rock
owner: none
fields: {mass: f32}
release: true
"""

package = world_package(SCHEMA, "saved_town")
Town = package.Town
SnapshotError = package.SnapshotError
TEXT = (str.encode, bytes.decode)
COLUMNS = ("sign.paint", "loot.thing", "stall.wares")
CODECS = dict.fromkeys(COLUMNS, TEXT)


def town() -> Any:
    """Return a world with objects in every kind of column."""
    w = Town()
    es = w.spawn(3, sign={"text": "Inn", "paint": ["red", None, "blue"]}, loot={})
    w.loot.set_thing(1, "sword")
    w.archetypes.create([package.Stall], 2, stall={"wares": ["fish", None], "price": [1, 2]})
    w.sign.create(es[0], text="Bar", paint="")
    w.rock.create_many(5, mass=np.arange(5))
    return w


def test_objects_go_through_codecs() -> None:
    w = town()
    again = Town.load(w.to_bytes(codecs=CODECS), codecs=CODECS)
    assert again.sign.data.paint.tolist() == ["red", None, "blue", ""]
    assert [again.loot.thing(row) for row in range(3)] == [None, "sword", None]
    chunks = [chunk.stall.wares.tolist() for chunk in again.archetypes.chunks()]
    assert chunks == [["fish", None]]
    assert again.to_bytes(codecs=CODECS) == w.to_bytes(codecs=CODECS)


def test_codecs_that_are_missing_are_named_at_once() -> None:
    for w in (town(), Town()):  # whether there are rows or not
        with pytest.raises(SnapshotError) as caught:
            w.to_bytes(codecs={"loot.thing": TEXT})
        message = str(caught.value)
        assert message.startswith("<bytes>: no codec for sign.paint, stall.wares; give codecs=")
        data = w.to_bytes(codecs=CODECS)
        with pytest.raises(SnapshotError, match=r"no codec for loot\.thing, sign\.paint, stall"):
            Town.load(data)
        assert len(Town.load(data, codecs={"*": TEXT}).sign) == len(w.sign)


def test_columns_are_left_out() -> None:
    data = town().to_bytes(codecs={"*": TEXT, "sign.paint": None})
    assert "sign.paint" not in load_safetensors(data)
    again = Town.load(data, codecs={"*": TEXT})
    assert again.sign.data.paint.tolist() == [None] * 4
    assert again.loot.thing(1) == "sword"
    nothing = Town.load(data, codecs={"*": None})
    assert nothing.loot.thing(1) is None
    assert len(nothing.loot) == 3


@pytest.mark.parametrize("use", [Town.load, lambda data, **options: town().to_bytes(**options)])
def test_codecs_that_are_wrong(use: Callable[..., object]) -> None:
    data = town().to_bytes(codecs=CODECS)
    for name in ("sign.text", "sign.nothing", "rock.mass", "nothing.at_all", ""):
        with pytest.raises(ValueError, match="no column of objects") as caught:
            use(data, codecs={**CODECS, name: TEXT})
        assert not isinstance(caught.value, SnapshotError)
    for codec in (str.encode, (str.encode,), (1, 2), "*", (str.encode, bytes.decode, 3)):
        with pytest.raises(TypeError, match="takes a pair"):
            use(data, codecs={**CODECS, "sign.paint": codec})
    with pytest.raises(TypeError, match="wanted a dict"):
        use(data, codecs=[TEXT])


def test_what_codecs_raise_passes_through() -> None:
    def fail(value: Any) -> Any:
        raise KeyError("mine")

    data = town().to_bytes(codecs=CODECS)
    with pytest.raises(KeyError, match="mine"):
        town().to_bytes(codecs={**CODECS, "loot.thing": (fail, fail)})
    with pytest.raises(KeyError, match="mine"):
        Town.load(data, codecs={**CODECS, "stall.wares": (fail, fail)})
    with pytest.raises(TypeError, match=r"codec of sign\.paint made str, not bytes"):
        town().to_bytes(codecs={**CODECS, "sign.paint": (str, str)})


JSON = [None, True, 0, -3, 2**70, 1.5, -0.0, "é\ud800", [], [1, [2.0, None]], {"a": {"b": [True]}}]


def test_attributes_that_are_json() -> None:
    w = Town()
    for number, value in enumerate(JSON):
        setattr(w, f"value{number}", value)
    again = Town.load(w.to_bytes(codecs=CODECS), codecs=CODECS)
    for number, value in enumerate(JSON):
        loaded = getattr(again, f"value{number}")
        assert repr(loaded) == repr(value)
        assert type(loaded) is type(value)


class Odd(int):
    """An int that JSON would give back as another."""


RING: list[Any] = []
RING.append(RING)
OTHERS = [
    *(float("nan"), float("inf"), (1, 2), {1: 2}, {"a": {3}}, b"x", Odd(3), np.float64(1)),
    *(np.array(["x"]), [Odd(1)], RING, 10**5000, object()),
]


@pytest.mark.parametrize("value", OTHERS, ids=lambda value: type(value).__name__)
def test_attributes_that_are_not_json_need_codecs(value: Any) -> None:
    w = Town()
    w.other, w.plain = value, 1
    with pytest.raises(SnapshotError, match=r"no codec for world\.other; give"):
        w.to_bytes(codecs=CODECS)
    codecs = {**CODECS, "world.other": (lambda it: b"bytes", bytes.decode)}
    data = w.to_bytes(codecs=codecs)
    assert load_safetensors(data)["world.other"].tobytes() == b"bytes"
    again = Town.load(data, codecs=codecs)
    assert (again.other, again.plain) == ("bytes", 1)
    with pytest.raises(SnapshotError, match=r"no codec for world\.other"):
        Town.load(data, codecs=CODECS)
    assert not hasattr(Town.load(data, codecs={**CODECS, "world.other": None}), "other")
    assert not hasattr(Town.load(w.to_bytes(codecs={"*": None}), codecs=CODECS), "other")


def deep(levels: int) -> list[Any]:
    nested: list[Any] = []
    for _ in range(levels - 1):
        nested = [nested]
    return nested


def test_attributes_of_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that can't be loaded again are not saved, and the message names them."""
    monkeypatch.setattr(documents, "_FEW", 1 << 12)
    w = Town()
    w.small, w.path, w.deep = [[1]], [[0.5, 1.5] for _ in range(1_000)], deep(200)
    w.shared = [deep(199)] * 9
    w.shared[0] = {"text": '[{"' * 3_000}
    again = Town.load(w.to_bytes(codecs=CODECS), codecs=CODECS)
    assert vars(again)["path"] == w.path
    assert (again.deep, again.shared) == (w.deep, w.shared)
    w.deep = deep(201)
    with pytest.raises(SnapshotError, match=r"no codec for world\.deep; "):
        w.to_bytes(codecs=CODECS)
    w.deep, w.large = [], [[] for _ in range(20_000)]
    message = (
        r"^<bytes>: world\.large: .* lists and .* objects are too many for .*; give it a codec$"
    )
    for verify in (True, False):
        with pytest.raises(SnapshotError, match=message):
            w.to_bytes(codecs=CODECS, verify=verify)
    codecs = {**CODECS, "world.large": (lambda value: repr(value).encode(), bytes.decode)}
    assert Town.load(w.to_bytes(codecs=codecs), codecs=codecs).large == repr(w.large)


def test_bools_of_array_attributes_are_looked_at_as_bytes() -> None:
    w = package.World()
    w.seen = np.array([[0, 1], [2, 0]], np.uint8).view(np.bool_)
    loaded = package.World.load(w.to_bytes(codecs={"*": None}), codecs={"*": None})
    assert loaded.seen.view(np.uint8).tolist() == [[0, 1], [1, 0]]
    w.seen, w.once = np.array([[True, False], [True, True]]), np.array(True)
    w = package.World.load(w.to_bytes(codecs={"*": None}), codecs={"*": None})
    assert (w.seen.tolist(), w.once.tolist()) == ([[True, False], [True, True]], True)


def test_attributes_may_have_any_name_that_python_takes() -> None:
    w = Town()
    for name in ("ünit", "℘", "a·b", "x̄"):
        setattr(w, name, name)
        for codecs in (CODECS, {**CODECS, f"world.{name}": TEXT}):
            assert getattr(Town.load(w.to_bytes(codecs=codecs), codecs=codecs), name) == name


def test_slots_and_attributes_of_subclasses() -> None:
    class Mine(Town):  # type: ignore[misc, valid-type]
        __slots__ = ("_turn", "unset")
        score = 0

        def __init__(self) -> None:
            super().__init__()
            self._turn = 1

    w: Any = Mine()
    w._turn, w.score = 7, 5
    again = through_bytes(w)
    assert type(again) is Mine
    assert (again._turn, again.score) == (7, 5)
    assert not hasattr(again, "unset")


def test_worlds_that_are_not_empty_at_first() -> None:
    class Peopled(Town):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            self.spawn(3)

    with pytest.raises(TypeError, match=r"Peopled\(\) is not empty"):
        through_bytes(Peopled())


KINDS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def drawn(kind: str) -> Any:
    world = Town()
    world.rng = np.random.Generator(getattr(np.random, kind)(3))
    world.rng.random(5, np.float32)
    return world


@pytest.mark.parametrize("kind", KINDS)
def test_generators_go_on(kind: str) -> None:
    world = drawn(kind)
    loaded = Town.load(world.to_bytes(codecs=CODECS), codecs=CODECS)
    assert loaded.rng.random(999).tolist() == world.rng.random(999).tolist()


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("MT19937", "state pos", 625),
        ("MT19937", "state pos", -1),
        ("MT19937", "state pos", None),
        ("MT19937", "state key", [1] * 623),
        ("MT19937", "state key", [1] * 625),
        ("Philox", "buffer_pos", 5),
        ("Philox", "buffer_pos", -1),
        ("PCG64", "has_uint32", True),
        ("PCG64", "more", 1),
        ("PCG64", "state", []),
        ("PCG64", "bit_generator", "Other"),
        ("PCG64", "state inc", 2**128),
        ("SFC64", "state state", [1, 2, 3]),
        ("SFC64", "state state", [1, 2, 3, 4.5]),
        ("SFC64", "state state", [1, 2, 3, 2**64]),
    ],
)
def test_no_generator_of_a_file_reads_beyond_its_words(kind: str, path: str, value: Any) -> None:
    parts = taken_apart(drawn(kind).to_bytes(codecs=CODECS))
    *folders, key = path.split()
    state = parts.said["__metadata__"]["state"]["generators"]["rng"]
    for folder in folders:
        state = state[folder]
    state[key] = value
    with pytest.raises(SnapshotError, match=r"world\.rng: is no state of a random generator"):
        Town.load(mended(parts), codecs=CODECS)


def forged(change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return the file of an empty world with other attributes, which is right all the same."""
    parts = taken_apart(Town().to_bytes(codecs=CODECS))
    change(parts.said["__metadata__"]["state"]["attributes"])
    return mended(parts)


NOT_USERS = ["entities", "sign", "spawn", "load", "_managers", "READ_ONLY", "__class__", "__dict__"]


@pytest.mark.parametrize("name", [*NOT_USERS, "no name", ""])
def test_attributes_of_files_are_no_parts_of_the_world(name: str) -> None:
    data = forged(lambda attributes: attributes.update({name: 1}))
    with pytest.raises(SnapshotError, match=repr(name)):
        Town.load(data, codecs=CODECS)


def test_attributes_of_files_hide_no_methods() -> None:
    class Mine(Town):  # type: ignore[misc, valid-type]
        def step(self) -> None:
            """Be called."""

    data = forged(lambda attributes: attributes.update(step=1))
    assert Town.load(data, codecs=CODECS).step == 1
    with pytest.raises(SnapshotError, match="'step' is a method of Mine"):
        Mine.load(data, codecs=CODECS)
    assert len(Mine.load(data, codecs=CODECS, drop=["world.step"]).entities) == 0


def test_attributes_that_became_properties() -> None:
    class Mine(Town):  # type: ignore[misc, valid-type]
        @property
        def days(self) -> int:
            return 7

        @property
        def half_days(self) -> int:
            return 14

        @half_days.setter
        def half_days(self, count: int) -> None:
            self.counted = count

    old = Town()
    old.days = old.half_days = 3
    data = old.to_bytes(codecs=CODECS)
    with pytest.raises(SnapshotError, match="'days' is a property of Mine with no setter; drop="):
        Mine.load(data, codecs=CODECS)
    assert Mine.load(data, codecs=CODECS, drop=["world.days"]).counted == 3


def test_noted_deaths_are_saved() -> None:
    w = town()
    es = w.entities.live()
    w.destroy_later(es[:2])
    w.destroy_later(int(es[0]))
    again = through_bytes(w)
    assert again.flush() == w.flush() == 2
    assert again.entities.live().tolist() == w.entities.live().tolist()


def test_not_inside_of_callbacks() -> None:
    w = town()
    refused = []

    def save(_: object) -> None:
        with pytest.raises(package.StructureLockedError):
            w.to_bytes(codecs=CODECS)
        refused.append(True)

    w.entities.on_destroy(save)
    w.rock.on_release(save)
    w.destroy(w.entities.live()[0])
    w.rock.clear()
    assert len(refused) == 2
    with w.sign.locked(), w.loot.locked(), w.archetypes.locked():
        w.to_bytes(codecs=CODECS)


def test_saving_changes_nothing() -> None:
    w = town()
    version, buffer = w.sign.version, w.sign.data.buffer
    view = w.loot.data.amount
    first = w.to_bytes(codecs=CODECS)
    assert w.to_bytes(codecs=CODECS) == first
    assert w.sign.version == version
    assert w.sign.data.buffer is buffer
    assert np.shares_memory(view, w.loot.data.buffer)


def test_nothing_that_was_removed_is_in_a_file() -> None:
    w = Town()
    es = w.spawn(3, sign={"text": ["keep", "secret", "secret"], "paint": "secret"})
    w.sign.remove_many(es[1:])
    w.sign.set_paint(0, None)
    assert b"secret" not in w.to_bytes(codecs=CODECS)


def test_files_and_paths(tmp_path: Path) -> None:
    w = town()
    data = w.to_bytes(codecs=CODECS)

    file = io.BytesIO()
    w.save(file, codecs=CODECS)
    assert file.getvalue() == data
    w.save(str(tmp_path / "a.snap"), codecs=CODECS, sync=False)
    w.save(tmp_path / "b.snap", codecs=CODECS)
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {data}
    for source in (io.BytesIO(data), tmp_path / "a.snap", str(tmp_path / "b.snap")):
        assert Town.load(source, codecs=CODECS).to_bytes(codecs=CODECS) == data


def test_mapped_columns(tmp_path: Path) -> None:
    path = tmp_path / "town.snap"
    w = Town()
    w.rock.create_many(3000, mass=np.arange(3000))
    w.spawn(3000, loot={})
    w.save(path, codecs=CODECS)
    data = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for verify in (None, True, False):
            again = Town.load(path, mmap=True, verify=verify, codecs=CODECS)
            assert again.rock.data.mass.sum() == np.arange(3000).sum()
            again.rock.data.mass *= 2
            again.rock.create(mass=1)  # moves into memory of its own
            again.loot.create(again.entities.create(), amount=3)
            again.collect()
    assert path.read_bytes() == data
    again = Town.load(path, mmap=True, codecs=CODECS)
    held = again.rock.data.mass
    with pytest.warns(package.StaleViewWarning, match="RockManager"):
        again.rock.create_many(100)
    assert held.sum() == np.arange(3000).sum()
    again.save(path, codecs=CODECS)  # over the file that is mapped
    assert len(Town.load(path, codecs=CODECS).rock) == 3100
    for source in (data, io.BytesIO(data)):
        with pytest.raises(ValueError, match="mapped"):
            Town.load(source, mmap=True, codecs=CODECS)


def test_loaded_managers_have_the_smallest_capacity() -> None:
    w = town()
    w.rock.reserve(10_000)
    again = through_bytes(w)
    assert [each.capacity for each in (again.rock, again.sign, again.loot)] == [64] * 3


def test_tensors_are_what_users_expect() -> None:
    w = town()
    w.rock.destroy_id(next(iter(w.rock)))
    tensors = load_safetensors(w.to_bytes(codecs=CODECS))
    assert tensors["rock.mass"].tolist() == w.rock.data.mass.tolist()
    assert tensors["sign.text"].shape == (4, 8)
    assert tensors["loot.cold.row"].tolist() == [1]
    assert tensors["loot.cold.drop"].tolist() == [0]
    assert tensors["loot.cold.thing"].tobytes() == b"sword"
    assert tensors["stall.price"].tolist() == [1, 2]
    assert tensors["stall.wares._lengths"].tolist() == [4, -1]
    assert tensors["archetypes.entity"].tolist() == [
        int(e) for chunk in w.archetypes.chunks() for e in chunk.entity
    ]


def test_the_fingerprint_is_the_schemas() -> None:
    assert len(Town.FINGERPRINT) == 64
    assert odd.Odd.FINGERPRINT != Town.FINGERPRINT
    numba = world_package(SCHEMA, "saved_numba_town", "numba").Town
    assert numba.FINGERPRINT == Town.FINGERPRINT
    data = town().to_bytes(codecs=CODECS)
    assert numba.load(data, codecs=CODECS).to_bytes(codecs=CODECS) == data


ODD_SCHEMA = """
world: Odd
archetypes: {components: [Crate]}
groups: {pair: [Sword, Shield]}
---
enum: Mode
values: {off: 0, on: 1, idle: 2}
---
enum: Code
values: {ok: 200, lost: 404}
---
enum: Large
values: {none: 0, all: 18446744073709551615}
---
enum: Access
flags: true
values: {read: 1, write: 4}
---
component: Crate
fields: {mode: Mode, label: "str[5]"}
---
component: Sword
fields: {sharp: bool, mode: Mode}
---
component: Shield
fields: {access: Access}
---
component: Spot
lookup: direct
fields: {code: Code, name: "str[3]"}
---
component: Folk
cold: indirect
fields: {awake: "bool[2]", nick: {type: "str[4]", tags: [cold]}, rank: {type: Code, tags: [cold]}}
---
component: Part
instances: many
fields: {codes: "Code[2]", pair: {type: "bool[2]", split: true}, size: Large, letter: "str[1]"}
---
component: Spark
owner: none
fields: {modes: {type: "Mode[3]", split: true}, raw: "bytes[2]", of: "id<Spark>", who: entity,
  tiny: i8, x: f32}
"""
odd = world_package(ODD_SCHEMA, "saved_odd")
OddError = odd.SnapshotError


def odd_world() -> Any:
    """Return a world with three rows in all columns, and one of more holes."""
    w = odd.Odd()
    es = w.spawn(4, sword={}, shield={}, spot={}, folk={"nick": list("abcd")}, part={})
    w.spot.remove(es[1])
    w.archetypes.create([odd.Crate], 3)
    w.spark.create_many(3)
    return w


def odd_columns(w: Any) -> dict[str, Any]:
    """Return all columns that users may write to, as bytes, shape (rows, size), by tensor."""
    (chunk,) = w.archetypes.chunks()
    places = {"crate": chunk.crate, "folk.cold": w.folk.data.cold, "sword": w.pair.sword}
    places |= {name: getattr(w, name).data for name in ("spot", "folk", "part", "spark", "shield")}
    columns = {}
    for name_of_data, data in places.items():
        names = [column.name for column in (data.LAYOUT if hasattr(data, "LAYOUT") else ())]
        for name in names or [it for it in dir(data) if not it.startswith("_")]:
            column = getattr(data, name, None)
            if isinstance(column, np.ndarray) and column.flags.writeable and name != "buffer":
                columns[f"{name_of_data}.{name}"] = column.view(np.uint8).reshape(len(column), -1)
    return columns


ODD_CELLS = {
    "crate.mode": "255 is no member of Mode",
    "crate.label": r"text that is not UTF-8: b'\\xff\\xff\\xff\\xff\\xff'",
    "folk.awake": "255 is no bool",
    "folk.cold.nick": "text that is not UTF-8: .*",
    "folk.cold.rank": "65535 is no member of Code",
    "part.codes": "65535 is no member of Code",
    "part.letter": "text that is not UTF-8: .*",
    "part.pair_x": "255 is no bool",
    "part.pair_y": "255 is no bool",
    "part.size": "",  # a member
    "shield.access": "255 has bits that are no flags of Access",
    "spark.modes_x": "255 is no member of Mode",
    "spark.modes_y": "255 is no member of Mode",
    "spark.modes_z": "255 is no member of Mode",
    "spark.tiny": "",
    "spark.of": "",
    "spark.raw": "",
    "spark.who": "",
    "spark.x": "",
    "spot.code": "65535 is no member of Code",
    "spot.name": "text that is not UTF-8: .*",
    "sword.mode": "255 is no member of Mode",
    "sword.sharp": "255 is no bool",
}


def test_no_other_column_can_be_written_to() -> None:
    assert sorted(odd_columns(odd_world())) == sorted(ODD_CELLS)


@pytest.mark.parametrize("tensor", ODD_CELLS)
def test_what_load_refuses_of_cells_is_not_saved(tensor: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.snap"
    w, message = odd_world(), ODD_CELLS[tensor]
    w.save(path)
    before = path.read_bytes()
    odd_columns(w)[tensor][2] = 255
    if not message:
        w.save(path)
        assert odd.Odd.load(path).to_bytes() == w.to_bytes() != before
        return
    where = rf"{re.escape(tensor)}\[2\]: {message}; verify=False"
    with pytest.raises(OddError, match=rf"^odd\.snap: {where} saves it all the same$"):
        w.save(path)
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]
    for refused in (lambda: w.save(io.BytesIO()), w.to_bytes):
        with pytest.raises(OddError, match=rf"^<bytes>: {where} saves it all the same$"):
            refused()
    w.save(path, verify=False)
    assert path.read_bytes() == w.to_bytes(verify=False)
    with pytest.raises(OddError, match=rf"^odd\.snap: {where} loads it all the same$"):
        odd.Odd.load(path)
    again = odd.Odd.load(path, verify=False)
    assert (odd_columns(again)[tensor][2] == 255).all()
    odd_columns(again)[tensor][2] = odd_columns(w)[tensor][0]
    assert len(odd.Odd.load(again.to_bytes()).entities) == len(w.entities)


def test_text_with_a_nul_in_it_is_not_saved() -> None:
    w = odd_world()
    for cell, is_text in (("a\0b", False), ("\0b", False), ("é\0", True), ("ab", True), ("", True)):
        w.spot.data.name[3] = cell.encode()
        if is_text:
            assert odd.Odd.load(w.to_bytes()).spot.name(3) == cell.rstrip("\0")
            continue
        shown = re.escape(repr(cell.encode()))
        for use in (w.to_bytes, lambda: odd.Odd.load(w.to_bytes(verify=False))):
            with pytest.raises(
                OddError, match=rf"spot\.name\[3\]: text with a NUL in it: {shown};"
            ):
                use()


def test_what_lies_in_holes_is_nobodys() -> None:
    w = odd_world()
    w.spot.data.name[1] = b"\xff"
    w.spot.data.code[1] = 7
    assert len(odd.Odd.load(w.to_bytes()).spot) == 3


def test_the_first_rows_are_named() -> None:
    w = odd.Odd()
    w.spark.create_many(60_000)
    for rows, named in (
        ([40_000], ""),
        ([7, 40_000], ", also in row 40000"),
        ([7, 8, 9], ", also in rows 8, 9"),
        ([1, 2, 3, 20_000, 40_000, 59_999], ", also in rows 2, 3, 20000 and more"),
    ):
        w.spark.data.modes_y[:] = 0
        w.spark.data.modes_y[rows] = 99
        with pytest.raises(OddError) as caught:
            w.to_bytes()
        where = f"spark.modes_y[{rows[0]}]: 99 is no member of Mode{named}; verify=False"
        assert str(caught.value) == f"<bytes>: {where} saves it all the same"
