"""Times without zone, `datetime64` and `timedelta64`: their fields and texts; NaT is no time."""

from __future__ import annotations

import re
from datetime import date, timedelta
from math import gcd
from typing import Any, ClassVar, Final, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base.errors import short_repr
from .field_types import Field

DatetimeLike: TypeAlias = np.datetime64 | date | str | None
"""Values that a setter of a datetime takes; None is NaT."""
TimedeltaLike: TypeAlias = np.timedelta64 | timedelta | None

_ISO: Final = re.compile(
    r"(?P<head>[+-]?\d{4,11}-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d)?)?)?)?)"
    r"((?<=:\d\d:\d\d)\.(?P<fraction>\d{1,18}))?(?P<zone>Z|[+-]\d\d:?\d\d)?"
)
_DIGITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""Digits behind the point of a second, by unit."""
_SECOND: Final = 10**18
_ATTOSECONDS: Final = {
    "W": 604_800 * _SECOND,
    "D": 86_400 * _SECOND,
    "h": 3_600 * _SECOND,
    "m": 60 * _SECOND,
    **{unit: _SECOND // 1000**power for power, unit in enumerate(("s", "ms", "us", "ns", "ps"))},
    "fs": 1000,
    "as": 1,
}
_MOST: Final = 2**63 - 1


class TimeField(Field):
    """Times in one unit: those of other units and of Python, if they are exact; None is NaT."""

    takes_nulls: ClassVar[bool] = True
    accepts_any_cell: ClassVar[bool] = True
    _PYTHON: ClassVar[type[Any]]

    def __init__(self, name: str, unit: str) -> None:
        kind = self._kinds[0]
        base = "datetime" if kind == "M" else "timedelta"
        super().__init__(name, f"{kind}8[{unit}]", (), f"{base}[{unit}]")
        self._unit = unit
        self._scalar: type[Any] = self.dtype.type
        self._nat: Any = self._scalar("NaT", unit)

    def to_element(self, value: Any) -> Any:
        if type(value) is self._scalar and value.dtype == self.dtype:
            return value
        value = self._element(value)
        if value is None or type(value).__name__ == "NaTType":  # that of pandas
            return self._nat
        if isinstance(value, self._scalar):
            return self._of_unit(np.asarray(value))[()]
        if isinstance(value, str):
            return self._from_text(value)
        if not isinstance(value, self._PYTHON):
            raise self._wrong_type(value)
        if getattr(value, "tzinfo", None) is not None:
            raise self._with_zone(value)
        if hasattr(value, "nanosecond") or hasattr(value, "nanoseconds"):  # a scalar of pandas
            return self._of_unit(np.asarray(value.to_numpy()))[()]
        if isinstance(value, timedelta):
            attoseconds = value // timedelta(microseconds=1) * _ATTOSECONDS["us"]
            ticks, rest = divmod(attoseconds, _ATTOSECONDS[self._unit])
            return self._of_ticks(ticks, not rest, value)
        return self._of_unit(np.asarray(np.datetime64(value)))[()]

    def _of_ticks(self, ticks: int, is_exact: bool, value: object) -> Any:
        """Return the time of so many units, which a value is; raises for one that is not exact."""
        if not is_exact or abs(ticks) > _MOST:
            raise self._not_held(value, OverflowError if is_exact else ValueError)
        return self._scalar(ticks, self._unit)

    def _from_text(self, text: str) -> Any:
        raise self._wrong_type(text)

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype.kind in "UT":
            return self._from_elements(array)
        return array if array.dtype == self.dtype else self._of_unit(array)

    def _of_unit(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return times of any unit in the field's; raises for the first that is not exact."""
        unit, count = np.datetime_data(array.dtype)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        is_nat = np.isnat(array)
        if unit in ("Y", "M") and array.dtype.kind == "M":
            days = array.astype("M8[D]")
            self._refuse(days.astype(array.dtype) != array, is_nat, array, OverflowError)
            array, unit, count = days, "D", 1
        if unit not in _ATTOSECONDS:  # months of timedeltas, and numbers without a unit
            self._refuse(~is_nat, is_nat, array, ValueError)
            return np.full(array.shape, self._nat, self.dtype)
        numerator, denominator = _ATTOSECONDS[unit] * count, _ATTOSECONDS[self._unit]
        common = gcd(numerator, denominator)
        factor, divisor = numerator // common, denominator // common
        ticks = array.view(np.int64)
        quotients = ticks // divisor if divisor <= _MOST else np.zeros_like(ticks)
        self._refuse(quotients * divisor != ticks, is_nat, array, ValueError)
        most = _MOST // factor
        self._refuse((quotients > most) | (quotients < -most), is_nat, array, OverflowError)
        times = np.asarray((quotients * factor).view(self.dtype))
        times[is_nat] = self._nat
        return times

    def _refuse(
        self,
        wrong: Any,
        is_nat: NDArray[np.bool_],
        array: NDArray[Any],
        error: type[Exception],
    ) -> None:
        bad = np.atleast_1d(wrong & ~is_nat)
        if not bad.any():
            return
        position = int(bad.argmax())
        at = f" (at position {position})" if array.ndim else ""
        raise self._not_held(array.reshape(-1)[position], error, at)

    def _not_held(self, value: object, error: type[Exception], at: str = "") -> Exception:
        why = "is too far for" if error is OverflowError else "is not exact in"
        return error(f"{self.name}: {short_repr(value)} {why} {self.wanted}{at}")

    def _with_zone(self, value: object) -> ValueError:
        hint = "times have none: convert to UTC, and leave it out"
        return ValueError(f"{self.name}: {short_repr(value)} has a zone; {hint}")


