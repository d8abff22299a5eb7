"""`ecsgen build --watch`: builds again after a change, goes on after errors, ends with Ctrl-C."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BODY = "component: Body\nfields: {mass: f32}\n"
PATIENCE = 60
"""Seconds: a busy machine is slow, and nothing here waits for nothing."""


class Watched:
    """A process that watches, and what it says line by line."""

    def __init__(self, folder: Path, path: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ecsgen", "build", "--watch"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)

    def until(self, text: str) -> str:
        """Wait for a line that has a text in it, and return all lines up to it."""
        said, end = "", time.monotonic() + PATIENCE
        while text not in said:
            said += self._lines.get(timeout=max(0.1, end - time.monotonic()))
        return said

    def stop(self) -> int:
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(PATIENCE)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()


@pytest.fixture(params=["watchfiles", "looking"])
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched]:
    """With the library that tells of changes, and as if it were not there."""
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "body.yaml").write_text(BODY)
    path = str(ROOT)
    if request.param == "looking":
        (tmp_path / "without").mkdir()
        (tmp_path / "without" / "watchfiles.py").write_text("raise ImportError\n")
        path = f"{tmp_path / 'without'}{os.pathsep}{path}"
    made = Watched(tmp_path, path)
    yield made
    made.kill()


def test_watching(watched: Watched, tmp_path: Path) -> None:
    schema, module = tmp_path / "schemas" / "body.yaml", tmp_path / "generated" / "body.py"
    said = watched.until("watching")
    assert "written" in said
    assert "watching schemas; Ctrl-C ends" in said

    schema.write_text(BODY.replace("mass", "weight"))
    watched.until("watching")
    good = module.read_text()
    assert "def weight" in good

    schema.write_text(BODY.replace("f32", "f33"))
    assert "error[E104]" in watched.until("watching")
    assert module.read_text() == good

    (tmp_path / "pyproject.toml").write_text("[tool.ecsgen]\nbackend = 'fortran'\n")
    assert "Error: pyproject.toml: [tool.ecsgen] backend" in watched.until(
        "watching pyproject.toml"
    )
    (tmp_path / "pyproject.toml").write_text("[tool.ecsgen]\nheader = 'Ours'\n")
    watched.until("watching schemas")
    schema.write_text(BODY)
    watched.until("written")
    watched.until("watching")
    assert module.read_text().startswith("# Ours\n")

    (tmp_path / "schemas" / "more").mkdir()
    (tmp_path / "schemas" / "more" / "place.yaml").write_text("component: Place\n")
    watched.until("watching")
    assert (tmp_path / "generated" / "place.py").exists()
    assert watched.stop() == 0
