"""Changing a world through its inspector: all checks of every other way, all or nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from generated import Access, Health, Loot, Mode, World
from tests.support.inspected import Inspected

ONE = 1 << 32


@pytest.fixture
def seen() -> Iterator[Inspected]:
    world = World()
    world.spawn(3, point_mass={"mass": [1, 2, 3]}, every_type={}, sound_source={})
    world.archetypes.create([Health], n=1)
    with Inspected(world, edit=True) as found:
        yield found


def test_only_if_that_was_asked_for() -> None:
    world = World()
    (e,) = world.spawn(1, point_mass={})
    with Inspected(world) as seen:
        path = f"entity/{e}/point_mass"
        for method in ("PATCH", "POST", "DELETE"):
            answer = seen.ask(method, path, {"mass": 2.0})
            assert answer.status == 403
            assert "edit=True" in answer.error
        assert seen.ask("DELETE", f"entity/{e}").status == 403
    assert world.point_mass.data.mass.tolist() == [1.0]


def test_fields(seen: Inspected) -> None:
    answer = seen.ask("PATCH", f"entity/{ONE}/point_mass", {"mass": 5, "position": [1, 2, 3]})
    assert answer.status == 200
    assert answer.json["components"]["point_mass"]["mass"] == 5.0
    row = seen.world.point_mass.row(0)
    assert (row.mass, row.position) == (5.0, (1.0, 2.0, 3.0))
    assert seen.ask("PATCH", f"entity/{ONE + 3}/health", {"points": 2}).status == 200
    assert seen.world.archetypes.get(ONE + 3, Health).points == 2.0
    assert seen.ask("PATCH", f"entity/{ONE + 3}/health?instance=1", {"points": 3}).status == 422
    assert seen.ask("DELETE", f"entity/{ONE + 3}/health?instance=1").status == 422
    assert seen.world.archetypes.get(ONE + 3, Health).points == 2.0


def test_every_type_as_it_is_told(seen: Inspected) -> None:
    told = seen.json(f"entity/{ONE}")["components"]["every_type"]
    before = seen.world.every_type.row(0)
    given = {name: value for name, value in told.items() if name not in ("payload", "note")}
    assert seen.ask("PATCH", f"entity/{ONE + 1}/every_type", given).status == 200
    assert seen.world.every_type.row(1) == before
    given = {
        "mode": "running", "access": "read|execute", "quad_word": "7", "single": "NaN",
        "large": str(1 - (1 << 63)), "double": "Infinity",
        "digest": "0102", "modes": ["off", 5], "target": str(ONE + 2),
    }  # fmt: skip
    assert seen.ask("PATCH", f"entity/{ONE}/every_type", given).status == 200
    row = seen.world.every_type.row(0)
    assert (row.mode, row.access, row.quad_word) == (Mode.running, Access.read | Access.execute, 7)
    assert np.isnan(row.single)
    assert (row.double, row.digest, row.target) == (np.inf, b"\1\2\0\0", ONE + 2)
    assert row.large == 1 - (1 << 63)
    assert row.modes == (Mode.off, Mode.standby)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mass": 1.0, "label": "x" * 25}, "takes 25 bytes"),
        ({"mass": "heavy"}, "'heavy' is no f32"),
        ({"mass": 1e39}, "PointMass.mass"),
        ({"mass": True}, "PointMass.mass"),
        ({"position": [1, 2]}, "PointMass.position"),
        ({"mass": 9.0, "weight": 1}, "no field 'weight'"),
        ({"__class__": 1}, "no field"),
        ([1], "JSON object"),
    ],
)
def test_values_that_do_not_fit_change_nothing(
    seen: Inspected, given: object, message: str
) -> None:
    answer = seen.ask("PATCH", f"entity/{ONE + 1}/point_mass", given)
    assert answer.status == 422
    assert message in answer.error
    row = seen.world.point_mass.row(1)
    assert (row.mass, row.label) == (2.0, "")


@pytest.mark.parametrize(
    "given",
    [{"mode": "flying"}, {"mode": "off|standby"}, {"digest": "xx"}, {"payload": 1}, {"tiny": 1.5}],
)
def test_values_of_other_types(seen: Inspected, given: object) -> None:
    assert seen.ask("PATCH", f"entity/{ONE}/every_type", given).status == 422


@pytest.mark.parametrize("body", [b"{", b"NaN", b'{"mass": 1e999}', b"[" * 50_000, b"\xff"])
def test_what_is_no_json(seen: Inspected, body: bytes) -> None:
    known = {"X-Ecsgen-Token": seen.token}
    answer = seen.send("PATCH", f"/api/entity/{ONE}/point_mass", known, body)
    assert answer.status == 400


def test_too_much(seen: Inspected) -> None:
    known = {"X-Ecsgen-Token": seen.token}
    answer = seen.send("PATCH", f"/api/entity/{ONE}/point_mass", known, b" " * 70_000)
    assert answer.status == 413


def test_instances(seen: Inspected) -> None:
    path, sounds = f"entity/{ONE}/sound_source", seen.world.sound_source
    assert seen.ask("POST", path, {"clip": "rain"}).status == 200
    assert seen.ask("PATCH", f"{path}?instance=1", {"volume": 0.25}).status == 200
    assert [sounds.volume(row) for row in sounds.instances(ONE)] == [1.0, 0.25]
    assert seen.ask("PATCH", f"{path}?instance=2", {"volume": 0.25}).status == 422
    assert seen.ask("DELETE", f"{path}?instance=0").status == 200
    assert [sounds.clip(row) for row in sounds.instances(ONE)] == ["rain"]
    assert seen.ask("DELETE", path).status == 200
    assert sounds.count(ONE) == 0


def test_adding_and_removing(seen: Inspected) -> None:
    world, path = seen.world, f"entity/{ONE}/ai_state"
    assert seen.ask("POST", path, {"loot": "sword"}).status == 200
    assert world.ai_state.loot(world.ai_state.lookup(ONE)) is Loot.sword
    again = seen.ask("POST", path)
    assert again.status == 422
    assert "0v1" in again.error
    assert seen.ask("DELETE", path).status == 200
    assert not world.ai_state.has(ONE)
    assert seen.ask("DELETE", path).status == 422
    assert seen.ask("PATCH", path, {}).status == 422
    assert seen.ask("POST", f"entity/{ONE}/armor", {"points": 3}).status == 200
    assert seen.ask("DELETE", f"entity/{ONE}/armor").status == 200
    assert world.archetypes.components(ONE) == ()


def test_destroying(seen: Inspected) -> None:
    answer = seen.ask("DELETE", f"entity/{ONE}")
    assert (answer.status, answer.json["alive"]) == (200, False)
    assert ONE not in seen.world
    again = seen.ask("DELETE", f"entity/{ONE}")
    assert (again.status, "not alive" in again.error) == (422, True)
    assert seen.ask("PATCH", f"entity/{ONE}/point_mass", {"mass": 1}).status == 422


def test_what_there_is_not(seen: Inspected) -> None:
    assert seen.ask("PATCH", f"entity/{ONE}/nothing", {}).status == 404
    assert seen.ask("POST", f"entity/{ONE}/__class__", {}).status == 404
    assert seen.ask("POST", f"entity/{ONE}/spark", {}).status == 404
    assert seen.ask("PATCH", "entity/x/point_mass", {}).status == 404


METHODS = "GET", "HEAD", "PATCH", "POST", "PUT", "DELETE", "OPTIONS"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("edit", [False, True])
def test_unknown_names_in_every_method(method: str, edit: bool) -> None:
    """Whatever may be done with names that there are."""
    world = World()
    (e,) = world.spawn(1, point_mass={})
    paths = (
        *(f"entity/{e}/", f"entity/{e}/nothing", f"entity/{e}/nothing/", f"entity/{e}/__class__"),
        *("entity/x", "entity/x/point_mass", f"entity/{1 << 64}", "entity/", "entity//point_mass"),
        *("rows/nothing", "rows/", "query/nothing", "query/point_mass", "group/nothing"),
        *("tree/nothing", "histogram/nothing/mass", "histogram/point_mass/nothing"),
        *("nothing", "world/", "frames/nothing", ""),
    )
    with Inspected(world, edit=edit) as seen:
        for path in paths:
            assert seen.ask(method, path, {}).status == 404, path
    assert world.entities.alive(e)


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("world", "GET"),
        ("rows/point_mass", "GET"),
        (f"entity/{ONE}", "GET DELETE"),
        (f"entity/{ONE}/point_mass", "PATCH POST DELETE"),
    ],
)
def test_methods_that_names_do_not_have(seen: Inspected, path: str, methods: str) -> None:
    for method in {*METHODS}.difference(methods.split(), ["HEAD"]):
        answer = seen.ask(method, path, {})
        assert (answer.status, answer.headers["allow"]) == (405, ", ".join(methods.split()))
    head = seen.ask("HEAD", path)
    assert (head.status, head.body) == (200 if "GET" in methods else 405, b"")


def test_locks_hold(seen: Inspected) -> None:
    with seen.world.point_mass.locked():
        answer = seen.ask("DELETE", f"entity/{ONE}/point_mass")
    assert (answer.status, "locked" in answer.error) == (422, True)
    assert seen.world.point_mass.has(ONE)
