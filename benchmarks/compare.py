"""Two versions of a generated package beside each other: is the new one as fast as the old one?

    python benchmarks/compare.py OLD NEW [--only REGEX] [--rounds N] [--bulk ROWS ...]

OLD and NEW are folders of packages from the same schemas. Both are imported here, and what all
managers of both can do is timed in turns: old, new, old, new. The table has the ratios of the best
times, new / old; what looks slower is measured again and again before it is believed. With --only,
operations whose title matches: 'PointMassManager: create', say. All of it takes some ten minutes,
most of them for 100,000 rows; Ctrl-C shows the findings until then.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from _compare_operations import managers, methods, operations
from _compare_timing import SUSPECT, Comparison, Finding, compare
from _timing import machine

# The generated Python is compared; accelerator.py has the same methods in C.
os.environ.setdefault("ECSGEN_PURE", "1")

SLOWER = 1.05
WORST = 40


def imported(folder: Path, name: str) -> Any:
    """Import a package's folder under a name of its own; ValueError if it is no package."""
    file = folder / "__init__.py"
    if not file.is_file():
        raise ValueError(f"{folder} is not a package")
    folders = [str(folder)]
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folders)
    assert spec is not None
    assert spec.loader is not None
    package = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    return package


def _differences(old: Any, new: Any) -> Iterator[str]:
    """Yield which managers and methods one of them lacks."""
    for owner, other, where in ((old, new, "OLD"), (new, old, "NEW")):
        for name in managers(owner):
            if name not in managers(other):
                yield f"{where}: {name}"
                continue
            lacking = {*methods(getattr(owner, name))} - {*methods(getattr(other, name))}
            if lacking:
                yield f"{where}: {name}: {', '.join(sorted(lacking))}"


def show(comparison: Comparison) -> None:
    """Print a row per operation over all managers, the worst ones by name, and the sum of it."""
    by_name: dict[str, list[Finding]] = defaultdict(list)
    for finding in comparison.findings:
        by_name[finding.operation.name].append(finding)
    print("| new / old | how many | median | worst | of |\n| --- | --- | --- | --- | --- |")
    for name, findings in by_name.items():
        worst = max(findings, key=lambda finding: finding.ratio)
        cells = (name, str(len(findings)), f"{_median(findings):.2f}", f"{worst.ratio:.2f}")
        print("|", " | ".join(cells), "|", worst.operation.owner, "|")
    slower = [finding for finding in comparison.findings if finding.ratio > SLOWER]
    print(f"\nThe slowest of {len(slower)} above {SLOWER}:\n")
    for finding in sorted(slower, key=lambda finding: -finding.ratio)[:WORST]:
        print(f"{finding.ratio:.3f} {finding.operation.title} ({finding.rounds} rounds)")
    _show_left_out(comparison)
    if comparison.findings:
        ratios = sorted(finding.ratio for finding in comparison.findings)
        print(f"\n{len(ratios)} operations, median {_median(comparison.findings):.3f},", end=" ")
        alike = sum(1 / SUSPECT < ratio < SUSPECT for ratio in ratios)
        print(f"{ratios[0]:.2f} to {ratios[-1]:.2f}, {alike} within {SUSPECT},", end=" ")
        print(f"{len(slower)} above {SLOWER}; {machine()}")


def _median(findings: Iterable[Finding]) -> float:
    return statistics.median(finding.ratio for finding in findings)


def _show_left_out(comparison: Comparison) -> None:
    for reason, titles in comparison.left_out.items():
        print(f"\nLeft out, {len(titles)} as {titles[0]}: {reason}")
    for title, reason in comparison.broken.items():
        print(f"\nBROKEN in the new package: {title}: {reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    parser.add_argument("--only", type=re.compile, default="", help="titles to time, a regex")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--bulk", type=int, nargs="*", default=[10, 1_000, 100_000])
    options = parser.parse_args()
    old, new = imported(options.old.resolve(), "old"), imported(options.new.resolve(), "new")
    print("".join(f"Only in {line}\n" for line in _differences(old, new)))
    wanted = operations(old, new, tuple(options.bulk))
    chosen = (each for each in wanted if re.search(options.only, each.title))
    show(compare(old, new, chosen, options.rounds))


if __name__ == "__main__":
    main()
