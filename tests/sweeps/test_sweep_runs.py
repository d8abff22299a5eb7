"""Runs of a sweep, their seeds, and the table of their results."""

from __future__ import annotations

import json
import math
import re
from concurrent.futures import Future
from datetime import time, timedelta
from pathlib import Path
from typing import Any

import ecsgen_runtime
import numpy as np
import pytest
from ecsgen_runtime import sweep
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sweep_models import Lines, Mode, Trait, columns, line, raises, same, swept


def asked(parameters: Any, **options: Any) -> list[dict[str, Any]]:
    """Parameters of the model, call by call."""
    calls: list[dict[str, Any]] = []

    def model(**parameters: Any) -> dict[str, Any]:
        calls.append(parameters)
        return {}

    swept(model, parameters, **options)
    return calls


def only(column: Any) -> tuple[str, list[Any]]:
    return "str" if column.dtype == object else str(column.dtype), column.tolist()


# Text of the parameters, the sweep's seed, replicate, common_seeds. Computed in plain integers by a
# program that shares nothing with the library.
SEEDS: dict[tuple[str, int, int, bool], int] = {
    ("{}", 0, 0, False): 0x9F88F7223E634999,
    ('{"x":1}', 0, 0, False): 0xB84615F64B8D901C,
    ('{"x":1}', 0, 1, False): 0xE14FFD3A2A8EFA41,
    ('{"x":1.0}', 0, 0, False): 0xB8E6FB5E3566D785,
    ('{"x":1}', 12345, 0, False): 0x12985746C879EC70,
    ('{"x":1}', 18446744073709551615, 3, False): 0xD2D848303FD495A8,
    ('{"a":[1,"\\u00e9"],"b":null,"c":true}', 7, 2, False): 0xA050AB1DC4D5554C,
    ("{}", 0, 0, True): 0xE587D3DFF9E92ED0,
    ('{"x":1}', 0, 0, True): 0xE587D3DFF9E92ED0,
    ('{"x":2}', 9, 4, True): 0xCC435F348559116A,
}


@pytest.mark.parametrize("case", SEEDS, ids=str)
def test_seeds(case: tuple[str, int, int, bool]) -> None:
    text, seed, replicate, common = case
    parameters = dict(reversed(json.loads(text).items()))  # the order of names is no matter
    asked_runs = asked([parameters], seed=seed, replicates=replicate + 1, common_seeds=common)
    assert asked_runs[replicate]["seed"] == SEEDS[case]


def test_seeds_depend_on_no_other_run() -> None:
    def seeds(**options: Any) -> dict[tuple[Any, ...], int]:
        s = swept(columns, **options)
        keys = zip(s.columns["x"].tolist(), s.columns["replicate"].tolist(), strict=True)
        return dict(zip(keys, s.columns["seed"].tolist(), strict=True))

    few = seeds(parameters={"x": [1, 3]}, replicates=2)
    many = seeds(parameters=[{"x": x} for x in (4, 3, 2, 1)], replicates=5)
    assert few.items() <= many.items()
    assert len(set(many.values())) == 20
    shared = seeds(parameters={"x": [1, 3]}, replicates=2, common_seeds=True)
    assert len(set(shared.values())) == 2


def test_all_combinations_the_last_name_fastest() -> None:
    s = swept(line, {"b": np.array([0.5, 1.5]), "a": ["x", "y"]}, replicates=2)
    assert s.columns["b"].tolist() == [0.5] * 4 + [1.5] * 4
    assert s.columns["a"].tolist() == ["x", "x", "y", "y"] * 2
    assert s.columns["replicate"].tolist() == [0, 1] * 4
    assert [*s.columns][:4] == ["b", "a", "replicate", "seed"]
    assert s.columns["seed"].dtype == np.uint64
    assert len(s) == 8
    assert not s.errors


def test_parameters_reach_the_model_as_they_are() -> None:
    asked_runs = asked({"mode": [Mode.FAST], "n": [np.int32(3)], "shape": [(2, 3)], "none": [None]})
    assert asked_runs[0].keys() == {"seed", "mode", "n", "shape", "none"}
    assert asked_runs[0]["mode"] is Mode.FAST
    assert asked_runs[0]["shape"] == (2, 3)
    plain = asked([{"mode": "FAST", "n": 3, "shape": [2, 3], "none": None}])
    assert asked_runs[0]["seed"] == plain[0]["seed"]


