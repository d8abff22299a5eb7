"""Stub until the real one is merged."""

from __future__ import annotations


class Snapshot:
    pass
