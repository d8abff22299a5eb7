"""Kernels with nearly every word of the language, compared with the reference interpreter as in
generated tests."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from ecsgen_testing.kernel_cases import check_kernel, check_table

from ecsgen.config import Backend
from tests.policies.test_combinations import write
from tests.support.generated_package import build

SCHEMA = Path(__file__).parents[1] / "language.yaml"


# While numba compiles, frames that hold columns wait for the garbage collector.
@pytest.mark.filterwarnings("ignore:.*the buffer moved")
@pytest.mark.parametrize(
    ("backend", "seeds"),
    [
        ("numpy", range(1)),
        pytest.param("numpy", range(1, 5), marks=pytest.mark.soak),
        pytest.param("numba", range(5), marks=pytest.mark.soak),
    ],
)
def test_kernels_do_what_the_interpreter_does(
    backend: Backend, seeds: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(backend)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"language_{backend}"
    build(
        write(tmp_path / "schemas", [SCHEMA.read_text("utf-8")]), tmp_path / name, backend=backend
    )
    importlib.invalidate_caches()
    try:
        package = importlib.import_module(name)
        schema = importlib.import_module(f"{name}.tests.test_world").schema
        assert len(schema.kernels) > 4
        for seed in seeds:
            rows = (17, 2, 9, 33, 33)[seed]
            for kernel in schema.kernels:
                check_kernel(package.Farm, schema, kernel, rows, seed)
            for table in schema.tables:
                check_table(package.Farm, schema, table, rows, seed)
    finally:
        for module in [module for module in sys.modules if module.split(".")[0] == name]:
            del sys.modules[module]
