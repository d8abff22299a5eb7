"""Conditions of pauses, checked like those of the kernel in whose steps they are asked."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Final

from ecsgen.checked.schema_texts import SchemaTexts
from ecsgen.diagnostics import Diagnostics, format_text
from ecsgen.kernels.parsing import KernelError, SourceText
from ecsgen.model import Mark
from ecsgen.schema import find, read_declarations
from ecsgen.schema.assembly import assemble
from ecsgen.schema.policy_keys import apply_defaults
from ecsgen.source.yaml_nodes import Node

_PATH: Final = "when"


def parsed_condition(
    text: str, kernel: str, texts: SchemaTexts, locals: Mapping[str, str]
) -> ast.expr:
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
    else:
        _check(source, kernel, texts, locals, diagnostics)
    wrong = diagnostics.without_entries()
    for entry in diagnostics:
        if entry.mark.path == _PATH:
            wrong.add(entry.code, entry.message, entry.mark, hint=entry.hint)
    if wrong:
        raise ValueError(format_text(wrong).strip())
    return node


def _check(
    source: SourceText,
    kernel: str,
    texts: SchemaTexts,
    locals: Mapping[str, str],
    diagnostics: Diagnostics,
) -> None:
    """Report what is wrong with a condition: read the schemas anew, in which it is the kernel's
    `where`, and locals are arguments."""
    home, _, name = kernel.rpartition(".")

    def ask(document: Node) -> None:
        declared = document.at("component") or document.at("world")
        is_home = declared is not None and home in ("", declared.value)
        if is_home and (node := document.at("kernels", name)) is not None:
            _ask(node, source, locals)

    files = [file for root in texts.options.schemas for file in find(root, diagnostics)]
    drafts = read_declarations(files, diagnostics, ask)
    apply_defaults(drafts, texts.options.defaults)
    assemble(drafts, diagnostics)


def _ask(kernel: Node, source: SourceText, locals: Mapping[str, str]) -> None:
    """Leave a kernel nothing but the condition to ask."""
    assert isinstance(kernel.value, dict)
    steps = Node([Node("pass", kernel.mark)], kernel.mark)
    kernel.value |= {"where": Node(source.content, source.mark), "steps": steps}
    kernel.keys["where"] = source.mark
    args = kernel.value.setdefault("args", Node({}, kernel.mark))
    assert isinstance(args.value, dict)
    args.value |= {name: Node(text, kernel.mark) for name, text in locals.items()}
    args.keys |= dict.fromkeys(locals, kernel.mark)
