"""Reductions as methods: every block gives a part, the parts are put together at the end."""

from __future__ import annotations

from typing import Final

from ecsgen.kernels.lower import lowered
from ecsgen.model import Component
from ecsgen.model.scalars import SCALARS
from ecsgen.render.blocks.array_values import Layout
from ecsgen.render.blocks.block_body import BlockBody
from ecsgen.render.blocks.block_method import block_loop, may_warn
from ecsgen.render.blocks.drivers import cut
from ecsgen.render.blocks.views import Views
from ecsgen.render.calls import call
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.kernels.printed import Printed, data_methods_of
from ecsgen.render.kernels.reducing import ReducingMethod
from ecsgen.render.kernels.sources import own_source
from ecsgen.render.quoting import literal

_PARTS: Final = {"sum": "add", "mean": "add", "min": "minimum", "max": "maximum"}
_WHOLE: Final = {
    "count": "added",
    "sum": "added",
    "mean": "averaged",
    "min": "smallest",
    "max": "largest",
}


class ReductionMethod(ReducingMethod):
    """The method of a reduction."""

    @property
    def printed(self) -> Printed:
        """The texts of the module, of whose constants a reduction has none."""
        source = own_source(self._component, self.kernel)
        is_quiet = may_warn(self._program.where, [self._value], self._has_holes)
        body = BlockBody(Views(source.components), source.managers, 16 if is_quiet else 12)
        body.add(lowered(self._program, self._component.name), {}, self.reduction.where)
        self._fold(body)
        driver = cut(self, body, source, has_owners=self._has_holes)
        before = ["_parts: list[Any] = []", *(["_matching = 0"] if self._counts else [])]
        loop = block_loop(driver, body, is_quiet, before)
        statements = ["data = self.data", *driver.lookup]
        return Printed(self.text(statements, f"{loop}\n{self._result}"), data_method=driver.making)

    def _fold(self, body: BlockBody) -> None:
        """Write what gives the part of a block."""
        emit, type_ = body.emit, self._value.type
        mask = "_where" if self._program.where is not None else ""
        if self._has_holes:
            mask = "_present"
            both = "(_owners != NULL_ENTITY) & _where" if self._program.where else ""
            emit.write(f"_present = {both or '_owners != NULL_ENTITY'}")
            emit.write("if not _present.any():")
            emit.write("    continue")
        found = emit.value(self._value)
        if found.layout in (Layout.UNIFORM, Layout.TOGETHER):
            layout = Layout.PLANES if type_.shape else Layout.ROWS
            found = emit.copied(found.held, type_.scalar, type_.shape, layout)
        values = f"{found.text}[..., {mask}]" if mask else found.text
        if self._counts:
            emit.write(f"_matching += int(np.count_nonzero({mask}))")
        if self.reduction.how == "count":
            emit.write(f"_parts.append(np.count_nonzero({values}))")
            return
        arguments = [values, "axis=-1"]
        if self.reduction.how in ("sum", "mean"):
            arguments.append(f"dtype={SCALARS[self.accumulator].numpy}")
        part = call(f"np.{_PARTS[self.reduction.how]}.reduce", arguments, 0)
        emit.run("_parts.append", part)

    @property
    def _counts(self) -> bool:
        """Whether the rows that match are counted, to divide by."""
        return self.reduction.how == "mean" and self._program.where is not None

    @property
    def _result(self) -> str:
        """The statements that put the parts together."""
        how, shape = self.reduction.how, literal(self._value.type.shape)
        rows = "_matching" if self._counts else self.running
        dtype = "np.int64" if how == "count" else SCALARS[self.accumulator].numpy
        arguments = {"min": "", "max": "", "mean": f"{rows}, "}.get(how, f"{dtype}, ")
        head = f"_result: {self.returns} = {_WHOLE[how]}"
        line = call(head, ["_parts", f"{arguments}{shape}"], 8)
        return for_macro(f"{line}\n        return _result")


class Reductions:
    """The reductions of a component."""

    def __init__(self, component: Component) -> None:
        methods = [ReductionMethod(component, one) for one in component.reductions]
        self.printed = [method.printed for method in methods]
        self.data_methods = data_methods_of(self.printed)
