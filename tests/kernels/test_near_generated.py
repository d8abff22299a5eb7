"""Kernels of random worlds that ask neighbours, run row by row by the generated tests.

The worlds are always the same ones; `ECSGEN_NEAR=100:400` draws others.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest

from ecsgen.config import Backend
from tests.models.random_neighbour_worlds import NearWorlds
from tests.policies.test_combinations import parameters, run_case, write
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
        cases = importlib.import_module(f"{name}.tests.test_world").TestStepsOfWorldKernels
        assert any(case.near for case in cases.kernels.values())
        for arguments in parameters(cases.test_as_their_steps_say):
            run_case(cases(), cases.test_as_their_steps_say, arguments)
    except BaseException as error:
        error.add_note(f"world {number}: {text}")
        raise
    finally:
        for module in [module for module in sys.modules if module.split(".")[0] == name]:
            del sys.modules[module]
