"""Births and deaths in loops: who they are is noted; in turns nobody finds the dead any more."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial, reduce
from typing import TYPE_CHECKING

from ecsgen.kernels import statements
from ecsgen.model.typed_tree import HANDLE, Constant, Despawn, Expression
from ecsgen.render.kernel_methods.kernel_method import COMMANDS
from ecsgen.render.kernel_methods.row_sources import field_of
from ecsgen.render.loops.scalar_code import Code, Precedence, infix
from ecsgen.render.text.quoting import literal

if TYPE_CHECKING:
    from ecsgen.render.loops.loop_body import LoopBody


class CommandEmitter:
    """What a function is given to note births and deaths in, and the statements that do."""

    def __init__(self, body: LoopBody) -> None:
        self._body = body
        self._builder = body.builder
        self._managers = body.builder.source.managers
        program = body.builder.program
        self.is_live = program.takes_turns
        targets = [step.target for step in program.steps]
        deaths = [target for target in targets if isinstance(target, Despawn)]
        self._kills_entities = not all(death.component for death in deaths)
        self._of_rows = program.mortal_rows

    # --- parameters --------------------------------------------------------------------------

    def _given(self, name: str, scalar: str, passed: str) -> str:
        return self._builder.handles(name, f"{COMMANDS}.{passed}", scalar)

    @property
    def _tally(self) -> str:
        return self._given("counts", "i64", "counts")

    def _gone(self, component: str) -> str:
        """The parameter that tells who has died: entities by slot, or rows."""
        if not component:
            return self._given("is_despawned", "bool", "is_despawned")
        module = self._managers.components[component].module
        return self._given(f"{module}_gone", "bool", f"is_row_despawned[{literal(module)}]")

    def entity_alive_test(self, entity: str, slot: str = "") -> str:
        """The expression for whether an entity has not died meanwhile; nothing if nobody does."""
        if not (self.is_live and self._kills_entities):
            return ""
        return f"not {self._gone('')}[{slot or self._body.lookups.slot_of(entity)}]"

    def gone_rows(self, component: str) -> str:
        """The parameter that tells which rows have died meanwhile; nothing if none does."""
        may_die = self.is_live and component in self._of_rows
        return self._gone(component) if may_die else ""

    # --- statements --------------------------------------------------------------------------

    def despawn_self(self, one: statements.QueueDespawnSelf) -> None:
        """The row's own entity dies, or its row; none of its steps follows."""
        body, over = self._body, self._body.home
        with body.block(f"if {self._test(one.test)}"):
            if self._builder.source.components[over].owner == "none":
                self._despawn_row(over, body.row_of(over))
            else:
                known = (over, body.row_of(over)) if body.lookups.has_one(over) else None
                self._despawn_entity(body.owner_entity(over), known)
            body.write("continue")

    def despawn_other(self, one: statements.QueueDespawn, found: Code) -> None:
        """Another one dies, if there is such."""
        body, over = self._body, self._body.home
        test = found.text if not one.row.component else f"{found.text} != NIL"
        more = self._test(one.test)
        with body.block(f"if {test}" + ("" if more == "True" else f" and ({more})")):
            if one.row.component:
                self._despawn_row(one.row.component, found.text)
                is_own = one.row.component in self._builder.source.components
                own = body.row_of(one.row.component) if is_own else ""
                buried = found.text
            else:
                buried = body.keep_number(body.value(one.handle)).at(0).text
                self._despawn_entity(buried, body.lookups.known.get(buried))
                is_owned = self._builder.source.components[over].owner == "entity"
                own = body.owner_entity(over) if is_owned else ""
            if own:  # oneself: no step follows
                body.write(f"if {buried} == {own}:", "    continue")

    def _test(self, test: Expression) -> str:
        return "True" if isinstance(test, Constant) else self._body.value(test).at(0).text

    def _despawn_entity(self, entity: str, known: tuple[str, str] | None) -> None:
        """`known`: a component of theirs and the row, as far as that is known."""
        body, slot = self._body, self._body.names.allocate("slot")
        gone, tally = self._gone(""), self._tally
        dead = self._given("despawned", "u64", "despawned")
        body.write(f"{slot} = {body.lookups.slot_of(entity)}")
        with body.block(f"if not {gone}[{slot}]"):
            if self.is_live:
                self._leave_cells(entity, known or ("", ""))
            body.write(f"{gone}[{slot}] = True", f"{dead}[{tally}[0]] = {entity}")
            body.write(f"{tally}[0] += 1")

    def _despawn_row(self, component: str, row: str) -> None:
        module = self._managers.components[component].module
        gone, tally, place = self._gone(component), self._tally, 1 + self._of_rows.index(component)
        dead = self._given(f"{module}_dead", "i64", f"despawned_rows[{literal(module)}]")
        with self._body.block(f"if not {gone}[{row}]"):
            if self.is_live:
                self._leave_cell(component, row)
            self._body.write(f"{gone}[{row}] = True", f"{dead}[{tally}[{place}]] = {row}")
            self._body.write(f"{tally}[{place}] += 1")
            if self.is_live:
                self._leave_others(component, row)

    def _leave_cells(self, entity: str, known: tuple[str, str]) -> None:
        """The dead leave their cells, whichever of those who are watched they are."""
        body, lookups = self._body, self._body.lookups
        places = {
            *self._builder.program.tracked_occupants,
            *(one.join.position_owner for one in body.spaces),
        }
        for name in sorted(places):
            if name == known[0]:
                self._leave_cell(name, known[1])
            elif self._managers.components[name].owner == "entity":
                row, is_many = lookups.of_entity(name, "gone_row", entity), lookups.has_many(name)
                with body.block(f"{'while' if is_many else 'if'} {row} != NIL"):
                    self._leave_cell(name, row)
                    if is_many:
                        body.write(f"{row} = {lookups.next_of(name, row)}")

    def _leave_others(self, component: str, row: str) -> None:
        """Who loses a row of a group or query is met there no more; of several an entity is there
        with its first one before the kernel."""
        lookups = self._body.lookups
        for near in self._body.nears:
            if component == near.position_component or component not in near.join.components:
                continue
            owner = lookups.owner_of(component, row)
            other = lookups.first_before(near.position_component, "gone_row", owner)
            test = f"if {other} != NIL"
            if lookups.has_many(component):
                test += f" and {lookups.first_before(component, 'first_row', owner)} == {row}"
            with self._body.block(test):
                self._body.write(near.remove_line(other))

    def _leave_cell(self, component: str, row: str) -> None:
        body = self._body
        for near in body.spaces:
            if near.join.position_owner == component:
                body.write(near.remove_line(row))
        on = self._managers.components[component].on
        if on is None or component not in self._builder.program.tracked_occupants:
            return
        place = statements.FieldOfRow(statements.RowVariable(0, component), on.field, HANDLE)
        cell = self._builder.cells_of_found_row(place, row).at(0).text
        body.write(f"leave_cell_if_on({body.grids.occupancy(component)}, {cell}, {row})")

    # --- births ------------------------------------------------------------------------------

    def spawn(self, one: statements.QueueSpawn) -> None:
        """Somebody is born after the last row, unless a cell is full or none: noted is where its
        row came, and the values that it is given."""
        body, number, components = self._body, one.number, self._managers.components
        values = {
            (components[born.component], name): body.named(body.value(value))
            for born in one.instances
            for name, value in born.values
        }
        tests = [] if isinstance(one.test, Constant) else [body.value(one.test).at(0)]
        takes = []
        for (component, name), value in values.items():
            on = component.on
            if on is None or on.field != name:
                continue
            cell = value.at(0).text
            if self.is_live and component.name in self._builder.program.tracked_occupants:
                axes, crowds = body.grids.axes(on.grid), body.grids.occupancy(component.name)
                tests.append(Code(f"cell_has_capacity({crowds}, {axes}, {cell}, {on.capacity})"))
                takes.append(f"reserve_cell({crowds}, {cell})")
            else:
                tests.append(Code(body.grids.is_cell(on.grid, cell), Precedence.COMPARISON))
        test = reduce(partial(infix, "and", Precedence.AND), tests).text if tests else ""
        with body.block(f"if {test}") if test else nullcontext():
            tally, place = self._tally, 1 + len(self._of_rows) + number
            k = body.names.allocate("born")
            at = self._given(f"born_at_{number}", "i64", f"spawn_batches[{number}].turns")
            body.write(f"{k} = {tally}[{place}]", f"{at}[{k}] = {self._builder.turn}")
            for (component, name), value in values.items():
                field, module = field_of(component, name), component.module
                passed = f"spawn_batches[{number}].flat({literal(module)}, {literal(name)})"
                array = self._given(f"{module}_{name}_{number}", field.type.scalar, passed)
                held = self._builder.cells([array], value.type.of_shape(field.type.shape), k)
                body.store(value, held)
            body.write(*takes, f"{tally}[{place}] += 1")
