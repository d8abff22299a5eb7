"""Documents of a valid shape, and the registry of names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.model import Field, Mark, Marks
from ecsgen.schema.document_specs import KINDS, ComponentSpec, EnumSpec, WorldSpec
from ecsgen.schema.spec_forms import Strict
from ecsgen.schema.validation import BadValueError, key_mark, validate
from ecsgen.source.yaml_nodes import Node

Spec = TypeVar("Spec", bound=Strict)


@dataclass(slots=True)
class Declaration(Generic[Spec]):
    """One document: its content, and the marks of its parts."""

    name: str
    spec: Spec
    node: Node
    source: str  # the file, relative to the schema folder
    diagnostics: Diagnostics
    by_default: tuple[str, ...] = ()  # keys that have the project's default

    def report(self, code: str, message: str, mark: Mark, hint: str = "") -> None:
        """Report an error in the document, or in a reference to it."""
        self.diagnostics.add(code, message, mark, hint=hint)

    def report_error(self, error: BadValueError, mark: Mark, prefix: str = "") -> None:
        """Report an error of a value, at its own mark or at `mark`."""
        self.report(error.code, prefix + error.message, error.mark or mark, hint=error.hint)

    def field(
        self, fields: tuple[Field, ...], name: str, code: str, what: str, mark: Mark
    ) -> Field | None:
        """Return the field that a key names; reports `code` without one, unless an error of the
        fields is reported already."""
        field = next((field for field in fields if field.name == name), None)
        is_incomplete = self.is_incomplete() or self.is_incomplete("fields")
        if field is None and not is_incomplete and name not in self.key_marks("fields"):
            hint = did_you_mean(name, [field.name for field in fields])
            self.report(code, f"{what} is no field", mark, hint)
        return field

    def is_incomplete(self, *path: str | int) -> bool:
        """Return True if part of the node was rejected; missing keys are then not reported."""
        node = self.node.at(*path)
        return node is not None and not node.complete

    def key_marks(self, *path: str | int) -> Marks:
        """Return the marks of the keys of a mapping; none without such a mapping."""
        node = self.node.at(*path)
        return {} if node is None else node.keys

    def key_mark(self, *path: str | int) -> Mark:
        """Return the mark of a key."""
        return key_mark(self.node, *path)

    def value_mark(self, *path: str | int) -> Mark:
        """Return the mark of a value."""
        node = self.node.at(*path)
        return self.node.mark if node is None else node.mark

    def value_marks(self, *path: str | int) -> dict[str, Mark]:
        """Return the marks of a value and of all values in it, by their paths from there."""
        node = self.node.at(*path)
        return {} if node is None else dict(node.marks())

    def marks(self, kind: str) -> Marks:
        """Return the marks of all top-level keys; "" is the name, "…" there if some
        are rejected."""
        more = {"…": self.node.mark} if self.is_incomplete() else {}
        return {**self.node.keys, **more, "": self.value_mark(kind)}


Components: TypeAlias = Mapping[str, Declaration[ComponentSpec]]


@dataclass(slots=True)
class Declarations:
    """All documents of a project by kind, in the order of their files."""

    components: list[Declaration[ComponentSpec]] = field(default_factory=list)
    enums: list[Declaration[EnumSpec]] = field(default_factory=list)
    worlds: list[Declaration[WorldSpec]] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    """Names in documents of which nothing is left, but their errors."""

    def add(self, node: Node, source: str, diagnostics: Diagnostics) -> None:
        """Add one document; reports E30x."""
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
        elif (name := node.at(kind)) is not None:
            self.rejected.append(str(name.value))


def _kind(node: Node, diagnostics: Diagnostics) -> str | None:
    kinds = "one of the keys 'component', 'enum' and 'world'"
    if not isinstance(node.value, dict):
        diagnostics.add("E301", f"a schema is a mapping with {kinds}", node.mark)
        return None
    kind_names = [kind for kind in node.keys if kind in KINDS]
    if len(kind_names) == 1:
        return kind_names[0]
    if kind_names:
        first, second, *_ = kind_names
        line = node.keys[first].line
        message = f"{quote(second)} in a document that is a {first} by line {line}"
        diagnostics.add("E301", message, node.keys[second], hint="separate them by '---'")
        return None
    if node.complete:
        first_key = next(iter(node.keys), "")
        mark = node.keys.get(first_key, node.mark)
        hints = (did_you_mean(key, KINDS) for key in node.keys)
        hint = next((hint for hint in hints if hint), "")
        diagnostics.add("E301", f"the document declares nothing: it needs {kinds}", mark, hint=hint)
    return None


class NameRegistry:
    """Names that must be different from each other."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._taken: dict[str, tuple[str, str, Mark]] = {}
        self._reported: set[tuple[Mark, Mark]] = set()

    def register(self, name: str, what: str, mark: Mark) -> bool:
        """Take a name for `what`; reports E103 if it is taken, in upper or lower case."""
        folded = name.casefold()
        if folded not in self._taken:
            self._taken[folded] = name, what, mark
            return True
        taken, holder, first = self._taken[folded]
        if (mark, first) in self._reported:  # two components derive several names
            return False
        self._reported.add((mark, first))
        where = f"line {first.line}" if first.path == mark.path else first.place
        differ = "" if taken == name else f" as {quote(taken)}, which differs in case only,"
        message = f"the name {quote(name)} of {what} is taken{differ} by {holder} on {where}"
        self._diagnostics.add("E103", message, mark)
        return False
