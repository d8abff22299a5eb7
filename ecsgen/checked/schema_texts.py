"""Texts of the schemas with their places: steps, conditions and expressions, and the values that
their parts had."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from ecsgen_testing.reference import run
from ecsgen_testing.reference.schema import Kernel as ReferenceKernel
from ecsgen_testing.reference.schema import Reduction as ReferenceReduction
from ecsgen_testing.reference.schema import Schema
from ecsgen_testing.reference.scopes import Expression, Scope
from ecsgen_testing.reference.values import Value

from ecsgen.checked.findings import check_kinds
from ecsgen.config import Options, UsageError, load_options
from ecsgen.diagnostics import Diagnostic, Diagnostics, format_text
from ecsgen.files.output_paths import schema_digests
from ecsgen.kernels.parsing import KernelError, SourceText
from ecsgen.model import Kernel, Mark, Project, Reduction
from ecsgen.model.reference_schema import make_reference_schema
from ecsgen.schema import find, load, read_declarations
from ecsgen.schema.assembly import assemble
from ecsgen.schema.policy_keys import apply_defaults
from ecsgen.source.yaml_nodes import Node

_ALLOWED: Final = re.compile(r"#\s*allow:([\w ]*)")
UNREAD: Final = Value("", None)
"""The value of a part that a statement has not worked out."""
_WHEN: Final = "when"
"""The path of a pause's condition."""


Order: TypeAlias = tuple[tuple[int, int, int, int], ...]
"""Sorts parts from left to right, what is within another before it."""


class Operand:
    """A part of a statement, and the last value that it had."""

    __slots__ = ("asked", "expression", "value")

    def __init__(self, expression: Expression, asked: str = "") -> None:
        """`asked`: the neighbourhood within a question."""
        self.expression, self.value, self.asked = expression, expression.sample, asked

    @property
    def kept(self) -> Expression:
        """The expression, which leaves its value here."""
        evaluate = self.expression.evaluate

        def keep(scope: Scope) -> Value:
            self.value = result = evaluate(scope)
            return result

        return replace(self.expression, evaluate=keep)

    def read(self, scope: Scope) -> Value:
        """Return the value, worked out if it is not."""
        return self.expression.evaluate(scope) if self.value is UNREAD else self.value


class Statement:
    """A step, the head of one, or an expression of a schema."""

    def __init__(
        self,
        text: SourceText,
        node: ast.stmt | ast.expr,
        diagnostics: Diagnostics,
        outer: Statement | None = None,
    ) -> None:
        """`outer`: the statement in whose block it is."""
        self.text, self.node, self.outer = text, node, outer
        self._diagnostics = diagnostics
        self.parts: dict[ast.AST, Operand] = {}
        """All that it works out, constants too."""
        self.calls: set[ast.AST] = set()
        """Questions, draws and other calls that traces show as one value."""
        self.read_at: Order = ()
        """The place in another statement where a derived value is read."""

    @property
    def head(self) -> ast.stmt | ast.expr:
        """The last expression of the head of a statement with a block, or all of another one."""
        match self.node:
            case ast.If(test) | ast.While(test):
                return test
            case ast.For(iter=around):
                return around
        return self.node

    @property
    def loops(self) -> Iterator[tuple[str, str]]:
        """The loops over neighbours around it: the name there, and the neighbourhood."""
        match self.outer and self.outer.node:
            case ast.For(ast.Name(name), ast.Name(near)):
                yield name, near
        if self.outer is not None:
            yield from self.outer.loops

    @property
    def target(self) -> ast.AST:
        """The target of an assignment or a message; of another statement all of it."""
        match self.node:
            case ast.Assign([target]) | ast.AugAssign(target):
                return target
        return self.node

    @cached_property
    def shown(self) -> str:
        """The text: of a statement with a block its head."""
        if isinstance(self.node, ast.stmt):
            return self.text.line_of(self.node)
        return " ".join(self.text.content.split())

    def part(self, node: ast.AST) -> str:
        """Return the text of a node on one line, as written."""
        content = self.text.content.strip()
        if not isinstance(self.node, ast.stmt):
            content = content.replace("\n", " ")
        return " ".join((ast.get_source_segment(content, node) or ast.unparse(node)).split())

    def mark(self, node: ast.AST) -> Mark:
        """Return the place of a node."""
        return self.text.place(node, self._diagnostics)

    def order(self, node: ast.AST) -> Order:
        """Return what sorts a part among all that a step works out."""
        assert isinstance(node, ast.expr | ast.stmt)
        ends = node.end_lineno or 0, node.end_col_offset or 0
        return (*self.read_at, (*ends, -node.lineno, -node.col_offset))

    def source(self, mark: Mark) -> str:
        """Return the line of the schema at a mark."""
        return self._diagnostics.line(mark) or ""

    @cached_property
    def allowed(self) -> frozenset[str]:
        """Kinds of findings that a comment on the statement's last line exempts."""
        head = self.head
        line, column = head.end_lineno or 1, max(head.end_col_offset or 1, 1)
        last = ast.Name(
            "", lineno=line, end_lineno=line, col_offset=column - 1, end_col_offset=column
        )
        return frozenset(allowed_kinds(self.source(self.mark(last))))

    # Values of its parts

    @cached_property
    def operands(self) -> dict[ast.AST, Operand]:
        """The parts that are no constants."""
        return {n: part for n, part in self.parts.items() if not part.expression.is_constant}

    def begin(self) -> None:
        """Forget what parts were for another row, or at another time."""
        for operand in self.operands.values():
            operand.value = UNREAD

    def values(
        self, node: ast.AST, nodes: Iterable[ast.AST] | None, scope: Scope
    ) -> dict[str, Any]:
        """Return the values of the names in a part, or of other nodes, by their text. Of neighbours
        of whom a question within it was asked there is no one value."""
        asked, values = self.parts[node].asked if node in self.parts else "", {}
        for part in _named_parts(node) if nodes is None else nodes:
            operand = self.operands.get(part)
            met = () if operand is None else (operand.asked, "offset", "distance", "link")
            if operand is None or (operand.asked != asked and _root_of(part) in met):
                continue
            try:
                values[self.part(part)] = plain(operand.read(scope))
            except KeyError:  # a local that no step has set
                continue
        return values


