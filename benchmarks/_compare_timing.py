"""Ratios that can be believed on a machine that others use too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from _compare_operations import Operation
from _timing import Case, measure

SUSPECT = 1.03
"""A larger ratio is measured again before anybody has to believe it."""

AGAIN = 5
"""How often that is done; each time with fresh subjects, so that they lie elsewhere in memory.

Once for quicker ones: else chance would only ever be looked into on one side.
"""


@dataclass(slots=True)
class Finding:
    """The best times of an operation so far, in ns."""

    operation: Operation
    old: float = float("inf")
    new: float = float("inf")
    rounds: int = 0

    @property
    def ratio(self) -> float:
        return self.new / self.old


@dataclass(slots=True)
class Comparison:
    """The findings, and operations that there are none of, by what they raised."""

    findings: list[Finding] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)


def compare(old: Any, new: Any, operations: Iterable[Operation], rounds: int) -> Comparison:
    """Time each operation on both packages in turns, and again what seems slower in the new one."""
    comparison = Comparison()
    try:
        for operation in operations:
            _first(comparison, Finding(operation), old, new, rounds)
        for again in range(AGAIN):
            for finding in comparison.findings:
                if finding.ratio > SUSPECT or (again == 0 and finding.ratio < 1 / SUSPECT):
                    _time(finding, old, new, max(rounds, finding.rounds // 2))
    except KeyboardInterrupt:  # the findings until then are worth showing
        print("interrupted")
    return comparison


def _first(comparison: Comparison, finding: Finding, old: Any, new: Any, rounds: int) -> None:
    title = finding.operation.title
    try:
        finding.operation.stage(old)()()
    except Exception as error:  # the package can't do this: a capacity too small, no such column
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        kind = re.sub(r"'[^']*'", "'…'", re.sub(r"\d+", "N", reason))
        comparison.left_out.setdefault(kind, []).append(title)
        return
    try:
        finding.operation.stage(new)()()
    except Exception as error:
        comparison.broken[title] = f"{type(error).__name__}: {error}"
        return
    comparison.findings.append(finding)
    _time(finding, old, new, rounds)


def _time(finding: Finding, old: Any, new: Any, rounds: int) -> None:
    """Time in two sittings of half the rounds each, with other subjects and the other one first."""
    stage = finding.operation.stage
    for turn in (1, -1):
        contenders = {"old": stage(old), "new": stage(new)}
        case = Case(finding.operation.title, 1, dict([*contenders.items()][::turn]))
        times = measure(case, (rounds + 1) // 2)
        finding.old = min(finding.old, *times["old"])
        finding.new = min(finding.new, *times["new"])
        finding.rounds += len(times["old"])
