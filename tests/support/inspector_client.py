"""A world that is inspected: requests from another thread, and ticks in the test's own."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

import ecsgen.inspector
from ecsgen.inspector import Inspector, serve

PAGE = Path(ecsgen.inspector.__file__).parent / "page"
"""The folder of the page's files."""
_CLOSING: Final = ThreadPoolExecutor(4)


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        message: str = self.json["error"]
        return message


class Client:
    """A browser of sorts, of an inspector that ticks on another thread."""

    def __init__(self, inspector: Inspector) -> None:
        self.inspector = inspector
        parts = urlsplit(inspector.url)
        self.port = parts.port or 0
        self.token = parse_qs(parts.query)["token"][0]

    def get(self, path: str, **headers: str) -> Answer:
        """Ask for a path of the API, with the token."""
        return self.ask("GET", path, **headers)

    def json(self, path: str) -> Any:
        answer = self.get(path)
        assert answer.status == 200, answer.body
        return answer.json

    def ask(self, method: str, path: str, content: object = None, **headers: str) -> Answer:
        body = None if content is None else json.dumps(content).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"X-Ecsgen-Token": self.token, **named}
        return self.send(method, f"/api/{path}", sent, body)

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Answer:
        """Send just this."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": f"127.0.0.1:{self.port}", **headers}.items():
                if value:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            response_headers = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, response_headers, answer.read())
        finally:
            connection.close()


class Inspected(Client):
    """A client and its inspector, which ticks in the thread that asks."""

    def __init__(self, world: Any, **options: Any) -> None:
        super().__init__(serve(world, **options))
        self.world = world
        self._threads = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        _CLOSING.submit(self.inspector.close)  # which waits for the server a while
        self._threads.shutdown()

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> Answer:
        """Send just this, and tick until there is an answer."""
        future = self.sent(method, path, headers, body)
        while not future.done():
            self.inspector.tick()
            time.sleep(0.0005)
        return future.result()

    def sent(self, *request: Any) -> Future[Answer]:
        """Send just this, without ticks."""
        return self._threads.submit(super().send, *request)