def _named_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the names, and what is read by a dot, from left to right."""
    if _root_of(node):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _named_parts(child)


def _root_of(node: ast.AST) -> str:
    """Return the first name of a path with dots; "" for what is none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def filled(node: ast.AST, text_of: Callable[[ast.AST], str | None]) -> str:
    """Return the text of a node with other texts in the place of some of its parts."""

    def fill(part: Any) -> Any:
        if isinstance(part, list):
            return [*map(fill, part)]
        if not isinstance(part, ast.AST):
            return part
        text = text_of(part)
        if text is not None:
            return ast.Name(text)
        return type(part)(**{name: fill(child) for name, child in ast.iter_fields(part)})

    return ast.unparse(fill(node))


def allowed_kinds(line: str) -> tuple[str, ...]:
    """Return the kinds of findings that a comment of a line exempts."""
    return tuple(kind for words in _ALLOWED.findall(line) for kind in words.split())


def plain(value: Value) -> Any:
    """Return a value as Python's number, or list of them; a time as numpy's."""
    cells = value.data
    if value.kind in "mM" and not value.shape:
        return np.asarray(cells)[()]
    return cells.tolist() if hasattr(cells, "tolist") else cells


@dataclass(frozen=True)
class _Assignment(SourceText):
    """Assignment of a schedule's entry, `set` = `to`, which have places of their own."""

    set: SourceText
    to: SourceText

    def place(self, node: ast.AST, diagnostics: Diagnostics) -> Mark:
        """Return the mark of a node; of the whole assignment that of the value."""
        if not isinstance(node, ast.expr):
            return self.to.mark
        begin, end = node.col_offset, node.end_col_offset or 0
        shift = len(f"{self.set.content} = ".encode())
        text = self.to if begin >= shift else self.set
        shift = shift if text is self.to else 0
        at = ast.Name("", lineno=1, col_offset=begin - shift, end_lineno=1)
        at.end_col_offset = end - shift
        return text.place(at, diagnostics)


