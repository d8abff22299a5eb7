"""Schemas of checked runs, which are read once: to read them takes longer than most of the runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ecsgen.checked.schema_texts import read_schemas

_KNOWN: dict[tuple[Path, bytes], Any] = {}


@pytest.fixture(autouse=True, scope="session")
def _read_once() -> Iterator[None]:
    with patch("ecsgen.checked.methods.read_schemas", _read):
        yield


def _read(schemas: Path | str | None) -> Any:
    """Return what a folder's files were read as, if they are what they were."""
    if schemas is None:
        return read_schemas(None)
    folder = Path(schemas)
    key = folder, b"\0".join(path.read_bytes() for path in sorted(folder.glob("*.yaml")))
    if key not in _KNOWN:
        _KNOWN[key] = read_schemas(schemas)
    return _KNOWN[key]
