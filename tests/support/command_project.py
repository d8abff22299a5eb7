"""Runs `ecsgen` in this process, in a folder or a project: to start another one takes longer than
most commands."""

from __future__ import annotations

import json
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ecsgen.cli import main
from tests.support import fake_generator

MANIFEST = "generated/.ecsgen.json"


class Ended(NamedTuple):
    """A command's exit status, and what it has written."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str, cwd: Path) -> Ended:
    """Run a command in a folder."""
    out, err = StringIO(), StringIO()
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return Ended(ended.value.code, out.getvalue(), err.getvalue())


class Ran(NamedTuple):
    status: int
    out: str
    err: str


class Project:
    """A project folder in which commands run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str) -> Ran:
        fake_generator.made.clear()
        return Ran(*run(*arguments, cwd=Path.cwd()))

    def put(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def text(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")

    def files(self, below: str = "generated") -> dict[str, bytes]:
        """The bytes of all files below a folder, caches apart."""
        top = self.folder / below
        return {
            p.relative_to(self.folder).as_posix(): p.read_bytes()
            for p in sorted(top.rglob("*"))
            if p.is_file() and p.parent.name != "__pycache__"
        }

    def manifest(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.text(MANIFEST))
        return content

    def configure(self, text: str) -> None:
        self.put("pyproject.toml", f"[tool.ecsgen]\n{text}\n")
