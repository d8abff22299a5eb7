"""Permissions of the inspector: edits, and who may look."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from ecsgen.inspector import serve
from generated import Access, Health, Loot, Mode, World
from tests.support.inspector_client import PAGE, Answer, Inspected

ONE = 1 << 32


@pytest.fixture
def seen() -> Iterator[Inspected]:
    world = World()
    world.spawn(3, point_mass={"mass": [1, 2, 3]}, every_type={}, sound_source={})
    world.archetypes.create([Health], n=1)
    with Inspected(world, edit=True) as inspected:
        yield inspected


@pytest.mark.parametrize("method", ["PATCH", "POST", "DELETE"])
def test_only_if_that_was_asked_for(method: str) -> None:
    world = World()
    (e,) = world.spawn(1, point_mass={})
    paths = {
        f"entity/{e}/point_mass": "PATCH POST DELETE",
        f"entity/{e}": "DELETE",
        "row/spark/1": "PATCH DELETE",
        "save": "POST",
    }
    with Inspected(world) as seen:
        for path, methods in paths.items():
            if method in methods:
                answer = seen.ask(method, path, {"mass": 2.0})
                assert (answer.status, "edit=True" in answer.error) == (403, True), path
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
    fields = seen.json(f"entity/{ONE}")["components"]["every_type"]
    before = seen.world.every_type.row(0)
    changes = {name: value for name, value in fields.items() if name not in ("payload", "note")}
    assert seen.ask("PATCH", f"entity/{ONE + 1}/every_type", changes).status == 200
    assert seen.world.every_type.row(1) == before
    changes = {
        "mode": "running", "access": "read|execute", "quad_word": "7", "single": "NaN",
        "large": str(1 - (1 << 63)), "double": "Infinity",
        "digest": "0102", "modes": ["off", 5], "target": str(ONE + 2),
    }  # fmt: skip
    assert seen.ask("PATCH", f"entity/{ONE}/every_type", changes).status == 200
    row = seen.world.every_type.row(0)
    assert (row.mode, row.access, row.quad_word) == (Mode.running, Access.read | Access.execute, 7)
    assert np.isnan(row.single)
    assert (row.double, row.digest, row.target) == (np.inf, b"\1\2\0\0", ONE + 2)
    assert row.large == 1 - (1 << 63)
    assert row.modes == (Mode.off, Mode.standby)


@pytest.mark.parametrize(
    ("component", "changes", "message"),
    [
        ("point_mass", {"mass": 1.0, "label": "x" * 25}, "takes 25 bytes"),
        ("point_mass", {"mass": "heavy"}, "'heavy' is no f32"),
        ("point_mass", {"mass": 1e39}, "PointMass.mass"),
        ("point_mass", {"mass": True}, "PointMass.mass"),
        ("point_mass", {"position": [1, 2]}, "PointMass.position"),
        ("point_mass", {"mass": 9.0, "weight": 1}, "no field 'weight'"),
        ("point_mass", {"__class__": 1}, "no field"),
        ("point_mass", [1], "JSON object"),
        ("every_type", {"mode": "flying"}, "mode"),
        ("every_type", {"mode": "off|standby"}, "mode"),
        ("every_type", {"digest": "xx"}, "digest"),
        ("every_type", {"payload": 1}, "payload"),
        ("every_type", {"tiny": 1.5}, "tiny"),
    ],
)
def test_values_that_do_not_fit_change_nothing(
    seen: Inspected, component: str, changes: object, message: str
) -> None:
    manager = getattr(seen.world, component)
    before = repr(manager.row(1))
    answer = seen.ask("PATCH", f"entity/{ONE + 1}/{component}", changes)
    assert answer.status == 422
    assert message in answer.error
    assert repr(manager.row(1)) == before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        *((body, 400) for body in (b"{", b"NaN", b'{"mass": 1e999}', b"[" * 50_000, b"\xff")),
        (b" " * 70_000, 413),
    ],
    ids=["open", "nan", "too_large", "too_deep", "no_text", "too_long"],
)
def test_what_is_no_json(seen: Inspected, body: bytes, status: int) -> None:
    known = {"X-Ecsgen-Token": seen.token}
    answer = seen.send("PATCH", f"/api/entity/{ONE}/point_mass", known, body)
    assert answer.status == status


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
    assert seen.ask("POST", f"entity/{ONE}/spark").status == 404
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


METHODS = "GET", "HEAD", "PATCH", "POST", "PUT", "DELETE", "OPTIONS"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("edit", [False, True])
def test_unknown_names_in_every_method(method: str, edit: bool) -> None:
    """Whatever may be done with names that there are."""
    world = World()
    (e,) = world.spawn(1, point_mass={})
    paths = (
        *(f"entity/{e}/", f"entity/{e}/nothing", f"entity/{e}/nothing/", f"entity/{e}/__class__"),
        *("rows/__class__", "rows/entities", "rows/spawn?sort=x", "query/transform?sort=x"),
        *("entity/x", "entity/x/point_mass", f"entity/{1 << 64}", "entity/", "entity//point_mass"),
        *("entity/-1", f"entity/{'1' * 30}", "entity/%D9%A3"),  # a three that is none of ours
        *("rows/nothing", "rows/", "query/nothing", "query/point_mass", "group/nothing"),
        *("group/movers", "tree/nothing", "histogram/nothing/mass", "histogram/point_mass/nothing"),
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


@pytest.fixture(scope="module")
def guard_seen() -> Iterator[Inspected]:
    with Inspected(World()) as inspected:
        yield inspected


def test_it_listens_on_this_machine_alone(guard_seen: Inspected) -> None:
    assert guard_seen.inspector._server._socket.getsockname()[0] == "127.0.0.1"
    assert guard_seen.inspector.url.startswith(f"http://127.0.0.1:{guard_seen.port}/?token=")
    assert len(guard_seen.token) >= 43  # 32 bytes
    assert guard_seen.token not in repr(guard_seen.inspector)


@pytest.mark.parametrize(
    ("header", "values", "status"),
    [
        ("Host", "localhost:{} 127.0.0.1:{} LOCALHOST:{}", 200),
        (
            "Host",
            "evil.example:{} 127.0.0.1 localhost:1 127.0.0.1:{}.evil.example [::1]:{} 0:{}",
            421,
        ),
        ("Origin", "http://127.0.0.1:{} http://localhost:{}", 200),
        ("Origin", "http://evil.example null https://127.0.0.1:{} http://[::1]", 403),
    ],
)
@pytest.mark.parametrize("path", ["/", "/static/main.js", "/api/world"])
def test_hosts_and_origins(
    guard_seen: Inspected, header: str, values: str, status: int, path: str
) -> None:
    for value in values.split():
        headers = {header: value.format(guard_seen.port), "X-Ecsgen-Token": guard_seen.token}
        assert guard_seen.send("GET", path, headers).status == status, value


def test_no_host_at_all(guard_seen: Inspected) -> None:
    with socket.create_connection(("127.0.0.1", guard_seen.port), timeout=60) as raw:
        raw.sendall(b"GET /api/world HTTP/1.0\r\n\r\n")
        assert b" 421 " in raw.recv(1000).split(b"\r\n")[0]


@pytest.mark.parametrize(
    "path", ["/", "/api/world", "/api/nothing", "/nothing", "/static", "/favicon.ico"]
)
@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_without_the_token(guard_seen: Inspected, path: str, token: str) -> None:
    answer = guard_seen.send("GET", path, {"X-Ecsgen-Token": token})
    assert answer.status == 401
    assert guard_seen.token.encode() not in answer.body
    assert guard_seen.send("GET", f"{path}?token={token.encode().hex()}", {}).status == 401


def test_with_the_token(guard_seen: Inspected) -> None:
    page = guard_seen.send("GET", f"/?token={guard_seen.token}", {})
    assert page.status == 200
    assert page.headers["content-type"].startswith("text/html")
    assert guard_seen.token.encode() not in page.body
    assert guard_seen.get("nothing").status == 404
    assert guard_seen.send("GET", "/nothing", {"X-Ecsgen-Token": guard_seen.token}).status == 404


def test_writing_takes_the_header_only() -> None:
    world = World()
    (e,) = world.spawn(1)
    with Inspected(world, edit=True) as seen:
        path = f"/api/entity/{e}"
        assert seen.send("DELETE", f"{path}?token={seen.token}", {}).status == 401
        assert e in world
        assert seen.send("DELETE", path, {"X-Ecsgen-Token": seen.token}).status == 200
        assert e not in world


def answers(seen: Inspected) -> list[Answer]:
    known = {"X-Ecsgen-Token": seen.token}
    paths = ["/", "/static/main.js", "/static/nothing", "/api/world", "/api/rows/x", "/x"]
    responses = [seen.send("GET", path, known) for path in paths]
    responses.append(seen.send("POST", "/api/world", known))
    responses.append(seen.send("OPTIONS", "/api/world", known))
    responses += [seen.send("GET", path, {}) for path in paths]
    return [*responses, seen.get("world", Host="evil.example"), seen.get("world", Origin="null")]


def test_every_answer_is_guarded(guard_seen: Inspected) -> None:
    for answer in answers(guard_seen):
        headers = answer.headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "*" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert not any(name.startswith("access-control") for name in headers)
        assert "server" not in headers


def test_static_files_are_those_of_the_page(guard_seen: Inspected) -> None:
    for file in PAGE.iterdir():
        answer = guard_seen.send("GET", f"/static/{file.name}", {})
        assert answer.status == (404 if file.suffix == ".html" else 200), file.name
        assert file.suffix == ".html" or answer.body == file.read_bytes()
    for path in ("../__init__.py", "%2e%2e/server.py", "..%2fserver.py", "", "x.js", "a/b"):
        assert guard_seen.send("GET", f"/static/{path}", {}).status == 404, path


def test_the_page_asks_nobody_else() -> None:
    for file in PAGE.iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        if not file.name.startswith("uPlot"):
            assert "://" not in text, file.name
            assert "innerHTML" not in text, file.name
            assert "eval" not in text, file.name


def test_the_vendored_script_is_the_published_one() -> None:
    """uPlot 1.6.32, as npm has it; its licence goes along."""
    digests = {
        "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
        "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
        "uPlot.LICENSE": "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
    }
    for name, digest in digests.items():
        assert hashlib.sha256((PAGE / name).read_bytes()).hexdigest() == digest, name
    assert "The MIT License" in (PAGE / "uPlot.LICENSE").read_text()


def test_a_token_of_ones_own() -> None:
    with Inspected(World(), token="a/b+c&d?") as seen:
        assert seen.token == "a/b+c&d?"
        assert seen.get("world").status == 200


def test_a_port_that_is_taken() -> None:
    with Inspected(World()) as seen, pytest.raises(OSError, match="in use"):
        serve(World(), port=seen.port)
