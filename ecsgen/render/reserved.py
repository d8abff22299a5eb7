"""Which names packages export, and which words generated code has: two tables.

    python -m ecsgen.render.reserved

renews `ecsgen/schema/taken.py` and `ecsgen/render/naming/words.py`: `ecsgen validate` reads neither
the runtime nor templates for the former, and for the latter it would take a second.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from ecsgen_runtime.package import EXPORTED, SOME_EXPORT

import ecsgen
from ecsgen.render.environment import template_folder
from ecsgen.render.imports import PACKAGE

SOURCES = Path(ecsgen.__file__).parent
TAKEN = SOURCES / "schema" / "taken.py"
WORDS = SOURCES / "render" / "naming" / "words.py"
SPELLING = ("render", "policies", "world_features")
"""Where the generator's Python has words of generated code."""
OF_WORLDS = ("EntityManager", "EntityView", "Signature", "World")

_TEXT = re.compile(r'{#.*?#}|""".*?"""', re.DOTALL)
_SENTENCE = re.compile(r"^[A-Z][a-z]+ (?=[a-z])")
_WORD = re.compile(r"[^\W\d]\w*", re.ASCII)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")

_HEADING = '''\
"""{about}

Made by `python -m ecsgen.render.reserved`; a test says when it has to be made again.
"""

from __future__ import annotations

from typing import Final

{name}: Final = """
{words}
"""
'''


def exported() -> frozenset[str]:
    """Return what packages export whatever their schemas say."""
    chunked = {name for name, module in PACKAGE.items() if module == ".archetypes"}
    tables = (*EXPORTED.values(), *(SOME_EXPORT[module] for module in (".draws", ".spaces.spaced")))
    return frozenset((*" ".join(tables).split(), *OF_WORLDS, *chunked))


def own_words() -> frozenset[str]:
    """Return in lower case the words of generated code, and what these may be made of: names that
    are none of them meet nothing there."""
    words = {*_words(), *vars(builtins)}
    return frozenset(made for word in words for made in _beginnings(word))


def _beginnings(word: str) -> Iterator[str]:
    """Yield a name, and what it begins with, for some are made of a field's: `_mass_column`."""
    plain = word.strip("_")
    ends = [found.start() for found in _HUMP.finditer(plain) if found.start()]
    for end in [*ends, len(plain)]:
        yield plain[:end].lower()


def _words() -> Iterator[str]:
    """Give the words of templates and of the texts in the generator, prose left out."""
    for path in template_folder().rglob("*.j2"):
        yield from _WORD.findall(_TEXT.sub("", path.read_text(encoding="utf-8")))
    for folder in SPELLING:
        for path in (SOURCES / folder).rglob("*.py"):
            if path != WORDS:
                yield from _texts(ast.parse(path.read_text(encoding="utf-8")))


def _texts(tree: ast.Module) -> Iterator[str]:
    nodes = list(ast.walk(tree))
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and id(node) not in prose:
            yield from _WORD.findall(_SENTENCE.sub("", str(node.value)))


def tables() -> dict[Path, str]:
    """Return the modules that have the tables, by where they are."""
    names = _HEADING.format(
        about="What packages export whatever their schemas say.",
        name="EXPORTED",
        words=_listed(exported()),
    )
    words = _HEADING.format(
        about="The words of generated code in lower case: what names of schemas may meet.",
        name="OWN_WORDS",
        words=_listed(own_words()),
    )
    return {TAKEN: names, WORDS: words}


def _listed(words: frozenset[str]) -> str:
    return textwrap.fill(" ".join(sorted(filter(None, words))), 99, break_on_hyphens=False)


if __name__ == "__main__":
    for table, text in tables().items():
        table.write_text(text, encoding="utf-8", newline="\n")
