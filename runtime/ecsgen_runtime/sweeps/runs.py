"""The runs of a sweep: which there are, the seed of each, one of them done, the file of all."""

from __future__ import annotations

import itertools
import json
import re
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from copy import deepcopy
from enum import Enum
from functools import lru_cache
from math import isnan
from pathlib import Path
from typing import IO, Any, Final, Literal, TypeAlias

import numpy as np

from ..base.errors import short_repr
from ..base.fast_typing import NamedTuple
from ..base.files import file_lock
from ..base.provenance import Provenance, differences
from ..kernels.random_streams import call_key
from .results import (
    COLUMN_TYPES,
    TYPE_NAMES,
    Column,
    RecordedLines,
    Result,
    cells_column,
    enum_name,
    result_of,
)

Model: TypeAlias = Callable[..., Mapping[str, object] | RecordedLines]
Parameters: TypeAlias = Mapping[str, Any] | Iterable[Mapping[str, Any]]
Outcome: TypeAlias = Result | str
"""The result of a run, or the text of the error that it raised."""
RunKey: TypeAlias = tuple[str, int]
"""Identity of a run: the text of its parameters, and the replicate."""

OF_RUNS: Final = ("replicate", "seed")
"""The columns that all tables have."""
_BASIS: Final = 0xCBF2_9CE4_8422_2325
_PRIME: Final = 0x0000_0100_0000_01B3
_BEGINS: Final = (b'{"parameters": ', b'{"sweep": ')
Stale: TypeAlias = Literal["keep", "again"] | None
_SPELT: Final = {"NaN": "null", "Infinity": "1e999"}
_ODD: Final = re.compile(rf'("(?:[^"\\]|\\.)*")|{"|".join(_SPELT)}')
"""A text of JSON, which is kept as it is, or what would be no JSON."""


class Call(NamedTuple):
    """One call of a model."""

    parameters: dict[str, Any]
    """The parameters, as the model gets them."""
    replicate: int
    seed: int


class Run(NamedTuple):
    """A call that is to be made."""

    call: Call
    text: str
    """Its parameters as JSON."""
    cells: dict[str, Column | None]
    """Its parameters as columns of one line; None for null."""

    @property
    def key(self) -> RunKey:
        return self.text, self.call.replicate


def seed_of(seed: int, text: str, replicate: int, common: bool) -> int:
    """Return the seed of a run, which depends on no other: 64 bits of the sweep's seed, of the
    hash of its parameters, unless the seeds are common to all, and of the replicate."""
    return int(call_key(seed, _hash("" if common else text), replicate + 1))


@lru_cache(maxsize=16)  # replicates follow each other
def _hash(text: str) -> int:
    """Return the FNV-1a of 64 bits."""
    digest = _BASIS
    for byte in text.encode():
        digest = (digest ^ byte) * _PRIME & 0xFFFF_FFFF_FFFF_FFFF
    return digest


def json_text(plain: object) -> str:
    """Return the text by which parameters are hashed and identified."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def all_runs(parameters: Parameters, replicates: int, seed: int, common: bool) -> list[Run]:
    """Return the runs in order; TypeError or ValueError for what cannot be a parameter."""
    return [
        Run(Call(values, n, seed_of(seed, text, n, common)), text, cells)
        for values in _combinations(parameters)
        for text, cells in [_as_json(values)]
        for n in range(replicates)
    ]


def _combinations(parameters: Parameters) -> Iterator[dict[str, Any]]:
    if isinstance(parameters, Mapping):
        for name, values in parameters.items():
            if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
                wanted = "the values that it has, one after the other, are"
                raise TypeError(f"parameter {name!r}: {wanted} a list, not {short_repr(values)}")
        for combination in itertools.product(*parameters.values()):
            yield dict(zip(parameters, combination, strict=True))
        return
    for mapping in parameters:
        if not isinstance(mapping, Mapping):
            raise TypeError(f"the parameters of a run are a mapping, not {short_repr(mapping)}")
        yield dict(mapping)


def _as_json(values: Mapping[str, object]) -> tuple[str, dict[str, Column | None]]:
    plain, cells = {}, {}
    for name, value in values.items():
        if not isinstance(name, str):
            raise TypeError(f"names of parameters are texts, not {short_repr(name)}")
        if name in OF_RUNS:
            raise ValueError(f"no parameter can be called {name!r}: each run has its own")
        try:
            plain[name] = plain_value = _plain(value)
            text = json_text(plain_value) if isinstance(plain_value, (list, dict)) else plain_value
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
            raise TypeError(f"names in JSON are texts: {short_repr(value)}")
        return {name: _plain(v) for name, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float) and isnan(value):  # which equals nothing, nor itself
        raise ValueError("nan is no number of JSON; None may stand for it")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{short_repr(value)} is nothing that JSON can hold")


def run_model(model: Model, call: Call, taken: Collection[str]) -> Outcome:
    """Call a model, wherever this is; what it raises becomes the text of its traceback. What it
    does to lists among its parameters is no other run's affair."""
    try:
        return result_of(model(seed=call.seed, **deepcopy(call.parameters)), taken)
    except (Exception, SystemExit) as error:
        return error_text(error, call)


def error_text(error: BaseException, call: Call) -> str:
    """Return a traceback that ends with the run that it is of."""
    values = [f"{name}={short_repr(value)}" for name, value in call.parameters.items()]
    values += [f"replicate={call.replicate}", f"seed={call.seed}"]
    text = "".join(traceback.format_exception(error))
    error.__traceback__ = None  # another run may raise it, too
    return f"{text}in the run with {', '.join(values)}\n"


