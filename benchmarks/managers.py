"""A generated manager beside hand-written numpy bookkeeping and the library esper, in one run.

    python benchmarks/managers.py [--backends numpy numba] [--bulk ROWS] [--rounds N]

The component is the shipped Particle: five columns with the owner. "numpy by hand" keeps the same
arrays without growing or checking anything, as one would write it for a single component. Its rows
are found as safely: by the whole handle. Contenders not installed are named and left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import _managers_bulk
import _managers_one_row
from _missing_contenders import MissingError, library
from _package import ROOT, SCHEMAS, built
from _timing import heading, machine, show

from ecsgen.config import BACKENDS


def found(name: str, find: Callable[[], Any]) -> Any:
    """Return a contender, or None after saying why it is not there."""
    try:
        return find()
    except MissingError as reason:
        print(f"{name} is left out: {reason}")
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=BACKENDS)
    parser.add_argument("--calls", type=int, default=20_000, help="of one row each")
    parser.add_argument("--live", type=int, nargs="*", default=[20_000, 1_000_000])
    parser.add_argument("--bulk", type=int, default=1_000_000, help="rows of bulk calls")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        schemas = ROOT / "schemas" / "particle.yaml", SCHEMAS / "two_components.yaml"
        packages = {}
        for backend in options.backends:
            contender = f"generated, {backend}"
            package = found(contender, partial(built, folder, backend, *schemas))
            if package is not None:
                packages[contender] = package
        esper = found("esper", lambda: library("esper"))
        in_c = found("C", lambda: _managers_bulk.lookup_in_c(folder))
        print(f"{machine()}\n\n{heading([*packages])}")
        first, *_ = packages.values()
        for case in _managers_one_row.cases(first, esper, options.calls, options.live):
            show(case, options.rounds, [*packages])
        for case in _managers_bulk.cases(packages, in_c, options.bulk):
            show(case, options.rounds, [*packages])


if __name__ == "__main__":
    main()
