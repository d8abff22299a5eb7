"""Tests in which no row makes way for another, however few there may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import ClassVar

from .subject import Subject

MANY = 100_000
"""More rows than any test has."""


class Roomy:
    """Lets managers have many rows while a test runs."""

    subjects: ClassVar[Mapping[str, Subject]]
    """By the attribute of the world that holds the manager, sorted by name."""
    unowned: ClassVar[Mapping[str, Subject]] = {}
    """The same of those whose rows belong to no entity."""

    def bounded(self) -> Iterable[Subject]:
        """Return the components that may have too little room."""
        return (*self.subjects.values(), *self.unowned.values())

    def setup_method(self) -> None:
        """Let no row make way for another."""
        self.room = ExitStack()
        for subject in self.bounded():
            self.room.enter_context(subject.room_for(MANY))

    def teardown_method(self) -> None:
        """Let managers be as they were."""
        self.room.close()
