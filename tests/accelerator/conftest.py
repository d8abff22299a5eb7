"""The shipped package with methods in C, and without, for all tests here."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.support.accelerated_packages import ROOT, Packages, both


@pytest.fixture(scope="session")
def packages() -> Packages:
    return both(ROOT / "schemas", ("quick", "plain"))


@pytest.fixture
def quick(packages: Packages) -> ModuleType:
    return packages[0]
