"""Documents whose shape is right, and who claims which name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.model import Field, Mark, Marks
from ecsgen.schema.document_specs import KINDS, ComponentSpec, EnumSpec, Strict, WorldSpec
from ecsgen.schema.validation import BadValueError, key_mark, validate
from ecsgen.source.yaml_nodes import Node

Spec = TypeVar("Spec", bound=Strict)


@dataclass(slots=True)
class Declaration(Generic[Spec]):
    """One document: what it says, and where it says it."""

    name: str
    spec: Spec
    node: Node
    source: str  # the file, relative to the schema folder
    diagnostics: Diagnostics
    by_default: tuple[str, ...] = ()  # keys that have the project's default

    def report(self, code: str, message: str, mark: Mark, hint: str = "") -> None:
        """Report what is wrong with it, or with how others name it."""
        self.diagnostics.add(code, message, mark, hint=hint)

    def report_error(self, error: BadValueError, mark: Mark, prefix: str = "") -> None:
        """Report why a value is wrong."""
        self.report(error.code, prefix + error.message, error.mark or mark, hint=error.hint)

    def field(
        self, fields: tuple[Field, ...], name: str, code: str, what: str, mark: Mark
    ) -> Field | None:
        """The field that a key names; reports with `code` that `what` is none, unless fields are in
        error already."""
        found = next((one for one in fields if one.name == name), None)
        was_refused = (
            self.is_incomplete() or self.is_incomplete("fields") or name in self.key_marks("fields")
        )
        if found is None and not was_refused:
            hint = did_you_mean(name, [one.name for one in fields])
            self.report(code, f"{what} is no field", mark, hint)
        return found

    def is_incomplete(self, *path: str | int) -> bool:
        """Whether something of what stands there was refused, so that nobody misses it as well."""
        node = self.node.at(*path)
        return node is not None and not node.complete

    def key_marks(self, *path: str | int) -> Marks:
        """The marks of the keys of a mapping; none where there is no such thing."""
        node = self.node.at(*path)
        return {} if node is None else node.keys

    def key_mark(self, *path: str | int) -> Mark:
        """The mark of a key."""
        return key_mark(self.node, *path)

    def value_mark(self, *path: str | int) -> Mark:
        """The mark of a value."""
        node = self.node.at(*path)
        return self.node.mark if node is None else node.mark

    def marks(self, kind: str) -> Marks:
        """The marks of all top-level keys; "" is the name."""
        return {**self.node.keys, "": self.value_mark(kind)}


Components: TypeAlias = Mapping[str, Declaration[ComponentSpec]]


@dataclass(slots=True)
class Declarations:
    """All documents of a project by kind, in the order of their files."""

    components: list[Declaration[ComponentSpec]] = field(default_factory=list)
    enums: list[Declaration[EnumSpec]] = field(default_factory=list)
    worlds: list[Declaration[WorldSpec]] = field(default_factory=list)

    def add(self, node: Node, source: str, diagnostics: Diagnostics) -> None:
        """Sort one document in; reports E30x."""
        kind = _kind(node, diagnostics)
        if kind is None:
            return
        spec = validate(node, KINDS[kind], diagnostics)
        if isinstance(spec, ComponentSpec):
            self.components.append(Declaration(spec.component, spec, node, source, diagnostics))
        elif isinstance(spec, EnumSpec):
            self.enums.append(Declaration(spec.enum, spec, node, source, diagnostics))
        elif isinstance(spec, WorldSpec):
            self.worlds.append(Declaration(spec.world, spec, node, source, diagnostics))


def _kind(node: Node, diagnostics: Diagnostics) -> str | None:
    kinds = "one of the keys 'component', 'enum' and 'world'"
    if not isinstance(node.value, dict):
        diagnostics.add("E301", f"a schema is a mapping with {kinds}", node.mark)
        return None
    found = [kind for kind in node.keys if kind in KINDS]
    if len(found) == 1:
        return found[0]
    if found:
        first = node.keys[found[0]]
        message = f"{quote(found[1])} in a document that is a {found[0]} by line {first.line}"
        diagnostics.add("E301", message, node.keys[found[1]], hint="separate them by '---'")
        return None
    if node.complete:
        first_key = next(iter(node.keys), "")
        mark = node.keys.get(first_key, node.mark)
        hints = (did_you_mean(key, KINDS) for key in node.keys)
        hint = next((hint for hint in hints if hint), "")
        diagnostics.add("E301", f"the document is of no kind: it needs {kinds}", mark, hint=hint)
    return None


class NameRegistry:
    """Names that must be different from each other, whoever has them."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._taken: dict[str, tuple[str, str, Mark]] = {}
        self._told: set[tuple[Mark, Mark]] = set()

    def register(self, name: str, what: str, mark: Mark) -> bool:
        """Take a name for `what`; reports E103 when something else has it, in whatever case."""
        folded = name.casefold()
        if folded not in self._taken:
            self._taken[folded] = name, what, mark
            return True
        other, whose, place = self._taken[folded]
        if (mark, place) in self._told:  # the same two make several names
            return False
        self._told.add((mark, place))
        where = f"line {place.line}" if place.path == mark.path else place.place
        differ = "" if other == name else f" as {quote(other)}, which differs in case only,"
        message = f"the name {quote(name)} of {what} is taken{differ} by {whose} on {where}"
        self._diagnostics.add("E103", message, mark)
        return False
