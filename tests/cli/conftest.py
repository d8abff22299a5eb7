"""An empty folder in which commands run, for all tests here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_project import Project


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)
