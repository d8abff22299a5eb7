"""Generated code gives way: what it names itself is called otherwise where a schema's name is met.

Only in the modules where that is so. A builtin or what is imported gets another name there:
`from builtins import range as _range`; parameters and local names begin with an underscore.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ecsgen.render.calls import import_line
from ecsgen.render.naming.scopes import meetings, scopes_of, unbound
from ecsgen.render.naming.stand_ins import plain
from ecsgen.render.output import Output

_PIECE = re.compile(
    r"""(\w*"{3}.*?"{3}|\w*"(?:\\.|[^"\\\n])*"|\w*'(?:\\.|[^'\\\n])*'|\#[^\n]*"""
    r"""|^[ ]*from[ ]\S+[ ]import[ ](?:\([^)]*\)|[^\n]*)|^import[ ]\S+[ ]as[ ]\w+$)""",
    re.DOTALL | re.MULTILINE,
)
"""What is no code to rename in: strings and comments, and imports, which name what they take."""
_FROM = re.compile(r"( *)from (\S+) import (.*)", re.DOTALL)
_REPLACED = re.compile(r"(?<=\{)[^{}!:]+")
_WORD = re.compile(r"(?<![\w.])[^\W\d]\w*")
_NAME = re.compile(r"(?<![\w.])(?<!def )(?<!class )[^\W\d]\w*\b(?!=(?!=))")
_STANDARD = re.compile(r"(?:import|from) (?!numpy|numba|hypothesis|pytest|\.)")
_FUTURE = "from __future__ import annotations\n\n"


def spoken(output: Output, stood: Output, kept: frozenset[str]) -> Output:
    """Return an output that gives way, from it and the same with stand-ins.

    `kept`: names without a stand-in that are no less a schema's.
    """
    if output.key == stood.key:
        return output
    return replace(output, make=partial(_made, output.make, stood.make, kept))


def _made(make: partial[str], make_stood: partial[str], kept: frozenset[str]) -> str:
    """Return the module; without a meeting the stand-ins change no more than the order of lines,
    unless imports took a schema's name for one of the code's own."""
    stood = make_stood()
    made = given_way(stood, kept)
    if made is not None:
        return made
    made, named = make(), plain(stood)
    return made if sorted(made.splitlines()) == sorted(named.splitlines()) else named


def given_way(text: str, kept: frozenset[str]) -> str | None:
    """Return a module with stand-ins as it is with names; None if no name meets the code's own."""
    words = set(_WORD.findall(text))
    if not any(word != plain(word) and plain(word) in words for word in words):
        return None
    scopes = scopes_of(text)
    meeting = {name for name in meetings(scopes, plain) if plain(name) == name} - kept
    if not meeting:
        return None
    taken = {plain(name) for scope in scopes for name in scope.bound | scope.used}
    aliases = {name: _free(name, taken) for name in sorted(meeting)}
    pieces = enumerate(_PIECE.split(text))
    code = "".join(_piece(piece, number % 2 == 1, aliases) for number, piece in pieces)
    if "super" in aliases:
        code = _with_classes(code, aliases["super"], aliases.get("self", "self"))
    found = unbound(scopes)
    return plain(_with_builtins(code, {n: aliases[n] for n in aliases if n in found}))


def _with_classes(code: str, called: str, own: str) -> str:
    """Return code that tells `super` under another name its class, as Python does for `super()`."""
    here = ""

    def told(found: re.Match[str]) -> str:
        nonlocal here
        if found[1]:
            here = found[1]
            return found[0]
        return f"{called}({here}, {own}){found[2]}  # type: ignore[misc]"

    return re.sub(rf"^class (\w+)|\b{called}\(\)(.*)", told, code, flags=re.MULTILINE)


def _free(name: str, taken: set[str]) -> str:
    """Return another name, which is not taken."""
    other = f"{name}_" if name.startswith("_") else f"_{name}"
    while other in taken:
        other += "_"
    return other


def _piece(piece: str, is_apart: bool, aliases: Mapping[str, str]) -> str:
    """Return code with other names; of strings, what is put into them; of imports, `as` those."""
    if not is_apart:
        return _NAME.sub(lambda found: aliases.get(found[0], found[0]), piece)
    if piece.startswith(('f"', "f'")):
        return _REPLACED.sub(lambda found: _piece(found[0], False, aliases), piece)
    if piece.startswith("import "):
        head, _, name = piece.rpartition(" ")
        return f"{head} {aliases.get(name, name)}"
    imported = _FROM.fullmatch(piece)
    return piece if imported is None else _imported(imported, aliases)


def _imported(statement: re.Match[str], aliases: Mapping[str, str]) -> str:
    """Return an import, with a statement of its own for each name that is called otherwise."""
    indent, module = statement[1], statement[2]
    given = [name.strip() for name in statement[3].strip("()\n ").split(",")]
    bound = {name: name.rpartition(" ")[2] for name in given if name}
    kept = [name for name, here in bound.items() if here not in aliases]
    lines = [import_line(module, kept, len(indent))] if kept else []
    lines += [
        f"{indent}from {module} import {name.partition(' ')[0]} as {aliases[here]}"
        for name, here in sorted(bound.items())
        if here in aliases
    ]
    return "\n".join(lines)


def _with_builtins(text: str, aliases: Mapping[str, str]) -> str:
    """Return a module that imports builtins under other names."""
    if not aliases:
        return text
    head, future, body = text.partition(_FUTURE)
    lines = [f"from builtins import {name} as {aliases[name]}\n" for name in sorted(aliases)]
    first = re.match(r"(?:import .*\n)*", body)
    assert first is not None
    end = first.end() if _STANDARD.match(body) else 0
    gap = "" if _STANDARD.match(body) else "\n"
    return f"{head}{future}{body[:end]}{''.join(lines)}{gap}{body[end:]}"
