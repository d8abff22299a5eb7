"""A plugin of pytest for quick runs of generated tests: state machines try a few examples each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings

EXAMPLES = 3


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    for item in items:
        machine: Any = getattr(item, "cls", None)
        if isinstance(getattr(machine, "settings", None), settings):
            machine.settings = settings(machine.settings, max_examples=EXAMPLES)
