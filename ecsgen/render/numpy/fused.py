"""Kernels of one pass as numpy code: one list of blocks, and in each block one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from ecsgen.model import Component, Fused, World
from ecsgen.model.programs import FieldValue
from ecsgen.render.calls import call
from ecsgen.render.kernels.fused import (
    aliases,
    docstring_of,
    kernel_of,
    key_lines_of,
    signature_of,
)
from ecsgen.render.kernels.method import Method, for_macro
from ecsgen.render.kernels.sources import Source
from ecsgen.render.numpy.joined import JoinedMethod
from ecsgen.render.numpy.method import KernelMethod
from ecsgen.render.numpy.values import Slot
from ecsgen.render.numpy.views import FieldViews, JoinedViews
from ecsgen.render.quoting import literal


class _InBlock(KernelMethod):
    """A kernel whose loop runs once: over the arrays that it has of a block."""

    place = 0

    @property
    def loop_indent(self) -> int:
        return super().loop_indent + 4

    @property
    def blocks(self) -> str:
        return f"_parts[{self.place}]"

    @property
    def lines(self) -> list[str]:
        """The statements of a block."""
        pad = " " * 8
        key = [f"{pad}_key = _key_{self.place}"] if self._program.who is not None else []
        quiet = [f'{pad}with np.errstate(all="ignore"):'] if self.is_quiet else []
        return [*key, *quiet, self.body]


class _InJoinedBlock(_InBlock, JoinedMethod):
    """The same of the world."""

    def _handles_of_all(self, field: FieldValue) -> str:
        return ""


class _Fused(KernelMethod):
    """Several kernels as one method, with the arrays of all in each block."""

    fused: Fused
    parts: Sequence[_InBlock]

    def _begin(self, component: Component, fused: Fused, parts: Sequence[_InBlock]) -> None:
        Method.__init__(self, component, kernel_of(fused))
        self.fused, self.parts = fused, parts
        for place, part in enumerate(parts):
            part.place = place

    @property
    def takes_rows(self) -> bool:
        """Not: schedules run over all rows, or the active ones."""
        return False

    @property
    def signature(self) -> str:
        return signature_of(self)

    @property
    def docstring(self) -> str:
        return docstring_of(self.fused)

    @property
    def conversions(self) -> list[str]:
        return [*super().conversions, *aliases(self, self.parts)]

    @property
    def key_lines(self) -> list[str]:
        return key_lines_of(self.fused.kernels)

    @property
    def is_quiet(self) -> bool:
        """It is each kernel's own affair."""
        return False

    @property
    def body(self) -> str:
        lines = [line for part in self.parts for line in part.lines]
        return "\n".join([f"    for _parts in {self.blocks}:", *lines])

    @property
    def constants(self) -> list[str]:
        return [line for part in self.parts for line in part.constants]

    @property
    def shared(self) -> list[str]:
        return [str(len(self.parts))]

    @property
    def fields(self) -> list[FieldValue]:
        return list(dict.fromkeys(field for part in self.parts for field in part.fields))

    def is_gathered(self, field: FieldValue) -> bool:
        """Whether a row's own value counts for one of the kernels."""
        return any(part.is_gathered(field) for part in self.parts if field in part.fields)

    @property
    def slots(self) -> list[Slot]:
        return self._shared()[0]

    def _shared(self) -> tuple[list[Slot], list[list[int]]]:
        """The working memory, of which all kernels have what they need, and which is whose."""
        found: list[Slot] = []
        places: list[list[int]] = []
        for part in self.parts:
            places.append([])
            for slot in part.slots:
                alike = (
                    k
                    for k, one in enumerate(found)
                    if k not in places[-1] and _kind(one) == _kind(slot)
                )
                place = next(alike, len(found))
                if place == len(found):
                    found.append(slot)
                places[-1].append(place)
        return found, places

    @property
    def picked(self) -> str:
        """Which arrays of a block each kernel has, as a literal."""
        fields, slots = self.fields, self._shared()[1]
        return literal(
            tuple(
                (*map(fields.index, part.fields), *(len(fields) + k for k in own))
                for part, own in zip(self.parts, slots, strict=True)
            )
        )


def _kind(slot: Slot) -> tuple[object, ...]:
    return slot.scalar, slot.shape, slot.layout


class FusedMethod(_Fused):
    """A pass over a component."""

    def __init__(self, component: Component, fused: Fused) -> None:
        self._begin(component, fused, [_InBlock(component, one) for one in fused.kernels])
        self._views = FieldViews(component)

    @property
    def cut_body(self) -> list[str]:
        given = ["blocks.views", self.picked]
        fuse = for_macro(call("blocks.views = fused_views", given, 8))
        return [*super().cut_body, fuse]


class FusedJoined(_Fused, JoinedMethod):
    """A pass over a group or a query."""

    def __init__(self, world: World, fused: Fused, source: Source) -> None:
        self.source = source
        parts = [_InJoinedBlock(world, kernel, source) for kernel in fused.kernels]
        self._begin(source.whole, fused, parts)
        self._views = JoinedViews(source.components.values(), [])

    @property
    def cut_body(self) -> list[str]:
        *lines, keep = super().cut_body
        return [*lines, for_macro(call("blocks.fuse", [self.picked], 8)), keep]
