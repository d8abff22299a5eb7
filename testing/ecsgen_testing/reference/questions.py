"""Questions of kernels to neighbours."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from . import values
from .draws import DrawCompiler, one_of
from .scopes import Evaluate, Expression, Scope
from .values import Value, cast, gathered, value

QUESTIONS: Final = ("count", "sum", "mean", "nearest", "choice", "max_by", "min_by")


class QuestionCompiler(DrawCompiler):
    """Compiler of questions."""

    def _question(self, name: str, node: ast.Call) -> Expression:
        near = self._named(node)
        number = self.names.reserve(1) if name in ("choice", "max_by", "min_by") else 0
        inner = type(self)(self.names, near)
        where = inner.condition(next((keyword.value for keyword in node.keywords), None))

        def matching(scope: Scope) -> list[Scope]:
            neighbours = scope.run.nearby[near].around(scope.rows)
            return [each for n in neighbours if where(each := scope.meeting(n))]

        answer = node.args[0] if node.args else None
        if name == "count":
            is_counted = inner.condition(
                None if answer is None or ast.unparse(answer) == near else answer
            )
            return Expression(
                lambda scope: value("i64", sum(map(is_counted, matching(scope)))), value("i64", 0)
            )
        assert answer is not None
        asked = inner.compile(answer)
        sample = values.settled(asked.sample)
        if name in ("sum", "mean", "min", "max"):

            def gathered_(scope: Scope) -> Value:
                answers = [cast(sample.type, asked.evaluate(each)) for each in matching(scope)]
                return gathered(name, answers, sample)

            return Expression(gathered_, gathered(name, [], sample))
        keys = [inner.compile(key).evaluate for key in node.args[1:]]
        none = value(sample.type, 0, sample.shape)

        def evaluate(scope: Scope) -> Value:
            scopes = matching(scope)
            if name == "nearest":
                squares = [values.dot(s.met.offset, s.met.offset).one for s in scopes]
                best_scope = scopes[squares.index(min(squares))] if scopes else None
            else:
                best_scope = one_of(scope, number, best(name, scopes, keys))
            return cast(sample.type, asked.evaluate(best_scope)) if best_scope else none

        return Expression(evaluate, none)

    def _is_of_elements(self, node: ast.Call) -> bool:
        """Return True for `min`, `max` or `sum` of the elements of a shape: within a question, or
        where no neighbour is named."""
        if len(node.args) != 1 or node.keywords:
            return False
        names, (arg,) = self.names, node.args
        if self._asked or not names.hoods:
            return True
        neighbours = {*names.hoods, "offset", "distance"} - {*names.loops}
        if neighbours & {part.id for part in ast.walk(arg) if isinstance(part, ast.Name)}:
            return False
        draws = names.draws
        is_shaped = not self.compile(arg).is_scalar
        names.draws = draws
        return is_shaped

    def _named(self, node: ast.Call) -> str:
        """Return the neighbourhood that a question names; it need not where there is only one."""
        hoods = self.names.hoods
        if len(hoods) == 1:
            return next(iter(hoods))
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        (near,) = names & {*hoods} or hoods
        return near


def best(name: str, scopes: list[Scope], keys: Sequence[Evaluate]) -> list[Scope]:
    """Return the neighbours with the greatest, or least, first key; of several, by the next …"""
    for number, key in enumerate(keys):
        numbers = [key(scope).one for scope in scopes]
        comparable = [n for n in numbers if n == n]
        if comparable or number == 0:
            top = (max if name == "max_by" else min)(comparable, default=None)
            scopes = [scope for scope, n in zip(scopes, numbers, strict=True) if n == top]
    return scopes
