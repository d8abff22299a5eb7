"""Who may look: this machine's own pages, with the token; and what no answer ever allows."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ecsgen.inspector
from ecsgen.inspector import serve
from generated import World
from tests.support.inspected import Answer, Inspected

PAGE = Path(ecsgen.inspector.__file__).parent / "page"


@pytest.fixture(scope="module")
def seen() -> Iterator[Inspected]:
    with Inspected(World()) as found:
        yield found


def test_it_listens_on_this_machine_alone(seen: Inspected) -> None:
    assert seen.inspector._server._socket.getsockname()[0] == "127.0.0.1"
    assert seen.inspector.url.startswith(f"http://127.0.0.1:{seen.port}/?token=")
    assert len(seen.token) >= 43  # 32 bytes
    assert seen.token not in repr(seen.inspector)


@pytest.mark.parametrize("host", ["localhost:{}", "127.0.0.1:{}", "LOCALHOST:{}"])
def test_hosts_that_are_this_one(seen: Inspected, host: str) -> None:
    assert seen.get("world", Host=host.format(seen.port)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:{}",
        "127.0.0.1",
        "localhost:1",
        "127.0.0.1:{}.evil.example",
        "[::1]:{}",
        "0:{}",
    ],
)
@pytest.mark.parametrize("path", ["/", "/static/main.js", "/api/world"])
def test_other_hosts(seen: Inspected, host: str, path: str) -> None:
    headers = {"Host": host.format(seen.port), "X-Ecsgen-Token": seen.token}
    assert seen.send("GET", path, headers).status == 421


def test_no_host_at_all(seen: Inspected) -> None:
    with socket.create_connection(("127.0.0.1", seen.port), timeout=60) as raw:
        raw.sendall(b"GET /api/world HTTP/1.0\r\n\r\n")
        assert b" 421 " in raw.recv(1000).split(b"\r\n")[0]


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{}", "http://[::1]"]
)
def test_other_origins(seen: Inspected, origin: str) -> None:
    assert seen.get("world", Origin=origin.format(seen.port)).status == 403
    assert seen.send("GET", "/static/main.js", {"Origin": origin.format(seen.port)}).status == 403


@pytest.mark.parametrize("origin", ["http://127.0.0.1:{}", "http://localhost:{}"])
def test_its_own_origins(seen: Inspected, origin: str) -> None:
    assert seen.get("world", Origin=origin.format(seen.port)).status == 200


@pytest.mark.parametrize(
    "path", ["/", "/api/world", "/api/nothing", "/nothing", "/static", "/favicon.ico"]
)
@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_without_the_token(seen: Inspected, path: str, token: str) -> None:
    answer = seen.send("GET", path, {"X-Ecsgen-Token": token})
    assert answer.status == 401
    assert seen.token.encode() not in answer.body
    assert seen.send("GET", f"{path}?token={token.encode().hex()}", {}).status == 401


def test_with_the_token(seen: Inspected) -> None:
    page = seen.send("GET", f"/?token={seen.token}", {})
    assert page.status == 200
    assert page.headers["content-type"].startswith("text/html")
    assert seen.token.encode() not in page.body
    assert seen.get("nothing").status == 404
    assert seen.send("GET", "/nothing", {"X-Ecsgen-Token": seen.token}).status == 404


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
    found = [seen.send("GET", path, known) for path in paths]
    found.append(seen.send("POST", "/api/world", known))
    found.append(seen.send("OPTIONS", "/api/world", known))
    found += [seen.send("GET", path, {}) for path in paths]
    return [*found, seen.get("world", Host="evil.example"), seen.get("world", Origin="null")]


def test_every_answer_is_guarded(seen: Inspected) -> None:
    for answer in answers(seen):
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


def test_static_files_are_those_of_the_page(seen: Inspected) -> None:
    for file in PAGE.iterdir():
        answer = seen.send("GET", f"/static/{file.name}", {})
        assert answer.status == (404 if file.suffix == ".html" else 200), file.name
        assert file.suffix == ".html" or answer.body == file.read_bytes()
    for path in ("../__init__.py", "%2e%2e/server.py", "..%2fserver.py", "", "x.js", "a/b"):
        assert seen.send("GET", f"/static/{path}", {}).status == 404, path


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


@pytest.mark.parametrize("token", ["", "with blank", "line\n", "é"])
def test_tokens_that_are_none(token: str) -> None:
    with pytest.raises(ValueError, match="token"):
        serve(World(), token=token)


def test_a_token_that_is_no_text() -> None:
    token: Any = b"secret"
    with pytest.raises(TypeError, match=r"^token: wanted text, not bytes$"):
        serve(World(), token=token)


def test_a_token_of_ones_own() -> None:
    with Inspected(World(), token="a/b+c&d?") as seen:
        assert seen.token == "a/b+c&d?"
        assert seen.get("world").status == 200


def test_a_port_that_is_taken() -> None:
    with Inspected(World()) as seen, pytest.raises(OSError, match="in use"):
        serve(World(), port=seen.port)


def test_what_is_no_world() -> None:
    with pytest.raises(TypeError, match="wanted a world"):
        serve(World)
