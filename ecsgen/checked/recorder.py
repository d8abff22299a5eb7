"""Notes of a checked run while rows run: findings, who runs, and which step."""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from ecsgen_testing.reference.effects import Effects
from ecsgen_testing.reference.scopes import Scope
from ecsgen_testing.reference.statements import Signal, Step
from ecsgen_testing.reference.world import Row

from ecsgen.checked.findings import KINDS, CheckError, Finding
from ecsgen.checked.operation_checks import Kinds
from ecsgen.checked.statements import Spot, Statement

_PATIENCE: Final = 10.0
"""Seconds after which a call says how far it is."""


class Follower(Protocol):
    """Listener to the steps of some rows of a kernel."""

    kernel: str

    def begin(self) -> None:
        """Begin a call of the kernel."""

    def is_meant(self, scope: Scope) -> bool:
        """Return whether a row's steps are followed."""
        ...

    def end_condition(self, scope: Scope, statement: Statement | None, holds: bool) -> None:
        """Note that a row's `where` was worked out."""

    def follow(self, act: Step, statement: Statement, run: Effects, scope: Scope) -> Signal | None:
        """Run a step, and note what it did."""
        ...


class Recorder:
    """Notes of one checked block: its findings, and the row and step that run."""

    def __init__(self, find: Kinds, *, stop: bool, limit: int) -> None:
        self.find, self.stop, self.limit = find, stop, limit
        self.findings: list[Finding] = []
        self.n_calls = 0
        """Number of kernels, reductions and tables that were looked at."""
        self.is_muted = False
        """True while something is worked out that the kernel does not."""
        self.kernel = ""
        self.tick: int | None = None
        self.number_of: Callable[[Row], int]
        """Gives the number of a row in its manager."""
        self.sender: tuple[Statement, Scope]
        """The step that runs, and its row."""
        self.followers: list[Follower] = []
        self.following: list[Follower] = []
        """Those of the kernel that runs."""
        self._known: dict[tuple[ast.AST, str], Finding] = {}
        self._pending: list[Finding] = []

    # Calls and rows

    def begin(self, kernel: str, tick: int | None, number_of: Callable[[Row], int]) -> None:
        """Begin a call."""
        self.kernel, self.tick, self.number_of = kernel, tick, number_of
        self.is_muted, self._pending = False, []
        self.following = [each for each in self.followers if each.kernel == kernel]
        for follower in self.following:
            follower.begin()
        self._deadline, self._n_rows = time.monotonic() + _PATIENCE, 0

    def end_condition(self, scope: Scope, statement: Statement | None, holds: bool) -> None:
        """Note that a row's `where` was worked out."""
        for follower in self.following:
            follower.end_condition(scope, statement, holds)
        self.settle()
        self._n_rows += 1
        if time.monotonic() > self._deadline:
            self._deadline = float("inf")
            total = len(getattr(scope.run, "scopes", ()))
            print(f"checked: {self.kernel}: row {self._n_rows} of {total}", file=sys.stderr)

    def before(self, statement: Statement, scope: Scope) -> None:
        """Note that a step begins."""
        self.settle()
        statement.begin()
        self.sender = statement, scope

    # Findings

    def tell(
        self,
        spot: Spot,
        scope: Scope,
        kinds: Kinds,
        value: Any,
        detail: str,
        nodes: Iterable[ast.AST] | None = None,
    ) -> None:
        """Note the first kind that is asked for, unless the row is dead.

        A comment that exempts this kind, or one before it, exempts the operation: what is allowed
        is not told under another name.

        `detail`: the operation with its numbers; `nodes`: whose values are the operands, if not
        all names'.
        """
        allowed = spot.statement.allowed
        present = [
            kind for kind in KINDS if kind in kinds and (kind in self.find or kind in allowed)
        ]
        if (
            self.is_muted
            or not present
            or present[0] in allowed
            or not scope.run.world.lives(scope.row)
        ):
            return
        key = spot.node, present[0]
        known = self._known.get(key)
        if known is not None:
            known.count += 1
            return
        self.is_muted = True
        statement, row, mark = spot.statement, scope.row, spot.statement.mark(spot.node)
        finding = Finding(
            present[0],
            mark.path,
            mark.line,
            mark.column,
            statement.shown,
            statement.part(spot.node),
            spot.operands(scope, nodes),
            value,
            self.kernel,
            row.component,
            self.number_of(row),
            row.owner or row.id,
            self.tick,
            detail=detail,
            source=statement.source(mark),
            length=mark.length,
        )
        self.is_muted = False
        self._pending.append(finding)
        if not self.stop:
            self._known[key] = finding

    def settle(self) -> None:
        """Raise CheckError for the leftmost finding of the step, or keep all. O(1) without one."""
        if not self._pending:
            return
        findings = sorted(self._pending, key=lambda finding: (finding.line, finding.column))
        self._pending = []
        for finding in findings:
            if len(self.findings) < self.limit:
                self.findings.append(finding)
            if self.stop:
                raise CheckError(finding)
