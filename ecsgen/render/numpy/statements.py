"""The statements of a program: its mask, then step after step, over blocks of rows."""

from __future__ import annotations

from collections.abc import Callable

from ecsgen.model.programs import (
    ID_SLOT,
    Element,
    Expression,
    FieldValue,
    Local,
    Program,
    Referred,
    Step,
)
from ecsgen.render.giving_way import marked
from ecsgen.render.kernels.finding import NO_MANAGERS, OtherManagers
from ecsgen.render.numpy.composed import COMPOSED
from ecsgen.render.numpy.constants import Constants
from ecsgen.render.numpy.expressions import Emitter
from ecsgen.render.numpy.messages import Posts
from ecsgen.render.numpy.questions import Questions
from ecsgen.render.numpy.referred import OtherCells
from ecsgen.render.numpy.values import Layout, Slot, Value
from ecsgen.render.numpy.views import Views
from ecsgen.render.quoting import comment_text


class Statements:
    """The statements of a program over blocks of rows."""

    def __init__(
        self,
        program: Program,
        views: Views,
        arguments: dict[str, str],
        indent: int,
        where: str = "",  # as the schema has it
        managers: OtherManagers = NO_MANAGERS,
        constants: Constants | None = None,
        whole: Callable[[FieldValue], str] = lambda field: "",
    ) -> None:
        """`whole`: the expression for a field of all rows in their order, if there is one."""
        self._program = program
        self._views = views
        self._written = {step.target for step in program.steps}
        self._others = OtherCells(managers, program, whole)
        self.emitter = Emitter(
            self._view, arguments, COMPOSED, self._others, indent, constants=constants
        )
        self.questions = None if program.near is None else Questions(self.emitter)
        if self.questions is not None:
            self.emitter.answer = self.questions.answer
        self.read: dict[FieldValue, None] = {}
        posts = Posts(managers, self._others, program)
        posts.begin(self.emitter)
        if program.who is not None and program.effects.draws:
            self._stem(program.who)
        if program.where is not None:
            self.emitter.write(f"# where {comment_text(where)}")
            self._mask(program.where)
        for step in program.steps:
            if step.text:
                self.emitter.write(f"# {comment_text(step.text)}")
            if isinstance(step.target, Referred):
                posts.send(self.emitter, step, self._bearer)
                continue
            if isinstance(step.target, Local):
                self._set_local(step.target, step.value)
            else:
                self._assign(step, step.target)
            self._others.forget(step.target)
        if program.effects.sends:
            posts.end(self.emitter, self._bearer)
        lines = self.emitter.lines
        if program.steps and all(line.lstrip().startswith("#") for line in lines):
            self.emitter.write("pass")  # no step does anything, as in `x = x`

    def _view(self, field: FieldValue) -> Value:
        self.read[field] = None
        return self._views.value(field)

    @property
    def _bearer(self) -> Value:
        """A column that every row has."""
        assert self._program.bearer is not None
        return self._view(self._program.bearer)

    def _stem(self, who: FieldValue) -> None:
        """What tells rows apart is read before the steps, which may change it."""
        emit = self.emitter
        for name in ("_stem", "_word", "_bits"):
            emit.working.named(name, "u64", (), Layout.ROWS)
        found = self._view(who).text
        if who.name == ID_SLOT:
            found = f"ids_of({found}, {self._views.holder(who)}._id_generation_column)"
        emit.run("draw_stems", found, "_key", "_stem", "_bits")

    def _mask(self, where: Expression) -> None:
        """Which rows match: found before the first step, whatever the steps change."""
        emit = self.emitter
        slot = emit.working.named("_where", "bool", (), Layout.ROWS)
        self._fill(where, slot)
        emit.write("if not _where.any():")
        emit.write("    continue")

    def _fill(self, node: Expression, slot: Slot) -> None:
        found = self.emitter.value(node, slot.value.held)
        if found.text != slot.name:
            self.emitter.write(f"{slot.name}[...] = {found.text}")
            self.emitter.working.give_back(found)

    def _assign(self, step: Step, field: FieldValue) -> None:
        emit = self.emitter
        target = self._view(field)
        if step.index:
            target = target.part(step.index)
        if self._program.where is not None:
            found = emit.value(step.value)
            emit.run("put_where", target.text, "_where", found.text)
        else:
            found = emit.value(step.value, target)
            if found.text != target.text:
                emit.write(f"{target.text}[...] = {found.text}")
        if found.text != target.text:
            emit.working.give_back(found)

    def _set_local(self, local: Local, node: Expression) -> None:
        emit = self.emitter
        before, name = emit.locals_.get(local.name), marked(local.name)
        layout = emit.layout(node)
        if layout is Layout.UNIFORM or self._is_fixed(node):
            emit.locals_[local.name] = emit.value(node).held
        elif before is not None and before.text == name:
            self._fill(node, Slot(name, before.scalar, before.shape, before.layout))
        else:
            kind = local.type
            slot = emit.working.named(name, kind.scalar, kind.shape, layout)
            self._fill(node, slot)
            emit.locals_[local.name] = slot.value.held

    def _is_fixed(self, node: Expression) -> bool:
        """Whether a local may be another name for a field that no step changes."""
        base = node.base if isinstance(node, Element) else node
        return isinstance(base, FieldValue) and base not in self._written
