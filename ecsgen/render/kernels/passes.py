"""Kernels of a schedule that run in one pass, as if they were one kernel: what is the same for
every backend."""

from __future__ import annotations

from collections.abc import Sequence

from ecsgen.model import Fused, Kernel
from ecsgen.model.programs import Argument, Effects, Program
from ecsgen.render.calls import call, for_macro
from ecsgen.render.kernels.methods import Method
from ecsgen.render.kernels.sources import Source
from ecsgen.render.wording import sentence


def kernel_of(fused: Fused) -> Kernel:
    """Return what stands for all kernels of a pass: their arguments and effects, no steps.

    It draws if one of them does.
    """
    kernels = fused.kernels
    arguments: dict[str, Argument] = {}
    for one in (one for kernel in kernels for one in kernel.program.arguments):
        arguments.setdefault(one.name, one)
    args = {name: (name, text, unit) for kernel in kernels for name, text, unit in kernel.args}
    writes = dict.fromkeys(name for kernel in kernels for name in kernel.program.effects.writes)
    who = next((one.program.who for one in kernels if one.program.who is not None), None)
    effects = Effects(writes=tuple(writes))
    return Kernel(
        fused.name,
        (),
        args=tuple(args[name] for name in arguments),
        rows=kernels[0].rows,
        over=kernels[0].over,
        program=Program(arguments=tuple(arguments.values()), who=who, effects=effects),
    )


class Pass(Method):
    """The method of a pass: over all rows, or the active ones; only schedules call it."""

    source: Source
    takes_rows = False

    def __init__(self, fused: Fused, source: Source) -> None:
        super().__init__(kernel_of(fused), source)
        self.kernels = fused.kernels

    @property
    def signature(self) -> str:
        parameters = ["self", *(argument.parameter for argument in self.arguments)]
        return for_macro(call(f"def _{self.name}", parameters, 4, " -> None:"))

    @property
    def summary(self) -> str:
        names = list(dict.fromkeys(f"`{kernel.name}`" for kernel in self.kernels))
        listed = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
        return sentence(f"Run {listed} block by block, as if one after the other")

    @property
    def _effects(self) -> str:
        return "Each block goes through all of them. O(n); no structural change."

    @property
    def _inputs(self) -> list[str]:
        return []

    @property
    def key_lines(self) -> list[str]:
        """The statements that count the calls of kernels that draw random numbers."""
        return [
            f'_key_{place} = self._draw_key("{kernel.name}")'
            for place, kernel in enumerate(self.kernels)
            if kernel.program.who is not None
        ]


def aliases(whole: Method, parts: Sequence[Method]) -> list[str]:
    """Return the statements after which each kernel has the arguments under its own names."""
    own = {argument.name: argument.text for argument in whole.arguments}
    given = (argument for part in parts for argument in part.arguments)
    others = dict.fromkeys((one.text, own[one.name]) for one in given)
    return [f"{text} = {known}" for text, known in others if text != known]
