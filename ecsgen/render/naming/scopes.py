"""Which names of a module would mean something else if some of them were spelled alike."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

BUILTINS = frozenset(vars(builtins))


@dataclass(slots=True)
class Scope:
    """A module, class, function or comprehension: the names that it binds, and those it uses."""

    above: Scope | None = None
    is_class: bool = False
    bound: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)

    def path(self) -> Iterator[Scope]:
        """Yield where Python looks for a name used here: classes only for what stands in them."""
        yield self
        above = self.above
        while above is not None:
            if not above.is_class:
                yield above
            above = above.above


def scopes_of(text: str) -> list[Scope]:
    """Return all scopes of a module with this text."""
    return _Scopes(ast.parse(text)).scopes


def meetings(scopes: list[Scope], spelled: Callable[[str], str]) -> set[str]:
    """Return the names one of which would catch another if they were spelled so."""
    alike: dict[str, set[str]] = defaultdict(set)
    for scope in scopes:
        for name in scope.bound | scope.used:
            alike[spelled(name)].add(name)
    several = {name: names for names in alike.values() if len(names) > 1 for name in names}
    return {
        name
        for scope in scopes
        for one in (scope.bound | scope.used) & several.keys()
        for name in several[one] & _catchers(scope, one, several[one] - {one})
        for name in (one, name)
    }


def _catchers(scope: Scope, name: str, others: set[str]) -> set[str]:
    """Return which of other names are bound on the way from a name to what it means."""
    found: set[str] = set()
    for each in scope.path():
        found |= others & each.bound
        if name in each.bound:
            break
    return found


def unbound(scopes: list[Scope]) -> set[str]:
    """Return the builtins that a module uses."""
    return {
        name
        for scope in scopes
        for name in scope.used & BUILTINS
        if not any(name in each.bound for each in scope.path())
    }


class _Scopes:
    """Takes down who binds and uses which names. Annotations are used where the function is."""

    def __init__(self, module: ast.Module) -> None:
        self._here = Scope()
        self.scopes = [self._here]
        self._visit(*module.body)

    def _visit(self, *nodes: ast.AST | None) -> None:
        for node in nodes:
            if node is not None:
                self._look_at(node)

    def _look_at(self, node: ast.AST) -> None:
        here = self._here
        match node:
            case ast.Name():
                (here.used if isinstance(node.ctx, ast.Load) else here.bound).add(node.id)
            case ast.alias():
                here.bound.add(node.asname or node.name.partition(".")[0])
            case ast.ClassDef():
                here.bound.add(node.name)
                self._visit(*node.decorator_list, *node.bases, *node.keywords)
                self._inside(node.body, is_class=True)
            case ast.FunctionDef():
                here.bound.add(node.name)
                self._visit(*node.decorator_list, node.returns)
                self._function(node.args, node.body)
            case ast.Lambda():
                self._function(node.args, [node.body])
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._inside(list(ast.iter_child_nodes(node)))
            case _:
                if isinstance(node, ast.ExceptHandler) and node.name:
                    here.bound.add(node.name)
                self._visit(*ast.iter_child_nodes(node))

    def _function(self, arguments: ast.arguments, body: Sequence[ast.AST]) -> None:
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        self._visit(*(one.annotation for one in every), *arguments.defaults, *arguments.kw_defaults)
        self._inside(body, bound={one.arg for one in every})

    def _inside(
        self, body: Sequence[ast.AST], *, is_class: bool = False, bound: set[str] | None = None
    ) -> None:
        outer, self._here = self._here, Scope(self._here, is_class, bound or set())
        self.scopes.append(self._here)
        self._visit(*body)
        self._here = outer
