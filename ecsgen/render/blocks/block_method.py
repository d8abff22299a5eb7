"""Kernels, passes and reductions as methods over blocks of rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from textwrap import indent
from typing import Final

from ecsgen.kernels.lowering import lower_kernel
from ecsgen.kernels.statements import LoweredKernel
from ecsgen.model.typed_program import Program
from ecsgen.model.typed_tree import Cast, Draw, Expression, Local, NeighbourAggregate, Operation
from ecsgen.model.types import SCALARS
from ecsgen.render.blocks.array_values import ElementOrder, kind_of
from ecsgen.render.blocks.block_body import QUIET, BlockBody
from ecsgen.render.blocks.block_expressions import COMPLAINING
from ecsgen.render.blocks.block_iteration import (
    BlockIteration,
    chosen_rows,
    iterate_chunks,
    iterate_component,
    iterate_joined,
    iterate_levels,
    iterate_pairs,
)
from ecsgen.render.kernel_methods.kernel_method import (
    COMMANDS,
    FusedPassMethod,
    KernelMethod,
    Printed,
    ReductionMethod,
)
from ecsgen.render.kernel_methods.row_sources import ChunkSource
from ecsgen.render.text.formatting import call, exploded, for_macro, width
from ecsgen.render.text.quoting import WIDTH, literal


class BlockMethod(KernelMethod):
    """A kernel over blocks of rows."""

    @property
    def printed(self) -> Printed:
        """The texts of the module."""
        source, kernels, is_one = self.source, self.kernels, len(self.kernels) == 1
        complain = [needs_errstate(k.program, source.has_holes) for k in kernels]
        targets = [step.target for k in kernels for step in k.program.actions]
        taken = [target.name for target in targets if isinstance(target, Local)]
        arguments = {code.name: code.text for code in self.inputs}
        taken += arguments.values()
        home = "" if source.is_world else source.combined_component.name
        body = BlockBody(source, all(complain), self.single_join, taken)
        body.stencils = self._stencils
        if self.takes_rows:
            body.picked = "[slice(None) if {} is None else {}]".format(*chosen_rows(self))
        for index, (kernel, warns) in enumerate(zip(kernels, complain, strict=True)):
            where, key = " ".join(kernel.where.split()), "_key" if is_one else f"_key_{index}"
            with body.quiet() if warns and not body.is_quiet else nullcontext():
                form = lower_kernel(kernel.program, home, {})  # steps to other cells are loops
                body.add(form, arguments, where, key, is_last=is_one)
        driver = self._driver(body)
        statements, loop = self._statements(driver), block_loop(driver, body)
        if self._program.has_commands:
            buffer = self.command_buffer_statement("BlockCommandBuffer", spawns=form.spawns)
            statements += buffer.split("\n")
            # its locals are views, which are gone when columns move
            inner = indent(loop, "    ")
            loop = f"\n    def _run() -> None:\n{inner}\n\n    _run()\n    {COMMANDS}.apply()"
        text = self.text(statements, "\n".join([loop, *self.clipping]))
        if source.is_world and driver.making:
            text = f"{text}\n\n{driver.making}"
        making = "" if source.is_world else driver.making
        return Printed(text, data_method=making, constants=tuple(body.constants.lines))

    @property
    def _stencils(self) -> dict[str, str]:
        """Expressions for the stencils of grids, by the name of the neighbourhood."""
        stencils = {}
        for asked in self.neighbour_joins:
            on = asked.near.on
            if on is not None:
                grid = asked.source.managers.manager(on.grid)
                arguments = [grid, literal(on.hood), literal(asked.near.radius)]  # type: ignore[arg-type]  # a number: blocks know no other
                stencils[asked.near.name] = call("stencil_of", arguments, 0)
        return stencils

    def _driver(self, body: BlockBody) -> BlockIteration:
        if self.single_join is not None:
            return iterate_pairs(self, body, self.single_join)
        if isinstance(self.source, ChunkSource):
            return iterate_chunks(self, body, self.source)
        if self.source.is_world:
            return iterate_joined(self, body, self.source)
        if self._program.runs_by_level:
            return iterate_levels(self, body)
        return iterate_component(self, body, self.source)

    def _statements(self, driver: BlockIteration) -> list[str]:
        are_arrays = self.single_join is None and not self._program.effects.draws
        converted = [
            f"{a.text} = {a.array if are_arrays else a.block_expression}"
            for a in self.inputs
            if not a.each
        ]
        if any(kernel.program.uses_tick for kernel in self.kernels):
            converted.append("_now = np.int64(self.tick)")
        selection = self.row_selection_lines if self.per_row_arguments else []
        lookup = driver.lookup  # of the world with the values of rows
        if not self.source.is_world:
            lookup = ["data = self.data", *selection, *driver.lookup]
        return [*converted, *lookup, *self.key_lines]


class BlockPassMethod(FusedPassMethod, BlockMethod):
    """Kernels of a schedule in one pass: in each block one after the other."""


def block_loop(driver: BlockIteration, body: BlockBody, before: Sequence[str] = ()) -> str:
    """The loop over blocks with what is done once, quiet if it must be."""
    pad, emit, names = " " * (12 if body.is_quiet else 8), body.emit, driver.names
    listed = f"({names[0]},)" if len(names) == 1 else ", ".join(names)
    line = f"for {listed} in {driver.blocks}:"
    if len(pad) + width(line) > WIDTH:
        line = exploded("for ", names, len(pad)).lstrip() + f" in {driver.blocks}:"
    once = [indent(text, pad) for text in (*emit.before, *before)]
    after = [indent(text, pad) for text in emit.after]
    text = for_macro("\n".join([*once, pad + line, *emit.lines, *after]))
    return f"    {QUIET}\n{text}" if body.is_quiet else text


def needs_errstate(program: Program, has_holes: bool) -> bool:
    """Check that floating point warnings must be off: numpy warns of values that fields may have,
    or of unused rows."""
    return program.paired_neighbourhood is not None or any(
        _warns(node, has_holes) for node in program.nodes
    )


def _warns(node: Expression, is_garbage: bool) -> bool:
    match node:
        case NeighbourAggregate():
            return node.type.is_float
        case Cast():
            return node.operand.type.scalar == "f64" and node.type.scalar == "f32"
        case Operation():
            return node.name in COMPLAINING or (is_garbage and node.type.is_float)
        case Draw():
            return node.distribution in ("exponential", "poisson")
    return False


_FOLDS: Final = {
    "count": ("", "combine_sums"),
    "sum": ("add", "combine_sums"),
    "mean": ("add", "combine_means"),
    "min": ("minimum", "combine_extremes"),
    "max": ("maximum", "combine_extremes"),
}
"""The ufunc that folds a block, and what puts the parts together."""


class BlockReductionMethod(ReductionMethod):
    """The method of a reduction, and what cuts its blocks."""

    @property
    def printed(self) -> Printed:
        """The texts of the module."""
        source = self.source
        body = BlockBody(source, needs_errstate(self.kernel.program, source.has_holes))
        program = replace(self.kernel.program, steps=())
        body.add(
            LoweredKernel(program, (), self.where, ()),
            {code.name: code.text for code in self.reads},
            " ".join(self.kernel.where.split()),
        )
        self._add_part(body)
        driver = iterate_component(self, body, source, has_owners=source.has_holes)
        before = ["_parts: list[Any] = []", *(["_matching = 0"] if self._counts else [])]
        loop = block_loop(driver, body, before)
        reduced = [code.definition("numpy") for code in self.reads]
        statements = ["data = self.data", *reduced, *driver.lookup]
        text = self.text(statements, f"{loop}\n{self._result}")
        lines = tuple(body.constants.lines)
        return Printed(text, data_method=driver.making, constants=lines)

    @property
    def _counts(self) -> bool:
        """True if the rows that match are counted, to divide by their number."""
        return self.function == "mean" and self.counts_some_rows

    def _add_part(self, body: BlockBody) -> None:
        emit, type_ = body.emit, self.type
        mask = "_where" if self.counts_some_rows else ""
        if self.source.has_holes:
            both = "(_owners != NULL_ENTITY) & _where" if mask else ""
            mask = "_present"
            emit.write(f"_present = {both or '_owners != NULL_ENTITY'}")
            emit.write("if not _present.any():")
            emit.write("    continue")
        reduced = emit.value(self.value)
        if reduced.layout in (ElementOrder.UNIFORM, ElementOrder.TOGETHER):
            reduced = emit.copied(reduced.held, kind_of(type_))
        if self._counts:
            emit.write(f"_matching += int(np.count_nonzero({mask}))")
        if self.function == "count":
            both = f"{reduced.text} & {mask}" if mask else reduced.text
            emit.write(f"_parts.append(np.count_nonzero({both}))")
            return
        # many times as fast as an index
        values = f"{reduced.text}.compress({mask}, -1)" if mask else reduced.text
        if self.is_of_all:
            emit.run("_parts.append", f"np.array({values}, np.float64)")
            return
        arguments = [values, "axis=-1"]
        if self.function in ("sum", "mean"):
            arguments.append(f"dtype={SCALARS[self.accumulator].numpy}")
        emit.run("_parts.append", call(f"np.{_FOLDS[self.function][0]}.reduce", arguments, 0))

    @property
    def _result(self) -> str:
        ufunc, function = _FOLDS.get(self.function, ("", "of_lines"))
        by = SCALARS[self.accumulator].numpy
        if self.is_of_all:
            by = f"{self.function}_of"
        elif self.function == "mean":
            by = "_matching" if self._counts else self.running
        elif not self.is_zero_of_none:
            by = f"np.{ufunc}"
        elif self.function == "count":
            by = "np.int64"
        arguments = ["_parts", by, literal(self.type.shape)]
        line = call(f"_result: {self.returns} = {function}", arguments, 8)
        return for_macro(f"{line}\n        return _result")
