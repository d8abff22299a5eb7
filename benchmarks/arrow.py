"""Columns as Arrow tables, shared and copied: how long a table takes that copies nothing.

    python benchmarks/arrow.py [--rows N] [--rounds N]

A million particles of five columns. Ratios within one run, in which the contenders take turns.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from _arguments import parsed
from _missing_contenders import MissingError, library
from _timing import Case, Run, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from generated import EntityManager, ParticleManager

CALLS = 20


def main() -> None:
    options = parsed(__doc__, rows=1_000_000, rounds=15)
    try:
        pa, pl = library("pyarrow"), library("polars")
    except MissingError as missing:
        print(f"nothing is measured: {missing}")
        return
    entities = EntityManager()
    particles = ParticleManager(entities)
    particles.create_many(entities.create_many(options.rows))
    data = particles.data
    columns = pa.table(data)
    names = [column.name for column in ParticleManager.LAYOUT]
    shared = sum(_address(columns[name]) == getattr(data, name).ctypes.data for name in names)
    del columns
    print(f"{shared} of {len(names)} columns of {options.rows:,} rows are not copied\n")
    runs: dict[str, Run] = {
        "to_arrow": data.to_arrow,
        "pyarrow.table": lambda: pa.table(data),
        "polars.DataFrame": lambda: pl.DataFrame(data),
        "to_arrow(copy=True)": lambda: data.to_arrow(copy=True),
    }
    repeated = {name: _repeated(run) for name, run in runs.items()}
    table([Case.of("a table", CALLS, repeated)], options.rounds, ["to_arrow"])


def _repeated(run: Run) -> Run:
    """Return a run that does another one several times."""

    def runs() -> None:
        for _ in range(CALLS):
            run()

    return runs


def _address(column: Any) -> int:
    """Return the address of a column's memory."""
    array = column.chunk(0)
    while hasattr(array.type, "value_type"):
        array = array.flatten()
    address: int = array.buffers()[1].address
    return address


if __name__ == "__main__":
    main()
