"""Fixtures and options of all tests."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.support.gc_settings import collect_rarely, set_aside

# All that a run leaves lies in one folder, also what its workers and children leave: a hundred
# thousand small files, in memory where there is room, for disks take a minute to remove them.
WORKS_FOR_OTHERS = "PYTEST_XDIST_WORKER" in os.environ
MEMORY, ROOM = "/dev/shm", 4 << 30
if not WORKS_FOR_OTHERS:
    in_memory = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
    place = tempfile.mkdtemp(prefix="ecsgen-tests-", dir=MEMORY if in_memory else None)
    os.environ["TMPDIR"] = tempfile.tempdir = place

from tests.support import bytecode_cache, soak  # noqa: E402  # it asks for the temporary folder

# Generated Python is what is tested; test_fast.py says how it is with its methods in C.
os.environ.setdefault("ECSGEN_PURE", "1")

# How long anything takes says more about a busy machine than about the code.
_PATIENT = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
# A failure is about the change at hand, and there are many machines: the soak tries more.
_REPEATABLE = settings(_PATIENT, derandomize=True, database=None)
settings.register_profile("repeatable", _REPEATABLE, max_examples=10)
settings.register_profile("soak", _REPEATABLE, max_examples=300)
settings.register_profile("explore", _PATIENT)
settings.load_profile("repeatable")
# Hypothesis tries constants of all modules there are: the same test would try other things after
# other tests, and to read each package that they generate takes as long as to compile it.
vars(providers)["is_local_module_file"] = lambda path: False
collect_rarely()
bytecode_cache.install()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite the expected files of golden tests"
    )


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Return True if golden files are to be rewritten instead of compared."""
    return bool(request.config.getoption("--update"))


@pytest.fixture(autouse=True, scope="module")
def _set_aside() -> None:
    """Freeze what earlier files have left, so that the garbage collector passes over it."""
    set_aside()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the dearest files: workers that get them last would end long after the others."""
    places = {name: index for index, name in enumerate(soak.DEAREST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))
    for item in items:
        soak.mark(item)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Take away what is left, in the temporary folder and, of workers, in memory."""
    if hasattr(config, "workerinput"):  # no child of a worker, who has a status to tell
        os._exit(0)  # all is told; to free gigabytes one object after the other takes ten seconds
    if not WORKS_FOR_OTHERS:
        shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
    gc.unfreeze()  # some extension modules say at exit what was not freed
