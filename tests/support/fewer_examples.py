"""A plugin of pytest for quick runs of generated tests: state machines try a few examples each, and
of the other cases only every n-th runs (`--every n`)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

EXAMPLES = 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every", type=int, default=1, help="run every n-th direct case")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen: list[pytest.Item] = []
    every = config.getoption("--every")
    for number, item in enumerate(items):
        machine: Any = getattr(item, "cls", None)
        if isinstance(getattr(machine, "settings", None), settings):
            machine.settings = settings(machine.settings, max_examples=EXAMPLES)
        elif number % every:
            continue
        chosen.append(item)
    items[:] = chosen
