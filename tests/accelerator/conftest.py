"""What tests of methods in C share: the shipped package with them, and without."""

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
