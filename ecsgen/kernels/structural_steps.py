"""Steps that spawn or despawn: `die()`, `destroy(prey)`, `spawn(Sheep(energy=e))`; and those that
give or take components: `add(Ill(since=t))`, `remove(prey, Healthy)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels import hints, operations
from ecsgen.kernels.parsing import KernelError, check_count
from ecsgen.kernels.references import target_of_id
from ecsgen.kernels.scope import Scope, value_type
from ecsgen.kernels.type_checker import TypeChecker
from ecsgen.kernels.type_rules import convert_for_target
from ecsgen.model import Component, required_by
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import BOOL, Type


class CommandChecker:
    """Typing of the spawns and despawns of one kernel."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._checker = TypeChecker(scope)

    def step(self, call: ast.Call, text: str) -> tree.Step:
        """Return the step for a call of one of `COMMANDS`. Raises KernelError."""
        name, commands = ast.unparse(call.func), self._scope.command_scope
        if commands.refusal:
            raise KernelError("E816", commands.refusal, call, commands.hint)
        if name == "spawn":
            target: tree.Despawn | tree.Spawn = self._spawn(call)
        elif name in ("add", "remove"):
            target = self._change(name, call)
        elif name == "die":
            self._refuse_another(call)
            check_count(name, call, 0, 0)
            target = tree.Despawn(None, commands.over)
            self._refuse_cells(target.component, call)
        else:
            check_count(name, call, 1, 1)
            handle = self._checker.references.handle(call.args[0])
            component = "" if handle.type.kind == "entity" else target_of_id(handle)
            target = tree.Despawn(handle, component)
            self._refuse_cells(target.component, call.args[0])
        return tree.Step(target, self._where(call, name == "add"), (), text)

    def _refuse_another(self, call: ast.Call) -> None:
        """Raise E808 for `die(prey)`, which is another one's death."""
        match call:
            case ast.Call(args=[ast.Name() | ast.Attribute() as who], keywords=[]):
                if self._checker.value(who).type.is_handle:
                    message = "'die' is of the row itself, and takes nobody"
                    raise KernelError("E808", message, call, f"write `destroy({ast.unparse(who)})`")

    def handle_type(self, spawn: tree.Spawn, call: ast.Call) -> Type:
        """Return the type of the handle of who will come. Raises E816 if rows replace others."""
        component = self._scope.reference_scope.components[spawn.instances[0].component]
        if component.owner != "none":
            return tree.HANDLE
        if component.max_rows:
            message = f"rows of {quote(component.name)} replace others: their ids come with them"
            raise KernelError("E816", message, call, "leave the local out")
        return tree.id_type(component.name)

    def _change(self, name: str, call: ast.Call) -> tree.Spawn:
        """Return the component that an entity gets or loses, by default the row's own."""
        if not 1 <= len(call.args) <= 2:
            message = f"{name} takes a component, or an entity and a component"
            raise KernelError("E808", message, call)
        *handles, node = call.args
        instance = self._added(node) if name == "add" else self._removed(node)
        component = self._scope.reference_scope.components[instance.component]
        if component.owner == "none":
            message = f"rows of {quote(component.name)} are unowned: no entity gets or loses one"
            raise KernelError("E816", message, node)
        kind: tree.SpawnKind = "add" if name == "add" else "remove"
        for keyword in call.keywords:
            if keyword.arg == "replace" and name == "add" and self._is_replacing(keyword):
                kind = "replace"
                if component.instances == "many":
                    message = f"entities have several of {quote(component.name)}: none is replaced"
                    raise KernelError("E816", message, keyword.value)
        instances = (instance, *self._required([component.name] if name == "add" else []))
        return tree.Spawn(instances, kind, self._changed(handles, call))

    def _required(self, names: Iterable[str]) -> list[tree.SpawnedInstance]:
        """Return an instance, with the defaults, of each component that some require."""
        references = self._scope.reference_scope
        required = required_by(names, references.components)
        managed = (name for name in required if name not in references.chunked)
        return [tree.SpawnedInstance(name, ()) for name in managed]

    def _is_replacing(self, keyword: ast.keyword) -> bool:
        match keyword.value:
            case ast.Constant(value=bool() as replaces):
                return replaces
            case ast.Name(id=name) if name in operations.TRUTHS:
                return operations.TRUTHS[name]
        raise KernelError("E801", "'replace' is true or false, written out", keyword.value)

    def _changed(self, handles: list[ast.expr], call: ast.Call) -> tree.Expression:
        """Return the entity that gets or loses a component."""
        if handles:
            handle = self._checker.references.handle(handles[0])
            if handle.type.kind != "entity":
                message = f"{handle.type} is a row: only entities get and lose components"
                raise KernelError("E816", message, handles[0])
            return handle
        if self._scope.owner_component is None:
            over = quote(self._scope.command_scope.over)
            raise KernelError("E816", f"rows of {over} are unowned: they get no components", call)
        return tree.FieldValue(tree.HANDLE, tree.ENTITY, self._scope.owner_component)

    def _added(self, node: ast.expr) -> tree.SpawnedInstance:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
            message = "add takes a component with fields, as in add(Ill(since=1))"
            raise KernelError("E801", message, node)
        component = self._component(node.func.id, node, "add")
        values = {keyword.arg: keyword.value for keyword in node.keywords}
        if component.on is not None and component.on.field in values:
            message = f"who gets {quote(component.name)} stands nowhere at first"
            hint = "let a kernel after this one move it"
            raise KernelError("E816", message, values[component.on.field], hint)
        return tree.SpawnedInstance(component.name, self._values(component, node))

    def _removed(self, node: ast.expr) -> tree.SpawnedInstance:
        if not isinstance(node, ast.Name):
            message = "remove takes the name of a component, as in remove(Ill)"
            raise KernelError("E801", message, node)
        return tree.SpawnedInstance(self._component(node.id, node, "remove").name, ())

    def _refuse_cells(self, component: str, node: ast.expr) -> None:
        known = self._scope.reference_scope.components.get(component)
        if known is not None and known.grid is not None:
            message = f"{quote(component)} is a grid: cells are neither spawned nor destroyed"
            raise KernelError("E816", message, node)

    def _where(self, call: ast.Call, may_replace: bool) -> tree.Expression:
        known = ("where", "replace") if may_replace else ("where",)
        wrong = [keyword.arg or "**" for keyword in call.keywords if keyword.arg not in known]
        if wrong:
            hint = "when it happens says 'where', as in die(where=energy < 0)"
            raise KernelError("E801", f"there is no {quote(wrong[0])} here", call, hint)
        always = tree.Constant(BOOL, True)
        tests = [keyword.value for keyword in call.keywords if keyword.arg == "where"]
        return self._checker.condition(tests[0]) if tests else always

    def _spawn(self, call: ast.Call) -> tree.Spawn:
        """Return a spawn of one instance per component; those of a bundle have no values here."""
        first, bundles = next(iter(call.args), None), self._scope.command_scope.bundles
        bundle = first.id if isinstance(first, ast.Name) and first.id in bundles else ""
        instances = {
            name: tree.SpawnedInstance(self._component(name, call).name, ())
            for name in bundles.get(bundle, ())
        }
        names: set[str] = set()
        for node in call.args[1:] if bundle else call.args:
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
                message = "spawn takes components with fields, as in spawn(Sheep(energy=1))"
                is_last = node is call.args[-1] is not call.args[0]
                hint = hints.of_count(call, len(call.args) - 1) if is_last else ""
                raise KernelError("E801", message, node, hint)
            component = self._component(node.func.id, node)
            if component.name in names:
                raise KernelError("E816", f"{quote(component.name)} is spawned twice", node)
            names.add(component.name)
            values = self._values(component, node)
            instances[component.name] = tree.SpawnedInstance(component.name, values)
        self._check_instances(instances, call)
        has_values = bool(bundle) and any(bundles[bundle].values())
        spawned = (*instances.values(), *self._required(instances))
        return tree.Spawn(spawned, bundle=bundle if has_values else "")

    def _component(self, name: str, node: ast.expr, verb: str = "spawn") -> Component:
        references = self._scope.reference_scope
        if name not in references.names:
            bundles = self._scope.command_scope.bundles
            hint = did_you_mean(name, (*references.names, *bundles))
            if name in bundles:
                hint = f"a bundle stands first, without brackets: `spawn({name})`"
            raise KernelError("E802", f"unknown component {quote(name)}", node, hint)
        if name in references.chunked:
            message = f"{quote(name)} lives in archetypes: kernels cannot {verb} it"
            raise KernelError("E816", message, node)
        self._refuse_cells(name, node)
        return references.components[name]

    def _check_instances(
        self, instances: Mapping[str, tree.SpawnedInstance], call: ast.Call
    ) -> None:
        if not instances:
            message = "spawn needs a component, as in spawn(Sheep(energy=1))"
            raise KernelError("E808", message, call)
        components = self._scope.reference_scope.components
        unowned = [name for name in instances if components[name].owner == "none"]
        if unowned and len(instances) > 1:
            message = f"rows of {quote(unowned[0])} are unowned: they are spawned one at a time"
            raise KernelError("E816", message, call, "spawn it in a step of its own")

    def _values(
        self, component: Component, call: ast.Call
    ) -> tuple[tuple[str, tree.Expression], ...]:
        fields, values = {field.name: field for field in component.fields}, []
        for keyword in call.keywords:
            name = keyword.arg or "**"
            if any(value.name == name for value in component.derived):
                message = f"{quote(name)} is derived: it follows from what the fields hold"
                raise KernelError("E805", message, keyword.value, "give values to the fields")
            if name not in fields:
                hint = did_you_mean(name, fields)
                message = f"{quote(component.name)} has no field {quote(name)}"
                raise KernelError("E802", message, keyword, hint)
            type_ = value_type(fields[name].type)
            if type_ is None:
                message = f"a kernel gives no {fields[name].type.text} to {quote(name)}"
                raise KernelError("E803", message, keyword.value)
            capacity = 0 if component.on is None else component.on.capacity
            if capacity and fields[name].is_cell_reference and not self._scope.takes_turns:
                message = f"cells have limited room for {quote(component.name)}: which rows are "
                message += "spawned there depends on their order"
                raise KernelError("E817", message, keyword.value, "give the kernel turns: random")
            value = self._checker.infer(keyword.value)
            values.append((name, convert_for_target(value, type_, keyword.value)))
        return tuple(values)
