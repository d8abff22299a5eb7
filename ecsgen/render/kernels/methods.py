"""A kernel as a method: what stands before either printer's loop, in the order of a call."""

from __future__ import annotations

from ecsgen.model import Kernel
from ecsgen.model.programs import Argument
from ecsgen.render.kernels.asked import Asked
from ecsgen.render.kernels.method import Method
from ecsgen.render.kernels.sources import Source
from ecsgen.render.kernels.turns import order_lines
from ecsgen.render.quoting import literal


class RowsMethod(Method):
    """A kernel over the rows of a source, perhaps asking others."""

    def __init__(self, kernel: Kernel, source: Source, asked: Asked | None = None) -> None:
        super().__init__(source.whole, kernel)
        self.source = source
        self.asked = asked

    @property
    def is_ordered(self) -> bool:
        """Whether it is told whose turn it is, one by one."""
        in_rows = self.source.is_world and self.asked is None and self.kernel.turns == "rows"
        return self._program.takes_turns and not in_rows

    @property
    def beginning(self) -> list[str]:
        """The statements that get the rows' columns, or find the rows."""
        source = self.source
        return [f"{source.variable} = {source.found}"] if source.is_world else ["data = self.data"]

    @property
    def checking(self) -> list[str]:
        """The statements that check which rows a call names, and values for each row."""
        if not self.source.is_world:
            return self.choosing
        return self.source.each_lines(self.each, self._program.effects.writes)

    @property
    def orders(self) -> list[str]:
        """The statements that find out whose turn it is when."""
        return order_lines(self.kernel, self.source) if self.is_ordered else []

    @property
    def radius(self) -> str:
        """The expression for how far rows ask, as converted."""
        assert self._program.near is not None
        radius = self._program.near.radius
        if not isinstance(radius, Argument):
            return literal(radius)
        return next(one.text for one in self.arguments if one.name == radius.name)
