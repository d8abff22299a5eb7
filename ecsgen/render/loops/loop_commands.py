"""Commands in loops: spawns and despawns are queued; in turns later rows find no despawned ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from functools import partial, reduce
from math import prod

from ecsgen.kernels import statements
from ecsgen.model import Component
from ecsgen.model.typed_tree import ENTITY, HANDLE, Constant, Expression, Spawn
from ecsgen.render.kernel_methods.kernel_method import COMMANDS
from ecsgen.render.kernel_methods.row_sources import field_of
from ecsgen.render.loops.element_values import Value
from ecsgen.render.loops.loop_grids import GridNeighbours
from ecsgen.render.loops.loop_neighbours import LiveNeighbours, NeighbourAccess
from ecsgen.render.loops.row_lookup import Lookups
from ecsgen.render.loops.row_loop import RowLoop
from ecsgen.render.loops.scalar_code import Code, Precedence, infix
from ecsgen.render.text.quoting import literal


class CommandEmitter:
    """Parameters with the parts of the command buffer, and the statements that queue commands."""

    def __init__(self, body: RowLoop, lookups: Lookups, nears: Collection[NeighbourAccess]) -> None:
        self._body, self._lookups, self._nears = body, lookups, nears
        self._grids = lookups.grids
        self._builder = body.builder
        self._managers = body.builder.source.managers
        program = body.builder.program
        self.is_live = program.takes_turns
        self._mortal_rows = program.components_with_row_despawns
        self._n_batches = sum(isinstance(step.target, Spawn) for step in program.actions)
        """The number of statements with a batch of spawns."""

    def _parameter(self, name: str, scalar: str, passed: str) -> str:
        return self._builder.handles(name, f"{COMMANDS}.{passed}", scalar)

    @property
    def _counts(self) -> str:
        return self._parameter("counts", "i64", "counts")

    @property
    def spaces(self) -> list[LiveNeighbours]:
        """Live neighbourhoods in spaces."""
        return [near for near in self._nears if isinstance(near, LiveNeighbours)]

    def despawn_self(self, command: statements.QueueDespawnSelf) -> None:
        """Queue the despawn of the row's own entity, or of the row; none of its steps follows."""
        body, over = self._body, self._body.home
        with body.block(f"if {self._test(command.test)}"):
            if self._builder.source.components[over].owner == "none":
                self._despawn_row(over, body.row_number_of(over))
            else:
                known = (over, body.row_number_of(over)) if self._lookups.has_one(over) else None
                self._despawn_entity(body.owner_entity(over), known)
            body.jump("return")

    def despawn_target(self, command: statements.QueueDespawn, target: Code) -> None:
        """Queue the despawn of another entity or row, if it exists."""
        body, over = self._body, self._body.home
        test = target.text if not command.row.component else f"{target.text} != NIL"
        condition = self._test(command.test)
        with body.block(f"if {test}" + ("" if condition == "True" else f" and ({condition})")):
            if command.row.component:
                self._despawn_row(command.row.component, target.text)
                is_own = command.row.component in self._builder.source.components
                own_identity = body.row_number_of(command.row.component) if is_own else ""
                despawned = target.text
            else:
                despawned = body.keep_number(body.value(command.handle)).at(0).text
                self._despawn_entity(despawned, self._lookups.known_rows.get(despawned))
                is_owned = self._builder.source.components[over].owner == "entity"
                own_identity = body.owner_entity(over) if is_owned else ""
            if own_identity:  # itself: no step follows
                with body.block(f"if {despawned} == {own_identity}"):
                    body.jump("return")

    def _test(self, test: Expression) -> str:
        return "True" if isinstance(test, Constant) else self._body.value(test).at(0).text

    def _despawn_entity(self, entity: str, known: tuple[str, str] | None) -> None:
        """Queue an entity's despawn; `known`: one of its components and its row there, if known."""
        body, slot = self._body, self._body.names.allocate("slot")
        marks, counts = self._lookups.marks(""), self._counts
        despawned = self._parameter("despawned", "u64", "despawned")
        body.write(f"{slot} = {self._lookups.slot_of(entity)}")
        with body.block(f"if not {marks}[{slot}]"):
            if self.is_live:
                self._leave_cells(entity, known or ("", ""))
            body.write(f"{marks}[{slot}] = True", f"{despawned}[{counts}[0]] = {entity}")
            body.write(f"{counts}[0] += 1")

    def _despawn_row(self, component: str, row: str) -> None:
        module = self._managers.components[component].module
        marks, counts = self._lookups.marks(component), self._counts
        index = 1 + self._mortal_rows.index(component)
        rows = self._parameter(f"{module}_dead", "i64", f"despawned_rows[{literal(module)}]")
        with self._body.block(f"if not {marks}[{row}]"):
            if self.is_live:
                self._leave_cell(component, row)
            self._body.write(f"{marks}[{row}] = True", f"{rows}[{counts}[{index}]] = {row}")
            self._body.write(f"{counts}[{index}] += 1")
            if self.is_live:
                self._leave_joins(component, row)

    def _leave_cells(self, entity: str, known: tuple[str, str]) -> None:
        """Remove the rows of a despawned entity from spaces and tracked occupancies."""
        body, lookups = self._body, self._lookups
        places = {
            *self._builder.program.tracked_occupants,
            *(near.join.position_owner for near in self.spaces),
        }
        for name in sorted(places):
            if name == known[0]:
                self._leave_cell(name, known[1])
            elif self._managers.components[name].owner == "entity":
                row = lookups.row_of_entity(name, "gone_row", entity)
                is_many = lookups.has_many(name)
                with body.block(f"{'while' if is_many else 'if'} {row} != NIL"):
                    self._leave_cell(name, row)
                    if is_many:
                        body.write(f"{row} = {lookups.next_of(name, row)}")

    def _leave_joins(self, component: str, row: str) -> None:
        """Remove the row's entity from groups and queries, if it is the entity's first row before
        the kernel."""
        lookups = self._lookups
        for near in self._nears:
            if not isinstance(near, LiveNeighbours | GridNeighbours):
                continue
            placed = near.position_component  # "" if cells are asked
            if placed in ("", component) or component not in near.join.components:
                continue
            owner = lookups.owner_of(component, row)
            other = lookups.first_row_before(placed, "gone_row", owner)
            test = f"if {other} != NIL"
            if lookups.has_many(component):
                test += f" and {lookups.first_row_before(component, 'first_row', owner)} == {row}"
            with self._body.block(test):
                self._body.write(near.remove_line(other))

    def _leave_cell(self, component: str, row: str) -> None:
        body = self._body
        for near in self.spaces:
            if near.join.position_owner == component:
                body.write(near.remove_line(row))
        on = self._managers.components[component].on
        if on is None or component not in self._builder.program.tracked_occupants:
            return
        cell_field = statements.FieldOfRow(statements.RowVariable(0, component), on.field, HANDLE)
        cell = self._builder.cells_of_found_row(cell_field, row).at(0).text
        body.write(f"leave_cell_if_on({self._grids.occupancy(component)}, {cell}, {row})")

    def spawn(self, command: statements.QueueSpawn) -> None:
        """Queue a spawn, or a component that an entity gets or loses, applied after the last row;
        a spawn is skipped if its cell is full or does not exist. The buffer gets its place in the
        order of commands, the entity, and the values of the new rows."""
        body, components = self._body, self._managers.components
        values = {
            (components[instance.component], name): body.named(body.value(value))
            for instance in command.instances
            for name, value in instance.values
        }
        handle = command.handle and body.named(body.value(command.handle)).at(0).text
        tests = [] if isinstance(command.test, Constant) else [body.value(command.test).at(0)]
        reservations = []
        for (component, name), value in values.items():
            on = component.on
            if on is None or on.field != name:
                continue
            cell = value.at(0).text
            if self.is_live and component.name in self._builder.program.tracked_occupants:
                axes, occupancy = self._grids.axes(on.grid), self._grids.occupancy(component.name)
                tests.append(Code(f"cell_has_capacity({occupancy}, {axes}, {cell}, {on.capacity})"))
                reservations.append(f"reserve_cell({occupancy}, {cell})")
            else:
                tests.append(Code(self._grids.is_cell(on.grid, cell), Precedence.COMPARISON))
        test = reduce(partial(infix, "and", Precedence.AND), tests).text if tests else ""
        newborn = self._take_handle(command)
        born = body.names.allocate("newborn") if newborn and command.to else ""
        if born and test:
            body.write(f"{born} = {self._builder.zero(HANDLE).text}")
        with body.block(f"if {test}") if test else nullcontext():
            if newborn:
                body.write(f"{born} = {newborn}" if born else newborn)
            self._queue(command, values, handle or "")
            body.write(*reservations)
        if command.to:
            body.set_local(command.to, Code(born))

    def _take_handle(self, command: statements.QueueSpawn) -> str:
        """Return the call that takes the handle of who will come; "" if spawns get none."""
        homes = command.homes(self._managers.components)
        if not (homes and self._builder.program.keeps_handles):
            return ""
        (home,) = homes
        function, scalar = ("take_id", "u32") if home else ("take_entity", "u64")
        prefix = f"{home}_" if home else "newborn_"
        arguments = (
            self._parameter(f"{prefix}{name}", kind, f"handles[{literal(home)}].{name}")
            for name, kind in (("numbers", "i64"), ("free", "u32"), ("cells", scalar))
        )
        return f"{function}({', '.join(arguments)})"

    def _queue(
        self,
        command: statements.QueueSpawn,
        values: Mapping[tuple[Component, str], Value],
        handle: str,
    ) -> None:
        """Write a command to its buffer; `handle`: the entity that gets or loses a component."""
        body, number = self._body, command.number
        count = f"{self._counts}[{1 + len(self._mortal_rows) + number}]"
        index = body.names.allocate("spawn_index")
        turns = self._parameter(f"spawn_turns_{number}", "i64", f"spawn_batches[{number}].turns")
        body.write(f"{index} = {count}")
        arrays, held = {turns: (number, "", "")}, {turns: index}
        if self._n_batches > 1:
            held[turns] = self._builder.hoist("queued", "0")
        if handle:
            targets = self._parameter(
                f"spawn_targets_{number}", "u64", f"spawn_batches[{number}].targets"
            )
            arrays[targets], held[targets] = (number, "", ENTITY), handle
        for component, name in values:
            arrays[self._spawned(number, component, name)] = number, component.module, name
        if body.is_in_loop:  # a row may spawn any number of times
            self._builder.grown.update(arrays)
            with body.block(f"if {index} == len({turns})"):
                body.write(*(f"{array} = grown({array})" for array in held))
                for component, name in values:
                    array, field = self._spawned(number, component, name), field_of(component, name)
                    elements = prod(field.type.shape)
                    more = f", {elements}" if elements > 1 else ""
                    body.write(f"{array} = grown({array}{more})")
        body.write(*(f"{array}[{index}] = {value}" for array, value in held.items()))
        for (component, name), value in values.items():
            field, array = field_of(component, name), self._spawned(number, component, name)
            cells = self._builder.cells([array], value.type.of_shape(field.type.shape), index)
            body.store(value, cells)
        body.write(f"{count} += 1")
        if self._n_batches > 1:
            body.write(f"{held[turns]} += 1")

    def _spawned(self, number: int, component: Component, name: str) -> str:
        """Return the parameter with the values of a field of spawned rows."""
        module, type_ = component.module, field_of(component, name).type
        passed = f"spawn_batches[{number}].flat({literal(module)}, {literal(name)})"
        passed += ".view(np.int64)" if type_.is_time else ""
        return self._parameter(f"{module}_{name}_{number}", type_.kernel_scalar, passed)
