"""Random numbers in kernels, and rows and cells that are chosen by chance."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from . import random_words
from .neighbours import Neighbour
from .scopes import Compiler, Expression, Scope
from .values import Value, binary, cast, value

DISTRIBUTIONS: dict[str, tuple[str, Callable[[int, float], float]]] = {
    "exponential": ("f64", random_words.exponential_number),
    "poisson": ("i64", random_words.poisson_number),
    "bernoulli": ("bool", random_words.is_below),
}
DRAWS: Final = ("random", "normal", "uniform", "randrange", *DISTRIBUTIONS)


class DrawCompiler(Compiler):
    """Compiler of draws."""

    def _draw(self, name: str, args: Sequence[ast.expr]) -> Expression:
        """Return random numbers; those of a call come before those that its arguments draw."""
        first = self.names.draws
        dry = [self.compile(arg).sample for arg in args]
        if name in ("random", "normal"):
            shape = tuple(size.one for size in dry)
        else:
            shape = max((sample.shape for sample in dry), key=len)
        self.names.draws = first + math.prod(shape)
        operands = [self.compile(arg).evaluate for arg in args]
        numbers = range(first, first + math.prod(shape))

        def words(scope: Scope) -> list[int]:
            return [random_words.word(scope.stem, j) for j in numbers]

        def below(scope: Scope) -> Value:
            limits = np.broadcast_to(operands[0](scope).data, shape).ravel().tolist()
            pairs = zip(words(scope), limits, strict=True)
            cells = [random_words.number_below(*pair) for pair in pairs]
            return value("i64", np.reshape(cells, shape))

        make = random_words.normal_number if name == "normal" else random_words.unit_number

        def numbers_of(scope: Scope) -> Value:
            return value("f64", np.reshape([make(word) for word in words(scope)], shape))

        def between(scope: Scope) -> Value:
            low, high = (cast("f64", operand(scope)) for operand in operands)
            return binary("+", low, binary("*", binary("-", high, low), numbers_of(scope)))

        if name in DISTRIBUTIONS:
            type_, distributed = DISTRIBUTIONS[name]
            parameter = operands[0]
            return Expression(
                lambda scope: value(
                    type_, distributed(words(scope)[0], cast("f64", parameter(scope)).one)
                ),
                value(type_, 0),
            )
        if name == "randrange":
            return Expression(below, value("i64", 0, shape))
        evaluate = between if name == "uniform" else numbers_of
        return Expression(evaluate, value("f64", 0, shape))

    def _choice_of(self, name: str, component: str, keywords: Sequence[ast.keyword]) -> Expression:
        """Return `choice` of all that lived before the kernel, or `random_empty` of a component."""
        number = self.names.reserve(1)
        if name == "random_empty":
            self.names.emptied.add(component)
            id_ = f"id<{self.schema.components[component].grid}>"
            return Expression(
                lambda scope: value(
                    id_, one_of(scope, number, scope.run.occupants(component).empty) or 0
                ),
                value(id_, 0),
            )
        self.names.chosen.add(component)

        where = type(self)(self.names, component).condition(keywords[0].value if keywords else None)

        def evaluate(scope: Scope) -> Value:
            rows, world = scope.run.candidates[component], scope.run.world
            if keywords:  # who has died since is not asked
                nowhere = value("f64", 0)
                neighbours = [Neighbour({component: row}, nowhere) for row in rows]
                meetings = [scope.meeting(n) for n in neighbours if world.lives(n.row)]
                rows = [meeting.met.row for meeting in meetings if where(meeting)]
            row = one_of(scope, number, rows)
            return world.reference(component, row if row and world.lives(row) else None)

        return Expression(evaluate, value(self.schema.handle_type(component), 0))


def one_of(scope: Scope, number: int, candidates: Sequence[Any]) -> Any:
    """Return one of the candidates by chance; None if there are none."""
    word = random_words.word(scope.stem, number)
    return candidates[random_words.number_below(word, len(candidates))] if candidates else None
