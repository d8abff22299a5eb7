"""A project in which commands run, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ecsgen.cli import main
from tests.support import fake_generator

MANIFEST = "generated/.ecsgen.json"


class Ran(NamedTuple):
    status: int
    out: str
    err: str


class Project:
    """A project folder in which commands run."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ran:
        self._capsys.readouterr()
        fake_generator.made.clear()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        captured = self._capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, captured.out, captured.err)

    def put(self, path: str, text: str) -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def text(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")

    def files(self, below: str = "generated") -> dict[str, bytes]:
        top = self.folder / below
        return {
            p.relative_to(self.folder).as_posix(): p.read_bytes()
            for p in sorted(top.rglob("*"))
            if p.is_file()
        }

    def manifest(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.text(MANIFEST))
        return content

    def configure(self, text: str) -> None:
        self.put("pyproject.toml", f"[tool.ecsgen]\n{text}\n")
