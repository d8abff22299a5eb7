"""A reduction as a method of a manager, whatever folds its values: its result and docstring."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ecsgen.model import Component, Kernel, Reduction
from ecsgen.model.programs import Effects, Local, Program, Step
from ecsgen.model.types import FLOATS, Type
from ecsgen.render.calls import tuple_type
from ecsgen.render.giving_way import marked
from ecsgen.render.kernels.methods import Method
from ecsgen.render.kernels.sources import Source, own_source

_SAYS: Final = {
    "sum": "Return the sum",
    "mean": "Return the mean",
    "min": "Return the smallest",
    "max": "Return the largest",
    "count": "Return in how many rows",
}


class Folding(Method):
    """The method: of all rows, or of the active ones."""

    source: Source
    takes_rows = False

    def __init__(self, component: Component, reduction: Reduction) -> None:
        self.reduction = reduction
        self.how = reduction.how
        self.value = reduction.program.value
        self.where = reduction.program.where
        joined = "" if reduction.how == "count" else " of"
        where = f" where `{reduction.where}`" if reduction.where else ""
        doc = reduction.doc or f"{_SAYS[reduction.how]}{joined} `{reduction.expression}`{where}"
        step = Step(Local(self.value.type, "value"), self.value)
        effects = Effects(reads=reduction.program.reads)
        program = Program(where=self.where, steps=(step,), effects=effects)
        kernel = Kernel(reduction.name, (), doc=doc, where=reduction.where, program=program)
        kernel = replace(kernel, rows=reduction.rows)
        super().__init__(kernel, own_source(component, kernel))

    @property
    def type(self) -> Type:
        """Of the values of which one is made."""
        return self.value.type

    @property
    def is_choosy(self) -> bool:
        """Whether it is of the rows that match."""
        return self.where is not None

    @property
    def is_zero(self) -> bool:
        """Whether it is 0 without rows, and not NaN."""
        return self.how in ("sum", "count")

    @property
    def accumulator(self) -> str:
        """The type in which is added."""
        scalar = self.type.scalar
        if scalar in FLOATS or self.how == "mean":
            return "f64"
        return "u64" if scalar[0] == "u" else "i64"

    @property
    def running(self) -> str:
        """The expression for the number of rows that it looks at."""
        return self.source.found if self.kernel.rows == "active" else "len(self)"

    @property
    def returns(self) -> str:
        """The annotation of the result."""
        is_whole = self.how == "count" or (self.how == "sum" and not self.type.is_float)
        return tuple_type("int" if is_whole else "float", self.type.shape)

    @property
    def signature(self) -> str:
        return f"def {marked(self.name)}(self) -> {self.returns}:"

    @property
    def _effects(self) -> str:
        reads = self._program.effects.reads
        read = f"Reads {self._with_units(reads)}. " if reads else ""
        which = ", n active rows" if self.kernel.rows == "active" else ""
        without = "0" if self.is_zero else "NaN"
        return f"{read}{self._how_added}Without rows it is {without}. O(n){which}."

    @property
    def _how_added(self) -> str:
        if self.how in ("sum", "mean"):
            return f"Added in {self.accumulator}. "
        return "NaN if one is NaN. " if self.how != "count" and self.type.is_float else ""
