"""Random numbers in kernels, and rows and cells that are chosen by chance."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from ecsgen_runtime.kernels.random_streams import exponential_at, normal_at, poisson_at

from . import random_words
from .neighbours import Neighbour
from .scopes import Compiler, Expression, Scope
from .values import Value, binary, cast, value

DISTRIBUTIONS: dict[str, tuple[str, Callable[[int, float], Any]]] = {
    "exponential": ("f64", lambda word, scale: exponential_at([word], 0, scale)),
    "poisson": ("i64", lambda word, mean: poisson_at([word], 0, mean)),
    "bernoulli": ("bool", random_words.is_below),
}
"""Types of the numbers of a word, and how they are made with a parameter; `normal` and these take
those of the library, for their bits."""
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

        def below(scope: Scope) -> Any:
            limits = np.broadcast_to(operands[0](scope).data, shape).ravel().tolist()
            cells = map(random_words.number_below, words(scope), limits)
            return np.reshape([*cells], shape)

        def make(word: int) -> float:
            return float(normal_at([word], 0)) if is_normal else random_words.unit_number(word)

        def between(scope: Scope) -> Value:
            low, high = (cast("f64", operand(scope)) for operand in operands)
            return binary("+", low, binary("*", binary("-", high, low), drawn.evaluate(scope)))

        if name in DISTRIBUTIONS:
            (type_, distributed), (parameter,) = DISTRIBUTIONS[name], operands
            return Expression.of(
                type_, lambda scope: distributed(words(scope)[0], cast("f64", parameter(scope)).one)
            )
        if name == "randrange":
            return Expression.of("i64", below, shape)
        is_normal = name == "normal"
        drawn = Expression.of(
            "f64", lambda scope: np.reshape([*map(make, words(scope))], shape), shape
        )
        return Expression(between, drawn.sample) if name == "uniform" else drawn

    def _choice_of(self, name: str, component: str, keywords: Sequence[ast.keyword]) -> Expression:
        """Return `choice` of all that lived before the kernel, or `random_empty` of a component."""
        number = self.names.reserve(1)
        if name == "random_empty":
            self.names.emptied.add(component)
            return Expression.of(
                f"id<{self.schema.components[component].grid}>",
                lambda scope: one_of(scope, number, scope.run.occupants(component).empty) or 0,
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
