"""What is under test, with other numbers or methods; what else there is keeps its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from ..entities.manager import Entities


@contextmanager
def handles_with(manager: Entities | type[Entities], **numbers: int) -> Iterator[None]:
    """Give handles of an entity manager's package other numbers: `MIN_FREE=0`."""
    layout = manager._LAYOUT
    with ExitStack() as patches:
        for names in (vars(layout), *layout._globals.values()):
            patches.enter_context(patch.dict(names, numbers))
        yield


@contextmanager
def methods_of(one: Any, **methods: Any) -> Iterator[None]:
    """Give one object other methods than its class has, which others may share."""
    kind = type(one)
    one.__class__ = type(kind.__name__, (kind,), {"__slots__": (), **methods})
    try:
        yield
    finally:
        one.__class__ = kind
