"""A reduction as a method: every block gives a part, the parts are put together at the end."""

from __future__ import annotations

from typing import Final

from ecsgen.model import Component, Reduction
from ecsgen.model.programs import Expression
from ecsgen.model.scalars import SCALARS
from ecsgen.render.calls import call
from ecsgen.render.kernels.method import for_macro
from ecsgen.render.kernels.printed import data_methods_of
from ecsgen.render.kernels.reducing import ReducingMethod
from ecsgen.render.numpy.method import KernelMethod
from ecsgen.render.numpy.values import Layout
from ecsgen.render.quoting import literal

_PARTS: Final = {"sum": "add", "mean": "add", "min": "minimum", "max": "maximum"}
_WHOLE: Final = {
    "count": "added",
    "sum": "added",
    "mean": "averaged",
    "min": "smallest",
    "max": "largest",
}


class ReductionMethod(ReducingMethod, KernelMethod):
    """The method of a reduction."""

    def __init__(self, component: Component, reduction: Reduction) -> None:
        super().__init__(component, reduction)
        self._emit()

    def _kept_constants(self) -> None:
        """A reduction shares its module with kernels."""

    @property
    def _expressions(self) -> list[Expression]:
        where = self._program.where
        return [self._value] if where is None else [where, self._value]

    def _emit(self) -> None:
        """The part of one block."""
        emit, type_ = self.statements.emitter, self._value.type
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
    def before_loop(self) -> list[str]:
        return ["_parts: list[Any] = []", *(["_matching = 0"] if self._counts else [])]

    @property
    def names(self) -> list[str]:
        return [*(["_owners"] if self._has_holes else []), *super().names] or ["_"]

    @property
    def columns(self) -> list[str]:
        owners = ["self._entity_column[:n]"] if self._has_holes else []
        return [*owners, *super().columns]

    @property
    def _loop(self) -> str:
        return f"{super()._loop}\n{self.result}"

    @property
    def result(self) -> str:
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