class SchemaTexts:
    """The schemas of a package: as the interpreter has them, and where their texts stand."""

    def __init__(self, project: Project, diagnostics: Diagnostics, options: Options) -> None:
        self.project, self.diagnostics, self.options = project, diagnostics, options
        self.schema = schema = Schema(make_reference_schema(project))
        kernels = [schema.kernels, *(part.kernels for part in schema.components.values())]
        self.kernels = {kernel.name: kernel for each in kernels for kernel in each.values()}
        """All kernels by name: `Boid.steer`, of the world `drift`."""
        self.reductions = {
            f"{name}.{own_name}": reduction
            for name, component in schema.components.items()
            for own_name, reduction in component.reductions.items()
        }
        """All reductions by name: `Person.ill`."""
        self.source_of: dict[ast.AST, SourceText] = {}
        """The texts of steps, conditions and expressions, by their syntax trees."""
        for component in project.components:
            known = schema.components[component.name]
            self._add_kernels(known.kernels, component.kernels)
            self._add_reductions(known.reductions, component.reductions)
            for value in component.derived:
                self._add(known.derived[value.name], value.expression, value.mark)
        self._add_kernels(schema.kernels, project.world.kernels)
        for table in project.world.records:
            known_table = schema.tables[table.name]
            self._add_reductions(known_table.columns, table.columns)
            if known_table.rows is not None:
                self._add(known_table.rows.where, table.where, table.marks.get("where"))
            for name, values in known_table.fields.items():
                self._add(values.value, values.text, table.marks[f"fields.{name}"])
        self.assignments = dict(self._assignments())
        """Of settings, by entries of schedules, by their names."""

    def _add(self, node: ast.expr | None, content: str, mark: Mark | None) -> None:
        """Take note of the text of a condition or expression, if there is one."""
        if node is not None and mark is not None:
            self.source_of[node] = SourceText(content, mark)

    def _add_kernels(
        self, kernels: Mapping[str, ReferenceKernel], written: Iterable[Kernel]
    ) -> None:
        for each in written:
            kernel, marks = kernels[each.name], each.marks
            self._add(kernel.turns_by, str(each.turns_of), marks.get("turns.of"))
            self._add(kernel.where, each.where, marks.get("where"))
            contents = enumerate(each.steps)
            self._add_steps(kernel, [SourceText(c, marks[f"steps.{k}"]) for k, c in contents])

    def _add_steps(self, kernel: ReferenceKernel, texts: Iterable[SourceText]) -> None:
        """Give a kernel steps that know their texts."""
        kernel.steps = []
        for text in texts:
            body = text.steps()
            self.source_of |= dict.fromkeys(body, text)
            kernel.steps += body

    def _add_reductions(
        self, reductions: Mapping[str, ReferenceReduction], written: Iterable[Reduction]
    ) -> None:
        for each in written:
            reduction, marks = reductions[each.name], each.marks
            self._add(reduction.value, each.expression, marks.get("expression"))
            self._add(reduction.where, each.where, marks.get("where"))

    def _assignments(self) -> Iterator[tuple[str, ReferenceKernel]]:
        marks = self.project.world.marks
        for schedule, entries in self.project.world.schedules:
            for number, entry in enumerate(entries):
                if entry.assignment is None:
                    continue
                path = f"schedule.{schedule}.{number}"
                part = SourceText(entry.set.strip(), marks[f"{path}.set"])
                to = SourceText(" ".join(entry.to.strip().split("\n")), marks[f"{path}.to"])
                content = f"{part.content} = {to.content}"
                kernel = run.setter(schedule, part.content, to.content)
                self._add_steps(kernel, [_Assignment(content, to.mark, part, to)])
                yield entry.assignment.name, kernel

    def statement(self, node: ast.stmt | ast.expr, outer: Statement | None = None) -> Statement:
        """Return a step, a condition or an expression; `outer`: the statement in whose block it
        is."""
        text = self.source_of[node] if outer is None else outer.text
        return Statement(text, node, self.diagnostics, outer)


def read_schemas(schemas: Path | str | None) -> tuple[SchemaTexts, Mapping[str, str]]:
    """Return the schemas that `ecsgen build` takes here, or those of a folder, and their digests.

    Raises FileNotFoundError if there are none, ValueError for errors in them and for unknown kinds
    behind `# allow:`.
    """
    try:
        options = load_options(schemas=None if schemas is None else Path(schemas))
    except UsageError as error:
        raise ValueError(str(error)) from None
    digests = schema_digests(options.schemas)
    if not digests:
        folders = ", ".join(str(root.path) for root in options.schemas)
        raise FileNotFoundError(f"there are no schemas in {folders}: name their folder")
    diagnostics = Diagnostics()
    project = load(options.schemas, diagnostics, options.defaults, options.is_parallel)
    if project is None:
        raise ValueError(f"the schemas have errors:\n{format_text(diagnostics)}")
    for file in (file for root in options.schemas for _, file in root.files()):
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
            check_kinds(allowed_kinds(line), f"{file}:{number}: allow")
    return SchemaTexts(project, diagnostics, options), digests