class Journal:
    """The file of a sweep: a line of JSON for each run that ended, so that none need be repeated.
    The first line, and others before runs of other models, have the provenance of runs behind.

    A line is written at once and as a whole. What a kill left of one is no line; after a full disk
    or an interrupt it is taken away. One process at a time has the file.
    """

    def __init__(
        self,
        path: Path,
        wanted: Collection[RunKey],
        taken: Collection[str],
        seed: int,
        common: bool,
        now: Provenance,
        stale: Stale,
    ) -> None:
        """Read what the file has of runs, and go on behind it; O(its size).

        Raises:
            ValueError: it is of another seed, or of another model than `now` without `stale`, or no
                such file; nothing has changed then.
            BlockingIOError: another sweep writes it.
        """
        self.path = path
        self.found: dict[RunKey, Result] = {}
        """Without failed runs, and those whose results have names that are taken by now."""
        self._end = 0
        with ExitStack() as stack:
            if path.is_file() or not path.exists():  # a device may be everybody's
                real = path.resolve()
                lock = real.with_name(f".{real.name}.lock")
                stack.enter_context(file_lock(str(path), str(lock)))
            models: list[Provenance | None] = []
            for number, line in enumerate(_lines(path), 1):
                self._end += len(line)
                where = f"{path}, line {number}"
                parsed = _parsed(line, where, seed, common)
                if isinstance(parsed, dict):
                    models.append(parsed)
                    continue
                models = models or [None]  # made by a version that did not say it
                key, result = parsed
                if key in wanted and result and not result.columns.keys() & taken:
                    self.found[key] = result
            changes = dict.fromkeys(
                difference for then in models for difference in differences(then, now)
            )
            if changes and stale is None:
                raise ValueError(
                    f"{path} has runs of another model: {'; '.join(changes)}. With "
                    'stale="keep" they count all the same, with stale="again" a new file '
                    "begins, beside the old one"
                )
            if changes and stale == "again":
                path.rename(_free_name(path))
                self.found, self._end, models = {}, 0, []
            head = json.dumps({"sweep": now}).encode() + b"\n"
            self._head = head if now not in models[-1:] else b""
            self._file: IO[bytes] = stack.enter_context(path.open("ab", buffering=0))
            if self._file.tell() != self._end:
                self._file.truncate(self._end)
            self._held = stack.pop_all()

    def close(self) -> None:
        """Close the file and unlock it."""
        self._held.close()

    def write(self, run: Run, outcome: Outcome) -> None:
        """Write the line of a run. OSError if it does not fit, and then it is not there."""
        line = self._head + _line(run, outcome).encode() + b"\n"
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except BaseException as error:
            with suppress(OSError):  # a device has no end
                self._file.truncate(self._end)
            if isinstance(error, OSError):
                problem = f"{error.strerror}; the runs before are in the file, call again"
                raise OSError(error.errno, problem, str(self.path)) from error
            raise
        self._end += len(line)
        self._head = b""


def _free_name(path: Path) -> Path:
    """Return the first of `path.1`, `path.2` … that is no file's."""
    names = (path.with_name(f"{path.name}.{n}") for n in itertools.count(1))
    return next(name for name in names if not name.exists())


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, if it is there, but for half a line of ours at its end."""
    if path.is_file():
        with path.open("rb") as file:
            for line in file:
                is_ours = any(beginning.startswith(line[: len(beginning)]) for beginning in _BEGINS)
                if line.endswith(b"\n") or not is_ours:
                    yield line


def _parsed(
    line: bytes, where: str, seed: int, common: bool
) -> Provenance | tuple[RunKey, Result | None]:
    """Return the provenance of the lines behind; or the key of a run, and its result unless
    it raised. ValueError for others' lines."""
    try:
        entry = json.loads(line)
        if "sweep" in entry:
            head = entry["sweep"]
            return {"code": dict(head["code"]), "versions": dict(head["versions"])}
        key = json_text(entry["parameters"]), int(entry["replicate"])
        is_ours = seed_of(seed, *key, common) == entry["seed"]
        result = None if "error" in entry else _result(entry)
    except Exception as error:
        raise ValueError(f"{where} is no line of a sweep: {error!r}") from None
    if not is_ours:
        raise ValueError(
            f"{where} is of a sweep with another seed or common_seeds than {seed} and {common}: "
            "give those, or another path"
        )
    return key, result


def _line(run: Run, outcome: Outcome) -> str:
    """Return the line of a run, which any reader of JSON understands: it has no NaN, which becomes
    null, and no infinity, which is a number that is too large."""
    entry: dict[str, Any] = {"parameters": json.loads(run.text)}
    entry |= {"replicate": run.call.replicate, "seed": run.call.seed}
    if isinstance(outcome, str):
        entry["error"] = outcome
    else:
        columns = outcome.columns.items()
        cells = {name: column.tolist() for name, column in columns}
        if outcome.is_scalars:
            cells = {name: column for name, (column,) in cells.items()}
        entry["types"] = {name: TYPE_NAMES[column.dtype.kind] for name, column in columns}
        entry["result"] = cells
    text = json.dumps(entry)
    if any(special in text for special in _SPELT):
        text = _ODD.sub(lambda match: match[1] or _SPELT[match[0]], text)
    return text


def _result(entry: Mapping[str, Any]) -> Result:
    cells, types = entry["result"], entry["types"]
    is_scalars = not any(isinstance(cell, list) for cell in cells.values())
    columns = {
        name: np.array([cell] if is_scalars else cell, COLUMN_TYPES[types[name]])
        for name, cell in cells.items()
    }
    return Result(is_scalars, columns)
