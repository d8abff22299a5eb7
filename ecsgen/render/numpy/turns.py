"""Kernels whose rows take turns, in numpy: the statements of a block, for one row at a time."""

from __future__ import annotations

from ecsgen.render.kernels.turns import order_text
from ecsgen.render.numpy.joined import JoinedMethod
from ecsgen.render.numpy.method import KernelMethod
from ecsgen.render.quoting import literal


class TurnMethod(KernelMethod):
    """A kernel of a component whose rows take turns."""

    made = "TurnBlocks"

    @property
    def blocks(self) -> str:
        return "_blocks.in_order(_order)" if self.kernel.turns == "random" else "_blocks"

    @property
    def before_loop(self) -> list[str]:
        if self.kernel.turns != "random":
            return []
        assert self._program.who is not None
        order = order_text(self._program.who, "data", f"[: data.{self.rows}]")
        return [f"_order = {order}"]

    @property
    def cut_body(self) -> list[str]:
        *others, _ = super().cut_body
        return [*others, "    blocks = TurnBlocks(n, columns, working)"]


class JoinedTurnMethod(JoinedMethod):
    """A kernel of the world whose rows take turns."""

    made = "JoinedTurns"

    @property
    def lookup(self) -> list[str]:
        current, _, *others = super().lookup
        kept = f"{self.holders[0]}._joined.get({literal(self.name)})"
        found = "_blocks = _kept if isinstance(_kept, JoinedTurns) else None"
        return [current, f"_kept = {kept}", found, *others]

    @property
    def blocks(self) -> str:
        return "_blocks.in_order(_order)" if self.kernel.turns == "random" else "_blocks"

    @property
    def before_loop(self) -> list[str]:
        who = self._program.who
        if self.kernel.turns != "random":
            return []
        assert who is not None
        order = order_text(who, self._holder(who.owner), self.source.picked(who.owner))
        return [f"_order = {order}"]
