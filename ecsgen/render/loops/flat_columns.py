"""Which columns compiled functions see element after element."""

from __future__ import annotations

from ecsgen.model import Component
from ecsgen.model.scalars import SCALARS


class FlatColumns:
    """The shaped columns of a component's kernels and reductions, and of the world's kernels."""

    def __init__(self, component: Component) -> None:
        used = _used(component)
        self.columns = sorted(
            (field.name, f"NDArray[{SCALARS[field.type.scalar].numpy}]")
            for field in component.fields
            if field.name in used and field.type.shape and not field.split
        )
        self.attributes = [f"_{name}_flat" for name, _ in self.columns]


def _used(component: Component) -> set[str]:
    """The fields that kernels and reductions use, whosever rows they are of."""
    programs = [kernel.program for kernel in component.kernels]
    texts = {text for program in programs for text in program.effects.fields}
    texts |= {text for one in component.reductions for text in one.program.reads}
    texts |= {one.near.place.text for one in programs if one.near is not None and one.takes_turns}
    return {text.rpartition(".")[2] for text in texts} | {*component.joined}
