"""Checked runs and traces of kernels with times: NaT is the NaN, sums that do not fit wrap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ecsgen.checked import CheckError, checked
from tests.support.generated_package import imported_package

SCHEMA = """\
component: Order
fields:
  placed: {type: "datetime[s]", default: 2024-01-01}
  took: {type: "timedelta[s]", default: 60}
  k: i64
  share: f64
kernels:
  wait:
    args: {by: "timedelta[s]", times: i64}
    steps: [placed += by * times]
  part: {args: {of: "timedelta[s]"}, steps: [share = took / of]}
  stamp: {steps: [k = i64(placed)]}
  turn: {steps: [took = abs(-took)]}
---
world: Orders
settings: {now: {type: "datetime[s]", default: 2024-01-02}}
kernels:
  close:
    over: Order
    where: Order.placed < settings.now
    steps: [Order.took = settings.now - Order.placed]
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("checked_times")
    with (
        imported_package(folder, "checked_orders", "orders.yaml", SCHEMA) as module,
        pytest.MonkeyPatch.context() as monkeypatch,
    ):
        monkeypatch.chdir(folder)  # where the schemas are
        yield module


def second(n: int) -> np.timedelta64:
    return np.timedelta64(n, "s")


def test_nat_that_becomes_a_number_and_sums_that_do_not_fit_are_found(package: Any) -> None:
    w = package.Orders()
    w.spawn(2, order={"took": [None, second(60)]})
    with checked(w):
        w.order.part(of=second(30))  # NaN comes of NaT
        w.order.turn()
        w.close()
        with pytest.raises(CheckError, match=r": wrap: .*60 seconds \* 4611686018427387904") as e:
            w.order.wait(by=second(60), times=2**62)
        assert e.value.finding.expression == "by * times"
        w.order.wait(by=second(2**62), times=1)
        with pytest.raises(CheckError, match=": wrap: "):
            w.order.wait(by=second(2**62), times=1)
        w.order.set_placed(1, None)
        with pytest.raises(CheckError, match=": nan: ") as e:
            w.order.stamp()
        assert e.value.finding.row == 1
        assert np.isnat(e.value.finding.operands["placed"])
        with pytest.raises(CheckError, match=": zero: "):
            w.order.part(of=second(0))
    assert w.order.data.share.tolist()[1] == 2


def test_traces_show_times_as_text(package: Any) -> None:
    w = package.Orders()
    w.spawn(1, order={})
    lines: list[str] = []
    with checked(w) as check:
        check.trace("close", to=lines.append)
        w.close()
    text = "\n".join(lines)
    assert "86400 seconds" in text
    assert "2024-01-02T00:00:00 - 2024-01-01T00:00:00" in text
