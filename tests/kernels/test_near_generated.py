"""Kernels of random worlds that ask neighbours, compared with the reference interpreter as in
generated tests.

The worlds are always the same ones; `ECSGEN_NEAR=100:400` draws others.
"""

from __future__ import annotations

import importlib
import os
import sys
from itertools import product
from pathlib import Path

import pytest
from ecsgen_testing.kernel_cases import check_kernel

from ecsgen.config import Backend
from tests.models.random_neighbour_worlds import NearWorlds
from tests.policies.test_combinations import write
from tests.support.generated_package import build

COMPILED = 9, "numba"
"""One with several sets, at once and in turns; numba takes seconds for each kernel."""
WORLDS = range(*map(int, os.environ.get("ECSGEN_NEAR", "9:12").split(":")))


@pytest.mark.parametrize(("number", "backend"), [*((k, "numpy") for k in WORLDS), COMPILED])
def test_random_worlds(
    number: int, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    if backend == "numba":
        pytest.importorskip("numba")
    text, name = NearWorlds(number).text, f"near_{number}_{backend}"
    build(write(tmp_path / "schemas", [text]), tmp_path / name, backend=backend)
    importlib.invalidate_caches()
    try:
        schema = importlib.import_module(f"{name}.tests.test_world").schema
        assert any(kernel.near for kernel in schema.kernels.values())
        world = importlib.import_module(name).World
        for kernel, rows, seed in product(schema.kernels, (2, 33), range(3)):
            check_kernel(world, schema, kernel, rows, seed)
    except BaseException as error:
        error.add_note(f"world {number}: {text}")
        raise
    finally:
        for module in [module for module in sys.modules if module.split(".")[0] == name]:
            del sys.modules[module]