def test_what_a_model_does_to_its_parameters_is_its_own_affair() -> None:
    def model(seed: int, cells: list[int]) -> dict[str, int]:
        cells.append(seed)
        return {"n": len(cells)}

    assert swept(model, {"cells": [[1, 2]]}, replicates=3).columns["n"].tolist() == [3, 3, 3]


def test_parameters_as_columns() -> None:
    parameters = [
        {"mode": Mode.FAST, "shape": [1, 2], "n": 1},
        {"mode": Mode.SLOW, "shape": {"a": 1}, "n": 2.5, "extra": True},
        {"mode": "other", "shape": None, "n": None, "extra": None},
    ]
    s = swept(lambda seed, **_: {"y": 1}, parameters)
    assert s.columns["mode"].tolist() == ["FAST", "SLOW", "other"]
    assert s.columns["shape"].tolist() == ["[1,2]", '{"a":1}', ""]
    assert s.columns["n"].tolist()[:2] == [1.0, 2.5]
    assert math.isnan(s.columns["n"][2])
    assert np.isnan(s.columns["extra"]).tolist() == [True, False, True]


def test_no_parameters_are_one_run_and_no_values_none() -> None:
    assert len(asked({})) == 1
    assert len(asked({}, replicates=3)) == 3
    assert asked([]) == []
    s = swept(line, {"x": []})
    assert len(s) == 0
    assert [*s.columns] == ["x", "replicate", "seed"]


def test_twice_the_same_is_run_once() -> None:
    assert len(asked({"x": [1, 1]})) == 1
    assert swept(columns, {"x": [1, 1]}).columns["x"].tolist() == [1] * 6


@pytest.mark.parametrize(
    ("parameters", "options", "error", "match"),
    [
        ({"seed": [1]}, {}, ValueError, "no parameter can be called 'seed'"),
        ([{"replicate": 1}], {}, ValueError, "no parameter can be called 'replicate'"),
        ({"x": [1]}, {"replicates": 0}, ValueError, "replicates is a number from 1"),
        ({"x": [1]}, {"replicates": 1.5}, TypeError, "integer"),
        ({"x": [1]}, {"workers": 0}, ValueError, "workers is a number from 1"),
        ({"x": [1]}, {"seed": -1}, ValueError, "seed is a number from 0"),
        ({"x": [1]}, {"seed": 2**64}, ValueError, "seed is a number from 0"),
        *(
            ({"x": [1]}, {"stale": word}, ValueError, 'stale is "keep" or "again"')
            for word in ("kept", True, "")
        ),
        ({"x": "abc"}, {}, TypeError, "parameter 'x': the values that it has"),
        ({"x": 3}, {}, TypeError, "parameter 'x': the values that it has"),
        ({"x": [{1, 2}]}, {}, TypeError, "parameter 'x': .* is nothing that JSON can hold"),
        ({"x": [{1: 2}]}, {}, TypeError, "parameter 'x': names in JSON are texts"),
        ({"x": [2**64]}, {}, OverflowError, "parameter 'x': .* does not fit into 64 bits"),
        ({1: [2]}, {}, TypeError, "names of parameters are texts"),
        ([3], {}, TypeError, "the parameters of a run are a mapping"),
    ],
)
def test_refused(parameters: Any, options: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        swept(line, parameters, **options)


def test_refused_models_and_executors() -> None:
    with pytest.raises(TypeError, match="a model is a function, not 3"):
        sweep(3, {})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="has submit"):
        sweep(line, {}, executor=3)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="no attribute 'sweeps_'"):
        _ = ecsgen_runtime.sweeps_


