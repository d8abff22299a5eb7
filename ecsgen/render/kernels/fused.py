"""Kernels of a schedule that run in one pass, as if they were one kernel: what is the same for
every backend."""

from __future__ import annotations

from collections.abc import Sequence

from ecsgen.model import Fused, Kernel
from ecsgen.model.programs import Argument, Effects, Program
from ecsgen.render.calls import call
from ecsgen.render.kernels.method import Method, for_macro
from ecsgen.render.quoting import WIDTH, docstring_text
from ecsgen.render.wording import sentence


def kernel_of(fused: Fused) -> Kernel:
    """Return what stands for all kernels of a pass: their arguments and effects, no steps."""
    kernels = fused.kernels
    arguments: dict[str, Argument] = {}
    for one in (one for kernel in kernels for one in kernel.program.arguments):
        arguments.setdefault(one.name, one)
    args = {name: (name, text, unit) for kernel in kernels for name, text, unit in kernel.args}
    writes = dict.fromkeys(name for kernel in kernels for name in kernel.program.effects.writes)
    return Kernel(
        fused.name,
        (),
        args=tuple(args[name] for name in arguments),
        rows=kernels[0].rows,
        over=kernels[0].over,
        program=Program(arguments=tuple(arguments.values()), effects=Effects(writes=tuple(writes))),
    )


def summary_of(fused: Fused) -> str:
    """Return what the method does, in words."""
    names = list(dict.fromkeys(f"`{kernel.name}`" for kernel in fused.kernels))
    listed = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else names[0]
    return sentence(f"Run {listed} block by block, as if one after the other")


def docstring_of(fused: Fused) -> str:
    """Return the docstring of the method."""
    effects = "Each block goes through all of them. O(n); no structural change."
    texts = docstring_text(summary_of(fused), WIDTH - 11), docstring_text(effects, WIDTH - 8)
    return "\n\n".join(texts).replace("\n", "\n    ").replace("\n    \n", "\n\n")


def signature_of(method: Method) -> str:
    """Return the line that begins the method."""
    parameters = ["self", *(argument.parameter for argument in method.arguments)]
    return for_macro(call(f"def _{method.name}", parameters, 4, " -> None:"))


def key_lines_of(kernels: Sequence[Kernel]) -> list[str]:
    """Return the statements that count the calls of kernels that draw random numbers."""
    return [
        f'_key_{place} = self._draw_key("{kernel.name}")'
        for place, kernel in enumerate(kernels)
        if kernel.program.who is not None
    ]


def aliases(whole: Method, parts: Sequence[Method]) -> list[str]:
    """Return the statements after which each kernel has the arguments under its own names."""
    own = {argument.name: argument.text for argument in whole.arguments}
    given = (argument for part in parts for argument in part.arguments)
    others = dict.fromkeys((one.text, own[one.name]) for one in given)
    return [f"{text} = {known}" for text, known in others if text != known]