class DatetimeField(TimeField):
    """Points in time: also dates, and ISO text."""

    _kinds: ClassVar[str] = "MUT"
    _PYTHON = date

    def _from_text(self, text: str) -> Any:
        if text == "NaT":
            return self._nat
        match = _ISO.fullmatch(text)
        if match is None:
            self._no_time(text)
        if match["zone"]:
            raise self._with_zone(text)
        try:
            seconds = int(np.datetime64(match["head"], "s").astype(np.int64))
        except ValueError:
            self._no_time(text)
        digits = (match["fraction"] or "").rstrip("0")
        count = _DIGITS[self._unit]
        ticks = seconds * 10**count + int(digits[:count].ljust(count, "0") or 0)
        return self._of_ticks(ticks, len(digits) <= count, text)

    def _no_time(self, text: str) -> NoReturn:
        example = "such as '2024-01-31T08:30:00'"
        raise ValueError(f"{self.name}: {short_repr(text)} is no time {example}") from None


class TimedeltaField(TimeField):
    """Spans of time."""

    _kinds: ClassVar[str] = "m"
    _PYTHON = timedelta


def iso_texts(times: NDArray[Any]) -> NDArray[np.str_]:
    """Return datetimes or timedeltas as ISO text, spans in seconds: `PT1.5S`, "" for NaT.

    Raises TypeError for spans in months or years.
    """
    texts = np.datetime_as_string(times) if times.dtype.kind == "M" else _durations(times)
    texts[np.isnat(times)] = ""
    return texts


def _durations(array: NDArray[Any]) -> NDArray[np.str_]:
    unit, step = np.datetime_data(array.dtype)
    if unit not in _ATTOSECONDS and not np.isnat(array).all():
        raise TypeError(f"times in {unit!r} have no length in seconds")
    factor = step * _ATTOSECONDS.get(unit, 0)
    counts = array.astype(np.int64).tolist()  # no time is a number, too
    return np.array([_duration(count * factor) for count in counts], np.str_)


def _duration(attoseconds: int) -> str:
    seconds, rest = divmod(abs(attoseconds), _SECOND)
    text = f"{seconds}.{rest:018}".rstrip("0").rstrip(".")
    return f"{'-' if attoseconds < 0 else ''}PT{text}S"
