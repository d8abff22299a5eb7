"""Times in kernels are numpy's, and what makes no sense with them is an error;
`interpreted/times.yaml` has kernels of every kind."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.kernels.references import add_messages

from tests.support.interpreted_schemas import TOPICS
from tests.support.world_package import checked, world_package


@pytest.fixture(scope="module", params=["numpy", "numba"])
def package(request: pytest.FixtureRequest) -> Any:
    return world_package(TOPICS["times"], f"time_kernels_{request.param}", request.param)


def test_times_are_numpys_and_nat_passes_on(package: Any) -> None:
    w = package.Times()
    w.spawn(3, event={"at": ["2024-01-01", None, "2024-03-01"], "took": np.timedelta64(90, "s")})
    each = ["2023-12-31", "2024-01-01", "2025-01-01"]
    w.event.shift(by=timedelta(hours=1), each_at=each)
    w.event.data.k = [1, 2, 3]
    w.event.shift(by=timedelta(hours=1), each_at=each)
    at = w.event.data.at
    assert at.astype(str).tolist() == ["2024-01-01T01:00:00.000", "NaT", "2024-03-01T03:00:00.000"]
    assert w.event.newest() == at[2].astype(np.int64)
    assert w.event.n_late() == 0
    assert w.event.data.took.tolist() == [timedelta(hours=25), None, timedelta(0)]
    assert np.array_equal(w.event.data.share, [25, np.nan, 0], equal_nan=True)
    with pytest.raises(TypeError, match=r"shift.by: wanted timedelta\[ms\], not 3600 \(int\)"):
        w.event.shift(by=3600, each_at=each)


def test_sums_that_do_not_fit_wrap_message_after_message(package: Any) -> None:
    w = package.Times()
    jobs = w.spawn(3, job={"spent": [np.timedelta64(ms, "ms") for ms in (5, 0, 1)]})
    half, ms = 2**62, "timedelta64[ms]"
    took = np.array([half, half, 7] * 2 + [4], ms)
    w.spawn(7, event={"took": took, "work": jobs[[0, 0, 0, 1, 1, 1, 2]]})
    w.run()
    spent = np.array([12 - 2**63, "NaT", 5], ms)  # the least number is NaT, and stays so
    assert np.array_equal(w.job.data.spent, spent, equal_nan=True)


class Raising:
    """`np.add`, whose sums of times raise as those of numpy 2.5 and newer."""

    def __call__(self, *operands: Any) -> Any:
        return np.add(*operands)

    def at(self, cells: Any, *messages: Any) -> None:
        cells[0] = np.timedelta64(0, "ms")
        raise OverflowError


def test_sums_wrap_where_numpy_raises() -> None:
    cells = np.array([5, 0, 1], "m8[ms]")
    values = np.array([2**62, 2**62, 7, 4], "m8[ms]")
    add_messages(Raising(), cells, np.array([0, 0, 0, 2]), values)  # type: ignore[arg-type]
    assert cells.astype(int).tolist() == [12 - 2**63, 0, 5]


ONE_KERNEL = """\
component: Trip
fields: {{at: "datetime[ms]", day: "datetime[s]", took: "timedelta[ms]", k: i32, x: f64, b: bool}}
space: {{field: x}}
kernels:
  move:
    near: {{radius: 2}}
    steps:
    - "{step}"
"""


@pytest.mark.parametrize(
    ("step", "marked", "message"),
    [
        ("at += 5", "5", "'+' takes a datetime and a timedelta, or two timedeltas, not datetime"),
        ("b = at + at == at", "at + at", "not datetime[ms] and datetime[ms]"),
        ("took = at - day", "at - day", "'-' takes times of one unit, not datetime[ms] and"),
        ("took = took - at", "took - at", "not timedelta[ms] and datetime[ms]"),
        ("took = took * 1.5", "took * 1.5", "'*' takes a timedelta and an integer, not timedelta"),
        ("x = took / 2", "took / 2", "'/' takes two timedeltas, not timedelta[ms] and a number"),
        ("k = i32(took % took)", "took % took", "'%' takes numbers, not timedelta[ms]"),
        ("at = -at", "-at", "'-' takes a timedelta, not datetime[ms]"),
        ("at = took", "took", "timedelta[ms] cannot be assigned to datetime[ms]"),
        ("k = at", "at", "datetime[ms] cannot be assigned to i32"),
        ("x = f64(at)", "f64(at)", "datetime[ms] is a time, not a number"),
        ("b = at > 0", "at > 0", "'>' takes two of one kind, not datetime[ms] and a number"),
        ("b = day == at", "day == at", "'==' takes times of one unit, not datetime[s] and"),
        ("at = at if b else day", "at if b else day", "'else' takes two of one kind"),
        ("b = at and b", "at and b", "'and' takes conditions, not datetime[ms]"),
        ("b = max(other.at) > at", "other.at", "a question has no time as its value"),
        ("b = nearest(other.at) > at", "other.at", "a question has no time"),
        ("at = '2024-01-01'", "'2024-01-01'", "this is not part of the language of kernels"),
        ("x = sqrt(took)", "sqrt(took)", "'sqrt' takes numbers, not timedelta[ms]"),
    ],
)
def test_what_makes_no_sense_is_an_error_with_its_place(
    step: str, marked: str, message: str
) -> None:
    text = ONE_KERNEL.format(step=step)
    project, diagnostics = checked(text)
    (diagnostic,) = diagnostics
    assert project is None
    assert diagnostic.code == ("E801" if "language" in message else "E803")
    assert message in diagnostic.message
    mark = diagnostic.mark
    assert text.splitlines()[mark.line - 1][mark.column - 1 :].startswith(marked.split()[0])


@pytest.mark.parametrize("key", ["{max: at}", "{sum: took}", "{mean: at}"])
def test_reductions_have_no_times_as_their_value(key: str) -> None:
    text = ONE_KERNEL.format(step="k = 1") + f"reductions: {{last: {key}}}\n"
    _, diagnostics = checked(text)
    (diagnostic,) = diagnostics
    assert (diagnostic.code, diagnostic.hint) == ("E803", "write i64(…), which counts its units")
