"""What all tests share."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.garbage import collect_rarely

# Generated Python is what is tested; test_fast.py says how it is with its methods in C.
os.environ.setdefault("ECSGEN_FAST", "0")

# How long anything takes says more about a busy machine than about the code.
_PATIENT = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("repeatable", _PATIENT, derandomize=True, database=None)
settings.register_profile("explore", _PATIENT)
settings.load_profile("repeatable")  # a failure is about the change at hand
collect_rarely()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the expected files of golden tests"
    )


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--update"))