# Conditions of pauses

Loop: TypeAlias = tuple[str, str]
"""The neighbour's name in a loop, and the neighbourhood's."""


class Condition(NamedTuple):
    """A condition that can be asked in the steps of a kernel."""

    node: ast.expr
    loops: Sequence[Collection[Loop]]
    """Loops within which its names are known: all of one of these."""


def parsed_condition(
    text: str, kernel: str, texts: SchemaTexts, locals: Mapping[str, str]
) -> Condition:
    """Return a condition that the steps of a kernel may ask; `locals`: their types by name. Raises
    ValueError with the diagnostic for what is none."""
    source = SourceText(text, Mark(_WHEN, 1, 1, len(text)))
    diagnostics = Diagnostics()
    diagnostics.add_source(_WHEN, text)
    try:
        node = source.expression()
    except KernelError as error:
        source.report(error, diagnostics)
        raise ValueError(format_text(diagnostics).strip()) from None
    known = []
    for loops in _possible_loops(texts.schema.kernel(kernel), node):
        wrong = _faults(text, loops, kernel, texts, locals)
        if not wrong:
            known.append(loops)
    if not known:
        for entry, column in wrong:
            mark = Mark(_WHEN, 1, column, entry.mark.length)
            diagnostics.add(entry.code, entry.message, mark, hint=entry.hint)
        raise ValueError(format_text(diagnostics).strip())
    return Condition(node, known)


def _possible_loops(kernel: ReferenceKernel, node: ast.expr) -> Iterator[Collection[Loop]]:
    """Yield the loops of a kernel whose neighbours a condition may name: none, or one of each
    name."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    loops: dict[str, dict[Loop, None]] = {}
    for step in kernel.steps:
        for part in ast.walk(step):
            match part:
                case ast.For(ast.Name(name), ast.Name(near)) if name in names:
                    loops.setdefault(name, {})[name, near] = None
    yield ()
    if loops:
        yield from itertools.product(*loops.values())


def _faults(
    text: str,
    loops: Collection[Loop],
    kernel: str,
    texts: SchemaTexts,
    locals: Mapping[str, str],
) -> list[tuple[Diagnostic, int]]:
    """Return what is wrong with a condition, and the columns: read the schemas anew, in which the
    kernel asks nothing else, within the loops, and locals are arguments."""
    home, _, name = kernel.rpartition(".")
    lines = [f"for {name} in {near}:" for name, near in loops] + [f"if ({text}", "):", " pass"]
    depths = [*range(len(loops) + 1), len(loops), len(loops)]
    block = "\n".join(" " * depth + line for depth, line in zip(depths, lines, strict=True))
    diagnostics, source = Diagnostics(), SourceText(block, Mark(_WHEN, 1, 1, len(block)))
    diagnostics.add_source(_WHEN, block)

    def ask(document: Node) -> None:
        declared = document.at("component") or document.at("world")
        is_home = declared is not None and home in ("", declared.value)
        if is_home and (node := document.at("kernels", name)) is not None:
            _ask(node, source, locals)

    files = [file for root in texts.options.schemas for file in find(root, diagnostics)]
    drafts = read_declarations(files, diagnostics, ask)
    apply_defaults(drafts, texts.options.defaults)
    assemble(drafts, diagnostics)
    shift = len(loops) + len("if (")
    return [(d, max(d.mark.column - shift, 1)) for d in diagnostics if d.mark.path == _WHEN]


def _ask(kernel: Node, source: SourceText, locals: Mapping[str, str]) -> None:
    """Leave a kernel nothing but the condition to ask."""
    assert isinstance(kernel.value, dict)
    kernel.value["steps"] = Node(source.content, source.mark)
    args = kernel.value.setdefault("args", Node({}, kernel.mark))
    assert isinstance(args.value, dict)
    args.value |= {name: Node(text, kernel.mark) for name, text in locals.items()}
    args.keys |= dict.fromkeys(locals, kernel.mark)
