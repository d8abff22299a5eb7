"""A reduction over blocks: every block gives a part, the parts are put together at the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ecsgen.kernels.form import Form
from ecsgen.model.scalars import SCALARS
from ecsgen.render.blocks.array_values import Layout
from ecsgen.render.blocks.block_body import BlockBody
from ecsgen.render.blocks.block_method import block_loop, may_warn
from ecsgen.render.blocks.drivers import cut
from ecsgen.render.blocks.views import Views
from ecsgen.render.calls import call, for_macro
from ecsgen.render.kernels.folding import Folding
from ecsgen.render.kernels.methods import Printed
from ecsgen.render.quoting import literal

_PARTS: Final = {"sum": "add", "mean": "add", "min": "minimum", "max": "maximum"}
_WHOLE: Final = {
    "count": "added",
    "sum": "added",
    "mean": "averaged",
    "min": "smallest",
    "max": "largest",
}


class BlockFold(Folding):
    """The method of a reduction, and what cuts its blocks."""

    @property
    def printed(self) -> Printed:
        """The texts of the module, of whose constants a reduction has none."""
        source = self.source
        is_quiet = may_warn(self.where, [self.value], source.has_holes)
        body = BlockBody(Views(source.components), source.managers, 16 if is_quiet else 12)
        program = replace(self.kernel.program, steps=())
        body.add(Form(program, (), self.where, ()), {}, " ".join(self.kernel.where.split()))
        self._add_part(body)
        driver = cut(self, body, source, has_owners=source.has_holes)
        before = ["_parts: list[Any] = []", *(["_matching = 0"] if self._counts else [])]
        loop = block_loop(driver, body, is_quiet, before)
        text = self.text(["data = self.data", *driver.lookup], f"{loop}\n{self._result}")
        return Printed(text, data_method=driver.making)

    @property
    def _counts(self) -> bool:
        """Whether the rows that match are counted, to divide by."""
        return self.how == "mean" and self.is_choosy

    def _add_part(self, body: BlockBody) -> None:
        """Write what one block gives."""
        emit, type_ = body.emit, self.type
        mask = "_where" if self.is_choosy else ""
        if self.source.has_holes:
            both = "(_owners != NULL_ENTITY) & _where" if mask else ""
            mask = "_present"
            emit.write(f"_present = {both or '_owners != NULL_ENTITY'}")
            emit.write("if not _present.any():")
            emit.write("    continue")
        found = emit.value(self.value)
        if found.layout in (Layout.UNIFORM, Layout.TOGETHER):
            layout = Layout.PLANES if type_.shape else Layout.ROWS
            found = emit.copied(found.held, type_.scalar, type_.shape, layout)
        values = f"{found.text}[..., {mask}]" if mask else found.text
        if self._counts:
            emit.write(f"_matching += int(np.count_nonzero({mask}))")
        if self.how == "count":
            emit.write(f"_parts.append(np.count_nonzero({values}))")
            return
        arguments = [values, "axis=-1"]
        if self.how in ("sum", "mean"):
            arguments.append(f"dtype={SCALARS[self.accumulator].numpy}")
        emit.run("_parts.append", call(f"np.{_PARTS[self.how]}.reduce", arguments, 0))

    @property
    def _result(self) -> str:
        """The statements that put the parts together."""
        given = ["_parts", literal(self.type.shape)]
        if self.how == "mean":
            given.insert(1, "_matching" if self._counts else self.running)
        elif self.is_zero:
            given.insert(1, "np.int64" if self.how == "count" else SCALARS[self.accumulator].numpy)
        line = call(f"_result: {self.returns} = {_WHOLE[self.how]}", given, 8)
        return for_macro(f"{line}\n        return _result")
