"""Texts of kernels, reductions and tables with their places in the schemas."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from ecsgen_testing.reference import run
from ecsgen_testing.reference.schema import Kernel as ReferenceKernel
from ecsgen_testing.reference.schema import Schema

from ecsgen.checked.findings import check_kinds
from ecsgen.checked.statements import Statement, allowed_kinds
from ecsgen.config import Options, UsageError, load_options
from ecsgen.diagnostics import Diagnostics, format_text
from ecsgen.files.output_paths import schema_digests
from ecsgen.kernels.parsing import SourceText
from ecsgen.model import Kernel, Mark, Project, Reduction
from ecsgen.model.reference_schema import make_reference_schema
from ecsgen.schema import load


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
        self.schema = Schema(make_reference_schema(project))
        self._source_of: dict[ast.stmt, SourceText] = {}
        self.written: dict[ReferenceKernel, Kernel] = {}
        """Kernels as the schemas have them, by what the interpreter has."""
        for name, kernel in self.kernels.items():
            texts = [
                SourceText(content, kernel.marks[f"steps.{index}"])
                for index, content in enumerate(kernel.steps)
            ]
            self._add(self.schema.kernel(name), kernel, texts)
        self.assignments = [*self._assignments()]
        """Of settings, by entries of schedules."""

    def _add(self, kernel: ReferenceKernel, written: Kernel, texts: Iterable[SourceText]) -> None:
        """Give a kernel steps that know their texts."""
        self.written[kernel], kernel.steps = written, []
        for text in texts:
            body = text.steps()
            self._source_of |= dict.fromkeys(body, text)
            kernel.steps += body

    def _assignments(self) -> Iterator[ReferenceKernel]:
        marks = self.project.world.marks
        for schedule, entries in self.project.world.schedules:
            for number, entry in enumerate(entries):
                if entry.assignment is None:
                    continue
                path = f"schedule.{schedule}.{number}"
                part = SourceText(entry.set.strip(), marks[f"{path}.set"])
                to = SourceText(" ".join(entry.to.strip().split("\n")), marks[f"{path}.to"])
                content = f"{part.content} = {to.content}"
                text = _Assignment(content, marks[f"{path}.to"], part, to)
                kernel = run.setter(schedule, part.content, to.content)
                self._add(kernel, entry.assignment, [text])
                yield kernel

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        """All kernels by name: `Boid.steer`, of the world `drift`."""
        kernels = {kernel.name: kernel for kernel in self.project.world.kernels}
        for component in self.project.components:
            kernels |= {f"{component.name}.{k.name}": k for k in component.kernels}
        return kernels

    @cached_property
    def reductions(self) -> dict[str, Reduction]:
        """All reductions by name: `Person.ill`."""
        return {
            f"{component.name}.{reduction.name}": reduction
            for component in self.project.components
            for reduction in component.reductions
        }

    def statement(self, step: ast.stmt, outer: Statement | None) -> Statement:
        """Return a step; `outer`: the statement in whose block it is."""
        text = self._source_of[step] if outer is None else outer.text
        return Statement(text, step, self.diagnostics, outer)

    def expression(
        self, content: str, marks: Mapping[str, Mark], key: str, node: ast.expr | None
    ) -> Statement | None:
        """Return the expression that a key has, whose syntax tree is given; None without one."""
        if node is None or key not in marks:
            return None
        return Statement(SourceText(content, marks[key]), node, self.diagnostics)

    def derived(self, component: str, name: str, node: ast.expr) -> Statement | None:
        """Return a derived value."""
        values = self.project.by_name[component].derived
        value = next(value for value in values if value.name == name)
        marks = {} if value.mark is None else {"": value.mark}
        return self.expression(value.expression, marks, "", node)


class _Sources(NamedTuple):
    texts: SchemaTexts
    digests: Mapping[str, str]


def read_schemas(schemas: Path | str | None) -> _Sources:
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
    _check_comments(path for root in options.schemas for _, path in root.files())
    return _Sources(SchemaTexts(project, diagnostics, options), digests)


def _check_comments(files: Iterable[Path]) -> None:
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
            check_kinds(allowed_kinds(line), f"{file}:{number}: allow")
