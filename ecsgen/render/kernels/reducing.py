"""A reduction as a method of a manager, whatever it is compiled to: its result and docstring."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ecsgen.model import Component, Kernel, Reduction
from ecsgen.model.programs import Effects, Program
from ecsgen.model.scalars import FLOATS
from ecsgen.render.giving_way import marked
from ecsgen.render.kernels.method import Method
from ecsgen.render.wording import tuple_type

_SAYS: Final = {
    "sum": "Return the sum",
    "mean": "Return the mean",
    "min": "Return the smallest",
    "max": "Return the largest",
    "count": "Return in how many rows",
}


class ReducingMethod(Method):
    """What is the same for every backend."""

    def __init__(self, component: Component, reduction: Reduction) -> None:
        self.reduction = reduction
        self._value = reduction.program.value
        self._has_holes = component.lookup == "direct"
        joined = "" if reduction.how == "count" else " of"
        where = f" where `{reduction.where}`" if reduction.where else ""
        folding = reduction.program
        doc = reduction.doc or f"{_SAYS[reduction.how]}{joined} `{reduction.expression}`{where}"
        program = Program(where=folding.where, effects=Effects(reads=folding.reads))
        kernel = Kernel(reduction.name, (), doc=doc, where=reduction.where, program=program)
        super().__init__(component, replace(kernel, rows=reduction.rows))

    @property
    def accumulator(self) -> str:
        """The type in which is added."""
        scalar = self._value.type.scalar
        if scalar in FLOATS or self.reduction.how == "mean":
            return "f64"
        return "u64" if scalar[0] == "u" else "i64"

    @property
    def returns(self) -> str:
        """The annotation of the result."""
        how, type_ = self.reduction.how, self._value.type
        is_whole = how == "count" or (how == "sum" and not type_.is_float)
        return tuple_type("int" if is_whole else "float", type_.shape)

    @property
    def takes_rows(self) -> bool:
        """Not: it is of all rows, or of the active ones."""
        return False

    @property
    def signature(self) -> str:
        return f"def {marked(self.name)}(self) -> {self.returns}:"

    @property
    def _effects(self) -> str:
        reads = self._program.effects.reads
        read = f"Reads {self._with_units(reads)}. " if reads else ""
        without = "0" if self.reduction.how in ("sum", "count") else "NaN"
        which = ", n active rows" if self.rows == "_n_active" else ""
        return f"{read}{self._how_added}Without rows it is {without}. O(n){which}."

    @property
    def running(self) -> str:
        """The expression for the number of rows that it looks at."""
        return "data._n_active" if self.rows == "_n_active" else "len(self)"

    @property
    def _how_added(self) -> str:
        if self.reduction.how in ("sum", "mean"):
            return f"Added in {self.accumulator}. "
        is_nan = self.reduction.how != "count" and self._value.type.is_float
        return "NaN if one is NaN. " if is_nan else ""
