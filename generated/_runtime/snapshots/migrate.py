"""Stub until the real one is merged."""

from __future__ import annotations

from typing import Any

from .saved import Saved


def migrate_saved(
    saved: Saved, schema: Any, renames: Any, drop: Any, migrate: Any
) -> Saved:
    return saved
