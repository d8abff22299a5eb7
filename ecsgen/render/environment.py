"""The jinja2 environment: where templates are, and the few filters they need."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.runtime import Context
from jinja2.utils import pass_context

from ecsgen.render.calls import call, collection, disjunction
from ecsgen.render.quoting import WIDTH, comment_text, docstring_text, literal

NOTHING = "\0"
"""Stands alone on a line where no feature has anything to say; the line goes."""
PACKAGE = Path(__file__).resolve().parent.parent


def template_folder() -> Path:
    """Return the templates' folder: beside the package in a checkout, else inside it."""
    inside = PACKAGE / "templates"
    return inside if inside.is_dir() else PACKAGE.parent / "templates"


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
        loader=FileSystemLoader(template_folder()),
        bytecode_cache=_bytecode_cache(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Python, not HTML; schema text only comes through the filters below
    )
    env.filters |= {"doc": doc, "comment": comment_text, "literal": literal, "around": around}
    env.filters["graver_than_values"] = graver_than_values
    env.tests |= {"nothing": is_nothing, "naming": is_naming}
    env.globals |= {"call": call, "collection": collection, "disjunction": disjunction}
    return env


def is_nothing(text: str) -> bool:
    """Whether a step's text is the mark that no feature has anything to say."""
    return text.strip() == NOTHING


def is_naming(text: str, name: str) -> bool:
    """Whether code mentions a name."""
    return re.search(rf"\b{name}\b", text) is not None


def doc(text: str, indent: int = 0) -> str:
    """Return schema text for a docstring whose lines stand `indent` columns in."""
    return docstring_text(text, WIDTH - indent - 3).replace("\n", "\n" + " " * indent)


def graver_than_values(body: str, graver: str) -> str:
    """Let statements that check values give way to a graver error, where a feature names one."""
    if not body or is_nothing(graver):
        return body
    inner = "".join(f"    {line}" if line.strip() else line for line in body.splitlines(True))
    return f"        try:\n{inner}        except Exception:\n{graver}\n            raise\n"


@pass_context
def around(context: Context, body: str) -> str:
    """Wrap a method's body in the `with` statements that the active features ask for."""
    for header in context["step"]("around", 0).splitlines():
        if not header.startswith("with"):  # no feature asks for one
            continue
        pad = re.match(" *", body).group()  # type: ignore[union-attr]  # matches always
        inner = "".join(f"    {line}" if line.strip() else line for line in body.splitlines(True))
        body = f"{pad}{header}\n{inner}"
    return body
