"""Questions of kernels to neighbours."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

from . import values
from .draws import DrawCompiler, one_of
from .neighbours import Hood
from .random_words import unit_number, word
from .scopes import Compiler, Evaluate, Expression, Scope
from .values import Value, assigned, cast, gathered, value

QUESTIONS: Final = ("count", "sum", "mean", "nearest", "choice", "max_by", "min_by", "mode")
GATHERED: Final = ("sum", "mean", "min", "max", "mode")
Choose: TypeAlias = Callable[[list[Scope]], Scope | None]
"""Chooses one of the neighbours, if it may."""
Gather: TypeAlias = Callable[[Scope, list[Value]], Value]
"""Makes one value of the neighbours' answers."""


class QuestionCompiler(DrawCompiler):
    """Compiler of questions."""

    def _question(self, name: str, node: ast.Call) -> Expression:
        near, names = self._named(node), self.names
        number = names.reserve(1) if name in ("choice", "max_by", "min_by") else 0
        inner = type(self)(names, near)
        keywords = {str(keyword.arg): keyword.value for keyword in node.keywords}
        where = inner.condition(keywords.get("where"))

        def matching(scope: Scope) -> list[Scope]:
            neighbours = scope.run.nearby[near].around(scope.rows)
            return [each for n in neighbours if where(each := scope.meeting(n))]

        answer = node.args[0] if node.args else None
        if name == "count":
            is_counted = inner.condition(
                None if answer is None or ast.unparse(answer) == near else answer
            )
            return Expression.of("i64", lambda scope: sum(map(is_counted, matching(scope))))
        assert answer is not None
        asked = inner.compile(answer)
        like = values.settled(asked.sample)
        sample = gathered(name, [], like) if name in GATHERED else value(like.type, 0, like.shape)
        choose, gather = self._chooser(name, number, inner, node), self._gatherer(name, like, node)
        none = self.compile(keywords["none"]).evaluate if "none" in keywords else None

        def evaluate(scope: Scope) -> Value:
            scopes = matching(scope)
            if name in GATHERED:
                if scopes or none is None:
                    answers = [cast(like.type, asked.evaluate(each)) for each in scopes]
                    return gather(scope, answers)
            elif (chosen := choose(scopes)) is not None:
                return cast(like.type, asked.evaluate(chosen))
            return sample if none is None else assigned(none(scope), sample)

        return Expression(evaluate, sample)

    def _gatherer(self, name: str, like: Value, node: ast.Call) -> Gather:
        """Return how the answers of neighbours become one."""
        return lambda scope, answers: gathered(name, answers, like)

    def _chooser(self, name: str, number: int, inner: Compiler, node: ast.Call) -> Choose:
        """Return how a question chooses one of the neighbours."""
        if name == "nearest":
            return partial(nearest, self.names.hoods[self._named(node)])
        for keyword in node.keywords:
            if keyword.arg == "weight":
                return partial(weighted, number, inner.compile(keyword.value).evaluate)
        keys = [inner.compile(key).evaluate for key in node.args[1:]]
        return partial(one_of_best, name, number, keys)

    def _is_of_elements(self, node: ast.Call) -> bool:
        """Return True for `min`, `max` or `sum` of the elements of a shape: within a question, or
        where no neighbour is named."""
        if len(node.args) != 1 or node.keywords:
            return False
        names, (arg,) = self.names, node.args
        if self._asked or not names.hoods:
            return True
        neighbours = {*names.hoods, "offset", "distance", "link"} - {*names.loops}
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
        (near,) = (names & {*hoods}) - {*self.names.loops} or hoods
        return near


def nearest(hood: Hood, scopes: list[Scope]) -> Scope | None:
    """Return the neighbour at the least distance, the first of several; NaN is nobody's nearest."""
    squares = [(hood.square(scope.met.offset).one, scope) for scope in scopes]
    comparable = [pair for pair in squares if pair[0] == pair[0]]
    return min(comparable, key=lambda pair: pair[0])[1] if comparable else None


def weighted(number: int, weight: Evaluate, scopes: list[Scope]) -> Scope | None:
    """Return a neighbour by chance, each as likely as its weight says; None without a weight."""
    total, sums = 0.0, list[float]()
    for scope in scopes:
        share = cast("f64", weight(scope)).one
        total += share if 0 < share < math.inf else 0.0
        sums.append(total)
    limit = total * unit_number(word(scopes[0].stem, number)) if scopes else 0.0
    pairs = zip(scopes, sums, strict=True)
    return next((scope for scope, running in pairs if running > limit), None)


def one_of_best(
    name: str, number: int, keys: Sequence[Evaluate], scopes: list[Scope]
) -> Scope | None:
    """Return a neighbour by chance of those with the greatest, or least, first key, of several by
    the next …"""
    for k, key in enumerate(keys):
        if k and len(scopes) < 2:
            break  # nobody asks for what decides nothing
        numbers = [key(scope).one for scope in scopes]
        comparable = [n for n in numbers if n == n]
        if comparable or k == 0:
            top = (max if name == "max_by" else min)(comparable, default=None)
            scopes = [scope for scope, n in zip(scopes, numbers, strict=True) if n == top]
    return one_of(scopes[0], number, scopes) if scopes else None