KINDS: dict[str, tuple[list[Any], str, list[Any]]] = {
    "bools": ([True, np.False_], "bool", [True, False]),
    "integers": ([1, np.uint8(200), -3], "int64", [1, 200, -3]),
    "large": ([2**63, 1], "uint64", [2**63, 1]),
    "unsigned": ([np.uint64(1), 2], "uint64", [1, 2]),
    "signed": ([np.uint64(1), -2], "int64", [1, -2]),
    "both": ([2**63, -1], "float64", [2.0**63, -1.0]),
    "floats": ([np.float32(0.1), 2], "float64", [float(np.float32(0.1)), 2.0]),
    "bools_and_numbers": ([True, 5], "int64", [1, 5]),
    "texts": (["a", np.str_("bc")], "str", ["a", "bc"]),
    "enums": ([Mode.FAST, Mode.SLOW], "str", ["FAST", "SLOW"]),
    "flags": ([Trait.OLD | Trait.ILL, Trait(0)], "str", ["OLD|ILL", "0"]),
    "times": (
        [time(12, 30), np.datetime64("2026-01-02T03:04:05"), np.datetime64("NaT", "D")],
        "str",
        ["12:30:00", "2026-01-02T03:04:05", ""],
    ),
    "durations": (
        [np.timedelta64(-1500, "ms"), np.timedelta64(2, "h"), np.timedelta64("NaT", "s")],
        "str",
        ["-PT1.5S", "PT7200S", ""],
    ),
    "long_durations": (
        [np.timedelta64(10**18 + 1, "ns"), timedelta(days=-1, microseconds=5)],
        "str",
        ["PT1000000000.000000001S", "-PT86399.999995S"],
    ),
    "short_durations": (
        [np.timedelta64(-5, "ps"), np.timedelta64(2, "ps")],
        "str",
        ["-PT0.000000000005S", "PT0.000000000002S"],
    ),
    "texts_and_others": (["a", 1, 1.5, True], "str", ["a", "1", "1.5", "True"]),
    "scalar_arrays": ([np.array(1.5), np.array(2)], "float64", [1.5, 2.0]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_five_types(kind: str, tmp_path: Path) -> None:
    values, dtype, expected = KINDS[kind]
    for _ in ("fresh", "resumed"):
        s = swept(
            lambda seed, i: {"y": values[i]}, {"i": range(len(values))}, path=tmp_path / "runs"
        )
        assert only(s.columns["y"]) == (dtype, expected)


def test_what_a_run_does_not_have() -> None:
    results: list[dict[str, Any]] = [{"a": 1, "c": "x"}, {"b": True}, {}]
    s = swept(lambda seed, i: results[i], {"i": range(3)})
    assert np.isnan(s.columns["a"]).tolist() == [False, True, True]
    assert np.isnan(s.columns["b"]).tolist() == [True, False, True]
    assert s.columns["c"].tolist() == ["x", "", ""]
    assert [*s.columns] == ["i", "replicate", "seed", "a", "c", "b"]


def test_columns_become_lines() -> None:
    s = swept(lambda seed, lines: columns(seed, lines), {"lines": [2, 0, 3]})
    assert s.columns["lines"].tolist() == [2, 2, 3, 3, 3]
    assert s.columns["tick"].tolist() == [0, 1, 0, 1, 2]
    assert [only(s.columns[name])[0] for name in ("tick", "share", "small", "name")] == [
        *("int64", "float64", "int64", "str")
    ]


def test_no_lines_say_nothing_of_types(tmp_path: Path) -> None:
    results: list[list[Any]] = [[], [1, 2], [True]]
    for count, dtype in ((1, "float64"), (2, "int64"), (3, "int64")):
        s = swept(lambda seed, i: {"y": results[i]}, {"i": range(count)}, path=tmp_path / "runs")
        assert s.columns["y"].dtype == dtype


@pytest.mark.parametrize("dtype", ["U1", "O", "M8[s]", "m8[s]"])
def test_texts_without_lines_are_texts(dtype: str, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    for _ in ("fresh", "resumed"):
        s = swept(
            lambda seed, x: {"y": np.array([], dtype)}, {"x": ["a", "b"]}, path=tmp_path / "runs"
        )
        assert [s.columns[name].dtype for name in ("x", "y")] == [object] * 2
        assert [s.to_arrow()[name].type for name in ("x", "y")] == [arrow.string()] * 2


def test_parameters_have_their_types_if_all_runs_raise() -> None:
    s = swept(lambda seed, x, n: {}[x], {"x": ["a"], "n": [1, 2]})
    assert [len(s.errors), s.columns["x"].dtype, s.columns["n"].dtype] == [2, object, np.int64]


def test_all_that_is_no_number_is_the_same_nan(tmp_path: Path) -> None:
    def model(seed: int) -> dict[str, Any]:
        return {"y": [-math.nan, 1.0], "z": np.array([-math.nan, 1.0], np.float32)}

    fresh, resumed = (swept(model, {}, path=tmp_path / "runs") for _ in range(2))
    assert same(fresh, resumed)


def test_columns_of_all_sorts() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")

    def model(seed: int) -> dict[str, Any]:
        return {
            "series": pandas.Series([1.5, 2.5]),
            "polars": polars.Series([1, 2]),
            "range": range(2),
            "tuple": (True, False),
            "enums": [Mode.SLOW, Mode.FAST],
            "days": np.array(["2026-01-02", "NaT"], "M8[D]"),
            "objects": np.array(["a", "b"], object),
            "strided": np.arange(4)[::2],
        }

    s = swept(model, {})
    columns = {name: only(column) for name, column in [*s.columns.items()][2:]}
    assert columns == {
        "series": ("float64", [1.5, 2.5]),
        "polars": ("int64", [1, 2]),
        "range": ("int64", [0, 1]),
        "tuple": ("bool", [True, False]),
        "enums": ("str", ["SLOW", "FAST"]),
        "days": ("str", ["2026-01-02", ""]),
        "objects": ("str", ["a", "b"]),
        "strided": ("int64", [0, 2]),
    }


def test_times_of_pandas_are_the_same_alone_and_in_series() -> None:
    pandas = pytest.importorskip("pandas")
    day = pandas.Timestamp("2026-01-02T03:04:05").as_unit("ns")  # that of older series
    there = day.tz_localize("Europe/Berlin")
    times = [pandas.Timedelta(1, "ns"), pandas.NaT], [day, pandas.NaT], [there, pandas.NaT]
    expected = "PT0.000000001S", day.to_numpy().astype(str), "2026-01-02T03:04:05+01:00"
    for cells, text in zip(times, expected, strict=True):
        s = swept(lambda seed, cells=cells: {"list": cells, "series": pandas.Series(cells)}, {})
        assert [s.columns[name].tolist() for name in ("list", "series")] == [[text, ""]] * 2
        s = swept(lambda seed, i, cells=cells: {"y": cells[i]}, {"i": [0, 1]})
        assert s.columns["y"].tolist() == [text, ""]


def test_numbers_that_no_member_has() -> None:
    """Tables of records are tested in `test_sweep_records.py`."""

    class Listed(Lines):
        _ENUMS = {"mode": Mode, "trait": Trait}  # noqa: RUF012

    def model(seed: int, n: int) -> Lines:
        return Listed(mode=np.array([0, n]), trait=np.array([0, 3]))

    s = swept(model, {"n": [1, 7]})
    assert s.columns["mode"].tolist() == ["SLOW", "FAST"]
    assert s.columns["trait"].tolist() == ["0", "OLD|ILL"]
    assert "ValueError: 7 is not a valid Mode\nin the result 'mode'" in s.errors[0].traceback


def test_results_are_copies() -> None:
    array = np.zeros(2)
    s = swept(lambda seed: {"y": array}, {})
    array[:] = 1
    assert s.columns["y"].tolist() == [0, 0]


NONSENSE: dict[str, tuple[Any, str]] = {
    "nothing": (None, "TypeError: a model returns a mapping .* not None"),
    "list": ([1], r"TypeError: a model returns a mapping .* not \[1\]"),
    "no_value": ({"y": None}, "TypeError: None is neither .* math.nan"),
    "object": ({"y": object()}, "TypeError: <object .* is neither a number"),
    "complex": ({"y": 1j}, "TypeError: 1j is neither"),
    "bytes": ({"y": b"abc"}, "TypeError: b'abc' is neither"),
    "mapping": ({"y": {"a": 1}}, "TypeError: {'a': 1} is neither"),
    "objects": ({"y": [1, object()]}, "TypeError: <object"),
    "too_large": ({"y": 2**64}, "OverflowError: .* does not fit into 64 bits"),
    "too_low": ({"y": -(2**63) - 1}, "OverflowError: .* does not fit into 64 bits"),
    "together": ({"y": [2**63, -1]}, "OverflowError: .* does not fit into 64 bits"),
    "axes": ({"y": np.zeros((2, 3))}, r"ValueError: .* not the shape \(2, 3\)"),
    "lengths": ({"y": [1, 2], "z": [1]}, "ValueError: neither .*: y has 2 lines, z has 1 line"),
    "both": ({"y": [1, 2], "z": 1}, "ValueError: neither .*: y has 2 lines, z has one value"),
    "mixed": ({"y": ["a", 1]}, "TypeError: texts and others"),
    "number": ({1: 2}, "TypeError: names of results are texts, not 1"),
    "parameter": ({"x": 2}, "ValueError: 'x' is the name of a parameter"),
    "of_another": ({"other": 2}, "ValueError: 'other' is the name of a parameter"),
    "seed": ({"seed": 2}, "ValueError: 'seed' is the name of a parameter"),
    "bytes_array": ({"y": np.array([b"a"])}, r"TypeError: values of \|S1"),
    "masked": ({"y": np.ma.masked_equal([1, 2], 1)}, "TypeError: .*masked"),
}


@pytest.mark.parametrize("kind", NONSENSE)
def test_nonsense_is_an_error_of_its_run(kind: str) -> None:
    result, match = NONSENSE[kind]
    s = swept(lambda seed, x: result if x else {"y": 1}, [{"x": 0}, {"x": 5}, {"x": 0, "other": 1}])
    ((parameters, replicate, seed, text),) = [e for e in s.errors if "other" not in e.parameters]
    assert (parameters, replicate) == ({"x": 5}, 0)
    assert re.search(match, text), text
    assert f"in the run with x=5, replicate=0, seed={seed}" in text
    assert s.columns["x"].tolist() == [0]


def test_errors_come_in_order_and_cost_no_other_run() -> None:
    s = swept(raises, {"number": range(6)}, replicates=2)
    assert [error[:2] for error in s.errors] == [({"number": n}, r) for n in (1, 4) for r in (0, 1)]
    assert "ArithmeticError: 4 is too much" in s.errors[-1].traceback
    assert "in raises" in s.errors[-1].traceback
    assert s.columns["twice"].tolist() == [0, 0, 4, 4, 6, 6, 10, 10]
    assert repr(s) == "<Sweep: 8 lines of number, replicate, seed, twice; 4 errors>"


def test_other_libraries_read_it() -> None:
    s = swept(line, {"x": [1, 2]}, replicates=2)
    arrow, frame = s.to_arrow(), s.to_pandas()
    assert arrow.column_names == list(frame) == [*s.columns]
    assert arrow.num_rows == len(frame) == len(s) == 4
    for name, column in s.columns.items():
        assert np.array_equal(frame[name].to_numpy(), column, equal_nan=column.dtype.kind == "f")
        assert str(arrow.column(name).to_pylist()) == str(column.tolist())
    kinds = {str(kind) for kind in arrow.schema.types}
    assert kinds == {"int64", "uint64", "double", "bool", "string"}


class Shuffled:
    """An executor whose runs end in another order than they were handed out."""

    def __init__(self, order: list[int]) -> None:
        self._order = order
        self._waiting: list[tuple[Future[Any], Any, Any]] = []

    def submit(self, function: Any, /, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append((future, function, arguments))
        if len(self._waiting) == len(self._order):
            for ended, called, call_arguments in [self._waiting[index] for index in self._order]:
                ended.set_result(called(*call_arguments))
        return future


CELLS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from([*Mode, np.uint64(3), np.float32(1.1), np.int8(-3)]),
)
ARRAYS = st.sampled_from(["f8", "f4", "i2", "u8", "u1", "?", "M8[s]", "U3"]).flatmap(
    lambda dtype: st.lists(st.integers(0, 1), max_size=3).map(lambda v: np.array(v, dtype))
)
GIVEN = st.one_of(
    st.dictionaries(st.sampled_from("abc"), CELLS),
    ARRAYS.map(lambda array: {"a": array, "b": list(array)}),
)


@given(st.lists(GIVEN, min_size=1, max_size=6), st.data())
def test_the_order_of_ends_and_a_resumption_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, results: list[Any], data: st.DataObject
) -> None:
    def model(seed: int, i: int) -> Any:
        return results[i]

    order = data.draw(st.permutations(range(len(results))))
    done = data.draw(st.sets(st.sampled_from(range(len(results)))))
    path = tmp_path_factory.mktemp("sweep") / "runs.jsonl"
    parameters = {"i": range(len(results))}
    fresh = swept(model, parameters)
    others = sweep(model, parameters, executor=Shuffled([*order]), workers=9, progress=False)
    swept(model, {"i": done}, path=path)
    resumed = swept(model, parameters, path=path)
    again = swept(lambda seed, i: 1 / 0, parameters, path=path, stale="keep")
    assert not again.errors or [e[0] for e in again.errors] == [e[0] for e in fresh.errors]
    assert all(same(other, fresh) for other in (others, resumed, again))
