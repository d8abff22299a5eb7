"""A generated manager beside hand-written numpy bookkeeping and the library esper, in one run.

    python benchmarks/managers.py [--backends numpy numba] [--calls N] [--live N ...]
        [--bulk ROWS] [--rounds N]

The component is the shipped Particle: five columns with the owner. "numpy by hand" keeps the same
arrays without growing or checking anything, as one would write it for a single component. Its rows
are found as safely: by the whole handle. `--calls` are of one row each, among `--live` rows.
Contenders not installed are named and left out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import _managers_bulk
import _managers_one_row
from _arguments import BACKENDS, parsed
from _missing_contenders import MissingError, library_or_none
from _package import ROOT, SCHEMAS, packages
from _timing import table


def main() -> None:
    options = parsed(
        __doc__,
        backends=BACKENDS,
        calls=20_000,
        live=(20_000, 1_000_000),
        bulk=1_000_000,
        rounds=9,
    )
    with TemporaryDirectory() as name:
        folder = Path(name)
        schemas = ROOT / "schemas" / "particle.yaml", SCHEMAS / "two_components.yaml"
        built = packages(folder, options.backends, *schemas)
        ours = {f"generated, {backend}": package for backend, package in built.items()}
        try:
            in_c = _managers_bulk.lookup_in_c(folder)
        except MissingError as reason:
            print(f"C is left out: {reason}")
            in_c = None
        first, *_ = ours.values()
        esper = library_or_none("esper")
        one_row = _managers_one_row.cases(first, esper, options.calls, options.live)
        table(one_row, options.rounds, [*ours])
        print()
        table(_managers_bulk.cases(ours, in_c, options.bulk), options.rounds, [*ours])


if __name__ == "__main__":
    main()
