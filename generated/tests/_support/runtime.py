"""The runtime under test, with other sizes than it has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from .package import EntityManager

RUNTIME = "".join(EntityManager.__mro__[1].__module__.partition("_runtime.")[:2])


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
def handles_with(**numbers: int) -> Iterator[None]:
    """Give handles of the package under test other numbers: `MIN_FREE=0`."""
    layout = EntityManager._LAYOUT
    with ExitStack() as patches:
        for names in (vars(layout), *layout._globals.values()):
            patches.enter_context(patch.dict(names, numbers))
        yield
