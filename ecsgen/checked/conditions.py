"""Conditions of pauses, checked like those of the kernel in whose steps they are asked."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from ecsgen_testing.reference.schema import Kernel

from ecsgen.checked.schema_texts import SchemaTexts
from ecsgen.diagnostics import Diagnostic, Diagnostics, format_text
from ecsgen.kernels.parsing import KernelError, SourceText
from ecsgen.model import Mark
from ecsgen.schema import find, read_declarations
from ecsgen.schema.assembly import assemble
from ecsgen.schema.policy_keys import apply_defaults
from ecsgen.source.yaml_nodes import Node

_PATH: Final = "when"


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
    """Return a condition that the steps of a kernel may ask; `locals`: their types by name.

    Raises ValueError with the diagnostic for what is none.
    """
    source = SourceText(text, Mark(_PATH, 1, 1, len(text)))
    diagnostics = Diagnostics()
    diagnostics.add_source(_PATH, text)
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
            mark = Mark(_PATH, 1, column, entry.mark.length)
            diagnostics.add(entry.code, entry.message, mark, hint=entry.hint)
        raise ValueError(format_text(diagnostics).strip())
    return Condition(node, known)


def _possible_loops(kernel: Kernel, node: ast.expr) -> Iterator[Collection[Loop]]:
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
    diagnostics, source = Diagnostics(), SourceText(block, Mark(_PATH, 1, 1, len(block)))
    diagnostics.add_source(_PATH, block)

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
    return [(d, max(d.mark.column - shift, 1)) for d in diagnostics if d.mark.path == _PATH]


def _ask(kernel: Node, source: SourceText, locals: Mapping[str, str]) -> None:
    """Leave a kernel nothing but the condition to ask."""
    assert isinstance(kernel.value, dict)
    kernel.value["steps"] = Node(source.content, source.mark)
    args = kernel.value.setdefault("args", Node({}, kernel.mark))
    assert isinstance(args.value, dict)
    args.value |= {name: Node(text, kernel.mark) for name, text in locals.items()}
    args.keys |= dict.fromkeys(locals, kernel.mark)
