"""The runtime under test, with other sizes than it has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from ..entities.manager import Entities

RUNTIME = f"{__name__.rpartition('.testing.')[0]}."


@contextmanager
def runtime_with(**values: Any) -> Iterator[None]:
    """Give names of the runtime other values, in every module that has them."""
    names = [name for name in sys.modules if name.startswith(RUNTIME)]
    with ExitStack() as patches:
        for module in map(sys.modules.__getitem__, names):
            for name in values.keys() & vars(module).keys():
                patches.enter_context(patch.object(module, name, values[name]))
        yield


@contextmanager
def handles_with(manager: Entities | type[Entities], **numbers: int) -> Iterator[None]:
    """Give handles of an entity manager's package other numbers: `MIN_FREE=0`."""
    layout = manager._LAYOUT
    with ExitStack() as patches:
        for names in (vars(layout), *layout._globals.values()):
            patches.enter_context(patch.dict(names, numbers))
        yield
