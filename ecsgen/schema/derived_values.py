"""Derived values: names for expressions of a row, typed over the fields of its component."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Final

from ecsgen.diagnostics import quote
from ecsgen.kernels.hints import names_in
from ecsgen.kernels.neighbour_aggregates import NAMES
from ecsgen.kernels.parsing import KernelError, SourceText
from ecsgen.kernels.random_numbers import NoDraws
from ecsgen.kernels.scope import SELF, TICK, ReferenceScope
from ecsgen.kernels.type_checker import TypeChecker
from ecsgen.model import Component, DerivedValue
from ecsgen.model import typed_tree as tree
from ecsgen.schema.declarations import Declaration
from ecsgen.schema.document_specs import ComponentSpec
from ecsgen.schema.kernel_typing import InvalidNames, component_scope
from ecsgen.schema.type_parser import TypeScope

_MOST_PARTS, _DEEPEST = 1000, 50
"""Limits of a derived value in which the names of others are replaced."""
_ROW_ALONE: Final = "a derived value is made of the fields of its row alone"
_NOT_OF_FIELDS: Final = frozenset((tree.ENTITY, SELF, tree.PARENT, TICK, *NAMES))
"""Names that kernels may know beside fields."""
_OTHER_ROWS: Final = ("E810", "E813")
"""Codes of references to other rows, and of questions about neighbours."""


def type_derived_values(
    draft: Declaration[ComponentSpec], component: Component, invalid: InvalidNames, types: TypeScope
) -> tuple[DerivedValue, ...]:
    """Return the valid derived values of a component, as written; reports E112, E819 and E80x.

    `invalid`: names of fields that are reported already, and of all derived values.
    """
    builder = _Builder(draft, component, invalid, types)
    parsed = dict(builder.parse(draft.spec.derived))
    for name in builder.order(parsed):
        builder.add(name, *parsed[name])
    known = builder.scope.derived
    return tuple(known[name] for name in draft.spec.derived if name in known)


_Parsed = tuple[SourceText, ast.expr]


class _Builder:
    """The derived values of a component that are typed already, in the scope of the next ones."""

    def __init__(
        self,
        draft: Declaration[ComponentSpec],
        component: Component,
        invalid: InvalidNames,
        types: TypeScope,
    ) -> None:
        self._draft = draft
        self._known: dict[str, DerivedValue] = {}
        nowhere = ReferenceScope({}, types.components, component.name, refusal=_ROW_ALONE)
        self.scope = component_scope(component, nowhere, invalid, types, draft.diagnostics)
        self.scope.derived = self._known
        self.scope.no_draws = NoDraws(_ROW_ALONE, "let a kernel draw into a field")

    def parse(self, written: Mapping[str, str]) -> Iterator[tuple[str, _Parsed]]:
        """Yield the valid texts by name; reports E112."""
        for name, content in written.items():
            if name in self.scope.fields:
                continue  # reported as taken
            text = SourceText(content, self._draft.value_mark("derived", name))
            try:
                yield name, (text, text.expression())
            except KernelError as error:
                text.report(error, self.scope.diagnostics)

    def order(self, parsed: Mapping[str, _Parsed]) -> Iterable[str]:
        """Return the names so that each comes behind those in its text; reports E819 for circles,
        whose names are left out."""
        names = {name: names_in(node) & parsed.keys() for name, (_, node) in parsed.items()}
        while True:
            try:
                return [*TopologicalSorter(names).static_order()]
            except CycleError as error:
                circle = error.args[1][::-1]  # each in front of those in its text
                first = min(circle, key=[*names].index)
                start = circle.index(first)
                path = " → ".join((*circle[start:-1], *circle[:start], first))
                message = f"{quote(first)} depends on itself: {quote(path, 200)[1:-1]}"
                mark = self._draft.value_mark("derived", first)
                self._draft.report("E819", message, mark)
                names = {name: uses for name, uses in names.items() if name not in circle}
                names = {name: uses & names.keys() for name, uses in names.items()}

    def add(self, name: str, text: SourceText, node: ast.expr) -> None:
        """Type a derived value, and add it to the scope; reports E819 and E80x."""
        try:
            self._check_names(node)
            value = TypeChecker(self.scope).value(node)
            if _depth(value) > _DEEPEST or sum(1 for _ in tree.walk(value)) > _MOST_PARTS:
                message = f"{quote(name)} has more than {_MOST_PARTS} parts or {_DEEPEST} levels "
                message += "with those of the derived values in it"
                raise KernelError("E819", message, None, "let a kernel write it into a field")
        except KernelError as error:
            if error.code == "E812":
                error.code = "E819"
            if error.code in _OTHER_ROWS:
                error = KernelError("E819", _ROW_ALONE, error.node)
            text.report(error, self.scope.diagnostics)
            return
        self._known[name] = DerivedValue(name, text.content, value, text.mark)
        self.scope.invalid_names -= {name}

    def _check_names(self, node: ast.expr) -> None:
        """Raise E819 for names that only kernels know."""
        others = _NOT_OF_FIELDS - self.scope.own_names.keys() - self.scope.invalid_names
        components = self.scope.reference_scope.names
        for part in ast.walk(node):
            match part:
                case ast.Name(id=name) if name in others:
                    raise KernelError("E819", f"{_ROW_ALONE}, without {quote(name)}", part)
                case ast.Call(ast.Attribute(ast.Name(id=name))) if name in components:
                    message = f"{_ROW_ALONE}, without {quote(ast.unparse(part))}"
                    raise KernelError("E819", message, part)


def _depth(node: tree.Expression) -> int:
    return 1 + max(map(_depth, tree.child_expressions(node)), default=0)
