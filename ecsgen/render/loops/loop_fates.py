"""Births and deaths in loops: who they are is noted; in turns nobody finds the dead any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial, reduce
from typing import TYPE_CHECKING

from ecsgen.kernels import form
from ecsgen.model.programs import HANDLE, Constant, Death, Expression
from ecsgen.render.kernels.methods import FATES
from ecsgen.render.loops.code import Code, Level, infix
from ecsgen.render.loops.frame import LoopFrame
from ecsgen.render.loops.values import Value
from ecsgen.render.quoting import literal

if TYPE_CHECKING:
    from ecsgen.render.loops.loop_body import LoopBody


class LoopFates:
    """What a function is given to note births and deaths in, and the statements that do."""

    def __init__(self, frame: LoopFrame) -> None:
        self._frame = frame
        program = frame.program
        self.is_now = program.takes_turns
        targets = [step.target for step in program.steps]
        deaths = [target for target in targets if isinstance(target, Death)]
        self._kills_entities = not all(death.component for death in deaths)
        self._of_rows = program.mortal_rows

    # --- parameters --------------------------------------------------------------------------

    def _given(self, name: str, scalar: str, passed: str) -> str:
        return self._frame.handles(name, f"{FATES}.{passed}", scalar)

    @property
    def _tally(self) -> str:
        return self._given("tally", "i64", "tally")

    def _gone(self, component: str) -> str:
        """The parameter that tells who has died: entities by slot, or rows."""
        if not component:
            return self._given("gone", "bool", "gone")
        module = self._frame.source.managers.components[component].module
        return self._given(f"{module}_gone", "bool", f"gone_rows[{literal(module)}]")

    def lives(self, entity: str, slot_of: Callable[[str], str]) -> str:
        """The expression for whether an entity has not died meanwhile; nothing if nobody does.
        `slot_of`: what gives the expression for its slot."""
        if not (self.is_now and self._kills_entities):
            return ""
        return f"not {self._gone('')}[{slot_of(entity)}]"

    def gone_rows(self, component: str) -> str:
        """The parameter that tells which rows have died meanwhile; nothing if none does."""
        may_die = self.is_now and component in self._of_rows
        return self._gone(component) if may_die else ""

    # --- statements --------------------------------------------------------------------------

    def die(self, body: LoopBody, one: form.Die, over: str) -> None:
        """The row's own entity dies, or its row; none of its steps follows."""
        with body.block(f"if {self._test(body, one.test)}"):
            if self._frame.source.components[over].owner == "none":
                self._bury_row(body, over, body.row_of(over))
            else:
                known = (over, body.row_of(over)) if body.lookups.has_one(over) else None
                self._bury_entity(body, body.bearer(over), known)
            body.write("continue")

    def kill(self, body: LoopBody, one: form.Kill, found: Code, over: str) -> None:
        """Another one dies, if there is such."""
        test = found.text if not one.row.component else f"{found.text} != NIL"
        more = self._test(body, one.test)
        with body.block(f"if {test}" + ("" if more == "True" else f" and ({more})")):
            if one.row.component:
                self._bury_row(body, one.row.component, found.text)
                is_own = one.row.component in self._frame.source.components
                own = body.row_of(one.row.component) if is_own else ""
                buried = found.text
            else:
                buried = body.kept(body.value(one.handle)).at(0).text
                self._bury_entity(body, buried, body.lookups.known.get(buried))
                is_owned = self._frame.source.components[over].owner == "entity"
                own = body.bearer(over) if is_owned else ""
            if own:  # oneself: no step follows
                body.write(f"if {buried} == {own}:", "    continue")

    def _test(self, body: LoopBody, test: Expression) -> str:
        return "True" if isinstance(test, Constant) else body.value(test).at(0).text

    def _bury_entity(self, body: LoopBody, entity: str, known: tuple[str, str] | None) -> None:
        """`known`: a component of theirs and the row, as far as that is known."""
        slot = body.names.take("slot")
        gone, tally = self._gone(""), self._tally
        dead = self._given("dead", "u64", "dead")
        body.write(f"{slot} = {body.lookups.slot_of(entity)}")
        with body.block(f"if not {gone}[{slot}]"):
            if self.is_now:
                self._leave_cells(body, entity, known or ("", ""))
            body.write(f"{gone}[{slot}] = True", f"{dead}[{tally}[0]] = {entity}")
            body.write(f"{tally}[0] += 1")

    def _bury_row(self, body: LoopBody, component: str, row: str) -> None:
        managers = self._frame.source.managers
        module, place = managers.components[component].module, 1 + self._of_rows.index(component)
        gone, tally = self._gone(component), self._tally
        dead = self._given(f"{module}_dead", "i64", f"dead_rows[{literal(module)}]")
        with body.block(f"if not {gone}[{row}]"):
            if self.is_now:
                self._leave_cell(body, component, row)
            body.write(f"{gone}[{row}] = True", f"{dead}[{tally}[{place}]] = {row}")
            body.write(f"{tally}[{place}] += 1")
            if self.is_now:
                self._leave_others(body, component, row)

    def _leave_cells(self, body: LoopBody, entity: str, known: tuple[str, str]) -> None:
        """The dead leave their cells, whichever of those who are watched they are."""
        managers = self._frame.source.managers
        places = {*self._frame.program.watched, *(one.asked.space for one in body.spaces)}
        for name in sorted(places):
            if managers.components[name].owner != "entity":
                continue
            if name == known[0]:
                self._leave_cell(body, name, known[1])
                continue
            row = body.names.take(f"{managers.components[name].module}_gone_row")
            body.lookups.of_entity(name, row, entity)
            with body.block(f"if {row} != NIL"):
                self._leave_cell(body, name, row)

    def _leave_others(self, body: LoopBody, component: str, row: str) -> None:
        """Who loses a row is met no more among those of whom each has such a row."""
        for near in body.nears:
            place = near.placed
            if component == place or component not in near.asked.components:
                continue
            owner = body.lookups.owner_of(component, row)
            other = body.names.take(f"{near.asked.components[place].module}_gone_row")
            body.lookups.of_entity(place, other, owner)
            tests = [f"{other} != NIL"]
            if near.asked.components[component].instances == "many":
                left = body.names.take(f"{near.asked.components[component].module}_left_row")
                body.lookups.of_entity(component, left, owner)
                tests.append(f"{left} == NIL")
            with body.block(f"if {' and '.join(tests)}"):
                body.write(near.left(other))

    def _leave_cell(self, body: LoopBody, component: str, row: str) -> None:
        for near in body.spaces:
            if near.asked.space == component:
                body.write(near.left(row))
        on = self._frame.source.managers.components[component].on
        if on is None or component not in self._frame.program.watched:
            return
        place = form.Place(form.Row(0, component), on.field, HANDLE)
        cell = self._frame.found_cells(place, row).at(0).text
        body.write(f"leave_if_on({body.grids.crowds(component)}, {cell}, {row})")

    # --- births ------------------------------------------------------------------------------

    def bear(self, body: LoopBody, one: form.Bear) -> None:
        """Somebody is born after the last row, unless a cell is full or none."""
        values = {
            (born.component, name): body.named(body.value(value))
            for born in one.newborn
            for name, value in born.values
        }
        tests = [] if isinstance(one.test, Constant) else [body.value(one.test).at(0)]
        takes = []
        for born in one.newborn:
            component = self._frame.source.managers.components[born.component]
            on = component.on
            if on is None or on.field not in dict(born.values):
                continue
            cell = values[born.component, on.field].at(0).text
            if self.is_now and born.component in self._frame.program.watched:
                axes, crowds = body.grids.axes(on.grid), body.grids.crowds(born.component)
                tests.append(Code(f"has_room({crowds}, {axes}, {cell}, {on.capacity})"))
                takes.append(f"take_cell({crowds}, {cell})")
            else:
                tests.append(Code(body.grids.is_cell(on.grid, cell), Level.COMPARISON))
        test = reduce(partial(infix, "and", Level.AND), tests).text if tests else ""
        with body.block(f"if {test}") if test else nullcontext():
            self._note(body, one, values, takes)

    def _note(
        self,
        body: LoopBody,
        one: form.Bear,
        values: Mapping[tuple[str, str], Value],
        takes: Sequence[str],
    ) -> None:
        """Statements that note a birth: where its row came, and the values that it is given."""
        number, tally = one.number, self._tally
        place = 1 + len(self._of_rows) + number
        k = body.names.take("born")
        at = self._given(f"born_at_{number}", "i64", f"births[{number}].at")
        body.write(f"{k} = {tally}[{place}]", f"{at}[{k}] = {self._frame.turn}")
        managers = self._frame.source.managers
        for (component, name), value in values.items():
            module = managers.components[component].module
            field = next(f for f in managers.components[component].fields if f.name == name)
            passed = f"births[{number}].flat({literal(module)}, {literal(name)})"
            array = self._given(f"{module}_{name}_{number}", field.type.scalar, passed)
            kind = value.type.of_shape(field.type.shape)
            held = body.frame.cells([array], kind, k)
            body.store(value, held)
        body.write(*takes, f"{tally}[{place}] += 1")
