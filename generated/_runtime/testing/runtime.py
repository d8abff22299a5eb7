"""The runtime under test, with other sizes than it has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

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
