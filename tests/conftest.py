"""What all tests share."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from tests.garbage import collect_rarely

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
