"""Which printer a kernel, a pass or a reduction gets: loops for numba, blocks for numpy; where rows
take turns a loop, which Python itself runs if numba does not. And what a module gets of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from ecsgen.config import Backend
from ecsgen.model import Component, FusedKernels, Kernel, World
from ecsgen.model.typed_program import Program
from ecsgen.model.types import SCALARS
from ecsgen.render.blocks.block_method import BlockMethod, BlockPassMethod, BlockReductionMethod
from ecsgen.render.kernel_methods.kernel_method import KernelMethod
from ecsgen.render.kernel_methods.row_sources import (
    ChunkSource,
    RowSource,
    make_component_source,
    make_neighbour_joins,
)
from ecsgen.render.loops.loop_method import ChunkLoop, LoopMethod, LoopPassMethod
from ecsgen.render.loops.loop_reduction import LoopReductionMethod
from ecsgen.render.loops.loop_stencil import is_whole_column_stencil
from ecsgen.render.row_reductions import ValueMethod
from ecsgen.render.text.formatting import mapping

_BASIS = 0xCBF2_9CE4_8422_2325
_PRIME = 0x0000_0100_0000_01B3


def make_kernel_method(
    kernel: Kernel, source: RowSource | ChunkSource, backend: Backend, world: World | None = None
) -> KernelMethod:
    """Return a kernel as a backend has it; `world`: where it is one of the world."""
    is_plain = backend == "numpy"
    if isinstance(source, ChunkSource):
        return BlockMethod(kernel, source) if is_plain else ChunkLoop(kernel, source)
    asks = make_neighbour_joins(kernel, source, world)
    if is_plain and not loop_reasons(kernel.program):
        return BlockMethod(kernel, source, asks)
    return LoopMethod(kernel, source, asks, is_plain)


def loop_reasons(program: Program) -> tuple[str, ...]:
    """Return why a kernel is a loop in plain Python on numpy; nothing for blocks of rows."""
    return () if is_whole_column_stencil(program) else program.sequential_reasons


def make_pass_method(fused: FusedKernels, source: RowSource, backend: Backend) -> KernelMethod:
    """Return the kernels of a pass as one method."""
    return BlockPassMethod(fused, source) if backend == "numpy" else LoopPassMethod(fused, source)


class KernelTexts(NamedTuple):
    """Kernels, passes and reductions as texts of a module, none of them indented."""

    constants: list[str]
    functions: list[str]
    data_methods: list[str]
    """Methods of a component's columns."""
    methods: list[str]

    @classmethod
    def of(cls, printers: Iterable[KernelMethod]) -> Self:
        """Return the texts of printers; constants of arguments get different names."""
        methods, seen = list(printers), Counter[str]()
        arguments = [argument for method in methods for argument in method.arguments]
        for argument in arguments:
            seen[argument.constant] += 1
            if (count := seen[argument.constant]) > 1:
                argument.constant += f"_{count}"
        converters = [argument.converter for argument in arguments]
        printed = [method.printed for method in methods]
        constants = [*converters, *(line for texts in printed for line in texts.constants)]
        return cls(
            list(dict.fromkeys(constants)),
            [texts.function for texts in printed if texts.function],
            [texts.data_method for texts in printed if texts.data_method],
            [texts.method for texts in printed],
        )


def render_kernels(component: Component) -> KernelTexts:
    """Return the kernels of a component, the passes of schedules over it, and its reductions."""
    backend = component.backend
    fold = BlockReductionMethod if backend == "numpy" else LoopReductionMethod
    kernels = [
        make_kernel_method(kernel, make_component_source(component, kernel), backend)
        for kernel in component.kernels
    ]
    passes = [
        make_pass_method(fused, make_component_source(component, fused.kernels[0]), backend)
        for fused in component.fused
    ]
    reductions = [fold(component, reduction) for reduction in component.reductions]
    read = (reduction for reduction in component.reductions if reduction.name in component.values)
    values = [ValueMethod(component, reduction) for reduction in read]
    return KernelTexts.of([*kernels, *passes, *reductions, *values])


def name_hash(name: str) -> int:
    """Return the 64-bit FNV-1a of a kernel's name: `shake` in the world, elsewhere `Body.shake`."""
    digest = _BASIS
    for byte in name.encode():
        digest = (digest ^ byte) * _PRIME % 2**64
    return digest


def drawing_lines(kernels: Sequence[Kernel], owner: str) -> str:
    """Return the statement with all kernels that draw; "" if there is none."""
    names = [kernel.name for kernel in kernels if kernel.program.stream_field]
    prefix = f"{owner}." if owner else ""
    hashes = {name: f"0x{name_hash(prefix + name):016X}" for name in names}
    return mapping("_RANDOM_KERNELS: ClassVar = ", hashes, 0) if hashes else ""


def flat_columns(component: Component) -> list[tuple[str, str]]:
    """Return shaped columns that kernels and reductions use, each with its array's type."""
    programs = [kernel.program for kernel in component.kernels]
    texts = {text for program in programs for text in program.effects.fields}
    texts |= {text for reduction in component.reductions for text in reduction.program.reads}
    sequential = [program for program in programs if program.sequential_reasons]
    texts |= {near.position.text for program in sequential for near in program.neighbourhoods}
    used = {text.rpartition(".")[2] for text in texts} | {*component.world_columns}
    return sorted(
        (field.name, f"NDArray[{SCALARS[field.type.kernel_scalar].numpy}]")
        for field in component.fields
        if field.name in used and field.type.shape and not field.split
    )
