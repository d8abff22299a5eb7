"""Hooks of pytest for generated tests: how they are collected, and what is printed after them."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Never

import pytest

REASON = "generated tests need hypothesis: pip install hypothesis"
THOROUGH = "thorough"
LONGER = f"generated tests search longer with --hypothesis-profile={THOROUGH}"

if find_spec("hypothesis") is not None:
    from hypothesis import settings

    settings.register_profile(THOROUGH, max_examples=300)


class Skipped(pytest.Module):
    """A module of tests that cannot be imported."""

    def collect(self) -> Never:
        """Skip all that is in it."""
        pytest.skip(REASON, allow_module_level=True)


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Leave tests out without hypothesis, and say so; None to take them as they are."""
    if find_spec("hypothesis") is not None or module_path.name == "__init__.py":
        return None
    skipped: Skipped = Skipped.from_parent(parent, path=module_path)
    return skipped


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print how to search longer, unless a profile was chosen."""
    if not config.getoption("--hypothesis-profile", None):
        terminalreporter.write_line(LONGER)


_MODULES = {f"{__package__}.{module.name}" for module in iter_modules([str(Path(__file__).parent)])}
pytest.register_assert_rewrite(*_MODULES - sys.modules.keys())  # it warns of those
