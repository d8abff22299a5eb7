"""Handles of the package under test, with other numbers than they have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
