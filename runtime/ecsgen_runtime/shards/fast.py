"""Methods in C look entities up by index, which says nothing of visitors: there are none here."""

from __future__ import annotations


def speed_up(kind: type) -> None:
    """Leave a class to its methods in Python."""
