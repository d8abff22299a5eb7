"""Runs tests that a test has generated, in this process: to start another one with all that tests
import takes longer than most of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.gc_settings import set_aside

OPTIONS = ("-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist")


class _Reports:
    """A plugin that keeps the reports of what failed, and counts what ran."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.ran = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.ran += report.when == "call"
        if report.failed:
            self.failed.append(f"{report.nodeid}: {report.longreprtext}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(f"{report.nodeid}: {report.longreprtext}")


def failures(home: Path, *arguments: str | Path) -> list[str]:
    """Run tests of a folder and return what is said of those that fail; forget their modules."""
    reports, path = _Reports(), list(sys.path)
    set_aside()
    try:
        status = pytest.main([*OPTIONS, *map(str, arguments)], plugins=[reports])
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(str(home)):
                del sys.modules[name]
    if reports.ran == 0 or (status and not reports.failed):
        return [f"{reports.ran} tests ran, pytest ended with {status!r}", *reports.failed]
    return reports.failed
