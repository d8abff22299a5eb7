"""Which classes and constants generated modules may name: no component can be called so.

    python -m ecsgen.render.reserved

renews `ecsgen/schema/taken.py`, which has them as a table: `ecsgen validate` reads neither the
runtime nor templates for it.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import ecsgen
from ecsgen import policies
from ecsgen.render.environment import template_folder
from ecsgen.render.imports import NUMPY, PACKAGE, STANDARD
from ecsgen.render.package import DRAWING, EXPORTED, LATE, SPACED
from ecsgen.render.runtime import COMPILED, RUNTIME, origins

SOURCES = Path(ecsgen.__file__).parent
TABLE = SOURCES / "schema" / "taken.py"
SPELLING = ("render", "policies", "world_features")
"""Where the generator's Python has words of generated code."""
OF_EVERY_PACKAGE = ("EntityManager", "EntityView", "Signature", "World")
ENUM_BASES = ("IntEnum", "IntFlag")

DEFINED = "what their runtime defines"
FOLDERS = {
    "archetypes": f"{DEFINED} for archetypes",
    **dict.fromkeys(
        ("groups", "queries", "world"), f"{DEFINED} for worlds, groups, signatures and queries"
    ),
    "proxies": f"{DEFINED} for one row or entity at a time",
}

_TEXT = re.compile(r'{#.*?#}|""".*?"""', re.DOTALL)
_SENTENCE = re.compile(r"^[A-Z][a-z]+ (?=[a-z])")
_WORD = re.compile(r"\w+")

HEADING = '''\
"""The classes and constants that generated modules name, by where these are from.

Made by `python -m ecsgen.render.reserved`; a test says when it has to be made again.
"""

from __future__ import annotations

from typing import Final

'''


def class_names() -> dict[str, frozenset[str]]:
    """Return the table: where names are from, and which they are."""
    chunked = {name for name, module in PACKAGE.items() if module == ".archetypes"}
    imported = {name for name in (*STANDARD, *NUMPY, *PACKAGE, *ENUM_BASES) if not name.islower()}
    found = {
        "what the package exports": frozenset(
            (*EXPORTED, *LATE, *DRAWING, *SPACED, *OF_EVERY_PACKAGE, *chunked)
        ),
        "what its modules import": frozenset(imported - chunked),
    }
    for name, module in _of_the_runtime().items():
        folder = PurePosixPath(module.replace(".", "/")).parts[2]
        group = FOLDERS.get(folder, DEFINED)
        found[group] = found.get(group, frozenset()) | {name}
    exported = found["what the package exports"]
    return {
        group: names if names is exported else names - exported
        for group, names in sorted(found.items(), key=_in_order)
    }


def _in_order(group: tuple[str, object]) -> tuple[int, str]:
    """What users see comes first."""
    return ("exports" not in group[0]) + (DEFINED in group[0]), group[0]


def _of_the_runtime() -> dict[str, str]:
    """Return the classes and constants that generated modules can name, and their modules.

    Bases of managers and their rows give way to components of their name, as aliases.
    """
    aliased = {name for policy in policies.every() for name in (policy.base, policy.rows)}
    named = set(_words()) - aliased
    places = {**origins(COMPILED), **origins(RUNTIME)}
    return {name: places[name] for name in places.keys() & named if not name.islower()}


def _words() -> Iterator[str]:
    """Give the words of templates and of the texts in the generator, prose left out."""
    for path in template_folder().rglob("*.j2"):
        yield from _WORD.findall(_TEXT.sub("", path.read_text(encoding="utf-8")))
    for folder in SPELLING:
        for path in (SOURCES / folder).rglob("*.py"):
            nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
            for node in nodes:
                if isinstance(node, ast.Constant) and id(node) not in prose:
                    yield from _WORD.findall(_SENTENCE.sub("", str(node.value)))


def table_text() -> str:
    """Return the module that has the table."""
    groups = []
    for group, names in class_names().items():
        listed = textwrap.fill(" ".join(sorted(names)), 91)
        groups.append(f'    "{group}": """\n{textwrap.indent(listed, " " * 8)}\n    """,\n')
    return f"{HEADING}CLASS_NAMES: Final = {{\n{''.join(groups)}}}\n"


if __name__ == "__main__":
    TABLE.write_text(table_text(), encoding="utf-8", newline="\n")
