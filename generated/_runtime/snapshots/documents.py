"""JSON from files that anybody may have written."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from ..convert.arrays import shown
from ..errors import SnapshotError
from .saved import refusal


def refuse(file: str, why: str, tensor: str = "") -> NoReturn:
    """Raise SnapshotError for a file of this name."""
    raise SnapshotError(refusal(file, why, tensor))


def parsed_json(text: str, what: str, file: str) -> Any:
    """Return what a JSON text says; O(len(text)).

    Raises SnapshotError, which says `what` it is of, for what is no JSON (NaN and infinities among
    it), names that are there twice, floats beyond their range, integers of thousands of digits, and
    brackets that are nested too deep.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            refuse(file, f"{what}: {shown(_repeated(pairs))} is there twice")
        return found

    def finite(digits: str) -> float:
        number = float(digits)
        if number - number != 0:
            refuse(file, f"{what}: {shown(digits)} is beyond the range of floats")
        return number

    def constant(name: str) -> NoReturn:
        refuse(file, f"{what}: {name} is no JSON")

    try:
        return json.loads(
            text,
            object_pairs_hook=once,
            parse_float=finite,
            parse_constant=constant,
        )
    except SnapshotError:
        raise
    except json.JSONDecodeError as error:
        why = f"{what}: no JSON: {error.msg} at character {error.pos}"
    except RecursionError:
        why = f"{what}: brackets are nested too deep"
    except ValueError:
        why = f"{what}: an integer has too many digits"
    refuse(file, why)


def _repeated(pairs: list[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            break
        seen.add(name)
    return name
