"""Kernels whose rows take turns, with `backend: numpy`: the loop that numba would compile, which
Python itself runs here."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import ClassVar, Final

from ecsgen.render.calls import call
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.numba.fields import Parameter
from ecsgen.render.numba.joined import JoinedKernel
from ecsgen.render.numba.kernel import CompiledKernel
from ecsgen.render.numba.near_turns import JoinedTurnNearKernel, TurnNearKernel

_FLAT: Final = re.compile(r"_flat$")


class PlainLoop(CompiledKernel):
    """A kernel of a component whose rows take turns."""

    is_plain: ClassVar[bool] = True

    @property
    def parameters(self) -> list[Parameter]:
        return list(map(_plain, super().parameters))

    @property
    def run(self) -> str:
        """The statements that call the function."""
        passed = [parameter.passed for parameter in self.parameters]
        quiet = '    with np.errstate(all="ignore"):\n'
        return quiet + for_macro(call(self.function, passed, 12))


class JoinedPlainLoop(PlainLoop, JoinedKernel):
    """The same of the world."""

    @property
    def body(self) -> str:
        """The function's statements: of rows one by one, which may follow each other as well."""
        if self._scattered is None:
            return super().body
        loop = self._scattered.loop
        return "\n".join(f"    {line}" for line in (*loop.setup, *self._lines(loop)))


class PlainNearLoop(PlainLoop, TurnNearKernel):
    """A kernel of a component whose rows take turns and ask neighbours."""


class JoinedPlainNearLoop(PlainLoop, JoinedTurnNearKernel):
    """The same of the world."""


def _plain(parameter: Parameter) -> Parameter:
    """A parameter as Python's loop takes it: rows as its own integers, which are quick to use."""
    if parameter.passed == "_order":
        return replace(parameter, annotation="list[int]", passed="_order.tolist()")
    return replace(parameter, passed=_FLAT.sub("_column.reshape(-1)", parameter.passed))
