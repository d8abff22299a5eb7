"""The runs of a sweep: which there are, the seed of each, and one of them done."""

from __future__ import annotations

import itertools
import json
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from enum import Enum
from functools import lru_cache
from math import isnan
from operator import index
from typing import Any, Final, TypeAlias

import numpy as np

from ..errors import shown
from ..kernels.chance import draw_key
from ..typed import NamedTuple
from .results import Column, RecordedLines, Result, cells_column, enum_name, result_of

Model: TypeAlias = Callable[..., Mapping[str, object] | RecordedLines]
Parameters: TypeAlias = Mapping[str, Any] | Iterable[Mapping[str, Any]]
Outcome: TypeAlias = Result | str
"""What a run has given, or the text of what it raised."""
RunKey: TypeAlias = tuple[str, int]
"""Which run it is: the text of its parameters, and the replicate."""

OF_RUNS: Final = ("replicate", "seed")
"""The columns that all tables have."""
_BASIS: Final = 0xCBF2_9CE4_8422_2325
_PRIME: Final = 0x0000_0100_0000_01B3


class Run(NamedTuple):
    """One call of a model that is to be made."""

    given: dict[str, Any]
    """The parameters, as the model gets them."""
    text: str
    """The same as JSON."""
    cells: dict[str, Column | None]
    """And as columns of one line; None for null."""
    replicate: int
    seed: int

    @property
    def key(self) -> RunKey:
        return self.text, self.replicate


def seed_of(seed: int, text: str, replicate: int, common: bool) -> int:
    """Return the seed of a run, which depends on no other: 64 bits of the sweep's seed, of the
    hash of its parameters, unless the seeds are common to all, and of the replicate."""
    return int(draw_key(seed, _hash("" if common else text), replicate + 1))


@lru_cache(maxsize=16)  # replicates follow each other
def _hash(text: str) -> int:
    """Return the FNV-1a of 64 bits."""
    found = _BASIS
    for byte in text.encode():
        found = (found ^ byte) * _PRIME & 0xFFFF_FFFF_FFFF_FFFF
    return found


def json_text(plain: object) -> str:
    """Return what parameters are hashed as, and known by."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def all_runs(
    parameters: Parameters, replicates: int, seed: int, common: bool
) -> list[Run]:
    """Return the runs in order; TypeError or ValueError for what cannot be a parameter."""
    return [
        Run(given, text, cells, replicate, seed_of(seed, text, replicate, common))
        for given in _combinations(parameters)
        for text, cells in [_as_json(given)]
        for replicate in range(replicates)
    ]


def _combinations(parameters: Parameters) -> Iterator[dict[str, Any]]:
    if isinstance(parameters, Mapping):
        for name, values in parameters.items():
            if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
                wanted = "the values that it has, one after the other, are"
                raise TypeError(
                    f"parameter {name!r}: {wanted} a list, not {shown(values)}"
                )
        for one in itertools.product(*parameters.values()):
            yield dict(zip(parameters, one, strict=True))
        return
    for given in parameters:
        if not isinstance(given, Mapping):
            raise TypeError(
                f"the parameters of a run are a mapping, not {shown(given)}"
            )
        yield dict(given)


def _as_json(given: Mapping[str, object]) -> tuple[str, dict[str, Column | None]]:
    """Return the text of parameters, and the cells that they fill."""
    plain, cells = {}, {}
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(f"names of parameters are texts, not {shown(name)}")
        if name in OF_RUNS:
            raise ValueError(
                f"no parameter can be called {name!r}: each run has its own"
            )
        try:
            plain[name] = one = _plain(value)
            text = json_text(one) if isinstance(one, (list, dict)) else one
            cells[name] = None if text is None else cells_column([text])
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(f"parameter {name!r}: {error}") from None
    return json_text(plain), cells


def _plain(value: object) -> object:
    """Return a value as JSON has it: enums by name, numpy's scalars as Python's."""
    if isinstance(value, Enum):
        return enum_name(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise TypeError(f"names in JSON are texts: {shown(value)}")
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float) and isnan(value):  # which equals nothing, nor itself
        raise ValueError("nan is no number of JSON; None may stand for it")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{shown(value)} is nothing that JSON can hold")


def perform(
    model: Model,
    given: Mapping[str, Any],
    replicate: int,
    seed: int,
    taken: Collection[str],
) -> Outcome:
    """Call a model, wherever this is; what it raises becomes the text of its traceback. What it
    does to lists among its parameters is no other run's affair."""
    try:
        return result_of(model(seed=seed, **deepcopy(dict(given))), taken)
    except (Exception, SystemExit) as error:
        return error_text(error, given, replicate, seed)


def error_text(
    error: BaseException, given: Mapping[str, Any], replicate: int, seed: int
) -> str:
    """Return a traceback that ends with the run that it is of."""
    values = [f"{name}={shown(value)}" for name, value in given.items()]
    error.add_note(
        f"in the run with {', '.join([*values, f'{replicate=}', f'{seed=}'])}"
    )
    return "".join(traceback.format_exception(error))


def checked_number(value: object, name: str, low: int, high: int = 2**64 - 1) -> int:
    """Return an integer within bounds; TypeError or ValueError for others."""
    number = index(value)  # type: ignore[arg-type]  # that is what it checks
    if isinstance(value, bool) or not low <= number <= high:
        raise ValueError(f"{name} is a number from {low} to {high}, not {shown(value)}")
    return number
