"""Times columns as Arrow tables, and rows from tables against rows from numpy arrays.

    python benchmarks/arrow.py [--rows N] [--rounds N]

A million particles of five columns. Ratios within one run, in which the contenders take turns.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from _timing import Case, Prepare, Run, always, heading, machine, show

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from generated import EntityManager, EveryTypeManager, Mode, ParticleManager

MEMBERS = np.array([member.name for member in Mode])
CALLS = 20
TEXTS = np.array([f"creature {k}" for k in range(1000)])


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    try:
        import polars as pl
        import pyarrow as pa
    except ImportError as error:
        print(f"{error}: nothing is measured without pyarrow and polars")
        return 0
    print(f"{given.rows:,} rows, {machine()}\n")
    out(given.rows, given.rounds, pa, pl)
    back(given.rows, given.rounds, pa, pl)
    return 0


def out(rows: int, rounds: int, pa: Any, pl: Any) -> None:
    """Time what makes tables of columns."""
    entities = EntityManager()
    particles = ParticleManager(entities)
    particles.create_many(entities.create_many(rows))
    data = particles.data
    table = pa.table(data)
    shared = sum(_address(table[name]) == getattr(data, name).ctypes.data for name in data_names())
    del table
    print(f"{shared} of {len(data_names())} columns lie where they lay\n")
    runs: dict[str, Run] = {
        "to_arrow": data.to_arrow,
        "pyarrow.table": lambda: pa.table(data),
        "polars.DataFrame": lambda: pl.DataFrame(data),
        "to_arrow(copy=True)": lambda: data.to_arrow(copy=True),
    }
    print(heading(["to_arrow"]))
    contenders = {name: always(_repeated(run)) for name, run in runs.items()}
    show(Case("a table", CALLS, contenders), rounds, ["to_arrow"])


def _repeated(run: Run) -> Run:
    """Return what runs something several times."""

    def runs() -> None:
        for _ in range(CALLS):
            run()

    return runs


def data_names() -> list[str]:
    """Return the columns of a particle."""
    return [column.name for column in ParticleManager.LAYOUT]


def _address(column: Any) -> int:
    """Return where the memory of a column begins."""
    array = column.chunk(0)
    while hasattr(array.type, "value_type"):
        array = array.flatten()
    address: int = array.buffers()[1].address
    return address


def back(rows: int, rounds: int, pa: Any, pl: Any) -> None:
    """Time rows that are created from tables, beside numpy arrays of the same values."""
    rng = np.random.default_rng(1)
    numbers = {
        "position": rng.random((rows, 2), np.float32),
        "velocity": rng.random((rows, 2), np.float32),
        "life": rng.random(rows, np.float32),
        "colour": rng.integers(0, 255, (rows, 4), np.uint8),
    }
    lists = {name: _column(pa, cells) for name, cells in numbers.items()}
    text = TEXTS[rng.integers(0, len(TEXTS), rows)]
    places = rng.integers(0, len(MEMBERS), rows)
    modes = np.array(list(Mode), np.uint16)[places]
    names = pa.array(MEMBERS[places].tolist())
    print(f"\n{heading(['pyarrow', 'polars'])}")
    for case, kind, columns, table in (
        ("create_many, numbers", ParticleManager, numbers, pa.table(lists)),
        ("create_many, text or str", EveryTypeManager, {"title": text}, {"title": text}),
        (
            "create_many, text or bytes",
            EveryTypeManager,
            {"title": text.astype("S")},
            {"title": text},
        ),
        ("create_many, names or numbers", EveryTypeManager, {"mode": modes}, {"mode": names}),
        (
            "create_many, a dictionary or numbers",
            EveryTypeManager,
            {"mode": modes},
            {"mode": names.dictionary_encode()},
        ),
    ):
        arrow = pa.table(table)
        contenders = {
            "numpy": _creation(kind, rows, None, columns),
            "pyarrow": _creation(kind, rows, arrow, {}),
            "polars": _creation(kind, rows, pl.DataFrame(arrow), {}),
        }
        show(Case(case, rows, contenders), rounds, ["pyarrow", "polars"])


def _column(pa: Any, cells: Any) -> Any:
    """Return cells as an Arrow array: of lists if they have a shape."""
    flat = pa.array(cells.reshape(-1))
    return flat if cells.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, cells.shape[1])


def _creation(kind: Any, rows: int, table: Any, columns: Any) -> Prepare:
    """Return what creates so many rows in a new manager with room for them."""

    def prepare() -> Run:
        entities = EntityManager()
        manager = kind(entities)
        manager.reserve(rows)
        owners = entities.create_many(rows)
        return lambda: manager.create_many(owners, table, **columns)

    return prepare


if __name__ == "__main__":
    sys.exit(main())
