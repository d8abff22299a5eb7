"""What births and deaths of one call are noted in, whoever prints the kernel."""

from __future__ import annotations

from collections.abc import Sequence

from ecsgen.kernels.form import Bear
from ecsgen.model.programs import Death, Program
from ecsgen.render.calls import call
from ecsgen.render.kernels.sources import OtherManagers
from ecsgen.render.quoting import literal

FATES = "_fates"
"""The variable with them in a method."""


class NotedFates:
    """Of which components rows die, and which statements bear whom."""

    def __init__(self, program: Program, managers: OtherManagers, births: Sequence[Bear]) -> None:
        targets = [step.target for step in program.steps]
        deaths = [target for target in targets if isinstance(target, Death)]
        self.kills_entities = any(not one.component for one in deaths)
        self.of_rows = list(dict.fromkeys(one.component for one in deaths if one.component))
        self._components = managers.components
        self._births = births

    def made(self, kind: str, count: str) -> str:
        """The statement that makes what they are noted in; `count`: how many rows run."""
        modules = self._components
        rows = tuple(modules[name].module for name in self.of_rows)
        births = tuple(
            tuple(
                (modules[one.component].module, tuple(name for name, _ in one.values))
                for one in bear.newborn
            )
            for bear in self._births
        )
        given = ["self", count, literal(rows), literal(births)]
        return call(f"{FATES} = {kind}.of", given, 8).lstrip().replace("\n    ", "\n")
