"""The jinja2 environment: where templates are, and the few filters they need."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Mapping
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from types import MappingProxyType

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension

from ecsgen.fingerprint import templates_folder
from ecsgen.render.text.formatting import call, collection, disjunction, tuple_item
from ecsgen.render.text.library_imports import LIBRARY, TESTING
from ecsgen.render.text.module_names import IMPORTS_MARKER, insert_imports
from ecsgen.render.text.name_shadowing import add_class_placeholder, add_placeholder
from ecsgen.render.text.quoting import WIDTH, comment_text, docstring_text, json_literal, literal


def _bytecode_cache() -> FileSystemBytecodeCache | None:
    """Keep compiled templates where Python keeps modules, if it may: half a second."""
    folder = Path(cache_from_source(__file__)).parent
    if sys.dont_write_bytecode or not os.access(folder, os.W_OK):
        return None
    return FileSystemBytecodeCache(str(folder))


@cache
def environment() -> Environment:
    """Return the environment that all templates are made with."""
    env = Environment(
        loader=FileSystemLoader(templates_folder()),
        bytecode_cache=_bytecode_cache(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=[StepTag],
        autoescape=False,  # Python, not HTML; schema text only comes through the filters below
    )
    env.filters |= {
        "doc": doc,
        "comment": comment_text,
        "literal": literal,
        "json_literal": json_literal,
        "deeper": indent_if,
        "marked": add_placeholder,
        "marked_class": add_class_placeholder,
    }
    env.globals |= {"call": call, "collection": collection, "disjunction": disjunction}
    env.globals |= {"tuple_item": tuple_item, "imports_marker": IMPORTS_MARKER}
    env.globals |= {"library": LIBRARY, "testing": TESTING}
    return env


def rendered(template: str, variables: Mapping[str, object]) -> str:
    """Return the text of a template."""
    return environment().get_template(template).render(variables)


def rendered_module(
    template: str,
    variables: Mapping[str, object],
    modules: Mapping[str, str] = MappingProxyType({}),
    imported_as: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the text of a template with its imports, as `insert_imports` does."""
    return insert_imports(rendered(template, variables), modules, imported_as)


def doc(text: str, indent: int = 0) -> str:
    """Return schema text for a docstring whose lines stand `indent` columns in."""
    return docstring_text(text, WIDTH - indent - 3).replace("\n", "\n" + " " * indent)


def indent_if(body: str, around: str) -> str:
    """Return statements one level further in, if something stands around them."""
    return textwrap.indent(body, "    ") if around else body


class StepTag(Extension):
    """A line `{% step name %}`: the text of a step where the tag stands, or nothing at all."""

    _LINE = re.compile(r"^( *)\{% step (\w+) %\}$", re.MULTILINE)

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        # The line break behind a block is dropped, that behind an expression is not.
        return self._LINE.sub(
            lambda tag: f'{{{{ step("{tag[2]}", {len(tag[1])}) }}}}{{% if true %}}{{% endif %}}',
            source,
        )
