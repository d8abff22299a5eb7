"""Times as ISO text, and spans of time as seconds: `PT1.5S`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_UNITS: Final = ("W", "D", "h", "m", "s", "ms", "us", "ns")
"""Units of numpy that are whole numbers of nanoseconds."""


def iso_texts(times: NDArray[Any]) -> NDArray[np.str_]:
    """Return datetimes or timedeltas as ISO text, "" for NaT; TypeError for months and years."""
    texts = np.datetime_as_string(times) if times.dtype.kind == "M" else _durations(times)
    texts[np.isnat(times)] = ""
    return texts


def _durations(array: NDArray[Any]) -> NDArray[np.str_]:
    unit, step = np.datetime_data(array.dtype)
    factor = step
    if unit in _UNITS:
        factor *= np.ones(1, f"m8[{unit}]").astype("m8[ns]").astype(int).item()
    elif not np.isnat(array).all():
        raise TypeError(f"times in {unit!r} have no length in seconds")
    counts = array.astype(np.int64).tolist()  # no time is a number, too
    return np.array([_duration(count * factor) for count in counts], np.str_)


def _duration(nanoseconds: int) -> str:
    seconds, rest = divmod(abs(nanoseconds), 10**9)
    text = f"{seconds}.{rest:09}".rstrip("0").rstrip(".")
    return f"{'-' if nanoseconds < 0 else ''}PT{text}S"
