"""What all tests share."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests import compiled_once
from tests.garbage import collect_rarely, set_aside

# Generated Python is what is tested; test_fast.py says how it is with its methods in C.
os.environ.setdefault("ECSGEN_FAST", "0")

# How long anything takes says more about a busy machine than about the code.
_PATIENT = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
# A failure is about the change at hand, and there are many machines: half of the usual examples.
settings.register_profile("repeatable", _PATIENT, derandomize=True, database=None, max_examples=50)
settings.register_profile("explore", _PATIENT)
settings.load_profile("repeatable")
# Hypothesis tries constants of all modules there are: the same test would try other things after
# other tests, and to read each package that they generate takes as long as to compile it.
vars(providers)["is_local_module_file"] = lambda path: False
collect_rarely()
compiled_once.install()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the expected files of golden tests"
    )


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(autouse=True, scope="module")
def _set_aside() -> None:
    """What the files before have left is no concern of the garbage collector's."""
    set_aside()


def pytest_unconfigure() -> None:
    """Let extension modules find what they have made: some say at exit what was not freed."""
    gc.unfreeze()
